/* Types of expressions, and the values of those that are constant. */
#include <stdlib.h>
#include <string.h>

#include "lang/check.h"

void fsc_expr_const(struct fsc_expr *e, const struct fsc_vtype *t, uint64_t value)
{
	e->kind = t->kind == FSC_V_BOOL ? FSC_E_BOOL : FSC_E_INT;
	e->type = t;
	e->value = value;
	e->is_const = true;
}

/* The smallest type for a literal: signed, if it can be. */
const struct fsc_vtype *fsc_vt_smallest(uint64_t value, bool is_unsigned)
{
	int64_t v = (int64_t)value;

	if (is_unsigned)
		return &fsc_vt_u64;
	return fsc_vt_int(v == (int8_t)v ? 1 : v == (int16_t)v ? 2 : v == (int32_t)v ? 4 : 8, true);
}

void fsc_expr_text(struct fsc_lang *c, struct fsc_expr *e, const char *text, size_t n)
{
	e->kind = FSC_E_STRING;
	e->name = fsc_zone_copy(c->keep, text, n);
	e->size = n;
	e->type = fsc_vt_string(c, n + 1);
}

static void check_int(struct fsc_lang *c, struct fsc_expr *e)
{
	(void)c;
	e->is_const = true;
	if (!e->type)
		e->type = fsc_vt_smallest(e->value, e->value > INT64_MAX);
}

static void check_bool(struct fsc_lang *c, struct fsc_expr *e)
{
	(void)c;
	e->is_const = true;
	e->type = &fsc_vt_bool;
}

static void check_string(struct fsc_lang *c, struct fsc_expr *e)
{
	e->type = fsc_vt_string(c, e->size + 1);
}

static void check_positional(struct fsc_lang *c, struct fsc_expr *e)
{
	const char *s =
	    e->value <= c->opts->n_params && e->value ? c->opts->params[e->value - 1] : NULL;
	bool is_unsigned, overflow, negative = s && *s == '-';
	uint64_t v;
	size_t used;

	e->positional = e->value;
	if (!s) {
		fsc_expr_const(e, &fsc_vt_i64, 0);
	} else if (fsc_lex_number(s + negative, strlen(s + negative), &v, &used, &is_unsigned,
				  &overflow) &&
		   !overflow && !s[negative + used]) {
		fsc_expr_const(e, v > INT64_MAX ? &fsc_vt_u64 : &fsc_vt_i64, negative ? 0 - v : v);
	} else {
		fsc_expr_text(c, e, s, strlen(s));
	}
}

static void check_count(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_expr_const(e, &fsc_vt_i64, c->opts->n_params);
}

static void check_name(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_nearest nearest = {.wanted = e->name};
	struct fsc_cenumerator en;
	const struct fsc_builtin *b = fsc_builtin_find(c, e->name);

	if (b && (b->flags & FSC_B_BARE || (b->flags & FSC_B_AGG && b->min == 0))) {
		e->builtin = b;
		if (b->flags & FSC_B_UNSAFE && !c->opts->unsafe)
			fsc_lang_fail_hint(c, e->at, "give --unsafe if you mean it",
					   "%s() is an unsafe function being used in safe mode",
					   e->name);
		b->check(c, e);
		return;
	}
	if (fsc_vt_enumerator(c, e->name, &en)) {
		fsc_expr_const(e, en.type, (uint64_t)en.value);
		return;
	}
	fsc_builtin_nearest(&nearest);
	if (b)
		fsc_lang_fail(c, e->at, "%s() needs its arguments", e->name);
	fsc_lang_fail_hint(c, e->at, fsc_lang_nearest(c, &nearest), "Unknown identifier: '%s'",
			   e->name);
}

static void check_var(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_scope_var *v = fsc_check_var(c, e->name);
	struct fsc_nearest nearest = {.wanted = e->name};

	if (!v) {
		for (struct fsc_scope *s = c->check->scope; s; s = s->up)
			for (v = s->vars; v; v = v->next)
				if (!strchr(v->name, '#'))
					fsc_nearest_offer(&nearest, v->name);
		fsc_lang_fail_hint(c, e->at, fsc_lang_nearest(c, &nearest),
				   "Undefined or undeclared variable: %.*s",
				   (int)strcspn(e->name, "#"), e->name);
	}
	e->var = v;
	e->type = v->type;
}

