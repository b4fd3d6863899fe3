/* The gpu report for programs: one object a row, its kind in "type". */
#include <string.h>

#include "base/json.h"
#include "sink/gpu_json.h"
#include "sink/sink.h"

static void put_whole(const struct fsc_gpu_report *r, struct fsc_buf *b)
{
	fsc_json_line(b, "gpu_report");
	fsc_json_uint(b, "time_ns", r->time_ns);
	fsc_json_real(b, "seconds", r->seconds, 3);
	fsc_json_bool(b, "last", r->last);
	fsc_json_uint(b, "processes", r->n_processes);
	fsc_json_uint(b, "launches", r->launches);
	fsc_json_uint(b, "unnamed", r->unnamed);
	fsc_json_uint(b, "captured", r->captured);
	fsc_json_uint(b, "graphs", r->graphs);
	fsc_json_uint(b, "kernels", r->n_kernels);
	fsc_json_uint(b, "kernels_left_out", r->kernels_left_out);
	fsc_json_uint(b, "memsets", r->memsets);
	fsc_json_uint(b, "memset_bytes", r->memset_bytes);
	fsc_json_uint(b, "unseen_frees", r->unseen_frees);
	fsc_json_uint(b, "pending_copies", r->pending_copies);
	fsc_json_uint(b, "verdicts_full", r->verdicts_full);
	fsc_json_uint(b, "python_full", r->python_full);
	fsc_json_line_end(b);
}

static void add_process(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_process_row *p = row;

	fsc_json_uint(b, "pid", p->pid);
	fsc_json_uint_if(b, "inner_pid", p->inner_pid);
	fsc_json_uint(b, "ppid", p->ppid);
	fsc_json_string_if(b, "comm", p->comm);
	fsc_json_bool(b, "ended", p->ended);
	fsc_json_bool(b, "python", p->python);
	fsc_json_bool(b, "before", p->before);
	fsc_json_uint(b, "launches", p->launches);
	fsc_json_uint(b, "allocs", p->allocs);
	fsc_json_uint(b, "frees", p->frees);
	fsc_json_uint(b, "unknown_frees", p->unknown_frees);
	fsc_json_uint(b, "copies", p->copies);
	fsc_json_uint(b, "memsets", p->memsets);
	fsc_json_uint(b, "syncs", p->syncs);
	fsc_json_uint(b, "errors", p->errors);
	fsc_json_uint(b, "sync_ns", p->sync_ns);
	fsc_json_uint(b, "live_bytes", p->live_bytes);
	fsc_json_uint(b, "peak_bytes", p->peak_bytes);
	fsc_json_uint(b, "first_ns", p->first_ns);
	fsc_json_uint(b, "last_ns", p->last_ns);
}

static void add_kernel(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_kernel_row *k = row;

	fsc_json_string(b, "kernel", k->kernel);
	fsc_json_string_if(b, "owner", k->owner);
	fsc_json_string_if(b, "library", k->library);
	fsc_json_string_if(b, "kind", fsc_gpu_launch_names[k->launch]);
	fsc_json_uint(b, "launches", k->launches);
	fsc_json_uint(b, "captured", k->captured);
	if (k->launch == FSC_GPU_GRAPH_LAUNCH)
		return;
	fsc_gpu_json_dims(b, "grid", k->grid);
	fsc_gpu_json_dims(b, "block", k->block);
	fsc_json_uint(b, "shared", k->shared);
}

/* The n-th number counts 2^n MB/s; trailing zeros are left out. */
static void add_speeds(const uint64_t speeds[FSC_GPU_SPEEDS], struct fsc_buf *b)
{
	size_t n = FSC_GPU_SPEEDS;

	while (n && !speeds[n - 1])
		n--;
	fsc_json_begin(b, "speeds", '[');
	for (size_t i = 0; i < n; i++)
		fsc_json_uint(b, NULL, speeds[i]);
	fsc_json_end(b, ']');
}

static void add_sizes(const struct fsc_gpu_copy_row *c, struct fsc_buf *b)
{
	fsc_json_begin(b, "sizes", '[');
	for (size_t i = 0; i < FSC_GPU_SIZES; i++) {
		if (!c->sized[i])
			continue;
		fsc_json_begin(b, NULL, '{');
		fsc_json_string(b, "size", fsc_gpu_size_names[i]);
		fsc_json_uint(b, "copies", c->sized[i]);
		add_speeds(c->speeds[i], b);
		fsc_json_end(b, '}');
	}
	fsc_json_end(b, ']');
}

static void add_copies(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_copy_row *c = row;

	fsc_json_string_if(b, "direction", fsc_gpu_dir_names[c->dir]);
	if (c->host != FSC_GPU_HOST_NONE)
		fsc_json_string_if(b, "host", fsc_gpu_host_names[c->host]);
	fsc_json_bool(b, "async", c->async);
	fsc_json_uint(b, "copies", c->copies);
	fsc_json_uint(b, "bytes", c->bytes);
	fsc_json_uint(b, "timed_bytes", c->timed_bytes);
	fsc_json_uint(b, "timed_ns", c->timed_ns);
	if (c->timed_ns)
		fsc_json_real(b, "bandwidth", (double)c->timed_bytes * 1e9 / (double)c->timed_ns,
			      0);
	fsc_json_uint(b, "hidden_syncs", c->syncs);
	add_sizes(c, b);
}

