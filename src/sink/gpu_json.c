/* What CUDA programs did, for programs: one object an event. The sums are in gpu_json_report.c. */
#include "sink/gpu_json.h"

#include "base/fmt.h"
#include "sink/sink.h"

/* Of events, and of failed ones as "op". */
static const char *const names[FSC_GPU_EV_MAX] = {
    [FSC_GPU_EV_LAUNCH] = "launch", [FSC_GPU_EV_ALLOC] = "alloc",   [FSC_GPU_EV_FREE] = "free",
    [FSC_GPU_EV_COPY] = "copy",	    [FSC_GPU_EV_MEMSET] = "memset", [FSC_GPU_EV_SYNC] = "sync",
    [FSC_GPU_EV_TENSOR] = "tensor", [FSC_GPU_EV_OTHER] = "other",
};

void fsc_gpu_json_string(struct fsc_buf *b, const char *key, const char *value)
{
	if (!value)
		return;
	fsc_buf_printf(b, ",\"%s\":", key);
	fsc_fmt_json(b, value);
}

void fsc_gpu_json_number(struct fsc_buf *b, const char *key, uint64_t value)
{
	fsc_buf_printf(b, ",\"%s\":%llu", key, (unsigned long long)value);
}

void fsc_gpu_json_bool(struct fsc_buf *b, const char *key, bool value)
{
	fsc_buf_printf(b, ",\"%s\":%s", key, value ? "true" : "false");
}

void fsc_gpu_json_dims(struct fsc_buf *b, const char *key, const uint32_t dims[3])
{
	fsc_buf_printf(b, ",\"%s\":[%u,%u,%u]", key, dims[0], dims[1], dims[2]);
}

/* Addresses and handles: 64 bits do not survive as numbers in every reader. */
static void add_address(struct fsc_buf *b, const char *key, uint64_t value)
{
	fsc_buf_printf(b, ",\"%s\":\"0x%llx\"", key, (unsigned long long)value);
}

static void add_list(struct fsc_buf *b, const char *key, const char *const *list, size_t n)
{
	if (!n)
		return;
	fsc_buf_printf(b, ",\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		fsc_buf_puts(b, i ? "," : "");
		fsc_fmt_json(b, list[i]);
	}
	fsc_buf_putc(b, ']');
}

void fsc_gpu_json_stack(struct fsc_buf *b, const struct fsc_gpu_stack *s)
{
	add_list(b, "stack", s->frames, s->n);
	add_list(b, "python", s->python, s->n_python);
}

/* ---- what each type has of its own ---- */

/* Of an argument eight bytes were read, whatever its size: the rest is its neighbour. */
static uint64_t argument(const struct fsc_gpu_event *e, size_t i)
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
	fsc_buf_puts(b, ",\"args\":[");
	for (size_t i = 0; i < e->n_args; i++)
		fsc_buf_printf(b, "%s\"0x%llx\"", i ? "," : "", (unsigned long long)argument(e, i));
	fsc_buf_putc(b, ']');
}

static void add_duration(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	if (e->timed)
		fsc_gpu_json_number(b, "duration_ns", e->dur_ns);
}

static void add_launch(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_gpu_json_string(b, "kind", fsc_gpu_launch_names[e->launch]);
	if (e->launch == FSC_GPU_GRAPH_LAUNCH) {
		if (e->graph_kernels)
			fsc_gpu_json_number(b, "graph_kernels", e->graph_kernels);
	} else {
		fsc_gpu_json_string(b, "kernel", e->kernel);
		fsc_gpu_json_string(b, "symbol", e->symbol);
		fsc_gpu_json_dims(b, "grid", e->grid);
		fsc_gpu_json_dims(b, "block", e->block);
		fsc_gpu_json_number(b, "shared", e->shared);
	}
	add_address(b, "stream", e->stream);
	fsc_gpu_json_bool(b, "captured", e->captured);
	add_args(b, e);
	add_duration(b, e);
}

static void add_alloc(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_gpu_json_string(b, "kind", fsc_gpu_mem_names[e->mem]);
	add_address(b, "address", e->addr);
	fsc_gpu_json_number(b, "bytes", e->bytes);
	add_duration(b, e);
}

