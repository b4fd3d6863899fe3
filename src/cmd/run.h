/* The run that commands share: probes to targets, session, loop, sinks. */
#ifndef FSC_CMD_RUN_H
#define FSC_CMD_RUN_H

#include <stdbool.h>

#include "base/opt.h"
#include "base/vec.h"
#include "cmd/output.h"
#include "cmd/probes.h"
#include "engine/session.h"
#include "sink/sink.h"
#include "source/live.h"

struct fsc_run_opts {
	struct fsc_vec tids; /* -t, const char * */
	struct fsc_output_opts out;
	const char *comm, *cgroup;
	const char *max_overhead;
	bool follow, no_follow, fast_uprobes;
	int via, returns;
	unsigned ready_fd; /* tests and benchmarks: written to when armed */
};

/* Beside fsc_output_opts, whose values go to `out`. */
extern const struct fsc_opt fsc_run_opts[];
#define FSC_RUN_OPTS_INIT                                                                          \
	{                                                                                          \
		.tids = FSC_VEC_INIT(const char *)                                                 \
	}
void fsc_run_opts_release(struct fsc_run_opts *o);

/* What a command does with a run: it reports, at each interval and at the end. */
struct fsc_run_facts {
	struct fsc_session *session;
	struct fsc_live *live;
	const struct fsc_targets *targets;
	const pid_t *pids; /* that are watched; none: all */
	size_t n_pids;
};

struct fsc_run_view {
	const char *command; /* "count" */
	const char *doing;   /* "counting" */
	enum fsc_data data;
	/* After loading, before attaching. Optional, as is tick: every few milliseconds, and when a
	 * ring fills up. */
	int (*start)(void *state, const struct fsc_run_facts *facts, struct fsc_err *err);
	int (*tick)(void *state, struct fsc_sink *sink, bool *stop, struct fsc_err *err);
	/* When the places are known, before loading: what the session needs besides. Optional. */
	int (*resolved)(void *state, const struct fsc_targets *targets,
			struct fsc_session_opts *opts, struct fsc_err *err);
	/* Adds to the books what only the view knows. Optional. */
	void (*books)(void *state, struct fsc_summary *sum);
	/* last: the run has ended. */
	int (*report)(void *state, struct fsc_live *live, struct fsc_sink *sink, bool last,
		      struct fsc_err *err);
};

struct fsc_run_plan {
	const struct fsc_run_view *view;
	void *state;			 /* the view's own */
	struct fsc_session_opts session; /* what is measured; whose calls is filled in by the run */
	struct fsc_sink sink;		 /* how it is shown; where to is filled in by the run */
	const struct fsc_probe_opts *probe;
	const struct fsc_run_opts *run;
	char *const *probes;
	int n_probes;
	char *const *command; /* NULL: none */
	bool apart;	      /* every place is a row of its own */
};

/* Whether the options go together; a usage error otherwise. */
int fsc_run_check(const struct fsc_run_plan *plan, struct fsc_err *err);
/* The percentage of --max-overhead, 0 where it is not given. */
int fsc_run_budget(const struct fsc_run_opts *o, double *ret, struct fsc_err *err);
/* Runs until the command ends, the time is up, the processes are gone or a signal says so. */
int fsc_run(const struct fsc_run_plan *plan, struct fsc_err *err);

#endif
