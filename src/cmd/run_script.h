/* One run of a script: compiled, loaded, attached, its events carried out until something ends it.
 */
#ifndef FSC_CMD_RUN_SCRIPT_H
#define FSC_CMD_RUN_SCRIPT_H

#include <regex.h>

#include "cmd/run_events.h"
#include "run/output.h"

struct fsc_run_script {
	const char *text;
	size_t n_text;
	const char *name; /* of the text, for messages */
	/* $1 and on; "name=value"; "max_strlen=200" of the environment. const char * */
	struct fsc_vec params, named, config;
	struct fsc_vec pids; /* pid_t: -p */
	char **command;	     /* of -c; NULL: none */
	struct fsc_output_opts out;
	const struct fsc_script_sink *sink;
	struct fsc_script_style style;
	const regex_t *filter; /* only probes with such names; NULL: all */
	bool flush;	       /* write each event at once */
	bool quiet, is_unsafe, helper_errors, no_warnings, tests, benches;
};

/* Runs it. Returns the exit status that the script asked for, or -errno. */
int fsc_run_script(const struct fsc_run_script *s, struct fsc_err *err);
/* Compiles it, and prints its probes or what it became, or loads it. Attaches nothing. */
enum fsc_run_check {
	FSC_RUN_LIST,
	FSC_RUN_DUMP,
	FSC_RUN_DUMP_TREE,
	FSC_RUN_DUMP_CODE,
	FSC_RUN_LOAD,
};
int fsc_run_script_check(const struct fsc_run_script *s, enum fsc_run_check how,
			 struct fsc_err *err);

#endif