static void check_map(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_script_map *m = fsc_check_map(c, e);

	if (e->a)
		fsc_check_value(c, e->a);
	fsc_check_map_key(c, m, e->a, e->at);
	e->type = m->value;
	if (c->check->final && !m->value) {
		struct fsc_nearest nearest = {.wanted = e->name};

		for (size_t i = 0; i < c->check->maps.n; i++)
			if (*FSC_AT(struct fsc_script_map *, &c->check->maps, i) != m)
				fsc_nearest_offer(
				    &nearest,
				    (*FSC_AT(struct fsc_script_map *, &c->check->maps, i))->name);
		fsc_lang_fail_hint(c, e->at, fsc_lang_nearest(c, &nearest), "Undefined map: %s",
				   e->name);
	}
}

static void call_count_args(struct fsc_lang *c, struct fsc_expr *e, const struct fsc_builtin *b)
{
	int n = (int)e->n_args;

	if (n >= b->min && (b->max < 0 || n <= b->max))
		return;
	if (b->min == b->max)
		fsc_lang_fail(c, e->at, "%s() requires %s argument%s (%d provided)", e->name,
			      b->min == 0   ? "no"
			      : b->min == 1 ? "one"
			      : b->min == 2 ? "two"
			      : b->min == 3 ? "three"
					    : "four",
			      b->min == 1 ? "" : "s", n);
	if (n < b->min)
		fsc_lang_fail(c, e->at, "%s() requires at least %d argument%s (%d provided)",
			      e->name, b->min, b->min == 1 ? "" : "s", n);
	fsc_lang_fail(c, e->at, "%s() takes up to %d argument%s (%d provided)", e->name, b->max,
		      b->max == 1 ? "" : "s", n);
}

static void check_call(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_builtin *b = fsc_builtin_find(c, e->name);
	struct fsc_nearest nearest = {.wanted = e->name};

	if (!b) {
		fsc_builtin_nearest(&nearest);
		for (size_t i = 0; i < c->macros.n; i++)
			fsc_nearest_offer(&nearest, FSC_AT(struct fsc_macro, &c->macros, i)->name);
		fsc_lang_fail_hint(c, e->at, fsc_lang_nearest(c, &nearest),
				   "Unknown function: '%s'", e->name);
	}
	if (b->flags & FSC_B_UNSAFE && !c->opts->unsafe)
		fsc_lang_fail_hint(c, e->at, "give --unsafe if you mean it",
				   "%s() is an unsafe function being used in safe mode", e->name);
	call_count_args(c, e, b);
	e->builtin = b;
	for (size_t i = 0; !(b->flags & FSC_B_OWN) && i < e->n_args; i++) {
		if (i == 0 && b->flags & FSC_B_MAP) {
			if (e->args[0]->kind != FSC_E_MAP)
				fsc_lang_fail(c, e->args[0]->at,
					      "%s() expects a map to be provided", e->name);
			fsc_check_map(c, e->args[0]);
			continue;
		}
		fsc_check_value(c, e->args[i]);
	}
	b->check(c, e);
}

/* A variable whose address is taken lies in memory; its address is the kernel's. */
static void check_address(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_check_expr(c, e->a);
	if (e->a->kind != FSC_E_VAR || e->a->var->is_pair)
		fsc_lang_fail(c, e->at, "only a variable's address can be taken (&$x)");
	e->a->var->in_memory = true;
	e->type = e->a->type ? fsc_vt_pointer(c, e->a->type, FSC_SPACE_KERNEL) : NULL;
}

