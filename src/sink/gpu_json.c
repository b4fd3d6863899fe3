/* GPU events for programs: one object an event. Reports are in gpu_json_report.c. */
#include "sink/gpu_json.h"

#include "base/json.h"
#include "sink/sink.h"

/* Also the "op" of failed calls. */
static const char *const event_names[FSC_GPU_EV_MAX] = {
    [FSC_GPU_EV_LAUNCH] = "launch", [FSC_GPU_EV_ALLOC] = "alloc",   [FSC_GPU_EV_FREE] = "free",
    [FSC_GPU_EV_COPY] = "copy",	    [FSC_GPU_EV_MEMSET] = "memset", [FSC_GPU_EV_SYNC] = "sync",
    [FSC_GPU_EV_TENSOR] = "tensor", [FSC_GPU_EV_OTHER] = "other",
};

void fsc_gpu_json_dims(struct fsc_buf *b, const char *key, const uint32_t dims[3])
{
	fsc_json_printf(b, key, "[%u,%u,%u]", dims[0], dims[1], dims[2]);
}

void fsc_gpu_json_stack(struct fsc_buf *b, const struct fsc_gpu_stack *s)
{
	fsc_json_strings_if(b, "stack", s->frames, s->n);
	fsc_json_strings_if(b, "python", s->python, s->n_python);
}

/* ---- members of each type ---- */

/* Eight bytes were read for each argument; a smaller one is followed by its neighbour. */
static uint64_t launch_argument(const struct fsc_gpu_event *e, size_t i)
{
	unsigned size = e->arg_sizes ? e->arg_sizes[i] : sizeof(uint64_t);

	if (size >= sizeof(uint64_t))
		return e->args[i];
	return e->args[i] & ((1ull << 8 * size) - 1);
}

static void add_args(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	if (!e->n_args)
		return;
	fsc_json_begin(b, "args", '[');
	for (size_t i = 0; i < e->n_args; i++)
		fsc_json_hex(b, NULL, launch_argument(e, i));
	fsc_json_end(b, ']');
}

static void add_duration(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	if (e->timed)
		fsc_json_uint(b, "duration_ns", e->dur_ns);
}

static void add_launch(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_json_string_if(b, "kind", fsc_gpu_launch_names[e->launch]);
	if (e->launch == FSC_GPU_GRAPH_LAUNCH) {
		fsc_json_uint_if(b, "graph_kernels", e->graph_kernels);
	} else {
		fsc_json_string_if(b, "kernel", e->kernel);
		fsc_json_string_if(b, "symbol", e->symbol);
		fsc_gpu_json_dims(b, "grid", e->grid);
		fsc_gpu_json_dims(b, "block", e->block);
		fsc_json_uint(b, "shared", e->shared);
	}
	fsc_json_hex(b, "stream", e->stream);
	fsc_json_bool(b, "captured", e->captured);
	add_args(b, e);
	add_duration(b, e);
}

static void add_alloc(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_json_string_if(b, "kind", fsc_gpu_mem_names[e->mem]);
	fsc_json_hex(b, "address", e->addr);
	fsc_json_uint(b, "bytes", e->bytes);
	add_duration(b, e);
}

static void add_free(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_json_string_if(b, "kind", fsc_gpu_mem_names[e->mem]);
	fsc_json_hex(b, "address", e->addr);
	if (e->known)
		fsc_json_uint(b, "bytes", e->bytes);
	else
		fsc_json_null(b, "bytes");
	fsc_json_bool(b, "known", e->known);
	add_duration(b, e);
}

/* What copies and memsets share. */
static void add_transfer(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_json_bool(b, "async", e->async);
	fsc_json_bool_if(b, "cut", e->cut);
	fsc_json_hex(b, "stream", e->stream);
	fsc_json_bool_if(b, "captured", e->captured);
	add_duration(b, e);
}

static void add_copy(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_json_string_if(b, "direction", fsc_gpu_dir_names[e->dir]);
	fsc_json_uint(b, "bytes", e->bytes);
	fsc_json_hex(b, "dst", e->addr);
	fsc_json_hex(b, "src", e->src);
	if (e->host != FSC_GPU_HOST_NONE)
		fsc_json_string_if(b, "host", fsc_gpu_host_names[e->host]);
	add_transfer(b, e);
	if (e->timed && e->dur_ns && e->timing != FSC_GPU_ENQUEUE && !e->error)
		fsc_json_real(b, "bandwidth", (double)e->bytes * 1e9 / (double)e->dur_ns, 0);
	fsc_json_string_if(b, "timing", fsc_gpu_timing_names[e->timing]);
}

static void add_memset(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_json_uint(b, "bytes", e->bytes);
	fsc_json_hex(b, "dst", e->addr);
	add_transfer(b, e);
}

static void add_sync(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	add_duration(b, e);
	fsc_json_hex(b, "stream", e->stream);
}

static void add_tensor(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_json_hex(b, "address", e->addr);
	fsc_json_int(b, "delta", e->delta);
	fsc_json_uint(b, "allocated", e->allocated);
	fsc_json_uint(b, "reserved", e->reserved);
}

static void add_other(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	add_duration(b, e);
}

/* ---- the event ---- */

static void add_caller(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_json_uint(b, "time_ns", e->time_ns);
	fsc_json_uint(b, "pid", e->pid);
	fsc_json_uint(b, "tid", e->tid);
	fsc_json_uint(b, "ppid", e->ppid);
	fsc_json_uint_if(b, "inner_pid", e->inner_pid);
	fsc_json_string_if(b, "comm", e->comm);
	fsc_json_string_if(b, "api", e->api);
	fsc_json_string_if(b, "via", e->via);
	fsc_json_string_if(b, "library", e->library);
	fsc_json_string_if(b, "owner", e->owner);
	if (e->device < 0)
		fsc_json_null(b, "device");
	else
		fsc_json_uint(b, "device", (uint64_t)e->device);
	/* Not known if the return is not probed. */
	if (e->timed || e->error)
		fsc_json_int(b, "ret", e->ret);
}

void fsc_gpu_json_event(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	static void (*const add[FSC_GPU_EV_MAX])(struct fsc_buf * b,
						 const struct fsc_gpu_event *e) = {
	    [FSC_GPU_EV_LAUNCH] = add_launch, [FSC_GPU_EV_ALLOC] = add_alloc,
	    [FSC_GPU_EV_FREE] = add_free,     [FSC_GPU_EV_COPY] = add_copy,
	    [FSC_GPU_EV_MEMSET] = add_memset, [FSC_GPU_EV_SYNC] = add_sync,
	    [FSC_GPU_EV_TENSOR] = add_tensor, [FSC_GPU_EV_OTHER] = add_other,
	};

	add_caller(b, e);
	if (e->error) {
		fsc_json_string_if(b, "op", event_names[e->type]);
		fsc_json_int(b, "code", e->ret);
		fsc_json_string_if(b, "error", e->error);
	}
	add[e->type](b, e);
	fsc_gpu_json_stack(b, &e->stack);
}

void fsc_json_gpu_event(struct fsc_sink *s, const struct fsc_gpu_event *e, struct fsc_buf *b)
{
	(void)s;
	fsc_json_begin(b, NULL, '{');
	fsc_json_printf(b, "type", "\"gpu_%s\"", e->error ? "error" : event_names[e->type]);
	fsc_gpu_json_event(b, e);
	fsc_json_line_end(b);
}
