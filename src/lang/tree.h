/* The tree of a script, as the parser makes it and the checker completes it: expressions get types,
 * names get what they mean. One struct for all expressions and one for all statements: a kind uses
 * the members that its line below says. */
#ifndef FSC_LANG_TREE_H
#define FSC_LANG_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "lang/type.h"

/* A place in the text: from line:column up to, not including, line_end:column_end. From 1. */
struct fsc_loc {
	uint32_t line, column, line_end, column_end;
};

enum fsc_tok {
	FSC_T_END,
	FSC_T_INT,
	FSC_T_STRING,
	FSC_T_NAME,
	FSC_T_VAR,	  /* $x */
	FSC_T_MAP,	  /* @x */
	FSC_T_POSITIONAL, /* $1 */
	FSC_T_COUNT,	  /* $# */
	/* Operators of one letter are that letter; these are longer. */
	FSC_T_EQ = 256,
	FSC_T_NE,
	FSC_T_LE,
	FSC_T_GE,
	FSC_T_SHL,
	FSC_T_SHR,
	FSC_T_AND,
	FSC_T_OR,
	FSC_T_INC,
	FSC_T_DEC,
	FSC_T_ARROW,
	FSC_T_RANGE,
	FSC_T_ASSIGN_OP, /* +=: value is the operator's token */
};

enum fsc_expr_kind {
	FSC_E_INT,	  /* value, is_unsigned */
	FSC_E_BOOL,	  /* value */
	FSC_E_STRING,	  /* name, size */
	FSC_E_NAME,	  /* name: a builtin, an enumerator, a macro or a word (stack modes) */
	FSC_E_POSITIONAL, /* value: 1 on */
	FSC_E_COUNT,	  /* $# */
	FSC_E_VAR,	  /* name; var */
	FSC_E_MAP,	  /* name; map; a: key or NULL */
	FSC_E_CALL,	  /* name; args */
	FSC_E_UNARY,	  /* op: ! ~ - + * &; a */
	FSC_E_STEP,	  /* op: INC, DEC; a; prefix */
	FSC_E_BINARY,	  /* op; a, b */
	FSC_E_LOGIC,	  /* op: AND, OR; a, b */
	FSC_E_TERNARY,	  /* a ? b : c */
	FSC_E_FIELD,	  /* a.name */
	FSC_E_INDEX,	  /* a[b] */
	FSC_E_NTH,	  /* a.value, of a tuple */
	FSC_E_CAST,	  /* ref; a */
	FSC_E_SIZEOF,	  /* ref, or a */
	FSC_E_OFFSETOF,	  /* ref, or a; name: "a.b" */
	FSC_E_TUPLE,	  /* args */
	FSC_E_BLOCK,	  /* body; a: its value, NULL: none */
	FSC_E_VALUE,	  /* a value that is made already (code generation) */
};

struct fsc_stmt;
struct fsc_scope_var;
struct fsc_script_map;
struct fsc_builtin;
struct fsc_func;

/* A type as written: "struct x *", "uint8[4]", "string[64]". */
struct fsc_typeref {
	struct fsc_loc at;
	const char *name; /* "struct x", "uint64" */
	unsigned pointers;
	uint64_t dims[4];
	unsigned n_dims;
	bool open_dim;	     /* uint8[]: as many as the value has */
	struct fsc_expr *of; /* typeof(expr), name is NULL */
};

struct fsc_expr {
	enum fsc_expr_kind kind;
	int op;
	struct fsc_loc at;
	const struct fsc_vtype *type; /* once checked */
	struct fsc_expr *a, *b, *c;
	struct fsc_expr **args;
	size_t n_args;
	struct fsc_stmt *body;
	const char *name;
	size_t size;
	uint64_t value;
	bool is_unsigned, prefix, is_const, called, literal;
	bool discarded; /* its value is not used */
	struct fsc_typeref *ref;
	struct fsc_scope_var *var;
	struct fsc_script_map *map;
	const struct fsc_builtin *builtin;
	uint64_t positional; /* the number of the parameter that this was */
	const void *more;    /* what the builtin's checker found */
	struct fsc_val *val;
};

enum fsc_stmt_kind {
	FSC_S_EXPR,	 /* expr */
	FSC_S_LET,	 /* var name; ref or NULL; expr or NULL */
	FSC_S_ASSIGN,	 /* to (VAR, MAP); op: 0 or the operator; expr */
	FSC_S_DISCARD,	 /* _ = expr */
	FSC_S_IF,	 /* expr; body; other */
	FSC_S_WHILE,	 /* expr; body */
	FSC_S_FOR_RANGE, /* name; expr .. until; body */
	FSC_S_FOR_MAP,	 /* name; to: the map; body */
	FSC_S_UNROLL,	 /* expr; body */
	FSC_S_BREAK,
	FSC_S_CONTINUE,
	FSC_S_RETURN, /* expr or NULL */
	FSC_S_BLOCK,  /* body */
};

struct fsc_stmt {
	enum fsc_stmt_kind kind;
	int op;
	struct fsc_loc at;
	struct fsc_stmt *next;
	struct fsc_expr *to, *expr, *until;
	struct fsc_stmt *body, *other;
	const char *name;
	struct fsc_typeref *ref;
	struct fsc_scope_var *var;
	bool made; /* code generation: the variable's place is this statement's */
};

/* One action block. */
struct fsc_probe {
	struct fsc_loc at;
	struct fsc_vec texts; /* struct fsc_attach_text */
	struct fsc_expr *predicate;
	struct fsc_stmt *body;
	uint32_t number;
	struct fsc_probe *next;
};

struct fsc_attach_text {
	const char *text;
	struct fsc_loc at;
};

/* macro name($a, @b, c) { ... }, and fn name($a: type): type { ... } */
struct fsc_macro_param {
	const char *name; /* with its $ or @ */
	struct fsc_typeref *ref;
};

struct fsc_macro {
	const char *name;
	struct fsc_loc at;
	struct fsc_vec params; /* struct fsc_macro_param */
	struct fsc_stmt *body;
	struct fsc_expr *value;
	struct fsc_typeref *ret;
	bool is_function;
	unsigned depth; /* of expansions, against recursion */
};

/* let @m = hash(100); */
struct fsc_map_decl {
	const char *name, *kind;
	uint64_t entries;
	struct fsc_loc at;
};

struct fsc_config_item {
	const char *name, *value;
	struct fsc_loc at;
	bool is_number, is_text;
};

#endif
