/* Prometheus' text format 0.0.4, and OpenMetrics 1.0: the same lines, where the latter names
 * counters without "_total" in their head, has units, and links a bucket to one of its calls.
 */
#include "sink/exposition.h"

#include <string.h>

#include "base/fmt.h"

static bool is_openmetrics(const struct fsc_exposition *e)
{
	return e->ops == &fsc_exposition_openmetrics;
}

/* A backslash or a quote would end the value; fsc_fmt_term() has already replaced newlines. */
static void text_label(struct fsc_exposition *e, const char *name, const char *value)
{
	struct fsc_buf *b = &e->labels;

	fsc_buf_clear(&e->scratch);
	fsc_fmt_term(&e->scratch, value);
	fsc_buf_printf(b, "%s%s=\"", b->n ? "," : "", name);
	for (const char *p = fsc_buf_str(&e->scratch); *p; p++) {
		if (*p == '\\' || *p == '"')
			fsc_buf_putc(b, '\\');
		fsc_buf_putc(b, *p);
	}
	fsc_buf_putc(b, '"');
	b->failed |= e->scratch.failed;
}

static void text_begin_family(struct fsc_exposition *e)
{
	static const char *const types[] = {
	    [FSC_COUNTER] = "counter", [FSC_GAUGE] = "gauge", [FSC_HISTOGRAM] = "histogram"};
	const struct fsc_family *f = e->family;
	size_t n = strlen(f->name);

	if (is_openmetrics(e) && f->type == FSC_COUNTER)
		n -= strlen("_total");
	fsc_buf_printf(e->b, "# HELP %.*s %s\n", (int)n, f->name, f->help);
	fsc_buf_printf(e->b, "# TYPE %.*s %s\n", (int)n, f->name, types[f->type]);
	if (is_openmetrics(e) && f->unit)
		fsc_buf_printf(e->b, "# UNIT %.*s %s\n", (int)n, f->name, f->unit);
}

/* Name and labels, and the space before the value. */
static void add_series_head(struct fsc_exposition *e, const char *suffix)
{
	fsc_buf_printf(e->b, "%s%s", e->family->name, suffix);
	if (e->labels.n)
		fsc_buf_printf(e->b, "{%s}", fsc_buf_str(&e->labels));
	fsc_buf_putc(e->b, ' ');
}

static void text_value(struct fsc_exposition *e, double v)
{
	add_series_head(e, "");
	fsc_fmt_double(e->b, v);
	fsc_buf_putc(e->b, '\n');
}

static void add_number(struct fsc_buf *b, uint64_t v)
{
	fsc_buf_printf(b, "%llu", (unsigned long long)v);
}

/* A time of day in seconds, exact to the millisecond. */
static void add_timestamp(struct fsc_buf *b, uint64_t ns)
{
	fsc_buf_printf(b, "%llu.%03llu", (unsigned long long)(ns / 1000000000),
		       (unsigned long long)(ns / 1000000 % 1000));
}

static void add_exemplar(struct fsc_buf *b, const struct fsc_noted_call *c)
{
	fsc_buf_printf(b, " # {call_id=\"%llu\",pid=\"%u\",tid=\"%u\"} ", (unsigned long long)c->id,
		       c->call->pid, c->call->tid);
	fsc_fmt_double(b, fsc_spread_seconds(c));
	fsc_buf_putc(b, ' ');
	add_timestamp(b, c->wall_ns);
}

static void add_bucket(struct fsc_exposition *e, unsigned i, uint64_t below)
{
	fsc_buf_printf(e->b, "%s_bucket{%s%sle=\"", e->family->name, fsc_buf_str(&e->labels),
		       e->labels.n ? "," : "");
	if (i < FSC_SPREAD_BOUNDS)
		fsc_fmt_double(e->b, fsc_spread_bound(i));
	else
		fsc_buf_puts(e->b, "+Inf");
	fsc_buf_puts(e->b, "\"} ");
	add_number(e->b, below);
}

static void text_histogram(struct fsc_exposition *e, const struct fsc_spread *d)
{
	uint64_t below = 0;

	for (unsigned i = 0; i <= FSC_SPREAD_BOUNDS; i++) {
		below += d->classic[i];
		add_bucket(e, i, below);
		if (is_openmetrics(e) && d->noted[i])
			add_exemplar(e->b, d->noted[i]);
		fsc_buf_putc(e->b, '\n');
	}
	add_series_head(e, "_sum");
	fsc_fmt_double(e->b, fsc_spread_sum(d));
	fsc_buf_putc(e->b, '\n');
	add_series_head(e, "_count");
	add_number(e->b, d->count);
	fsc_buf_putc(e->b, '\n');
	if (!is_openmetrics(e))
		return;
	add_series_head(e, "_created");
	add_timestamp(e->b, e->s->start_ns);
	fsc_buf_putc(e->b, '\n');
}

static void text_finish(struct fsc_exposition *e)
{
	if (is_openmetrics(e))
		fsc_buf_puts(e->b, "# EOF\n");
}

const struct fsc_exposition_ops fsc_exposition_text = {
    .label = text_label,
    .begin = text_begin_family,
    .value = text_value,
    .histogram = text_histogram,
    .finish = text_finish,
};

const struct fsc_exposition_ops fsc_exposition_openmetrics = {
    .label = text_label,
    .begin = text_begin_family,
    .value = text_value,
    .histogram = text_histogram,
    .finish = text_finish,
};
