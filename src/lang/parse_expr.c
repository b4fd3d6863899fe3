/* Expressions, by the precedence of C. */
#include <string.h>

#include "lang/lang_priv.h"

enum { MAX_NESTING = 200 };

struct fsc_expr *fsc_expr_new(struct fsc_lang *c, enum fsc_expr_kind kind, struct fsc_loc at)
{
	struct fsc_expr *e = FSC_NEW(&c->temp, struct fsc_expr);

	e->kind = kind;
	e->at = at;
	return e;
}

struct fsc_loc fsc_loc_span(struct fsc_loc from, struct fsc_loc to)
{
	from.line_end = to.line_end;
	from.column_end = to.column_end;
	return from;
}

static const struct {
	int token, level;
	enum fsc_expr_kind kind;
} infixes[] = {
    {FSC_T_OR, 1, FSC_E_LOGIC},	  {FSC_T_AND, 2, FSC_E_LOGIC}, {'|', 3, FSC_E_BINARY},
    {'^', 4, FSC_E_BINARY},	  {'&', 5, FSC_E_BINARY},      {FSC_T_EQ, 6, FSC_E_BINARY},
    {FSC_T_NE, 6, FSC_E_BINARY},  {'<', 7, FSC_E_BINARY},      {'>', 7, FSC_E_BINARY},
    {FSC_T_LE, 7, FSC_E_BINARY},  {FSC_T_GE, 7, FSC_E_BINARY}, {FSC_T_SHL, 8, FSC_E_BINARY},
    {FSC_T_SHR, 8, FSC_E_BINARY}, {'+', 9, FSC_E_BINARY},      {'-', 9, FSC_E_BINARY},
    {'*', 10, FSC_E_BINARY},	  {'/', 10, FSC_E_BINARY},     {'%', 10, FSC_E_BINARY},
};

/* The row of infixes for the next token, -1: it is none. In a predicate, a '/' before '{' ends it.
 */
static int infix_next(struct fsc_lang *c)
{
	if (c->token.kind == '/' && c->in_predicate && fsc_lex_peek(c) == '{')
		return -1;
	for (size_t i = 0; i < sizeof(infixes) / sizeof(*infixes); i++)
		if (infixes[i].token == c->token.kind)
			return (int)i;
	return -1;
}

static struct fsc_expr *parse_infix(struct fsc_lang *c, int level)
{
	struct fsc_expr *a = fsc_parse_unary(c), *e;
	int row;

	while ((row = infix_next(c)) >= 0 && infixes[row].level >= level) {
		fsc_lex_next(c);
		e = fsc_expr_new(c, infixes[row].kind, a->at);
		e->op = infixes[row].token;
		e->a = a;
		e->b = parse_infix(c, infixes[row].level + 1);
		e->at = fsc_loc_span(a->at, e->b->at);
		a = e;
	}
	return a;
}

/* a ?: b is { let $x = a; $x ? $x : b }, so that a is evaluated once. */
static struct fsc_expr *elvis(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_expr *block = fsc_expr_new(c, FSC_E_BLOCK, e->a->at), *x;
	struct fsc_stmt *let = fsc_stmt_new(c, FSC_S_LET, e->a->at);

	fsc_lex_next(c);
	let->name = fsc_zone_printf(&c->temp, "$#%u", ++c->n_copies);
	let->expr = e->a;
	x = fsc_expr_new(c, FSC_E_VAR, e->a->at);
	x->name = let->name;
	e->a = x;
	e->b = fsc_expr_new(c, FSC_E_VAR, x->at);
	e->b->name = let->name;
	e->c = fsc_parse_expr(c);
	e->at = fsc_loc_span(e->at, e->c->at);
	block->body = let;
	block->a = e;
	block->at = e->at;
	c->nesting--;
	return block;
}

struct fsc_expr *fsc_parse_expr(struct fsc_lang *c)
{
	struct fsc_expr *a, *e;

	if (++c->nesting > MAX_NESTING)
		fsc_lang_fail(c, c->token.at, "this is nested too deeply");
	a = parse_infix(c, 1);
	if (fsc_parse_accept(c, '?')) {
		e = fsc_expr_new(c, FSC_E_TERNARY, a->at);
		e->a = a;
		if (c->token.kind == ':')
			return elvis(c, e);
		e->b = fsc_parse_expr(c);
		fsc_parse_expect(c, ':', "':' and what the value is otherwise");
		e->c = fsc_parse_expr(c);
		e->at = fsc_loc_span(a->at, e->c->at);
		a = e;
	}
	c->nesting--;
	return a;
}

static struct fsc_expr *parse_cast(struct fsc_lang *c)
{
	struct fsc_expr *e = fsc_expr_new(c, FSC_E_CAST, c->token.at);

