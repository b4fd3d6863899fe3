/* What one hit costs on this machine, with the very program that is loaded: we call a function of
 * our own (or a cheap system call) with and without a probe on it. */
#ifndef FSC_ENGINE_CALIBRATE_H
#define FSC_ENGINE_CALIBRATE_H

#include "engine/session.h"

/* What a hit costs: medians of several rounds. */
struct fsc_cost_ns {
	double outer; /* CPU time per hit, or per call where entry and return are probed */
	double inner; /* how long an empty function seems to last; 0 where nothing is timed */
};

struct fsc_hitcost {
	void (*fn)(void);
	/* Puts the probes on. Whoever does that takes them off, too. */
	int (*link)(void *arg, struct fsc_err *err);
	/* How long a call has seemed to last since this was asked before. NULL: nobody knows. */
	double (*inner)(void *arg);
	void *arg;
};

/* Takes about ten milliseconds where a trap is slow, less elsewhere. outer is not positive where
 * the clock cannot tell. */
int fsc_hitcost_measure(const struct fsc_hitcost *h, struct fsc_cost_ns *ret, struct fsc_err *err);

/* ---- of a session ---- */

/* The classes of place that differ in cost. */
enum fsc_cost {
	FSC_COST_USER,
	FSC_COST_USER_STEPPED, /* the probed instruction is single-stepped */
	FSC_COST_USER_RETURN,
	FSC_COST_USER_RETURN_STEPPED,
	FSC_COST_USER_INSNS, /* the return is taken at its instruction */
	FSC_COST_USER_INSNS_STEPPED,
	FSC_COST_USER_FAST, /* on a 5-byte nop that the kernel optimises */
	FSC_COST_KERNEL,
	FSC_COST_KERNEL_RETURN,
	FSC_COST_TRACEPOINT,
	FSC_COST_MAX,
};

/* The class of a place. */
enum fsc_cost fsc_cost_of(const struct fsc_session *s, const struct fsc_target *t);

/* What a hit of a class costs. Takes about ten milliseconds where a trap is slow, less elsewhere.
 */
int fsc_calibrate(struct fsc_session *s, enum fsc_cost what, struct fsc_cost_ns *ret,
		  struct fsc_err *err);

/* What is known of each class. */
struct fsc_costs {
	bool known[FSC_COST_MAX];
	struct fsc_cost_ns ns[FSC_COST_MAX];
};

#endif
