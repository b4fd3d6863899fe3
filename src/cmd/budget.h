/* Keeping the probes' cost within a share of the target's CPU time (--max-overhead), and saying
 * when it becomes large. */
#ifndef FSC_CMD_BUDGET_H
#define FSC_CMD_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "source/live.h"

struct fsc_budget;

/* What is measured, and the CPU time the target has used since the start. */
struct fsc_budget_of {
	struct fsc_session *session;
	struct fsc_live *live;
	size_t n_rows;
	uint64_t (*cpu_ns)(void *arg);
	void *arg;
};

/* percent: what may be spent; 0: only warn, once, when it passes 5 %. Caller frees. */
int fsc_budget_new(double percent, const struct fsc_budget_of *of, struct fsc_budget **ret,
		   struct fsc_err *err);
void fsc_budget_free(struct fsc_budget *b);
/* To be called every few milliseconds. Detaches functions that cost too much and attaches them
 * again when the budget allows. */
int fsc_budget_tick(struct fsc_budget *b, struct fsc_err *err);
/* Tells the live source which functions were throttled, for reports and books. */
void fsc_budget_report(struct fsc_budget *b);

#endif
