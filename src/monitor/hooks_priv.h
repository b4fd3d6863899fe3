/* What the files of hooks share. */
#ifndef FSC_MONITOR_HOOKS_PRIV_H
#define FSC_MONITOR_HOOKS_PRIV_H

#include "monitor/finder.h"
#include "monitor/hooks.h"
#include "run/writes.h"
#include "source/calls.h"
#include "source/live.h"

/* A function of a file. */
struct hook {
	uint32_t func; /* its number */
	uint32_t id;   /* of its entry */
	int32_t entry; /* in the configuration; -1: none any more, it is muted */
	bool off;      /* detached for its cost */
	/* At the last fsc_hooks_cost(). */
	uint64_t cost_hits, cost_bystanders;
	double cost_ns; /* since the one before */
};

/* A file with functions that are probed: a part of the session. */
struct hooked {
	struct fsc_targets targets;
	struct fsc_session *part;
	struct fsc_live *live;
	struct hook *hooks; /* one per row */
	uint64_t inode;	    /* its number */
	bool tried_armed;   /* found by a configuration that is tried, it counts already */
	uint64_t scan;	    /* the last one in which a process had it mapped */
	bool attaching;	    /* its probes are not all attached yet; a thread may be at it */
	bool closing;	    /* nobody has; its probes are being detached */
	bool rewritten;	    /* as is the file of one that was written to */
};

/* A process whose slots are to be freed. */
struct retired {
	pid_t pid;
	bool wanted;
	bool alive; /* it is not a target */
};

/* A verdict that is in force once the configuration being tried is. */
struct verdict {
	pid_t pid;
	bool wanted;
};

/* What is known of a function besides its names. */
struct func_state {
	enum fsc_error_rule errors;
	uint64_t closed; /* when its last file was closed, by h->closings */
	bool unused;	 /* the number may be given to another function */
};

struct fsc_hooks {
	const struct fsc_snoop_config *config;
	struct fsc_processes *processes;
	struct fsc_finder *finder;
	struct fsc_targets none;       /* the session's own */
	struct fsc_session *session;   /* one for all; NULL: nothing was found so far */
	struct fsc_live *live;	       /* of it */
	struct fsc_call_source *calls; /* of it */
	struct hooked **hooked_at;     /* per row of the session; NULL: free */
	struct fsc_vec files;	       /* struct hooked * */
	struct fsc_vec funcs;	       /* struct fsc_func; strings owned */
	struct fsc_vec states;	       /* struct func_state, of each function */
	struct fsc_map func_at;
	struct fsc_vec unused;	   /* uint32_t: numbers for other functions */
	size_t general;		   /* functions that stand for those of several files */
	uint64_t closings;	   /* of files */
	uint64_t folded_at;	   /* closings at the last fsc_hooks_to_fold() */
	struct fsc_map verdicts;   /* pid -> whether it is wanted */
	struct fsc_vec retired;	   /* struct retired */
	struct fsc_map retired_at; /* pid -> its index there */
	struct fsc_tally closed;   /* what closed files measured of running processes */
	struct fsc_summary past;   /* their books */
	bool urgent;		   /* a process that is not a target has calls to be dropped */
	uint64_t not_target;	   /* calls of processes that turned out not to be targets */
	uint64_t pending;	   /* calls without a verdict at the last reading */
	double bystanders_ns;	   /* what the hits of other processes have cost them */
	uint64_t scans;
	struct fsc_costs costs; /* measured once, for all */
	struct fsc_namer *namer;
	uint64_t namer_ns;
	struct fsc_vec refusals; /* struct fsc_refusal */
	fsc_hooks_call_fn on_call;
	void *on_call_arg;
	struct fsc_meanwhile meanwhile;
	struct fsc_writes writes; /* to the files; tag: struct hooked */
	bool look_again;	  /* a file that was written to is closed */
	bool begun;		  /* what was there at the start is hooked */
	bool trying;		  /* config and finder above are those being tried */
	struct {
		const struct fsc_snoop_config *config;
		struct fsc_finder *finder;
		size_t files;	  /* those in force; the rest are new */
		bool anew;	  /* none of them stays */
	} was;			  /* what is in force meanwhile */
	struct fsc_vec undecided; /* struct verdict */
};

