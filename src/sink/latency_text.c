/* Timings for people: one line per function, histograms, the slowest calls, and a note on what is
 * too short to measure. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fmt.h"
#include "sink/sink.h"
#include "sink/table.h"

enum { BAR = 40 };

static const struct {
	const char *name;
	double ns;
} units[] = {
    [FSC_UNIT_AUTO] = {"", 0},	 [FSC_UNIT_NS] = {"ns", 1}, [FSC_UNIT_US] = {"us", 1e3},
    [FSC_UNIT_MS] = {"ms", 1e6}, [FSC_UNIT_S] = {"s", 1e9},
};

/* With a fixed unit only the number; the unit is in the heading. */
static void put_time(const struct fsc_sink *s, double ns, struct fsc_buf *b)
{
	if (isinf(ns))
		fsc_buf_puts(b, "inf");
	else if (ns <= 0)
		fsc_buf_putc(b, '0');
	else if (s->unit == FSC_UNIT_AUTO)
		fsc_fmt_ns(b, ns);
	else
		fsc_buf_printf(b, "%.*f", s->unit == FSC_UNIT_NS ? 0 : 3, ns / units[s->unit].ns);
}

/* A duration of a row, or a sum over so many calls. */
static void put_told(const struct fsc_sink *s, const struct fsc_latency *row, double ns,
		     double calls, struct fsc_buf *b)
{
	if (!row->slot->count) {
		fsc_buf_putc(b, '-');
	} else if (fsc_latency_tells(row, ns, calls)) {
		put_time(s, ns, b);
	} else {
		fsc_buf_putc(b, '<');
		put_time(s, row->floor_ns * calls, b);
	}
}

/* The columns of numbers, shown depending on options and room. TIME: of a call, SUM: of all, SPAN:
 * one from which nothing was subtracted. */
enum column_unit { TIME, SUM, SPAN, CALLS, RATE, COST };
enum column_when {
	ALWAYS,
	WIDE,
	WITH_RATE,
	WITH_TOTAL,
	WITH_RAW,
	WITH_SELF,
	WITH_OFF,
	WITH_SLOW,
	WITH_COST
};

struct column {
	const char *title;
	double (*value)(const struct fsc_latency *l);
	double quantile; /* where value is NULL */
	enum column_when when;
	enum column_unit unit;
};

static double count_of(const struct fsc_latency *l)
{
	return (double)l->slot->count;
}

static double min_of(const struct fsc_latency *l)
{
	return fsc_latency_ns(l, (double)fsc_slot_min(l->slot));
}

static double raw_of(const struct fsc_latency *l)
{
	return l->slot->count ? (double)l->slot->raw_total / (double)l->slot->count : 0;
}

static double quantile_of(const struct fsc_latency *l, double q)
{
	return fsc_latency_ns(l, fsc_slot_quantile(l->slot, q));
}

static double max_of(const struct fsc_latency *l)
{
	return fsc_latency_ns(l, (double)l->slot->max);
}

static double self_of(const struct fsc_latency *l)
{
	return (double)l->slot->self_total;
}

static double off_cpu_of(const struct fsc_latency *l)
{
	return (double)l->slot->off_total;
}

static double on_cpu_of(const struct fsc_latency *l)
{
	return (double)(l->slot->total - l->slot->off_total);
}

static double slow_of(const struct fsc_latency *l)
{
	return (double)l->slot->slow;
}

static const struct column columns[] = {
    {"CALLS", count_of, 0, ALWAYS, CALLS},
    {"RATE", count_of, 0, WITH_RATE, RATE},
    {"TOTAL", fsc_latency_total, 0, WITH_TOTAL, SUM},
    {"SELF", self_of, 0, WITH_SELF, SUM},
    {"ON-CPU", on_cpu_of, 0, WITH_OFF, SUM},
    {"OFF-CPU", off_cpu_of, 0, WITH_OFF, SPAN},
    {"MIN", min_of, 0, WIDE, TIME},
    {"AVG", fsc_latency_average, 0, ALWAYS, TIME},
    {"RAW-AVG", raw_of, 0, WITH_RAW, SPAN},
    {"P50", NULL, 0.5, ALWAYS, TIME},
    {"P90", NULL, 0.9, ALWAYS, TIME},
    {"P99", NULL, 0.99, ALWAYS, TIME},
    {"P99.9", NULL, 0.999, WIDE, TIME},
    {"MAX", max_of, 0, ALWAYS, TIME},
    {"STDDEV", fsc_latency_stddev, 0, WIDE, SPAN},
    {"SLOW", slow_of, 0, WITH_SLOW, CALLS},
    {"COST", count_of, 0, WITH_COST, COST},
};

