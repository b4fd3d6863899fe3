/* From letters to tokens, one at a time and on demand: attach points and predicates are read by
 * other rules than expressions, which only the parser can know. */
#include <ctype.h>
#include <string.h>

#include "lang/lang_priv.h"

static bool is_word_start(int ch)
{
	return isalpha(ch) || ch == '_';
}

static bool is_word(int ch)
{
	return isalnum(ch) || ch == '_';
}

static int lexer_at(const struct fsc_lexer *l, size_t ahead)
{
	return l->s + ahead < l->end ? (unsigned char)l->s[ahead] : 0;
}

static void lexer_skip(struct fsc_lexer *l)
{
	if (l->s >= l->end)
		return;
	if (*l->s == '\n') {
		l->line++;
		l->column = 1;
	} else {
		l->column++;
	}
	l->s++;
}

static struct fsc_loc lexer_loc(const struct fsc_lexer *l)
{
	if (l->fixed)
		return l->at;
	return (struct fsc_loc){l->line, l->column, l->line, l->column};
}

static void lexer_comment(struct fsc_lang *c, struct fsc_lexer *l)
{
	struct fsc_loc at = lexer_loc(l);

	if (lexer_at(l, 1) == '/') {
		while (l->s < l->end && *l->s != '\n')
			lexer_skip(l);
		return;
	}
	lexer_skip(l);
	lexer_skip(l);
	while (l->s < l->end && !(*l->s == '*' && lexer_at(l, 1) == '/'))
		lexer_skip(l);
	if (l->s >= l->end)
		fsc_lang_fail(c, at, "this comment does not end");
	lexer_skip(l);
	lexer_skip(l);
}

/* Whether only blanks are before the lexer on its line. */
static bool lexer_line_start(const struct fsc_lang *c, const struct fsc_lexer *l)
{
	const char *s = l->s;

	if (l->fixed)
		return false;
	while (s > c->text && (s[-1] == ' ' || s[-1] == '\t'))
		s--;
	return s == c->text || s[-1] == '\n';
}

static void lexer_blanks(struct fsc_lang *c)
{
	for (;;) {
		struct fsc_lexer *l = c->lexer;
		int ch = lexer_at(l, 0);

		if (l->s >= l->end && l->below)
			c->lexer = l->below;
		else if (l->s >= l->end)
			return;
		else if (ch == '#' && lexer_line_start(c, l))
			fsc_lex_directive(c, l);
		else if (isspace(ch))
			lexer_skip(l);
		else if (ch == '/' && (lexer_at(l, 1) == '/' || lexer_at(l, 1) == '*'))
			lexer_comment(c, l);
		else
			return;
	}
}

int fsc_lex_peek(struct fsc_lang *c)
{
	lexer_blanks(c);
	return lexer_at(c->lexer, 0);
}

int fsc_lex_peek2(struct fsc_lang *c)
{
	return lexer_at(c->lexer, 1);
}

static const struct {
	const char *suffix;
	uint64_t ns;
} durations[] = {
    {"ns", 1},		{"us", 1000},	      {"ms", 1000000},	     {"s", 1000000000},
    {"m", 60000000000}, {"h", 3600000000000}, {"d", 86400000000000},
};

static bool number_suffix(const char *s, size_t n, uint64_t *value, bool *is_unsigned,
			  bool *overflow)
{
	for (size_t i = 0; i < sizeof(durations) / sizeof(*durations); i++) {
		if (strlen(durations[i].suffix) != n || memcmp(durations[i].suffix, s, n))
			continue;
		*overflow |= __builtin_mul_overflow(*value, durations[i].ns, value);
		return true;
	}
	for (size_t i = 0; i < n; i++) {
		if (!strchr("uUlL", s[i]) || n > 3)
			return false;
		*is_unsigned |= s[i] == 'u' || s[i] == 'U';
	}
	return true;
}

static unsigned number_base(const char *s, size_t n, size_t *i)
{
	if (n > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && isxdigit((unsigned char)s[2])) {
		*i = 2;
		return 16;
	}
	return n > 1 && s[0] == '0' && isdigit((unsigned char)s[1]) ? 8 : 10;
}

