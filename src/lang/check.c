/* Statements, scopes, variables and maps: what each is, and that all its uses agree. */
#include <string.h>

#include "lang/check.h"

enum { MAX_PASSES = 20 };

void fsc_check_init(struct fsc_lang *c)
{
	c->check = FSC_NEW(&c->temp, struct fsc_check);
	c->check->maps = FSC_VEC_INIT(struct fsc_script_map *);
	c->check->getopts = FSC_VEC_INIT(struct fsc_plan_param);
}

bool fsc_vt_castable(const struct fsc_vtype *t, const struct fsc_vtype **ret)
{
	switch (t->kind) {
	case FSC_V_COUNT:
		*ret = &fsc_vt_u64;
		return true;
	case FSC_V_SUM:
	case FSC_V_AVG:
	case FSC_V_MIN:
	case FSC_V_MAX:
		*ret = t->is_signed ? &fsc_vt_i64 : &fsc_vt_u64;
		return true;
	default:
		return false;
	}
}

static const struct fsc_vtype *merge_ints(struct fsc_lang *c, const struct fsc_vtype *a,
					  const struct fsc_vtype *b, bool literal)
{
	bool is_signed = a->is_signed;
	unsigned size = (unsigned)(a->size > b->size ? a->size : b->size);
	struct fsc_vtype *t;

	if (literal && a->size == size)
		return a;
	if (a->is_signed != b->is_signed && !literal) {
		const struct fsc_vtype *u = a->is_signed ? b : a;

		is_signed = true;
		if (u->size >= (a->is_signed ? a : b)->size)
			size = u->size < 8 ? (unsigned)u->size * 2 : 8;
	}
	if (a->size == size && a->is_signed == is_signed && (a->space == b->space || !a->space) &&
	    a->enumerators == b->enumerators)
		return a;
	t = fsc_vt_new(c, FSC_V_INT, size, size);
	t->is_signed = is_signed;
	t->space = a->space == b->space ? a->space : FSC_SPACE_NONE;
	if (t->space == a->space && a->size == size && a->is_signed == is_signed && !a->enumerators)
		return a;
	return t;
}

static const struct fsc_vtype *merge_tuples(struct fsc_lang *c, const struct fsc_vtype *a,
					    const struct fsc_vtype *b, bool literal)
{
	const struct fsc_vtype **types;
	bool same = true;

	if (a->n_fields != b->n_fields)
		return NULL;
	types = FSC_NEW_N(&c->temp, const struct fsc_vtype *, a->n_fields);
	for (size_t i = 0; i < a->n_fields; i++) {
		types[i] = fsc_vt_merge(c, a->fields[i].type, b->fields[i].type, literal);
		if (!types[i])
			return NULL;
		same &= types[i] == a->fields[i].type;
	}
	return same ? a : fsc_vt_tuple(c, types, a->n_fields);
}

/* Members in another order are another record's. */
static const struct fsc_vtype *merge_records(struct fsc_lang *c, const struct fsc_vtype *a,
					     const struct fsc_vtype *b, bool literal)
{
	const struct fsc_vtype **types = FSC_NEW_N(&c->temp, const struct fsc_vtype *, a->n_fields);
	const char **names = FSC_NEW_N(&c->temp, const char *, a->n_fields);
	bool same = true;

	if (a->n_fields != b->n_fields)
		return NULL;
	for (size_t i = 0; i < a->n_fields; i++) {
		struct fsc_vfield f;

		if (!a->fields[i].name || !fsc_vt_field(c, b, a->fields[i].name, &f))
			return NULL;
		names[i] = a->fields[i].name;
		types[i] = fsc_vt_merge(c, a->fields[i].type, f.type, literal);
		if (!types[i])
			return NULL;
		same &= types[i] == a->fields[i].type;
	}
	return same ? a : fsc_vt_named_tuple(c, types, names, a->n_fields);
}