static bool is_shown(const struct column *c, const struct fsc_sink *s,
		     const struct fsc_latencies *l)
{
	const bool shown[] = {
	    [ALWAYS] = true,
	    [WIDE] = s->wide,
	    [WITH_RATE] = l->seconds > 0,
	    /* Where there is a rate, the narrow table has no room for the total. */
	    [WITH_TOTAL] = s->wide || l->seconds <= 0,
	    [WITH_RAW] = l->parts.raw,
	    [WITH_SELF] = l->parts.self,
	    [WITH_OFF] = l->parts.off_cpu,
	    [WITH_SLOW] = l->parts.slow,
	    [WITH_COST] = s->cost,
	};

	return shown[c->when];
}

static void put_cell(const struct fsc_sink *s, const struct fsc_latencies *l,
		     const struct column *c, const struct fsc_latency *row, struct fsc_buf *b)
{
	double v = c->value ? c->value(row) : quantile_of(row, c->quantile);

	if (c->unit == TIME)
		put_told(s, row, v, 1, b);
	else if (c->unit == SUM)
		put_told(s, row, v, count_of(row), b);
	else if (c->unit == SPAN)
		put_time(s, v, b);
	else if (c->unit == COST)
		fsc_text_cost(v, row->hit_ns, b);
	else if (c->unit == RATE)
		fsc_fmt_rate(b, v / l->seconds);
	else
		fsc_buf_printf(b, "%.0f", v);
}

/* The mark of a row; the floor takes precedence. */
enum mark { MARK_NONE, MARK_FLOOR, MARK_PROBES };
static const char *const marks[] = {"", " *", " !"};

static enum mark mark_of(const struct fsc_latency *row)
{
	if (fsc_latency_at_floor(row))
		return MARK_FLOOR;
	return fsc_latency_mostly_probes(row) ? MARK_PROBES : MARK_NONE;
}

static void put_table(const struct fsc_sink *s, const struct fsc_latencies *l, struct fsc_buf *b)
{
	size_t n = sizeof(columns) / sizeof(columns[0]);
	struct fsc_table t = {0};

	fsc_table_key_columns(&t, l->by);
	for (size_t i = 0; i < n; i++)
		if (is_shown(&columns[i], s, l))
			fsc_table_column(&t, columns[i].title, true, false);
	for (size_t r = 0; r < l->rows.n; r++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &l->rows, r);

		fsc_table_keys(&t, l->funcs, l->n_funcs, l->by, &row->key);
		fsc_buf_puts(&t.cells, marks[mark_of(row)]);
		for (size_t i = 0; i < n; i++)
			if (is_shown(&columns[i], s, l))
				put_cell(s, l, &columns[i], row, fsc_table_cell(&t));
	}
	if (s->unit != FSC_UNIT_AUTO)
		fsc_buf_printf(b, "times in %s\n", units[s->unit].name);
	fsc_table_print(&t, s->width, b);
}

/* What the marks mean. The floor depends on how a function is probed. */
static void put_marks(const struct fsc_latencies *l, struct fsc_buf *b)
{
	double least = 0, most = 0;
	bool probes = false;

	for (size_t i = 0; i < l->rows.n; i++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &l->rows, i);
		enum mark mark = mark_of(row);

		probes |= mark == MARK_PROBES;
		if (mark != MARK_FLOOR)
			continue;
		least = !most || row->floor_ns < least ? row->floor_ns : least;
		most = row->floor_ns > most ? row->floor_ns : most;
	}
	if (most > 0) {
		fsc_buf_puts(b, "* at the noise floor: shorter than the ");
		fsc_fmt_ns(b, least);
		if (least < most) {
			fsc_buf_puts(b, " to ");
			fsc_fmt_ns(b, most);
		}
		fsc_buf_puts(b, " that the probes themselves take\n");
	}
	if (probes)
		fsc_buf_puts(b, "! mostly probes: more was subtracted for them than is left, so it "
				"is uncertain; see --raw\n");
}

