/* What the files of hooks share. */
#ifndef FSC_MONITOR_HOOKS_PRIV_H
#define FSC_MONITOR_HOOKS_PRIV_H

#include "monitor/finder.h"
#include "monitor/hooks.h"
#include "source/calls.h"
#include "source/live.h"

/* Functions that were found together. */
struct batch {
	struct fsc_targets targets;
	struct fsc_session *session;
	struct fsc_live *live;
	struct fsc_call_source *calls;
	uint32_t *func_of;   /* per row, the number of the function */
	uint32_t *id_of;     /* per row, of its entry */
	int32_t *entry_of;   /* per row, in the configuration; -1: muted */
	bool *off;	     /* per row: detached for its cost */
	uint64_t *cost_seen; /* per row: hits at the last fsc_hooks_cost() */
};

/* A process whose slots are to be freed. */
struct retired {
	pid_t pid;
	bool wanted;
	bool alive; /* it is not a target */
};

struct fsc_hooks {
	const struct fsc_snoop_config *config;
	struct fsc_processes *processes;
	struct fsc_finder *finder;
	struct fsc_vec batches; /* struct batch * */
	struct fsc_vec funcs;	/* struct fsc_func; strings owned */
	struct fsc_vec rules;	/* enum fsc_error_rule, of each function */
	struct fsc_map func_at;
	struct fsc_vec retired;	   /* struct retired */
	struct fsc_map retired_at; /* pid -> its index there */
	struct fsc_tally closed;   /* what closed sessions measured of running processes */
	struct fsc_summary past;   /* their books */
	struct fsc_costs costs;	   /* measured once, for all */
	struct fsc_namer *namer;
	uint64_t namer_ns;
	struct fsc_vec refusals; /* struct fsc_refusal */
	fsc_hooks_call_fn on_call;
	void *on_call_arg;
	bool trying; /* config, finder and batches above are those being tried */
	struct {
		const struct fsc_snoop_config *config;
		struct fsc_finder *finder;
		struct fsc_vec batches;
		bool anew;
		size_t stay;	/* sessions that will go on */
		size_t retired; /* processes noted before */
	} was;			/* what is in force meanwhile */
};

static inline struct batch *batch_at(const struct fsc_hooks *h, size_t i)
{
	return *FSC_AT(struct batch *, &h->batches, i);
}

static inline const struct fsc_snoop_func *entry_at(const struct fsc_hooks *h, size_t i)
{
	return FSC_AT(struct fsc_snoop_func, &h->config->funcs, i);
}

void fsc_hooks_free_batch(struct batch *b);
/* Closes a session, keeping its measurements, calls and books. */
int fsc_hooks_close(struct fsc_hooks *h, struct batch *b, struct fsc_err *err);
/* Adds what a session has measured. ends: the verdicts may be those of another configuration, and
 * those of its own have been applied already. */
int fsc_hooks_read_batch(struct fsc_hooks *h, const struct batch *b, bool ends,
			 struct fsc_tally *to, struct fsc_err *err);
/* Sends the calls that have come in. last: the open ones, too. */
int fsc_hooks_send_calls(const struct fsc_hooks *h, const struct batch *b, bool last,
			 struct fsc_err *err);
/* Sets the threshold, sampling and error rule of a row. */
int fsc_hooks_set_rule(struct fsc_hooks *h, struct batch *b, uint32_t row,
		       const struct fsc_snoop_func *e, struct fsc_err *err);
/* Names the errors of a row by the entry's rule from now on. */
void fsc_hooks_name_errors(struct fsc_hooks *h, const struct batch *b, uint32_t row,
			   const struct fsc_snoop_func *e);
/* Of the processes noted after the first n, keeps only those that have exited. */
void fsc_hooks_unjudge(struct fsc_hooks *h, size_t n);
/* Creates the namer of stacks when it is first needed. */
int fsc_hooks_namer(struct fsc_hooks *h, struct fsc_err *err);

#endif
