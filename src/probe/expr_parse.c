/* Text to tree, with C's precedences: operators by climbing a table; what stands between them is in
 * expr_atom.c. A tree is bounded in nodes and in nesting, so that no text can exhaust memory or the
 * stack. */
#include "probe/expr.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NESTED = 128 };

static const struct infix {
	const char *token;
	int level; /* higher binds tighter */
	enum fsc_node_kind kind;
	enum fsc_op_code op;
	bool swap;
} infixes[] = {
    /* longer tokens before their own beginnings */
    {"||", 1, FSC_NODE_OR, 0, false},
    {"&&", 2, FSC_NODE_AND, 0, false},
    {"==", 6, FSC_NODE_BINARY, FSC_OP_EQ, false},
    {"!=", 6, FSC_NODE_BINARY, FSC_OP_NE, false},
    {"<<", 8, FSC_NODE_BINARY, FSC_OP_SHL, false},
    {">>", 8, FSC_NODE_BINARY, FSC_OP_SHR, false},
    {"<=", 7, FSC_NODE_BINARY, FSC_OP_LE, false},
    {">=", 7, FSC_NODE_BINARY, FSC_OP_LE, true},
    {"<", 7, FSC_NODE_BINARY, FSC_OP_LT, false},
    {">", 7, FSC_NODE_BINARY, FSC_OP_LT, true},
    {"|", 3, FSC_NODE_BINARY, FSC_OP_OR, false},
    {"^", 4, FSC_NODE_BINARY, FSC_OP_XOR, false},
    {"&", 5, FSC_NODE_BINARY, FSC_OP_AND, false},
    {"+", 9, FSC_NODE_BINARY, FSC_OP_ADD, false},
    {"-", 9, FSC_NODE_BINARY, FSC_OP_SUB, false},
    {"*", 10, FSC_NODE_BINARY, FSC_OP_MUL, false},
    {"/", 10, FSC_NODE_BINARY, FSC_OP_DIV, false},
    {"%", 10, FSC_NODE_BINARY, FSC_OP_MOD, false},
};

void fsc_parser_blank(struct fsc_parser *p)
{
	while (isspace((unsigned char)*p->s))
		p->s++;
}

bool fsc_parser_accept(struct fsc_parser *p, const char *token)
{
	size_t n = strlen(token);

	fsc_parser_blank(p);
	if (strncmp(p->s, token, n))
		return false;
	p->s += n;
	return true;
}

int fsc_parser_error(struct fsc_parser *p, const char *at, const char *what)
{
	return fsc_err_usage(p->err, "column %zu of '%.200s': %s", (size_t)(at - p->text) + 1,
			     p->text, what);
}

int fsc_parser_expected(struct fsc_parser *p, const char *what)
{
	char text[200], found[40];
	size_t n;

	fsc_parser_blank(p);
	n = strcspn(p->s, " \t");
	if (n > 16)
		n = 16;
	snprintf(found, sizeof(found), n ? "'%.*s'" : "the end", (int)n, p->s);
	snprintf(text, sizeof(text), "expected %s instead of %s", what, found);
	return fsc_parser_error(p, p->s, text);
}

int fsc_parser_node(struct fsc_parser *p, const char *at, struct fsc_node node, uint32_t *ret)
{
	struct fsc_node *n;

	if (p->tree->nodes.n >= FSC_EXPR_NODES)
		return fsc_parser_error(p, at, "the expressions are too long");
	n = fsc_vec_push(&p->tree->nodes);
	if (!n)
		return fsc_err_nomem(p->err);
	*n = node;
	n->column = (unsigned)(at - p->text) + 1;
	*ret = (uint32_t)p->tree->nodes.n - 1;
	return 0;
}

static const struct infix *next_infix(struct fsc_parser *p)
{
	fsc_parser_blank(p);
	for (size_t i = 0; i < sizeof(infixes) / sizeof(infixes[0]); i++)
		if (!strncmp(p->s, infixes[i].token, strlen(infixes[i].token)))
			return &infixes[i];
	return NULL;
}

/* Operators of at least this level. */
static int parse_binary(struct fsc_parser *p, int level, uint32_t *ret)
{
	int rc = fsc_parser_unary(p, ret);

	while (!rc) {
		const struct infix *in = next_infix(p);
		struct fsc_node n;
		const char *at = p->s;

		if (!in || in->level < level)
			return 0;
		p->s += strlen(in->token);
		n = (struct fsc_node){.kind = in->kind, .op = in->op, .swap = in->swap, .a = *ret};
		rc = parse_binary(p, in->level + 1, &n.b);
		if (!rc)
			rc = fsc_parser_node(p, at, n, ret);
	}
	return rc;
}

static int parse_conditional(struct fsc_parser *p, uint32_t *ret)
{
	struct fsc_node n = {.kind = FSC_NODE_COND};
	const char *at;
	int rc = parse_binary(p, 1, ret);

	fsc_parser_blank(p);
	at = p->s;
	if (rc || !fsc_parser_accept(p, "?"))
		return rc;
	n.a = *ret;
	rc = fsc_parser_expr(p, &n.b);
	if (!rc && !fsc_parser_accept(p, ":"))
		rc = fsc_parser_expected(p, "':'");
	if (!rc)
		rc = fsc_parser_expr(p, &n.c);
	return rc ? rc : fsc_parser_node(p, at, n, ret);
}

int fsc_parser_expr(struct fsc_parser *p, uint32_t *ret)
{
	int rc;

	if (++p->nested > MAX_NESTED)
		return fsc_parser_error(p, p->s, "the expression is nested too deeply");
	rc = parse_conditional(p, ret);
	p->nested--;
	return rc;
}