const struct fsc_vtype *fsc_vt_merge(struct fsc_lang *c, const struct fsc_vtype *a,
				     const struct fsc_vtype *b, bool literal)
{
	if (!a || a == b)
		return b;
	if (a->kind == FSC_V_POINTER && b->kind == FSC_V_INT && literal)
		return a;
	if (b->kind == FSC_V_POINTER && a->kind == FSC_V_INT)
		return b;
	if (a->kind != b->kind)
		return NULL;
	switch (a->kind) {
	case FSC_V_INT:
		return merge_ints(c, a, b, literal);
	case FSC_V_STRING:
	case FSC_V_BUFFER:
		return a->size >= b->size ? a : b;
	case FSC_V_TUPLE:
		return merge_tuples(c, a, b, literal);
	case FSC_V_ARRAY:
		return fsc_vt_same(a, b) ? a : NULL;
	case FSC_V_RECORD:
		return a->name || b->name ? (fsc_vt_same(a, b) ? a : NULL)
					  : merge_records(c, a, b, literal);
	case FSC_V_HIST:
		return a->hist_bits == b->hist_bits ? a : NULL;
	case FSC_V_LHIST:
		return !memcmp(&a->lhist, &b->lhist, sizeof(a->lhist)) ? a : NULL;
	case FSC_V_TSERIES:
		return a->n == b->n && a->tseries.interval_ns == b->tseries.interval_ns &&
			       a->tseries.agg == b->tseries.agg
			   ? a
			   : NULL;
	case FSC_V_SUM:
	case FSC_V_AVG:
	case FSC_V_STATS:
	case FSC_V_MIN:
	case FSC_V_MAX:
		return b->is_signed ? b : a;
	default:
		return a;
	}
}

struct fsc_script_map *fsc_check_map(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_script_map *m;

	for (size_t i = 0; i < c->check->maps.n; i++) {
		m = *FSC_AT(struct fsc_script_map *, &c->check->maps, i);
		if (!strcmp(m->name, e->name))
			return e->map = m;
	}
	m = FSC_NEW(&c->temp, struct fsc_script_map);
	m->name = e->name;
	m->at = e->at;
	for (size_t i = 0; i < c->map_decls.n; i++)
		if (!strcmp(FSC_AT(struct fsc_map_decl, &c->map_decls, i)->name, e->name))
			m->decl = FSC_AT(struct fsc_map_decl, &c->map_decls, i);
	*(struct fsc_script_map **)fsc_zone_push(&c->temp, &c->check->maps) = m;
	c->check->changed = true;
	return e->map = m;
}

void fsc_check_map_key(struct fsc_lang *c, struct fsc_script_map *m, struct fsc_expr *key,
		       struct fsc_loc at)
{
	const struct fsc_vtype *t;

	if (key ? m->scalar : m->keyed)
		fsc_lang_fail(
		    c, at,
		    key ? "%s used as a map with an explicit key (non-scalar map), previously used "
			  "without an explicit key (scalar map)"
			: "%s used as a map without an explicit key (scalar map), previously used "
			  "with an explicit key (non-scalar map)",
		    m->name);
	if (!key) {
		c->check->changed |= !m->scalar;
		m->scalar = true;
		return;
	}
	c->check->changed |= !m->keyed;
	m->keyed = true;
	if (!key->type)
		return;
	if (fsc_vtype_aggregates(key->type) || key->type->kind == FSC_V_VOID)
		fsc_lang_fail(c, key->at, "%s cannot be a key", fsc_vt_name(c, key->type));
	t = fsc_vt_merge(c, m->key, key->type, key->is_const);
	if (!t)
		fsc_lang_fail(
		    c, key->at,
		    "Argument mismatch for %s: trying to access with arguments: '%s' when map "
		    "expects arguments: '%s'",
		    m->name, fsc_vt_name(c, key->type), fsc_vt_name(c, m->key));
	c->check->changed |= t != m->key;
	m->key = t;
}

