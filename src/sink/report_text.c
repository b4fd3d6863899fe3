/* Reports of a monitor for people: the most called functions, the slowest on average, errors, and
 * the slowest calls. */
#include <stdlib.h>
#include <strings.h>

#include "base/fmt.h"
#include "sink/sink.h"
#include "sink/table.h"

/* A ranking and the value it sorts by. */
struct ranking {
	const char *title;
	double (*value)(const struct fsc_latency *l);
};

static double calls_of(const struct fsc_latency *l)
{
	return (double)l->slot->count;
}

static const struct ranking most_called = {"most called", calls_of};
static const struct ranking slowest = {"slowest on average", fsc_latency_average};

static int compare_rank(const void *pa, const void *pb, void *arg)
{
	const struct fsc_latency *const *a = pa, *const *b = pb;
	const struct ranking *r = arg;
	double x = r->value(*a), y = r->value(*b);

	return (y > x) - (y < x);
}

static uint64_t errors_of(const struct fsc_report *r, size_t row)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->n_errors; i++)
		n += r->errors[i].row == row ? r->errors[i].n : 0;
	return n;
}

/* Labels are the same in all rows; there is at least one row. */
static void put_label_columns(const struct fsc_report *r, struct fsc_table *t)
{
	static const char *const titles[] = {"CONTAINER", "POD", "CGROUP", "UNIT"};
	const struct fsc_latency *row = FSC_AT(struct fsc_latency, &r->calls->rows, 0);

	for (size_t i = 0; i < row->n_labels; i++)
		for (size_t k = 0; k < sizeof(titles) / sizeof(titles[0]); k++)
			if (!strcasecmp(titles[k], row->labels[i].name))
				fsc_table_column(t, titles[k], false, true);
}

static void put_labels(const struct fsc_latency *row, struct fsc_table *t)
{
	for (size_t i = 0; i < row->n_labels; i++)
		fsc_fmt_term(fsc_table_cell(t),
			     row->labels[i].value[0] ? row->labels[i].value : "-");
}

/* A duration, as far as it can be told from the cost of the probes. */
static void put_told(const struct fsc_latency *l, double ns, struct fsc_buf *b)
{
	bool told = fsc_latency_tells(l, ns, 1);

	if (!l->slot->count) {
		fsc_buf_putc(b, '-');
		return;
	}
	fsc_buf_puts(b, told ? "" : "<");
	fsc_fmt_ns(b, told ? ns : l->floor_ns);
}

static void put_line(const struct fsc_report *r, const struct fsc_latency *l, struct fsc_table *t)
{
	const struct fsc_func *f = &r->calls->funcs[l->key.func];
	const double q[] = {0.5, 0.9, 0.99};
	size_t row = (size_t)(l - FSC_AT(struct fsc_latency, &r->calls->rows, 0));

	fsc_fmt_term(fsc_table_cell(t), f->group ? f->group : "");
	put_labels(l, t);
	fsc_table_keys(t, r->calls->funcs, r->calls->n_funcs, r->calls->by, &l->key);
	fsc_buf_printf(fsc_table_cell(t), "%llu", (unsigned long long)l->slot->count);
	fsc_fmt_rate(fsc_table_cell(t),
		     r->calls->seconds > 0 ? (double)l->slot->count / r->calls->seconds : 0);
	put_told(l, (double)fsc_slot_min(l->slot), fsc_table_cell(t));
	put_told(l, fsc_latency_average(l), fsc_table_cell(t));
	for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++)
		put_told(l, fsc_slot_quantile(l->slot, q[i]), fsc_table_cell(t));
	put_told(l, (double)l->slot->max, fsc_table_cell(t));
	fsc_buf_printf(fsc_table_cell(t), "%llu", (unsigned long long)l->slot->slow);
	fsc_buf_printf(fsc_table_cell(t), "%llu", (unsigned long long)errors_of(r, row));
}

