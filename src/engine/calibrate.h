/* What one hit costs on this machine, with the very program that is loaded: we call a function of
 * our own (or a cheap system call) with and without a probe on it. */
#ifndef FSC_ENGINE_CALIBRATE_H
#define FSC_ENGINE_CALIBRATE_H

#include "engine/session.h"

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

/* What a hit of a class costs: medians of several rounds. */
struct fsc_cost_ns {
	double outer; /* CPU time per hit, or per call where entry and return are probed */
	double inner; /* how long an empty function seems to last; 0 where nothing is timed */
};

/* Takes about ten milliseconds where a trap is slow, less elsewhere; call while the session is
 * attached. */
int fsc_calibrate(struct fsc_session *s, enum fsc_cost what, struct fsc_cost_ns *ret,
		  struct fsc_err *err);

/* What is known of each class. */
struct fsc_costs {
	bool known[FSC_COST_MAX];
	struct fsc_cost_ns ns[FSC_COST_MAX];
};

#endif
