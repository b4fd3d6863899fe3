/* The metrics of `gpu`: a table of them, each with the labels by which rows of the report are
 * summed. Stacks and processes are not labels: there are too many. */
#include "sink/gpu_prometheus.h"

#include <stddef.h>
#include <string.h>

#include "base/vec.h"
#include "sink/exposition.h"

enum { LABELS = 3 };

struct sum {
	const char *labels[LABELS];
	double v;
};

struct page {
	struct fsc_exposition e;
	const struct fsc_gpu_report *r;
	const struct fsc_summary *books;
	struct fsc_map *shown; /* kernels with a series */
	struct fsc_vec sums;   /* struct sum, of the metric that is being written */
	struct fsc_map index;  /* labels -> number of the sum, from 1 */
	struct fsc_buf key;
};

struct metric {
	struct fsc_family family;
	const char *labels[LABELS]; /* names, as many as there are */
	void (*fill)(struct page *p, const struct metric *m);
	size_t offset; /* of fill's number in a row */
};

/* ---- sums by labels ---- */

/* The place of the sum with these labels, NULL when memory is out. Labels that the metric does not
 * have are ignored. */
static double *sum_of(struct page *p, const struct metric *m, const char *const labels[LABELS])
{
	uint64_t *at;

	fsc_buf_clear(&p->key);
	for (size_t i = 0; i < LABELS && m->labels[i] && labels[i]; i++)
		fsc_buf_add(&p->key, labels[i], strlen(labels[i]) + 1);
	fsc_buf_putc(&p->key, '\0');
	at = p->key.failed ? NULL : fsc_map_put(&p->index, p->key.s, p->key.n, NULL);
	if (at && !*at && fsc_vec_push(&p->sums)) {
		*at = p->sums.n;
		memcpy(FSC_AT(struct sum, &p->sums, *at - 1)->labels, labels,
		       LABELS * sizeof(labels[0]));
	}
	if (!at || !*at) {
		p->e.b->failed = true;
		return NULL;
	}
	return &FSC_AT(struct sum, &p->sums, *at - 1)->v;
}

static void add_to_sum(struct page *p, const struct metric *m, const char *a, const char *b,
		       double v)
{
	double *at = sum_of(p, m, (const char *const[LABELS]){a, b});

	if (at)
		*at += v;
}

/* The metric's number of a row; seconds are stored as ns. */
static double number_of(const struct metric *m, const void *row)
{
	bool seconds = m->family.unit && !strcmp(m->family.unit, "seconds");
	uint64_t v;

	memcpy(&v, (const char *)row + m->offset, sizeof(v));
	return seconds ? (double)v / 1e9 : (double)v;
}

static const char *or_unknown(const char *name)
{
	return name ? name : "unknown";
}

/* ---- launches ---- */

static double launches_left_out(const struct fsc_gpu_report *r)
{
	double n = (double)r->launches;

	for (size_t i = 0; i < r->n_kernels; i++)
		n -= (double)r->kernels[i].launches;
	return r->kernels_left_out && n > 0 ? n : 0;
}

static void fill_launches(struct page *p, const struct metric *m)
{
	double more = launches_left_out(p->r);

	for (size_t i = 0; i < p->r->n_kernels; i++) {
		const struct fsc_gpu_kernel_row *k = &p->r->kernels[i];

		add_to_sum(p, m, fsc_gpu_launch_names[k->launch], or_unknown(k->owner),
			   (double)k->launches);
	}
	if (more > 0)
		add_to_sum(p, m, fsc_gpu_launch_names[FSC_GPU_KERNEL], "other", more);
}

/* Whether the kernel has a series: it had one before, or the limit is not reached. */
static bool is_shown(struct page *p, const char *kernel)
{
	size_t len = strlen(kernel) + 1;

	if (fsc_map_get(p->shown, kernel, len))
		return true;
	if (p->shown->n >= FSC_GPU_KERNEL_SERIES)
		return false;
	if (!fsc_map_put(p->shown, kernel, len, NULL))
		p->e.b->failed = true;
	return true;
}

