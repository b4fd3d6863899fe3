/* Records that come from several buffers, given on in the order of time. */
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
/* Gives on what is not later than until_ns, the earliest first, of one time in the order it came;
 * the rest stays. fn may write into the record, which is gone when it returns. A failure of fn ends
 * it; the record is taken then, too. */
int fsc_timeline_take(struct fsc_timeline *t, uint64_t until_ns,
		      int (*fn)(void *record, size_t size, void *arg, struct fsc_err *err),
		      void *arg, struct fsc_err *err);
/* Record i of those that wait, in no order. */
const void *fsc_timeline_at(const struct fsc_timeline *t, size_t i);

#endif
