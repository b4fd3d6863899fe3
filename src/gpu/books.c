/* The rows of the totals, and which event is counted where. */
#include "gpu/books.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gpu/books_priv.h"

int fsc_gpu_books_new(struct fsc_gpu_stacks *stacks, struct fsc_gpu_books **ret,
		      struct fsc_err *err)
{
	struct fsc_gpu_books *b = calloc(1, sizeof(*b));

	if (!b)
		return fsc_err_nomem(err);
	b->stacks = stacks;
	b->start_ns = fsc_clock_mono();
	b->processes = FSC_VEC_INIT(struct fsc_gpu_process_row);
	b->kernels = FSC_VEC_INIT(struct fsc_gpu_kernel_row);
	b->memory = FSC_VEC_INIT(struct fsc_gpu_mem_row);
	b->syncs = FSC_VEC_INIT(struct fsc_gpu_sync_row);
	b->errors = FSC_VEC_INIT(struct fsc_gpu_error_row);
	b->failures = FSC_VEC_INIT(struct fsc_gpu_failure);
	b->findings = FSC_VEC_INIT(char *);
	*ret = b;
	return 0;
}

void fsc_gpu_books_free(struct fsc_gpu_books *b)
{
	if (!b)
		return;
	fsc_gpu_memory_release(b);
	fsc_map_release(&b->index);
	fsc_map_release(&b->pids);
	fsc_map_release(&b->graphs_of);
	fsc_vec_release(&b->processes);
	fsc_vec_release(&b->kernels);
	fsc_vec_release(&b->memory);
	fsc_vec_release(&b->syncs);
	fsc_vec_release(&b->errors);
	fsc_vec_release(&b->failures);
	for (size_t i = 0; i < sizeof(b->rows) / sizeof(b->rows[0]); i++)
		fsc_vec_release(&b->rows[i]);
	fsc_vec_release_owned(&b->findings);
	free(b);
}

/* Beyond FSC_GPU_MOST_ROWS, the last row is shared. */
int fsc_gpu_row(struct fsc_gpu_books *b, struct fsc_vec *v, const void *key, size_t n,
		uint32_t *ret, bool *fresh, struct fsc_err *err)
{
	uint64_t *at = fsc_map_get(&b->index, key, n);

	*ret = 0;
	*fresh = false;
	if (at || v->n >= FSC_GPU_MOST_ROWS) {
		*ret = at ? (uint32_t)*at : (uint32_t)v->n - 1;
		return 0;
	}
	at = fsc_map_put(&b->index, key, n, fresh);
	if (!at)
		return fsc_err_nomem(err);
	*ret = (uint32_t)(*at = v->n);
	return fsc_vec_push(v) ? 0 : fsc_err_nomem(err);
}

/* ---- processes ---- */

uint32_t fsc_gpu_books_number(const struct fsc_gpu_books *b, uint32_t pid)
{
	const uint64_t *at = fsc_map_get(&b->pids, &pid, sizeof(pid));

	return at ? (uint32_t)*at : 0;
}

struct fsc_gpu_process_row *fsc_gpu_books_at(struct fsc_gpu_books *b, uint32_t number)
{
	return number ? FSC_AT(struct fsc_gpu_process_row, &b->processes, number - 1) : NULL;
}

bool fsc_gpu_books_knows(const struct fsc_gpu_books *b, uint32_t pid)
{
	uint32_t number = fsc_gpu_books_number(b, pid);

	return number && !FSC_AT(struct fsc_gpu_process_row, &b->processes, number - 1)->ended;
}

uint32_t fsc_gpu_books_inner(const struct fsc_gpu_books *b, uint32_t pid)
{
	uint32_t number = fsc_gpu_books_number(b, pid);

	return number ? FSC_AT(struct fsc_gpu_process_row, &b->processes, number - 1)->inner_pid
		      : 0;
}

