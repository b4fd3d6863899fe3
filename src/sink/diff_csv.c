/* Comparisons for spreadsheets: a line per function and statistic, then those on one side only;
 * unknown values are empty. */
#include <math.h>

#include "base/fmt.h"
#include "sink/sink.h"

static void add_number(struct fsc_buf *b, double v, int digits)
{
	if (isfinite(v))
		fsc_buf_printf(b, "%.*f", digits, v);
	fsc_buf_putc(b, ',');
}

static void add_diff(const struct fsc_comparison *c, const struct fsc_diff_row *r, size_t stat,
		     struct fsc_buf *b)
{
	const struct fsc_diff *d = &r->stat[stat];

	fsc_csv_names(r->kind, r->binary, r->function, b);
	fsc_buf_printf(b, "%s,", fsc_stat_names[stat]);
	add_number(b, d->before_ns, 3);
	add_number(b, d->after_ns, 3);
	add_number(b, d->change, 4);
	add_number(b, d->low, 4);
	add_number(b, d->high, 4);
	if (d->why)
		fsc_buf_puts(b, ",,");
	else
		fsc_buf_printf(b, "%.6g,%.6g,", d->p, d->p_corrected);
	fsc_buf_printf(b, "%s,%zu,%zu,%s,", fsc_verdict_names[d->verdict], d->units_before,
		       d->units_after, fsc_replicate_names[c->unit]);
	if (d->more)
		fsc_buf_printf(b, "%zu", d->more);
	fsc_buf_putc(b, '\n');
}

static void add_only(const char *side, const struct fsc_vec *only, struct fsc_buf *b)
{
	for (size_t i = 0; i < only->n; i++) {
		const struct fsc_recorded *f = *FSC_AT(const struct fsc_recorded *, only, i);

		fsc_csv_names(f->kind, f->binary, f->function, b);
		fsc_buf_printf(b, ",,,,,,,,only %s,,,,\n", side);
	}
}

void fsc_csv_diff(struct fsc_sink *s, const struct fsc_comparison *c, struct fsc_buf *b)
{
	(void)s;
	fsc_buf_puts(b, "kind,binary,function,stat,before_ns,after_ns,change_percent,low_percent,"
			"high_percent,p,p_corrected,verdict,units_before,units_after,unit,more\n");
	for (size_t i = 0; i < c->rows.n; i++) {
		const struct fsc_diff_row *r = FSC_AT(struct fsc_diff_row, &c->rows, i);

		for (size_t k = 0; k < r->n_stats; k++)
			add_diff(c, r, k, b);
	}
	add_only("before", &c->only_before, b);
	add_only("after", &c->only_after, b);
}
