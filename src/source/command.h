/* Runs a shell command to its end, and measures the time it took. */
#ifndef FSC_SOURCE_COMMAND_H
#define FSC_SOURCE_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Environment variables: where the command may write its own recording, and where lib/funcscope
 * keeps its memory. */
#define FSC_COMMAND_RECORD    "FUNCSCOPE_RECORD"
#define FSC_COMMAND_DIRECTORY "FUNCSCOPE_DIRECTORY"

/* The signals that end us while a command runs, blocked between begin and end. */
struct fsc_command_guard {
	sigset_t set, old;
};
void fsc_command_guard_begin(struct fsc_command_guard *g);
void fsc_command_guard_end(struct fsc_command_guard *g);

struct fsc_command_opts {
	const char *text;   /* for /bin/sh -c */
	const char *record; /* value of FSC_COMMAND_RECORD */
	const char *memory; /* value of FSC_COMMAND_DIRECTORY */
	const char *errors; /* file for its stderr; NULL: all its output goes to our stderr */
};

struct fsc_command_end {
	int status;	  /* as of wait(2) */
	uint64_t wall_ns; /* from its start to its end */
	uint64_t cpu_ns;  /* with the descendants that it waited for */
};

/* Runs the command in its own process group, without input, and waits. What it leaves running in
 * its group is killed; a signal of the guard kills everything and gives the error EINTR. A nonzero
 * exit status is no error here. */
int fsc_command_run(const struct fsc_command_opts *o, const struct fsc_command_guard *g,
		    struct fsc_command_end *ret, struct fsc_err *err);

#endif