static void check_unary(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_vtype *t;

	if (e->op == '&') {
		check_address(c, e);
		return;
	}

	fsc_check_value(c, e->a);
	t = e->a->type;
	e->type = t;
	if (!t)
		return;
	if (e->op == '*') {
		if (t->kind == FSC_V_INT) {
			e->type = fsc_vt_in(c, &fsc_vt_u64, t->space);
			return;
		}
		if (t->kind != FSC_V_POINTER)
			fsc_lang_fail(c, e->at,
				      "Can not dereference value of type \"%s\" (not a pointer)",
				      fsc_vt_name(c, t));
		if (t->to->kind == FSC_V_VOID ||
		    (t->to->kind == FSC_V_RECORD && !fsc_vt_complete(c, t->to)))
			fsc_lang_fail(c, e->at, "'%s' is not known, so it cannot be read",
				      fsc_vt_name(c, t->to));
		e->type = t->to;
		if (e->type->kind == FSC_V_POINTER || e->type->kind == FSC_V_INT)
			e->type = fsc_vt_in(c, e->type, t->space);
		return;
	}
	if (e->op == '!') {
		if (!fsc_vt_is_number(t))
			fsc_lang_fail(c, e->at,
				      "The ! operator can not be used on expressions of type '%s'",
				      fsc_vt_name(c, t));
		e->type = &fsc_vt_bool;
		if (e->a->is_const)
			fsc_expr_const(e, &fsc_vt_bool, !e->a->value);
		return;
	}
	if (!fsc_vt_is_integer(t))
		fsc_lang_fail(c, e->at,
			      "The %c operator can not be used on expressions of type '%s'", e->op,
			      fsc_vt_name(c, t));
	e->type = t->is_signed || e->op == '-' ? &fsc_vt_i64 : &fsc_vt_u64;
	if (!e->a->is_const)
		return;
	if (e->op == '-')
		fsc_expr_const(e, fsc_vt_smallest(0 - e->a->value, false), 0 - e->a->value);
	else
		fsc_expr_const(e, &fsc_vt_u64, ~e->a->value);
}

static void check_step(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_vtype *t, *number;

	if (e->a->kind == FSC_E_MAP) {
		struct fsc_script_map *m = fsc_check_map(c, e->a);

		if (e->a->a)
			fsc_check_value(c, e->a->a);
		fsc_check_map_key(c, m, e->a->a, e->a->at);
		if (!m->value)
			fsc_check_map_value(c, m, &fsc_vt_i64, NULL, e->at);
		if (m->value->kind == FSC_V_INT)
			fsc_check_map_value(c, m, m->value->is_signed ? &fsc_vt_i64 : &fsc_vt_u64,
					    NULL, e->at);
		e->a->type = m->value;
	} else {
		fsc_check_expr(c, e->a);
		if (e->a->type && e->a->type->kind == FSC_V_INT && !e->a->var->declared)
			fsc_check_var_type(c, e->a->var,
					   e->a->type->is_signed ? &fsc_vt_i64 : &fsc_vt_u64, NULL,
					   e->at);
		e->a->type = e->a->var->type;
	}
	t = e->a->type;
	e->type = t;
	if (!t)
		return;
	if (fsc_vt_castable(t, &number) || (t->kind != FSC_V_INT && t->kind != FSC_V_POINTER))
		fsc_lang_fail(c, e->at,
			      "The %s operator can not be used on expressions of type '%s'",
			      e->op == FSC_T_INC ? "++" : "--", fsc_vt_name(c, t));
}

static void check_logic(struct fsc_lang *c, struct fsc_expr *e)
{
	bool is_and = e->op == FSC_T_AND;

	fsc_check_condition(c, e->a);
	e->type = &fsc_vt_bool;
	if (e->a->is_const && !!e->a->value != is_and) {
		fsc_expr_const(e, &fsc_vt_bool, !is_and);
		return;
	}
	fsc_check_condition(c, e->b);
	if (e->a->is_const && e->b->is_const)
		fsc_expr_const(e, &fsc_vt_bool, !!e->b->value);
}

