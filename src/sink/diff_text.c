/* Comparisons for people: a line per function with the three changes, or with -w a line per
 * statistic; below it what is undecided and what would decide it, functions on one side only, and
 * how it was decided. */
#include <math.h>
#include <string.h>

#include "base/fmt.h"
#include "sink/sink.h"
#include "sink/table.h"

enum { SHOWN = 8 }; /* names in a line of names, lines of advice */

/* ---- cells ---- */

static int percent_digits(double percent)
{
	double v = fabs(percent);

	return v < 0.995 ? 2 : v < 99.95 ? 1 : 0;
}

static void put_percent(double percent, struct fsc_buf *b)
{
	fsc_buf_printf(b, "%+.*f", percent_digits(percent), percent);
}

/* The mark after the number says whether it is decided. */
static void put_change(const struct fsc_diff *d, struct fsc_buf *b)
{
	if (d->why) {
		fsc_buf_puts(b, "- ");
		return;
	}
	put_percent(d->change, b);
	fsc_buf_putc(b, d->verdict == FSC_SAME ? '=' : d->verdict == FSC_UNDECIDED ? '?' : ' ');
}

static void put_interval(const struct fsc_diff *d, struct fsc_buf *b)
{
	if (!isfinite(d->low)) {
		fsc_buf_putc(b, '-');
		return;
	}
	fsc_buf_putc(b, '[');
	put_percent(d->low, b);
	fsc_buf_puts(b, ", ");
	put_percent(d->high, b);
	fsc_buf_putc(b, ']');
}

static void put_ns(double ns, struct fsc_buf *b)
{
	if (isfinite(ns))
		fsc_fmt_ns(b, ns);
	else
		fsc_buf_putc(b, '-');
}

static bool mixed_binaries(const struct fsc_comparison *c)
{
	const char *one = "";

	for (size_t i = 0; i < c->rows.n; i++) {
		const char *binary = FSC_AT(struct fsc_diff_row, &c->rows, i)->binary;

		if (one[0] && binary[0] && strcmp(one, binary))
			return true;
		if (binary[0])
			one = binary;
	}
	return false;
}

static void put_name(const char *binary, const char *function, bool with_binary, struct fsc_buf *b)
{
	if (with_binary && binary[0] && strcmp(binary, "kernel")) {
		fsc_fmt_term(b, binary);
		fsc_buf_putc(b, ':');
	}
	fsc_fmt_term(b, function);
}

static void put_row_name(const struct fsc_diff_row *r, bool with_binary, struct fsc_buf *b)
{
	put_name(r->binary, r->function, with_binary, b);
	if (r->at_floor)
		fsc_buf_puts(b, " *");
}

static void put_verdict(const struct fsc_comparison *c, enum fsc_verdict v, struct fsc_buf *b)
{
	fsc_buf_puts(b, fsc_verdict_names[v]);
	if (c->check.unfit)
		fsc_buf_puts(b, " (unfit)");
}

/* ---- tables ---- */

static void put_narrow(const struct fsc_sink *s, const struct fsc_comparison *c, struct fsc_buf *b)
{
	static const char *const titles[] = {"MEDIAN", "CHANGE%", "INTERVAL", "P99%", "MEAN%"};
	bool with_binary = mixed_binaries(c);
	struct fsc_table t = {0};

	fsc_table_column(&t, "FUNCTION", false, true);
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		fsc_table_column(&t, titles[i], true, false);
	fsc_table_column(&t, "VERDICT", false, false);
	for (size_t i = 0; i < c->rows.n; i++) {
		const struct fsc_diff_row *r = FSC_AT(struct fsc_diff_row, &c->rows, i);

		put_row_name(r, with_binary, fsc_table_cell(&t));
		put_ns(r->stat[FSC_STAT_P50].before_ns, fsc_table_cell(&t));
		put_change(&r->stat[FSC_STAT_P50], fsc_table_cell(&t));
		put_interval(&r->stat[FSC_STAT_P50], fsc_table_cell(&t));
		for (size_t k = FSC_STAT_P99; k < FSC_STATS; k++) {
			struct fsc_buf *cell = fsc_table_cell(&t);

			if (k < r->n_stats)
				put_change(&r->stat[k], cell);
		}
		put_verdict(c, r->verdict, fsc_table_cell(&t));
	}
	fsc_table_print(&t, s->width, b);
	fsc_buf_printf(b,
		       "changes in %%, interval of the median; = same within %g%%, ? undecided\n",
		       c->margin);
}