int fsc_gpu_books_process(struct fsc_gpu_books *b, const struct fsc_gpu_event *e,
			  const struct fsc_gpu_process_facts *f, struct fsc_err *err)
{
	uint64_t *at = fsc_map_put(&b->pids, &e->pid, sizeof(e->pid), NULL);
	struct fsc_gpu_process_row *p;

	if (!at)
		return fsc_err_nomem(err);
	if (b->processes.n >= FSC_GPU_MOST_ROWS) {
		*at = b->processes.n; /* later ones share the last row */
		return 0;
	}
	p = fsc_vec_push(&b->processes);
	if (!p)
		return fsc_err_nomem(err);
	*at = b->processes.n;
	*p = (struct fsc_gpu_process_row){.pid = e->pid,
					  .inner_pid = f->inner_pid,
					  .ppid = e->ppid,
					  .comm = e->comm,
					  .python = f->python,
					  .before = f->before,
					  .first_ns = e->time_ns};
	return 0;
}

/* ---- events ---- */

/* The number of kernels in a graph: counted on the capturing stream ('s'), moved to the graph
 * ('g') and copied to its executable ('x'). */
static uint64_t *graph(struct fsc_gpu_books *b, uint32_t pid, char sort, uint64_t handle)
{
	struct {
		uint64_t handle;
		uint32_t process;
		char sort[4];
	} key = {.handle = handle, .process = fsc_gpu_books_number(b, pid), .sort = {sort}};

	return fsc_map_put(&b->graphs_of, &key, sizeof(key), NULL);
}

int fsc_gpu_books_graph(struct fsc_gpu_books *b, uint32_t pid, uint32_t op, uint64_t to,
			uint64_t from, struct fsc_err *err)
{
	char sorts[2] = {op == FSC_GPU_INSTANTIATE ? 'g' : 's',
			 op == FSC_GPU_INSTANTIATE ? 'x' : 'g'};
	uint64_t *source = graph(b, pid, sorts[0], from), n, *target;

	if (!source)
		return fsc_err_nomem(err);
	n = *source;
	if (op == FSC_GPU_CAPTURE || op == FSC_GPU_CAPTURED)
		*source = 0;
	if (op == FSC_GPU_CAPTURE)
		return 0;
	target = graph(b, pid, sorts[1], to);
	if (!target)
		return fsc_err_nomem(err);
	*target = n;
	return 0;
}

static int add_launch(struct fsc_gpu_books *b, struct fsc_gpu_event *e, struct fsc_err *err)
{
	struct {
		char sort[8];
		const char *kernel, *owner, *library;
		uint64_t launch;
	} key = {.sort = "kernel",
		 .kernel = e->kernel,
		 .owner = e->owner,
		 .library = e->library,
		 .launch = e->launch};
	struct fsc_gpu_process_row *p = fsc_gpu_books_of(b, e->pid);
	struct fsc_gpu_kernel_row *row;
	uint64_t *captured;
	uint32_t number;
	bool fresh;
	int rc = fsc_gpu_row(b, &b->kernels, &key, sizeof(key), &number, &fresh, err);

	if (rc)
		return rc;
	row = FSC_AT(struct fsc_gpu_kernel_row, &b->kernels, number);
	if (fresh)
		*row = (struct fsc_gpu_kernel_row){.kernel = e->kernel,
						   .owner = e->owner,
						   .library = e->library,
						   .launch = e->launch};
	row->launches++;
	row->captured += e->captured;
	memcpy(row->grid, e->grid, sizeof(row->grid));
	memcpy(row->block, e->block, sizeof(row->block));
	row->shared = e->shared;
	b->launches++;
	b->captured += e->captured;
	if (p)
		p->launches++;
	if (e->launch == FSC_GPU_GRAPH_LAUNCH) {
		b->graphs++;
		captured = graph(b, e->pid, 'x', e->addr);
		e->graph_kernels = captured ? (uint32_t)*captured : 0;
		return 0;
	}
	b->unnamed += !e->kernel;
	captured = e->captured ? graph(b, e->pid, 's', e->stream) : NULL;
	if (captured)
		++*captured;
	return 0;
}