static void add_free(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_gpu_json_string(b, "kind", fsc_gpu_mem_names[e->mem]);
	add_address(b, "address", e->addr);
	if (e->known)
		fsc_gpu_json_number(b, "bytes", e->bytes);
	else
		fsc_buf_puts(b, ",\"bytes\":null");
	fsc_gpu_json_bool(b, "known", e->known);
	add_duration(b, e);
}

/* What is common to copies and memsets, after what they are of. */
static void add_transfer(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_gpu_json_bool(b, "async", e->async);
	if (e->cut)
		fsc_gpu_json_bool(b, "cut", true);
	add_address(b, "stream", e->stream);
	if (e->captured)
		fsc_gpu_json_bool(b, "captured", true);
	add_duration(b, e);
}

static void add_copy(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_gpu_json_string(b, "direction", fsc_gpu_dir_names[e->dir]);
	fsc_gpu_json_number(b, "bytes", e->bytes);
	add_address(b, "dst", e->addr);
	add_address(b, "src", e->src);
	if (e->host != FSC_GPU_HOST_NONE)
		fsc_gpu_json_string(b, "host", fsc_gpu_host_names[e->host]);
	add_transfer(b, e);
	if (e->timed && e->dur_ns && e->timing != FSC_GPU_ENQUEUE && !e->error)
		fsc_buf_printf(b, ",\"bandwidth\":%.0f",
			       (double)e->bytes * 1e9 / (double)e->dur_ns);
	fsc_gpu_json_string(b, "timing", fsc_gpu_timing_names[e->timing]);
}

static void add_memset(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_gpu_json_number(b, "bytes", e->bytes);
	add_address(b, "dst", e->addr);
	add_transfer(b, e);
}

static void add_sync(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	add_duration(b, e);
	add_address(b, "stream", e->stream);
}

static void add_tensor(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	add_address(b, "address", e->addr);
	fsc_buf_printf(b, ",\"delta\":%lld", (long long)e->delta);
	fsc_gpu_json_number(b, "allocated", e->allocated);
	fsc_gpu_json_number(b, "reserved", e->reserved);
}

static void add_other(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	add_duration(b, e);
}

/* ---- the event ---- */

static void add_caller(struct fsc_buf *b, const struct fsc_gpu_event *e)
{
	fsc_gpu_json_number(b, "time_ns", e->time_ns);
	fsc_gpu_json_number(b, "pid", e->pid);
	fsc_gpu_json_number(b, "tid", e->tid);
	fsc_gpu_json_number(b, "ppid", e->ppid);
	if (e->inner_pid)
		fsc_gpu_json_number(b, "inner_pid", e->inner_pid);
	fsc_gpu_json_string(b, "comm", e->comm);
	fsc_gpu_json_string(b, "api", e->api);
	fsc_gpu_json_string(b, "via", e->via);
	fsc_gpu_json_string(b, "library", e->library);
	fsc_gpu_json_string(b, "owner", e->owner);
	if (e->device < 0)
		fsc_buf_puts(b, ",\"device\":null");
	else
		fsc_gpu_json_number(b, "device", (uint64_t)e->device);
	/* Of a call whose return is not probed nobody knows. */
	if (e->timed || e->error)
		fsc_buf_printf(b, ",\"ret\":%d", e->ret);
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
		fsc_gpu_json_string(b, "op", names[e->type]);
		fsc_buf_printf(b, ",\"code\":%d", e->ret);
		fsc_gpu_json_string(b, "error", e->error);
	}
	add[e->type](b, e);
	fsc_gpu_json_stack(b, &e->stack);
}

void fsc_json_gpu_event(struct fsc_sink *s, const struct fsc_gpu_event *e, struct fsc_buf *b)
{
	(void)s;
	fsc_buf_printf(b, "{\"type\":\"gpu_%s\"", e->error ? "error" : names[e->type]);
	fsc_gpu_json_event(b, e);
	fsc_buf_puts(b, "}\n");
}