static void add_memory(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_mem_row *m = row;

	fsc_json_uint(b, "pid", m->pid);
	fsc_json_string_if(b, "comm", m->comm);
	fsc_json_string_if(b, "owner", m->owner);
	fsc_json_string_if(b, "kind", fsc_gpu_mem_names[m->mem]);
	fsc_json_uint(b, "allocs", m->allocs);
	fsc_json_uint(b, "frees", m->frees);
	fsc_json_uint(b, "failed", m->failed);
	fsc_json_uint(b, "bytes", m->bytes);
	fsc_json_uint(b, "live", m->live);
	fsc_json_uint(b, "live_bytes", m->live_bytes);
	fsc_json_uint(b, "peak_bytes", m->peak_bytes);
}

static void add_sync(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_sync_row *y = row;

	fsc_json_string_if(b, "api", y->api);
	fsc_json_string_if(b, "via", y->via);
	fsc_json_uint(b, "calls", y->calls);
	fsc_json_uint(b, "total_ns", y->ns);
	fsc_json_uint(b, "max_ns", y->max_ns);
	fsc_gpu_json_stack(b, &y->stack);
}

static void add_error(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_error_row *e = row;

	fsc_json_string_if(b, "api", e->api);
	fsc_json_string_if(b, "via", e->via);
	fsc_json_int(b, "code", e->code);
	fsc_json_string_if(b, "error", e->error);
	fsc_json_uint(b, "count", e->n);
	fsc_gpu_json_stack(b, &e->stack);
}

static void add_leak(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_leak_row *l = row;

	fsc_json_uint(b, "pid", l->pid);
	fsc_json_string_if(b, "comm", l->comm);
	fsc_json_bool(b, "ended", l->ended);
	fsc_json_string_if(b, "kind", fsc_gpu_mem_names[l->mem]);
	fsc_json_string_if(b, "owner", l->owner);
	fsc_json_uint(b, "count", l->allocs);
	fsc_json_uint(b, "bytes", l->bytes);
	fsc_json_real(b, "oldest_s", l->oldest_s, 3);
	fsc_json_real(b, "newest_s", l->newest_s, 3);
	if (l->growth)
		fsc_json_real(b, "growth", l->growth, 0);
	fsc_gpu_json_stack(b, &l->stack);
}

/* A member that is a list of objects, one per row. */
static void add_objects(struct fsc_buf *b, const char *key, const void *rows, size_t n, size_t size,
			void (*add)(const void *row, struct fsc_buf *b))
{
	fsc_json_begin(b, key, '[');
	for (size_t i = 0; i < n; i++) {
		fsc_json_begin(b, NULL, '{');
		add((const char *)rows + i * size, b);
		fsc_json_end(b, '}');
	}
	fsc_json_end(b, ']');
}

static void add_event(const void *row, struct fsc_buf *b)
{
	fsc_gpu_json_event(b, row);
}

static void add_oom(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_oom *o = row;

	fsc_gpu_json_event(b, &o->event);
	fsc_json_uint(b, "live_bytes", o->live_bytes);
	if (o->allocated || o->reserved) {
		fsc_json_uint(b, "torch_allocated", o->allocated);
		fsc_json_uint(b, "torch_reserved", o->reserved);
	}
	fsc_json_bool(b, "retried", o->retried);
	add_objects(b, "holders", o->holders, o->n_holders, sizeof(*o->holders), add_leak);
	add_objects(b, "last", o->last, o->n_last, sizeof(*o->last), add_event);
}

static void add_coverage(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_coverage_row *c = row;

	fsc_json_string_if(b, "file", c->file);
	fsc_json_string_if(b, "layer", fsc_gpu_layer_names[c->layer]);
	fsc_json_uint(b, "hooked", c->hooked);
	fsc_json_uint(b, "refused", c->refused);
	fsc_json_string_if(b, "note", c->note);
}

static void add_finding(const void *row, struct fsc_buf *b)
{
	const char *const *text = row;

	fsc_json_string_if(b, "text", *text);
}

/* ---- the report ---- */

#define ROWS(rows)                                                                                 \
	offsetof(struct fsc_gpu_report, rows), offsetof(struct fsc_gpu_report, n_##rows),          \
	    sizeof(*((struct fsc_gpu_report *)0)->rows)

static const struct section {
	const char *type;
	size_t rows, n, size;
	void (*add)(const void *row, struct fsc_buf *b);
} sections[] = {
    {"gpu_process", ROWS(processes), add_process}, {"gpu_kernel", ROWS(kernels), add_kernel},
    {"gpu_memory", ROWS(memory), add_memory},	   {"gpu_copies", ROWS(copies), add_copies},
    {"gpu_syncs", ROWS(syncs), add_sync},	   {"gpu_errors", ROWS(errors), add_error},
    {"gpu_leak", ROWS(leaks), add_leak},	   {"gpu_oom", ROWS(ooms), add_oom},
    {"gpu_finding", ROWS(findings), add_finding},  {"gpu_coverage", ROWS(coverage), add_coverage},
};

static void put_section(const struct fsc_sink *s, const struct fsc_gpu_report *r,
			const struct section *of, struct fsc_buf *b)
{
	const char *rows;
	size_t n;

	memcpy(&rows, (const char *)r + of->rows, sizeof(rows));
	memcpy(&n, (const char *)r + of->n, sizeof(n));
	for (size_t i = 0; i < n; i++) {
		fsc_json_line(b, of->type);
		/* Out of memory is an event, which has its own time. */
		if ((s->timestamps || s->intervals) && of->add != add_oom)
			fsc_json_uint(b, "time_ns", r->time_ns);
		of->add(rows + i * of->size, b);
		fsc_json_line_end(b);
	}
}

void fsc_json_gpu_report(struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_buf *b)
{
	put_whole(r, b);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		put_section(s, r, &sections[i], b);
}
