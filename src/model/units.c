/* Reduces blocks to one number per unit. */
#include "model/units.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/stats.h"

const char *const fsc_stat_names[] = {"p50", "p99", "mean"};

/* Below a nanosecond there are only rounding errors and the correction for the cost of the probes.
 */
#define SHORTEST 1.0

/* NAN: no calls; -INFINITY: too short to be compared. */
static double log_value(const struct fsc_block *b, enum fsc_statistic stat)
{
	double ns = stat == FSC_STAT_MEAN
			? fsc_block_mean(b)
			: fsc_block_quantile(b, stat == FSC_STAT_P50 ? 0.5 : 0.99);

	return isnan(ns) ? NAN : ns >= SHORTEST ? log(ns) : -INFINITY;
}

void fsc_units_release(struct fsc_units *u)
{
	free(u->before);
	free(u->after);
	*u = (struct fsc_units){0};
}

/* ---- merging ---- */

static void release_blocks(struct fsc_vec *v)
{
	for (size_t i = 0; i < v->n; i++)
		fsc_block_release(FSC_AT(struct fsc_block, v, i));
	fsc_vec_release(v);
}

static struct fsc_block *new_block(struct fsc_vec *v)
{
	struct fsc_block *b = fsc_vec_push(v);

	if (b)
		*b = (struct fsc_block)FSC_BLOCK_INIT;
	return b;
}

struct side_total {
	double calls, blocks;
};

static struct side_total total_of(struct fsc_units_side s)
{
	struct side_total t = {0};

	for (size_t r = 0; r < s.n; r++)
		for (size_t i = 0; s.runs[r] && i < s.runs[r]->blocks.n; i++) {
			t.calls += FSC_AT(struct fsc_block, &s.runs[r]->blocks, i)->count;
			t.blocks++;
		}
	return t;
}

/* Merges neighbours until each has that many calls; the remainder goes to the last. */
static int coalesce_blocks(struct fsc_units_side s, double calls, struct fsc_vec *ret,
			   struct fsc_err *err)
{
	struct fsc_block open = FSC_BLOCK_INIT, *b;
	int rc = 0;

	for (size_t r = 0; !rc && r < s.n; r++)
		for (size_t i = 0; !rc && s.runs[r] && i < s.runs[r]->blocks.n; i++) {
			rc = fsc_block_add(&open, FSC_AT(struct fsc_block, &s.runs[r]->blocks, i),
					   err);
			if (rc || open.count < calls)
				continue;
			b = fsc_vec_push(ret);
			if (!b) {
				rc = fsc_err_nomem(err);
				continue;
			}
			*b = open;
			open = (struct fsc_block)FSC_BLOCK_INIT;
		}
	if (!rc && open.count > 0 && ret->n)
		rc = fsc_block_add(FSC_AT(struct fsc_block, ret, ret->n - 1), &open, err);
	fsc_block_release(&open);
	return rc;
}

/* Merges pairs of neighbours; an odd one at the end joins the last pair. */
static int halve_blocks(struct fsc_vec *v, struct fsc_err *err)
{
	struct fsc_vec out = FSC_VEC_INIT(struct fsc_block);
	size_t n = v->n / 2;
	int rc = 0;

	for (size_t i = 0; !rc && i < v->n; i++) {
		size_t to = i / 2 < n ? i / 2 : n - 1;

		if (to == out.n && !new_block(&out))
			rc = fsc_err_nomem(err);
		else
			rc = fsc_block_add(FSC_AT(struct fsc_block, &out, to),
					   FSC_AT(struct fsc_block, v, i), err);
	}
	release_blocks(v);
	*v = out;
	return rc;
}

static int block_values(const struct fsc_vec *blocks, enum fsc_statistic stat, double **ret,
			struct fsc_err *err)
{
	double *v = calloc(blocks->n ? blocks->n : 1, sizeof(*v));

	free(*ret);
	*ret = v;
	if (!v)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < blocks->n; i++)
		v[i] = log_value(FSC_AT(struct fsc_block, blocks, i), stat);
	return 0;
}

/* The minimum number of calls of a block. Blocks of one side must not be much smaller than those of
 * the other: tails and means of few calls tend to be lower than those of many. */
static double calls_a_block(double least, struct side_total a, struct side_total b)
{
	double average = fmax(a.calls / fmax(a.blocks, 1), b.calls / fmax(b.blocks, 1));
	double most = fmin(a.calls, b.calls) / FSC_UNITS_KEPT_BLOCKS;

	return fmax(least, fmin(average / 2, most));
}

static bool needs_merging(const struct fsc_units *u, size_t n, size_t m)
{
	if (n / 2 < FSC_UNITS_KEPT_BLOCKS || m / 2 < FSC_UNITS_KEPT_BLOCKS)
		return false;
	return n > FSC_UNITS_MOST_BLOCKS || m > FSC_UNITS_MOST_BLOCKS ||
	       fsc_stats_lag1_positive(u->before, n) || fsc_stats_lag1_positive(u->after, m);
}

