/* Who holds memory: by stack for leaks, and when an allocation failed. */
#include <search.h>
#include <stdlib.h>

#include "gpu/books_priv.h"

struct holding {
	struct fsc_gpu_books *b;
	uint32_t process; /* 0: all */
	uint64_t now_ns;
	double age_s;
	struct fsc_vec *ret;
	struct fsc_map index;
	bool failed;
};

static void add_held(struct holding *h, const struct fsc_gpu_alloc *a)
{
	const struct fsc_gpu_mem_row *row = FSC_AT(struct fsc_gpu_mem_row, &h->b->memory, a->row);
	const struct fsc_gpu_process_row *p = fsc_gpu_books_at(h->b, a->process);
	double age = h->now_ns > a->time_ns ? (double)(h->now_ns - a->time_ns) / 1e9 : 0;
	uint32_t key[2] = {a->row, a->stack};
	struct fsc_gpu_leak_row *leak;
	uint64_t *at;
	bool fresh;

	if ((h->process && a->process != h->process) || (age < h->age_s && !(p && p->ended)))
		return;
	at = fsc_map_put(&h->index, key, sizeof(key), &fresh);
	if (at && fresh) {
		*at = h->ret->n;
		leak = fsc_vec_push(h->ret);
		if (leak)
			*leak = (struct fsc_gpu_leak_row){

			    .pid = row->pid,
			    .mem = a->mem,
			    .comm = row->comm,
			    .owner = row->owner,
			    .ended = p && p->ended,
			    .newest_s = age,
			    .stack = fsc_gpu_stacks_at(h->b->stacks, a->stack)};
	}
	if (!at || *at >= h->ret->n) {
		h->failed = true;
		return;
	}
	leak = FSC_AT(struct fsc_gpu_leak_row, h->ret, *at);
	leak->allocs++;
	leak->bytes += a->bytes;
	leak->oldest_s = age > leak->oldest_s ? age : leak->oldest_s;
	leak->newest_s = age < leak->newest_s ? age : leak->newest_s;
	if (leak->oldest_s - leak->newest_s > 0.001)
		leak->growth = (double)leak->bytes / (leak->oldest_s - leak->newest_s);
}

static void on_alloc(const void *node, VISIT which, void *arg)
{
	if (which == postorder || which == leaf)
		add_held(arg, *(struct fsc_gpu_alloc *const *)node);
}

static int by_bytes(const void *a, const void *b)
{
	const struct fsc_gpu_leak_row *x = a, *y = b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

int fsc_gpu_memory_held(struct fsc_gpu_books *b, uint32_t process, uint64_t now_ns, double age_s,
			struct fsc_vec *ret, struct fsc_err *err)
{
	struct holding h = {
	    .b = b, .process = process, .now_ns = now_ns, .age_s = age_s, .ret = ret};

	ret->n = 0;
	twalk_r(b->allocs, on_alloc, &h);
	fsc_map_release(&h.index);
	if (h.failed)
		return fsc_err_nomem(err);
	if (ret->n)
		qsort(ret->data, ret->n, ret->size, by_bytes);
	return 0;
}

int fsc_gpu_memory_failed(struct fsc_gpu_books *b, const struct fsc_gpu_event *e, uint32_t stack,
			  struct fsc_err *err)
{
	struct fsc_gpu_process_row *p = fsc_gpu_books_of(b, e->pid);
	struct fsc_gpu_failure *f;
	uint32_t row;
	int rc = fsc_gpu_memory_row(b, e, &row, err);

	if (rc)
		return rc;
	FSC_AT(struct fsc_gpu_mem_row, &b->memory, row)->failed++;
	/* 2: out of memory, in the driver and the runtime */
	if (e->ret != 2 || b->failures.n >= FSC_GPU_MOST_OOMS)
		return 0;
	f = fsc_vec_push(&b->failures);
	if (!f)
		return fsc_err_nomem(err);
	f->event = *e;
	f->event.stack = fsc_gpu_stacks_at(b->stacks, stack);
	f->live_bytes = p ? p->live_bytes : 0;
	f->holders = FSC_VEC_INIT(struct fsc_gpu_leak_row);
	for (size_t i = b->n_last;
	     i > 0 && f->n_last < FSC_GPU_LAST && i + FSC_GPU_LAST > b->n_last; i--)
		if (b->last[(i - 1) % FSC_GPU_LAST].pid == e->pid)
			f->last[f->n_last++] = b->last[(i - 1) % FSC_GPU_LAST];
	return fsc_gpu_memory_held(b, fsc_gpu_books_number(b, e->pid), e->time_ns, 0, &f->holders,
				   err);
}

/* PyTorch reports it after the driver failed, perhaps twice: applies to all failures of the last
 * second. */
void fsc_gpu_memory_tensor(struct fsc_gpu_books *b, const struct fsc_gpu_event *e)
{
	for (size_t i = b->failures.n; e->bytes && i > 0; i--) {
		struct fsc_gpu_failure *f = FSC_AT(struct fsc_gpu_failure, &b->failures, i - 1);

		if (f->event.pid != e->pid || f->reserved ||
		    e->time_ns - f->event.time_ns > 1000000000)
			continue;
		f->allocated = e->allocated;
		f->reserved = e->reserved;
	}
}
