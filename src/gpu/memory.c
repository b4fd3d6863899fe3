/* Memory totals: live allocations, their owner and age. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gpu/books_priv.h"
#include "proc/task.h"

static int compare_allocs(const void *a, const void *b)
{
	const struct fsc_gpu_alloc *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->handle != y->handle)
		return x->handle ? 1 : -1;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Finds the allocation around the address of x. */
static int compare_containing(const void *a, const void *b)
{
	const struct fsc_gpu_alloc *x = a, *y = b;

	if (x->process == y->process && !y->handle && x->addr >= y->addr &&
	    x->addr - y->addr < y->bytes)
		return 0;
	return compare_allocs(a, b);
}

static struct fsc_gpu_alloc *find_alloc(struct fsc_gpu_books *b, uint32_t process, uint64_t addr,
					bool handle)
{
	struct fsc_gpu_alloc key = {.process = process, .addr = addr, .handle = handle};
	struct fsc_gpu_alloc **at = tfind(&key, &b->allocs, compare_allocs);

	return at ? *at : NULL;
}

int fsc_gpu_memory_row(struct fsc_gpu_books *b, const struct fsc_gpu_event *e, uint32_t *ret,
		       struct fsc_err *err)
{
	struct {
		char sort[8];
		const char *owner;
		uint32_t process, mem;
	} key = {.sort = "memory",
		 .owner = e->owner,
		 .process = fsc_gpu_books_number(b, e->pid),
		 .mem = e->mem};
	bool fresh;
	int rc = fsc_gpu_row(b, &b->memory, &key, sizeof(key), ret, &fresh, err);

	if (!rc && fresh)
		*FSC_AT(struct fsc_gpu_mem_row, &b->memory, *ret) = (struct fsc_gpu_mem_row){
		    .pid = e->pid, .comm = e->comm, .owner = e->owner, .mem = e->mem};
	return rc;
}

static bool is_on_device(uint32_t mem)
{
	return mem != FSC_GPU_MEM_PINNED && mem != FSC_GPU_MEM_REGISTERED;
}

/* Subtracts an allocation from all totals and frees it. */
static void drop_alloc(struct fsc_gpu_books *b, struct fsc_gpu_alloc *a)
{
	struct fsc_gpu_mem_row *row = FSC_AT(struct fsc_gpu_mem_row, &b->memory, a->row);
	struct fsc_gpu_process_row *p = fsc_gpu_books_at(b, a->process);

	row->live--;
	row->live_bytes -= a->bytes;
	if (p && is_on_device(a->mem))
		p->live_bytes -= a->bytes;
	tdelete(a, &b->allocs, compare_allocs);
	b->n_allocs--;
	free(a);
}

static void note_last(struct fsc_gpu_books *b, const struct fsc_gpu_event *e)
{
	b->last[b->n_last++ % FSC_GPU_LAST] = *e;
}

static int hold_alloc(struct fsc_gpu_books *b, const struct fsc_gpu_event *e, uint32_t row,
		      uint32_t stack, struct fsc_err *err)
{
	struct fsc_gpu_mem_row *r = FSC_AT(struct fsc_gpu_mem_row, &b->memory, row);
	struct fsc_gpu_process_row *p = fsc_gpu_books_of(b, e->pid);
	struct fsc_gpu_alloc *a;

	if (b->n_allocs >= FSC_GPU_MOST_ALLOCS) {
		b->lost++;
		return 0;
	}
	a = calloc(1, sizeof(*a));
	if (!a)
		return fsc_err_nomem(err);
	*a = (struct fsc_gpu_alloc){.process = fsc_gpu_books_number(b, e->pid),
				    .handle = e->mem == FSC_GPU_MEM_VMM,
				    .addr = e->addr,
				    .bytes = e->bytes,
				    .time_ns = e->time_ns,
				    .mem = e->mem,
				    .row = row,
				    .stack = stack,
				    .api = e->via ? e->via : e->api};
	if (!tsearch(a, &b->allocs, compare_allocs)) {
		free(a);
		return fsc_err_nomem(err);
	}
	b->n_allocs++;
	r->live++;
	r->live_bytes += a->bytes;
	if (r->live_bytes > r->peak_bytes)
		r->peak_bytes = r->live_bytes;
	if (p && is_on_device(a->mem)) {
		p->live_bytes += a->bytes;
		if (p->live_bytes > p->peak_bytes)
			p->peak_bytes = p->live_bytes;
	}
	return 0;
}

