/* From records to events. An asynchronous copy is pending until its stream is synchronised or
 * gets more work. */
#include "gpu/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timeline.h"
#include "gpu/calls.h"
#include "gpu/kernels.h"

/* The last operation on a stream. */
struct stream {
	uint64_t handle;
	uint32_t pid;
	bool idle;    /* synchronised, and no work was queued since */
	bool pending; /* copy has not been synchronised yet */
	struct fsc_gpu_event copy;
	uint32_t stack;
};

struct fsc_gpu_events {
	struct fsc_gpu_events_opts opts;
	struct fsc_gpu_events_to to;
	struct fsc_gpu_kernels *kernels;
	struct fsc_timeline taken; /* records, by the end of their call */
	struct fsc_map index;	   /* process and handle -> stream */
	struct fsc_vec streams;
	struct fsc_map devices; /* process and context -> device + 1 */
	uint64_t kept;
};

int fsc_gpu_events_new(const struct fsc_gpu_events_opts *opts, const struct fsc_gpu_events_to *to,
		       struct fsc_gpu_events **ret, struct fsc_err *err)
{
	struct fsc_gpu_events *v = calloc(1, sizeof(*v));
	int rc;

	if (!v)
		return fsc_err_nomem(err);
	v->opts = *opts;
	v->to = *to;
	fsc_timeline_init(&v->taken);
	v->streams = FSC_VEC_INIT(struct stream);
	rc = fsc_gpu_kernels_new(opts, &v->kernels, err);
	if (rc)
		fsc_gpu_events_free(v);
	else
		*ret = v;
	return rc;
}

void fsc_gpu_events_free(struct fsc_gpu_events *v)
{
	if (!v)
		return;
	fsc_gpu_kernels_free(v->kernels);
	fsc_timeline_release(&v->taken);
	fsc_vec_release(&v->streams);
	fsc_map_release(&v->index);
	fsc_map_release(&v->devices);
	free(v);
}

int fsc_gpu_events_take(struct fsc_gpu_events *v, const void *rec, size_t size, struct fsc_err *err)
{
	const struct fsc_gpu_rec *r = rec;

	return fsc_timeline_add(&v->taken, r->time_ns + r->dur_ns, rec, size, err);
}

/* ---- what a record says ---- */

static const enum fsc_gpu_type types[FSC_GPU_OP_MAX] = {
    [FSC_GPU_FRAME] = FSC_GPU_EV_OTHER,	      [FSC_GPU_LAUNCH] = FSC_GPU_EV_LAUNCH,
    [FSC_GPU_LAUNCH_DIM] = FSC_GPU_EV_LAUNCH, [FSC_GPU_LAUNCH_EX] = FSC_GPU_EV_LAUNCH,
    [FSC_GPU_GRAPH] = FSC_GPU_EV_LAUNCH,      [FSC_GPU_ALLOC] = FSC_GPU_EV_ALLOC,
    [FSC_GPU_FREE] = FSC_GPU_EV_FREE,	      [FSC_GPU_MAP] = FSC_GPU_EV_OTHER,
    [FSC_GPU_UNMAP] = FSC_GPU_EV_OTHER,	      [FSC_GPU_COPY] = FSC_GPU_EV_COPY,
    [FSC_GPU_COPY_2D] = FSC_GPU_EV_COPY,      [FSC_GPU_COPY_3D] = FSC_GPU_EV_COPY,
    [FSC_GPU_COPY_BATCH] = FSC_GPU_EV_COPY,   [FSC_GPU_MEMSET] = FSC_GPU_EV_MEMSET,
    [FSC_GPU_SYNC] = FSC_GPU_EV_SYNC,	      [FSC_GPU_NAME] = FSC_GPU_EV_OTHER,
    [FSC_GPU_ALIAS] = FSC_GPU_EV_OTHER,	      [FSC_GPU_CAPTURE] = FSC_GPU_EV_OTHER,
    [FSC_GPU_CAPTURED] = FSC_GPU_EV_OTHER,    [FSC_GPU_INSTANTIATE] = FSC_GPU_EV_OTHER,
    [FSC_GPU_DEVICE] = FSC_GPU_EV_OTHER,      [FSC_GPU_CONTEXT] = FSC_GPU_EV_OTHER,
    [FSC_GPU_RETAIN] = FSC_GPU_EV_OTHER,      [FSC_GPU_TENSOR] = FSC_GPU_EV_TENSOR,
    [FSC_GPU_TENSOR_OOM] = FSC_GPU_EV_TENSOR,
};

