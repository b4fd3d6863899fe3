/* From full type information to the few facts that expressions need. */
#include "probe/params.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/trace.h"

enum { SMALL_STRUCT = 8 }; /* members; larger ones are not written out */

static struct fsc_ctype ctype_of(const struct fsc_type *t)
{
	struct fsc_ctype c = {.class = FSC_CLASS_OTHER};

	while (t->kind == FSC_TYPE_ARRAY && !c.pointers) {
		c.count = (c.count ? c.count : 1) * (unsigned)(t->n ? t->n : 1);
		t = t->to;
	}
	while (t->kind == FSC_TYPE_POINTER) {
		c.pointers++;
		t = t->to;
	}
	c.size = (unsigned)t->size;
	c.id = (uint64_t)(uintptr_t)t;
	switch (t->kind) {
	case FSC_TYPE_INT:
	case FSC_TYPE_ENUM:
		c.class = FSC_CLASS_INT;
		c.is_signed = t->is_signed;
		c.is_text = t->is_char;
		break;
	case FSC_TYPE_STRUCT:
	case FSC_TYPE_UNION:
		c.class = FSC_CLASS_STRUCT;
		break;
	case FSC_TYPE_VOID:
		c.class = FSC_CLASS_VOID;
		c.size = 1;
		break;
	case FSC_TYPE_FUNC:
		c.class = FSC_CLASS_VOID;
		c.size = 1;
		break;
	default:
		break;
	}
	return c;
}

static int find_param(void *ctx, const char *name, struct fsc_typed *ret, struct fsc_err *err)
{
	const struct fsc_signature *sig = ctx;

	if (!strcmp(name, "retval") && sig->ret && sig->ret->kind != FSC_TYPE_VOID) {
		*ret = (struct fsc_typed){.type = ctype_of(sig->ret), .where = FSC_WHERE_RETVAL};
		return 0;
	}
	for (size_t i = 0; i < sig->n_params; i++) {
		const struct fsc_param *p = &sig->params[i];

		if (!p->name || strcmp(p->name, name))
			continue;
		if (!p->arg || p->n_arg != 1)
			return fsc_err_usage(err, "parameter '%s' is not in an integer register",
					     name);
		*ret = (struct fsc_typed){
		    .type = ctype_of(p->type), .where = FSC_WHERE_ARG, .at = p->arg - 1u};
		return 0;
	}
	return -ENOENT;
}

static const struct fsc_type *struct_of(const struct fsc_ctype *of)
{
	return of->class == FSC_CLASS_STRUCT ? (const struct fsc_type *)(uintptr_t)of->id : NULL;
}

static int find_member(void *ctx, const struct fsc_ctype *of, const char *name,
		       struct fsc_cmember *ret, struct fsc_err *err)
{
	const struct fsc_type *t = struct_of(of);
	struct fsc_member m;

	(void)ctx;
	(void)err;
	if (!t || !fsc_type_member(t, name, &m))
		return -ENOENT;
	*ret = (struct fsc_cmember){.type = ctype_of(m.type), .offset = m.offset_bits / 8};
	if (!m.bitfield)
		return 0;
	/* Of a bitfield, the whole units of its type that it lies in. */
	if (m.type->size) {
		uint64_t unit = m.type->size * 8;

		ret->offset = m.offset_bits / unit * m.type->size;
		ret->bit_offset = (unsigned)(m.offset_bits % unit);
		ret->bit_size = (unsigned)m.size_bits;
	}
	return 0;
}

/* "struct NAME" among what the parameters are or point to. */
static bool is_called(const struct fsc_type *t, const char *name)
{
	const char *blank = strrchr(name, ' ');

	return t->name && !strcmp(t->name, blank ? blank + 1 : name);
}

static int find_type(void *ctx, const char *name, struct fsc_ctype *ret, struct fsc_err *err)
{
	const struct fsc_signature *sig = ctx;

	(void)err;
	for (size_t i = 0; i < sig->n_params; i++) {
		const struct fsc_type *t = sig->params[i].type;

		while (t->kind == FSC_TYPE_POINTER || t->kind == FSC_TYPE_ARRAY)
			t = t->to;
		if (is_called(t, name)) {
			*ret = ctype_of(t);
			return 0;
		}
	}
	return -ENOENT;
}

static void offer_members(void *ctx, const struct fsc_ctype *of, struct fsc_nearest *near)
{
	const struct fsc_signature *sig = ctx;
	const struct fsc_type *t = of ? struct_of(of) : NULL;

	for (size_t i = 0; t && i < t->n_members; i++)
		if (t->members[i].name)
			fsc_nearest_offer(near, t->members[i].name);
	for (size_t i = 0; !of && i < sig->n_params; i++)
		if (sig->params[i].name)
			fsc_nearest_offer(near, sig->params[i].name);
}

void fsc_params_names(const struct fsc_signature *sig, bool user, struct fsc_names *ret)
{
	*ret = (struct fsc_names){.ctx = (void *)sig,
				  .user = user,
				  .param = find_param,
				  .member = find_member,
				  .type = find_type,
				  .near = offer_members};
}