static inline struct hooked *hooked_at(const struct fsc_hooks *h, size_t i)
{
	return *FSC_AT(struct hooked *, &h->files, i);
}

static inline struct func_state *state_at(const struct fsc_hooks *h, uint32_t func)
{
	return FSC_AT(struct func_state, &h->states, func);
}

static inline const struct fsc_snoop_func *entry_at(const struct fsc_hooks *h, size_t i)
{
	return FSC_AT(struct fsc_snoop_func, &h->config->funcs, i);
}

/* The number of a function with these names, which are copied; a new one if it has none. */
int fsc_hooks_number_of(struct fsc_hooks *h, const struct fsc_func *names, uint32_t *ret,
			struct fsc_err *err);
/* Frees the names of a function; its number may be used for another one. */
void fsc_hooks_free_number(struct fsc_hooks *h, uint32_t func);
/* By which a function is known. */
void fsc_hooks_func_key(const struct fsc_func *f, struct fsc_buf *ret);
/* A file is closed: notes when, for its functions. */
void fsc_hooks_note_closed(struct fsc_hooks *h, const struct hooked *f);
/* The number of a row's function. A binary is identified by its path, in any container. */
int fsc_hooks_number(struct fsc_hooks *h, const struct fsc_snoop_func *e,
		     const struct fsc_target_row *row, uint32_t *ret, struct fsc_err *err);
/* Detaches a file; its measurements, if they are to be kept, have been read. */
void fsc_hooks_free_file(struct fsc_hooks *h, struct hooked *f);
/* Starts to detach those of the files [first, first + n) that `ends` accepts, and waits for them.
 */
void fsc_hooks_detach_files(struct fsc_hooks *h, size_t first, size_t n,
			    bool (*ends)(const struct fsc_hooks *h, const struct hooked *f));
/* Detaches a file, keeping its measurements, calls and books. */
int fsc_hooks_close_file(struct fsc_hooks *h, struct hooked *f, struct fsc_err *err);
/* The entries of its functions are searched for again when a process maps it. */
void fsc_hooks_forget_searches(struct fsc_finder *finder, const struct hooked *f);
/* Reads the measurements of a file that was detached into h->closed, and frees its slots. */
int fsc_hooks_read_closed(struct fsc_hooks *h, struct hooked *f, struct fsc_err *err);
/* Whether no function of a file is in the configuration being tried. */
bool fsc_hooks_will_end(const struct fsc_hooks *h, const struct hooked *f);
/* Tells the kernel whose calls count, by the configuration. */
int fsc_hooks_judge(struct fsc_hooks *h, struct fsc_err *err);
/* Puts a verdict in force. */
int fsc_hooks_apply_verdict(struct fsc_hooks *h, pid_t pid, bool wanted, struct fsc_err *err);
/* Sends the calls that have come in. last: the open ones, too. */
int fsc_hooks_send_calls(struct fsc_hooks *h, bool last, struct fsc_err *err);
/* Sets the threshold, sampling and error rule of a row. */
int fsc_hooks_set_rule(struct fsc_hooks *h, struct hooked *f, uint32_t row,
		       const struct fsc_snoop_func *e, struct fsc_err *err);
/* Names the errors of a row by the entry's rule from now on. */
void fsc_hooks_name_errors(struct fsc_hooks *h, const struct hooked *f, uint32_t row,
			   const struct fsc_snoop_func *e);
/* Creates the namer of stacks when it is first needed. */
int fsc_hooks_namer(struct fsc_hooks *h, struct fsc_err *err);

#endif