/* A context or stream of a process. */
struct handle_key {
	uint64_t handle;
	uint32_t pid, pad;
};

static int device_of(const struct fsc_gpu_events *v, const struct fsc_gpu_rec *r)
{
	struct handle_key key = {.handle = r->context, .pid = r->pid};
	const uint64_t *at;

	if (v->opts.device >= 0)
		return v->opts.device;
	at = r->context ? fsc_map_get(&v->devices, &key, sizeof(key)) : NULL;
	return at ? (int)*at - 1 : r->device;
}

static int note_device(struct fsc_gpu_events *v, const struct fsc_gpu_rec *r, struct fsc_err *err)
{
	struct handle_key key = {.handle = r->addr, .pid = r->pid};
	uint64_t *at = fsc_map_put(&v->devices, &key, sizeof(key), NULL);

	if (!at)
		return fsc_err_nomem(err);
	*at = (uint32_t)r->src + 1;
	return 0;
}

static const char *error_text(struct fsc_gpu_events *v, const struct fsc_gpu_rec *r)
{
	const char *name = fsc_gpu_error_name(r->call, r->ret);
	char number[24];

	if (name)
		return name;
	snprintf(number, sizeof(number), "error %d", r->ret);
	return fsc_gpu_text(v->opts.texts, number);
}

static void fill_tensor(struct fsc_gpu_event *e, const struct fsc_gpu_rec *r, bool oom)
{
	e->delta = (int64_t)r->bytes;
	e->bytes = oom ? r->bytes : 0;
	e->allocated = r->args[0];
	e->reserved = r->args[1];
	e->device = (int)((r->args[2] >> 8) & 0x7f);
}

static const char *comm_of(struct fsc_gpu_events *v, const struct fsc_gpu_rec *r)
{
	char comm[FSC_COMM_LEN + 1] = "";

	memcpy(comm, r->comm, FSC_COMM_LEN);
	return fsc_gpu_text(v->opts.texts, comm);
}

static int fill_event(struct fsc_gpu_events *v, const struct fsc_gpu_rec *r,
		      const struct fsc_gpu_call *c, struct fsc_gpu_event *e, struct fsc_err *err)
{
	*e = (struct fsc_gpu_event){
	    .type = types[c->op],
	    .time_ns = r->time_ns,
	    .dur_ns = r->dur_ns,
	    .timed = r->flags & FSC_GPU_REC_RETURN,
	    .pid = r->pid,
	    .tid = r->tid,
	    .ppid = r->ppid,
	    .inner_pid = fsc_gpu_books_inner(v->opts.books, r->pid),
	    .comm = comm_of(v, r),
	    .api = fsc_gpu_call_name(r->call),
	    .via = fsc_gpu_call_name(r->via),
	    .library = fsc_gpu_call_name(r->library),
	    .owner = fsc_gpu_stacks_owner(v->opts.stacks, (pid_t)r->pid, r->caller),
	    .device = device_of(v, r),
	    .ret = r->ret,
	    .stream = r->stream,
	    .addr = r->addr,
	    .src = r->src,
	    .bytes = r->bytes,
	    .mem = c->kind,
	    .dir = r->dir,
	    .captured = r->flags & FSC_GPU_REC_CAPTURED,
	    .async = c->flags & FSC_GPU_ASYNC,
	    .timing = c->flags & FSC_GPU_ASYNC ? FSC_GPU_ENQUEUE : FSC_GPU_COMPLETE,
	};
	if (!e->comm)
		return fsc_err_nomem(err);
	if (r->ret)
		e->error = error_text(v, r);
	if (e->type == FSC_GPU_EV_COPY && c->op == FSC_GPU_COPY_BATCH)
		e->cut = r->shared;
	if (e->type == FSC_GPU_EV_TENSOR)
		fill_tensor(e, r, c->op == FSC_GPU_TENSOR_OOM);
	if (e->type != FSC_GPU_EV_LAUNCH)
		return 0;
	e->launch = c->kind;
	memcpy(e->grid, r->grid, sizeof(e->grid));
	memcpy(e->block, r->block, sizeof(e->block));
	e->shared = r->shared;
	e->args = (const uint64_t *)(const void *)r->args;
	e->n_args = r->n_args;
	return c->op == FSC_GPU_GRAPH ? 0 : fsc_gpu_kernels_name(v->kernels, r, c->layer, e, err);
}

