/* Everything a monitor has measured, of running and exited processes: as totals, as reports of an
 * interval, and as snapshots for receivers. */
#ifndef FSC_MONITOR_LEDGER_H
#define FSC_MONITOR_LEDGER_H

#include "model/tally.h"
#include "monitor/hooks.h"
#include "monitor/labelsets.h"
#include "run/processes.h"
#include "monitor/slow.h"
#include "sink/sink.h"

struct fsc_ledger;

/* All must outlive it. The caller owns *ret. */
int fsc_ledger_new(struct fsc_hooks *hooks, struct fsc_processes *processes, struct fsc_slow *slow,
		   struct fsc_ledger **ret, struct fsc_err *err);
void fsc_ledger_free(struct fsc_ledger *l);
/* Start and end of the measured time. */
void fsc_ledger_begin(struct fsc_ledger *l);
void fsc_ledger_end(struct fsc_ledger *l);
/* Which labels rows have, from now on. Rows by labels of exited processes have empty ones after a
 * change. */
int fsc_ledger_use_labels(struct fsc_ledger *l, const struct fsc_labelsets_opts *o,
			  struct fsc_err *err);
/* A process is a target: its labels are read. called: it has made a call, and keeps them. */
int fsc_ledger_process(struct fsc_ledger *l, pid_t pid, bool called, struct fsc_err *err);
/* A process runs another program: its labels are read again if it has made no call so far. */
int fsc_ledger_exec(struct fsc_ledger *l, pid_t pid, struct fsc_err *err);
/* A process that is not a target any more has exited. */
void fsc_ledger_forget(struct fsc_ledger *l, pid_t pid);
/* Labels and fields of a process, valid until the next of these calls; returns how many. */
size_t fsc_ledger_about(const struct fsc_ledger *l, pid_t pid,
			struct fsc_label ret[FSC_LABELS + FSC_PROCESS_FIELDS]);
/* A process is about to leave the table of processes: its name is kept. */
int fsc_ledger_ended(struct fsc_ledger *l, pid_t pid, struct fsc_err *err);
/* A process starts: rows of an earlier one with its pid are added to those of its labels, or to
 * FSC_TALLY_NOBODY. */
int fsc_ledger_began(struct fsc_ledger *l, pid_t pid, struct fsc_err *err);
/* Adds what exited processes have measured (on_pid: see fsc_hooks_collect()); those that exited
 * more than keep_s seconds ago are added to those of their labels, or to FSC_TALLY_NOBODY, and the
 * oldest of the others if they have more rows than keep_rows; likewise labels without processes are
 * folded. */
int fsc_ledger_collect(struct fsc_ledger *l, double keep_s, size_t keep_rows,
		       int (*on_pid)(pid_t pid, void *arg, struct fsc_err *err), void *arg,
		       struct fsc_err *err);
/* If there are very many functions of files that nobody maps any more, the oldest are summed up by
 * name, in functions without a file; `folded` is called for each. */
int fsc_ledger_fold(struct fsc_ledger *l, void (*folded)(uint32_t func, void *arg), void *arg,
		    struct fsc_err *err);
/* Everything since the start, by labels if there are any; apart: by process. Errors have names. The
 * caller releases it. */
int fsc_ledger_total(struct fsc_ledger *l, bool apart, struct fsc_tally *ret, struct fsc_err *err);
/* The number of calls in the last total, report or view, for the books. */
uint64_t fsc_ledger_kept(const struct fsc_ledger *l);
/* Writes what is new since the last report that was written, or everything. */
int fsc_ledger_report(struct fsc_ledger *l, struct fsc_sink *sink, bool apart, bool whole,
		      unsigned top, struct fsc_err *err);
/* Puts struct fsc_call_errors in the order of a report: by calls, then function name, then code.
 * calls: what their rows refer to. */
void fsc_ledger_sort_errors(struct fsc_vec *errors, const struct fsc_latencies *calls);

/* A snapshot and what it points to. */
struct fsc_ledger_view {
	struct fsc_snapshot snapshot;
	struct fsc_tally total;
	struct fsc_noted_call *noted;
	struct fsc_summary books;
};
/* Fills the ledger's part of a snapshot; books, labels and so on are up to the caller. Rows beyond
 * cap are folded, and errors beyond cap, too. */
int fsc_ledger_view(struct fsc_ledger *l, bool apart, size_t cap, struct fsc_ledger_view *ret,
		    struct fsc_err *err);
void fsc_ledger_view_release(struct fsc_ledger_view *v);

#endif