/* 2e3 */
static size_t number_exponent(const char *s, size_t n, size_t i, uint64_t *v, bool *overflow)
{
	unsigned power = 0;

	if (i + 1 >= n || (s[i] != 'e' && s[i] != 'E') || !isdigit((unsigned char)s[i + 1]))
		return i;
	for (i++; i < n && isdigit((unsigned char)s[i]); i++)
		power = power > 99 ? power : power * 10 + (unsigned)(s[i] - '0');
	for (; power; power--)
		*overflow |= __builtin_mul_overflow(*v, (uint64_t)10, v);
	return i;
}

bool fsc_lex_number(const char *s, size_t n, uint64_t *ret, size_t *ret_used, bool *ret_unsigned,
		    bool *ret_overflow)
{
	size_t i = 0, word;
	unsigned base = number_base(s, n, &i);
	uint64_t v = 0;

	*ret_unsigned = *ret_overflow = false;
	for (; i < n && (isxdigit((unsigned char)s[i]) || (s[i] == '_' && i)); i++) {
		unsigned digit =
		    (unsigned)(isdigit((unsigned char)s[i]) ? s[i] - '0' : (s[i] | 32) - 'a' + 10);

		if (s[i] == '_')
			continue;
		if (digit >= base)
			break;
		*ret_overflow |= __builtin_mul_overflow(v, (uint64_t)base, &v);
		*ret_overflow |= __builtin_add_overflow(v, (uint64_t)digit, &v);
	}
	if (base == 10)
		i = number_exponent(s, n, i, &v, ret_overflow);
	for (word = i; word < n && is_word((unsigned char)s[word]);)
		word++;
	if (word > i && !number_suffix(s + i, word - i, &v, ret_unsigned, ret_overflow))
		return false;
	*ret = v;
	*ret_used = word;
	return word > 0;
}

static void token_number(struct fsc_lang *c, struct fsc_lexer *l)
{
	struct fsc_token *t = &c->token;
	bool overflow;
	size_t used, end = 0;

	while (is_word(lexer_at(l, end)))
		end++;
	if (!fsc_lex_number(l->s, end, &t->value, &used, &t->is_unsigned, &overflow)) {
		t->at.column_end += (uint32_t)end;
		fsc_lang_fail(c, t->at, "'%.*s' is not a number", (int)end, l->s);
	}
	t->kind = FSC_T_INT;
	for (size_t i = 0; i < used; i++)
		lexer_skip(l);
	if (overflow) {
		t->at.column_end = l->column;
		fsc_lang_fail(c, t->at, "this number does not fit into 64 bits");
	}
}

static int hex_digit(int ch)
{
	return isdigit(ch) ? ch - '0' : isxdigit(ch) ? (ch | 32) - 'a' + 10 : -1;
}

static char string_escape(struct fsc_lang *c, struct fsc_lexer *l)
{
	static const char from[] = "ntrabfve\\\"'?", to[] = "\n\t\r\a\b\f\v\033\\\"'?";
	int ch = lexer_at(l, 0), v = 0;
	const char *simple = ch ? strchr(from, ch) : NULL;
	struct fsc_loc at = lexer_loc(l);

	if (simple) {
		lexer_skip(l);
		return to[simple - from];
	}
	if (ch == 'x' && hex_digit(lexer_at(l, 1)) >= 0) {
		lexer_skip(l);
		for (int i = 0; i < 2 && hex_digit(lexer_at(l, 0)) >= 0; i++, lexer_skip(l))
			v = v * 16 + hex_digit(lexer_at(l, 0));
		return (char)v;
	}
	if (ch >= '0' && ch <= '7') {
		for (int i = 0; i < 3 && lexer_at(l, 0) >= '0' && lexer_at(l, 0) <= '7';
		     i++, lexer_skip(l))
			v = v * 8 + lexer_at(l, 0) - '0';
		return (char)v;
	}
	at.column_end++;
	fsc_lang_fail(c, at, "there is no escape sequence '\\%c'", ch && isprint(ch) ? ch : '?');
}

