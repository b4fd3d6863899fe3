/* The gpu report for people: a table for each kind of rows that is not empty. The sections that are
 * not tables are in gpu_text_words.c. */
#include "sink/gpu_text.h"

#include <string.h>

#include "base/fmt.h"
#include "sink/table.h"

struct column {
	const char *title;
	bool number, cut;
};

#define COLUMNS(t, columns) add_columns(t, columns, sizeof(columns) / sizeof((columns)[0]))

static void add_columns(struct fsc_table *t, const struct column *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fsc_table_column(t, c[i].title, c[i].number, c[i].cut);
}

/* How many rows the table leaves out. */
static void put_more(struct fsc_buf *b, size_t n, const char *what)
{
	if (n)
		fsc_buf_printf(b, "%zu more %s%s (--top)\n", n, what,
			       n == 1			       ? ""
			       : what[strlen(what) - 1] == 's' ? "es"
							       : "s");
}

static void put_table(const struct fsc_sink *s, const char *title, struct fsc_table *t,
		      struct fsc_buf *b)
{
	fsc_buf_printf(b, "\n%s\n", title);
	fsc_table_print(t, s->width, b);
}

static void number_cell(struct fsc_table *t, uint64_t n)
{
	fsc_buf_printf(fsc_table_cell(t), "%llu", (unsigned long long)n);
}

static void bytes_cell(struct fsc_table *t, uint64_t n)
{
	fsc_gpu_text_bytes(fsc_table_cell(t), (double)n);
}

static void duration_cell(struct fsc_table *t, uint64_t ns)
{
	fsc_fmt_ns(fsc_table_cell(t), (double)ns);
}

/* ---- processes ---- */

static void put_process_note(const struct fsc_gpu_process_row *p, struct fsc_table *t)
{
	struct fsc_buf *b = fsc_table_cell(t);

	if (!p->ended && !p->before && !p->inner_pid)
		fsc_buf_putc(b, '-');
	fsc_buf_puts(b, p->ended ? "ended" : "");
	if (p->before)
		fsc_buf_puts(b, p->ended ? ", ran before" : "ran before");
	if (p->inner_pid)
		fsc_buf_printf(b, "%sinside %u", p->ended || p->before ? ", " : "", p->inner_pid);
}

static void put_processes(const struct fsc_sink *s, const struct fsc_gpu_report *r,
			  struct fsc_buf *b)
{
	static const struct column columns[] = {{"PID", true, false},	   {"COMM", false, false},
						{"LAUNCHES", true, false}, {"COPIES", true, false},
						{"WAITED", true, false},   {"LIVE", true, false},
						{"ERRORS", true, false},   {"NOTE", false, true}};
	struct fsc_table t = {0};

	if (!r->n_processes)
		return;
	COLUMNS(&t, columns);
	for (size_t i = 0; i < r->n_processes; i++) {
		const struct fsc_gpu_process_row *p = &r->processes[i];

		number_cell(&t, p->pid);
		fsc_gpu_text_name(fsc_table_cell(&t), p->comm);
		number_cell(&t, p->launches);
		number_cell(&t, p->copies);
		if (p->sync_ns)
			duration_cell(&t, p->sync_ns);
		else
			fsc_buf_putc(fsc_table_cell(&t), '-');
		bytes_cell(&t, p->live_bytes);
		number_cell(&t, p->errors);
		put_process_note(p, &t);
	}
	put_table(s, "processes", &t, b);
	put_more(b, r->processes_left_out, "process");
}

/* ---- kernels ---- */

/* "256x2": trailing dimensions of 1 are left out. */
static void put_dims(const uint32_t d[3], struct fsc_table *t)
{
	struct fsc_buf *b = fsc_table_cell(t);

	fsc_buf_printf(b, "%u", d[0]);
	if (d[1] > 1 || d[2] > 1)
		fsc_buf_printf(b, "x%u", d[1]);
	if (d[2] > 1)
		fsc_buf_printf(b, "x%u", d[2]);
}

