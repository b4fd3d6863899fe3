/* From a parsed trace specification to the program for one place: predicate, then values, each
 * bound to the conversion that shows it. */
#include "probe/tracespec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Room that an unrequested value must leave for later ones. */
enum { AUTO_OPS = 8 };

static int compile_predicate(struct fsc_gen *g, const struct fsc_tracespec *s)
{
	struct fsc_operand o;
	int rc = fsc_gen_value(g, s->predicate, &o);

	if (!rc)
		rc = fsc_gen_emit(g, FSC_OP_CHECK, 8, 0, 0);
	g->prog->n_pred = g->prog->n_ops;
	return rc;
}

/* Takes what is on the stack as the record's next value. */
static int emit_value(struct fsc_gen *g, struct fsc_conv *c)
{
	if (g->prog->n_values == FSC_TRACE_VALUES)
		return fsc_err_usage(g->err, "column %u: a probe can show at most %d values",
				     c->column, FSC_TRACE_VALUES);
	c->value = (int)g->prog->n_values++;
	return fsc_gen_emit(g, FSC_OP_EMIT, 8, (uint32_t)c->value, 0);
}

static bool is_address(const struct fsc_ctype *t)
{
	return t->pointers || t->count || t->size == 8;
}

/* Takes what is on the stack as the address of a text to copy. */
static int emit_text(struct fsc_gen *g, struct fsc_conv *c, struct fsc_operand *o)
{
	uint32_t limit = o->in_memory && o->type.count && !o->type.pointers ? o->type.count : 0;
	struct fsc_trace_prog *p = g->prog;
	int rc;

	if (!is_address(&o->type))
		return fsc_err_usage(g->err,
				     "column %u: %%s shows a string, but its value is a number of "
				     "%u bytes; use %%d or %%x",
				     c->column, o->type.size);
	if (p->n_strings == FSC_TRACE_STRINGS)
		return fsc_err_usage(g->err, "column %u: a probe can show at most %d strings",
				     c->column, FSC_TRACE_STRINGS);
	rc = fsc_gen_load(g, c->column, o);
	if (!rc)
		rc = emit_value(g, c);
	if (rc)
		return rc;
	c->string = (int)p->n_strings;
	p->strings[p->n_strings++] = (struct fsc_trace_string){
	    .value = (__u16)c->value, .how = o->user ? FSC_OP_USER : 0, .limit = limit};
	return 0;
}

static int bind_value(struct fsc_gen *g, struct fsc_conv *c, uint32_t node)
{
	const struct fsc_node *n = FSC_AT(struct fsc_node, &g->tree->nodes, node);
	struct fsc_operand o;
	int rc;

	if (n->kind == FSC_NODE_VAR && n->name.n == 4 && !memcmp(n->name.s, "comm", 4) &&
	    c->kind == 's')
		return 0; /* every record has it */
	rc = fsc_gen_place(g, node, &o);
	if (rc)
		return rc;
	if (c->kind == 's')
		return emit_text(g, c, &o);
	rc = fsc_gen_load(g, n->column, &o);
	return rc ? rc : emit_value(g, c);
}

static int compile_custom(struct fsc_gen *g, const struct fsc_tracespec *s, struct fsc_format *f)
{
	unsigned column = (unsigned)(s->format.s - s->text) + 1;
	int rc = fsc_format_parse(s->format.s, s->format.n, column, f, g->err);

	if (rc)
		return rc;
	if (fsc_format_count(f) != s->values.n)
		return fsc_err_usage(
		    g->err, "column %u: the format has %zu conversions, but %zu values follow it",
		    column, fsc_format_count(f), s->values.n);
	for (size_t i = 0; i < s->values.n && !rc; i++)
		rc = bind_value(g, FSC_AT(struct fsc_conv, &f->convs, i),
				*FSC_AT(uint32_t, &s->values, i));
	return rc;
}

/* The default conversion for a type: 0 if it is not shown. */
static char natural_conv(const struct fsc_gen *g, const struct fsc_typed *typed)
{
	const struct fsc_ctype *t = &typed->type;
	bool text = t->is_text && (t->pointers == 1) != !!t->count && t->pointers <= 1;

	if (text)
		return g->prog->n_strings < FSC_TRACE_STRINGS ? 's' : 'p';
	if (t->count)
		return 0;
	if (t->pointers)
		return 'p';
	if (t->class != FSC_CLASS_INT)
		return 0;
	/* Of USDT arguments only the size is known: an unsigned word may well be an address. */
	if (typed->where == FSC_WHERE_USDT && t->size == 8 && !t->is_signed)
		return 'x';
	return t->is_signed ? 'd' : 'u';
}