static void put_bins(const struct fsc_sink *s, const struct fsc_vec *bins, struct fsc_buf *b)
{
	struct fsc_table t = {0};
	uint64_t most = 1;

	fsc_table_column(&t, "FROM", true, false);
	fsc_table_column(&t, "TO", true, false);
	fsc_table_column(&t, "CALLS", true, false);
	fsc_table_column(&t, "", false, false);
	for (size_t i = 0; i < bins->n; i++)
		if (FSC_AT(struct fsc_bin, bins, i)->n > most)
			most = FSC_AT(struct fsc_bin, bins, i)->n;
	for (size_t i = 0; i < bins->n; i++) {
		const struct fsc_bin *bin = FSC_AT(struct fsc_bin, bins, i);
		size_t full = (size_t)((bin->n * BAR + most - 1) / most);

		put_time(s, bin->low, fsc_table_cell(&t));
		put_time(s, bin->high, fsc_table_cell(&t));
		fsc_buf_printf(fsc_table_cell(&t), "%llu", (unsigned long long)bin->n);
		fsc_buf_putc(fsc_table_cell(&t), '|');
		fsc_buf_pad(&t.cells, '@', full);
		fsc_buf_pad(&t.cells, ' ', BAR - full);
		fsc_buf_putc(&t.cells, '|');
	}
	fsc_table_print(&t, 0, b);
}

static void put_histogram(const struct fsc_sink *s, const struct fsc_latencies *l,
			  const struct fsc_latency *row, struct fsc_buf *b)
{
	struct fsc_vec bins = FSC_VEC_INIT(struct fsc_bin);
	int rc;

	if (!row->slot->count)
		return;
	fsc_buf_putc(b, '\n');
	if (l->rows.n > 1) {
		fsc_fmt_term(b, l->funcs[row->key.func].name);
		if (l->by & FSC_BY_COMM) {
			fsc_buf_puts(b, ", ");
			fsc_fmt_term(b, row->key.comm);
		}
		if (l->by & FSC_BY_PID)
			fsc_buf_printf(b, ", process %u", row->key.pid);
		if (l->by & FSC_BY_TID)
			fsc_buf_printf(b, ", thread %u", row->key.tid);
		fsc_buf_puts(b, ":\n");
	}
	rc = s->linear_step > 0 ? fsc_latency_bins_linear(row, s->linear_min, s->linear_max,
							  s->linear_step, &bins, NULL)
				: fsc_latency_bins_log2(row, &bins, NULL);
	b->failed |= rc != 0;
	put_bins(s, &bins, b);
	fsc_vec_release(&bins);
}

/* What the narrow table leaves out, for a single function. */
static void put_rest(const struct fsc_sink *s, const struct fsc_latency *row, struct fsc_buf *b)
{
	if (s->wide || !row->slot->count)
		return;
	fsc_buf_puts(b, "min ");
	put_told(s, row, min_of(row), 1, b);
	fsc_buf_puts(b, ", p99.9 ");
	put_told(s, row, quantile_of(row, 0.999), 1, b);
	fsc_buf_puts(b, ", standard deviation ");
	put_time(s, fsc_latency_stddev(row), b);
	fsc_buf_putc(b, '\n');
}

/* The slowest of the calls that are kept individually, and how many those are. */
static void put_recent(const struct fsc_sink *s, const struct fsc_latencies *l, struct fsc_buf *b)
{
	for (size_t i = 0; i < l->rows.n; i++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &l->rows, i);
		const struct fsc_recent *r = &row->recent;

		if (!r->n)
			continue;
		fsc_fmt_term(b, l->funcs[row->key.func].name);
		fsc_buf_printf(b, ": slowest of the last %llu:", (unsigned long long)r->n);
		for (unsigned k = 0; k < r->n_slow; k++) {
			fsc_buf_puts(b, k ? ", " : " ");
			put_time(s, r->slow[k], b);
		}
		fsc_buf_putc(b, '\n');
	}
}

void fsc_text_latency(struct fsc_sink *s, const struct fsc_latencies *l, struct fsc_buf *b)
{
	fsc_text_begin(s, l->time_ns, b);
	put_table(s, l, b);
	if (l->rows.n == 1)
		put_rest(s, FSC_AT(struct fsc_latency, &l->rows, 0), b);
	put_marks(l, b);
	if (l->parts.recent)
		put_recent(s, l, b);
	for (size_t i = 0; i < l->rows.n && (s->histograms || l->rows.n == 1); i++)
		put_histogram(s, l, FSC_AT(struct fsc_latency, &l->rows, i), b);
}
