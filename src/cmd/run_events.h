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
	bool stop; /* exit() was called: */
	int exit_code;
};

/* Carries out all pending events. */
int fsc_run_events_drain(struct fsc_run_events *e, struct fsc_err *err);
/* Prints the script's maps, as at its end. */
int fsc_run_events_maps(struct fsc_run_events *e, struct fsc_err *err);
/* Writes what a sink has put into the buffer; releases it. */
int fsc_run_events_write(struct fsc_run_events *e, FILE *to, struct fsc_buf *b,
			 struct fsc_err *err);

#endif
