/* A trace for ui.perfetto.dev and chrome://tracing, in the Trace Event Format: one JSON document
 * that is written as events come and closed with the books. A thread's calls are on its track, with
 * their durations; work given to a stream is on the stream's track at the time it was enqueued
 * (when the GPU did it is not known); memory is a counter of its process. Viewers also accept a
 * document that was not closed. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "sink/gpu_text.h"
#include "sink/sink.h"

/* Streams get tids that no thread has: the kernel's are below 2^22. */
enum { FIRST_STREAM = 10000000 };

enum about { A_PROCESS, A_THREAD, A_STREAM, A_DEVICE_MEMORY, A_HOST_MEMORY };

/* What was written before. */
struct key {
	uint32_t about, pid;
	uint64_t id; /* thread or stream */
};

struct own {
	struct fsc_map seen; /* struct key -> tid of a stream, bytes of memory */
	uint64_t streams;
};

static void perfetto_release(struct fsc_sink *s)
{
	struct own *own = s->own;

	fsc_map_release(&own->seen);
	free(own);
}

/* NULL when memory is out; the buffer is then marked as failed. */
static uint64_t *find_or_add(struct fsc_sink *s, struct key key, bool *ret_new, struct fsc_buf *b)
{
	struct own *own;
	uint64_t *at;

	if (!s->own)
		s->own = calloc(1, sizeof(struct own));
	own = s->own;
	at = own ? fsc_map_put(&own->seen, &key, sizeof(key), ret_new) : NULL;
	if (!at)
		b->failed = true;
	return at;
}

/* ---- parts of an event ---- */

/* Microseconds, with decimals. */
static void add_us(struct fsc_buf *b, const char *key, uint64_t ns)
{
	fsc_json_printf(b, key, "%llu.%03llu", (unsigned long long)(ns / 1000),
			(unsigned long long)(ns % 1000));
}

static void begin_document(struct fsc_sink *s, struct fsc_buf *b)
{
	s->begun = true;
	fsc_json_begin(b, NULL, '{');
	fsc_json_string(b, "displayTimeUnit", "ns");
	fsc_json_begin(b, "traceEvents", '[');
}

/* Writes the comma itself: the event before is in another buffer. */
static void begin_event(struct fsc_sink *s, const char *phase, const char *name, uint32_t pid,
			uint64_t tid, struct fsc_buf *b)
{
	if (s->begun)
		fsc_buf_putc(b, ',');
	else
		begin_document(s, b);
	fsc_buf_putc(b, '\n');
	fsc_json_begin(b, NULL, '{');
	fsc_json_string(b, "ph", phase);
	fsc_json_uint(b, "pid", pid);
	fsc_json_uint(b, "tid", tid);
	fsc_json_string(b, "name", name);
}

/* Ends the arguments and the event. */
static void end_args(struct fsc_buf *b)
{
	fsc_json_end(b, '}');
	fsc_json_end(b, '}');
}

/* A name for a process or one of its tracks. */
static void put_name(struct fsc_sink *s, const char *what, uint32_t pid, uint64_t tid,
		     const char *name, struct fsc_buf *b)
{
	begin_event(s, "M", what, pid, tid, b);
	fsc_json_begin(b, "args", '{');
	fsc_json_string(b, "name", name);
	end_args(b);
}

static void name_thread(struct fsc_sink *s, uint32_t pid, uint32_t tid, const char *comm,
			struct fsc_buf *b)
{
	bool is_new = false;

	if (!find_or_add(s, (struct key){.about = A_PROCESS, .pid = pid}, &is_new, b))
		return;
	if (is_new)
		put_name(s, "process_name", pid, pid, comm ? comm : "", b);
	if (!find_or_add(s, (struct key){.about = A_THREAD, .pid = pid, .id = tid}, &is_new, b))
		return;
	if (is_new)
		put_name(s, "thread_name", pid, tid, comm ? comm : "", b);
}

/* The tid of a stream's track; 0 when memory is out. */
static uint64_t track_of(struct fsc_sink *s, const struct fsc_gpu_event *e, struct fsc_buf *b)
{
	struct key key = {.about = A_STREAM, .pid = e->pid, .id = e->stream};
	bool is_new = false;
	uint64_t *at = find_or_add(s, key, &is_new, b);
	char name[64];

	if (!at || !is_new)
		return at ? *at : 0;
	*at = FIRST_STREAM + ((struct own *)s->own)->streams++;
	snprintf(name, sizeof(name), "stream 0x%llx (enqueued)", (unsigned long long)e->stream);
	put_name(s, "thread_name", e->pid, *at, name, b);
	return *at;
}

