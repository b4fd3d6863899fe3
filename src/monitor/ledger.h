/* What a monitor has measured in all: of processes that run and of those that ended, as totals, as
 * reports of a stretch of time, and as snapshots to be sent on. */
#ifndef FSC_MONITOR_LEDGER_H
#define FSC_MONITOR_LEDGER_H

#include "model/tally.h"
#include "monitor/hooks.h"
#include "run/processes.h"
#include "monitor/slow.h"
#include "sink/sink.h"

struct fsc_ledger;

/* All must outlive it. The caller owns *ret. */
int fsc_ledger_new(struct fsc_hooks *hooks, struct fsc_processes *processes, struct fsc_slow *slow,
		   struct fsc_ledger **ret, struct fsc_err *err);
void fsc_ledger_free(struct fsc_ledger *l);
/* Time counts from now on, and to now. */
void fsc_ledger_begin(struct fsc_ledger *l);
void fsc_ledger_end(struct fsc_ledger *l);
/* A process is about to leave the table of processes: its name is kept with its numbers. */
int fsc_ledger_ended(struct fsc_ledger *l, pid_t pid, struct fsc_err *err);
/* A process begins: numbers of one that had its pid before are nobody's. */
int fsc_ledger_began(struct fsc_ledger *l, pid_t pid, struct fsc_err *err);
/* Takes in what processes that ended have left (met: see fsc_hooks_collect()); those that ended
 * longer than so many seconds ago are nobody's then. */
int fsc_ledger_collect(struct fsc_ledger *l, double keep_s,
		       int (*met)(pid_t pid, void *arg, struct fsc_err *err), void *arg,
		       struct fsc_err *err);
/* Everything since the start; apart: by process. errors have their names. The caller releases it.
 */
int fsc_ledger_total(struct fsc_ledger *l, bool apart, struct fsc_tally *ret, struct fsc_err *err);
/* How many calls there were in the last total, report or view: what the books go by. */
uint64_t fsc_ledger_kept(const struct fsc_ledger *l);
/* Writes what is new since the last report, or everything. */
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
/* Fills the part of a snapshot that the ledger knows. cap: of rows, those beyond are folded. The
 * books are the caller's, as are labels and the like. */
int fsc_ledger_view(struct fsc_ledger *l, bool apart, size_t cap, struct fsc_ledger_view *ret,
		    struct fsc_err *err);
void fsc_ledger_view_release(struct fsc_ledger_view *v);

#endif