static void put_wide_cells(const struct fsc_comparison *c, const struct fsc_diff *d,
			   struct fsc_table *t)
{
	put_ns(d->before_ns, fsc_table_cell(t));
	put_ns(d->after_ns, fsc_table_cell(t));
	put_change(d, fsc_table_cell(t));
	put_interval(d, fsc_table_cell(t));
	fsc_buf_printf(fsc_table_cell(t), "%.2g", d->p);
	fsc_buf_printf(fsc_table_cell(t), "%.2g", d->p_corrected);
	fsc_buf_printf(fsc_table_cell(t), "%zu, %zu", d->units_before, d->units_after);
	if (d->more)
		fsc_buf_printf(fsc_table_cell(t), "%zu", d->more);
	else
		fsc_table_cell(t);
	if (d->why)
		fsc_buf_printf(fsc_table_cell(t), "undecided: %s", d->why);
	else
		put_verdict(c, d->verdict, fsc_table_cell(t));
}

static void put_wide(const struct fsc_sink *s, const struct fsc_comparison *c, struct fsc_buf *b)
{
	static const char *const titles[] = {"BEFORE", "AFTER",	    "CHANGE%", "INTERVAL",
					     "P",      "CORRECTED", "UNITS",   "MORE"};
	bool with_binary = mixed_binaries(c);
	struct fsc_table t = {0};

	fsc_table_column(&t, "FUNCTION", false, true);
	fsc_table_column(&t, "STAT", false, false);
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		fsc_table_column(&t, titles[i], true, false);
	fsc_table_column(&t, "VERDICT", false, false);
	for (size_t i = 0; i < c->rows.n; i++) {
		const struct fsc_diff_row *r = FSC_AT(struct fsc_diff_row, &c->rows, i);

		for (size_t k = 0; k < r->n_stats; k++) {
			put_row_name(r, with_binary, fsc_table_cell(&t));
			fsc_buf_puts(fsc_table_cell(&t), fsc_stat_names[k]);
			put_wide_cells(c, &r->stat[k], &t);
		}
	}
	fsc_table_print(&t, s->width, b);
}

/* ---- under the table ---- */

static bool is_undecided(const struct fsc_diff_row *r)
{
	return r->verdict == FSC_UNDECIDED;
}

static size_t fewer_units(const struct fsc_diff *d)
{
	return d->units_before < d->units_after ? d->units_before : d->units_after;
}

static void put_advice(const struct fsc_comparison *c, const struct fsc_diff_row *r,
		       struct fsc_buf *b)
{
	const struct fsc_diff *d = &r->stat[FSC_STAT_P50];

	fsc_buf_puts(b, "undecided: ");
	put_name(r->binary, r->function, mixed_binaries(c), b);
	if (d->why && !strcmp(d->why, "too short"))
		fsc_buf_puts(b, ": calls too short to compare\n");
	else if (d->why && c->unit != FSC_REPLICATE_BLOCK)
		fsc_buf_printf(b, ": %s\n", d->why);
	else if (d->why)
		fsc_buf_printf(b, ": %s; record longer, finer (-i), or several runs\n", d->why);
	else if (d->more && c->unit == FSC_REPLICATE_BLOCK)
		fsc_buf_printf(b, ": record about %.1f times as long\n",
			       1 + (double)d->more / (double)fewer_units(d));
	else if (d->more)
		fsc_buf_printf(b, ": about %zu more %s%s%s\n", d->more,
			       c->unit == FSC_REPLICATE_PAIR ? "pair" : "run",
			       d->more == 1 ? "" : "s",
			       c->unit == FSC_REPLICATE_PAIR ? "" : " per side");
	else
		fsc_buf_puts(b, ": too close to the margin, or too noisy, to decide\n");
}