/* An allocation of a size that failed before has succeeded. */
static void note_retry(struct fsc_gpu_books *b, const struct fsc_gpu_event *e)
{
	for (size_t i = 0; i < b->failures.n; i++) {
		struct fsc_gpu_failure *f = FSC_AT(struct fsc_gpu_failure, &b->failures, i);

		if (f->event.pid != e->pid || f->retried || !f->freed ||
		    f->event.bytes != e->bytes || e->time_ns - f->event.time_ns > 1000000000)
			continue;
		f->retried = true;
		b->retries++;
	}
}

int fsc_gpu_memory_alloc(struct fsc_gpu_books *b, const struct fsc_gpu_event *e, uint32_t stack,
			 struct fsc_err *err)
{
	struct fsc_gpu_process_row *p = fsc_gpu_books_of(b, e->pid);
	struct fsc_gpu_alloc *old;
	uint32_t row;
	int rc = fsc_gpu_memory_row(b, e, &row, err);

	if (rc)
		return rc;
	FSC_AT(struct fsc_gpu_mem_row, &b->memory, row)->allocs++;
	FSC_AT(struct fsc_gpu_mem_row, &b->memory, row)->bytes += e->bytes;
	if (p)
		p->allocs++;
	b->allocs_made++;
	note_last(b, e);
	note_retry(b, e);
	if (!is_on_device(e->mem))
		rc = fsc_gpu_hosts_pin(b, e->pid, e->addr, e->bytes, err);
	/* The same address again: the free was not seen. */
	old = find_alloc(b, fsc_gpu_books_number(b, e->pid), e->addr, e->mem == FSC_GPU_MEM_VMM);
	if (old)
		drop_alloc(b, old);
	return rc ? rc : hold_alloc(b, e, row, stack, err);
}

int fsc_gpu_memory_free(struct fsc_gpu_books *b, struct fsc_gpu_event *e, struct fsc_err *err)
{
	struct fsc_gpu_process_row *p = fsc_gpu_books_of(b, e->pid);
	bool handle = e->mem == FSC_GPU_MEM_VMM;
	struct fsc_gpu_alloc *a = find_alloc(b, fsc_gpu_books_number(b, e->pid), e->addr, handle);

	(void)err;
	for (size_t i = 0; i < b->failures.n; i++)
		if (FSC_AT(struct fsc_gpu_failure, &b->failures, i)->event.pid == e->pid)
			FSC_AT(struct fsc_gpu_failure, &b->failures, i)->freed = true;
	b->frees_made++;
	if (p)
		p->frees++;
	fsc_gpu_hosts_unpin(b, e->pid, e->addr);
	e->known = a;
	if (!a) {
		b->unseen_frees++;
		if (p)
			p->unknown_frees++;
		return 0;
	}
	e->bytes = a->bytes;
	e->mem = a->mem;
	FSC_AT(struct fsc_gpu_mem_row, &b->memory, a->row)->frees++;
	/* Memory of a handle stays until its last mapping is removed. */
	if (a->maps)
		a->released = true;
	else
		drop_alloc(b, a);
	return 0;
}

/* ---- mappings ---- */

int fsc_gpu_range_compare(const void *a, const void *b)
{
	const struct fsc_gpu_range *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->end <= y->start)
		return -1;
	return x->start >= y->end;
}

int fsc_gpu_books_map(struct fsc_gpu_books *b, uint32_t pid, uint64_t addr, uint64_t bytes,
		      uint64_t handle, struct fsc_err *err)
{
	uint32_t process = fsc_gpu_books_number(b, pid);
	struct fsc_gpu_alloc *a = find_alloc(b, process, handle, true);
	struct fsc_gpu_range *r;

	if (!a || !bytes)
		return 0;
	fsc_gpu_books_unmap(b, pid, addr, bytes);
	a = find_alloc(b, process, handle, true);
	if (!a)
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return fsc_err_nomem(err);
	*r = (struct fsc_gpu_range){
	    .process = process, .start = addr, .end = addr + bytes, .handle = handle};
	if (!tsearch(r, &b->maps, fsc_gpu_range_compare)) {
		free(r);
		return fsc_err_nomem(err);
	}
	a->maps++;
	return 0;
}

