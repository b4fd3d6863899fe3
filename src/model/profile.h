/* What was measured, independent of source and output: functions, counts by key, and the books
 * (seen, kept, lost, refused, cost). Pure data, no I/O. */
#ifndef FSC_MODEL_PROFILE_H
#define FSC_MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "wire/config.h"

/* A function that was demoted to stay within a budget: from then on it was watched in windows. Its
 * figures are what was seen. */
struct fsc_sampled {
	bool demoted;	      /* false: it was not; its figures are exact */
	double since_s;	      /* after the start */
	unsigned windows;     /* after that */
	double armed_percent; /* of the target's CPU time, before and in windows */
	bool estimated;	      /* there is enough to go by for an interval: */
	double low, high;     /* calls in all, with 95 % confidence */
};

/* A probed function. Strings are borrowed from the source. */
struct fsc_func {
	const char *kind;
	const char *binary; /* file, kernel module or tracepoint category */
	const char *name;
	const char *symbol; /* mangled name; NULL: the same */
	const char *group;  /* of a monitor's configuration, "cuda"; NULL: none */
	struct fsc_sampled sampled;
	uint64_t records_lost; /* of its calls: its ring was full */
	bool looped;	       /* a loop begins at the probe: each round counts as a call */
	double hit_ns;	       /* what a hit costs, or a call where it is timed; 0: unknown */
};

/* One row of a count: a function, its keys, and the count. */
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

/* The part of the books for instrumented processes. */
struct fsc_scope_books {
	bool known;
	size_t processes;
	uint64_t threads;
	const char *clock; /* its name */
	double tick_ns, step_ns;
	double empty_ns; /* measured duration of an empty checkpoint */
	bool raw;	 /* empty_ns was not subtracted */
	char grade;	 /* of the clock, 'A' to 'D' */
	const char *why; /* why not A */
	bool ordered;	 /* all clock reads were serialised */
	uint64_t lost_threads, lost_names, backwards;
	uint64_t left_open;    /* checkpoints entered and not left when the process exited */
	const char *open_name; /* one of them */
	uint64_t torn;	       /* readings of checkpoints that kept changing */
	uint64_t lapped;       /* raw samples that were overwritten while they were read */
	uint64_t unseen;       /* checkpoints in memory that could not be read any more */
};

/* Processes that are not traced but hit the probes. */
struct fsc_bystanders {
	bool known; /* not all processes were traced */
	bool more;  /* more processes than could be distinguished */
	uint64_t hits;
	double ns; /* what they cost, of a monitor: up to the last second */
	size_t processes;
	size_t partly; /* traced processes with untraced threads that hit the probes */
};

/* The loss of calls that have not returned. During the run they still may. */
#define FSC_UNRETURNED "unreturned"
/* Of a monitor: calls of processes that may turn out to be targets. Not a loss yet. */
#define FSC_CALLS_PENDING "pending"

/* The books. seen = kept + the sum of lost. */
struct fsc_summary {
	uint64_t seen, kept;
	struct fsc_named lost[12]; /* ended by a NULL name */
	uint64_t missed;	   /* hits the kernel itself did not deliver */
	uint64_t unfollowed;	   /* children that could not be followed */
	bool timed;		   /* seen are entries, kept are calls that returned */
	uint64_t unmatched;	   /* returns without an entry: calls begun before the probes */
	size_t functions;	   /* that matched: attached or refused */
	size_t attached;	   /* functions with at least one probe attached */
	size_t places;		   /* probes attached */
	size_t shifted;		   /* of these, moved after a 5-byte nop */
	const struct fsc_refusal *refused;
	size_t n_refused;  /* functions without a probe; functions = attached + n_refused */
	size_t n_partly;   /* also in refused: functions attached at some places only */
	bool frames_known; /* stacks were taken: */
	uint64_t frames, unknown_frames; /* in stacks; and how many could not be named */
	uint64_t truncated;		 /* calls with truncated stacks */
	uint64_t returns_lost;		 /* dropped records of returns or slow calls */
	uint64_t unwatched;		 /* threads whose off-CPU time could not be tracked */
	uint64_t stacks_lost;		 /* of calls that are shown without a stack */
	uint64_t late;			 /* calls shown out of order */
	uint64_t filtered, sampled_out;	 /* left out by a predicate or --sample: not in seen */
	const struct fsc_func *funcs;	 /* all with a probe; some may be throttled */
	size_t n_funcs;
	struct fsc_bystanders bystanders;
	struct fsc_named via[12]; /* places per rung, ended by a NULL name */
	struct fsc_scope_books scopes;
	double duration_s;
	bool cost_known, share_known;
	double ns_per_hit;
	double percent; /* of the target's CPU time, or of the machine's if there is no target */
	bool share_of_machine;
};

/* If seen is not kept plus lost, adds one more loss, "unexplained": both sides are counted
 * independently, so a difference is a defect of ours. */
void fsc_summary_balance(struct fsc_summary *s);
uint64_t fsc_summary_lost(const struct fsc_summary *s, const char *name);

struct fsc_profile {
	const struct fsc_func *funcs;
	size_t n_funcs;
	uint32_t by;	       /* enum fsc_by: which keys the counts carry */
	struct fsc_vec counts; /* struct fsc_count */
	uint64_t time_ns;      /* wall clock at the snapshot */
};

/* A row's identity, as bytes to compare. */
struct fsc_key {
	uint32_t func, pid, tid, cpu;
	uint64_t cgroup;
	char comm[FSC_COMM_LEN];
};
struct fsc_key fsc_count_key(const struct fsc_count *c);
/* Maps the key of each row to its index. rows: of elements that begin with a struct fsc_count. */
int fsc_count_index(const struct fsc_vec *rows, struct fsc_map *ret, struct fsc_err *err);
static inline int fsc_compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}
/* Compares rows by function name, then by keys. */
int fsc_count_compare(const struct fsc_func *funcs, const struct fsc_count *a,
		      const struct fsc_count *b);

enum fsc_sort { FSC_SORT_COUNT, FSC_SORT_NAME };

void fsc_profile_release(struct fsc_profile *p);
/* Computes `later - earlier`. Rows that did not change are left out unless zeros. */
int fsc_profile_subtract(const struct fsc_profile *later, const struct fsc_profile *earlier,
			 bool zeros, struct fsc_profile *ret, struct fsc_err *err);
/* Sorts the counts (most first, or by function name, then by keys) and keeps the first top (0:
 * all). */
void fsc_profile_sort(struct fsc_profile *p, enum fsc_sort by, bool reverse, size_t top);
uint64_t fsc_profile_total(const struct fsc_profile *p);

#endif
