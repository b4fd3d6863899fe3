/* One run, shared by every command that measures until something ends it. The run blocks the
 * signals, starts the command and holds it, opens the output, owns the loop and the timers; a
 * command fills in struct fsc_run_ops, whose members are called in order. */
#ifndef FSC_RUN_RUN_H
#define FSC_RUN_RUN_H

#include <signal.h>

#include "base/loop.h"
#include "model/profile.h"
#include "run/child.h"
#include "run/output.h"
#include "run/processes.h"
#include "sink/sink.h"

struct fsc_run;

struct fsc_run_ops {
	/* Finds targets and loads programs; the command, if any, is held before its first
	 * instruction. Descriptors and timers of the command's own go to r->loop. */
	int (*open)(struct fsc_run *r, struct fsc_err *err);
	/* Attaches the probes; the output is open. Optional. */
	int (*attach)(struct fsc_run *r, struct fsc_err *err);
	/* Counting has started: tells the user. Optional. */
	void (*ready)(struct fsc_run *r);
	/* Work that would delay the start. Optional. */
	void (*started)(struct fsc_run *r);
	/* Every tick_s seconds of the options. Optional. */
	int (*tick)(struct fsc_run *r, struct fsc_err *err);
	/* At each interval, and once when the probes are detached: last. */
	int (*report)(struct fsc_run *r, bool last, struct fsc_err *err);
	/* Detaches the probes and reads what is pending. Optional. */
	int (*detach)(struct fsc_run *r, struct fsc_err *err);
	/* Optional, for a command that shows books of its own. */
	int (*books)(struct fsc_run *r, struct fsc_summary *ret, struct fsc_err *err);
	/* Everything is written: sends and logs what is left. Optional. */
	void (*close)(struct fsc_run *r);
	/* SIGHUP; without it that ends the run like SIGINT and SIGTERM. */
	int (*reload)(struct fsc_run *r, struct fsc_err *err);
};

struct fsc_run_opts {
	const struct fsc_run_ops *ops;
	void *state; /* the command's own */
	const struct fsc_output_opts *out;
	enum fsc_data data;
	struct fsc_sink sink; /* how it is shown; where to is filled in by the run */
	char *const *command; /* NULL: none */
	double tick_s;
	bool once;	/* report once, without waiting */
	bool exit_code; /* a run without an error returns the command's status, as a shell does */
};

struct fsc_run {
	const struct fsc_run_opts *opts;
	void *state;
	struct fsc_loop loop;
	struct fsc_child child;
	struct fsc_sink sink;
	uint64_t start_ns;  /* 0: not yet */
	uint64_t end_ns;    /* 0: still running */
	bool interrupted;   /* a signal ended it */
	struct fsc_err why; /* it has ended early, and fails once it has reported */
	sigset_t signals, old_mask;
};

/* Runs until the command exits, the time is up, a signal arrives, or the loop is stopped. The state
 * is the caller's to release afterwards. */
int fsc_run(const struct fsc_run_opts *opts, struct fsc_err *err);

/* Seconds since the start, until the end if the run is over. */
double fsc_run_seconds(const struct fsc_run *r);
/* CPU time, in ns, that the targets have used: of the command with its children once it has exited,
 * or of the machine, since it had used machine_start, if all processes are targets. */
uint64_t fsc_run_cpu(const struct fsc_run *r, struct fsc_processes *targets, uint64_t machine_start,
		     bool *ret_of_machine);
/* Changes the report interval; 0: only at the end. */
int fsc_run_interval(struct fsc_run *r, double seconds, struct fsc_err *err);
/* Ends the run as if its time were up; then it fails with this error, also if it is ending. */
void fsc_run_fail(struct fsc_run *r, const struct fsc_err *why);
/* The same because a probed file was written to. */
void fsc_run_rewritten(struct fsc_run *r, const char *file);
/* The n processes of the run have all exited: logs it and ends the run. */
void fsc_run_all_exited(struct fsc_run *r, size_t n);

#endif
