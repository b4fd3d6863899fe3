/* Macros: calls are replaced by a copy of the body, in which parameters stand for what was given
 * and every other variable has a name of its own. */
#include <string.h>

#include "lang/check.h"

enum { MAX_DEPTH = 32, MAX_COPIES = 200000 };

struct expansion {
	struct fsc_lang *c;
	const struct fsc_macro *macro; /* NULL: only expand, rename nothing */
	struct fsc_expr **args;
	unsigned number, depth;
	struct fsc_loc at;
};

static struct fsc_expr *copy_expr(struct expansion *x, const struct fsc_expr *e);
static struct fsc_stmt *copy_stmts(struct expansion *x, const struct fsc_stmt *s);
static unsigned copies_of(struct fsc_lang *c)
{
	return ++c->n_copies;
}

static int param_of(const struct expansion *x, const char *name)
{
	for (size_t i = 0; x->macro && i < x->macro->params.n; i++)
		if (!strcmp(FSC_AT(struct fsc_macro_param, &x->macro->params, i)->name, name))
			return (int)i;
	return -1;
}

/* A variable's or map's name in the copy. */
static const char *copy_name(struct expansion *x, const char *name, struct fsc_loc at)
{
	int p;

	if (!name || !x->macro)
		return name;
	p = param_of(x, name);
	if (p >= 0)
		return x->args[p]->name;
	if (*name == '@')
		fsc_lang_fail(
		    x->c, at,
		    "Unhygienic access to map: %s. Maps must be passed into the macro as arguments",
		    name);
	return *name == '$' ? fsc_zone_printf(&x->c->temp, "%s#%u", name, x->number) : name;
}

static const struct fsc_macro *macro_find(struct fsc_lang *c, const struct fsc_expr *e)
{
	const struct fsc_macro *other = NULL;

	if (e->kind != FSC_E_CALL && e->kind != FSC_E_NAME)
		return NULL;
	for (size_t i = 0; i < c->macros.n; i++) {
		const struct fsc_macro *m = FSC_AT(struct fsc_macro, &c->macros, i);
		bool fits = m->params.n == e->n_args;

		if (strcmp(m->name, e->name))
			continue;
		other = m;
		for (size_t k = 0; fits && k < e->n_args; k++) {
			char first = *FSC_AT(struct fsc_macro_param, &m->params, k)->name;

			fits = m->is_function || (first != '$' && first != '@') ||
			       (first == '$' && e->args[k]->kind == FSC_E_VAR) ||
			       (first == '@' && e->args[k]->kind == FSC_E_MAP && !e->args[k]->a);
		}
		if (fits)
			return m;
	}
	if (!other || (e->kind == FSC_E_NAME && other->params.n) || fsc_builtin_find(c, e->name))
		return NULL;
	if (other->params.n != e->n_args)
		fsc_lang_fail(c, e->at,
			      "Call to macro has wrong number arguments: expected %zu but got %zu",
			      other->params.n, e->n_args);
	for (size_t k = 0; k < e->n_args; k++) {
		char first = *FSC_AT(struct fsc_macro_param, &other->params, k)->name;

		if (first == '$' && e->args[k]->kind != FSC_E_VAR)
			fsc_lang_fail(c, e->args[k]->at,
				      "Mismatched arg to macro call: it expects a variable");
		if (first == '@' && (e->args[k]->kind != FSC_E_MAP || e->args[k]->a))
			fsc_lang_fail(c, e->args[k]->at,
				      "Mismatched arg to macro call: it expects a map");
	}
	return other;
}

/* The parameters of a function are variables of its own. */
static struct fsc_stmt *function_params(struct expansion *x, struct fsc_stmt *body)
{
	struct fsc_stmt *first = NULL, **end = &first;

	for (size_t i = 0; i < x->macro->params.n; i++) {
		const struct fsc_macro_param *p =
		    FSC_AT(struct fsc_macro_param, &x->macro->params, i);
		struct fsc_stmt *s = FSC_NEW(&x->c->temp, struct fsc_stmt);

		s->kind = FSC_S_LET;
		s->at = x->at;
		s->name = fsc_zone_printf(&x->c->temp, "%s#%u", p->name, x->number);
		s->ref = p->ref;
		s->expr = x->args[i];
		*end = s;
		end = &s->next;
	}
	*end = body;
	return first;
}