/* ---- streams ---- */

static struct stream *find_or_add_stream(struct fsc_gpu_events *v, uint32_t pid, uint64_t handle)
{
	enum { MOST = 65536 };
	struct handle_key key = {.handle = handle, .pid = pid};
	uint64_t *at = fsc_map_get(&v->index, &key, sizeof(key));
	struct stream *s;

	if (at)
		return FSC_AT(struct stream, &v->streams, *at);
	s = v->streams.n < MOST ? fsc_vec_push(&v->streams) : NULL;
	at = s ? fsc_map_put(&v->index, &key, sizeof(key), NULL) : NULL;
	if (!at)
		return NULL;
	*at = v->streams.n - 1;
	*s = (struct stream){.handle = handle, .pid = pid};
	return s;
}

/* Adds an event to the totals, which complete it, and passes it on. */
static int publish_event(struct fsc_gpu_events *v, struct fsc_gpu_event *e, uint32_t stack,
			 struct fsc_err *err)
{
	int rc;

	e->stack = fsc_gpu_stacks_at(v->opts.stacks, stack);
	rc = fsc_gpu_books_add(v->opts.books, e, stack, err);
	return rc ? rc : v->to.event(v->to.arg, e, stack, err);
}

/* Publishes a pending copy without its end: work queued behind it hides when it ended. */
static int publish_pending(struct fsc_gpu_events *v, struct stream *s, struct fsc_err *err)
{
	if (!s->pending)
		return 0;
	s->pending = s->idle = false;
	return publish_event(v, &s->copy, s->stack, err);
}

/* Streams were synchronised. A copy queued on an idle stream took no longer than until now. */
static int complete_streams(struct fsc_gpu_events *v, const struct fsc_gpu_event *e, bool all,
			    struct fsc_err *err)
{
	uint64_t now = e->time_ns + e->dur_ns;
	int rc = 0;

	for (size_t i = 0; !rc && i < v->streams.n; i++) {
		struct stream *s = FSC_AT(struct stream, &v->streams, i);

		if (s->pid != e->pid || (!all && s->handle != e->stream))
			continue;
		if (s->pending && s->idle) {
			s->copy.timing = FSC_GPU_SYNCHRONISED;
			s->copy.dur_ns = now - s->copy.time_ns;
			s->copy.timed = true;
		}
		rc = publish_pending(v, s, err);
		s->idle = true;
	}
	return rc;
}

static bool is_work(const struct fsc_gpu_event *e)
{
	return !e->error && (e->type == FSC_GPU_EV_LAUNCH || e->type == FSC_GPU_EV_COPY ||
			     e->type == FSC_GPU_EV_MEMSET);
}

static int queue_event(struct fsc_gpu_events *v, const struct fsc_gpu_call *c,
		       struct fsc_gpu_event *e, uint32_t stack, struct fsc_err *err)
{
	struct stream *s;
	int rc = 0;

	if (e->type == FSC_GPU_EV_SYNC && !e->error && !(c->flags & FSC_GPU_ON_EVENT))
		rc = complete_streams(v, e, c->stream == FSC_GPU_NO_ARG || !e->stream, err);
	if (rc || !is_work(e))
		return rc ? rc : publish_event(v, e, stack, err);
	s = find_or_add_stream(v, e->pid, e->stream);
	if (!s)
		return publish_event(v, e, stack, err);
	rc = publish_pending(v, s, err);
	if (rc)
		return rc;
	if (e->type == FSC_GPU_EV_COPY && e->async && !e->captured) {
		s->copy = *e;
		s->stack = stack;
		s->pending = true;
		return 0; /* idle is kept as it was before the copy */
	}
	s->idle = false;
	return publish_event(v, e, stack, err);
}

/* ---- in order ---- */