static void check_ternary(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_check_condition(c, e->a);
	e->b->discarded = e->c->discarded = e->discarded;
	if (e->a->is_const) {
		struct fsc_expr *live = e->a->value ? e->b : e->c;

		fsc_check_expr(c, live);
		e->type = live->type;
		if (live->is_const)
			fsc_expr_const(e, live->type, live->value);
		return;
	}
	fsc_check_expr(c, e->b);
	fsc_check_expr(c, e->c);
	e->type = e->b->type ? e->b->type : e->c->type;
	if (!e->b->type || !e->c->type)
		return;
	if (e->b->type->kind != FSC_V_VOID && !fsc_vtype_aggregates(e->b->type) &&
	    !fsc_vtype_aggregates(e->c->type))
		e->type = fsc_vt_merge(c, e->b->type, e->c->type, e->c->is_const);
	else if (e->discarded && e->b->type->kind != e->c->type->kind)
		e->type = &fsc_vt_void;
	else if (e->b->type->kind != e->c->type->kind)
		e->type = NULL;
	if (!e->type)
		fsc_lang_fail(c, e->at,
			      "Ternary operator must return the same type: have '%s' and '%s'",
			      fsc_vt_name(c, e->b->type), fsc_vt_name(c, e->c->type));
}

static void check_field(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_nearest nearest = {.wanted = e->name};
	const struct fsc_vtype *t;
	struct fsc_vfield f;

	if (e->a->kind == FSC_E_NAME && !strcmp(e->a->name, "args")) {
		const struct fsc_args *args = fsc_check_args(c, e->at);

		for (size_t i = 0; i < args->n; i++) {
			if (!strcmp(args->args[i].name, e->name)) {
				e->builtin = fsc_builtin_find(c, "args");
				e->more = &args->args[i];
				e->builtin->check(c, e);
				return;
			}
			fsc_nearest_offer(&nearest, args->args[i].name);
		}
		fsc_lang_fail_hint(c, e->at, fsc_lang_nearest(c, &nearest),
				   "Can't find function parameter %s", e->name);
	}
	fsc_check_value(c, e->a);
	t = e->a->type;
	if (!t)
		return;
	if (t->kind == FSC_V_POINTER)
		t = t->to;
	if (t->kind != FSC_V_RECORD)
		fsc_lang_fail(c, e->at, "Can not access field '%s' on expression of type '%s'",
			      e->name, fsc_vt_name(c, e->a->type));
	if (!fsc_vt_field(c, t, e->name, &f)) {
		for (size_t i = 0; i < t->n_fields; i++)
			if (t->fields[i].name)
				fsc_nearest_offer(&nearest, t->fields[i].name);
		if (!t->is_complete)
			fsc_lang_fail(c, e->at, "nothing is known of the members of '%s'",
				      fsc_vt_name(c, t));
		fsc_lang_fail_hint(c, e->at, fsc_lang_nearest(c, &nearest),
				   "Struct/union of type '%s' does not contain a field named '%s'",
				   fsc_vt_name(c, t), e->name);
	}
	/* C's array of char may be full, a text has a NUL. */
	e->type = f.type->kind == FSC_V_STRING ? fsc_vt_string(c, f.type->size + 1) : f.type;
	e->more = fsc_zone_copy(&c->temp, (const char *)&f, sizeof(f));
	if (f.type->kind == FSC_V_POINTER || f.type->kind == FSC_V_INT)
		e->type = fsc_vt_in(c, f.type, e->a->type->space);
}

static void check_nth(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_check_value(c, e->a);
	if (!e->a->type)
		return;
	if (e->a->type->kind != FSC_V_TUPLE)
		fsc_lang_fail(c, e->at, "Can not access index '%llu' on expression of type '%s'",
			      (unsigned long long)e->value, fsc_vt_name(c, e->a->type));
	if (e->value >= e->a->type->n_fields)
		fsc_lang_fail(c, e->at, "Invalid tuple index: %llu. Found %zu elements in tuple.",
			      (unsigned long long)e->value, e->a->type->n_fields);
	e->type = e->a->type->fields[e->value].type;
}

