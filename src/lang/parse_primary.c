/* What expressions are made of: literals, names, variables, maps, calls, tuples, blocks. */
#include <string.h>

#include "lang/lang_priv.h"

enum { MAX_MEMBERS = 64 };

static void args_push(struct fsc_lang *c, struct fsc_vec *v, struct fsc_expr *e)
{
	*(struct fsc_expr **)fsc_zone_push(&c->temp, v) = e;
}

static void args_take(struct fsc_expr *e, const struct fsc_vec *v)
{
	e->args = v->data;
	e->n_args = v->n;
}

/* Expressions up to the closing token, which is consumed. */
static struct fsc_vec parse_list(struct fsc_lang *c, int close, const char *what)
{
	struct fsc_vec v = FSC_VEC_INIT(struct fsc_expr *);
	bool predicate = c->in_predicate;

	c->in_predicate = false;
	while (c->token.kind != close) {
		args_push(c, &v, fsc_parse_expr(c));
		if (!fsc_parse_accept(c, ','))
			break;
	}
	c->in_predicate = predicate;
	fsc_parse_expect(c, close, what);
	return v;
}

/* (x=1, y=2): a record, whose members have names. */
static void paren_name(struct fsc_lang *c, const char ***names, size_t n)
{
	if (c->token.kind != FSC_T_NAME || fsc_lex_peek(c) != '=' || fsc_lex_peek2(c) == '=') {
		if (*names)
			fsc_lang_fail(c, c->token.at,
				      "all members of a record have names, or none");
		return;
	}
	if (n && !*names)
		fsc_lang_fail(c, c->token.at, "all members of a record have names, or none");
	if (!*names)
		*names = FSC_NEW_N(&c->temp, const char *, MAX_MEMBERS);
	if (n == MAX_MEMBERS)
		fsc_lang_fail(c, c->token.at, "a record has at most %d members", MAX_MEMBERS);
	(*names)[n] = c->token.text;
	fsc_lex_next(c);
	fsc_lex_next(c);
}

static struct fsc_expr *primary_paren(struct fsc_lang *c)
{
	struct fsc_loc at = c->token.at;
	bool predicate = c->in_predicate, comma = false;
	struct fsc_vec v = FSC_VEC_INIT(struct fsc_expr *);
	struct fsc_expr *e;

	const char **names = NULL;

	fsc_lex_next(c);
	c->in_predicate = false;
	while (c->token.kind != ')') {
		paren_name(c, &names, v.n);
		args_push(c, &v, fsc_parse_expr(c));
		if (!fsc_parse_accept(c, ','))
			break;
		comma = true;
	}
	c->in_predicate = predicate;
	fsc_parse_expect(c, ')', "')'");
	if (v.n == 1 && !comma && !names) {
		e = *FSC_AT(struct fsc_expr *, &v, 0);
		return e;
	}
	e = fsc_expr_new(c, FSC_E_TUPLE, fsc_loc_span(at, c->last));
	args_take(e, &v);
	e->more = names;
	return e;
}

/* The key of several parts is a tuple. */
static struct fsc_expr *primary_map(struct fsc_lang *c)
{
	struct fsc_expr *e = fsc_expr_new(c, FSC_E_MAP, c->token.at), *key;
	struct fsc_vec v;

	e->name = c->token.text;
	fsc_lex_next(c);
	if (c->token.kind != '[')
		return e;
	fsc_lex_next(c);
	v = parse_list(c, ']', "']' behind the key");
	e->at = fsc_loc_span(e->at, c->last);
	if (!v.n)
		fsc_lang_fail(c, e->at, "a key is missing between '[' and ']'");
	if (v.n == 1) {
		e->a = *FSC_AT(struct fsc_expr *, &v, 0);
		return e;
	}
	key = fsc_expr_new(c, FSC_E_TUPLE, e->at);
	args_take(key, &v);
	e->a = key;
	return e;
}

/* sizeof(type), sizeof(expression) */
static struct fsc_expr *primary_sizeof(struct fsc_lang *c, struct fsc_loc at)
{
	struct fsc_expr *e = fsc_expr_new(c, FSC_E_SIZEOF, at);

	fsc_parse_expect(c, '(', "'(' behind sizeof");
	if (fsc_parse_is_type(c))
		e->ref = fsc_parse_typeref(c);
	else
		e->a = fsc_parse_expr(c);
	fsc_parse_expect(c, ')', "')'");
	e->at = fsc_loc_span(at, c->last);
	return e;
}

