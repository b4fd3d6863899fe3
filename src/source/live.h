/* The live source: reads a session's counters into profiles, and adds up its books. Users of this
 * header need not know about BPF. */
#ifndef FSC_SOURCE_LIVE_H
#define FSC_SOURCE_LIVE_H

#include "engine/calibrate.h"
#include "engine/session.h"
#include "model/latency.h"
#include "model/profile.h"

struct fsc_live;

/* session and targets must outlive the source. Caller frees. */
int fsc_live_new(struct fsc_session *session, const struct fsc_targets *targets, uint32_t by,
		 struct fsc_live **ret, struct fsc_err *err);
void fsc_live_free(struct fsc_live *l);
void fsc_live_freep(struct fsc_live **l);

/* Whether every place is in user space: then costs can be measured before attaching. */
bool fsc_live_all_user(const struct fsc_live *l);
struct fsc_session *fsc_live_session(const struct fsc_live *l);
const struct fsc_func *fsc_live_funcs(const struct fsc_live *l, size_t *ret_n);
/* Names a row of a monitor's session, whose functions are in parts; the strings are borrowed. */
void fsc_live_set_func(struct fsc_live *l, uint32_t row, const struct fsc_func *func);
/* Measures what a hit costs, for each class of place in use. After a failure the summary says that
 * the cost is unknown. */
void fsc_live_calibrate(struct fsc_live *l);
/* Once more during the run, as far as that disturbs nobody; the least of what was measured counts.
 */
int fsc_live_recalibrate(struct fsc_live *l, struct fsc_err *err);
/* For -v: what hits cost, and how much that differed. */
void fsc_live_log_costs(const struct fsc_live *l);
/* Known costs, to be reused by a similar session, which then does not measure them again. */
const struct fsc_costs *fsc_live_costs(const struct fsc_live *l);
void fsc_live_use_costs(struct fsc_live *l, const struct fsc_costs *known);
/* Nanoseconds of CPU time that one hit (or call) of a row costs, 0 if unknown. */
double fsc_live_row_cost(const struct fsc_live *l, uint32_t row);
/* The measured duration of an empty function of that row's class. */
double fsc_live_row_floor(const struct fsc_live *l, uint32_t row);
/* The row was throttled; shows in profiles and books from now on. */
void fsc_live_note_sampled(struct fsc_live *l, uint32_t row, const struct fsc_sampled *how);
/* Tells the kernel what each row costs; hits count from then on. For timing only, after
 * calibration: unknown costs are not subtracted. */
int fsc_live_arm(struct fsc_live *l, struct fsc_err *err);
/* Everything timed since fsc_live_arm(). */
int fsc_live_latencies(struct fsc_live *l, bool zeros, struct fsc_latencies *ret,
		       struct fsc_err *err);
/* Everything counted since attach. zeros: include rows that were never hit (without keys only). */
int fsc_live_snapshot(struct fsc_live *l, bool zeros, struct fsc_profile *ret, struct fsc_err *err);
/* The caller reads and reclaims the measurements and counts what is kept: the summary then has 0,
 * and does not read everything again. */
void fsc_live_keep_elsewhere(struct fsc_live *l);
/* The books so far; pointers in it are valid as long as the source. cpu_ns: CPU time of the target
 * (or of the machine) over the run, 0 if unknown. */
int fsc_live_summary(struct fsc_live *l, uint64_t cpu_ns, bool of_machine, double duration_s,
		     struct fsc_summary *ret, struct fsc_err *err);

#endif
