/* Comparisons for programs: an object per function and statistic, the summary last. Unknown
 * values are null. */
#include <math.h>

#include "base/json.h"
#include "sink/sink.h"

static void add_p(struct fsc_buf *b, const char *key, const struct fsc_diff *d, double p)
{
	if (d->why)
		fsc_json_null(b, key);
	else
		fsc_json_printf(b, key, "%.6g", p);
}

static void add_diff(const struct fsc_comparison *c, const struct fsc_diff_row *r, size_t stat,
		     struct fsc_buf *b)
{
	const struct fsc_diff *d = &r->stat[stat];

	fsc_json_line(b, "diff");
	fsc_json_names(r->kind, r->binary, r->function, b);
	fsc_json_string(b, "stat", fsc_stat_names[stat]);
	fsc_json_real(b, "before_ns", d->before_ns, 3);
	fsc_json_real(b, "after_ns", d->after_ns, 3);
	fsc_json_real(b, "change_percent", d->change, 4);
	fsc_json_real(b, "low_percent", d->low, 4);
	fsc_json_real(b, "high_percent", d->high, 4);
	add_p(b, "p", d, d->p);
	add_p(b, "p_corrected", d, d->p_corrected);
	fsc_json_string(b, "verdict", fsc_verdict_names[d->verdict]);
	fsc_json_string_if(b, "why", d->why);
	fsc_json_uint(b, "units_before", d->units_before);
	fsc_json_uint(b, "units_after", d->units_after);
	fsc_json_string(b, "unit", fsc_replicate_names[c->unit]);
	fsc_json_real(b, "more", d->more ? (double)d->more : NAN, 0);
	fsc_json_bool_if(b, "at_floor", r->at_floor);
	fsc_json_bool_if(b, "unfit", c->check.unfit);
	fsc_json_line_end(b);
}

static void add_only(const char *key, const struct fsc_vec *only, struct fsc_buf *b)
{
	fsc_json_begin(b, key, '[');
	for (size_t i = 0; i < only->n; i++) {
		const struct fsc_recorded *f = *FSC_AT(const struct fsc_recorded *, only, i);

		fsc_json_begin(b, NULL, '{');
		fsc_json_names(f->kind, f->binary, f->function, b);
		fsc_json_end(b, '}');
	}
	fsc_json_end(b, ']');
}

static void add_summary(const struct fsc_comparison *c, struct fsc_buf *b)
{
	fsc_json_line(b, "summary");
	fsc_json_uint(b, "functions", c->rows.n + c->hidden);
	add_only("only_before", &c->only_before, b);
	add_only("only_after", &c->only_after, b);
	fsc_json_begin(b, "verdicts", '{');
	for (size_t i = 0; i < FSC_VERDICTS; i++)
		fsc_json_uint(b, fsc_verdict_names[i], c->verdicts[i]);
	fsc_json_end(b, '}');
	fsc_json_printf(b, "confidence_percent", "%g", c->confidence);
	fsc_json_printf(b, "margin_percent", "%g", c->margin);
	fsc_json_uint(b, "comparisons", c->tests);
	fsc_json_string(b, "unit", fsc_replicate_names[c->unit]);
	fsc_json_bool(b, "paired", c->unit == FSC_REPLICATE_PAIR);
	fsc_json_uint(b, "runs_before", c->runs_before);
	fsc_json_uint(b, "runs_after", c->runs_after);
	if (c->check.done) {
		fsc_json_begin(b, "a_against_a", '{');
		fsc_json_bool(b, "unfit", c->check.unfit);
		fsc_json_real(b, "change_percent", c->check.change, 4);
		fsc_json_real(b, "low_percent", c->check.low, 4);
		fsc_json_real(b, "high_percent", c->check.high, 4);
		fsc_json_real(b, "resolution_percent", c->check.resolution, 4);
		fsc_json_end(b, '}');
	}
	fsc_json_line_end(b);
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
