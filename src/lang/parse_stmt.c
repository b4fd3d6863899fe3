/* Statements and blocks. A block that ends in an expression without a semicolon has a value. */
#include <string.h>

#include "lang/lang_priv.h"

static struct fsc_stmt *parse_stmt(struct fsc_lang *c, struct fsc_expr **ret_value);

struct fsc_stmt *fsc_stmt_new(struct fsc_lang *c, enum fsc_stmt_kind kind, struct fsc_loc at)
{
	struct fsc_stmt *s = FSC_NEW(&c->temp, struct fsc_stmt);

	s->kind = kind;
	s->at = at;
	return s;
}

struct fsc_stmt *fsc_parse_block(struct fsc_lang *c, struct fsc_expr **ret_value)
{
	struct fsc_stmt *first = NULL, **end = &first;

	if (++c->nesting > 200)
		fsc_lang_fail(c, c->token.at, "this is nested too deeply");
	fsc_parse_expect(c, '{', "'{'");
	while (c->token.kind != '}') {
		if (fsc_parse_accept(c, ';'))
			continue;
		*end = parse_stmt(c, ret_value);
		if (*end)
			end = &(*end)->next;
	}
	fsc_lex_next(c);
	c->nesting--;
	return first;
}

struct fsc_expr *fsc_parse_block_expr(struct fsc_lang *c)
{
	struct fsc_expr *e = fsc_expr_new(c, FSC_E_BLOCK, c->token.at);
	bool predicate = c->in_predicate;

	c->in_predicate = false;
	e->body = fsc_parse_block(c, &e->a);
	c->in_predicate = predicate;
	e->at = fsc_loc_span(e->at, c->last);
	return e;
}

struct fsc_expr *fsc_parse_if_expr(struct fsc_lang *c, struct fsc_loc at)
{
	struct fsc_expr *e = fsc_expr_new(c, FSC_E_TERNARY, at);
	struct fsc_loc other;

	e->a = fsc_parse_expr(c);
	e->b = fsc_parse_block_expr(c);
	e->c = fsc_expr_new(c, FSC_E_BLOCK, e->b->at);
	if (fsc_parse_word(c, "else")) {
		other = c->token.at;
		e->c =
		    fsc_parse_word(c, "if") ? fsc_parse_if_expr(c, other) : fsc_parse_block_expr(c);
	}
	e->at = fsc_loc_span(at, c->last);
	return e;
}

/* In a block that has a value an 'if' may be it. */
static struct fsc_stmt *stmt_if_value(struct fsc_lang *c, struct fsc_expr **ret_value)
{
	struct fsc_stmt *s = fsc_stmt_new(c, FSC_S_EXPR, c->token.at);

	fsc_lex_next(c);
	s->expr = fsc_parse_if_expr(c, s->at);
	if (c->token.kind != '}')
		return s;
	*ret_value = s->expr;
	return NULL;
}

static struct fsc_stmt *stmt_body(struct fsc_lang *c)
{
	struct fsc_stmt *s = fsc_stmt_new(c, FSC_S_BLOCK, c->token.at);

	s->body = fsc_parse_block(c, NULL);
	s->at = fsc_loc_span(s->at, c->last);
	return s;
}

static struct fsc_stmt *stmt_if(struct fsc_lang *c)
{
	struct fsc_stmt *s = fsc_stmt_new(c, FSC_S_IF, c->last);

	s->expr = fsc_parse_expr(c);
	s->body = stmt_body(c);
	if (fsc_parse_word(c, "else"))
		s->other = fsc_parse_word(c, "if") ? stmt_if(c) : stmt_body(c);
	return s;
}

static struct fsc_stmt *stmt_while(struct fsc_lang *c)
{
	struct fsc_stmt *s = fsc_stmt_new(c, FSC_S_WHILE, c->last);

	s->expr = fsc_parse_expr(c);
	s->body = stmt_body(c);
	return s;
}

static struct fsc_stmt *stmt_unroll(struct fsc_lang *c)
{
	struct fsc_stmt *s = fsc_stmt_new(c, FSC_S_UNROLL, c->last);

	s->expr = fsc_parse_expr(c);
	s->body = stmt_body(c);
	return s;
}

/* for ($x : a..b), for ($kv : @map); the parentheses may be left out. */
static struct fsc_stmt *stmt_for(struct fsc_lang *c)
{
	struct fsc_stmt *s = fsc_stmt_new(c, FSC_S_FOR_RANGE, c->last);
	bool paren = fsc_parse_accept(c, '(');

