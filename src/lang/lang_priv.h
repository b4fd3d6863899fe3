/* One compilation: what its stages share, and how they fail. A stage that finds a mistake in the
 * text calls fsc_lang_fail(), which does not return: fsc_lang_compile() catches it. Memory is the
 * arenas': `temp` goes with the compilation, `keep` is the plan's. */
#ifndef FSC_LANG_LANG_PRIV_H
#define FSC_LANG_LANG_PRIV_H

#include <setjmp.h>

#include "base/map.h"
#include "lang/arena.h"
#include "lang/plan.h"
#include "lang/tree.h"

struct fsc_token {
	int kind;
	struct fsc_loc at;
	const char *text; /* NAME; VAR and MAP with their first letter; STRING: unescaped */
	size_t size;
	uint64_t value; /* INT, POSITIONAL; ASSIGN_OP: the operator */
	bool is_unsigned;
};

/* Text that is being read: the script, or what a #define stands for. */
struct fsc_lexer {
	const char *s, *end;
	uint32_t line, column;
	unsigned skipping; /* of #if: depth of conditions that are false */
	unsigned depth;	   /* of #if */
	bool fixed;	   /* all tokens are at `at`: the text of a #define */
	struct fsc_loc at;
	struct fsc_lexer *below; /* goes on when this one ends */
	const char *name;	 /* of the #define */
};

struct fsc_define {
	const char *name, *text;
	size_t n;
	struct fsc_loc at;
	bool has_args;
};

struct fsc_lang {
	struct fsc_plan_arena temp, *keep;
	struct fsc_plan *plan;
	const char *text;
	size_t n;
	const struct fsc_lang_opts *opts;
	const struct fsc_world *world;
	struct fsc_diags *diags;
	struct fsc_err *err;
	jmp_buf failed;
	int code; /* what the compilation returns when it has failed */
	/* the parser's */
	struct fsc_lexer *lexer;
	struct fsc_token token; /* the next one */
	struct fsc_loc last;	/* where the previous one was */
	struct fsc_vec defines; /* struct fsc_define */
	struct fsc_vec macros;	/* struct fsc_macro */
	struct fsc_vec map_decls, configs;
	struct fsc_probe *probes, **probes_end;
	uint32_t n_probes, n_copies, n_copied;
	bool in_predicate;
	unsigned nesting;
	struct fsc_ctypes *ctypes;
	struct fsc_check *check;
	struct fsc_planner *planner;
	struct fsc_plan_config config;
};

/* The text is wrong at that place. Format as for an error's sentence: no full stop. */
_Noreturn void fsc_lang_fail(struct fsc_lang *c, struct fsc_loc at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with what to try. */
_Noreturn void fsc_lang_fail_hint(struct fsc_lang *c, struct fsc_loc at, const char *hint,
				  const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* For failures of the world that are not the text's: err is filled. */
_Noreturn void fsc_lang_fail_world(struct fsc_lang *c, struct fsc_loc at, int code,
				   const struct fsc_err *err);
void fsc_lang_warn(struct fsc_lang *c, struct fsc_loc at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The nearest names as a hint "did you mean 'a'?" in the arena; NULL if there is none. */
const char *fsc_lang_nearest(struct fsc_lang *c, const struct fsc_nearest *nearest);

/* lex.c. Makes c->token the next token. */
void fsc_lex_start(struct fsc_lang *c);
void fsc_lex_next(struct fsc_lang *c);
/* Skips blanks and comments; the letter that then is next, 0 at the end. */
int fsc_lex_peek(struct fsc_lang *c);
/* The one behind that. */
int fsc_lex_peek2(struct fsc_lang *c);
/* For attach points, which have a lexic of their own: the text from the current token on, up to a
 * blank, comma or brace outside quotes. The current token must be its first. */
struct fsc_attach_text fsc_lex_attach(struct fsc_lang *c);
/* Where the lexer is, and back again. */
struct fsc_lex_state {
	struct fsc_lexer lexer, *which;
	struct fsc_token token;
	struct fsc_loc last;
};
struct fsc_lex_state fsc_lex_save(struct fsc_lang *c);
void fsc_lex_restore(struct fsc_lang *c, const struct fsc_lex_state *s);
/* preprocess.c: the line begins with '#'. */
void fsc_lex_directive(struct fsc_lang *c, struct fsc_lexer *l);
const struct fsc_define *fsc_lex_define(struct fsc_lang *c, const char *name);

/* parse*.c */
void fsc_parse(struct fsc_lang *c);
struct fsc_expr *fsc_parse_expr(struct fsc_lang *c);
struct fsc_expr *fsc_parse_unary(struct fsc_lang *c);
struct fsc_expr *fsc_parse_primary(struct fsc_lang *c);
struct fsc_expr *fsc_parse_block_expr(struct fsc_lang *c);
/* if (a) { b } else { c } with a value; 'if' is read. */
struct fsc_expr *fsc_parse_if_expr(struct fsc_lang *c, struct fsc_loc at);
struct fsc_stmt *fsc_parse_block(struct fsc_lang *c, struct fsc_expr **ret_value);
struct fsc_typeref *fsc_parse_typeref(struct fsc_lang *c);
const char *fsc_parse_type_name(struct fsc_lang *c);
bool fsc_parse_is_type(struct fsc_lang *c);
struct fsc_expr *fsc_expr_new(struct fsc_lang *c, enum fsc_expr_kind kind, struct fsc_loc at);
struct fsc_stmt *fsc_stmt_new(struct fsc_lang *c, enum fsc_stmt_kind kind, struct fsc_loc at);
bool fsc_parse_accept(struct fsc_lang *c, int token);
void fsc_parse_expect(struct fsc_lang *c, int token, const char *what);
bool fsc_parse_word(struct fsc_lang *c, const char *word);
struct fsc_loc fsc_loc_span(struct fsc_loc from, struct fsc_loc to);
const char *fsc_token_name(struct fsc_lang *c, const struct fsc_token *t);
/* cdecl.c: struct, union, enum and typedef in the script; the current token is the keyword. */
void fsc_parse_cdecl(struct fsc_lang *c);
bool fsc_cdecl_is_typedef(struct fsc_lang *c, const char *name);

/* A literal's number, as strtoull() but with the language's suffixes; false if there is none. */
bool fsc_lex_number(const char *s, size_t n, uint64_t *ret, size_t *ret_used, bool *ret_unsigned,
		    bool *ret_overflow);

#endif