void fsc_check_map_value(struct fsc_lang *c, struct fsc_script_map *m, const struct fsc_vtype *type,
			 const struct fsc_expr *from, struct fsc_loc at)
{
	const struct fsc_vtype *t;

	if (!type)
		return;
	if (type->kind == FSC_V_VOID)
		fsc_lang_fail(c, at, "this has no value that %s could hold", m->name);
	t = fsc_vt_merge(c, m->value, type, from && from->is_const);
	if (!t)
		fsc_lang_fail(
		    c, at,
		    "Type mismatch for %s: trying to assign value of type '%s' when map already "
		    "has a type '%s'",
		    m->name, fsc_vt_name(c, type), fsc_vt_name(c, m->value));
	c->check->changed |= t != m->value;
	m->value = t;
}

void fsc_check_push(struct fsc_lang *c)
{
	struct fsc_scope *s = FSC_NEW(&c->temp, struct fsc_scope);

	s->up = c->check->scope;
	c->check->scope = s;
}

void fsc_check_pop(struct fsc_lang *c)
{
	c->check->scope = c->check->scope->up;
}

struct fsc_scope_var *fsc_check_var(struct fsc_lang *c, const char *name)
{
	for (struct fsc_scope *s = c->check->scope; s; s = s->up)
		for (struct fsc_scope_var *v = s->vars; v; v = v->next)
			if (!strcmp(v->name, name)) {
				v->captured |= v->func != c->check->func;
				return v;
			}
	return NULL;
}

struct fsc_scope_var *fsc_check_declare(struct fsc_lang *c, const char *name,
					const struct fsc_vtype *type)
{
	struct fsc_scope_var *v = FSC_NEW(&c->temp, struct fsc_scope_var);
	struct fsc_vec *types = &c->check->var_types;

	v->name = name;
	v->func = c->check->func;
	v->index = c->check->n_vars++;
	if (v->index == types->n)
		*(const struct fsc_vtype **)fsc_zone_push(&c->temp, types) = NULL;
	v->type = type ? type : *FSC_AT(const struct fsc_vtype *, types, v->index);
	v->declared = type != NULL;
	v->next = c->check->scope->vars;
	c->check->scope->vars = v;
	return v;
}

/* Names of macros' variables have a number behind '#'. */
static const char *var_shown(struct fsc_lang *c, const char *name)
{
	return fsc_zone_copy(&c->temp, name, strcspn(name, "#"));
}

void fsc_check_var_type(struct fsc_lang *c, struct fsc_scope_var *v, const struct fsc_vtype *type,
			const struct fsc_expr *from, struct fsc_loc at)
{
	const struct fsc_vtype *t;

	if (!type)
		return;
	if (type->kind == FSC_V_VOID || fsc_vtype_aggregates(type))
		fsc_lang_fail(c, at, "a variable cannot hold a value of type '%s'",
			      fsc_vt_name(c, type));
	if (v->declared && v->type->kind == FSC_V_INT && type->kind == FSC_V_INT) {
		if (type->size > v->type->size && !(from && from->is_const))
			fsc_lang_fail(
			    c, at,
			    "Type mismatch for %s: trying to assign value of type '%s' when "
			    "variable already has a type '%s'",
			    var_shown(c, v->name), fsc_vt_name(c, type), fsc_vt_name(c, v->type));
		return;
	}
	t = fsc_vt_merge(c, v->type, type, from && from->is_const);
	if (!t || (v->declared && t != v->type && !fsc_vt_same(t, v->type)))
		fsc_lang_fail(
		    c, at,
		    "Type mismatch for %s: trying to assign value of type '%s' when variable "
		    "already has a type '%s'",
		    var_shown(c, v->name), fsc_vt_name(c, type), fsc_vt_name(c, v->type));
	if (v->declared)
		return;
	c->check->changed |= t != v->type;
	v->type = t;
	*FSC_AT(const struct fsc_vtype *, &c->check->var_types, v->index) = t;
}