void fsc_gpu_books_unmap(struct fsc_gpu_books *b, uint32_t pid, uint64_t addr, uint64_t bytes)
{
	uint32_t process = fsc_gpu_books_number(b, pid);
	struct fsc_gpu_range key = {.process = process, .start = addr, .end = addr + bytes}, **at;

	while (bytes && (at = tfind(&key, &b->maps, fsc_gpu_range_compare))) {
		struct fsc_gpu_range *r = *at;
		struct fsc_gpu_alloc *a = find_alloc(b, process, r->handle, true);

		tdelete(r, &b->maps, fsc_gpu_range_compare);
		free(r);
		if (a && a->maps && !--a->maps && a->released)
			drop_alloc(b, a);
	}
}

bool fsc_gpu_memory_has(struct fsc_gpu_books *b, uint32_t pid, uint64_t addr, uint32_t *ret_mem)
{
	struct fsc_gpu_alloc key = {.process = fsc_gpu_books_number(b, pid), .addr = addr};
	struct fsc_gpu_range in = {.process = key.process, .start = addr, .end = addr + 1};
	struct fsc_gpu_alloc **at = tfind(&key, &b->allocs, compare_containing);

	if (at)
		*ret_mem = (*at)->mem;
	else if (tfind(&in, &b->maps, fsc_gpu_range_compare))
		*ret_mem = FSC_GPU_MEM_VMM;
	else
		return false;
	return true;
}

/* ---- the end ---- */

struct ending {
	uint32_t process;
	struct fsc_vec found; /* void * */
};

static void on_range(const void *node, VISIT which, void *arg)
{
	struct ending *e = arg;
	struct fsc_gpu_range *r = *(struct fsc_gpu_range *const *)node;
	void **slot;

	if ((which != postorder && which != leaf) || r->process != e->process)
		return;
	slot = fsc_vec_push(&e->found);
	if (slot)
		*slot = r;
}

/* Returns how many there were. */
static size_t drop_ranges(void **tree, uint32_t process)
{
	struct ending e = {.process = process, .found = FSC_VEC_INIT(void *)};
	size_t n;

	twalk_r(*tree, on_range, &e);
	n = e.found.n;
	for (size_t i = 0; i < n; i++) {
		void *r = *FSC_AT(void *, &e.found, i);

		tdelete(r, tree, fsc_gpu_range_compare);
		free(r);
	}
	fsc_vec_release(&e.found);
	return n;
}

void fsc_gpu_books_ended(struct fsc_gpu_books *b, uint32_t pid)
{
	struct fsc_gpu_process_row *p = fsc_gpu_books_of(b, pid);

	if (!p || p->ended)
		return;
	p->ended = true;
	/* Now, before the pid can be reused. */
	for (size_t i = 0; i < b->memory.n; i++) {
		struct fsc_gpu_mem_row *row = FSC_AT(struct fsc_gpu_mem_row, &b->memory, i);

		row->ended |= row->pid == pid;
	}
	drop_ranges(&b->maps, fsc_gpu_books_number(b, pid));
	b->n_hosts -= drop_ranges(&b->hosts, fsc_gpu_books_number(b, pid));
}

void fsc_gpu_books_find_exited(struct fsc_gpu_books *b)
{
	for (size_t i = 0; i < b->processes.n; i++) {
		const struct fsc_gpu_process_row *p =
		    FSC_AT(struct fsc_gpu_process_row, &b->processes, i);

		if (!p->ended && fsc_task_has_exited((pid_t)p->pid))
			fsc_gpu_books_ended(b, p->pid);
	}
}

void fsc_gpu_memory_release(struct fsc_gpu_books *b)
{
	tdestroy(b->allocs, free);
	tdestroy(b->maps, free);
	tdestroy(b->hosts, free);
	for (size_t i = 0; i < b->failures.n; i++)
		fsc_vec_release(&FSC_AT(struct fsc_gpu_failure, &b->failures, i)->holders);
}