static void fill_kernels(struct page *p, const struct metric *m)
{
	double more = launches_left_out(p->r);

	for (size_t i = 0; i < p->r->n_kernels; i++) {
		const struct fsc_gpu_kernel_row *k = &p->r->kernels[i];
		const char *name = k->launch == FSC_GPU_GRAPH_LAUNCH ? "graph" : k->kernel;

		if (k->kernel)
			name = is_shown(p, k->kernel) ? k->kernel : "other";
		add_to_sum(p, m, or_unknown(name), NULL, (double)k->launches);
	}
	if (more > 0)
		add_to_sum(p, m, "other", NULL, more);
}

/* ---- memory ---- */

/* Memory of exited processes is no longer live. */
static void fill_live(struct page *p, const struct metric *m)
{
	for (size_t i = 0; i < p->r->n_memory; i++) {
		const struct fsc_gpu_mem_row *row = &p->r->memory[i];

		add_to_sum(p, m, fsc_gpu_mem_names[row->mem], or_unknown(row->owner),
			   row->ended ? 0 : (double)row->live_bytes);
	}
}

static void fill_memory(struct page *p, const struct metric *m)
{
	for (size_t i = 0; i < p->r->n_memory; i++) {
		const struct fsc_gpu_mem_row *row = &p->r->memory[i];

		add_to_sum(p, m, fsc_gpu_mem_names[row->mem], or_unknown(row->owner),
			   number_of(m, row));
	}
}

/* Peaks of processes are not simultaneous: their sum means nothing. */
static void fill_peak(struct page *p, const struct metric *m)
{
	for (size_t i = 0; i < p->r->n_memory; i++) {
		const struct fsc_gpu_mem_row *row = &p->r->memory[i];
		double *most = sum_of(p, m,
				      (const char *const[LABELS]){fsc_gpu_mem_names[row->mem],
								  or_unknown(row->owner)});

		if (most && *most < (double)row->peak_bytes)
			*most = (double)row->peak_bytes;
	}
}

static void fill_leaked(struct page *p, const struct metric *m)
{
	for (size_t i = 0; i < p->r->n_leaks; i++)
		add_to_sum(p, m, fsc_gpu_mem_names[p->r->leaks[i].mem], NULL,
			   (double)p->r->leaks[i].bytes);
}

/* ---- errors ---- */

/* An error row does not say what the call was for, but its name does. */
static bool is_alloc(const char *api)
{
	static const char *const begin[] = {"cuMemAlloc", "cuMemCreate", "cuMemHostAlloc",
					    "cuMemHostRegister"};

	for (size_t i = 0; api && i < sizeof(begin) / sizeof(begin[0]); i++)
		if (!strncmp(api, begin[i], strlen(begin[i])))
			return true;
	return false;
}

static void fill_alloc_failures(struct page *p, const struct metric *m)
{
	for (size_t i = 0; i < p->r->n_errors; i++)
		if (is_alloc(p->r->errors[i].api))
			add_to_sum(p, m, or_unknown(p->r->errors[i].error), NULL,
				   (double)p->r->errors[i].n);
}

static void fill_errors(struct page *p, const struct metric *m)
{
	for (size_t i = 0; i < p->r->n_errors; i++) {
		const struct fsc_gpu_error_row *e = &p->r->errors[i];

		add_to_sum(p, m, or_unknown(e->api), or_unknown(e->error), (double)e->n);
	}
}

/* ---- copies and waits ---- */

static void add_copies(struct page *p, const struct metric *m, const struct fsc_gpu_copy_row *c)
{
	double *at = sum_of(p, m,
			    (const char *const[LABELS]){fsc_gpu_dir_names[c->dir],
							fsc_gpu_host_names[c->host],
							c->async ? "async" : "sync"});

	if (at)
		*at += number_of(m, c);
}

static void fill_copies(struct page *p, const struct metric *m)
{
	for (size_t i = 0; i < p->r->n_copies; i++)
		add_copies(p, m, &p->r->copies[i]);
}

