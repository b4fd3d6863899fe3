/* What count, time, stack and trace share: probes become targets, a session and a run. */
#ifndef FSC_CMD_MEASURE_H
#define FSC_CMD_MEASURE_H

#include <stdbool.h>

#include "base/opt.h"
#include "base/vec.h"
#include "run/output.h"
#include "cmd/probes.h"
#include "engine/session.h"
#include "sink/sink.h"
#include "source/live.h"

struct fsc_measure_opts {
	struct fsc_vec tids; /* -t, const char * */
	struct fsc_output_opts out;
	const char *comm, *cgroup;
	const char *max_overhead;
	bool follow, no_follow, fast_uprobes, exit_code, cost;
	int via, returns;
};

/* Beside the output's options, whose values go to `out`. */
extern const struct fsc_opt fsc_measure_opts[];
/* The tables every measuring command begins with. */
#define FSC_MEASURE_TABLES(formats) fsc_probe_opts, fsc_measure_opts, FSC_OUTPUT_TABLES(formats)

/* What a view needs to know of the session it reports on. */
struct fsc_measure_facts {
	struct fsc_session *session;
	struct fsc_live *live;
	const struct fsc_targets *targets;
	const pid_t *pids; /* the targets; none: all */
	size_t n_pids;
};

struct fsc_measure_view {
	const char *command; /* "count" */
	const char *doing;   /* "counting" */
	enum fsc_data data;
	/* After loading, before attaching. Optional, as is tick: every few milliseconds, and when a
	 * ring fills up. */
	int (*start)(void *state, const struct fsc_measure_facts *facts, struct fsc_err *err);
	int (*tick)(void *state, struct fsc_sink *sink, bool *stop, struct fsc_err *err);
	/* When the places are known, before loading: adds to the session's options. Optional. */
	int (*resolved)(void *state, const struct fsc_targets *targets,
			struct fsc_session_opts *opts, struct fsc_err *err);
	/* Adds to the books what only the view knows. Optional. */
	void (*books)(void *state, struct fsc_summary *sum);
	/* last: the run has ended. */
	int (*report)(void *state, struct fsc_live *live, struct fsc_sink *sink, bool last,
		      struct fsc_err *err);
};

struct fsc_measure_plan {
	const struct fsc_measure_view *view;
	void *state;			 /* the view's own */
	struct fsc_session_opts session; /* what is measured; targets are filled in by the run */
	struct fsc_sink sink;		 /* how it is shown; where to is filled in by the run */
	struct fsc_probe_opts probe;
	struct fsc_measure_opts run;
	char *const *probes;
	int n_probes;
	char *const *command; /* NULL: none */
	bool apart;	      /* every place is a row of its own */
};

#define FSC_MEASURE_PLAN(of_view, of_state, of_command)                                            \
	{                                                                                          \
		.view = (of_view), .state = (of_state), .probe = FSC_PROBE_OPTS_INIT,              \
		.run = {.tids = FSC_VEC_INIT(const char *)}, .command = (of_command)               \
	}

/* Parses the shared options into the plan, and the command's own sets (ended by NULL opts). The
 * plan is the caller's to release, also after a failure. */
int fsc_measure_parse(struct fsc_measure_plan *plan, const struct fsc_opt_set *own, int argc,
		      char **argv, struct fsc_err *err);
void fsc_measure_plan_release(struct fsc_measure_plan *plan);
/* Whether the options go together; a usage error otherwise. */
int fsc_measure_check(const struct fsc_measure_plan *plan, struct fsc_err *err);
/* The percentage of --max-overhead, 0 where it is not given. */
int fsc_measure_budget(const struct fsc_measure_opts *o, double *ret, struct fsc_err *err);
/* Runs until the command ends, the time is up, the processes have exited or a signal arrives. */
int fsc_measure(const struct fsc_measure_plan *plan, struct fsc_err *err);

#endif
