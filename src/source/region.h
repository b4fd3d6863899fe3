/* The instrumentation memory of one process (layout: lib/funcscope.h), read while it is written, as
 * validated copies. Its contents are not trusted: whatever the process wrote, reading terminates,
 * stays in bounds and reports what is wrong. */
#ifndef FSC_SOURCE_REGION_H
#define FSC_SOURCE_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "source/chunks.h"

struct fsc_region;

/* One checkpoint in one thread. */
struct fsc_region_cell {
	uint32_t index; /* of its record */
	uint32_t tid;
	bool busy;			 /* the thread still exists */
	uint32_t owners;		 /* threads that used this lane, in turn */
	bool ordered;			 /* clock reads were serialised */
	bool open;			 /* entered and not left */
	uint64_t count, total, min, max; /* ticks */
	const uint64_t *hist;		 /* FUNCSCOPE_HIST_BUCKETS, the latest call included */
	const uint64_t *samples;	 /* the latest calls, oldest first */
	uint32_t n_samples;
	uint32_t lapped; /* samples that were overwritten while they were read */
	bool torn;	 /* written to all the time: the parts may differ by some calls */
};

/* Takes ownership of the descriptors, also on failure. -EBADMSG: they hold something else. */
int fsc_region_open(struct fsc_chunks *chunks, const char *name, struct fsc_region **ret,
		    struct fsc_err *err);
void fsc_region_free(struct fsc_region *r);

/* Reads new names, lanes and chunks. *ret_more: the process has allocated memory that we have no
 * descriptor of; find its chunks again and call fsc_region_extend(). */
int fsc_region_update(struct fsc_region *r, bool *ret_more, struct fsc_err *err);
int fsc_region_extend(struct fsc_region *r, struct fsc_chunks *chunks, struct fsc_err *err);

/* The header as it was at the last update. */
const struct funcscope_region *fsc_region_header(const struct fsc_region *r);
/* A checkpoint's record, its texts NUL-terminated; false: there is none. */
bool fsc_region_record(const struct fsc_region *r, uint32_t index,
		       struct funcscope_site_record *ret);
/* Calls fn for each checkpoint of each thread that was in use. Stops at the first that is not 0.
 * -EAGAIN: something is in memory that was allocated since the last update; with skip it is left
 * out and counted instead. */
int fsc_region_each(struct fsc_region *r, bool skip,
		    int (*fn)(const struct fsc_region_cell *c, void *arg, struct fsc_err *err),
		    void *arg, struct fsc_err *err);

/* Threads that have entered checkpoints, as of the last reading. */
uint64_t fsc_region_threads(const struct fsc_region *r);
/* Checkpoints that were left out at the last reading. */
uint64_t fsc_region_skipped(const struct fsc_region *r);

#endif
