/* Option tables: a row per option says its letter, name, type, where its value goes, and its help.
 * The parser, --help, the completions and the check of the manual pages all read the same rows. */
#ifndef FSC_BASE_OPT_H
#define FSC_BASE_OPT_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

enum fsc_opt_type {
	FSC_OPT_FLAG,	 /* bool */
	FSC_OPT_STRING,	 /* const char * */
	FSC_OPT_UINT,	 /* unsigned */
	FSC_OPT_SECONDS, /* double, above 0 */
	FSC_OPT_LIST,	 /* struct fsc_vec of const char *, one per use */
	FSC_OPT_CHOICE,	 /* int: index in choices */
};

struct fsc_opt {
	char letter; /* 0 for none */
	const char *name;
	enum fsc_opt_type type;
	size_t offset;		    /* of the value in the set's struct */
	const char *arg;	    /* name of the argument, NULL for a flag */
	const char *help;	    /* NULL: works, but is not advertised */
	const char *const *choices; /* FSC_OPT_CHOICE: NULL-ended */
};

/* A table (ended by a NULL name) and the struct its values go to. */
struct fsc_opt_set {
	const struct fsc_opt *opts;
	void *values;
};

/* Parses argv[1..argc) against the sets (ended by NULL opts); options and operands may be mixed.
 * *ret_n operands are left at the start of argv + 1, in order. Values are borrowed from argv; lists
 * are the caller's to release. All errors are usage errors; an unknown option names its nearest
 * neighbour. */
int fsc_opt_parse(const struct fsc_opt_set *sets, int argc, char **argv, int *ret_n,
		  struct fsc_err *err);
/* Appends the table as help text. */
void fsc_opt_help(const struct fsc_opt *opts, struct fsc_buf *out);

#endif
