/* Programs, maps and links of one run, from load to the last counter. Everything it holds is a file
 * descriptor, so that the kernel removes the probes however we die. */
#ifndef FSC_ENGINE_SESSION_H
#define FSC_ENGINE_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/aside.h"
#include "base/err.h"
#include "base/vec.h"
#include "probe/target.h"
#include "wire/config.h"
#include "wire/stack.h"
#include "wire/time.h"
#include "wire/trace.h"

/* Which rung of the ladder to use. */
enum fsc_via { FSC_VIA_BEST, FSC_VIA_MULTI, FSC_VIA_FENTRY, FSC_VIA_SINGLE };

struct fsc_session_opts {
	enum fsc_mode mode;
	enum fsc_keep keep; /* the best one allowed */
	bool self, off_cpu, raw;
	uint64_t slow_ns; /* 0: off */
	uint32_t stacks;  /* enum fsc_stacks_of */
	uint32_t max_stacks;
	bool weigh;	  /* weigh stacks by time spent */
	bool copy_stacks; /* user stacks are unwound by debug information */
	bool pairs;	  /* trace: one line for entry and return */
	uint32_t sample;  /* trace: one call in N */
	uint32_t n_strings, string_size;
	const struct fsc_trace_prog *programs; /* trace: one per row */
	const uint32_t *ring_of;	       /* per row; NULL: all in the first */
	uint32_t n_rings;		       /* 0: no records */
	uint32_t by;			       /* enum fsc_by */
	const pid_t *pids;		       /* only these processes; none: all */
	size_t n_pids;
	bool follow;	    /* and the children they fork */
	bool follow_if_may; /* without the right to, only warn */
	const pid_t *tids;  /* only these threads of the processes in pids */
	size_t n_tids;
	const char *comm;   /* NULL: any */
	uint64_t cgroup_id; /* 0: any; includes its descendants */
	uint32_t cgroup_level;
	uint32_t max_keys;
	enum fsc_via via;
	/* A monitor: every row has a rule, which may change, slots of keys are reclaimed, and which
	 * processes count is up to fsc_session_judge(). Its functions are in parts. */
	bool rules;
	uint32_t max_rows; /* of all parts at a time */
	bool per_row;	   /* rows can be detached, see fsc_session_select() */
	bool fast_uprobes; /* probe 5-byte nops even if that kills forked children */
};

struct fsc_session;

/* A place that the kernel refused, or that is none for a probe, and why. */
struct fsc_refused {
	size_t target;
	int code;
	char *why; /* owned by the session; NULL: what the code means */
};

/* How places are attached. */
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

/* Whether we can load programs at all, for callers that attach only later. */
int fsc_session_possible(struct fsc_err *err);
/* Links on user functions are limited to the processes by the kernel, one set of links for each, up
 * to so many. All links on a function are asked at each hit (27 ns each for count, 65 for time),
 * and a link asks all others for each process when it goes: with 400, a hit took 10 to 25 us more,
 * and detaching 15 functions 7 s. So more processes share one set, which is in all processes that
 * map the file; those of others are counted (fsc_session_bystanders()). At the limit, the other
 * links cost about as much as the cheapest trap. */
enum { FSC_MOST_PID_LINKS = 32 };
/* Whether links are limited to the n processes. */
static inline bool fsc_session_limits(size_t n_pids, bool follow)
{
	return n_pids && n_pids <= FSC_MOST_PID_LINKS && !follow;
}
/* Loads programs for the targets, attaches nothing. targets must outlive the session. Caller frees.
 */
int fsc_session_open(struct fsc_targets *targets, const struct fsc_session_opts *opts,
		     struct fsc_session **ret, struct fsc_err *err);
/* In what a part may differ from its session. */
struct fsc_part_opts {
	const pid_t *pids; /* its links are limited to these processes; none: they are not */
	size_t n_pids;
	bool per_row, fast_uprobes;
};
/* A part of a monitor's session: more places for its programs, counted in its maps. It can be
 * attached, detached and freed on its own, but not outlive the session; the rows it is asked about
 * are its own. targets must outlive it. -ENOSPC: the session has too few rows left. */
int fsc_session_open_part(struct fsc_session *of, struct fsc_targets *targets,
			  const struct fsc_part_opts *opts, struct fsc_session **ret,
			  struct fsc_err *err);
/* Its first row in the session that it is part of. */
uint32_t fsc_session_first_row(const struct fsc_session *s);
/* How many rows there are; of a monitor's session, how many there can be. */
uint32_t fsc_session_rows(const struct fsc_session *s);
/* Attaches everything. Places refused by the kernel are listed, not fatal, unless all are. */
int fsc_session_attach(struct fsc_session *s, struct fsc_err *err);
/* Opens and shuts gates of links (see FSC_GATES), all at one moment, for all processes. */
void fsc_session_move_gates(struct fsc_session *s, uint64_t open, uint64_t shut);
/* Whether hits count, from now on. The session does not count until it is told to, unless it is a
 * monitor's. */
