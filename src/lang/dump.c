/* The tree of a script, for people (-d): a line for each node, indented by its depth. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/types_priv.h"

struct dump {
	struct fsc_lang *c;
	struct fsc_buf *b;
	unsigned depth;
};

static void dump_stmts(struct dump *d, const struct fsc_stmt *s);

static const char *const expr_names[] = {
    [FSC_E_INT] = "int",
    [FSC_E_BOOL] = "bool",
    [FSC_E_STRING] = "string",
    [FSC_E_NAME] = "name",
    [FSC_E_POSITIONAL] = "parameter",
    [FSC_E_COUNT] = "$#",
    [FSC_E_VAR] = "variable",
    [FSC_E_MAP] = "map",
    [FSC_E_CALL] = "call",
    [FSC_E_UNARY] = "unary",
    [FSC_E_STEP] = "step",
    [FSC_E_BINARY] = "binary",
    [FSC_E_LOGIC] = "logic",
    [FSC_E_TERNARY] = "?:",
    [FSC_E_FIELD] = "member",
    [FSC_E_INDEX] = "index",
    [FSC_E_NTH] = "element",
    [FSC_E_CAST] = "cast",
    [FSC_E_SIZEOF] = "sizeof",
    [FSC_E_OFFSETOF] = "offsetof",
    [FSC_E_TUPLE] = "tuple",
    [FSC_E_BLOCK] = "block",
};

static const char *const stmt_names[] = {
    [FSC_S_EXPR] = "expression",
    [FSC_S_LET] = "let",
    [FSC_S_ASSIGN] = "assign",
    [FSC_S_DISCARD] = "discard",
    [FSC_S_IF] = "if",
    [FSC_S_WHILE] = "while",
    [FSC_S_FOR_RANGE] = "for",
    [FSC_S_FOR_MAP] = "for",
    [FSC_S_UNROLL] = "unroll",
    [FSC_S_BREAK] = "break",
    [FSC_S_CONTINUE] = "continue",
    [FSC_S_RETURN] = "return",
    [FSC_S_BLOCK] = "block",
};

static void dump_line(struct dump *d, const char *kind, const char *name, int op)
{
	struct fsc_token t = {.kind = op};

	fsc_buf_pad(d->b, ' ', 2 * d->depth);
	fsc_buf_puts(d->b, kind);
	if (op)
		fsc_buf_printf(d->b, " %s", fsc_token_name(d->c, &t));
	if (name)
		fsc_buf_printf(d->b, " %s", name);
	fsc_buf_putc(d->b, '\n');
}

static void dump_expr(struct dump *d, const struct fsc_expr *e)
{
	const char *name = e ? e->name : NULL;

	if (!e)
		return;
	if (e->kind == FSC_E_INT || e->kind == FSC_E_BOOL || e->kind == FSC_E_NTH ||
	    e->kind == FSC_E_POSITIONAL)
		name = fsc_zone_printf(&d->c->temp, "%llu", (unsigned long long)e->value);
	else if (e->ref && e->ref->name)
		name = e->ref->name;
	dump_line(d, expr_names[e->kind], name, e->op);
	d->depth++;
	dump_expr(d, e->a);
	dump_expr(d, e->b);
	dump_expr(d, e->c);
	for (size_t i = 0; i < e->n_args; i++)
		dump_expr(d, e->args[i]);
	if (e->body)
		dump_stmts(d, e->body);
	d->depth--;
}

static void dump_stmts(struct dump *d, const struct fsc_stmt *s)
{
	for (; s; s = s->next) {
		dump_line(d, stmt_names[s->kind], s->name, s->op);
		d->depth++;
		dump_expr(d, s->to);
		dump_expr(d, s->expr);
		dump_expr(d, s->until);
		if (s->body)
			dump_stmts(d, s->body);
		if (s->other)
			dump_stmts(d, s->other);
		d->depth--;
	}
}

static void dump_script(struct dump *d)
{
	for (struct fsc_probe *p = d->c->probes; p; p = p->next) {
		for (size_t i = 0; i < p->texts.n; i++)
			dump_line(d, "probe", FSC_AT(struct fsc_attach_text, &p->texts, i)->text,
				  0);
		d->depth++;
		if (p->predicate) {
			dump_line(d, "predicate", NULL, 0);
			d->depth++;
			dump_expr(d, p->predicate);
			d->depth--;
		}
		dump_stmts(d, p->body);
		d->depth--;
	}
}

int fsc_lang_dump_tree(const char *text, size_t n, struct fsc_buf *b, struct fsc_err *err)
{
	static const struct fsc_lang_opts opts;
	static const struct fsc_world world;
	struct fsc_lang *c = calloc(1, sizeof(*c));
	struct fsc_diags diags;
	int code;

	if (!c)
		return fsc_err_nomem(err);
	fsc_diags_init(&diags);
	*c = (struct fsc_lang){.text = text,
			       .n = n,
			       .opts = &opts,
			       .world = &world,
			       .diags = &diags,
			       .err = err,
			       .keep = &c->temp};
	c->temp.out_of_memory = &c->failed;
	if (!setjmp(c->failed)) {
		struct dump d = {.c = c, .b = b};

		fsc_ctypes_init(c);
		fsc_parse(c);
		dump_script(&d);
	} else if (!c->code) {
		c->code = fsc_err_nomem(err);
	}
	fsc_ctypes_release(c);
	fsc_zone_release(&c->temp);
	fsc_diags_release(&diags);
	code = c->code;
	free(c);
	return code;
}