static void check_index(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_vtype *t;

	fsc_check_value(c, e->a);
	fsc_check_value(c, e->b);
	t = e->a->type;
	if (!t || !e->b->type)
		return;
	if (t->kind == FSC_V_TUPLE && e->b->is_const) {
		e->kind = FSC_E_NTH;
		e->value = e->b->value;
		check_nth(c, e);
		return;
	}
	if (t->kind != FSC_V_ARRAY && t->kind != FSC_V_POINTER && t->kind != FSC_V_STRING)
		fsc_lang_fail(c, e->at,
			      "The array index operator [] can only be used on arrays and "
			      "pointers, found %s.",
			      fsc_vt_name(c, t));
	if (!fsc_vt_is_integer(e->b->type))
		fsc_lang_fail(c, e->at,
			      "The array index operator [] only accepts positive (unsigned) "
			      "integer indices");
	if (t->kind == FSC_V_ARRAY && e->b->is_const && t->n && e->b->value >= t->n)
		fsc_lang_fail(c, e->at, "the index %llu is out of bounds for array of size %llu",
			      (unsigned long long)e->b->value, (unsigned long long)t->n);
	e->type = t->kind == FSC_V_STRING ? &fsc_vt_char : t->to;
	if (t->kind == FSC_V_POINTER &&
	    (t->to->kind == FSC_V_VOID ||
	     (t->to->kind == FSC_V_RECORD && !fsc_vt_complete(c, t->to))))
		fsc_lang_fail(c, e->at, "'%s' is not known, so it cannot be read",
			      fsc_vt_name(c, t->to));
	if (t->kind == FSC_V_POINTER)
		e->type = fsc_vt_in(c, e->type, t->space);
}

static const struct fsc_vtype *cast_array(struct fsc_lang *c, struct fsc_expr *e,
					  const struct fsc_vtype *to, const struct fsc_vtype *from)
{
	if (from->kind != FSC_V_INT && from->kind != FSC_V_BOOL && from->kind != FSC_V_ARRAY &&
	    from->kind != FSC_V_STRING)
		fsc_lang_fail(c, e->at, "Cannot cast from \"%s\" to \"%s\"", fsc_vt_name(c, from),
			      fsc_vt_name(c, to));
	if (to->to->size && e->ref->open_dim)
		to = fsc_vt_array(c, to->to, from->size / to->to->size);
	if (to->size != from->size && !(e->a->is_const && to->size <= 8))
		fsc_lang_fail(c, e->at, "Cannot cast from \"%s\" to \"%s\": their sizes differ",
			      fsc_vt_name(c, from), fsc_vt_name(c, to));
	return to;
}

static void check_cast(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_vtype *to, *from;

	fsc_check_value(c, e->a);
	if (e->ref->of) {
		fsc_check_value(c, e->ref->of);
		to = e->ref->of->type;
	} else {
		to = fsc_vt_resolve(c, e->ref, e->a->type ? e->a->type->space : FSC_SPACE_NONE);
	}
	from = e->a->type;
	e->type = to;
	if (!from || !to)
		return;
	if (to->kind == FSC_V_ARRAY) {
		e->type = cast_array(c, e, to, from);
	} else if (to->kind == FSC_V_INT || to->kind == FSC_V_BOOL) {
		if (!fsc_vt_is_number(from) && from->kind != FSC_V_ARRAY &&
		    !(from->kind == FSC_V_STRING && to->kind == FSC_V_BOOL))
			fsc_lang_fail(c, e->at, "Cannot cast from \"%s\" to \"%s\"",
				      fsc_vt_name(c, from), fsc_vt_name(c, to));
		if (from->kind == FSC_V_ARRAY && from->size != to->size)
			fsc_lang_fail(c, e->at,
				      "Cannot cast from \"%s\" to \"%s\": their sizes differ",
				      fsc_vt_name(c, from), fsc_vt_name(c, to));
		e->type = fsc_vt_in(c, to, from->space);
	} else if (to->kind == FSC_V_POINTER) {
		if (!fsc_vt_is_number(from) && from->kind != FSC_V_ARRAY &&
		    from->kind != FSC_V_STRING)
			fsc_lang_fail(c, e->at, "Cannot cast from \"%s\" to \"%s\"",
				      fsc_vt_name(c, from), fsc_vt_name(c, to));
	} else if (to->kind == FSC_V_RECORD) {
		if (from->kind != FSC_V_INT && from->kind != FSC_V_POINTER)
			fsc_lang_fail(c, e->at, "Cannot cast from \"%s\" to \"%s\"",
				      fsc_vt_name(c, from), fsc_vt_name(c, to));
		fsc_lang_fail_hint(c, e->at, "cast to a pointer: (struct x *)...",
				   "Cannot cast to \"%s\"", fsc_vt_name(c, to));
	} else if (to->kind != from->kind) {
		fsc_lang_fail(c, e->at, "Cannot cast from \"%s\" to \"%s\"", fsc_vt_name(c, from),
			      fsc_vt_name(c, to));
	}
	if (e->a->is_const && to->kind == FSC_V_INT) {
		uint64_t v = e->a->value;
		int shift = 64 - 8 * (int)to->size;

		v = to->is_signed ? (uint64_t)((int64_t)(v << shift) >> shift)
				  : v << shift >> shift;
		e->is_const = true;
		e->value = v;
	}
}

