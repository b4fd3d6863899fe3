/* The expressions of `trace`: C's, over the arguments of a call. Text becomes a tree once
 * (expr_parse.c), the tree becomes operations for each place it is evaluated at (expr_gen.c), as
 * names and types can differ there. Used by tracespec.c alone. */
#ifndef FSC_PROBE_EXPR_H
#define FSC_PROBE_EXPR_H

#include "base/err.h"
#include "base/format.h"
#include "base/vec.h"
#include "probe/names.h"
#include "wire/trace.h"

enum { FSC_EXPR_NODES = 512, FSC_EXPR_NAME = 128, FSC_EXPR_PARAMS = 12 };

/* A piece of the text that was typed. */
struct fsc_slice {
	const char *s;
	size_t n;
};

/* "struct timespec *" as "struct timespec" and 1. */
struct fsc_ctype_name {
	char base[FSC_EXPR_NAME];
	unsigned pointers;
	unsigned column;
};

enum fsc_node_kind {
	FSC_NODE_NUMBER,
	FSC_NODE_NAME,	 /* arg1, retval, a parameter */
	FSC_NODE_VAR,	 /* $pid */
	FSC_NODE_FIELD,	 /* args->name */
	FSC_NODE_UNARY,	 /* op a */
	FSC_NODE_BINARY, /* a op b */
	FSC_NODE_AND,	 /* a && b */
	FSC_NODE_OR,
	FSC_NODE_COND, /* a ? b : c */
	FSC_NODE_CAST,
	FSC_NODE_DEREF,	 /* *a */
	FSC_NODE_MEMBER, /* a->name, a.name */
	FSC_NODE_INDEX,	 /* a[b] */
	FSC_NODE_STRCMP, /* STRCMP("name", a) */
	FSC_NODE_USER,	 /* a@user */
};

struct fsc_node {
	enum fsc_node_kind kind;
	unsigned column;       /* in the text, from 1 */
	enum fsc_op_code op;   /* of unary and binary */
	bool swap;	       /* binary: b op a */
	uint32_t a, b, c;      /* operands */
	struct fsc_slice name; /* name, or a literal without its quotes */
	uint64_t number;       /* with its type, as C types literals */
	struct fsc_ctype type; /* of a number */
	uint32_t cast;	       /* index in fsc_tree.types */
};

struct fsc_syntax {
	struct fsc_vec nodes; /* struct fsc_node */
	struct fsc_vec types; /* struct fsc_ctype_name */
};

/* ---- text to tree ---- */

struct fsc_parser {
	const char *text, *s; /* all of it, and where we are */
	struct fsc_syntax *tree;
	unsigned nested;
	struct fsc_err *err;
};

void fsc_parser_blank(struct fsc_parser *p);
/* Goes over the token if it comes next. */
bool fsc_parser_accept(struct fsc_parser *p, const char *token);
/* "column N: expected WHAT instead of ..." */
int fsc_parser_expected(struct fsc_parser *p, const char *what);
int fsc_parser_error(struct fsc_parser *p, const char *at, const char *what);
/* A quoted string; ret is what is between the quotes, escapes as typed. */
int fsc_parser_string(struct fsc_parser *p, struct fsc_slice *ret);
/* A name's length at s, 0 if there is none. */
size_t fsc_parser_name(const char *s);
/* Whether a type begins at s. */
bool fsc_parser_at_type(const char *s);
int fsc_parser_type(struct fsc_parser *p, struct fsc_ctype_name *ret);
/* One expression; ret is the index of its node. */
int fsc_parser_expr(struct fsc_parser *p, uint32_t *ret);
/* What stands between operators: a name, number, cast, operand with its sign. For expr_parse.c. */
int fsc_parser_unary(struct fsc_parser *p, uint32_t *ret);
int fsc_parser_node(struct fsc_parser *p, const char *at, struct fsc_node node, uint32_t *ret);

/* ---- tree to operations ---- */

/* A parameter the user declared behind the function's name. */
struct fsc_expr_param {
	struct fsc_slice name;
	struct fsc_ctype_name type;
};

enum fsc_trace_at {
	FSC_AT_ENTRY,
	FSC_AT_RETURN,
	FSC_AT_BOTH, /* at the return, with what was known at the entry */
};

struct fsc_gen {
	const struct fsc_syntax *tree;
	const struct fsc_vec *params; /* struct fsc_expr_param */
	const struct fsc_names *names;
	enum fsc_trace_at at;
	struct fsc_trace_prog *prog;
	unsigned depth, n_literals;
	struct fsc_err *err;
};

/* What lies on the machine's stack: a value, or the address of one that is not read yet. */
struct fsc_operand {
	struct fsc_ctype type;
	bool in_memory; /* at the address + offset */
	uint64_t offset;
	unsigned bit_offset, bit_size;
	bool user; /* memory it leads to is the process's for certain */
};

int fsc_gen_emit(struct fsc_gen *g, enum fsc_op_code code, unsigned size, uint32_t arg,
		 uint64_t imm);
/* Pushes where the node lies (arrays and structs stay in memory), or its value. */
int fsc_gen_place(struct fsc_gen *g, uint32_t node, struct fsc_operand *ret);
/* Pushes its value; arrays become pointers. */
int fsc_gen_value(struct fsc_gen *g, uint32_t node, struct fsc_operand *ret);
/* A name, $variable or field. */
int fsc_gen_name(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret);
int fsc_gen_var(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret);
int fsc_gen_field(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret);
/* A value whose place is known. */
int fsc_gen_typed(struct fsc_gen *g, const struct fsc_typed *t, struct fsc_operand *ret);
/* Turns what fsc_gen_place() left into a value. */
int fsc_gen_load(struct fsc_gen *g, unsigned column, struct fsc_operand *o);
int fsc_gen_member(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret);
/* A name of a type made a type: C's own, the kernel's short ones, or the resolver's. */
int fsc_gen_type(struct fsc_gen *g, const struct fsc_ctype_name *name, struct fsc_ctype *ret);
/* C's own integers by name; false if it is none of them. */
bool fsc_ctype_builtin(const char *name, struct fsc_ctype *ret);
/* What an operator computes in, as C's usual conversions have it. */
struct fsc_ctype fsc_ctype_promote(const struct fsc_ctype *t);
struct fsc_ctype fsc_ctype_common(const struct fsc_ctype *a, const struct fsc_ctype *b);
/* FSC_OP_SIZE and FSC_OP_SIGNED of a value. */
unsigned fsc_ctype_how(const struct fsc_ctype *t);
/* The slice as a string of its own; cut to fit. */
void fsc_slice_copy(struct fsc_slice s, char buf[static FSC_EXPR_NAME]);

#endif