/* ---- a format for all of them ---- */

struct writer {
	struct fsc_params_shown *out;
	struct fsc_buf exprs;
	unsigned values, strings;
	int rc;
};

/* Notes a conversion: its name, its type where that says more than the number. */
static void note_conversion(struct writer *w, const char *name, const struct fsc_type *type)
{
	const struct fsc_type **t = fsc_vec_push(&w->out->types);
	char **n = fsc_vec_push(&w->out->names);

	if (n)
		*n = strdup(name);
	if (t)
		*t = type;
	if (!t || !n || !*n)
		w->rc = -ENOMEM;
	w->values++;
}

static bool is_text(const struct fsc_type *t)
{
	if (t->kind == FSC_TYPE_ARRAY)
		return t->to->is_char;
	return t->kind == FSC_TYPE_POINTER && t->to->is_char && t->to->is_const;
}

/* One value: `LABEL=%d` to the format, EXPR to the expressions. False: there is no room for it. */
static bool put_scalar(struct writer *w, const char *label, const char *expr,
		       const struct fsc_type *t)
{
	bool by_type = t->kind == FSC_TYPE_ENUM || t->is_bool || t->is_char;
	bool text = is_text(t);
	const char *conv = t->kind == FSC_TYPE_POINTER ? "%p" : t->is_signed ? "%lld" : "%llu";

	if (w->values == FSC_TRACE_VALUES || (text && w->strings == FSC_TRACE_STRINGS))
		return false;
	if (text)
		conv = "%s";
	w->strings += text;
	fsc_buf_printf(&w->out->format, "%s=%s", label, conv);
	fsc_buf_printf(&w->exprs, ", %s", expr);
	note_conversion(w, expr, by_type ? t : NULL);
	return true;
}

static bool is_scalar(const struct fsc_type *t)
{
	return t->kind == FSC_TYPE_INT || t->kind == FSC_TYPE_ENUM || t->kind == FSC_TYPE_POINTER ||
	       is_text(t);
}

static bool is_small_struct(const struct fsc_type *t)
{
	return (t->kind == FSC_TYPE_STRUCT || t->kind == FSC_TYPE_UNION) && t->is_complete &&
	       t->n_members && t->n_members <= SMALL_STRUCT;
}

static void put_members(struct writer *w, const char *name, const struct fsc_type *t)
{
	char label[128], expr[160];
	const char *before = "";

	fsc_buf_puts(&w->out->format, " {");
	for (size_t i = 0; i < t->n_members; i++) {
		const struct fsc_member *m = &t->members[i];

		if (!m->name || m->bitfield || !is_scalar(m->type))
			continue;
		snprintf(label, sizeof(label), "%s.%s", before, m->name);
		snprintf(expr, sizeof(expr), "%s->%s", name, m->name);
		if (!put_scalar(w, label, expr, m->type))
			break;
		before = ", ";
	}
	fsc_buf_putc(&w->out->format, '}');
}

static void put_param(struct writer *w, const struct fsc_param *p, size_t i, bool deep)
{
	const struct fsc_type *t = p->type;
	char name[64];

	if (p->name)
		snprintf(name, sizeof(name), "%s", p->name);
	else
		snprintf(name, sizeof(name), "arg%u", p->arg ? p->arg : (unsigned)i + 1);
	fsc_buf_puts(&w->out->format, i ? " " : "");
	if (!p->arg || p->n_arg != 1 || !is_scalar(t) || !put_scalar(w, name, name, t)) {
		fsc_buf_printf(&w->out->format, "%s=?", name);
		return;
	}
	if (deep && t->kind == FSC_TYPE_POINTER && is_small_struct(t->to))
		put_members(w, name, t->to);
}

int fsc_params_show(const struct fsc_signature *sig, bool deep, struct fsc_params_shown *ret,
		    struct fsc_err *err)
{
	struct writer w = {.out = ret};

	*ret = (struct fsc_params_shown){.types = FSC_VEC_INIT(const struct fsc_type *),
					 .names = FSC_VEC_INIT(char *)};
	fsc_buf_puts(&ret->format, " \"");
	for (size_t i = 0; i < sig->n_params; i++)
		put_param(&w, &sig->params[i], i, deep);
	fsc_buf_putc(&ret->format, '"');
	fsc_buf_puts(&ret->format, fsc_buf_str(&w.exprs));
	if (!fsc_buf_failed(&ret->format) && !fsc_buf_failed(&w.exprs) && !w.rc) {
		fsc_buf_release(&w.exprs);
		return 0;
	}
	fsc_buf_release(&w.exprs);
	fsc_params_shown_release(ret);
	return fsc_err_nomem(err);
}

void fsc_params_shown_release(struct fsc_params_shown *s)
{
	fsc_vec_release_owned(&s->names);
	fsc_vec_release(&s->types);
	fsc_buf_release(&s->format);
}
