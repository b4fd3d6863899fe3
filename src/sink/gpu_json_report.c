/* The sums of what CUDA programs did, for programs: one object a row, what they are of in "type".
 */
#include <string.h>

#include "sink/gpu_json.h"
#include "sink/sink.h"

static void put_whole(const struct fsc_gpu_report *r, struct fsc_buf *b)
{
	fsc_buf_puts(b, "{\"type\":\"gpu_report\"");
	fsc_gpu_json_number(b, "time_ns", r->time_ns);
	fsc_buf_printf(b, ",\"seconds\":%.3f", r->seconds);
	fsc_gpu_json_bool(b, "last", r->last);
	fsc_gpu_json_number(b, "processes", r->n_processes);
	fsc_gpu_json_number(b, "launches", r->launches);
	fsc_gpu_json_number(b, "unnamed", r->unnamed);
	fsc_gpu_json_number(b, "captured", r->captured);
	fsc_gpu_json_number(b, "graphs", r->graphs);
	fsc_gpu_json_number(b, "kernels", r->n_kernels);
	fsc_gpu_json_number(b, "kernels_left_out", r->kernels_left_out);
	fsc_gpu_json_number(b, "memsets", r->memsets);
	fsc_gpu_json_number(b, "memset_bytes", r->memset_bytes);
	fsc_gpu_json_number(b, "unseen_frees", r->unseen_frees);
	fsc_gpu_json_number(b, "pending_copies", r->pending_copies);
	fsc_gpu_json_number(b, "verdicts_full", r->verdicts_full);
	fsc_gpu_json_number(b, "python_full", r->python_full);
	fsc_buf_puts(b, "}\n");
}

static void add_process(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_process_row *p = row;

	fsc_gpu_json_number(b, "pid", p->pid);
	if (p->inner_pid)
		fsc_gpu_json_number(b, "inner_pid", p->inner_pid);
	fsc_gpu_json_number(b, "ppid", p->ppid);
	fsc_gpu_json_string(b, "comm", p->comm);
	fsc_gpu_json_bool(b, "ended", p->ended);
	fsc_gpu_json_bool(b, "python", p->python);
	fsc_gpu_json_bool(b, "before", p->before);
	fsc_gpu_json_number(b, "launches", p->launches);
	fsc_gpu_json_number(b, "allocs", p->allocs);
	fsc_gpu_json_number(b, "frees", p->frees);
	fsc_gpu_json_number(b, "unknown_frees", p->unknown_frees);
	fsc_gpu_json_number(b, "copies", p->copies);
	fsc_gpu_json_number(b, "memsets", p->memsets);
	fsc_gpu_json_number(b, "syncs", p->syncs);
	fsc_gpu_json_number(b, "errors", p->errors);
	fsc_gpu_json_number(b, "sync_ns", p->sync_ns);
	fsc_gpu_json_number(b, "live_bytes", p->live_bytes);
	fsc_gpu_json_number(b, "peak_bytes", p->peak_bytes);
	fsc_gpu_json_number(b, "first_ns", p->first_ns);
	fsc_gpu_json_number(b, "last_ns", p->last_ns);
}

static void add_kernel(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_kernel_row *k = row;

	if (k->kernel)
		fsc_gpu_json_string(b, "kernel", k->kernel);
	else
		fsc_buf_puts(b, ",\"kernel\":null");
	fsc_gpu_json_string(b, "owner", k->owner);
	fsc_gpu_json_string(b, "library", k->library);
	fsc_gpu_json_string(b, "kind", fsc_gpu_launch_names[k->launch]);
	fsc_gpu_json_number(b, "launches", k->launches);
	fsc_gpu_json_number(b, "captured", k->captured);
	if (k->launch == FSC_GPU_GRAPH_LAUNCH)
		return;
	fsc_gpu_json_dims(b, "grid", k->grid);
	fsc_gpu_json_dims(b, "block", k->block);
	fsc_gpu_json_number(b, "shared", k->shared);
}