static void token_string(struct fsc_lang *c, struct fsc_lexer *l)
{
	char *text = fsc_zone_alloc(
	    c->keep, (size_t)(l->end - l->s) < 65536 ? (size_t)(l->end - l->s) : 65536);
	size_t n = 0;

	lexer_skip(l);
	while (lexer_at(l, 0) != '"') {
		if (l->s >= l->end || n >= 65000) {
			c->token.at.column_end++;
			fsc_lang_fail(c, c->token.at, "this string does not end");
		}
		if (*l->s == '\\' && lexer_at(l, 1) == '\n') {
			lexer_skip(l);
			lexer_skip(l);
		} else if (*l->s == '\\') {
			lexer_skip(l);
			text[n++] = string_escape(c, l);
		} else {
			text[n++] = *l->s;
			lexer_skip(l);
		}
	}
	lexer_skip(l);
	c->token.kind = FSC_T_STRING;
	c->token.text = text;
	c->token.size = n;
}

/* A word, perhaps with $ or @ before it. */
static void token_word(struct fsc_lang *c, struct fsc_lexer *l, int kind)
{
	const char *begin = l->s;

	if (kind != FSC_T_NAME)
		lexer_skip(l);
	while (is_word(lexer_at(l, 0)))
		lexer_skip(l);
	c->token.kind = kind;
	c->token.size = (size_t)(l->s - begin);
	c->token.text = fsc_zone_copy(c->keep, begin, c->token.size);
}

static void token_dollar(struct fsc_lang *c, struct fsc_lexer *l)
{
	if (lexer_at(l, 1) == '#') {
		lexer_skip(l);
		lexer_skip(l);
		c->token.kind = FSC_T_COUNT;
	} else if (isdigit(lexer_at(l, 1))) {
		c->token.kind = FSC_T_POSITIONAL;
		for (lexer_skip(l); isdigit(lexer_at(l, 0)); lexer_skip(l))
			c->token.value =
			    c->token.value > 1000000
				? c->token.value
				: c->token.value * 10 + (uint64_t)(lexer_at(l, 0) - '0');
	} else if (is_word_start(lexer_at(l, 1))) {
		token_word(c, l, FSC_T_VAR);
	} else {
		c->token.at.column_end++;
		fsc_lang_fail(c, c->token.at, "a name is missing behind '$'");
	}
}

static const struct {
	const char *text;
	int kind, op;
} operators[] = {
    {"<<=", FSC_T_ASSIGN_OP, FSC_T_SHL},
    {">>=", FSC_T_ASSIGN_OP, FSC_T_SHR},
    {"==", FSC_T_EQ, 0},
    {"!=", FSC_T_NE, 0},
    {"<=", FSC_T_LE, 0},
    {">=", FSC_T_GE, 0},
    {"<<", FSC_T_SHL, 0},
    {">>", FSC_T_SHR, 0},
    {"&&", FSC_T_AND, 0},
    {"||", FSC_T_OR, 0},
    {"++", FSC_T_INC, 0},
    {"--", FSC_T_DEC, 0},
    {"->", FSC_T_ARROW, 0},
    {"..", FSC_T_RANGE, 0},
    {"+=", FSC_T_ASSIGN_OP, '+'},
    {"-=", FSC_T_ASSIGN_OP, '-'},
    {"*=", FSC_T_ASSIGN_OP, '*'},
    {"/=", FSC_T_ASSIGN_OP, '/'},
    {"%=", FSC_T_ASSIGN_OP, '%'},
    {"&=", FSC_T_ASSIGN_OP, '&'},
    {"|=", FSC_T_ASSIGN_OP, '|'},
    {"^=", FSC_T_ASSIGN_OP, '^'},
};

static void token_operator(struct fsc_lang *c, struct fsc_lexer *l)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		size_t n = strlen(operators[i].text);

		if ((size_t)(l->end - l->s) < n || memcmp(l->s, operators[i].text, n))
			continue;
		c->token.kind = operators[i].kind;
		c->token.value = (uint64_t)operators[i].op;
		while (n--)
			lexer_skip(l);
		return;
	}
	if (!strchr("+-*/%&|^~!<>=?:;,.(){}[]#", *l->s)) {
		c->token.at.column_end++;
		fsc_lang_fail(c, c->token.at, "'%c' means nothing here",
			      isprint((unsigned char)*l->s) ? *l->s : '?');
	}
	c->token.kind = *l->s;
	lexer_skip(l);
}

