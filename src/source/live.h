/* The live source: a session's counters read into profiles, and its books closed. Nothing behind
 * this header knows that BPF exists. */
#ifndef FSC_SOURCE_LIVE_H
#define FSC_SOURCE_LIVE_H

#include "engine/calibrate.h"
#include "engine/session.h"
#include "model/latency.h"
#include "model/profile.h"

struct fsc_live;

/* Takes a session over its targets; both must outlive the source. Caller frees. */
int fsc_live_new(struct fsc_session *session, const struct fsc_targets *targets, uint32_t by,
		 struct fsc_live **ret, struct fsc_err *err);
void fsc_live_free(struct fsc_live *l);
void fsc_live_freep(struct fsc_live **l);

/* Whether every place is in user space: their cost can be measured before they are attached. */
bool fsc_live_all_user(const struct fsc_live *l);
struct fsc_session *fsc_live_session(const struct fsc_live *l);
const struct fsc_func *fsc_live_funcs(const struct fsc_live *l, size_t *ret_n);
/* Measures what a hit costs, for each class of place in use. A failure is remembered and shows in
 * the summary as unknown cost. */
void fsc_live_calibrate(struct fsc_live *l);
/* What is known of costs, to be used by another session like this one: what it knows already is not
 * measured. */
const struct fsc_costs *fsc_live_costs(const struct fsc_live *l);
void fsc_live_use_costs(struct fsc_live *l, const struct fsc_costs *known);
/* Nanoseconds of CPU time that one hit (or call) of a row costs, 0 if unknown. */
double fsc_live_row_cost(const struct fsc_live *l, uint32_t row);
/* What an empty function of a row seems to last. */
double fsc_live_row_floor(const struct fsc_live *l, uint32_t row);
/* The row was not watched all the time: shows in profiles and books from now on. */
void fsc_live_note_sampled(struct fsc_live *l, uint32_t row, const struct fsc_sampled *how);
/* Tells the kernel what each row costs; hits are looked at from then on. For timing only, after
 * calibration: what could not be measured is not taken out. */
int fsc_live_arm(struct fsc_live *l, struct fsc_err *err);
/* Everything timed since then. */
int fsc_live_latencies(struct fsc_live *l, bool zeros, struct fsc_latencies *ret,
		       struct fsc_err *err);
/* Everything counted since attach. zeros: rows that were never hit too (by function alone). */
int fsc_live_snapshot(struct fsc_live *l, bool zeros, struct fsc_profile *ret, struct fsc_err *err);
/* The caller reads what is measured, gives the room back, and knows what is kept: the summary says
 * 0 of it, and does not read everything once more. */
void fsc_live_keep_elsewhere(struct fsc_live *l);
/* So many calls were of processes that turned out not to be meant: they count as never seen. */
void fsc_live_unsee(struct fsc_live *l, uint64_t calls);
/* The books so far; what it points to lives as long as the source. cpu_ns: CPU time of the target
 * (or of the machine) over the run, 0 if unknown. */
int fsc_live_summary(struct fsc_live *l, uint64_t cpu_ns, bool of_machine, double duration_s,
		     struct fsc_summary *ret, struct fsc_err *err);

#endif
