/* Timings for people: one line per function, histograms, the slowest calls, and a word on what is
 * too short to be measured. */
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

/* With a fixed unit the number alone; the unit stands in the heading. */
static void put_time(const struct fsc_sink *s, double ns, struct fsc_buf *b)
{
	if (isinf(ns))
		fsc_buf_puts(b, "inf");
	else if (s->unit == FSC_UNIT_AUTO)
		fsc_fmt_ns(b, ns);
	else
		fsc_buf_printf(b, "%.*f", s->unit == FSC_UNIT_NS ? 0 : 3, ns / units[s->unit].ns);
}

/* The columns of numbers: which there are depends on what was asked and on the room. */
enum unit_of { TIME, CALLS, RATE };
struct column {
	const char *title;
	double (*value)(const struct fsc_latency *l);
	bool (*wanted)(const struct fsc_sink *s, const struct fsc_latencies *l);
	enum unit_of unit;
};

static double v_count(const struct fsc_latency *l)
{
	return (double)l->slot->count;
}

static double v_total(const struct fsc_latency *l)
{
	return fsc_latency_total(l);
}

static double v_min(const struct fsc_latency *l)
{
	return fsc_latency_ns(l, (double)fsc_slot_min(l->slot));
}

static double v_avg(const struct fsc_latency *l)
{
	return fsc_latency_average(l);
}

static double v_raw(const struct fsc_latency *l)
{
	return l->slot->count ? (double)l->slot->raw_total / (double)l->slot->count : 0;
}

static double v_p50(const struct fsc_latency *l)
{
	return fsc_latency_ns(l, fsc_slot_quantile(l->slot, 0.5));
}

static double v_p90(const struct fsc_latency *l)
{
	return fsc_latency_ns(l, fsc_slot_quantile(l->slot, 0.9));
}

static double v_p99(const struct fsc_latency *l)
{
	return fsc_latency_ns(l, fsc_slot_quantile(l->slot, 0.99));
}

static double v_p999(const struct fsc_latency *l)
{
	return fsc_latency_ns(l, fsc_slot_quantile(l->slot, 0.999));
}

static double v_max(const struct fsc_latency *l)
{
	return fsc_latency_ns(l, (double)l->slot->max);
}

static double v_stddev(const struct fsc_latency *l)
{
	return fsc_latency_stddev(l);
}

static double v_self(const struct fsc_latency *l)
{
	return (double)l->slot->self_total;
}

static double v_off(const struct fsc_latency *l)
{
	return (double)l->slot->off_total;
}

static double v_on(const struct fsc_latency *l)
{
	return (double)(l->slot->total - l->slot->off_total);
}

static double v_slow(const struct fsc_latency *l)
{
	return (double)l->slot->slow;
}

static bool with_rate(const struct fsc_sink *s, const struct fsc_latencies *l)
{
	(void)s;
	return l->seconds > 0;
}

/* Where there is a rate, the narrow table has no room for the total. */
static bool with_total(const struct fsc_sink *s, const struct fsc_latencies *l)
{
	return s->wide || l->seconds <= 0;
}

static bool roomy(const struct fsc_sink *s, const struct fsc_latencies *l)
{
	(void)l;
	return s->wide;
}

static bool with_raw(const struct fsc_sink *s, const struct fsc_latencies *l)
{
	(void)s;
	return l->parts.raw;
}

static bool with_self(const struct fsc_sink *s, const struct fsc_latencies *l)
{
	(void)s;
	return l->parts.self;
}

static bool with_off(const struct fsc_sink *s, const struct fsc_latencies *l)
{
	(void)s;
	return l->parts.off_cpu;
}

static bool with_slow(const struct fsc_sink *s, const struct fsc_latencies *l)
{
	(void)s;
	return l->parts.slow;
}

static const struct column columns[] = {
    {"CALLS", v_count, NULL, CALLS},	  {"RATE", v_count, with_rate, RATE},
    {"TOTAL", v_total, with_total, TIME}, {"SELF", v_self, with_self, TIME},
    {"ON-CPU", v_on, with_off, TIME},	  {"OFF-CPU", v_off, with_off, TIME},
    {"MIN", v_min, roomy, TIME},	  {"AVG", v_avg, NULL, TIME},
    {"RAW-AVG", v_raw, with_raw, TIME},	  {"P50", v_p50, NULL, TIME},
    {"P90", v_p90, NULL, TIME},		  {"P99", v_p99, NULL, TIME},
    {"P99.9", v_p999, roomy, TIME},	  {"MAX", v_max, NULL, TIME},
    {"STDDEV", v_stddev, roomy, TIME},	  {"SLOW", v_slow, with_slow, CALLS},
};

static bool wanted(const struct column *c, const struct fsc_sink *s, const struct fsc_latencies *l)
{
	return !c->wanted || c->wanted(s, l);
}

static void put_cell(const struct fsc_sink *s, const struct fsc_latencies *l,
		     const struct column *c, const struct fsc_latency *row, struct fsc_buf *b)
{
	double v = c->value(row);

	if (c->unit == TIME)
		put_time(s, v, b);
	else if (c->unit == RATE)
		fsc_fmt_rate(b, v / l->seconds);
	else
		fsc_buf_printf(b, "%.0f", v);
}

/* What a row is marked with; below the floor it needs no more said. */
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
		if (wanted(&columns[i], s, l))
			fsc_table_column(&t, columns[i].title, true, false);
	for (size_t r = 0; r < l->rows.n; r++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &l->rows, r);

		fsc_table_keys(&t, l->funcs, l->n_funcs, l->by, &row->key);
		fsc_buf_puts(&t.cells, marks[mark_of(row)]);
		for (size_t i = 0; i < n; i++) {
			if (!wanted(&columns[i], s, l))
				continue;
			put_cell(s, l, &columns[i], row, fsc_table_cell(&t));
		}
	}
	if (s->unit != FSC_UNIT_AUTO)
		fsc_buf_printf(b, "times in %s\n", units[s->unit].name);
	fsc_table_print(&t, s->width, b);
}

/* What the marks mean. The floor differs by the way a function is probed. */
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

/* What the narrow table leaves out, for a function that stands alone. */
static void put_rest(const struct fsc_sink *s, const struct fsc_latency *row, struct fsc_buf *b)
{
	if (s->wide || !row->slot->count)
		return;
	fsc_buf_puts(b, "min ");
	put_time(s, v_min(row), b);
	fsc_buf_puts(b, ", p99.9 ");
	put_time(s, v_p999(row), b);
	fsc_buf_puts(b, ", standard deviation ");
	put_time(s, v_stddev(row), b);
	fsc_buf_putc(b, '\n');
}

/* The slowest of the calls that are kept one by one, and how many of all these are. */
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
