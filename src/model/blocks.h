/* What a recording says of each function, as blocks: a block is what was measured in one stretch of
 * time, sums and a histogram. Blocks can be added up, and asked for their median, tail and mean.
 * Pure data, no I/O. */
#ifndef FSC_MODEL_BLOCKS_H
#define FSC_MODEL_BLOCKS_H

#include "model/latency.h"

struct fsc_block {
	uint64_t time_ns; /* when it ended; 0: not known */
	double count, total_ns, min_ns, max_ns;
	struct fsc_vec bins; /* struct fsc_bin, by their lower end */
};

/* A function of a recording. */
struct fsc_recorded {
	char *kind, *binary, *function; /* owned; of the binary's path the last part */
	struct fsc_vec blocks;		/* struct fsc_block, in the order of time */
	bool at_floor;			/* calls too short to be told from the cost of the probes */
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
/* Appends a bin; they have to come by their lower end. NULL where memory is out. */
struct fsc_bin *fsc_block_bin(struct fsc_block *b, double low, double high, uint64_t n);
/* Adds the calls of one block to another. */
int fsc_block_add(struct fsc_block *to, const struct fsc_block *from, struct fsc_err *err);
/* The value below which a share q (0 to 1) of the calls lie, interpolated inside its bin; NAN where
 * there are no calls. */
double fsc_block_quantile(const struct fsc_block *b, double q);
double fsc_block_mean(const struct fsc_block *b);

void fsc_recording_release(struct fsc_recording *r);
/* Adds each line as a block. */
int fsc_recording_add(struct fsc_recording *r, const struct fsc_latencies *l, struct fsc_err *err);
/* The function's entry, made where there is none; NULL where memory is out. Valid until the next
 * call. */
struct fsc_recorded *fsc_recording_function(struct fsc_recording *r, const char *kind,
					    const char *binary, const char *function);
/* *ret: the function's entry, NULL where there is none. */
int fsc_recording_find(const struct fsc_recording *r, const char *kind, const char *binary,
		       const char *function, const struct fsc_recorded **ret, struct fsc_err *err);
/* Gives the block to the function, which owns it then: as the next one, or added to the last where
 * that is of the same stretch of time (another thread's or process's calls). */
int fsc_recorded_append(struct fsc_recorded *f, struct fsc_block *b, struct fsc_err *err);

#endif