static int add_named(struct fsc_gen *g, const char *name, const struct fsc_typed *t, char kind,
		     struct fsc_format *f)
{
	struct fsc_conv *c;
	struct fsc_operand o;
	int rc;

	if (!kind)
		return 0;
	c = fsc_format_push_named(f, name, kind, 'l');
	if (!c)
		return fsc_err_nomem(g->err);
	if (kind == 'x')
		c->flags[0] = '#';
	c->quoted = kind == 's';
	rc = fsc_gen_typed(g, t, &o);
	if (!rc && kind == 's')
		return emit_text(g, c, &o);
	if (!rc)
		rc = fsc_gen_load(g, 0, &o);
	return rc ? rc : emit_value(g, c);
}

static bool has_room(const struct fsc_gen *g)
{
	return g->prog->n_values < FSC_TRACE_VALUES && g->prog->n_ops + AUTO_OPS <= FSC_TRACE_OPS;
}

/* Values with names and types; what cannot be read is left out. */
static int show_listed(struct fsc_gen *g, struct fsc_format *f)
{
	for (size_t i = 0; has_room(g); i++) {
		struct fsc_typed t = {.type = FSC_CTYPE_U64};
		const char *name = NULL;
		int rc = g->names->list(g->names->ctx, i, &name, &t, g->err);

		if (rc == -EOPNOTSUPP)
			continue;
		if (rc)
			return rc == -ENOENT ? 0 : rc;
		rc = add_named(g, name, &t, natural_conv(g, &t), f);
		if (rc)
			return rc;
	}
	return 0;
}

static int show_declared(struct fsc_gen *g, struct fsc_format *f)
{
	int rc = 0;

	for (size_t i = 0; i < g->params->n && i < FSC_TRACE_ARGS && !rc && has_room(g); i++) {
		const struct fsc_expr_param *p = FSC_AT(struct fsc_expr_param, g->params, i);
		struct fsc_typed t = {.at = (uint32_t)i};
		char name[FSC_EXPR_NAME];

		fsc_slice_copy(p->name, name);
		rc = fsc_gen_type(g, &p->type, &t.type);
		if (!rc && name[0])
			rc = add_named(g, name, &t, natural_conv(g, &t), f);
	}
	return rc;
}

static int show_numbered(struct fsc_gen *g, struct fsc_format *f)
{
	int rc = 0;

	for (uint32_t i = 0; i < FSC_TRACE_ARGS && !rc && has_room(g); i++) {
		struct fsc_typed t = {.type = FSC_CTYPE_U64, .at = i};
		char name[] = "arg1";

		name[3] = (char)('1' + i);
		rc = add_named(g, name, &t, 'x', f);
	}
	return rc;
}

static int compile_automatic(struct fsc_gen *g, struct fsc_format *f)
{
	if (g->at == FSC_AT_RETURN)
		return 0; /* arguments are not known there, the return value is always shown */
	if (g->params->n)
		return show_declared(g, f);
	if (g->names->list)
		return show_listed(g, f);
	return g->names->field || g->names->no_args ? 0 : show_numbered(g, f);
}

int fsc_tracespec_compile(const struct fsc_tracespec *s, const struct fsc_names *names,
			  enum fsc_trace_at at, struct fsc_trace_prog *prog,
			  struct fsc_format *format, struct fsc_err *err)
{
	struct fsc_gen g = {.tree = &s->tree,
			    .params = &s->params,
			    .names = names,
			    .at = at,
			    .prog = prog,
			    .err = err};
	int rc = 0;

	memset(prog, 0, sizeof(*prog));
	*format = (struct fsc_format){.convs = FSC_VEC_INIT(struct fsc_conv)};
	if (s->has_predicate)
		rc = compile_predicate(&g, s);
	if (!rc)
		rc = s->has_format ? compile_custom(&g, s, format) : compile_automatic(&g, format);
	if (rc)
		fsc_format_release(format);
	return rc;
}