static void check_let(struct fsc_lang *c, struct fsc_stmt *s)
{
	const struct fsc_vtype *t = NULL;

	for (struct fsc_scope_var *v = c->check->scope->vars; v; v = v->next)
		if (!strcmp(v->name, s->name))
			fsc_lang_fail(c, s->at,
				      "Variable %s was already declared. Variable shadowing is "
				      "not allowed",
				      var_shown(c, s->name));
	if (s->ref && s->ref->of) {
		fsc_check_value(c, s->ref->of);
		t = s->ref->of->type;
	} else if (s->ref) {
		t = fsc_vt_resolve(c, s->ref, FSC_SPACE_NONE);
	}
	if (s->expr)
		fsc_check_value(c, s->expr);
	s->var = fsc_check_declare(c, s->name, t);
	if (s->expr)
		fsc_check_var_type(c, s->var, s->expr->type, s->expr, s->at);
	if (c->check->final && !s->var->type)
		s->var->type = &fsc_vt_i64;
}

/* What `x op= value` makes of an integer. */
static const struct fsc_vtype *assign_op_type(const struct fsc_stmt *s, const struct fsc_vtype *t)
{
	if (s->expr->is_const && (int64_t)s->expr->value >= 0)
		return t->is_signed || s->op == '-' ? &fsc_vt_i64 : &fsc_vt_u64;
	return t->is_signed || s->expr->type->is_signed || s->op == '-' ? &fsc_vt_i64 : &fsc_vt_u64;
}

static void check_assign_var(struct fsc_lang *c, struct fsc_stmt *s)
{
	struct fsc_scope_var *v;

	fsc_check_value(c, s->expr);
	v = fsc_check_var(c, s->to->name);
	if (!v && s->op)
		fsc_lang_fail(c, s->to->at, "Undefined or undeclared variable: %s",
			      var_shown(c, s->to->name));
	if (!v)
		v = fsc_check_declare(c, s->to->name, NULL);
	if (v->is_pair)
		fsc_lang_fail(c, s->at, "%s is the loop's own and cannot be assigned to",
			      var_shown(c, v->name));
	s->to->var = s->var = v;
	if (!s->op)
		fsc_check_var_type(c, v, s->expr->type, s->expr, s->at);
	else if (!v->declared && v->type && v->type->kind == FSC_V_INT && s->expr->type)
		fsc_check_var_type(c, v, assign_op_type(s, v->type), NULL, s->at);
	s->to->type = v->type;
}

static void check_assign_map(struct fsc_lang *c, struct fsc_stmt *s)
{
	struct fsc_script_map *m = fsc_check_map(c, s->to);

	if (s->to->a)
		fsc_check_value(c, s->to->a);
	fsc_check_map_key(c, m, s->to->a, s->to->at);
	/* The value may be an aggregation, which is only one here. */
	if (s->expr->kind == FSC_E_CALL || s->expr->kind == FSC_E_NAME ||
	    (s->expr->kind == FSC_E_BLOCK && s->expr->a))
		fsc_check_expr(c, s->expr);
	if (!s->expr->type || !fsc_vtype_aggregates(s->expr->type))
		fsc_check_value(c, s->expr);
	else if (s->op)
		fsc_lang_fail(c, s->at, "%s() can only be assigned by '='", s->expr->name);
	if (s->op && m->value && m->value->kind == FSC_V_POINTER)
		return;
	if (m->value && s->expr->type && fsc_vtype_aggregates(m->value) &&
	    !fsc_vtype_aggregates(s->expr->type))
		fsc_lang_fail(
		    c, s->at,
		    "Map value '%s' cannot be assigned from one map to another, nor changed: "
		    "%s holds what %s() makes",
		    fsc_vt_name(c, m->value), m->name, fsc_vt_name(c, m->value));
	if (s->op && s->expr->type && (!m->value || m->value->kind == FSC_V_INT))
		fsc_check_map_value(c, m, assign_op_type(s, m->value ? m->value : &fsc_vt_i64),
				    NULL, s->at);
	else
		fsc_check_map_value(c, m, s->expr->type, s->expr, s->at);
	s->to->type = m->value;
}

