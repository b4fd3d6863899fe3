/* One attachment to the kernel, from load to the last counter: programs, maps and links. Everything
 * it holds is a file descriptor, so that whatever kills us, the kernel takes the probes off. */
#ifndef FSC_ENGINE_SESSION_H
#define FSC_ENGINE_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"
#include "probe/target.h"
#include "wire/config.h"
#include "wire/stack.h"
#include "wire/time.h"
#include "wire/trace.h"

/* Which rung of the ladder to stand on. */
enum fsc_via { FSC_VIA_BEST, FSC_VIA_MULTI, FSC_VIA_FENTRY, FSC_VIA_SINGLE };

struct fsc_session_opts {
	enum fsc_mode mode;
	enum fsc_keep keep; /* the best that may be used */
	bool self, off_cpu, raw;
	uint64_t slow_ns; /* 0: not asked for */
	uint32_t stacks;  /* enum fsc_stacks_of */
	uint32_t max_stacks;
	bool weigh;	  /* stacks by the time spent */
	bool copy_stacks; /* the user stack itself is sent with each hit */
	bool pairs;	  /* trace: entry and return together */
	uint32_t sample;  /* trace: one call in so many */
	uint32_t n_strings, string_size;
	const struct fsc_trace_prog *programs; /* trace: one per row */
	const uint32_t *ring_of;	       /* per row; NULL: all in the first */
	uint32_t n_rings;		       /* 0: no records */
	uint32_t by;			       /* enum fsc_by */
	const pid_t *pids;		       /* only these processes; none: all */
	size_t n_pids;
	bool follow;	    /* and the children they fork */
	bool follow_if_may; /* without the right to, a warning will do */
	const pid_t *tids;  /* of the processes in pids, only these threads */
	size_t n_tids;
	const char *comm;   /* NULL: any */
	uint64_t cgroup_id; /* 0: any; with everything below it */
	uint32_t cgroup_level;
	uint32_t max_keys;
	enum fsc_via via;
	/* A monitor: every row has a rule, which may change, and slots of keys are given back.
	 * judged: the calls of a process count until fsc_session_judge() says otherwise. */
	bool rules, judged;
	bool per_row;	   /* every row has links of its own, to be taken off singly */
	bool fast_uprobes; /* probe 5-byte nops even where forked children die of it */
};

struct fsc_session;

/* A place the kernel would not take, and why. */
struct fsc_refused {
	size_t target;
	int code;
};

/* How a class of places was reached. */
enum fsc_rung {
	FSC_RUNG_UPROBE_SESSION,
	FSC_RUNG_UPROBE_MULTI,
	FSC_RUNG_UPROBE,
	FSC_RUNG_KPROBE_SESSION,
	FSC_RUNG_KPROBE_MULTI,
	FSC_RUNG_FENTRY,
	FSC_RUNG_KPROBE,
	FSC_RUNG_RAW_TRACEPOINT,
	FSC_RUNG_TRACEPOINT,
	FSC_RUNG_MAX,
};
extern const char *const fsc_rung_names[FSC_RUNG_MAX];

/* Whether we may load programs at all: for who will have something to attach to only later. */
int fsc_session_possible(struct fsc_err *err);
/* Loads programs for the targets, attaches nothing. targets must outlive the session. Caller frees.
 */
int fsc_session_open(struct fsc_targets *targets, const struct fsc_session_opts *opts,
		     struct fsc_session **ret, struct fsc_err *err);
/* Attaches everything. Places refused by the kernel are listed, not fatal, unless all are. */
int fsc_session_attach(struct fsc_session *s, struct fsc_err *err);
/* Takes the probes of one row off and puts them on again; with per_row only. What the kernel does
 * not take again stays off and is listed as refused. Each waits for the kernel, some ten
 * milliseconds. */
void fsc_session_pause(struct fsc_session *s, uint32_t row);
int fsc_session_resume(struct fsc_session *s, uint32_t row, struct fsc_err *err);
/* Takes every probe off; counters stay readable. Harmless when done twice. */
void fsc_session_detach(struct fsc_session *s);
void fsc_session_free(struct fsc_session *s);
void fsc_session_freep(struct fsc_session **s);

enum fsc_mode fsc_session_mode(const struct fsc_session *s);
/* Whether rows have rules. */
bool fsc_session_monitors(const struct fsc_session *s);
/* Whether entry and return are probed together. */
bool fsc_session_pairs(const struct fsc_session *s);
/* Hits by those that are not watched: how many processes these were, as far as they are told apart
 * (FSC_MOST_BYSTANDERS), and of how many processes that are, other threads. */
enum { FSC_MOST_BYSTANDERS = 1024 };
struct fsc_bystander_hits {
	uint64_t hits;
	size_t processes, partly;
};
/* false where everybody is watched. */
bool fsc_session_bystanders(const struct fsc_session *s, struct fsc_bystander_hits *ret);
/* Whether stacks travel by rings, and are not counted in the kernel. */
bool fsc_session_copies_stacks(const struct fsc_session *s);
/* Hits of a row so far. */
uint64_t fsc_session_seen(const struct fsc_session *s, uint32_t row);
/* Calls that were remembered until their return, and have not returned. */
uint64_t fsc_session_open_calls(const struct fsc_session *s);
/* Calls whose record, or of two the first, was read from the rings. */
uint64_t fsc_session_records(const struct fsc_session *s);
/* The probes are off: numbers do not change any more. */
bool fsc_session_detached(const struct fsc_session *s);
/* Calls fn for each key kept, with its count so far. */
int fsc_session_keys(const struct fsc_session *s,
		     int (*fn)(const struct fsc_count_key *key, uint64_t count, void *arg),
		     void *arg, struct fsc_err *err);