static void put_kernel(const struct fsc_gpu_report *r, const struct fsc_gpu_kernel_row *k,
		       struct fsc_table *t)
{
	number_cell(t, k->launches);
	fsc_buf_printf(fsc_table_cell(t), "%.1f%%",
		       r->launches ? 100 * (double)k->launches / (double)r->launches : 0);
	if (k->launch == FSC_GPU_GRAPH_LAUNCH) {
		fsc_buf_puts(fsc_table_cell(t), "-");
		fsc_buf_puts(fsc_table_cell(t), "-");
	} else {
		put_dims(k->grid, t);
		put_dims(k->block, t);
	}
	fsc_gpu_text_owner(fsc_table_cell(t), k->owner);
	if (k->kernel)
		fsc_fmt_term(fsc_table_cell(t), k->kernel);
	else
		fsc_buf_puts(fsc_table_cell(t),
			     k->launch == FSC_GPU_GRAPH_LAUNCH ? "(graph)" : "(unknown)");
}

static void put_kernels(const struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_buf *b)
{
	static const struct column columns[] = {{"LAUNCHES", true, false}, {"SHARE", true, false},
						{"GRID", true, false},	   {"BLOCK", true, false},
						{"OWNER", false, true},	   {"KERNEL", false, true}};
	struct fsc_table t = {0};

	if (!r->n_kernels)
		return;
	COLUMNS(&t, columns);
	for (size_t i = 0; i < r->n_kernels; i++)
		put_kernel(r, &r->kernels[i], &t);
	put_table(s, "kernels (grid and block of the last launch)", &t, b);
	put_more(b, r->kernels_left_out, "kernel");
}

/* ---- memory ---- */

static void put_memory(const struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_buf *b)
{
	static const struct column columns[] = {{"PROCESS", false, true}, {"KIND", false, false},
						{"OWNER", false, true},	  {"ALLOCS", true, false},
						{"FREES", true, false},	  {"LIVE", true, false},
						{"PEAK", true, false}};
	struct fsc_table t = {0};

	COLUMNS(&t, columns);
	for (size_t i = 0; i < r->n_memory; i++) {
		const struct fsc_gpu_mem_row *m = &r->memory[i];

		fsc_gpu_text_process(fsc_table_cell(&t), m->comm, m->pid);
		fsc_buf_puts(fsc_table_cell(&t), fsc_gpu_mem_names[m->mem]);
		fsc_gpu_text_owner(fsc_table_cell(&t), m->owner);
		number_cell(&t, m->allocs);
		number_cell(&t, m->frees);
		bytes_cell(&t, m->live_bytes);
		bytes_cell(&t, m->peak_bytes);
	}
	if (r->n_memory)
		put_table(s, "memory", &t, b);
	put_more(b, r->memory_left_out, "row");
	if (r->unseen_frees)
		fsc_buf_printf(b, "%s%llu free%s of memory whose allocation was not seen\n",
			       r->n_memory ? "" : "\n", (unsigned long long)r->unseen_frees,
			       r->unseen_frees == 1 ? "" : "s");
}

/* ---- copies ---- */

/* The duration of a copy that was only enqueued is not known. */
static void put_bandwidth(const struct fsc_gpu_copy_row *c, struct fsc_table *t)
{
	struct fsc_buf *b = fsc_table_cell(t);

	if (!c->timed_ns) {
		fsc_buf_puts(b, "enqueued");
		return;
	}
	fsc_gpu_text_bytes(b, (double)c->timed_bytes * 1e9 / (double)c->timed_ns);
	fsc_buf_puts(b, "/s");
	if (c->timed_bytes < c->bytes)
		fsc_buf_printf(b, " (%.0f%% timed)",
			       100 * (double)c->timed_bytes / (double)c->bytes);
}