static void fill_timed_copies(struct page *p, const struct metric *m)
{
	for (size_t i = 0; i < p->r->n_copies; i++)
		if (p->r->copies[i].timed_ns)
			add_copies(p, m, &p->r->copies[i]);
}

static void fill_syncs(struct page *p, const struct metric *m)
{
	for (size_t i = 0; i < p->r->n_syncs; i++)
		add_to_sum(p, m, or_unknown(p->r->syncs[i].api), NULL,
			   number_of(m, &p->r->syncs[i]));
}

/* ---- the books ---- */

static void fill_report(struct page *p, const struct metric *m)
{
	add_to_sum(p, m, NULL, NULL, number_of(m, p->r));
}

static void fill_book(struct page *p, const struct metric *m)
{
	if (p->books)
		add_to_sum(p, m, NULL, NULL, number_of(m, p->books));
}

/* Calls in progress may still return: their number is not a counter. */
static void fill_lost(struct page *p, const struct metric *m)
{
	for (const struct fsc_named *l = p->books ? p->books->lost : NULL; l && l->name; l++)
		if (strcmp(l->name, FSC_UNRETURNED))
			add_to_sum(p, m, l->name, NULL, (double)l->n);
}

static void fill_processes(struct page *p, const struct metric *m)
{
	double n = 0;

	for (size_t i = 0; i < p->r->n_processes; i++)
		n += !p->r->processes[i].ended;
	add_to_sum(p, m, NULL, NULL, n);
}

/* ---- the page ---- */

#define MEMORY(field) fill_memory, offsetof(struct fsc_gpu_mem_row, field)
#define COPIES(field) {"dir", "host", "sync"}, fill_copies, offsetof(struct fsc_gpu_copy_row, field)
#define TIMED_COPIES(field)                                                                        \
	{"dir", "host", "sync"}, fill_timed_copies, offsetof(struct fsc_gpu_copy_row, field)
#define SYNCS(field) {"api"}, fill_syncs, offsetof(struct fsc_gpu_sync_row, field)