static void put_undecided(const struct fsc_comparison *c, struct fsc_buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < c->rows.n; i++) {
		const struct fsc_diff_row *r = FSC_AT(struct fsc_diff_row, &c->rows, i);

		if (is_undecided(r) && n++ < SHOWN)
			put_advice(c, r, b);
	}
	if (n > SHOWN)
		fsc_buf_printf(b, "undecided: %zu more (-w and -f json say what would decide)\n",
			       n - SHOWN);
}

static void put_only(const char *side, const struct fsc_vec *only, struct fsc_buf *b)
{
	for (size_t i = 0; i < only->n && i < SHOWN; i++) {
		const struct fsc_recorded *f = *FSC_AT(const struct fsc_recorded *, only, i);

		if (i)
			fsc_buf_puts(b, ", ");
		else
			fsc_buf_printf(b, "only %s: ", side);
		put_name(f->binary, f->function, true, b);
	}
	if (only->n > SHOWN)
		fsc_buf_printf(b, " and %zu more (-f json names all)", only->n - SHOWN);
	if (only->n)
		fsc_buf_putc(b, '\n');
}

/* The difference measured between a command and itself. */
static void put_check(const struct fsc_self_check *k, struct fsc_buf *b)
{
	struct fsc_diff d = {.low = k->low, .high = k->high};

	if (!k->done)
		return;
	fsc_buf_puts(b, "A against A: ");
	put_percent(k->change, b);
	fsc_buf_puts(b, "% ");
	put_interval(&d, b);
	if (k->unfit)
		fsc_buf_puts(b, ": A differs from itself, this machine is unfit\n");
	else
		fsc_buf_printf(b, ": changes below about %.*f%% cannot be detected here\n",
			       percent_digits(k->resolution), k->resolution);
}

static void put_units(const struct fsc_comparison *c, struct fsc_buf *b)
{
	if (c->unit == FSC_REPLICATE_PAIR)
		fsc_buf_printf(b, "%zu pairs of runs", c->runs_before);
	else if (c->unit == FSC_REPLICATE_RUN)
		fsc_buf_printf(b, "%zu and %zu runs", c->runs_before, c->runs_after);
	else
		fsc_buf_puts(b, "blocks of time");
}

void fsc_text_diff_summary(const struct fsc_comparison *c, struct fsc_buf *b)
{
	size_t n = c->rows.n + c->hidden;

	if (c->hidden)
		fsc_buf_printf(b, "%zu more function%s not shown (-n)\n", c->hidden,
			       c->hidden == 1 ? "" : "s");
	put_undecided(c, b);
	put_only("before", &c->only_before, b);
	put_only("after", &c->only_after, b);
	put_check(&c->check, b);
	fsc_buf_printf(b, "%zu function%s: ", n, n == 1 ? "" : "s");
	for (size_t i = 0; i < FSC_VERDICTS; i++)
		if (c->verdicts[i] || i != FSC_MIXED)
			fsc_buf_printf(b, "%s%zu %s", i ? ", " : "", c->verdicts[i],
				       fsc_verdict_names[i]);
	fsc_buf_putc(b, '\n');
	put_units(c, b);
	fsc_buf_printf(b, "; %g%% confidence over %zu comparison%s (Holm), margin %g%%\n",
		       c->confidence, c->tests, c->tests == 1 ? "" : "s", c->margin);
}

static void put_floor(const struct fsc_comparison *c, struct fsc_buf *b)
{
	for (size_t i = 0; i < c->rows.n; i++) {
		if (!FSC_AT(struct fsc_diff_row, &c->rows, i)->at_floor)
			continue;
		fsc_buf_puts(b, "* at the noise floor: shorter than the probes themselves\n");
		return;
	}
}

void fsc_text_diff(struct fsc_sink *s, const struct fsc_comparison *c, struct fsc_buf *b)
{
	(s->wide ? put_wide : put_narrow)(s, c, b);
	put_floor(c, b);
	fsc_buf_putc(b, '\n');
	fsc_text_diff_summary(c, b);
}
