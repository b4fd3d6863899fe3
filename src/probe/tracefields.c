/* args->NAME: from the fields of a format file to values with a type and a place in the record. */
#include "probe/tracefields.h"

#include <errno.h>
#include <string.h>

#include "kernel/tpformat.h"

static void type_field(const struct fsc_tp_field *f, struct fsc_typed *ret)
{
	*ret = (struct fsc_typed){
	    .type = {.size = f->size, .is_signed = f->is_signed, .is_text = f->is_text},
	    .where = FSC_WHERE_FIELD,
	    .at = f->offset};
	if (f->is_pointer) {
		ret->type.class = f->is_text ? FSC_CLASS_INT : FSC_CLASS_VOID;
		ret->type.size = 1;
		ret->type.pointers = 1;
		ret->type.is_signed = false;
	}
	ret->type.count = f->count;
	if (ret->type.class == FSC_CLASS_INT && f->size != 1 && f->size != 2 && f->size != 4 &&
	    f->size != 8)
		ret->type.class = FSC_CLASS_OTHER;
	if (f->place == FSC_TP_FIXED)
		return;
	ret->where = FSC_WHERE_DYNAMIC;
	ret->from = f->place == FSC_TP_REL_LOC ? f->offset + 4 : 0;
}

static const struct fsc_tp_field *find_field(const struct fsc_vec *fields, const char *name)
{
	for (size_t i = 0; i < fields->n; i++)
		if (!strcmp(FSC_AT(struct fsc_tp_field, fields, i)->name, name))
			return FSC_AT(struct fsc_tp_field, fields, i);
	return NULL;
}

static int field_by_name(void *ctx, const char *name, struct fsc_typed *ret, struct fsc_err *err)
{
	const struct fsc_tp_field *f = find_field(ctx, name);

	(void)err;
	if (!f)
		return -ENOENT;
	type_field(f, ret);
	return 0;
}

/* What every tracepoint has says nothing about this one. */
static bool is_common(const struct fsc_tp_field *f)
{
	return !strncmp(f->name, "common_", 7) || !strcmp(f->name, "__syscall_nr");
}

static int list_field(void *ctx, size_t i, const char **name, struct fsc_typed *ret,
		      struct fsc_err *err)
{
	const struct fsc_vec *fields = ctx;

	(void)err;
	for (size_t k = 0; k < fields->n; k++) {
		const struct fsc_tp_field *f = FSC_AT(struct fsc_tp_field, fields, k);

		if (is_common(f) || i--)
			continue;
		*name = f->name;
		type_field(f, ret);
		/* What may be written through it, as the buffer of a read, is no text yet. */
		ret->type.is_text &= !f->is_pointer || f->is_const;
		return 0;
	}
	return -ENOENT;
}

static void offer_fields(void *ctx, const struct fsc_ctype *of, struct fsc_nearest *n)
{
	const struct fsc_vec *fields = ctx;

	for (size_t i = 0; !of && i < fields->n; i++)
		fsc_nearest_offer(n, FSC_AT(struct fsc_tp_field, fields, i)->name);
}

void fsc_tracefields_names(const struct fsc_vec *fields, struct fsc_names *ret)
{
	*ret = (struct fsc_names){.ctx = (void *)fields,
				  .field = field_by_name,
				  .list = list_field,
				  .near = offer_fields};
}
