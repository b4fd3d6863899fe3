/* The totals as tables: sorted, and cut to the top rows. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "gpu/books_priv.h"

enum { KERNELS, MEMORY, SYNCS, ERRORS, LEAKS, OOMS, PROCESSES, COPIES };

static int by_launches(const void *a, const void *b)
{
	const struct fsc_gpu_kernel_row *x = a, *y = b;

	return (x->launches < y->launches) - (x->launches > y->launches);
}

static int by_live(const void *a, const void *b)
{
	const struct fsc_gpu_mem_row *x = a, *y = b;

	if (x->live_bytes != y->live_bytes)
		return x->live_bytes < y->live_bytes ? 1 : -1;
	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static int by_time(const void *a, const void *b)
{
	const struct fsc_gpu_sync_row *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

static int by_errors(const void *a, const void *b)
{
	const struct fsc_gpu_error_row *x = a, *y = b;

	return (x->n < y->n) - (x->n > y->n);
}

static uint64_t activity(const struct fsc_gpu_process_row *p)
{
	return p->launches + p->allocs + p->frees + p->copies + p->memsets + p->syncs + p->errors;
}

static int by_activity(const void *a, const void *b)
{
	const struct fsc_gpu_process_row *x = a, *y = b;

	return (activity(x) < activity(y)) - (activity(x) > activity(y));
}

static struct fsc_vec *begin_table(struct fsc_gpu_books *b, int which, size_t size)
{
	b->rows[which].size = size;
	b->rows[which].n = 0;
	return &b->rows[which];
}

static size_t cut_rows(const struct fsc_vec *v, size_t top)
{
	return top && v->n > top ? top : v->n;
}

/* A sorted copy of rows, of which *ret_n are shown. */
static int fill_table(struct fsc_vec *to, const struct fsc_vec *from,
		      int (*compare)(const void *, const void *), size_t top, size_t *ret_n,
		      size_t *ret_left_out, struct fsc_err *err)
{
	to->size = from->size;
	to->n = 0;
	while (to->n < from->n)
		if (!fsc_vec_push(to))
			return fsc_err_nomem(err);
	if (to->n) {
		memcpy(to->data, from->data, to->n * to->size);
		qsort(to->data, to->n, to->size, compare);
	}
	*ret_n = cut_rows(to, top);
	*ret_left_out = to->n - *ret_n;
	return 0;
}

static int fill_tables(struct fsc_gpu_books *b, size_t top, struct fsc_gpu_report *r,
		       struct fsc_err *err)
{
	struct fsc_vec *to = b->rows;
	int rc = fill_table(&to[PROCESSES], &b->processes, by_activity, top, &r->n_processes,
			    &r->processes_left_out, err);

	if (!rc)
		rc = fill_table(&to[KERNELS], &b->kernels, by_launches, top, &r->n_kernels,
				&r->kernels_left_out, err);
	if (!rc)
		rc = fill_table(&to[MEMORY], &b->memory, by_live, top, &r->n_memory,
				&r->memory_left_out, err);
	if (!rc)
		rc = fill_table(&to[SYNCS], &b->syncs, by_time, top, &r->n_syncs,
				&r->syncs_left_out, err);
	if (!rc)
		rc = fill_table(&to[ERRORS], &b->errors, by_errors, top, &r->n_errors,
				&r->errors_left_out, err);
	r->processes = to[PROCESSES].data;
	r->kernels = to[KERNELS].data;
	r->memory = to[MEMORY].data;
	r->syncs = to[SYNCS].data;
	r->errors = to[ERRORS].data;
	return rc;
}

static int fill_ooms(struct fsc_gpu_books *b, size_t top, struct fsc_gpu_report *r,
		     struct fsc_err *err)
{
	struct fsc_vec *v = begin_table(b, OOMS, sizeof(struct fsc_gpu_oom));

	for (size_t i = 0; i < b->failures.n; i++) {
		struct fsc_gpu_failure *f = FSC_AT(struct fsc_gpu_failure, &b->failures, i);
		struct fsc_gpu_oom *o = fsc_vec_push(v);

		if (!o)
			return fsc_err_nomem(err);
		*o = (struct fsc_gpu_oom){.event = f->event,
					  .holders = f->holders.data,
					  .n_holders = cut_rows(&f->holders, top),
					  .last = f->last,
					  .n_last = f->n_last,
					  .live_bytes = f->live_bytes,
					  .allocated = f->allocated,
					  .reserved = f->reserved,
					  .retried = f->retried};
	}
	r->ooms = v->data;
	r->n_ooms = v->n;
	return 0;
}

static int fill_copies(struct fsc_gpu_books *b, struct fsc_gpu_report *r, struct fsc_err *err)
{
	const struct fsc_gpu_copy_row *all = &b->copies[0][0][0];
	struct fsc_vec *v = begin_table(b, COPIES, sizeof(*all));

	for (size_t i = 0; i < sizeof(b->copies) / sizeof(*all); i++) {
		struct fsc_gpu_copy_row *row;

		if (!all[i].copies)
			continue;
		row = fsc_vec_push(v);
		if (!row)
			return fsc_err_nomem(err);
		*row = all[i];
	}
	r->copies = v->data;
	r->n_copies = v->n;
	return 0;
}

int fsc_gpu_books_report(struct fsc_gpu_books *b, const struct fsc_gpu_report_opts *o,
			 struct fsc_gpu_report *ret, struct fsc_err *err)
{
	uint64_t now = fsc_clock_mono();
	struct fsc_vec *leaks = begin_table(b, LEAKS, sizeof(struct fsc_gpu_leak_row));
	int rc;

	*ret = (struct fsc_gpu_report){.time_ns = fsc_clock_ns(CLOCK_REALTIME),
				       .seconds = (double)(now - b->start_ns) / 1e9,
				       .launches = b->launches,
				       .unnamed = b->unnamed,
				       .captured = b->captured,
				       .graphs = b->graphs,
				       .memsets = b->memsets,
				       .memset_bytes = b->memset_bytes,
				       .unseen_frees = b->unseen_frees,
				       .last = o->last};
	rc = fill_tables(b, o->top, ret, err);
	if (!rc)
		rc = fill_copies(b, ret, err);
	if (!rc)
		rc = fsc_gpu_memory_held(b, 0, now, o->leak_age_s, leaks, err);
	ret->leaks = leaks->data;
	ret->n_leaks = leaks->n;
	if (!rc)
		rc = fill_ooms(b, o->top, ret, err);
	if (!rc)
		rc = fsc_gpu_findings(b, err);
	ret->findings = b->findings.data;
	ret->n_findings = b->findings.n;
	return rc;
}