static int add_sync(struct fsc_gpu_books *b, const struct fsc_gpu_event *e, uint32_t stack,
		    struct fsc_err *err)
{
	struct {
		char sort[8];
		const char *api, *via;
		uint64_t stack;
	} key = {.sort = "sync", .api = e->api, .via = e->via, .stack = stack};
	struct fsc_gpu_process_row *p = fsc_gpu_books_of(b, e->pid);
	struct fsc_gpu_sync_row *row;
	uint32_t number;
	bool fresh;
	int rc = fsc_gpu_row(b, &b->syncs, &key, sizeof(key), &number, &fresh, err);

	if (rc)
		return rc;
	row = FSC_AT(struct fsc_gpu_sync_row, &b->syncs, number);
	if (fresh)
		*row = (struct fsc_gpu_sync_row){
		    .api = e->api, .via = e->via, .stack = fsc_gpu_stacks_at(b->stacks, stack)};
	row->calls++;
	row->ns += e->dur_ns;
	if (e->dur_ns > row->max_ns)
		row->max_ns = e->dur_ns;
	if (p) {
		p->syncs++;
		p->sync_ns += e->dur_ns;
	}
	return 0;
}

static int add_error(struct fsc_gpu_books *b, const struct fsc_gpu_event *e, uint32_t stack,
		     struct fsc_err *err)
{
	struct {
		char sort[8];
		const char *api, *via;
		int32_t code;
		uint32_t stack;
	} key = {.sort = "error", .api = e->api, .via = e->via, .code = e->ret, .stack = stack};
	struct fsc_gpu_process_row *p = fsc_gpu_books_of(b, e->pid);
	struct fsc_gpu_error_row *row;
	uint32_t number;
	bool fresh;
	int rc = fsc_gpu_row(b, &b->errors, &key, sizeof(key), &number, &fresh, err);

	if (rc)
		return rc;
	row = FSC_AT(struct fsc_gpu_error_row, &b->errors, number);
	if (fresh)
		*row = (struct fsc_gpu_error_row){.api = e->api,
						  .via = e->via,
						  .error = e->error,
						  .code = e->ret,
						  .stack = fsc_gpu_stacks_at(b->stacks, stack)};
	row->n++;
	if (p)
		p->errors++;
	return e->type == FSC_GPU_EV_ALLOC ? fsc_gpu_memory_failed(b, e, stack, err) : 0;
}

int fsc_gpu_books_add(struct fsc_gpu_books *b, struct fsc_gpu_event *e, uint32_t stack,
		      struct fsc_err *err)
{
	struct fsc_gpu_process_row *p = fsc_gpu_books_of(b, e->pid);

	if (p)
		p->last_ns = e->time_ns + e->dur_ns;
	if (e->error)
		return add_error(b, e, stack, err);
	switch (e->type) {
	case FSC_GPU_EV_LAUNCH:
		return add_launch(b, e, err);
	case FSC_GPU_EV_ALLOC:
		return fsc_gpu_memory_alloc(b, e, stack, err);
	case FSC_GPU_EV_FREE:
		return fsc_gpu_memory_free(b, e, err);
	case FSC_GPU_EV_COPY:
		return fsc_gpu_copies_add(b, e, err);
	case FSC_GPU_EV_SYNC:
		return add_sync(b, e, stack, err);
	case FSC_GPU_EV_MEMSET:
		b->memsets++;
		b->memset_bytes += e->bytes;
		if (p)
			p->memsets++;
		return 0;
	case FSC_GPU_EV_TENSOR:
		fsc_gpu_memory_tensor(b, e);
		return 0;
	default:
		return 0;
	}
}