/* The n-th number is of 2^n MB/s; what follows the last that is not 0 is left out. */
static void add_speeds(const uint64_t speeds[FSC_GPU_SPEEDS], struct fsc_buf *b)
{
	size_t n = FSC_GPU_SPEEDS;

	while (n && !speeds[n - 1])
		n--;
	fsc_buf_puts(b, ",\"speeds\":[");
	for (size_t i = 0; i < n; i++)
		fsc_buf_printf(b, "%s%llu", i ? "," : "", (unsigned long long)speeds[i]);
	fsc_buf_putc(b, ']');
}

static void add_sizes(const struct fsc_gpu_copy_row *c, struct fsc_buf *b)
{
	bool any = false;

	fsc_buf_puts(b, ",\"sizes\":[");
	for (size_t i = 0; i < FSC_GPU_SIZES; i++) {
		if (!c->sized[i])
			continue;
		fsc_buf_printf(b, "%s{\"size\":\"%s\"", any ? "," : "", fsc_gpu_size_names[i]);
		fsc_gpu_json_number(b, "copies", c->sized[i]);
		add_speeds(c->speeds[i], b);
		fsc_buf_putc(b, '}');
		any = true;
	}
	fsc_buf_putc(b, ']');
}

static void add_copies(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_copy_row *c = row;

	fsc_gpu_json_string(b, "direction", fsc_gpu_dir_names[c->dir]);
	if (c->host != FSC_GPU_HOST_NONE)
		fsc_gpu_json_string(b, "host", fsc_gpu_host_names[c->host]);
	fsc_gpu_json_bool(b, "async", c->async);
	fsc_gpu_json_number(b, "copies", c->copies);
	fsc_gpu_json_number(b, "bytes", c->bytes);
	fsc_gpu_json_number(b, "timed_bytes", c->timed_bytes);
	fsc_gpu_json_number(b, "timed_ns", c->timed_ns);
	if (c->timed_ns)
		fsc_buf_printf(b, ",\"bandwidth\":%.0f",
			       (double)c->timed_bytes * 1e9 / (double)c->timed_ns);
	fsc_gpu_json_number(b, "hidden_syncs", c->syncs);
	add_sizes(c, b);
}

static void add_memory(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_mem_row *m = row;

	fsc_gpu_json_number(b, "pid", m->pid);
	fsc_gpu_json_string(b, "comm", m->comm);
	fsc_gpu_json_string(b, "owner", m->owner);
	fsc_gpu_json_string(b, "kind", fsc_gpu_mem_names[m->mem]);
	fsc_gpu_json_number(b, "allocs", m->allocs);
	fsc_gpu_json_number(b, "frees", m->frees);
	fsc_gpu_json_number(b, "failed", m->failed);
	fsc_gpu_json_number(b, "bytes", m->bytes);
	fsc_gpu_json_number(b, "live", m->live);
	fsc_gpu_json_number(b, "live_bytes", m->live_bytes);
	fsc_gpu_json_number(b, "peak_bytes", m->peak_bytes);
}

static void add_sync(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_sync_row *y = row;

	fsc_gpu_json_string(b, "api", y->api);
	fsc_gpu_json_string(b, "via", y->via);
	fsc_gpu_json_number(b, "calls", y->calls);
	fsc_gpu_json_number(b, "total_ns", y->ns);
	fsc_gpu_json_number(b, "max_ns", y->max_ns);
	fsc_gpu_json_stack(b, &y->stack);
}

static void add_error(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_error_row *e = row;

	fsc_gpu_json_string(b, "api", e->api);
	fsc_gpu_json_string(b, "via", e->via);
	fsc_buf_printf(b, ",\"code\":%d", e->code);
	fsc_gpu_json_string(b, "error", e->error);
	fsc_gpu_json_number(b, "count", e->n);
	fsc_gpu_json_stack(b, &e->stack);
}