void fsc_session_count(struct fsc_session *s, bool on);
/* From now on just these rows (bool, one per row) are attached; with per_row only. Those that were
 * and stay lose no hit and count none twice. What the kernel now refuses stays detached and is
 * listed as refused. Links that are not needed any more are closed by a thread; as long as
 * fsc_session_selecting(), the next call waits for it. */
int fsc_session_select(struct fsc_session *s, const bool *rows, struct fsc_err *err);
bool fsc_session_selecting(struct fsc_session *s);
/* The same for one row; pausing waits until it is detached. */
int fsc_session_pause(struct fsc_session *s, uint32_t row, struct fsc_err *err);
int fsc_session_pause_later(struct fsc_session *s, uint32_t row, struct fsc_err *err);
int fsc_session_resume(struct fsc_session *s, uint32_t row, struct fsc_err *err);
/* Detaches every probe; counters stay readable. Harmless when called twice. */
void fsc_session_detach(struct fsc_session *s);
/* The same, but if that takes longer than ms milliseconds, it goes on in a process of its own, and
 * nothing counts any more. */
void fsc_session_leave(struct fsc_session *s, int ms);
/* The same without waiting for the kernel: done when fsc_session_still_detaching() is false. */
void fsc_session_detach_later(struct fsc_session *s);
bool fsc_session_still_detaching(const struct fsc_session *s);
void fsc_session_free(struct fsc_session *s);
void fsc_session_freep(struct fsc_session **s);

/* Forgets processes and threads that have exited, so that there is room for others and their
 * numbers mean nothing any more; returns how many are left that were asked for, or followed. In the
 * initial pid namespace only. */
size_t fsc_session_forget_exited_tasks(struct fsc_session *s);
/* What it was opened with. */
const struct fsc_session_opts *fsc_session_options(const struct fsc_session *s);
/* Whether entry and return are probed together. */
bool fsc_session_pairs(const struct fsc_session *s);
/* Hits by processes that are not traced: how many processes, up to FSC_MOST_BYSTANDERS; partly:
 * traced processes with untraced threads that hit. */
enum { FSC_MOST_BYSTANDERS = 1024 };
struct fsc_bystander_hits {
	uint64_t hits;
	size_t processes, partly;
};
/* false if every process is traced. */
bool fsc_session_bystanders(const struct fsc_session *s, struct fsc_bystander_hits *ret);
/* Hits of a row so far. */
uint64_t fsc_session_seen(const struct fsc_session *s, uint32_t row);
/* Calls whose entry was stored and that have not returned. */
uint64_t fsc_session_open_calls(const struct fsc_session *s);
/* Calls of which a record was read from the rings; entry and return count once. */
uint64_t fsc_session_records(const struct fsc_session *s);
/* The probes are detached: the counters are final. */
bool fsc_session_detached(const struct fsc_session *s);
/* Calls fn for each key kept, with its count so far. */
int fsc_session_keys(const struct fsc_session *s,
		     int (*fn)(const struct fsc_count_key *key, uint64_t count, void *arg),
		     void *arg, struct fsc_err *err);
/* What was measured in a slot so far, summed over CPUs. Without keys, the slot of a row is row + 1.
 */
void fsc_session_slot(const struct fsc_session *s, uint32_t slot, struct fsc_slot *ret);
/* Calls fn for each key measured, with its slot. */
int fsc_session_slots(const struct fsc_session *s,
		      int (*fn)(const struct fsc_count_key *key, uint32_t slot, void *arg),
		      void *arg, struct fsc_err *err);
/* What the probes of a row cost; its hits count from now on. */
int fsc_session_set_cost(struct fsc_session *s, uint32_t row, double inner_ns, double outer_ns,
			 struct fsc_err *err);

/* ---- of a monitor ---- */

int fsc_session_set_rule(struct fsc_session *s, uint32_t row, const struct fsc_rule *rule,
			 struct fsc_err *err);
/* Whose calls count from now on. */
int fsc_session_judge(struct fsc_session *s, enum fsc_judging how, struct fsc_err *err);
/* Hits of a row by processes whose calls do not count. */
uint64_t fsc_session_row_bystanders(const struct fsc_session *s, uint32_t row);
/* Allocates room for measurements until that many more keys fit, or as many as there may be. */
int fsc_session_reserve(struct fsc_session *s, size_t spare, const struct fsc_meanwhile *m,
			struct fsc_err *err);