static void put_memsets(const struct fsc_gpu_report *r, struct fsc_buf *b)
{
	if (!r->memsets)
		return;
	fsc_buf_printf(b, "%s%llu memset%s of ", r->n_copies ? "" : "\n",
		       (unsigned long long)r->memsets, r->memsets == 1 ? "" : "s");
	fsc_gpu_text_bytes(b, (double)r->memset_bytes);
	fsc_buf_puts(b, r->memsets == 1 ? "\n" : " in all\n");
}

static bool has_hidden_waits(const struct fsc_gpu_report *r)
{
	for (size_t i = 0; i < r->n_copies; i++)
		if (r->copies[i].syncs)
			return true;
	return false;
}

static void put_copies(const struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_buf *b)
{
	static const struct column columns[] = {{"DIRECTION", false, false},
						{"HOST", false, false},
						{"HOW", false, false},
						{"COPIES", true, false},
						{"BYTES", true, false}};
	bool waits = has_hidden_waits(r);
	struct fsc_table t = {0};

	COLUMNS(&t, columns);
	if (waits)
		fsc_table_column(&t, "WAITED", true, false);
	fsc_table_column(&t, "BANDWIDTH", false, false);
	for (size_t i = 0; i < r->n_copies; i++) {
		const struct fsc_gpu_copy_row *c = &r->copies[i];

		fsc_buf_puts(fsc_table_cell(&t), fsc_gpu_dir_names[c->dir]);
		fsc_buf_puts(fsc_table_cell(&t),
			     c->host == FSC_GPU_HOST_NONE ? "-" : fsc_gpu_host_names[c->host]);
		fsc_buf_puts(fsc_table_cell(&t), c->async ? "async" : "sync");
		number_cell(&t, c->copies);
		bytes_cell(&t, c->bytes);
		if (waits)
			number_cell(&t, c->syncs);
		put_bandwidth(c, &t);
	}
	if (r->n_copies)
		put_table(s, waits ? "copies (WAITED: asynchronous copies that blocked)" : "copies",
			  &t, b);
	put_memsets(r, b);
}

/* ---- waits and errors ---- */

static void put_waits(const struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_buf *b)
{
	static const struct column columns[] = {{"CALLS", true, false},
						{"TOTAL", true, false},
						{"MAX", true, false},
						{"CALL", false, false},
						{"WHERE", false, true}};
	struct fsc_table t = {0};

	if (!r->n_syncs)
		return;
	COLUMNS(&t, columns);
	for (size_t i = 0; i < r->n_syncs; i++) {
		const struct fsc_gpu_sync_row *y = &r->syncs[i];

		number_cell(&t, y->calls);
		duration_cell(&t, y->ns);
		duration_cell(&t, y->max_ns);
		fsc_gpu_text_name(fsc_table_cell(&t), y->via ? y->via : y->api);
		fsc_gpu_text_where(fsc_table_cell(&t), &y->stack);
	}
	put_table(s, "waits", &t, b);
	put_more(b, r->syncs_left_out, "place");
}

static void put_errors(const struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_buf *b)
{
	static const struct column columns[] = {{"COUNT", true, false},
						{"CALL", false, false},
						{"ERROR", false, true},
						{"WHERE", false, true}};
	struct fsc_table t = {0};

	if (!r->n_errors)
		return;
	COLUMNS(&t, columns);
	for (size_t i = 0; i < r->n_errors; i++) {
		const struct fsc_gpu_error_row *e = &r->errors[i];

		number_cell(&t, e->n);
		fsc_gpu_text_name(fsc_table_cell(&t), e->via ? e->via : e->api);
		if (e->error)
			fsc_fmt_term(fsc_table_cell(&t), e->error);
		else
			fsc_buf_printf(fsc_table_cell(&t), "%d", e->code);
		fsc_gpu_text_where(fsc_table_cell(&t), &e->stack);
	}
	put_table(s, "errors", &t, b);
	put_more(b, r->errors_left_out, "row");
}