	if (c->token.kind != FSC_T_VAR)
		fsc_lang_fail(c, c->token.at, "a variable ($x) is expected, not %s",
			      fsc_token_name(c, &c->token));
	s->name = c->token.text;
	fsc_lex_next(c);
	fsc_parse_expect(c, ':', "':' and what to go through");
	s->expr = fsc_parse_unary(c);
	if (fsc_parse_accept(c, FSC_T_RANGE)) {
		s->until = fsc_parse_unary(c);
	} else if (s->expr->kind == FSC_E_MAP && !s->expr->a) {
		s->kind = FSC_S_FOR_MAP;
		s->to = s->expr;
		s->expr = NULL;
	} else {
		fsc_lang_fail(c, s->expr->at, "'for' goes through a map (@x) or a range (0..10)");
	}
	if (paren)
		fsc_parse_expect(c, ')', "')'");
	s->at = fsc_loc_span(s->at, c->last);
	s->body = stmt_body(c);
	return s;
}

static struct fsc_stmt *stmt_let(struct fsc_lang *c)
{
	struct fsc_stmt *s = fsc_stmt_new(c, FSC_S_LET, c->last);

	if (c->token.kind != FSC_T_VAR)
		fsc_lang_fail(c, c->token.at, "a variable ($x) is expected, not %s",
			      fsc_token_name(c, &c->token));
	s->name = c->token.text;
	fsc_lex_next(c);
	if (fsc_parse_accept(c, ':'))
		s->ref = fsc_parse_typeref(c);
	if (fsc_parse_accept(c, '='))
		s->expr = fsc_parse_expr(c);
	s->at = fsc_loc_span(s->at, c->last);
	return s;
}

static struct fsc_stmt *stmt_jump(struct fsc_lang *c, enum fsc_stmt_kind kind)
{
	struct fsc_stmt *s = fsc_stmt_new(c, kind, c->last);

	if (kind == FSC_S_RETURN && c->token.kind != ';' && c->token.kind != '}')
		s->expr = fsc_parse_expr(c);
	return s;
}

static struct fsc_stmt *stmt_break(struct fsc_lang *c)
{
	return stmt_jump(c, FSC_S_BREAK);
}

static struct fsc_stmt *stmt_continue(struct fsc_lang *c)
{
	return stmt_jump(c, FSC_S_CONTINUE);
}

static struct fsc_stmt *stmt_return(struct fsc_lang *c)
{
	return stmt_jump(c, FSC_S_RETURN);
}

static const struct {
	const char *word;
	struct fsc_stmt *(*parse)(struct fsc_lang *c);
	bool ends; /* in a block: no semicolon */
} words[] = {
    {"if", stmt_if, true},
    {"while", stmt_while, true},
    {"unroll", stmt_unroll, true},
    {"for", stmt_for, true},
    {"let", stmt_let, false},
    {"break", stmt_break, false},
    {"continue", stmt_continue, false},
    {"return", stmt_return, false},
};

/* An expression, or what begins with one: an assignment. */
static struct fsc_stmt *stmt_expr(struct fsc_lang *c)
{
	struct fsc_stmt *s = fsc_stmt_new(c, FSC_S_EXPR, c->token.at);
	struct fsc_expr *e = fsc_parse_expr(c);
	bool is_discard = e->kind == FSC_E_NAME && !strcmp(e->name, "_");
	int t = c->token.kind;

	s->expr = e;
	if (t == '=' || t == FSC_T_ASSIGN_OP) {
		if (e->kind != FSC_E_VAR && e->kind != FSC_E_MAP && !is_discard)
			fsc_lang_fail(c, e->at, "only variables and maps can be assigned to");
		s->kind = is_discard ? FSC_S_DISCARD : FSC_S_ASSIGN;
		s->to = e;
		s->op = t == '=' ? 0 : (int)c->token.value;
		fsc_lex_next(c);
		s->expr = fsc_parse_expr(c);
	}
	s->at = fsc_loc_span(s->at, s->expr->at);
	return s;
}

/* ret_value: where a last expression without a semicolon goes; NULL: the block has no value. */
static struct fsc_stmt *parse_stmt(struct fsc_lang *c, struct fsc_expr **ret_value)
{
	struct fsc_stmt *s;
	bool block;

	if (ret_value && c->token.kind == FSC_T_NAME && !strcmp(c->token.text, "if"))
		return stmt_if_value(c, ret_value);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (!fsc_parse_word(c, words[i].word))
			continue;
		s = words[i].parse(c);
		if (!words[i].ends && c->token.kind != '}')
			fsc_parse_expect(c, ';', "';'");
		return s;
	}
	if (c->token.kind == '{' && !ret_value)
		return stmt_body(c);
	block = c->token.kind == '{';
	s = stmt_expr(c);
	if (c->token.kind == '}' && ret_value && s->kind == FSC_S_EXPR) {
		*ret_value = s->expr;
		return NULL;
	}
	if (c->token.kind != '}' && !(block && s->kind == FSC_S_EXPR && c->token.kind != ';'))
		fsc_parse_expect(c, ';', "';'");
	return s;
}
