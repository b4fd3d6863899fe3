/* The slow calls that a monitor keeps, with arguments and stacks: the slowest and the latest of
 * each function, and the recent ones for receivers. */
#ifndef FSC_MONITOR_SLOW_H
#define FSC_MONITOR_SLOW_H

#include "model/snapshot.h"

struct fsc_slow;

/* The caller owns *ret. */
int fsc_slow_new(unsigned slowest, unsigned latest, struct fsc_slow **ret, struct fsc_err *err);
void fsc_slow_free(struct fsc_slow *s);
void fsc_slow_limit(struct fsc_slow *s, unsigned slowest, unsigned latest);
/* Keeps a copy. error: static name of the error it returned, NULL for none. *ret is valid until the
 * next call. */
int fsc_slow_add(struct fsc_slow *s, const struct fsc_call *c, uint32_t func, double threshold_ns,
		 const char *error, const struct fsc_noted_call **ret, struct fsc_err *err);
/* Appends const struct fsc_noted_call *, slowest first, valid until the next fsc_slow_add(); their
 * calls' func points into funcs. func < 0: of all functions. */
int fsc_slow_list(struct fsc_slow *s, const struct fsc_func *funcs, int64_t func,
		  struct fsc_vec *ret, struct fsc_err *err);
/* The index of a kept call's function. */
uint32_t fsc_slow_func(const struct fsc_noted_call *c);
/* The recent calls after `since` (0 at first), oldest first; *since is advanced. *ret_missed: how
 * many more there were that are no longer kept. */
int fsc_slow_since(struct fsc_slow *s, const struct fsc_func *funcs, uint64_t *since,
		   struct fsc_vec *ret, uint64_t *ret_missed, struct fsc_err *err);
/* A function's number is used for another one from now on: of its calls only the recent ones stay,
 * as those of the function `to`. */
void fsc_slow_fold(struct fsc_slow *s, uint32_t func, uint32_t to);
uint64_t fsc_slow_count(const struct fsc_slow *s);

#endif