static void check_for_map(struct fsc_lang *c, struct fsc_stmt *s)
{
	struct fsc_script_map *m = fsc_check_map(c, s->to);
	const struct fsc_vtype *types[2];

	if (m->scalar)
		fsc_lang_fail(c, s->to->at,
			      "%s has no explicit keys (scalar map), and cannot be used for "
			      "iteration",
			      m->name);
	c->check->changed |= !m->keyed;
	m->keyed = true;
	fsc_check_push(c);
	c->check->func++;
	s->var = fsc_check_declare(c, s->name, NULL);
	s->var->is_pair = true;
	s->var->map = m;
	if (m->key && m->value) {
		types[0] = m->key;
		types[1] = m->value;
		if (fsc_vtype_aggregates(m->value) && !fsc_vt_castable(m->value, &types[1]))
			fsc_lang_fail(c, s->to->at, "a loop cannot go through values of type '%s'",
				      fsc_vt_name(c, m->value));
		s->var->type = fsc_vt_tuple(c, types, 2);
	} else if (c->check->final) {
		fsc_lang_fail(c, s->to->at, "Undefined map: %s", m->name);
	}
	c->check->loops++;
	fsc_check_body(c, s->body);
	c->check->loops--;
	c->check->func--;
	fsc_check_pop(c);
}

static void check_for_range(struct fsc_lang *c, struct fsc_stmt *s)
{
	fsc_check_value(c, s->expr);
	fsc_check_value(c, s->until);
	if ((s->expr->type && !fsc_vt_is_integer(s->expr->type)) ||
	    (s->until->type && !fsc_vt_is_integer(s->until->type)))
		fsc_lang_fail(c, s->at,
			      "Loop range requires an integer for the start and end values");
	fsc_check_push(c);
	c->check->func++;
	s->var = fsc_check_declare(c, s->name, NULL);
	fsc_check_var_type(c, s->var, &fsc_vt_i64, NULL, s->at);
	c->check->loops++;
	fsc_check_body(c, s->body);
	c->check->loops--;
	c->check->func--;
	fsc_check_pop(c);
}

static void check_unroll(struct fsc_lang *c, struct fsc_stmt *s)
{
	fsc_check_value(c, s->expr);
	if (s->expr->type && !s->expr->is_const)
		fsc_lang_fail(c, s->expr->at, "invalid unroll value: it must be a constant");
	if (s->expr->is_const && (int64_t)s->expr->value < 1)
		fsc_lang_fail(c, s->expr->at, "unroll minimum value is 1");
	if (s->expr->is_const && s->expr->value > 100)
		fsc_lang_fail(c, s->expr->at, "unroll maximum value is 100");
	fsc_check_body(c, s->body);
}

static void check_if(struct fsc_lang *c, struct fsc_stmt *s)
{
	fsc_check_condition(c, s->expr);
	if (!s->expr->is_const || s->expr->value)
		fsc_check_body(c, s->body);
	if (s->other && (!s->expr->is_const || !s->expr->value))
		fsc_check_body(c, s->other);
}

/* return in a function of the script */
static void check_result(struct fsc_lang *c, struct fsc_stmt *s)
{
	const struct fsc_vtype *t = c->check->inlined->type;

	if (c->check->func)
		fsc_lang_fail(c, s->at, "'return' in a loop of a function is not supported");
	if (!s->expr != (t->kind == FSC_V_VOID) ||
	    (s->expr && s->expr->type && !fsc_vt_merge(c, t, s->expr->type, true)))
		fsc_lang_fail(c, s->at, "this function returns '%s'", fsc_vt_name(c, t));
}

