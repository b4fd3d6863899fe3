/* What one hit costs on this machine, with the program that is loaded: we call a function of our
 * own (or a cheap system call) with and without a probe. */
#ifndef FSC_ENGINE_CALIBRATE_H
#define FSC_ENGINE_CALIBRATE_H

#include "engine/session.h"

/* The least of several short calibrations, each the median of some rounds: what a trap costs. The
 * others were disturbed, by other work on a busy machine or by a clock that was slow. */
struct fsc_cost_ns {
	double outer; /* CPU time per hit, or per call where entry and return are probed */
	double inner; /* measured duration of an empty function; 0 if nothing is timed */
	double most;  /* the largest of outer */
	double bare;  /* of a call without probes, not in the others */
	unsigned n;   /* how many calibrations */
};

struct fsc_hitcost {
	void (*fn)(void);
	/* Attaches the probes; the caller of fsc_hitcost_measure() detaches them. */
	int (*link)(void *arg, struct fsc_err *err);
	/* Mean measured duration of the calls since the last time. NULL: not timed. */
	double (*inner)(void *arg);
	void *arg;
};

/* Takes up to about ten milliseconds, if traps are slow. outer <= 0: below the clock's resolution.
 */
int fsc_hitcost_measure(const struct fsc_hitcost *h, struct fsc_cost_ns *ret, struct fsc_err *err);
/* Adds one more calibration, while the probes are still attached: a third of that. Whether what it
 * costs became less. */
bool fsc_hitcost_again(const struct fsc_hitcost *h, struct fsc_cost_ns *to);

/* ---- of a session ---- */

/* Places that differ in cost. */
enum fsc_cost {
	FSC_COST_USER,
	FSC_COST_USER_STEPPED, /* the probed instruction is single-stepped */
	FSC_COST_USER_RETURN,
	FSC_COST_USER_RETURN_STEPPED,
	FSC_COST_USER_INSNS, /* the return is probed at its instruction */
	FSC_COST_USER_INSNS_STEPPED,
	FSC_COST_USER_FAST, /* on a 5-byte nop that the kernel optimises */
	FSC_COST_KERNEL,
	FSC_COST_KERNEL_RETURN,
	FSC_COST_TRACEPOINT,
	FSC_COST_MAX,
};

enum fsc_cost fsc_cost_of(const struct fsc_session *s, const struct fsc_target *t);

/* Takes up to about ten milliseconds, if traps are slow. */
int fsc_calibrate(struct fsc_session *s, enum fsc_cost what, struct fsc_cost_ns *ret,
		  struct fsc_err *err);
/* Adds one more calibration of a class that was calibrated. Whether what it costs became less; it
 * does not where the probes are in the way of others, and not kept for the run. */
bool fsc_calibrate_again(struct fsc_session *s, enum fsc_cost what, struct fsc_cost_ns *to);
/* Words for a class of places. */
const char *fsc_cost_name(enum fsc_cost what);

struct fsc_costs {
	bool known[FSC_COST_MAX];
	struct fsc_cost_ns ns[FSC_COST_MAX];
};

#endif