/* sizeof(x), offsetof(x, m) where x is the name of a type and of nothing else. */
static const struct fsc_vtype *bare_type(struct fsc_lang *c, const struct fsc_expr *e)
{
	const struct fsc_vtype *t;

	if (!e || e->kind != FSC_E_NAME || fsc_builtin_find(c, e->name))
		return NULL;
	t = fsc_vt_named(c, e->name);
	if (!t)
		t = fsc_vt_named(c, fsc_zone_printf(c->keep, "struct %s", e->name));
	if (t && t->kind == FSC_V_RECORD && !fsc_vt_complete(c, t))
		return NULL;
	return t;
}

static void check_sizeof(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_vtype *t;

	if (e->ref && !e->ref->of) {
		t = fsc_vt_resolve(c, e->ref, FSC_SPACE_NONE);
	} else if (!e->ref && bare_type(c, e->a)) {
		t = bare_type(c, e->a);
	} else {
		struct fsc_expr *of = e->ref ? e->ref->of : e->a;

		fsc_check_value(c, of);
		t = of->type;
		if (t && t->kind == FSC_V_RECORD)
			fsc_vt_complete(c, t);
	}
	e->type = &fsc_vt_u64;
	if (!t)
		return;
	if (e->a && e->a->kind == FSC_E_FIELD && !e->a->builtin)
		t = ((const struct fsc_vfield *)e->a->more)->type;
	e->is_const = true;
	e->value = t->size;
}

static void check_offsetof(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_vtype *t;
	uint64_t offset = 0;
	struct fsc_vfield f;

	if (e->ref) {
		t = fsc_vt_resolve(c, e->ref, FSC_SPACE_NONE);
	} else if (bare_type(c, e->a)) {
		t = bare_type(c, e->a);
	} else {
		fsc_check_value(c, e->a);
		t = e->a->type;
	}
	e->type = &fsc_vt_u64;
	if (!t)
		return;
	for (const char *s = e->name; *s;) {
		size_t n = strcspn(s, ".");
		const char *name = fsc_zone_copy(&c->temp, s, n);

		if (t->kind != FSC_V_RECORD || !fsc_vt_field(c, t, name, &f))
			fsc_lang_fail(c, e->at, "'%s' has no field named '%s'", fsc_vt_name(c, t),
				      name);
		offset += f.offset;
		t = f.type;
		s += n + (s[n] == '.');
	}
	e->is_const = true;
	e->value = offset;
}

static void check_tuple(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_vtype **types = FSC_NEW_N(&c->temp, const struct fsc_vtype *, e->n_args);
	bool all = true;

	for (size_t i = 0; i < e->n_args; i++) {
		fsc_check_value(c, e->args[i]);
		types[i] = e->args[i]->type;
		all &= types[i] != NULL;
	}
	e->type = !all	    ? NULL
		  : e->more ? fsc_vt_named_tuple(c, types, e->more, e->n_args)
			    : fsc_vt_tuple(c, types, e->n_args);
}