/* ---- coverage ---- */

/* A path is cut at its start: "...lib/libcudart.so.13". */
static void put_file(const struct fsc_sink *s, const char *file, struct fsc_table *t)
{
	enum { ROOM = 40 };
	struct fsc_buf *b = fsc_table_cell(t);
	size_t n = strlen(file);

	if (s->width && n > ROOM) {
		fsc_buf_puts(b, "...");
		file += n - (ROOM - 3);
	}
	fsc_fmt_term(b, file);
}

static void put_coverage(const struct fsc_sink *s, const struct fsc_gpu_report *r,
			 struct fsc_buf *b)
{
	static const struct column columns[] = {{"FILE", false, false},
						{"LAYER", false, false},
						{"HOOKED", true, false},
						{"NOTE", false, true}};
	struct fsc_table t = {0};

	if (!r->n_coverage)
		return;
	COLUMNS(&t, columns);
	for (size_t i = 0; i < r->n_coverage; i++) {
		const struct fsc_gpu_coverage_row *c = &r->coverage[i];
		struct fsc_buf *note;

		put_file(s, c->file, &t);
		fsc_buf_puts(fsc_table_cell(&t), fsc_gpu_layer_names[c->layer]);
		number_cell(&t, c->hooked);
		note = fsc_table_cell(&t);
		if (c->refused)
			fsc_buf_printf(note, "%zu refused%s", c->refused, c->note ? "; " : "");
		if (c->note || !c->refused)
			fsc_gpu_text_name(note, c->note);
	}
	put_table(s, "coverage", &t, b);
}

/* ---- the report ---- */

static void add_part(struct fsc_buf *b, bool *any, uint64_t n, const char *what)
{
	if (!n)
		return;
	fsc_buf_printf(b, "%s%llu %s", *any ? ", " : " (", (unsigned long long)n, what);
	*any = true;
}

static void put_head(const struct fsc_gpu_report *r, struct fsc_buf *b)
{
	bool any = false;

	size_t n = r->n_processes + r->processes_left_out;

	fsc_buf_printf(b, "%.1f s: %zu process%s, %llu launch%s", r->seconds, n, n == 1 ? "" : "es",
		       (unsigned long long)r->launches, r->launches == 1 ? "" : "es");
	add_part(b, &any, r->graphs, "of graphs");
	add_part(b, &any, r->captured, "captured");
	add_part(b, &any, r->unnamed, "unnamed");
	fsc_buf_puts(b, any ? ")\n" : "\n");
	if (r->lost)
		fsc_buf_printf(
		    b, "%llu calls were lost because a buffer was full: all totals are too low\n",
		    (unsigned long long)r->lost);
	if (r->pending_copies)
		fsc_buf_printf(b, "%llu cop%s pending, not in any total yet\n",
			       (unsigned long long)r->pending_copies,
			       r->pending_copies == 1 ? "y is" : "ies are");
	if (r->verdicts_full)
		fsc_buf_printf(b,
			       "%llu processes found no room in the kernel's filter: their calls "
			       "are filtered later, which costs more (verdicts_full)\n",
			       (unsigned long long)r->verdicts_full);
	if (r->python_full)
		fsc_buf_printf(b,
			       "%llu Python interpreters found no room in the kernel: their stacks "
			       "have no Python lines (python_full)\n",
			       (unsigned long long)r->python_full);
}

void fsc_text_gpu_report(struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_buf *b)
{
	fsc_text_begin(s, r->time_ns, b);
	put_head(r, b);
	put_processes(s, r, b);
	put_kernels(s, r, b);
	put_memory(s, r, b);
	put_copies(s, r, b);
	put_waits(s, r, b);
	put_errors(s, r, b);
	fsc_gpu_text_leaks(s, r, b);
	fsc_gpu_text_ooms(s, r, b);
	fsc_gpu_text_findings(s, r, b);
	put_coverage(s, r, b);
}