	fsc_lex_next(c);
	e->ref = fsc_parse_typeref(c);
	fsc_parse_expect(c, ')', "')' behind the type");
	e->a = fsc_parse_unary(c);
	e->at = fsc_loc_span(e->at, e->a->at);
	return e;
}

/* Whether what is behind a '(' that was just read is a type, and so the whole a cast. A name that
 * is not known as a type is one if '*' and ')' follow, or ')' and then an operand. */
static bool paren_is_cast(struct fsc_lang *c)
{
	struct fsc_lex_state before = fsc_lex_save(c);
	bool is = false, pointer = false;

	fsc_lex_next(c);
	if (fsc_parse_is_type(c)) {
		is = true;
	} else if (c->token.kind == FSC_T_NAME) {
		for (fsc_lex_next(c); c->token.kind == '*'; fsc_lex_next(c))
			pointer = true;
		if (c->token.kind == ')') {
			fsc_lex_next(c);
			is = pointer || c->token.kind == FSC_T_NAME || c->token.kind == FSC_T_VAR ||
			     c->token.kind == FSC_T_MAP || c->token.kind == FSC_T_INT ||
			     c->token.kind == FSC_T_POSITIONAL;
		}
	}
	fsc_lex_restore(c, &before);
	return is;
}

static struct fsc_expr *parse_step(struct fsc_lang *c, struct fsc_expr *a, int op, bool prefix,
				   struct fsc_loc at)
{
	struct fsc_expr *e = fsc_expr_new(c, FSC_E_STEP, at);

	if (a->kind != FSC_E_VAR && a->kind != FSC_E_MAP)
		fsc_lang_fail(c, a->at, "only variables and maps can be stepped by %s",
			      op == FSC_T_INC ? "++" : "--");
	e->op = op;
	e->a = a;
	e->prefix = prefix;
	return e;
}

static struct fsc_expr *parse_prefix(struct fsc_lang *c)
{
	struct fsc_loc at = c->token.at;
	int op = c->token.kind;
	struct fsc_expr *a, *e;

	fsc_lex_next(c);
	a = fsc_parse_unary(c);
	at = fsc_loc_span(at, a->at);
	if (op == FSC_T_INC || op == FSC_T_DEC)
		return parse_step(c, a, op, true, at);
	e = fsc_expr_new(c, FSC_E_UNARY, at);
	e->op = op;
	e->a = a;
	return e;
}

static struct fsc_expr *postfix_field(struct fsc_lang *c, struct fsc_expr *a)
{
	struct fsc_expr *e = fsc_expr_new(c, FSC_E_FIELD, a->at);

	fsc_lex_next(c);
	if (c->token.kind == FSC_T_INT) {
		e->kind = FSC_E_NTH;
		e->value = c->token.value;
	} else if (c->token.kind == FSC_T_NAME) {
		e->name = c->token.text;
	} else {
		fsc_lang_fail(c, c->token.at, "a member's name is expected, not %s",
			      fsc_token_name(c, &c->token));
	}
	e->a = a;
	e->at = fsc_loc_span(a->at, c->token.at);
	fsc_lex_next(c);
	return e;
}

static struct fsc_expr *postfix_index(struct fsc_lang *c, struct fsc_expr *a)
{
	struct fsc_expr *e = fsc_expr_new(c, FSC_E_INDEX, a->at);
	bool predicate = c->in_predicate;

	fsc_lex_next(c);
	c->in_predicate = false;
	e->a = a;
	e->b = fsc_parse_expr(c);
	c->in_predicate = predicate;
	e->at = fsc_loc_span(a->at, c->token.at);
	fsc_parse_expect(c, ']', "']'");
	return e;
}

static struct fsc_expr *parse_postfix(struct fsc_lang *c)
{
	struct fsc_expr *e = fsc_parse_primary(c);

	for (;;) {
		int t = c->token.kind;

		if (t == '.' || t == FSC_T_ARROW) {
			e = postfix_field(c, e);
		} else if (t == '[') {
			e = postfix_index(c, e);
		} else if ((t == FSC_T_INC || t == FSC_T_DEC) &&
			   (e->kind == FSC_E_VAR || e->kind == FSC_E_MAP)) {
			e = parse_step(c, e, t, false, fsc_loc_span(e->at, c->token.at));
			fsc_lex_next(c);
		} else {
			return e;
		}
	}
}

struct fsc_expr *fsc_parse_unary(struct fsc_lang *c)
{
	struct fsc_expr *e;

	if (++c->nesting > MAX_NESTING)
		fsc_lang_fail(c, c->token.at, "this is nested too deeply");
	if (c->token.kind == FSC_T_INC || c->token.kind == FSC_T_DEC ||
	    (c->token.kind && c->token.kind < 128 && strchr("!~-+*&", c->token.kind)))
		e = parse_prefix(c);
	else if (c->token.kind == '(' && paren_is_cast(c))
		e = parse_cast(c);
	else
		e = parse_postfix(c);
	c->nesting--;
	return e;
}
