/* Slow calls that a monitor keeps, with their arguments and stacks: of each function the slowest
 * and the latest, and no more, and for a while those that are to be sent on. */
#ifndef FSC_MONITOR_SLOW_H
#define FSC_MONITOR_SLOW_H

#include "model/snapshot.h"

struct fsc_slow;

/* The caller owns *ret. */
int fsc_slow_new(unsigned slowest, unsigned latest, struct fsc_slow **ret, struct fsc_err *err);
void fsc_slow_free(struct fsc_slow *s);
/* Other limits from now on. */
void fsc_slow_limit(struct fsc_slow *s, unsigned slowest, unsigned latest);
/* Keeps a copy. error: name of the error it returned, static, NULL for none. funcs: all functions,
 * for those that are listed. *ret stays as it is until the next call. */
int fsc_slow_add(struct fsc_slow *s, const struct fsc_call *c, uint32_t func, double threshold_ns,
		 const char *error, const struct fsc_noted_call **ret, struct fsc_err *err);
/* Those that are kept, the slowest first; func < 0: of all functions. Appends const struct
 * fsc_noted_call *, valid until the next call of fsc_slow_add(); their calls' func is set to that
 * of funcs. */
int fsc_slow_list(struct fsc_slow *s, const struct fsc_func *funcs, int64_t func,
		  struct fsc_vec *ret, struct fsc_err *err);
/* The function of a call that is kept, by its number. */
uint32_t fsc_slow_func(const struct fsc_noted_call *c);
/* Those that came since `since` (0 at first), oldest first; at most max of the latest. How many
 * more there were, which are no longer kept for this, is *ret_missed. *since is moved on. */
int fsc_slow_since(struct fsc_slow *s, const struct fsc_func *funcs, uint64_t *since,
		   struct fsc_vec *ret, uint64_t *ret_missed, struct fsc_err *err);
uint64_t fsc_slow_count(const struct fsc_slow *s);

#endif
