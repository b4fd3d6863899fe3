/* What `run` does with the events of a script: prints, runs, stops. */
#ifndef FSC_CMD_RUN_EVENTS_H
#define FSC_CMD_RUN_EVENTS_H

#include <signal.h>
#include <stdio.h>

#include "cmd/run_pcap.h"
#include "engine/script.h"
#include "sink/script.h"
#include "source/script.h"

struct fsc_run_events {
	struct fsc_script *script;
	const struct fsc_plan *plan;
	struct fsc_readings *readings;
	const struct fsc_script_sink *sink;
	struct fsc_script_style style;
	FILE *out;	      /* of data; messages of the text format go to stderr */
	bool flush;	      /* after each event, not only after all that were pending */
	const sigset_t *mask; /* of the commands that a script runs */
	struct fsc_pcaps pcaps;
	uint64_t errors;  /* errorf() */
	bool interrupted; /* commands of pending events are not run any more: */
	uint64_t not_run;
	bool stop; /* exit() was called: */
	int exit_code;
};

/* What is said of a map that has no room for another key. */
extern const char fsc_run_map_full[];

/* Carries out pending events; all: also if new ones come faster, otherwise those of 50 ms. */
int fsc_run_events_drain(struct fsc_run_events *e, bool all, struct fsc_err *err);
/* Prints the script's maps, as at its end. */
int fsc_run_events_maps(struct fsc_run_events *e, struct fsc_err *err);
/* Writes what a sink has put into the buffer; releases it. */
int fsc_run_events_write(struct fsc_run_events *e, FILE *to, struct fsc_buf *b,
			 struct fsc_err *err);

#endif