static void put_ranking(const struct fsc_sink *s, const struct fsc_report *r,
			const struct ranking *by, struct fsc_buf *b)
{
	static const char *const numbers[] = {"CALLS", "RATE", "MIN", "AVG",  "P50",
					      "P90",   "P99",  "MAX", "SLOW", "ERRORS"};
	size_t n = r->calls->rows.n, shown = r->top && r->top < n ? r->top : n;
	const struct fsc_latency **all = calloc(n + 1, sizeof(const struct fsc_latency *));
	struct fsc_table t = {0};

	if (!all) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		all[i] = FSC_AT(struct fsc_latency, &r->calls->rows, i);
	qsort_r(all, n, sizeof(const struct fsc_latency *), compare_rank, (void *)by);
	fsc_table_column(&t, "GROUP", false, false);
	put_label_columns(r, &t);
	fsc_table_key_columns(&t, r->calls->by);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		fsc_table_column(&t, numbers[i], true, false);
	for (size_t i = 0; i < shown; i++)
		put_line(r, all[i], &t);
	free(all);
	fsc_buf_printf(b, "%s", by->title);
	if (shown < n)
		fsc_buf_printf(b, " (%zu of %zu)", shown, n);
	fsc_buf_putc(b, '\n');
	fsc_table_print(&t, s->width, b);
}

static void put_errors(const struct fsc_sink *s, const struct fsc_report *r, struct fsc_buf *b)
{
	struct fsc_table t = {0};

	if (!r->n_errors)
		return;
	fsc_table_column(&t, "GROUP", false, false);
	put_label_columns(r, &t);
	fsc_table_key_columns(&t, r->calls->by);
	fsc_table_column(&t, "ERROR", false, true);
	fsc_table_column(&t, "CODE", true, false);
	fsc_table_column(&t, "CALLS", true, false);
	for (size_t i = 0; i < r->n_errors; i++) {
		const struct fsc_call_errors *e = &r->errors[i];
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &r->calls->rows, e->row);
		const struct fsc_count *key = &row->key;
		const char *group = r->calls->funcs[key->func].group;

		fsc_fmt_term(fsc_table_cell(&t), group ? group : "");
		put_labels(row, &t);
		fsc_table_keys(&t, r->calls->funcs, r->calls->n_funcs, r->calls->by, key);
		fsc_fmt_term(fsc_table_cell(&t), e->name ? e->name : "-");
		fsc_buf_printf(fsc_table_cell(&t), "%lld", (long long)e->code);
		fsc_buf_printf(fsc_table_cell(&t), "%llu", (unsigned long long)e->n);
	}
	fsc_buf_puts(b, "\nerrors\n");
	fsc_table_print(&t, s->width, b);
}

static void put_slow(struct fsc_sink *s, const struct fsc_report *r, struct fsc_buf *b)
{
	bool begun = s->calls_begun;

	if (!r->n_slow)
		return;
	fsc_buf_puts(b, "\nslowest calls\n");
	s->calls_begun = false;
	for (size_t i = 0; i < r->n_slow; i++)
		fsc_text_call(s, r->slow[i]->call, b);
	s->calls_begun = begun;
}

void fsc_text_report(struct fsc_sink *s, const struct fsc_report *r, struct fsc_buf *b)
{
	if (s->begun)
		fsc_buf_putc(b, '\n');
	s->begun = true;
	fsc_sink_clock(r->calls->time_ns, b);
	fsc_buf_printf(b, "  %s %.1f s: %zu process%s, %zu function%s called\n",
		       r->whole ? "in all" : "last", r->calls->seconds, r->processes,
		       r->processes == 1 ? "" : "es", r->calls->rows.n,
		       r->calls->rows.n == 1 ? "" : "s");
	if (!r->calls->rows.n)
		return;
	put_ranking(s, r, &most_called, b);
	if (r->calls->rows.n > 1) {
		fsc_buf_putc(b, '\n');
		put_ranking(s, r, &slowest, b);
	}
	put_errors(s, r, b);
	put_slow(s, r, b);
}