static const struct metric metrics[] = {
    {{"funcscope_gpu_launches_total", NULL, "Launches on GPUs.", FSC_COUNTER},
     {"kind", "owner"},
     fill_launches,
     0},
    {{"funcscope_gpu_kernel_launches_total", NULL, "Launches of single kernels.", FSC_COUNTER},
     {"kernel"},
     fill_kernels,
     0},
    {{"funcscope_gpu_mem_live_bytes", "bytes", "Memory allocated at the moment.", FSC_GAUGE},
     {"kind", "owner"},
     fill_live,
     0},
    {{"funcscope_gpu_mem_peak_bytes", "bytes", "The most that one process had at a time.",
      FSC_GAUGE},
     {"kind", "owner"},
     fill_peak,
     0},
    {{"funcscope_gpu_allocs_total", NULL, "Allocations.", FSC_COUNTER}, {"kind"}, MEMORY(allocs)},
    {{"funcscope_gpu_frees_total", NULL, "Allocations that were freed.", FSC_COUNTER},
     {"kind"},
     MEMORY(frees)},
    {{"funcscope_gpu_unseen_frees_total", NULL, "Frees of memory whose allocation was not seen.",
      FSC_COUNTER},
     {NULL},
     fill_report,
     offsetof(struct fsc_gpu_report, unseen_frees)},
    {{"funcscope_gpu_copies_pending", NULL, "Copies that are pending.", FSC_GAUGE},
     {NULL},
     fill_report,
     offsetof(struct fsc_gpu_report, pending_copies)},
    {{"funcscope_gpu_verdicts_full_total", NULL,
      "Processes that found no room in the kernel's filter.", FSC_COUNTER},
     {NULL},
     fill_report,
     offsetof(struct fsc_gpu_report, verdicts_full)},
    {{"funcscope_gpu_python_full_total", NULL,
      "Python interpreters that found no room in the kernel.", FSC_COUNTER},
     {NULL},
     fill_report,
     offsetof(struct fsc_gpu_report, python_full)},
    {{"funcscope_gpu_alloc_failures_total", NULL, "Allocations that failed.", FSC_COUNTER},
     {"code"},
     fill_alloc_failures,
     0},
    {{"funcscope_gpu_leaked_bytes", "bytes", "Memory that seems to have leaked.", FSC_GAUGE},
     {"kind"},
     fill_leaked,
     0},
    {{"funcscope_gpu_api_errors_total", NULL, "Calls that returned an error.", FSC_COUNTER},
     {"api", "code"},
     fill_errors,
     0},
    {{"funcscope_gpu_memcpy_bytes_total", "bytes", "Bytes copied.", FSC_COUNTER}, COPIES(bytes)},
    {{"funcscope_gpu_memcpy_copies_total", NULL, "Copies.", FSC_COUNTER}, COPIES(copies)},
    {{"funcscope_gpu_memcpy_timed_bytes_total", "bytes", "Bytes of copies whose time is known.",
      FSC_COUNTER},
     TIMED_COPIES(timed_bytes)},
    {{"funcscope_gpu_memcpy_seconds_total", "seconds", "Time of copies, where it is known.",
      FSC_COUNTER},
     TIMED_COPIES(timed_ns)},
    {{"funcscope_gpu_sync_wait_seconds_total", "seconds", "Time spent waiting for GPUs.",
      FSC_COUNTER},
     SYNCS(ns)},
    {{"funcscope_gpu_sync_calls_total", NULL, "Calls that wait for GPUs.", FSC_COUNTER},
     SYNCS(calls)},
    {{"funcscope_gpu_events_seen_total", NULL, "CUDA calls that probes saw: kept and lost.",
      FSC_COUNTER},
     {NULL},
     fill_book,
     offsetof(struct fsc_summary, seen)},
    {{"funcscope_gpu_events_lost_total", NULL, "CUDA calls that were seen and not kept.",
      FSC_COUNTER},
     {"reason"},
     fill_lost,
     0},
    {{"funcscope_gpu_processes", NULL, "Processes that use CUDA.", FSC_GAUGE},
     {NULL},
     fill_processes,
     0},
};

static void put_metric(struct page *p, const struct metric *m)
{
	size_t n = 0;

	while (n < LABELS && m->labels[n])
		n++;
	p->sums.n = 0;
	fsc_map_release(&p->index);
	m->fill(p, m);
	fsc_exposition_begin(&p->e, &m->family);
	for (size_t i = 0; i < p->sums.n; i++) {
		const struct sum *s = FSC_AT(struct sum, &p->sums, i);
		struct fsc_label l[LABELS];

		for (size_t k = 0; k < n; k++)
			l[k] = (struct fsc_label){m->labels[k], s->labels[k]};
		fsc_exposition_value(&p->e, l, n, s->v);
	}
	fsc_exposition_end(&p->e);
}

void fsc_gpu_prometheus_write(const struct fsc_gpu_report *r, const struct fsc_summary *books,
			      struct fsc_map *shown, enum fsc_prometheus_format f,
			      struct fsc_buf *b)
{
	/* When the counters started. */
	const uint64_t run = (uint64_t)(r->seconds * 1e9);
	const struct fsc_snapshot since = {.start_ns = r->time_ns > run ? r->time_ns - run : 0,
					   .time_ns = r->time_ns};
	struct fsc_map here = {0};
	struct page p = {.e = {.ops = fsc_exposition_formats[f], .s = &since, .b = b},
			 .r = r,
			 .books = books,
			 .shown = shown ? shown : &here,
			 .sums = FSC_VEC_INIT(struct sum)};

	for (size_t i = 0; !fsc_buf_failed(b) && i < sizeof(metrics) / sizeof(metrics[0]); i++)
		put_metric(&p, &metrics[i]);
	fsc_exposition_finish(&p.e);
	fsc_vec_release(&p.sums);
	fsc_map_release(&p.index);
	fsc_map_release(&here);
	fsc_buf_release(&p.key);
}