static void add_leak(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_leak_row *l = row;

	fsc_gpu_json_number(b, "pid", l->pid);
	fsc_gpu_json_string(b, "comm", l->comm);
	fsc_gpu_json_bool(b, "ended", l->ended);
	fsc_gpu_json_string(b, "kind", fsc_gpu_mem_names[l->mem]);
	fsc_gpu_json_string(b, "owner", l->owner);
	fsc_gpu_json_number(b, "count", l->allocs);
	fsc_gpu_json_number(b, "bytes", l->bytes);
	fsc_buf_printf(b, ",\"oldest_s\":%.3f,\"newest_s\":%.3f", l->oldest_s, l->newest_s);
	if (l->growth)
		fsc_buf_printf(b, ",\"growth\":%.0f", l->growth);
	fsc_gpu_json_stack(b, &l->stack);
}

/* A member that is a list, of objects of a row each. */
static void add_objects(struct fsc_buf *b, const char *key, const void *rows, size_t n, size_t size,
			void (*add)(const void *row, struct fsc_buf *b))
{
	fsc_buf_printf(b, ",\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		size_t comma = b->n + (i ? 1 : 0);

		fsc_buf_puts(b, i ? "," : "");
		add((const char *)rows + i * size, b);
		if (comma < b->n)
			b->s[comma] = '{'; /* members come with the comma before */
		fsc_buf_putc(b, '}');
	}
	fsc_buf_putc(b, ']');
}

static void add_event(const void *row, struct fsc_buf *b)
{
	fsc_gpu_json_event(b, row);
}

static void add_oom(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_oom *o = row;

	fsc_gpu_json_event(b, &o->event);
	fsc_gpu_json_number(b, "live_bytes", o->live_bytes);
	if (o->allocated || o->reserved) {
		fsc_gpu_json_number(b, "torch_allocated", o->allocated);
		fsc_gpu_json_number(b, "torch_reserved", o->reserved);
	}
	fsc_gpu_json_bool(b, "retried", o->retried);
	add_objects(b, "holders", o->holders, o->n_holders, sizeof(*o->holders), add_leak);
	add_objects(b, "last", o->last, o->n_last, sizeof(*o->last), add_event);
}

static void add_coverage(const void *row, struct fsc_buf *b)
{
	const struct fsc_gpu_coverage_row *c = row;

	fsc_gpu_json_string(b, "file", c->file);
	fsc_gpu_json_string(b, "layer", fsc_gpu_layer_names[c->layer]);
	fsc_gpu_json_number(b, "hooked", c->hooked);
	fsc_gpu_json_number(b, "refused", c->refused);
	fsc_gpu_json_string(b, "note", c->note);
}

static void add_finding(const void *row, struct fsc_buf *b)
{
	const char *const *text = row;

	fsc_gpu_json_string(b, "text", *text);
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
    {"process", ROWS(processes), add_process}, {"kernel", ROWS(kernels), add_kernel},
    {"memory", ROWS(memory), add_memory},      {"copies", ROWS(copies), add_copies},
    {"syncs", ROWS(syncs), add_sync},	       {"errors", ROWS(errors), add_error},
    {"leak", ROWS(leaks), add_leak},	       {"oom", ROWS(ooms), add_oom},
    {"finding", ROWS(findings), add_finding},  {"coverage", ROWS(coverage), add_coverage},
};

static void put_section(const struct fsc_sink *s, const struct fsc_gpu_report *r,
			const struct section *of, struct fsc_buf *b)
{
	const char *rows;
	size_t n;

	memcpy(&rows, (const char *)r + of->rows, sizeof(rows));
	memcpy(&n, (const char *)r + of->n, sizeof(n));
	for (size_t i = 0; i < n; i++) {
		fsc_buf_printf(b, "{\"type\":\"gpu_%s\"", of->type);
		/* Out of memory is an event, which has its own. */
		if ((s->timestamps || s->intervals) && of->add != add_oom)
			fsc_gpu_json_number(b, "time_ns", r->time_ns);
		of->add(rows + i * of->size, b);
		fsc_buf_puts(b, "}\n");
	}
}

void fsc_json_gpu_report(struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_buf *b)
{
	put_whole(r, b);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		put_section(s, r, &sections[i], b);
}
