#include "base/timeline.h"

#include <stdlib.h>
#include <string.h>

void fsc_timeline_init(struct fsc_timeline *t)
{
	*t = (struct fsc_timeline){.records = FSC_VEC_INIT(struct fsc_timeline_record)};
}

void fsc_timeline_release(struct fsc_timeline *t)
{
	fsc_buf_release(&t->bytes);
	fsc_vec_release(&t->records);
}

int fsc_timeline_add(struct fsc_timeline *t, uint64_t time_ns, const void *record, size_t size,
		     struct fsc_err *err)
{
	struct fsc_timeline_record *r;

	fsc_buf_pad(&t->bytes, 0, -t->bytes.n & 7);
	fsc_buf_add(&t->bytes, record, size);
	r = fsc_buf_failed(&t->bytes) ? NULL : fsc_vec_push(&t->records);
	if (!r)
		return fsc_err_nomem(err);
	*r = (struct fsc_timeline_record){time_ns, t->bytes.n - size, size};
	return 0;
}

const void *fsc_timeline_at(const struct fsc_timeline *t, size_t i)
{
	return t->bytes.s + FSC_AT(struct fsc_timeline_record, &t->records, i)->at;
}

static int by_time(const void *pa, const void *pb)
{
	const struct fsc_timeline_record *a = pa, *b = pb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

static bool is_sorted(const struct fsc_timeline *t)
{
	const struct fsc_timeline_record *r = t->records.data;

	for (size_t i = 1; i < t->records.n; i++)
		if (by_time(&r[i - 1], &r[i]) > 0)
			return false;
	return true;
}

/* Drops the first n records. */
static int keep_rest(struct fsc_timeline *t, size_t n, struct fsc_err *err)
{
	struct fsc_timeline left;
	int rc = 0;

	fsc_timeline_init(&left);
	for (; !rc && n < t->records.n; n++) {
		const struct fsc_timeline_record *r =
		    FSC_AT(struct fsc_timeline_record, &t->records, n);

		rc = fsc_timeline_add(&left, r->time_ns, t->bytes.s + r->at, r->size, err);
	}
	fsc_timeline_release(t);
	*t = left;
	return rc;
}

int fsc_timeline_take(struct fsc_timeline *t, uint64_t until_ns,
		      int (*fn)(void *record, size_t size, void *arg, struct fsc_err *err),
		      void *arg, struct fsc_err *err)
{
	size_t n = 0;
	int rc = 0, kept = 0;

	if (!t->records.n)
		return 0;
	/* Often only one of the buffers had any. */
	if (!is_sorted(t))
		qsort(t->records.data, t->records.n, t->records.size, by_time);
	while (!rc && n < t->records.n) {
		const struct fsc_timeline_record *r =
		    FSC_AT(struct fsc_timeline_record, &t->records, n);

		if (r->time_ns > until_ns)
			break;
		n++;
		rc = fn(t->bytes.s + r->at, r->size, arg, err);
	}
	if (n == t->records.n) {
		t->records.n = 0;
		fsc_buf_clear(&t->bytes);
	} else if (n) {
		kept = keep_rest(t, n, err);
	}
	return rc ? rc : kept;
}
