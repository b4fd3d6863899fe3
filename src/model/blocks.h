/* Recordings: for each function, blocks with the sums and the histogram of one interval. Blocks can
 * be added up, and have a median, tail and mean. Pure data, no I/O. */
#ifndef FSC_MODEL_BLOCKS_H
#define FSC_MODEL_BLOCKS_H

#include "model/latency.h"

struct fsc_block {
	uint64_t time_ns; /* when it ended; 0: unknown */
	double count, total_ns, min_ns, max_ns;
	struct fsc_vec bins; /* struct fsc_bin, by their lower end */
};

/* A function of a recording. */
struct fsc_recorded {
	char *kind, *binary, *function; /* owned; binary: the last part of its path */
	struct fsc_vec blocks;		/* struct fsc_block, in order of time */
	bool at_floor; /* calls too short to be distinguished from the cost of the probes */
};

/* One run of a program. Begin with FSC_RECORDING_INIT. */
struct fsc_recording {
	struct fsc_vec functions; /* struct fsc_recorded */
	struct fsc_map index;	  /* by kind, binary and function */
};
#define FSC_RECORDING_INIT                                                                         \
	{                                                                                          \
		.functions = FSC_VEC_INIT(struct fsc_recorded)                                     \
	}

#define FSC_BLOCK_INIT                                                                             \
	{                                                                                          \
		.bins = FSC_VEC_INIT(struct fsc_bin)                                               \
	}
void fsc_block_release(struct fsc_block *b);
/* Appends a bin; low must ascend. NULL: out of memory. */
struct fsc_bin *fsc_block_bin(struct fsc_block *b, double low, double high, uint64_t n);
/* Adds the calls of one block to another. */
int fsc_block_add(struct fsc_block *to, const struct fsc_block *from, struct fsc_err *err);
/* The value below which a share q (0 to 1) of the calls lie, interpolated within its bin; NAN if
 * there are no calls. */
double fsc_block_quantile(const struct fsc_block *b, double q);
double fsc_block_mean(const struct fsc_block *b);

void fsc_recording_release(struct fsc_recording *r);
/* Adds each row as a block. */
int fsc_recording_add(struct fsc_recording *r, const struct fsc_latencies *l, struct fsc_err *err);
/* The function's entry, added if it is new; NULL: out of memory. Valid until the next call. */
struct fsc_recorded *fsc_recording_function(struct fsc_recording *r, const char *kind,
					    const char *binary, const char *function);
/* *ret: the function's entry, or NULL. */
int fsc_recording_find(const struct fsc_recording *r, const char *kind, const char *binary,
		       const char *function, const struct fsc_recorded **ret, struct fsc_err *err);
/* Takes ownership of the block: appends it, or adds it to the last one if that is of the same
 * interval (calls of another thread or process). */
int fsc_recorded_append(struct fsc_recorded *f, struct fsc_block *b, struct fsc_err *err);

#endif
