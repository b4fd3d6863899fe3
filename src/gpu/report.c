/* The books as tables: sorted, and cut to what a person reads. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "gpu/books_priv.h"

enum { KERNELS, MEMORY, SYNCS, ERRORS, LEAKS, OOMS, PROCESSES };

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

/* A vector of its own for a table of the report. */
static struct fsc_vec *begin(struct fsc_gpu_books *b, int which, size_t size)
{
	b->rows[which].size = size;
	b->rows[which].n = 0;
	return &b->rows[which];
}

static int copy_rows(const struct fsc_vec *from, struct fsc_vec *to, struct fsc_err *err)
{
	for (size_t i = 0; i < from->n; i++) {
		void *at = fsc_vec_push(to);

		if (!at)
			return fsc_err_nomem(err);
		memcpy(at, (const char *)from->data + i * from->size, to->size);
	}
	return 0;
}

static void sort(struct fsc_vec *v, int (*compare)(const void *, const void *))
{
	if (v->n)
		qsort(v->data, v->n, v->size, compare);
}

static size_t cut(const struct fsc_vec *v, size_t top)
{
	return top && v->n > top ? top : v->n;
}

static int fill_kernels(struct fsc_gpu_books *b, size_t top, struct fsc_gpu_report *r,
			struct fsc_err *err)
{
	struct fsc_vec *v = begin(b, KERNELS, sizeof(struct fsc_gpu_kernel_row));
	int rc = copy_rows(&b->kernels, v, err);

	sort(v, by_launches);
	r->kernels = v->data;
	r->n_kernels = cut(v, top);
	r->kernels_left_out = v->n - r->n_kernels;
	return rc;
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

static int fill_processes(struct fsc_gpu_books *b, size_t top, struct fsc_gpu_report *r,
			  struct fsc_err *err)
{
	struct fsc_vec *v = begin(b, PROCESSES, sizeof(struct fsc_gpu_process_row));
	int rc = copy_rows(&b->processes, v, err);

	sort(v, by_activity);
	r->processes = v->data;
	r->n_processes = cut(v, top);
	r->processes_left_out = v->n - r->n_processes;
	return rc;
}

static int fill_memory(struct fsc_gpu_books *b, size_t top, struct fsc_gpu_report *r,
		       struct fsc_err *err)
{
	struct fsc_vec *v = begin(b, MEMORY, sizeof(struct fsc_gpu_mem_row));
	int rc = copy_rows(&b->memory, v, err);

	sort(v, by_live);
	r->memory = v->data;
	r->n_memory = cut(v, top);
	r->memory_left_out = v->n - r->n_memory;
	return rc;
}

static int fill_syncs(struct fsc_gpu_books *b, size_t top, struct fsc_gpu_report *r,
		      struct fsc_err *err)
{
	struct fsc_vec *v = begin(b, SYNCS, sizeof(struct fsc_gpu_sync_row));

	for (size_t i = 0; i < b->syncs.n; i++) {
		const struct fsc_gpu_sync *s = FSC_AT(struct fsc_gpu_sync, &b->syncs, i);
		struct fsc_gpu_sync_row *row = fsc_vec_push(v);

		if (!row)
			return fsc_err_nomem(err);
		*row = s->row;
		row->stack = fsc_gpu_stacks_at(b->stacks, s->stack);
	}
	sort(v, by_time);
	r->syncs = v->data;
	r->n_syncs = cut(v, top);
	r->syncs_left_out = v->n - r->n_syncs;
	return 0;
}

static int fill_errors(struct fsc_gpu_books *b, size_t top, struct fsc_gpu_report *r,
		       struct fsc_err *err)
{
	struct fsc_vec *v = begin(b, ERRORS, sizeof(struct fsc_gpu_error_row));

	for (size_t i = 0; i < b->errors.n; i++) {
		const struct fsc_gpu_error *e = FSC_AT(struct fsc_gpu_error, &b->errors, i);
		struct fsc_gpu_error_row *row = fsc_vec_push(v);

		if (!row)
			return fsc_err_nomem(err);
		*row = e->row;
		row->stack = fsc_gpu_stacks_at(b->stacks, e->stack);
	}
	sort(v, by_errors);
	r->errors = v->data;
	r->n_errors = cut(v, top);
	r->errors_left_out = v->n - r->n_errors;
	return 0;
}

static int fill_ooms(struct fsc_gpu_books *b, size_t top, struct fsc_gpu_report *r,
		     struct fsc_err *err)
{
	struct fsc_vec *v = begin(b, OOMS, sizeof(struct fsc_gpu_oom));

	for (size_t i = 0; i < b->failures.n; i++) {
		struct fsc_gpu_failure *f = FSC_AT(struct fsc_gpu_failure, &b->failures, i);
		struct fsc_gpu_oom *o = fsc_vec_push(v);

		if (!o)
			return fsc_err_nomem(err);
		*o = (struct fsc_gpu_oom){.event = f->event,
					  .holders = f->holders.data,
					  .n_holders = cut(&f->holders, top),
					  .last = f->last,
					  .n_last = f->n_last,
					  .live_bytes = f->live_bytes,
					  .allocated = f->allocated,
					  .reserved = f->reserved,
					  .retried = f->retried};
		o->event.stack = fsc_gpu_stacks_at(b->stacks, f->stack);
	}
	r->ooms = v->data;
	r->n_ooms = v->n;
	return 0;
}

static int fill_copies(struct fsc_gpu_books *b, struct fsc_gpu_report *r, struct fsc_err *err)
{
	const struct fsc_gpu_copy_row *all = &b->copies[0][0][0];
	struct fsc_vec *v = &b->copy_rows;

	v->size = sizeof(*all);
	v->n = 0;
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

static uint64_t wall_ns(void)
{
	return fsc_clock_ns(CLOCK_REALTIME);
}

int fsc_gpu_books_report(struct fsc_gpu_books *b, const struct fsc_gpu_report_opts *o,
			 struct fsc_gpu_report *ret, struct fsc_err *err)
{
	uint64_t now = fsc_clock_mono();
	struct fsc_vec *leaks = begin(b, LEAKS, sizeof(struct fsc_gpu_leak_row));
	int rc;

	*ret = (struct fsc_gpu_report){.time_ns = wall_ns(),
				       .seconds = (double)(now - b->start_ns) / 1e9,
				       .launches = b->launches,
				       .unnamed = b->unnamed,
				       .captured = b->captured,
				       .graphs = b->graphs,
				       .memsets = b->memsets,
				       .memset_bytes = b->memset_bytes,
				       .unseen_frees = b->unseen_frees,
				       .last = o->last};
	rc = fill_processes(b, o->top, ret, err);
	if (!rc)
		rc = fill_kernels(b, o->top, ret, err);
	if (!rc)
		rc = fill_memory(b, o->top, ret, err);
	if (!rc)
		rc = fill_copies(b, ret, err);
	if (!rc)
		rc = fill_syncs(b, o->top, ret, err);
	if (!rc)
		rc = fill_errors(b, o->top, ret, err);
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