static int merge_blocks(struct fsc_vec *a, struct fsc_vec *b, enum fsc_statistic stat,
			struct fsc_units *ret, struct fsc_err *err)
{
	for (;;) {
		int rc = block_values(a, stat, &ret->before, err);

		if (!rc)
			rc = block_values(b, stat, &ret->after, err);
		ret->n_before = a->n;
		ret->n_after = b->n;
		if (rc || !needs_merging(ret, a->n, b->n))
			return rc;
		rc = halve_blocks(a, err);
		if (!rc)
			rc = halve_blocks(b, err);
		if (rc)
			return rc;
	}
}

static int units_by_block(enum fsc_statistic stat, struct fsc_units_side before,
			  struct fsc_units_side after, struct fsc_units *ret, struct fsc_err *err)
{
	double least = stat == FSC_STAT_P99 ? FSC_UNITS_P99_CALLS : 10;
	struct side_total x = total_of(before), y = total_of(after);
	double calls = calls_a_block(least, x, y);
	struct fsc_vec a = FSC_VEC_INIT(struct fsc_block), b = FSC_VEC_INIT(struct fsc_block);
	int rc = coalesce_blocks(before, calls, &a, err);

	if (!rc)
		rc = coalesce_blocks(after, calls, &b, err);
	if (!rc)
		rc = merge_blocks(&a, &b, stat, ret, err);
	if (fmin(x.calls, y.calls) < least * FSC_UNITS_LEAST_BLOCKS)
		ret->why = "too few calls";
	else if (a.n < FSC_UNITS_LEAST_BLOCKS || b.n < FSC_UNITS_LEAST_BLOCKS)
		ret->why = "too few blocks";
	release_blocks(&a);
	release_blocks(&b);
	return rc;
}

/* ---- runs ---- */

/* The value of a whole run; NAN: too few calls. */
static int run_value(const struct fsc_recorded *f, enum fsc_statistic stat, double *ret,
		     struct fsc_err *err)
{
	struct fsc_block sum = FSC_BLOCK_INIT;
	int rc = 0;

	*ret = NAN;
	for (size_t i = 0; f && !rc && i < f->blocks.n; i++)
		rc = fsc_block_add(&sum, FSC_AT(struct fsc_block, &f->blocks, i), err);
	if (!rc && sum.count > 0 && (stat != FSC_STAT_P99 || sum.count >= FSC_UNITS_P99_CALLS))
		*ret = log_value(&sum, stat);
	fsc_block_release(&sum);
	return rc;
}

static int run_values(struct fsc_units_side s, enum fsc_statistic stat, double **ret,
		      struct fsc_err *err)
{
	int rc = 0;

	*ret = calloc(s.n ? s.n : 1, sizeof(**ret));
	if (!*ret)
		return fsc_err_nomem(err);
	for (size_t i = 0; !rc && i < s.n; i++)
		rc = run_value(s.runs[i], stat, &(*ret)[i], err);
	return rc;
}

static size_t drop_missing(double *v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(v[i]))
			v[kept++] = v[i];
	return kept;
}

static int units_by_run(bool paired, enum fsc_statistic stat, struct fsc_units_side before,
			struct fsc_units_side after, struct fsc_units *ret, struct fsc_err *err)
{
	size_t n = before.n < after.n ? before.n : after.n;
	int rc = run_values(before, stat, &ret->before, err);

	if (!rc)
		rc = run_values(after, stat, &ret->after, err);
	if (rc)
		return rc;
	for (size_t i = 0; paired && i < n; i++)
		if (isnan(ret->before[i]) || isnan(ret->after[i]))
			ret->before[i] = ret->after[i] = NAN;
	ret->n_before = drop_missing(ret->before, paired ? n : before.n);
	ret->n_after = drop_missing(ret->after, paired ? n : after.n);
	if (!ret->n_before || !ret->n_after)
		ret->why = "too few calls";
	return 0;
}

static bool any_infinite(const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(v[i]))
			return true;
	return false;
}

int fsc_units_make(enum fsc_replicate unit, enum fsc_statistic stat, struct fsc_units_side before,
		   struct fsc_units_side after, struct fsc_units *ret, struct fsc_err *err)
{
	int rc;

	*ret = (struct fsc_units){0};
	rc = unit == FSC_REPLICATE_BLOCK
		 ? units_by_block(stat, before, after, ret, err)
		 : units_by_run(unit == FSC_REPLICATE_PAIR, stat, before, after, ret, err);
	if (rc)
		fsc_units_release(ret);
	else if (!ret->why && (any_infinite(ret->before, ret->n_before) ||
			       any_infinite(ret->after, ret->n_after)))
		ret->why = "too short";
	return rc;
}