/* A record that is no event, but changes the meaning of later ones. */
static int apply_record(struct fsc_gpu_events *v, const struct fsc_gpu_rec *r,
			const struct fsc_gpu_call *c, struct fsc_err *err)
{
	switch (c->op) {
	case FSC_GPU_NAME:
	case FSC_GPU_ALIAS:
		return fsc_gpu_kernels_learn(v->kernels, r, c->op == FSC_GPU_ALIAS, err);
	case FSC_GPU_MAP:
		return fsc_gpu_books_map(v->opts.books, r->pid, r->addr, r->bytes, r->src, err);
	case FSC_GPU_UNMAP:
		fsc_gpu_books_unmap(v->opts.books, r->pid, r->addr, r->bytes);
		return 0;
	case FSC_GPU_CAPTURE:
	case FSC_GPU_CAPTURED:
		return fsc_gpu_books_graph(v->opts.books, r->pid, c->op, r->addr, r->stream, err);
	case FSC_GPU_INSTANTIATE:
		return fsc_gpu_books_graph(v->opts.books, r->pid, c->op, r->addr, r->src, err);
	case FSC_GPU_RETAIN:
		return note_device(v, r, err);
	default:
		return 0;
	}
}

/* At a process's first call: its mappings must be known before anything is named. */
static int ensure_process(struct fsc_gpu_events *v, const struct fsc_gpu_rec *r,
			  struct fsc_err *err)
{
	struct fsc_gpu_event e = {.pid = r->pid, .ppid = r->ppid, .time_ns = r->time_ns};
	struct fsc_gpu_process_facts facts = {0};
	int rc;

	if (fsc_gpu_books_knows(v->opts.books, r->pid))
		return 0;
	e.comm = comm_of(v, r);
	rc = e.comm ? v->to.process(v->to.arg, r->pid, &facts, err) : fsc_err_nomem(err);
	return rc ? rc : fsc_gpu_books_process(v->opts.books, &e, &facts, err);
}

static int take_record(void *record, size_t size, void *arg, struct fsc_err *err)
{
	struct fsc_gpu_events *v = arg;
	const struct fsc_gpu_rec *r = record;
	const struct fsc_gpu_call *c = &fsc_gpu_rows[r->call].call;
	const void *stacks = r->flags & FSC_GPU_REC_STACK ? r + 1 : NULL;
	struct fsc_gpu_event e;
	uint32_t stack = 0;
	int rc = ensure_process(v, r, err);

	(void)size;
	v->kept++;
	if (!rc)
		rc = fill_event(v, r, c, &e, err);
	if (!rc && stacks)
		rc = fsc_gpu_stacks_take(v->opts.stacks, r, stacks, &stack, err);
	if (rc)
		return rc;
	if (e.type == FSC_GPU_EV_OTHER && !e.error)
		return apply_record(v, r, c, err);
	if (e.type == FSC_GPU_EV_FREE && !e.addr && !e.error)
		return 0; /* cudaFree(NULL) is allowed */
	return queue_event(v, c, &e, stack, err);
}

int fsc_gpu_events_flush(struct fsc_gpu_events *v, uint64_t until_ns, struct fsc_err *err)
{
	return fsc_timeline_take(&v->taken, until_ns, take_record, v, err);
}

uint64_t fsc_gpu_events_pending(const struct fsc_gpu_events *v)
{
	uint64_t n = 0;

	for (size_t i = 0; i < v->streams.n; i++)
		n += FSC_AT(struct stream, &v->streams, i)->pending;
	return n;
}

int fsc_gpu_events_settle(struct fsc_gpu_events *v, uint32_t pid, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < v->streams.n; i++) {
		struct stream *s = FSC_AT(struct stream, &v->streams, i);

		if (!pid || s->pid == pid)
			rc = publish_pending(v, s, err);
	}
	return rc;
}

/* Remaining streams move, so the index is rebuilt. */
void fsc_gpu_events_forget(struct fsc_gpu_events *v, uint32_t pid)
{
	size_t n = 0;

	fsc_gpu_kernels_forget(v->kernels, pid);
	for (size_t i = 0; i < v->streams.n; i++)
		if (FSC_AT(struct stream, &v->streams, i)->pid != pid)
			*FSC_AT(struct stream, &v->streams, n++) =
			    *FSC_AT(struct stream, &v->streams, i);
	if (n == v->streams.n)
		return;
	v->streams.n = n;
	fsc_map_release(&v->index);
	for (size_t i = 0; i < n; i++) {
		const struct stream *s = FSC_AT(struct stream, &v->streams, i);
		struct handle_key key = {.handle = s->handle, .pid = s->pid};
		uint64_t *at = fsc_map_put(&v->index, &key, sizeof(key), NULL);

		if (at)
			*at = i;
	}
}

uint64_t fsc_gpu_events_kept(const struct fsc_gpu_events *v)
{
	return v->kept;
}