static struct fsc_expr *expand(struct expansion *x, const struct fsc_expr *e,
			       const struct fsc_macro *m)
{
	struct expansion inner = {.c = x->c, .macro = m, .depth = x->depth + 1, .at = e->at};
	struct fsc_macro bare;
	struct fsc_expr *block = fsc_expr_new(x->c, FSC_E_BLOCK, e->at);

	if (inner.depth > MAX_DEPTH)
		fsc_lang_fail(x->c, e->at, "Recursive macro call: %s", m->name);
	inner.number = copies_of(x->c);
	inner.args = FSC_NEW_N(&x->c->temp, struct fsc_expr *, e->n_args);
	for (size_t i = 0; i < e->n_args; i++)
		inner.args[i] = copy_expr(x, e->args[i]);
	if (m->is_function) {
		bare = *m;
		bare.params.n = 0;
		inner.macro = &bare;
		block->body = copy_stmts(&inner, m->body);
		inner.macro = m;
		block->body = function_params(&inner, block->body);
		block->called = true;
		block->ref = m->ret;
		return block;
	}
	block->body = copy_stmts(&inner, m->body);
	if (m->value)
		block->a = copy_expr(&inner, m->value);
	return block;
}

static struct fsc_typeref *copy_ref(struct expansion *x, const struct fsc_typeref *ref)
{
	struct fsc_typeref *copy;

	if (!ref || !ref->of)
		return (struct fsc_typeref *)(uintptr_t)ref;
	copy = FSC_NEW(&x->c->temp, struct fsc_typeref);
	*copy = *ref;
	copy->of = copy_expr(x, ref->of);
	return copy;
}

static struct fsc_expr *copy_expr(struct expansion *x, const struct fsc_expr *e)
{
	const struct fsc_macro *m;
	struct fsc_expr *n;
	int p;

	if (!e)
		return NULL;
	if (++x->c->n_copied > MAX_COPIES)
		fsc_lang_fail(x->c, e->at, "the macros make this script too long");
	if (e->kind == FSC_E_NAME) {
		p = param_of(x, e->name);
		if (p >= 0) {
			struct expansion outer = {.c = x->c, .depth = x->depth};

			return copy_expr(&outer, x->args[p]);
		}
	}
	m = macro_find(x->c, e);
	if (m)
		return expand(x, e, m);
	n = fsc_expr_new(x->c, e->kind, e->at);
	*n = *e;
	n->a = copy_expr(x, e->a);
	n->b = copy_expr(x, e->b);
	n->c = copy_expr(x, e->c);
	n->ref = copy_ref(x, e->ref);
	n->body = copy_stmts(x, e->body);
	if (e->kind == FSC_E_VAR || e->kind == FSC_E_MAP)
		n->name = copy_name(x, e->name, e->at);
	n->args = FSC_NEW_N(&x->c->temp, struct fsc_expr *, e->n_args);
	for (size_t i = 0; i < e->n_args; i++)
		n->args[i] = copy_expr(x, e->args[i]);
	return n;
}

static struct fsc_stmt *copy_stmts(struct expansion *x, const struct fsc_stmt *s)
{
	struct fsc_stmt *first = NULL, **end = &first;

	for (; s; s = s->next) {
		struct fsc_stmt *n = FSC_NEW(&x->c->temp, struct fsc_stmt);

		*n = *s;
		n->next = NULL;
		n->to = copy_expr(x, s->to);
		n->expr = copy_expr(x, s->expr);
		n->until = copy_expr(x, s->until);
		n->body = copy_stmts(x, s->body);
		n->other = copy_stmts(x, s->other);
		n->ref = copy_ref(x, s->ref);
		n->name = copy_name(x, s->name, s->at);
		*end = n;
		end = &n->next;
	}
	return first;
}

void fsc_macro_expand(struct fsc_lang *c)
{
	struct expansion x = {.c = c};

	if (!c->macros.n)
		return;
	for (struct fsc_probe *p = c->probes; p; p = p->next) {
		p->predicate = copy_expr(&x, p->predicate);
		p->body = copy_stmts(&x, p->body);
	}
}