static void check_block(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_expr *before = c->check->inlined;

	if (!e->body && e->a && e->a->kind == FSC_E_STRING) {
		fsc_expr_text(c, e, e->a->name, e->a->size);
		return;
	}
	fsc_check_push(c);
	e->type = e->called && e->ref ? fsc_vt_resolve(c, e->ref, FSC_SPACE_NONE) : &fsc_vt_void;
	if (e->called)
		c->check->inlined = e;
	fsc_check_block(c, e->body);
	c->check->inlined = before;
	if (e->a) {
		e->a->discarded = e->discarded;
		fsc_check_expr(c, e->a);
		e->type = e->a->type;
		if (e->a->is_const && !e->body) {
			e->is_const = true;
			e->value = e->a->value;
		}
	}
	fsc_check_pop(c);
}

void fsc_check_binary(struct fsc_lang *c, struct fsc_expr *e);

static void (*const checkers[])(struct fsc_lang *c, struct fsc_expr *e) = {
    [FSC_E_INT] = check_int,
    [FSC_E_BOOL] = check_bool,
    [FSC_E_STRING] = check_string,
    [FSC_E_NAME] = check_name,
    [FSC_E_POSITIONAL] = check_positional,
    [FSC_E_COUNT] = check_count,
    [FSC_E_VAR] = check_var,
    [FSC_E_MAP] = check_map,
    [FSC_E_CALL] = check_call,
    [FSC_E_UNARY] = check_unary,
    [FSC_E_STEP] = check_step,
    [FSC_E_BINARY] = fsc_check_binary,
    [FSC_E_LOGIC] = check_logic,
    [FSC_E_TERNARY] = check_ternary,
    [FSC_E_FIELD] = check_field,
    [FSC_E_INDEX] = check_index,
    [FSC_E_NTH] = check_nth,
    [FSC_E_CAST] = check_cast,
    [FSC_E_SIZEOF] = check_sizeof,
    [FSC_E_OFFSETOF] = check_offsetof,
    [FSC_E_TUPLE] = check_tuple,
    [FSC_E_BLOCK] = check_block,
};

void fsc_check_expr(struct fsc_lang *c, struct fsc_expr *e)
{
	if (e->kind != FSC_E_INT)
		e->is_const = false;
	checkers[e->kind](c, e);
}

void fsc_check_value(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_vtype *t;

	fsc_check_expr(c, e);
	if (!e->type)
		return;
	if (e->type->kind == FSC_V_VOID)
		fsc_lang_fail(c, e->at, "this has no value");
	if (!fsc_vtype_aggregates(e->type))
		return;
	if (e->kind != FSC_E_MAP)
		fsc_lang_fail(c, e->at, "%s() should be assigned to a map", e->name);
	if (!fsc_vt_castable(e->type, &t))
		fsc_lang_fail(c, e->at,
			      "the value of a map of type '%s' cannot be used in an expression",
			      fsc_vt_name(c, e->type));
	e->type = t;
}

void fsc_check_condition(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_check_value(c, e);
	if (e->kind == FSC_E_STRING)
		fsc_expr_const(e, &fsc_vt_bool, e->size > 0);
	if (e->type && !fsc_vt_is_number(e->type) && e->type->kind != FSC_V_STRING)
		fsc_lang_fail(c, e->at, "Invalid condition: '%s' is neither a number nor a string",
			      fsc_vt_name(c, e->type));
}

const char *fsc_string_arg(struct fsc_lang *c, struct fsc_expr *e, unsigned n)
{
	if (!fsc_expr_is_string(e->args[n]))
		fsc_lang_fail(c, e->args[n]->at, "%s() expects a string literal here", e->name);
	return e->args[n]->name;
}

int64_t fsc_const_arg(struct fsc_lang *c, struct fsc_expr *e, unsigned n)
{
	if (!e->args[n]->is_const && e->args[n]->type)
		fsc_lang_fail(c, e->args[n]->at, "%s() expects a number literal here", e->name);
	return (int64_t)e->args[n]->value;
}
