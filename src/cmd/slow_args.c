/* From signatures to formats: each parameter that a register holds becomes a named conversion of
 * it. */
#include "cmd/slow_args.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "cmd/signatures.h"

enum { TYPE_DEPTH = 1 };

void fsc_slow_args_release(struct fsc_slow_args *a)
{
	for (size_t i = 0; a->formats && i < a->n; i++)
		fsc_format_release(&a->formats[i]);
	free(a->formats);
	free(a->returns);
	fsc_types_release(&a->types);
	*a = (struct fsc_slow_args){0};
}

static bool is_shown(const struct fsc_param *p)
{
	enum fsc_type_kind k = p->type->kind;

	return p->arg && p->n_arg == 1 && p->name &&
	       (k == FSC_TYPE_INT || k == FSC_TYPE_ENUM || k == FSC_TYPE_POINTER);
}

static char length_of(const struct fsc_type *t)
{
	return t->size == 1 ? 'H' : t->size == 2 ? 'h' : t->size == 4 ? '\0' : 'l';
}

static int describe(const struct fsc_signature *sig, struct fsc_format *f, struct fsc_err *err)
{
	f->convs = FSC_VEC_INIT(struct fsc_conv);
	for (size_t i = 0; i < sig->n_params; i++) {
		const struct fsc_param *p = &sig->params[i];
		const struct fsc_type *t = p->type;
		struct fsc_conv *c;
		bool pointer = t->kind == FSC_TYPE_POINTER;

		if (!is_shown(p))
			continue;
		c = fsc_format_push_named(f, p->name,
					  pointer	 ? 'p'
					  : t->is_signed ? 'd'
							 : 'u',
					  pointer ? 'l' : length_of(t));
		if (!c)
			return fsc_err_nomem(err);
		c->value = p->arg - 1;
		if (t->kind == FSC_TYPE_ENUM || t->is_bool || t->is_char)
			c->type = t;
	}
	return 0;
}

int fsc_slow_args_find(const struct fsc_targets *targets, struct fsc_slow_args *ret,
		       struct fsc_err *err)
{
	size_t n = fsc_targets_count(targets);
	FSC_AUTO(fsc_freep) struct fsc_signature *sigs = calloc(n + 1, sizeof(*sigs));
	int rc;

	*ret = (struct fsc_slow_args){.n = targets->rows.n};
	fsc_types_init(&ret->types, TYPE_DEPTH);
	ret->formats = calloc(ret->n + 1, sizeof(*ret->formats));
	ret->returns = calloc(ret->n + 1, sizeof(*ret->returns));
	if (!sigs || !ret->formats || !ret->returns)
		return fsc_err_nomem(err);
	rc = fsc_signatures_find(targets, &ret->types, sigs, err);
	for (size_t i = 0; !rc && i < n; i++) {
		uint32_t row = fsc_targets_at(targets, i)->row;

		if (!sigs[i].found || ret->returns[row].type)
			continue;
		ret->returns[row] = (struct fsc_returned){sigs[i].ret, sigs[i].ret_readable};
		if (sigs[i].go)
			continue; /* what was kept are C's registers */
		rc = describe(&sigs[i], &ret->formats[row], err);
	}
	return rc;
}