static struct fsc_expr *primary_offsetof(struct fsc_lang *c, struct fsc_loc at)
{
	struct fsc_expr *e = fsc_expr_new(c, FSC_E_OFFSETOF, at);

	fsc_parse_expect(c, '(', "'(' behind offsetof");
	if (fsc_parse_is_type(c))
		e->ref = fsc_parse_typeref(c);
	else
		e->a = fsc_parse_expr(c);
	fsc_parse_expect(c, ',', "',' and a member");
	e->name = "";
	do {
		if (c->token.kind != FSC_T_NAME)
			fsc_lang_fail(c, c->token.at, "a member's name is expected, not %s",
				      fsc_token_name(c, &c->token));
		e->name = fsc_zone_printf(&c->temp, "%s%s%s", e->name, *e->name ? "." : "",
					  c->token.text);
		fsc_lex_next(c);
	} while (fsc_parse_accept(c, '.'));
	fsc_parse_expect(c, ')', "')'");
	e->at = fsc_loc_span(at, c->last);
	return e;
}

/* An argument of a call. A type as such may be one: kept as sizeof() would, without its value. */
static struct fsc_expr *primary_call(struct fsc_lang *c, const char *name, struct fsc_loc at)
{
	struct fsc_expr *e = fsc_expr_new(c, FSC_E_CALL, at);
	struct fsc_vec v;

	fsc_lex_next(c);
	e->name = name;
	e->called = true;
	v = parse_list(c, ')', "')' behind the arguments");
	args_take(e, &v);
	e->at = fsc_loc_span(at, c->last);
	return e;
}

static struct fsc_expr *primary_name(struct fsc_lang *c)
{
	const char *name = c->token.text;
	struct fsc_loc at = c->token.at;
	struct fsc_expr *e;

	fsc_lex_next(c);
	if (!strcmp(name, "true") || !strcmp(name, "false")) {
		e = fsc_expr_new(c, FSC_E_BOOL, at);
		e->value = *name == 't';
		e->literal = true;
		return e;
	}
	if (!strcmp(name, "comptime"))
		return fsc_parse_unary(c);
	if (!strcmp(name, "if"))
		return fsc_parse_if_expr(c, at);
	if (!strcmp(name, "sizeof"))
		return primary_sizeof(c, at);
	if (!strcmp(name, "offsetof"))
		return primary_offsetof(c, at);
	if (c->token.kind == '(')
		return primary_call(c, name, at);
	e = fsc_expr_new(c, FSC_E_NAME, at);
	e->name = name;
	return e;
}

static struct fsc_expr *primary_token(struct fsc_lang *c, enum fsc_expr_kind kind)
{
	struct fsc_expr *e = fsc_expr_new(c, kind, c->token.at);

	e->value = c->token.value;
	e->is_unsigned = c->token.is_unsigned;
	e->name = c->token.text;
	e->size = c->token.size;
	e->literal = kind == FSC_E_INT || kind == FSC_E_STRING;
	fsc_lex_next(c);
	return e;
}

/* "a" "b" is one string. */
static struct fsc_expr *primary_string(struct fsc_lang *c)
{
	struct fsc_expr *e = primary_token(c, FSC_E_STRING);

	while (c->token.kind == FSC_T_STRING) {
		char *both = fsc_zone_alloc(c->keep, e->size + c->token.size + 1);

		memcpy(both, e->name, e->size);
		memcpy(both + e->size, c->token.text, c->token.size);
		e->name = both;
		e->size += c->token.size;
		e->at = fsc_loc_span(e->at, c->token.at);
		fsc_lex_next(c);
	}
	return e;
}

struct fsc_expr *fsc_parse_primary(struct fsc_lang *c)
{
	switch (c->token.kind) {
	case FSC_T_INT:
		return primary_token(c, FSC_E_INT);
	case FSC_T_STRING:
		return primary_string(c);
	case FSC_T_POSITIONAL:
		return primary_token(c, FSC_E_POSITIONAL);
	case FSC_T_COUNT:
		return primary_token(c, FSC_E_COUNT);
	case FSC_T_VAR:
		return primary_token(c, FSC_E_VAR);
	case FSC_T_MAP:
		return primary_map(c);
	case FSC_T_NAME:
		return primary_name(c);
	case '(':
		return primary_paren(c);
	case '{':
		return fsc_parse_block_expr(c);
	}
	fsc_lang_fail(c, c->token.at, "an expression is expected, not %s",
		      fsc_token_name(c, &c->token));
}