static void check_jump(struct fsc_lang *c, struct fsc_stmt *s)
{
	if (s->kind != FSC_S_RETURN && !c->check->loops)
		fsc_lang_fail(c, s->at, "'%s' is outside of any loop",
			      s->kind == FSC_S_BREAK ? "break" : "continue");
	if (s->expr)
		fsc_check_value(c, s->expr);
	if (s->kind == FSC_S_RETURN && c->check->inlined)
		check_result(c, s);
}

static void check_stmt(struct fsc_lang *c, struct fsc_stmt *s)
{
	switch (s->kind) {
	case FSC_S_EXPR:
		s->expr->discarded = true;
		fsc_check_expr(c, s->expr);
		break;
	case FSC_S_DISCARD:
		fsc_check_value(c, s->expr);
		break;
	case FSC_S_LET:
		check_let(c, s);
		break;
	case FSC_S_ASSIGN:
		if (s->to->kind == FSC_E_VAR)
			check_assign_var(c, s);
		else
			check_assign_map(c, s);
		break;
	case FSC_S_IF:
		check_if(c, s);
		break;
	case FSC_S_WHILE:
		fsc_check_condition(c, s->expr);
		c->check->loops++;
		fsc_check_body(c, s->body);
		c->check->loops--;
		break;
	case FSC_S_FOR_RANGE:
		check_for_range(c, s);
		break;
	case FSC_S_FOR_MAP:
		check_for_map(c, s);
		break;
	case FSC_S_UNROLL:
		check_unroll(c, s);
		break;
	case FSC_S_BLOCK:
		fsc_check_body(c, s->body);
		break;
	default:
		check_jump(c, s);
	}
}

/* Behind these nothing is run. */
static bool stmt_ends(const struct fsc_stmt *s)
{
	return s->kind == FSC_S_RETURN || s->kind == FSC_S_BREAK || s->kind == FSC_S_CONTINUE ||
	       (s->kind == FSC_S_EXPR && s->expr->kind == FSC_E_CALL &&
		!strcmp(s->expr->name, "exit"));
}

void fsc_check_block(struct fsc_lang *c, struct fsc_stmt *s)
{
	for (; s; s = s->next) {
		check_stmt(c, s);
		if (c->check->final && s->next && stmt_ends(s) && !c->check->warned)
			fsc_lang_warn(c, s->next->at, "Unreachable statement.");
	}
}

void fsc_check_body(struct fsc_lang *c, struct fsc_stmt *s)
{
	fsc_check_push(c);
	fsc_check_block(c, s);
	fsc_check_pop(c);
}

static void check_once(struct fsc_lang *c, struct fsc_probe *p)
{
	c->check->scope = NULL;
	c->check->n_vars = 0;
	c->check->func = c->check->loops = 0;
	c->check->uses_point = c->check->uses_cookie = false;
	fsc_check_push(c);
	if (p->predicate)
		fsc_check_condition(c, p->predicate);
	fsc_check_body(c, p->body);
}

void fsc_check_probe(struct fsc_lang *c, struct fsc_probe *p)
{
	bool changed = c->check->changed, final = c->check->final;

	c->check->probe = p;
	c->check->point = c->check->points[0];
	c->ctypes->near = c->check->point;
	c->check->args_code = 1;
	c->check->var_types = FSC_VEC_INIT(const struct fsc_vtype *);
	c->check->final = false;
	for (int i = 0; i < MAX_PASSES; i++) {
		c->check->changed = false;
		check_once(c, p);
		changed |= c->check->changed;
		if (!c->check->changed)
			break;
	}
	c->check->final = final;
	c->check->changed = false;
	if (final)
		check_once(c, p);
	c->check->changed |= changed && !final;
}