/* What was measured in a slot so far, all CPUs together. By function alone, that of a row is
 * row + 1. */
void fsc_session_slot(const struct fsc_session *s, uint32_t slot, struct fsc_slot *ret);
/* Calls fn for each key measured, with its slot. */
int fsc_session_slots(const struct fsc_session *s,
		      int (*fn)(const struct fsc_count_key *key, uint32_t slot, void *arg),
		      void *arg, struct fsc_err *err);
/* What the probes of a row cost; from now on its hits are looked at. */
int fsc_session_set_cost(struct fsc_session *s, uint32_t row, double inner_ns, double outer_ns,
			 struct fsc_err *err);

/* ---- of a monitor ---- */

int fsc_session_set_rule(struct fsc_session *s, uint32_t row, const struct fsc_rule *rule,
			 struct fsc_err *err);
/* Whether the calls of a process count from now on. */
int fsc_session_judge(struct fsc_session *s, pid_t pid, bool wanted, struct fsc_err *err);
/* Calls fn for each error code met, with how often so far, without those that were forgotten. */
int fsc_session_errors(const struct fsc_session *s,
		       int (*fn)(const struct fsc_error_key *key, uint64_t n, void *arg), void *arg,
		       struct fsc_err *err);
/* What is to be forgotten of a process. */
enum fsc_forget {
	FSC_FORGET_NOTHING,
	FSC_FORGET_NUMBERS, /* what it has measured */
	FSC_FORGET_ALL,	    /* the verdict on it, too: it is gone */
};
/* Forgetting has three steps, since a program that has found its slot may be preempted before it
 * adds to it, for however long. First the keys go: whoever calls from now on gets other slots.
 * *ret_alive is set, and else left as it is, where one of the processes still runs. */
int fsc_session_retire(struct fsc_session *s, enum fsc_forget (*what)(pid_t pid, void *arg),
		       void *arg, bool *ret_alive, struct fsc_err *err);
/* Then, if one still runs, waits until no program of any session is at work that was when this was
 * called: some ten milliseconds. */
int fsc_session_settle(const struct fsc_session *s, struct fsc_err *err);
/* Then calls fn for what each slot holds in the end, and makes it free for another key. */
int fsc_session_reclaim(struct fsc_session *s,
			int (*fn)(const struct fsc_count_key *key, const struct fsc_slot *slot,
				  void *arg),
			void *arg, struct fsc_err *err);
/* Forgets errors, which the caller has read, and, of who is gone, verdicts. */
int fsc_session_forget(struct fsc_session *s, enum fsc_forget (*what)(pid_t pid, void *arg),
		       void *arg, struct fsc_err *err);
/* Entries of a row do not count from now on, or do again. */
int fsc_session_mute(struct fsc_session *s, uint32_t row, bool mute, struct fsc_err *err);
/* The stack with this id has been read and may make room. */
void fsc_session_drop_stack(struct fsc_session *s, int32_t id);

/* ---- stacks ---- */

/* Calls fn for each stack counted so far. */
int fsc_session_stacks(const struct fsc_session *s,
		       int (*fn)(const struct fsc_stack_key *key, const struct fsc_stack_sums *sums,
				 void *arg),
		       void *arg, struct fsc_err *err);
/* The addresses of a stack by its id, innermost first; how many. */
size_t fsc_session_stack(const struct fsc_session *s, int32_t id, uint64_t *addrs, size_t max);
/* Calls fn for each process that has hit a probe and was not told before. */
int fsc_session_new_pids(struct fsc_session *s, int (*fn)(pid_t pid, void *arg), void *arg,
			 struct fsc_err *err);

/* ---- records ---- */

/* Readable when a ring fills up; -1 where there are none. */
int fsc_session_events_fd(const struct fsc_session *s);
/* Calls fn for each record that is there. fn returns 0 or -errno, which ends it. */
int fsc_session_drain(struct fsc_session *s, int (*fn)(const void *record, size_t size, void *arg),
		      void *arg, struct fsc_err *err);
/* Records of a row that found no room. */
uint64_t fsc_session_row_lost(const struct fsc_session *s, uint32_t row);

uint64_t fsc_session_loss(const struct fsc_session *s, enum fsc_loss which);
/* Hits the kernel knows it did not run us for. Counted to the last detach. */
uint64_t fsc_session_missed(const struct fsc_session *s);
const struct fsc_vec *fsc_session_refused(const struct fsc_session *s); /* struct fsc_refused */
/* How many places stand on a rung. */
size_t fsc_session_on_rung(const struct fsc_session *s, enum fsc_rung rung);
/* How many places were moved behind a 5-byte nop. */
size_t fsc_session_shifted(const struct fsc_session *s);

#endif
