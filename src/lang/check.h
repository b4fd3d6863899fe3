/* Names and types: every expression gets a type, every name its meaning, every map and variable a
 * type that all its uses agree on. Maps are used before they are assigned, so the script is checked
 * again and again until no type changes; only then is what is still unknown a mistake. */
#ifndef FSC_LANG_CHECK_H
#define FSC_LANG_CHECK_H

#include "lang/types_priv.h"

struct fsc_script_map {
	const char *name;
	struct fsc_loc at; /* first use */
	const struct fsc_map_decl *decl;
	const struct fsc_vtype *key, *value; /* NULL: not known yet */
	bool scalar, keyed;		     /* as it is used; neither: not known yet */
	uint32_t number;		     /* in the plan */
	uint32_t set_offset;
	uint32_t zeros; /* code generation: as many as a value needs */
};

struct fsc_scope_var {
	const char *name;
	const struct fsc_vtype *type;
	bool declared;	/* its type was written */
	bool is_pair;	/* $kv of a map */
	bool in_memory; /* its address is taken */
	bool captured;	/* used in a loop's function that is not its own */
	unsigned func;	/* depth of loops' functions where it was made */
	uint32_t index;
	struct fsc_scope_var *next; /* in its scope */
	struct fsc_script_map *map; /* is_pair */
	struct fsc_val *val;	    /* code generation: where it is */
};

struct fsc_scope {
	struct fsc_scope_var *vars;
	struct fsc_scope *up;
};

struct fsc_check {
	struct fsc_vec maps; /* struct fsc_script_map * */
	struct fsc_probe *probe;
	const struct fsc_point **points; /* of the program that is being checked */
	size_t n_points;
	const struct fsc_point *point; /* the first of them */
	struct fsc_args args;
	int args_code; /* of the world; 1: not asked yet */
	struct fsc_err args_err;
	struct fsc_vec var_types; /* const struct fsc_vtype *: of variables, by their order */
	uint32_t n_vars;
	struct fsc_scope *scope;
	unsigned func, loops;
	struct fsc_expr *inlined; /* the call of a function that is being checked */
	bool final, changed;
	bool warned;	 /* in an earlier pass over the same */
	bool uses_point; /* the program depends on which of its points it is for */
	bool uses_cookie, overrides;
	struct fsc_vec getopts; /* struct fsc_plan_param */
};

/* A builtin variable or function. */
struct fsc_gen;
struct fsc_dest;

enum {
	FSC_B_BARE = 1,	  /* may stand without parentheses */
	FSC_B_UNSAFE = 2, /* only with --unsafe */
	FSC_B_AGG = 4,	  /* only as @x = f() */
	FSC_B_MAP = 8,	  /* the first argument is a map, not its value */
	FSC_B_OWN = 16,	  /* checks its arguments itself */
};

struct fsc_builtin {
	const char *name;
	int min, max; /* arguments; max -1: any number */
	unsigned flags;
	void (*check)(struct fsc_lang *c, struct fsc_expr *e); /* sets e->type */
	const void *gen;				       /* fsc_builtin_gen */
	int64_t param; /* for builtins that share a function */
};

const struct fsc_builtin *fsc_builtin_find(struct fsc_lang *c, const char *name);
void fsc_builtin_nearest(struct fsc_nearest *nearest);

void fsc_check_init(struct fsc_lang *c);
/* Checks a probe for its points (c->check->points) until its variables' types are settled. */
void fsc_check_probe(struct fsc_lang *c, struct fsc_probe *p);

void fsc_check_expr(struct fsc_lang *c, struct fsc_expr *e);
/* The same for a value that is used: no void, aggregations become numbers. */
void fsc_check_value(struct fsc_lang *c, struct fsc_expr *e);
/* The same for a condition. */
void fsc_check_condition(struct fsc_lang *c, struct fsc_expr *e);
void fsc_check_body(struct fsc_lang *c, struct fsc_stmt *s);
void fsc_check_block(struct fsc_lang *c, struct fsc_stmt *s);
const struct fsc_args *fsc_check_args(struct fsc_lang *c, struct fsc_loc at);

struct fsc_script_map *fsc_check_map(struct fsc_lang *c, struct fsc_expr *e);
/* A map whose key is `key` (NULL: none). */
void fsc_check_map_key(struct fsc_lang *c, struct fsc_script_map *m, struct fsc_expr *key,
		       struct fsc_loc at);
void fsc_check_map_value(struct fsc_lang *c, struct fsc_script_map *m, const struct fsc_vtype *type,
			 const struct fsc_expr *from, struct fsc_loc at);
struct fsc_scope_var *fsc_check_var(struct fsc_lang *c, const char *name);
struct fsc_scope_var *fsc_check_declare(struct fsc_lang *c, const char *name,
					const struct fsc_vtype *type);
void fsc_check_var_type(struct fsc_lang *c, struct fsc_scope_var *v, const struct fsc_vtype *type,
			const struct fsc_expr *from, struct fsc_loc at);
void fsc_check_push(struct fsc_lang *c);
void fsc_check_pop(struct fsc_lang *c);

/* A type that holds values of both; NULL: there is none. a may be NULL. literal: b is a constant
 * that may take a's sign. */
const struct fsc_vtype *fsc_vt_merge(struct fsc_lang *c, const struct fsc_vtype *a,
				     const struct fsc_vtype *b, bool literal);
/* Whether the type is one that reads as a number in expressions; sets *ret to the number's type. */
const struct fsc_vtype *fsc_vt_smallest(uint64_t value, bool is_unsigned);
bool fsc_vt_castable(const struct fsc_vtype *t, const struct fsc_vtype **ret);

/* For checkers of builtins. */
static inline bool fsc_expr_is_string(const struct fsc_expr *e)
{
	return e->kind == FSC_E_STRING;
}
/* Makes e a constant. */
void fsc_expr_const(struct fsc_expr *e, const struct fsc_vtype *t, uint64_t value);
void fsc_expr_text(struct fsc_lang *c, struct fsc_expr *e, const char *text, size_t n);
const char *fsc_string_arg(struct fsc_lang *c, struct fsc_expr *e, unsigned n);
int64_t fsc_const_arg(struct fsc_lang *c, struct fsc_expr *e, unsigned n);

/* builtin_meta.c: named parameters that nothing asks for are a mistake. */
void fsc_check_params(struct fsc_lang *c);

/* macro.c: replaces calls of macros in the whole script. */
void fsc_macro_expand(struct fsc_lang *c);
/* config.c */
void fsc_config_read(struct fsc_lang *c);

#endif
