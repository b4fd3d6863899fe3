/* Stacks of a live session: counted in the kernel by their IDs, or sent as copies and unwound here.
 */
#ifndef FSC_SOURCE_STACKS_H
#define FSC_SOURCE_STACKS_H

#include "model/stacks.h"
#include "source/live.h"
#include "source/namer.h"

struct fsc_stack_source;

struct fsc_stack_opts {
	bool per_process, by_time, offsets;
	unsigned depth;	 /* frames to keep of the kernel's and of the user's part; 0: all */
	bool copies;	 /* the session sends copies of stacks */
	unsigned one_in; /* hits that one stands for; 0, 1: itself */
};

/* live and namer must outlive it. The caller owns *ret. */
int fsc_stack_source_new(struct fsc_live *live, struct fsc_namer *namer,
			 const struct fsc_stack_opts *opts, struct fsc_stack_source **ret,
			 struct fsc_err *err);
void fsc_stack_source_free(struct fsc_stack_source *s);
/* Reads the rings; to be called every few milliseconds. */
int fsc_stack_source_tick(struct fsc_stack_source *s, struct fsc_err *err);
/* All stacks since the start; the caller releases them. */
int fsc_stack_source_read(struct fsc_stack_source *s, struct fsc_stacks *ret, struct fsc_err *err);
/* Frames, unnamed frames, and calls with truncated stacks, of the last reading. */
void fsc_stack_source_books(const struct fsc_stack_source *s, struct fsc_summary *sum);

#endif
