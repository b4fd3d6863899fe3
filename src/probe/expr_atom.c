/* What stands between operators: numbers, characters, names, casts, members, and the prefixes. */
#include "probe/expr.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NESTED = 128 };

void fsc_slice_copy(struct fsc_slice s, char buf[static FSC_EXPR_NAME])
{
	size_t n = s.n < FSC_EXPR_NAME ? s.n : FSC_EXPR_NAME - 1;

	memcpy(buf, s.s, n);
	buf[n] = '\0';
}

size_t fsc_parser_name(const char *s)
{
	size_t n = 0;

	if (isdigit((unsigned char)*s))
		return 0;
	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n;
}

int fsc_parser_string(struct fsc_parser *p, struct fsc_slice *ret)
{
	const char *from;

	fsc_parser_blank(p);
	from = p->s;
	if (*p->s != '"')
		return fsc_parser_expected(p, "a string in double quotes");
	for (p->s++; *p->s != '"'; p->s++) {
		if (*p->s == '\\' && p->s[1])
			p->s++;
		if (!*p->s)
			return fsc_parser_error(p, from, "the string has no closing quote");
	}
	*ret = (struct fsc_slice){from + 1, (size_t)(p->s - from) - 1};
	p->s++;
	return 0;
}

/* The type C gives a literal: the first that holds it; only octal and hexadecimal ones become
 * unsigned by themselves. */
static struct fsc_ctype literal_type(uint64_t v, bool decimal, bool is_unsigned, bool is_long)
{
	struct fsc_ctype t = {.size = is_long ? 8 : 4, .is_signed = !is_unsigned};

	if (t.size == 4 && t.is_signed && v > INT32_MAX && (decimal || v > UINT32_MAX))
		t.size = 8;
	else if (t.size == 4 && t.is_signed && v > INT32_MAX)
		t.is_signed = false;
	else if (t.size == 4 && v > UINT32_MAX)
		t.size = 8;
	if (t.size == 8 && v > INT64_MAX)
		t.is_signed = false;
	return t;
}

static int parse_number(struct fsc_parser *p, uint32_t *ret)
{
	struct fsc_node n = {.kind = FSC_NODE_NUMBER};
	const char *at = p->s;
	bool is_unsigned = false, is_long = false;
	char *end;

	errno = 0;
	n.number = strtoull(at, &end, 0);
	if (errno)
		return fsc_parser_error(p, at, "the number does not fit into 64 bits");
	for (p->s = end; *p->s && strchr("uUlL", *p->s); p->s++) {
		is_unsigned |= tolower((unsigned char)*p->s) == 'u';
		is_long |= tolower((unsigned char)*p->s) == 'l';
	}
	if (isalnum((unsigned char)*p->s) || *p->s == '_' || *p->s == '.')
		return fsc_parser_error(p, at, "this is not a whole number");
	n.type = literal_type(n.number, *at != '0', is_unsigned, is_long);
	return fsc_parser_node(p, at, n, ret);
}

static int parse_character(struct fsc_parser *p, uint32_t *ret)
{
	struct fsc_node n = {.kind = FSC_NODE_NUMBER, .type = {.size = 4, .is_signed = true}};
	const char *at = p->s, *s = at + 1;
	const char *end = s + strlen(s);

	if (s == end || *s == '\'')
		return fsc_parser_error(p, at, "expected one character in single quotes");
	n.number = (uint64_t)(int64_t)(signed char)fsc_format_char(&s, end);
	if (*s != '\'')
		return fsc_parser_error(p, at, "expected one character in single quotes");
	p->s = s + 1;
	return fsc_parser_node(p, at, n, ret);
}

static int strcmp_call(struct fsc_parser *p, const char *at, uint32_t *ret)
{
	struct fsc_node n = {.kind = FSC_NODE_STRCMP};
	int rc;

	if (!fsc_parser_accept(p, "("))
		return fsc_parser_expected(p, "'(' after STRCMP");
	rc = fsc_parser_string(p, &n.name);
	if (!rc && !fsc_parser_accept(p, ","))
		rc = fsc_parser_expected(p, "','");
	if (!rc)
		rc = fsc_parser_expr(p, &n.a);
	if (!rc && !fsc_parser_accept(p, ")"))
		rc = fsc_parser_expected(p, "')'");
	return rc ? rc : fsc_parser_node(p, at, n, ret);
}

static int take_name(struct fsc_parser *p, const char *what, struct fsc_slice *ret)
{
	fsc_parser_blank(p);
	*ret = (struct fsc_slice){p->s, fsc_parser_name(p->s)};
	if (!ret->n)
		return fsc_parser_expected(p, what);
	if (ret->n >= FSC_EXPR_NAME)
		return fsc_parser_error(p, p->s, "the name is too long");
	p->s += ret->n;
	return 0;
}