static bool token_defined(struct fsc_lang *c, struct fsc_lexer *l)
{
	const struct fsc_define *d =
	    c->token.kind == FSC_T_NAME ? fsc_lex_define(c, c->token.text) : NULL;
	struct fsc_lexer *inner;

	if (!d)
		return false;
	if (d->has_args)
		fsc_lang_fail_hint(c, c->token.at, "write it as 'macro NAME(a, b) { ... }'",
				   "#define with arguments is not supported");
	for (struct fsc_lexer *up = c->lexer; up; up = up->below)
		if (up->name && !strcmp(up->name, d->name))
			return false;
	inner = FSC_NEW(&c->temp, struct fsc_lexer);
	*inner = (struct fsc_lexer){.s = d->text,
				    .end = d->text + d->n,
				    .line = 1,
				    .column = 1,
				    .fixed = true,
				    .at = c->token.at,
				    .below = l,
				    .name = d->name};
	inner->at.column_end = l->fixed ? c->token.at.column_end : l->column;
	c->lexer = inner;
	return true;
}

static void lex_token(struct fsc_lang *c)
{
	struct fsc_lexer *l;
	int ch = fsc_lex_peek(c);

	l = c->lexer;
	c->token = (struct fsc_token){.at = lexer_loc(l)};
	if (l->s >= l->end)
		return;
	if (isdigit(ch))
		token_number(c, l);
	else if (ch == '"')
		token_string(c, l);
	else if (ch == '$')
		token_dollar(c, l);
	else if (ch == '@')
		token_word(c, l, FSC_T_MAP);
	else if (is_word_start(ch))
		token_word(c, l, FSC_T_NAME);
	else
		token_operator(c, l);
	if (!l->fixed) {
		c->token.at.line_end = l->line;
		c->token.at.column_end = l->column;
	}
	if (token_defined(c, l))
		lex_token(c);
}

void fsc_lex_next(struct fsc_lang *c)
{
	c->last = c->token.at;
	lex_token(c);
}

void fsc_lex_start(struct fsc_lang *c)
{
	c->lexer = FSC_NEW(&c->temp, struct fsc_lexer);
	*c->lexer = (struct fsc_lexer){.s = c->text, .end = c->text + c->n, .line = 1, .column = 1};
	c->defines = FSC_VEC_INIT(struct fsc_define);
	fsc_lex_next(c);
}

struct fsc_lex_state fsc_lex_save(struct fsc_lang *c)
{
	return (struct fsc_lex_state){*c->lexer, c->lexer, c->token, c->last};
}

void fsc_lex_restore(struct fsc_lang *c, const struct fsc_lex_state *s)
{
	c->lexer = s->which;
	*c->lexer = s->lexer;
	c->token = s->token;
	c->last = s->last;
}

/* The token was read by the rules of expressions: go back to where it began. */
static void attach_rewind(struct fsc_lang *c, struct fsc_lexer *l)
{
	const char *s = c->text;

	l->line = 1;
	while (l->line < c->token.at.line) {
		s = memchr(s, '\n', (size_t)(l->end - s));
		s++;
		l->line++;
	}
	l->column = c->token.at.column;
	l->s = s + l->column - 1;
}

struct fsc_attach_text fsc_lex_attach(struct fsc_lang *c)
{
	struct fsc_attach_text ret = {.at = c->token.at};
	struct fsc_lexer *l = c->lexer;
	bool quoted = false;
	const char *begin;

	while (l->below)
		l = l->below;
	c->lexer = l;
	attach_rewind(c, l);
	for (begin = l->s; l->s < l->end; lexer_skip(l)) {
		if (*l->s == '"')
			quoted = !quoted;
		else if (!quoted && (isspace((unsigned char)*l->s) || strchr(",{", *l->s)))
			break;
	}
	if (quoted)
		fsc_lang_fail(c, ret.at, "a closing '\"' is missing in this probe");
	ret.text = fsc_zone_copy(c->keep, begin, (size_t)(l->s - begin));
	ret.at.line_end = l->line;
	ret.at.column_end = l->column;
	c->token.at = ret.at;
	fsc_lex_next(c);
	return ret;
}
