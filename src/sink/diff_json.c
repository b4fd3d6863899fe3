/* Comparisons for programs: an object per function and statistic, the summary last. What is not
 * known is null. */
#include <math.h>

#include "base/fmt.h"
#include "sink/sink.h"

static void add_number(struct fsc_buf *b, const char *key, double v, int digits)
{
	if (isfinite(v))
		fsc_buf_printf(b, ",\"%s\":%.*f", key, digits, v);
	else
		fsc_buf_printf(b, ",\"%s\":null", key);
}

static void add_function(const char *kind, const char *binary, const char *function,
			 struct fsc_buf *b)
{
	fsc_buf_puts(b, "\"kind\":");
	fsc_fmt_json(b, kind);
	fsc_buf_puts(b, ",\"binary\":");
	fsc_fmt_json(b, binary);
	fsc_buf_puts(b, ",\"function\":");
	fsc_fmt_json(b, function);
}

static void add_diff(const struct fsc_comparison *c, const struct fsc_diff_row *r, size_t stat,
		     struct fsc_buf *b)
{
	const struct fsc_diff *d = &r->stat[stat];

	fsc_buf_puts(b, "{\"type\":\"diff\",");
	add_function(r->kind, r->binary, r->function, b);
	fsc_buf_printf(b, ",\"stat\":\"%s\"", fsc_stat_names[stat]);
	add_number(b, "before_ns", d->before_ns, 3);
	add_number(b, "after_ns", d->after_ns, 3);
	add_number(b, "change_percent", d->change, 4);
	add_number(b, "low_percent", d->low, 4);
	add_number(b, "high_percent", d->high, 4);
	if (d->why)
		fsc_buf_puts(b, ",\"p\":null,\"p_corrected\":null");
	else
		fsc_buf_printf(b, ",\"p\":%.6g,\"p_corrected\":%.6g", d->p, d->p_corrected);
	fsc_buf_printf(b, ",\"verdict\":\"%s\"", fsc_verdict_names[d->verdict]);
	if (d->why) {
		fsc_buf_puts(b, ",\"why\":");
		fsc_fmt_json(b, d->why);
	}
	fsc_buf_printf(b, ",\"units_before\":%zu,\"units_after\":%zu,\"unit\":\"%s\",\"more\":",
		       d->units_before, d->units_after, fsc_replicate_names[c->unit]);
	if (d->more)
		fsc_buf_printf(b, "%zu", d->more);
	else
		fsc_buf_puts(b, "null");
	if (r->at_floor)
		fsc_buf_puts(b, ",\"at_floor\":true");
	if (c->check.unfit)
		fsc_buf_puts(b, ",\"unfit\":true");
	fsc_buf_puts(b, "}\n");
}

static void add_only(const char *key, const struct fsc_vec *only, struct fsc_buf *b)
{
	fsc_buf_printf(b, ",\"%s\":[", key);
	for (size_t i = 0; i < only->n; i++) {
		const struct fsc_recorded *f = *FSC_AT(const struct fsc_recorded *, only, i);

		fsc_buf_puts(b, i ? ",{" : "{");
		add_function(f->kind, f->binary, f->function, b);
		fsc_buf_putc(b, '}');
	}
	fsc_buf_putc(b, ']');
}

static void add_summary(const struct fsc_comparison *c, struct fsc_buf *b)
{
	fsc_buf_printf(b, "{\"type\":\"summary\",\"functions\":%zu", c->rows.n + c->hidden);
	add_only("only_before", &c->only_before, b);
	add_only("only_after", &c->only_after, b);
	fsc_buf_puts(b, ",\"verdicts\":{");
	for (size_t i = 0; i < FSC_VERDICTS; i++)
		fsc_buf_printf(b, "%s\"%s\":%zu", i ? "," : "", fsc_verdict_names[i],
			       c->verdicts[i]);
	fsc_buf_printf(b,
		       "},\"confidence_percent\":%g,\"margin_percent\":%g,\"comparisons\":%zu,"
		       "\"unit\":\"%s\",\"paired\":%s,\"runs_before\":%zu,\"runs_after\":%zu",
		       c->confidence, c->margin, c->tests, fsc_replicate_names[c->unit],
		       c->unit == FSC_REPLICATE_PAIR ? "true" : "false", c->runs_before,
		       c->runs_after);
	if (c->check.done) {
		fsc_buf_printf(b, ",\"a_against_a\":{\"unfit\":%s",
			       c->check.unfit ? "true" : "false");
		add_number(b, "change_percent", c->check.change, 4);
		add_number(b, "low_percent", c->check.low, 4);
		add_number(b, "high_percent", c->check.high, 4);
		add_number(b, "resolution_percent", c->check.resolution, 4);
		fsc_buf_putc(b, '}');
	}
	fsc_buf_puts(b, "}\n");
}

void fsc_json_diff(struct fsc_sink *s, const struct fsc_comparison *c, struct fsc_buf *b)
{
	(void)s;
	for (size_t i = 0; i < c->rows.n; i++) {
		const struct fsc_diff_row *r = FSC_AT(struct fsc_diff_row, &c->rows, i);

		for (size_t k = 0; k < r->n_stats; k++)
			add_diff(c, r, k, b);
	}
	add_summary(c, b);
}