static int parse_name(struct fsc_parser *p, uint32_t *ret)
{
	struct fsc_node n = {.kind = *p->s == '$' ? FSC_NODE_VAR : FSC_NODE_NAME};
	const char *at = p->s;
	int rc;

	p->s += *p->s == '$';
	rc = take_name(p, "a number, a name or '('", &n.name);
	if (rc)
		return rc;
	if (n.kind == FSC_NODE_NAME && n.name.n == 6 && !memcmp(n.name.s, "STRCMP", 6))
		return strcmp_call(p, at, ret);
	if (n.kind == FSC_NODE_NAME && n.name.n == 4 && !memcmp(n.name.s, "args", 4)) {
		if (!fsc_parser_accept(p, "->") && !fsc_parser_accept(p, "."))
			return fsc_parser_expected(p, "'->' and a field of the tracepoint");
		n.kind = FSC_NODE_FIELD;
		rc = take_name(p, "a field of the tracepoint", &n.name);
	}
	return rc ? rc : fsc_parser_node(p, at, n, ret);
}

static int parse_primary(struct fsc_parser *p, uint32_t *ret)
{
	int rc;

	fsc_parser_blank(p);
	if (isdigit((unsigned char)*p->s))
		return parse_number(p, ret);
	if (*p->s == '\'')
		return parse_character(p, ret);
	if (*p->s == '"')
		return fsc_parser_error(p, p->s,
					"a string can only be compared: STRCMP(\"text\", arg1)");
	if (!fsc_parser_accept(p, "("))
		return parse_name(p, ret);
	rc = fsc_parser_expr(p, ret);
	if (!rc && !fsc_parser_accept(p, ")"))
		rc = fsc_parser_expected(p, "an operator or ')'");
	return rc;
}

/* a->b, a.b, a[b], a@user behind an operand. */
static int parse_postfix(struct fsc_parser *p, uint32_t *ret)
{
	int rc = parse_primary(p, ret);

	while (!rc) {
		struct fsc_node n = {.a = *ret};
		const char *at;

		fsc_parser_blank(p);
		at = p->s;
		if (fsc_parser_accept(p, "->") || fsc_parser_accept(p, ".")) {
			n.kind = FSC_NODE_MEMBER;
			rc = take_name(p, "the name of a member", &n.name);
		} else if (fsc_parser_accept(p, "[")) {
			n.kind = FSC_NODE_INDEX;
			rc = fsc_parser_expr(p, &n.b);
			if (!rc && !fsc_parser_accept(p, "]"))
				rc = fsc_parser_expected(p, "']'");
		} else if (fsc_parser_accept(p, "@")) {
			n.kind = FSC_NODE_USER;
			rc = take_name(p, "'user'", &n.name);
			if (!rc && (n.name.n != 4 || memcmp(n.name.s, "user", 4)))
				rc = fsc_parser_error(p, at, "only '@user' can follow a value");
		} else {
			return 0;
		}
		if (!rc)
			rc = fsc_parser_node(p, at, n, ret);
	}
	return rc;
}

static int parse_cast(struct fsc_parser *p, const char *at, uint32_t *ret)
{
	struct fsc_node n = {.kind = FSC_NODE_CAST};
	struct fsc_ctype_name *type = fsc_vec_push(&p->tree->types);
	int rc;

	if (!type)
		return fsc_err_nomem(p->err);
	n.cast = (uint32_t)p->tree->types.n - 1;
	fsc_parser_accept(p, "(");
	rc = fsc_parser_type(p, type);
	if (!rc && !fsc_parser_accept(p, ")"))
		rc = fsc_parser_expected(p, "')' after the type");
	if (!rc)
		rc = fsc_parser_unary(p, &n.a);
	return rc ? rc : fsc_parser_node(p, at, n, ret);
}

static int parse_prefixed(struct fsc_parser *p, uint32_t *ret)
{
	static const struct {
		char token;
		enum fsc_node_kind kind;
		enum fsc_op_code op;
	} prefixes[] = {{'!', FSC_NODE_UNARY, FSC_OP_NOT},
			{'~', FSC_NODE_UNARY, FSC_OP_COMPL},
			{'-', FSC_NODE_UNARY, FSC_OP_NEG},
			{'+', FSC_NODE_UNARY, FSC_OP_CAST},
			{'*', FSC_NODE_DEREF, 0}};
	const char *at;

	fsc_parser_blank(p);
	at = p->s;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		struct fsc_node n = {.kind = prefixes[i].kind, .op = prefixes[i].op};
		int rc;

		if (*at != prefixes[i].token)
			continue;
		p->s++;
		rc = fsc_parser_unary(p, &n.a);
		return rc ? rc : fsc_parser_node(p, at, n, ret);
	}
	if (*at == '(' && fsc_parser_at_type(at + 1))
		return parse_cast(p, at, ret);
	return parse_postfix(p, ret);
}

int fsc_parser_unary(struct fsc_parser *p, uint32_t *ret)
{
	int rc;

	if (++p->nested > MAX_NESTED)
		return fsc_parser_error(p, p->s, "the expression is nested too deeply");
	rc = parse_prefixed(p, ret);
	p->nested--;
	return rc;
}