/* ---- arguments of an event ---- */

static void add_dims(struct fsc_buf *b, const char *key, const uint32_t dims[3])
{
	fsc_json_printf(b, key, "\"%ux%ux%u\"", dims[0], dims[1], dims[2]);
}

static void add_launch(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_json_string_if(b, "kind", fsc_gpu_launch_names[e->launch]);
	fsc_json_string_if(b, "kernel", e->kernel);
	fsc_json_bool_if(b, "captured", e->captured);
	if (e->launch == FSC_GPU_GRAPH_LAUNCH)
		return;
	add_dims(b, "grid", e->grid);
	add_dims(b, "block", e->block);
	fsc_json_uint(b, "shared", e->shared);
}

static void add_copy(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_json_uint(b, "bytes", e->bytes);
	fsc_json_string_if(b, "direction", fsc_gpu_dir_names[e->dir]);
	if (e->host != FSC_GPU_HOST_NONE)
		fsc_json_string_if(b, "host", fsc_gpu_host_names[e->host]);
	fsc_json_string_if(b, "timing", fsc_gpu_timing_names[e->timing]);
}

/* Also ends the event. */
static void add_args(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_json_begin(b, "args", '{');
	fsc_json_string(b, "api", e->api ? e->api : "");
	fsc_json_string_if(b, "via", e->via);
	fsc_json_string_if(b, "library", e->library);
	fsc_json_string_if(b, "owner", e->owner);
	if (e->device >= 0)
		fsc_json_uint(b, "device", (uint64_t)e->device);
	if (e->error) {
		fsc_json_string(b, "error", e->error);
		fsc_json_int(b, "code", e->ret);
	}
	if (e->type == FSC_GPU_EV_LAUNCH)
		add_launch(b, e);
	else if (e->type == FSC_GPU_EV_COPY)
		add_copy(b, e);
	else if (e->bytes && (e->type != FSC_GPU_EV_FREE || e->known))
		fsc_json_uint(b, "bytes", e->bytes);
	if (e->type == FSC_GPU_EV_ALLOC || e->type == FSC_GPU_EV_FREE)
		fsc_json_string_if(b, "kind", fsc_gpu_mem_names[e->mem]);
	fsc_json_string_if(b, "where", fsc_gpu_place(&e->stack));
	end_args(b);
}

/* ---- events ---- */

static void put_call(struct fsc_sink *s, const struct fsc_gpu_event *e, struct fsc_buf *b)
{
	const char *name = e->via ? e->via : e->api;

	begin_event(s, "X", name ? name : "", e->pid, e->tid, b);
	fsc_json_string(b, "cat", e->error ? "error" : "cuda");
	add_us(b, "ts", e->time_ns);
	add_us(b, "dur", e->timed ? e->dur_ns : 0);
	add_args(b, e);
}

static void put_error(struct fsc_sink *s, const struct fsc_gpu_event *e, struct fsc_buf *b)
{
	begin_event(s, "i", e->error, e->pid, e->tid, b);
	fsc_json_string(b, "cat", "error");
	fsc_json_string(b, "s", "p");
	add_us(b, "ts", e->time_ns + (e->timed ? e->dur_ns : 0));
	add_args(b, e);
}

static const char *enqueued_name(const struct fsc_gpu_event *e)
{
	if (e->type == FSC_GPU_EV_COPY)
		return fsc_gpu_dir_names[e->dir];
	if (e->type == FSC_GPU_EV_MEMSET)
		return "memset";
	if (e->launch == FSC_GPU_GRAPH_LAUNCH)
		return "graph";
	return e->kernel ? e->kernel : "unknown kernel";
}

/* Without a duration: when the GPU begins and ends is not known, and slices of one track that
 * overlap are not shown. */
static void put_enqueued(struct fsc_sink *s, const struct fsc_gpu_event *e, struct fsc_buf *b)
{
	uint64_t tid = track_of(s, e, b);

	if (!tid)
		return;
	begin_event(s, "X", enqueued_name(e), e->pid, tid, b);
	fsc_json_string(b, "cat", "enqueued");
	add_us(b, "ts", e->time_ns);
	add_us(b, "dur", 0);
	add_args(b, e);
}