/* Whether the calls of a process count from now on, if processes are judged. */
int fsc_session_set_verdict(struct fsc_session *s, pid_t pid, bool wanted, struct fsc_err *err);
/* Whether calls of a process without a verdict were counted. */
bool fsc_session_is_pending(const struct fsc_session *s, pid_t pid);
/* The process is another program now: that it is unwanted does not hold any more. */
void fsc_session_clear_verdict(struct fsc_session *s, pid_t pid);
/* Calls fn for each error code with its count so far, less what was forgotten. */
int fsc_session_errors(const struct fsc_session *s,
		       int (*fn)(const struct fsc_error_key *key, uint64_t n, void *arg), void *arg,
		       struct fsc_err *err);
/* Forgetting what processes have measured has three steps, since a program that has looked up its
 * slot may be preempted for any length of time before it adds to it. First the keys are deleted:
 * later calls get other slots. *ret_alive is set if one of the processes still runs, otherwise left
 * alone. */
int fsc_session_retire(struct fsc_session *s, bool (*which)(pid_t pid, void *arg), void *arg,
		       bool *ret_alive, struct fsc_err *err);
/* The same for all keys of a part that was detached: nobody can be using their slots. */
int fsc_session_retire_part(const struct fsc_session *part, struct fsc_err *err);
/* Then, if one still runs, blocks until all programs that are running now have finished: some ten
 * milliseconds. */
int fsc_session_settle(const struct fsc_session *s, struct fsc_err *err);
/* Finally calls fn with the last value of each slot, and frees the slot for another key. */
int fsc_session_reclaim(struct fsc_session *s,
			int (*fn)(const struct fsc_count_key *key, const struct fsc_slot *slot,
				  void *arg),
			void *arg, struct fsc_err *err);
/* Forgets errors that the caller has read. */
int fsc_session_forget(struct fsc_session *s, bool (*which)(pid_t pid, void *arg), void *arg,
		       struct fsc_err *err);
/* Forgets the verdict on an exited process, and that it has hit probes. */
void fsc_session_forget_exited(struct fsc_session *s, pid_t pid);
/* Stops counting calls of a row, or starts again. */
int fsc_session_mute(struct fsc_session *s, uint32_t row, bool mute, struct fsc_err *err);
/* The stack with this ID was read and may be deleted. */
void fsc_session_drop_stack(struct fsc_session *s, int32_t id);

/* ---- stacks ---- */

/* Calls fn for each stack counted so far. */
int fsc_session_stacks(const struct fsc_session *s,
		       int (*fn)(const struct fsc_stack_key *key, const struct fsc_stack_sums *sums,
				 void *arg),
		       void *arg, struct fsc_err *err);
/* The addresses of a stack, innermost first; returns how many. */
size_t fsc_session_stack(const struct fsc_session *s, int32_t id, uint64_t *addrs, size_t max);
/* Calls fn for each process that has hit a probe, once. */
int fsc_session_new_pids(struct fsc_session *s, int (*fn)(pid_t pid, void *arg), void *arg,
			 struct fsc_err *err);

/* ---- records ---- */

/* Readable when a ring fills up; -1: no rings. */
int fsc_session_events_fd(const struct fsc_session *s);
/* Calls fn for each pending record. fn returns 0 or -errno, which ends it. */
int fsc_session_drain(struct fsc_session *s, int (*fn)(const void *record, size_t size, void *arg),
		      void *arg, struct fsc_err *err);
/* Who gets the copies of stacks (struct fsc_rec_stack); from fsc_session_drain(), after the records
 * that refer to them. */
void fsc_session_on_copy(struct fsc_session *s, int (*fn)(const void *copy, size_t size, void *arg),
			 void *arg);
/* How the kernel gets on from a code address; false: no more are taken. */
bool fsc_session_add_rule(struct fsc_session *s, const struct fsc_unwind_key *key, uint64_t rule);
/* Records of a row that were dropped: its ring was full. */
uint64_t fsc_session_row_lost(const struct fsc_session *s, uint32_t row);

uint64_t fsc_session_loss(const struct fsc_session *s, enum fsc_loss which);
/* Hits for which the kernel did not run our program, up to the last detach. */
uint64_t fsc_session_missed(const struct fsc_session *s);
const struct fsc_vec *fsc_session_refused(const struct fsc_session *s); /* struct fsc_refused */
/* How many places are attached by a rung. */
size_t fsc_session_on_rung(const struct fsc_session *s, enum fsc_rung rung);
/* How many places were moved after a 5-byte nop. */
size_t fsc_session_shifted(const struct fsc_session *s);
/* Whether a place is where a loop begins: each round is a hit. */
bool fsc_session_on_loop(const struct fsc_session *s, const struct fsc_target *t);

#endif
