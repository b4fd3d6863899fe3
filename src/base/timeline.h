/* Sorts records of several buffers by time. */
#ifndef FSC_BASE_TIMELINE_H
#define FSC_BASE_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

struct fsc_timeline {
	struct fsc_buf bytes;
	struct fsc_vec records; /* struct fsc_timeline_record */
};

struct fsc_timeline_record {
	uint64_t time_ns;
	size_t at, size; /* in bytes; aligned to 8 */
};

void fsc_timeline_init(struct fsc_timeline *t);
void fsc_timeline_release(struct fsc_timeline *t);
/* Copies a record. */
int fsc_timeline_add(struct fsc_timeline *t, uint64_t time_ns, const void *record, size_t size,
		     struct fsc_err *err);
/* Passes on records up to until_ns, earliest first, equal times in order of arrival; the rest
 * stays. fn may write into the record, which is removed when fn returns, also after a failure,
 * which ends the call. */
int fsc_timeline_take(struct fsc_timeline *t, uint64_t until_ns,
		      int (*fn)(void *record, size_t size, void *arg, struct fsc_err *err),
		      void *arg, struct fsc_err *err);
/* Pending record i, in no order. */
const void *fsc_timeline_at(const struct fsc_timeline *t, size_t i);

#endif
