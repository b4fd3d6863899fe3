/* What was measured, free of where it came from and of how it will be written: functions, counts by
 * key, and the books (seen, kept, lost, refused, cost). Pure data, no I/O. */
#ifndef FSC_MODEL_PROFILE_H
#define FSC_MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "wire/config.h"

/* A function that was watched in windows only, to keep within a budget. How often it was called in
 * all is scaled from them by the CPU time that the probes left to the target. */
struct fsc_sampled {
	unsigned windows;     /* 0: it was watched all the time */
	double armed_percent; /* of the target's CPU time */
	double calls;
	bool at_least; /* the probes took so much of the windows that calls is a lower bound */
};

/* A function that was asked for. Strings are borrowed from whoever fills the profile. */
struct fsc_func {
	const char *kind;
	const char *binary; /* file, kernel module or tracepoint category */
	const char *name;
	const char *symbol; /* mangled name, NULL where it is the same */
	const char *group;  /* of a monitor's configuration, "cuda"; NULL: none */
	struct fsc_sampled sampled;
	uint64_t records_lost; /* of its calls: its ring was full */
};

/* One line of a count: a function, the keys asked for, and how often. */
struct fsc_count {
	uint32_t func;
	uint32_t pid, tid, cpu;
	uint64_t cgroup;
	char comm[FSC_COMM_LEN + 1];
	const char *cgroup_path; /* owned by the source, NULL if unknown */
	uint64_t count;
};

struct fsc_named {
	const char *name;
	uint64_t n;
};

struct fsc_refusal {
	const char *function, *why;
};

/* What there is to say of instrumented processes, besides. */
struct fsc_scope_books {
	bool known;
	size_t processes;
	uint64_t threads;
	const char *clock; /* its name */
	double tick_ns, step_ns;
	double empty_ns; /* what a checkpoint with nothing inside reads */
	bool raw;	 /* which was left in */
	char grade;	 /* of the clock, 'A' to 'D' */
	const char *why; /* not A */
	bool ordered;	 /* so were the clock reads, all of them */
	uint64_t lost_threads, lost_names, backwards;
	uint64_t left_open; /* checkpoints that were entered and not left when the process ended */
	const char *open_name; /* one of them */
	uint64_t torn;	       /* readings of checkpoints that were written to all the time */
	uint64_t lapped;       /* raw samples that were overwritten while they were read */
	uint64_t unseen;       /* checkpoints in memory that could not be had any more */
};

/* Those who were not watched and hit the probes all the same. */
struct fsc_bystanders {
	bool known; /* not everybody was watched */
	bool more;  /* processes than were told apart */
	uint64_t hits;
	size_t processes;
	size_t partly; /* and processes of which some threads were watched, and others hit them */
};

/* Among the losses: calls that have not returned. While a run goes on they may still. */
#define FSC_UNRETURNED "unreturned"

/* The books. seen = kept + the sum of lost. */
struct fsc_summary {
	uint64_t seen, kept;
	struct fsc_named lost[12]; /* ended by a NULL name */
	uint64_t missed;	   /* hits the kernel itself did not deliver */
	uint64_t unfollowed;	   /* children that could not be followed */
	bool timed;		   /* seen are entries, kept are calls that returned */
	uint64_t unmatched;	   /* returns without an entry: calls begun before the probes */
	size_t functions;	   /* that matched: attached or refused */
	size_t attached;	   /* functions with at least one probe that took */
	size_t places;		   /* probes that took */
	size_t shifted;		   /* of these, moved behind a 5-byte nop */
	const struct fsc_refusal *refused;
	size_t n_refused;  /* functions without a probe; functions = attached + n_refused */
	size_t n_partly;   /* behind these: attached ones that stand on some of their places only */
	bool frames_known; /* stacks were taken: */
	uint64_t frames, unknown_frames; /* on them, and of these nobody could name */
	uint64_t truncated;		 /* calls whose stack went on where it could not be had */
	uint64_t returns_lost;		 /* records of returns, or of slow calls, without room */
	uint64_t unwatched;		 /* threads whose rests could not be noted: --off-cpu */
	uint64_t stacks_lost;		 /* of calls that are shown without */
	uint64_t late;			 /* calls shown out of order */
	uint64_t filtered, sampled_out;	 /* calls that a predicate or --sample left out: not seen */
	const struct fsc_func *funcs;	 /* all that have a probe; some may be sampled */
	size_t n_funcs;
	struct fsc_bystanders bystanders;
	struct fsc_named via[12]; /* places per rung, ended by a NULL name */
	struct fsc_scope_books scopes;
	double duration_s;
	bool cost_known, share_known;
	double ns_per_hit;
	double percent; /* of the target's CPU time, or of the machine's where there is no target */
	bool share_of_machine;
};

/* Where seen is not kept and lost together, says so by one more loss, "unexplained": each side is
 * counted by itself, and a difference is a defect of ours. */
void fsc_summary_balance(struct fsc_summary *s);
uint64_t fsc_summary_unreturned(const struct fsc_summary *s);

struct fsc_profile {
	const struct fsc_func *funcs;
	size_t n_funcs;
	uint32_t by;	       /* enum fsc_by: which keys the counts carry */
	struct fsc_vec counts; /* struct fsc_count */
	uint64_t time_ns;      /* wall clock at the snapshot */
};

/* A line's identity, as bytes to compare. */
struct fsc_key {
	uint32_t func, pid, tid, cpu;
	uint64_t cgroup;
	char comm[FSC_COMM_LEN];
};
struct fsc_key fsc_count_key(const struct fsc_count *c);
/* Orders lines by function name, then by keys. */
int fsc_count_compare(const struct fsc_func *funcs, const struct fsc_count *a,
		      const struct fsc_count *b);

enum fsc_sort { FSC_SORT_COUNT, FSC_SORT_NAME };

void fsc_profile_release(struct fsc_profile *p);
/* Makes `later - earlier`: what happened in between. Rows that did not change are left out unless
 * zeros. */
int fsc_profile_subtract(const struct fsc_profile *later, const struct fsc_profile *earlier,
			 bool zeros, struct fsc_profile *ret, struct fsc_err *err);
/* Orders the counts (most first, or by function name, then by keys) and keeps the first top (0:
 * all). */
void fsc_profile_sort(struct fsc_profile *p, enum fsc_sort by, bool reverse, size_t top);
uint64_t fsc_profile_total(const struct fsc_profile *p);

#endif
