/* Functions that were detached because the probes cost more than max_overhead, and when each is
 * tried again. Whether it has become cheaper can only be found out by attaching it: that is done
 * when there is room in the budget, one function at a time, and less and less often while it turns
 * out to be too expensive still. Pure: the caller has the clock, and attaches and detaches. */
#ifndef FSC_MONITOR_THROTTLE_H
#define FSC_MONITOR_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct fsc_throttled {
	uint32_t func;	   /* as fsc_hooks_funcs() numbers it */
	bool detached;	   /* now; else it is back */
	double share;	   /* percent of CPU time that it took when it was detached */
	unsigned failures; /* how often in a row it was too expensive */
	uint64_t since_ns; /* detached or back */
	uint64_t wait_ns;  /* until it is tried again */
};

struct fsc_throttle {
	struct fsc_vec of; /* struct fsc_throttled: all that were ever detached */
};

#define FSC_THROTTLE_INIT ((struct fsc_throttle){FSC_VEC_INIT(struct fsc_throttled)})

void fsc_throttle_release(struct fsc_throttle *t);
/* A function was detached. *ret_s: the seconds until it is tried again: 5, and twice as long each
 * time that it did not stay for as long as it had waited, up to 600. */
int fsc_throttle_detached(struct fsc_throttle *t, uint32_t func, double share, uint64_t now_ns,
			  double *ret_s, struct fsc_err *err);
/* The function to be attached again: it has waited long enough, it was the cheapest of those, and
 * the others take at most 80 percent of the budget; false: none. */
bool fsc_throttle_due(const struct fsc_throttle *t, double share, double most, uint64_t now_ns,
		      uint32_t *ret);
/* A function is attached again. */
void fsc_throttle_back(struct fsc_throttle *t, uint32_t func, uint64_t now_ns);
/* All are, and may cost what they like at first: the configuration was reloaded. */
void fsc_throttle_reset(struct fsc_throttle *t);
/* A function's number is used for another one from now on. */
void fsc_throttle_forget(struct fsc_throttle *t, uint32_t func);
bool fsc_throttle_is_detached(const struct fsc_throttle *t, uint32_t func);

#endif
