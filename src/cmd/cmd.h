/* A command: one row of the table in table.c, one file each. */
#ifndef FSC_CMD_CMD_H
#define FSC_CMD_CMD_H

#include "base/err.h"
#include "base/opt.h"

/* Exit status of a comparison that found what --fail-if-slower asks for. */
enum { FSC_EXIT_REGRESSION = 3 };

struct fsc_cmd {
	const char *name;
	const char *summary;  /* one line, for help */
	const char *operands; /* "PROBE... [-- COMMAND ARGS...]" */
	const char *example;
	const struct fsc_opt *const *opts; /* option tables, NULL-ended; for help and completion */
	/* argv[0] is the command's name; command (NULL for none) is what followed "--". Negative:
	 * failed, err says why; positive: done, and the program's exit status. */
	int (*run)(int argc, char **argv, char **command, struct fsc_err *err);
};

/* All commands, NULL-ended. */
extern const struct fsc_cmd *const fsc_cmds[];

const struct fsc_cmd *fsc_cmd_find(const char *name);
/* Prints a command's usage and options to stdout. */
int fsc_cmd_help(const struct fsc_cmd *cmd, struct fsc_err *err);
/* Prints what funcscope is and its commands to stdout. */
int fsc_cmd_overview(struct fsc_err *err);
int fsc_cmd_version(struct fsc_err *err);

#endif