/* How much the process has allocated now. */
static void put_memory(struct fsc_sink *s, const struct fsc_gpu_event *e, struct fsc_buf *b)
{
	bool host = e->mem == FSC_GPU_MEM_PINNED || e->mem == FSC_GPU_MEM_REGISTERED;
	struct key key = {.about = host ? A_HOST_MEMORY : A_DEVICE_MEMORY, .pid = e->pid};
	uint64_t *live;

	if (e->type == FSC_GPU_EV_FREE && !e->known)
		return;
	live = find_or_add(s, key, NULL, b);
	if (!live)
		return;
	if (e->type == FSC_GPU_EV_ALLOC)
		*live += e->bytes;
	else
		*live -= e->bytes < *live ? e->bytes : *live;
	begin_event(s, "C", host ? "pinned memory" : "GPU memory", e->pid, e->pid, b);
	add_us(b, "ts", e->time_ns + (e->timed ? e->dur_ns : 0));
	fsc_json_begin(b, "args", '{');
	fsc_json_uint(b, "bytes", *live);
	end_args(b);
}

static void put_tensor(struct fsc_sink *s, const struct fsc_gpu_event *e, struct fsc_buf *b)
{
	begin_event(s, "C", "PyTorch memory", e->pid, e->pid, b);
	add_us(b, "ts", e->time_ns);
	fsc_json_begin(b, "args", '{');
	fsc_json_uint(b, "allocated", e->allocated);
	fsc_json_uint(b, "reserved", e->reserved);
	end_args(b);
}

/* A captured call becomes part of a graph and is not enqueued. */
static bool is_enqueued(const struct fsc_gpu_event *e)
{
	return !e->captured && (e->type == FSC_GPU_EV_LAUNCH || e->type == FSC_GPU_EV_COPY ||
				e->type == FSC_GPU_EV_MEMSET);
}

static void perfetto_gpu_event(struct fsc_sink *s, const struct fsc_gpu_event *e, struct fsc_buf *b)
{
	name_thread(s, e->pid, e->tid, e->comm, b);
	if (e->type != FSC_GPU_EV_TENSOR)
		put_call(s, e, b);
	if (e->error)
		put_error(s, e, b);
	else if (is_enqueued(e))
		put_enqueued(s, e, b);
	else if (e->type == FSC_GPU_EV_ALLOC || e->type == FSC_GPU_EV_FREE)
		put_memory(s, e, b);
	else if (e->type == FSC_GPU_EV_TENSOR)
		put_tensor(s, e, b);
}

/* A call of `trace`: it is written when it returned, or as an instant if that is not probed. */
static void perfetto_call(struct fsc_sink *s, const struct fsc_call *c, struct fsc_buf *b)
{
	uint64_t took = c->has_duration ? c->duration_ns : 0;
	struct fsc_buf message = {0};

	name_thread(s, c->pid, c->tid, c->comm, b);
	begin_event(s, c->has_duration ? "X" : "i", c->func->name, c->pid, c->tid, b);
	fsc_json_string(b, "cat", fsc_call_event_name(c->event));
	add_us(b, "ts", c->time_ns > took ? c->time_ns - took : 0);
	if (c->has_duration)
		add_us(b, "dur", took);
	else
		fsc_json_string(b, "s", "t");
	fsc_json_begin(b, "args", '{');
	fsc_json_string(b, "binary", c->func->binary);
	if (c->format)
		fsc_call_message(c, fsc_buf_puts, &message);
	fsc_json_buf_if(b, "message", &message);
	if (c->has_ret && c->ret_text)
		fsc_json_string(b, "ret", c->ret_text);
	else if (c->has_ret && c->ret_as != FSC_RET_UNREADABLE)
		fsc_json_int(b, "ret", (int64_t)c->ret);
	end_args(b);
}

static void perfetto_summary(struct fsc_sink *s, const struct fsc_summary *sum, struct fsc_buf *b)
{
	struct fsc_buf books = {0};

	if (!s->begun)
		begin_document(s, b);
	fsc_sink_books(sum, &books);
	fsc_buf_puts(b, "\n]");
	fsc_json_begin(b, "otherData", '{');
	fsc_json_buf(b, "books", &books);
	fsc_json_end(b, '}');
	fsc_json_line_end(b);
	fsc_sink_release(s);
}

const struct fsc_sink_ops fsc_sink_perfetto = {
    .name = "perfetto",
    .what = "a trace for ui.perfetto.dev",
    .single = true,
    .call = perfetto_call,
    .gpu_event = perfetto_gpu_event,
    .summary = perfetto_summary,
    .release = perfetto_release,
};
