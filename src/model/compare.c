/* Compares two sides: matches the functions, tests each statistic, corrects for their number,
 * decides. */
#include "model/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/stats.h"

const char *const fsc_verdict_names[] = {"slower", "faster", "mixed", "undecided", "same"};
const char *const fsc_replicate_names[] = {"block", "run", "run"};

void fsc_comparison_release(struct fsc_comparison *c)
{
	fsc_recording_release(&c->names);
	fsc_vec_release(&c->rows);
	fsc_vec_release(&c->only_before);
	fsc_vec_release(&c->only_after);
}

/* ---- one statistic ---- */

/* A test whose correction is pending. */
struct test {
	size_t row;
	enum fsc_statistic stat;
	struct fsc_shift shift;
};

static double to_percent(double log_ratio)
{
	return expm1(log_ratio) * 100;
}

enum fsc_verdict fsc_verdict_of(const struct fsc_diff *d, bool decided, double margin)
{
	if (decided && d->low > 0 && d->change >= margin)
		return FSC_SLOWER;
	if (decided && d->high < 0 && d->change <= -margin)
		return FSC_FASTER;
	return d->low >= -margin && d->high <= margin ? FSC_SAME : FSC_UNDECIDED;
}

/* How many more units would decide: intervals shrink with the square root of their number, until
 * this one excludes 0 or is within the margin. */
static size_t more_units(const struct fsc_diff *d, const struct fsc_shift *s, double level,
			 double margin)
{
	double n = (double)(s->n_before < s->n_after ? s->n_before : s->n_after);
	double half = (d->high - d->low) / 2, away = fabs(d->change), room;
	size_t least = fsc_shift_least(s->paired, level);

	if (!isfinite(half))
		return least > (size_t)n ? least - (size_t)n : 1;
	room = away >= margin ? away : margin - away;
	n = ceil(n * (half / room) * (half / room) - n);
	return n >= 1e6 ? 0 : n < 1 ? 1 : (size_t)n;
}

static double middle_ns(const double *logs, size_t n, struct fsc_err *err, int *rc)
{
	FSC_AUTO(fsc_freep) double *v = calloc(n ? n : 1, sizeof(*v));

	if (!v) {
		*rc = fsc_err_nomem(err);
		return NAN;
	}
	memcpy(v, logs, n * sizeof(*v));
	fsc_stats_sort(v, n);
	return n ? exp(fsc_stats_median(v, n)) : NAN;
}

static int measure_statistic(struct fsc_comparison *c, struct fsc_units_side before,
			     struct fsc_units_side after, size_t row, enum fsc_statistic stat,
			     struct fsc_vec *tests, struct fsc_err *err)
{
	struct fsc_diff *d = &FSC_AT(struct fsc_diff_row, &c->rows, row)->stat[stat];
	FSC_AUTO(fsc_units_release) struct fsc_units u = {0};
	struct test *t;
	int rc = fsc_units_make(c->unit, stat, before, after, &u, err);

	*d = (struct fsc_diff){.low = -INFINITY, .high = INFINITY, .p = 1, .p_corrected = 1};
	d->verdict = FSC_UNDECIDED;
	d->change = NAN;
	if (rc)
		return rc;
	d->why = u.why;
	d->units_before = u.n_before;
	d->units_after = u.n_after;
	d->before_ns = middle_ns(u.before, u.n_before, err, &rc);
	d->after_ns = middle_ns(u.after, u.n_after, err, &rc);
	if (rc || u.why)
		return rc;
	t = fsc_vec_push(tests);
	if (!t)
		return fsc_err_nomem(err);
	t->row = row;
	t->stat = stat;
	if (c->unit == FSC_REPLICATE_PAIR)
		return fsc_shift_paired(u.before, u.after, u.n_before, &t->shift, err);
	return fsc_shift_unpaired(u.before, u.n_before, u.after, u.n_after,
				  c->unit == FSC_REPLICATE_BLOCK, &t->shift, err);
}

/* ---- functions on both sides ---- */

/* The only binary of a side; NULL: there are several, or none. */
static const char *only_binary(const struct fsc_vec *runs)
{
	const char *only = NULL;

	for (size_t i = 0; i < runs->n; i++) {
		const struct fsc_vec *f = &FSC_AT(struct fsc_recording, runs, i)->functions;

		for (size_t k = 0; k < f->n; k++) {
			const char *binary = FSC_AT(struct fsc_recorded, f, k)->binary;

			if (!strcmp(FSC_AT(struct fsc_recorded, f, k)->kind, FSC_KIND_COMMAND))
				continue;
			if (only && strcmp(only, binary))
				return NULL;
			only = binary;
		}
	}
	return only;
}

/* Whether the sides share a function, if the binary of `after` is renamed. */
static bool any_common(const struct fsc_vec *before, const struct fsc_vec *after, const char *as)
{
	const struct fsc_vec *f = &FSC_AT(struct fsc_recording, after, 0)->functions;

	for (size_t i = 0; i < f->n; i++) {
		const struct fsc_recorded *r = FSC_AT(struct fsc_recorded, f, i), *found = NULL;

		if (!fsc_recording_find(FSC_AT(struct fsc_recording, before, 0), r->kind, as,
					r->function, &found, NULL) &&
		    found)
			return true;
	}
	return false;
}

/* Two builds of a program may have two names: if each side has one binary, they are the same. */
struct named_side {
	const struct fsc_vec *runs; /* struct fsc_recording */
	const char *from, *to;	    /* this side's binary, and its name on the other side; NULL */
};

static const char *common_name(const struct named_side *s, const char *binary)
{
	return s->from && !strcmp(binary, s->from) ? s->to : binary;
}

static const char *own_name(const struct named_side *s, const char *binary)
{
	return s->to && !strcmp(binary, s->to) ? s->from : binary;
}

static int find_in_runs(const struct named_side *s, const struct fsc_recorded *name,
			struct fsc_vec *ret, bool *any, bool *floor, struct fsc_err *err)
{
	const struct fsc_vec *runs = s->runs;

	*any = false;
	for (size_t i = 0; i < runs->n; i++) {
		const struct fsc_recorded **at = fsc_vec_push(ret);
		int rc;

		if (!at)
			return fsc_err_nomem(err);
		rc = fsc_recording_find(FSC_AT(struct fsc_recording, runs, i), name->kind,
					own_name(s, name->binary), name->function, at, err);
		if (rc)
			return rc;
		*any |= *at != NULL;
		*floor |= *at && (*at)->at_floor;
	}
	return 0;
}

static int list_only(struct fsc_vec *list, const struct fsc_recorded *name, struct fsc_err *err)
{
	const struct fsc_recorded **at = fsc_vec_push(list);

	if (!at)
		return fsc_err_nomem(err);
	*at = name;
	return 0;
}

static int add_row(struct fsc_comparison *c, const struct fsc_recorded *name, bool floor,
		   const struct fsc_vec *before, const struct fsc_vec *after, struct fsc_vec *tests,
		   struct fsc_err *err)
{
	struct fsc_diff_row *r = fsc_vec_push(&c->rows);
	size_t n = strcmp(name->kind, FSC_KIND_COMMAND) ? FSC_STATS : 1;
	int rc = 0;

	if (!r)
		return fsc_err_nomem(err);
	*r = (struct fsc_diff_row){.kind = name->kind,
				   .binary = name->binary,
				   .function = name->function,
				   .at_floor = floor,
				   .n_stats = n};
	for (size_t i = 0; !rc && i < n; i++)
		rc = measure_statistic(c, (struct fsc_units_side){before->data, before->n},
				       (struct fsc_units_side){after->data, after->n},
				       c->rows.n - 1, (enum fsc_statistic)i, tests, err);
	return rc;
}

static int compare_function(struct fsc_comparison *c, const struct fsc_recorded *name,
			    const struct named_side *before, const struct named_side *after,
			    struct fsc_vec *tests, struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release)
	struct fsc_vec a = FSC_VEC_INIT(const struct fsc_recorded *);
	FSC_AUTO(fsc_vec_release)
	struct fsc_vec b = FSC_VEC_INIT(const struct fsc_recorded *);
	bool in_before = false, in_after = false, floor = false;
	int rc = find_in_runs(before, name, &a, &in_before, &floor, err);

	if (!rc)
		rc = find_in_runs(after, name, &b, &in_after, &floor, err);
	if (rc)
		return rc;
	if (!in_after)
		return list_only(&c->only_before, name, err);
	if (!in_before)
		return list_only(&c->only_after, name, err);
	return add_row(c, name, floor, &a, &b, tests, err);
}

static int collect_names(struct fsc_recording *names, const struct named_side *s,
			 struct fsc_err *err)
{
	const struct fsc_vec *runs = s->runs;

	for (size_t i = 0; i < runs->n; i++) {
		const struct fsc_vec *f = &FSC_AT(struct fsc_recording, runs, i)->functions;

		for (size_t k = 0; k < f->n; k++) {
			const struct fsc_recorded *r = FSC_AT(struct fsc_recorded, f, k);

			if (!fsc_recording_function(names, r->kind, common_name(s, r->binary),
						    r->function))
				return fsc_err_nomem(err);
		}
	}
	return 0;
}

/* ---- decisions ---- */

static void decide_test(struct fsc_comparison *c, const struct test *t, double corrected,
			double level)
{
	struct fsc_diff *d = &FSC_AT(struct fsc_diff_row, &c->rows, t->row)->stat[t->stat];

	fsc_shift_interval(&t->shift, level, &d->low, &d->high);
	d->low = isfinite(d->low) ? to_percent(d->low) : d->low;
	d->high = isfinite(d->high) ? to_percent(d->high) : d->high;
	d->change = to_percent(t->shift.estimate);
	d->p = t->shift.p;
	d->p_corrected = corrected;
	d->verdict = fsc_verdict_of(d, corrected <= 1 - c->confidence / 100, c->margin);
	if (d->verdict == FSC_UNDECIDED)
		d->more = more_units(d, &t->shift, level, c->margin);
}

static int decide_all(struct fsc_comparison *c, const struct fsc_vec *tests, struct fsc_err *err)
{
	size_t n = tests->n;
	FSC_AUTO(fsc_freep) double *p = calloc(3 * n + 1, sizeof(*p));
	int rc;

	if (!p)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < n; i++)
		p[i] = FSC_AT(struct test, tests, i)->shift.p;
	rc = fsc_stats_holm(p, n, 1 - c->confidence / 100, p + n, p + 2 * n, err);
	for (size_t i = 0; !rc && i < n; i++)
		decide_test(c, FSC_AT(struct test, tests, i), p[n + i], p[2 * n + i]);
	c->tests = n;
	return rc;
}

/* That of the median, unless the tail or the mean decide otherwise. */
static enum fsc_verdict function_verdict(const struct fsc_diff_row *r)
{
	bool slower = false, faster = false;

	for (size_t i = 0; i < r->n_stats; i++) {
		slower |= r->stat[i].verdict == FSC_SLOWER;
		faster |= r->stat[i].verdict == FSC_FASTER;
	}
	if (slower || faster)
		return slower && faster ? FSC_MIXED : slower ? FSC_SLOWER : FSC_FASTER;
	return r->stat[FSC_STAT_P50].verdict;
}

static int compare_all(struct fsc_comparison *c, const struct fsc_vec *before,
		       const struct fsc_vec *after, struct fsc_vec *tests, struct fsc_err *err)
{
	struct named_side a = {.runs = before}, b = {.runs = after};
	int rc;

	b.from = only_binary(after);
	b.to = only_binary(before);
	if (!b.from || !b.to || !any_common(before, after, b.to))
		b.from = b.to = NULL;
	rc = collect_names(&c->names, &a, err);
	if (!rc)
		rc = collect_names(&c->names, &b, err);
	for (size_t i = 0; !rc && i < c->names.functions.n; i++)
		rc = compare_function(c, FSC_AT(struct fsc_recorded, &c->names.functions, i), &a,
				      &b, tests, err);
	if (!rc)
		rc = decide_all(c, tests, err);
	for (size_t i = 0; !rc && i < c->rows.n; i++) {
		struct fsc_diff_row *r = FSC_AT(struct fsc_diff_row, &c->rows, i);

		r->verdict = function_verdict(r);
		c->verdicts[r->verdict]++;
	}
	return rc;
}

int fsc_compare(const struct fsc_vec *before, const struct fsc_vec *after,
		const struct fsc_compare_opts *o, struct fsc_comparison *ret, struct fsc_err *err)
{
	struct fsc_vec tests = FSC_VEC_INIT(struct test);
	int rc;

	*ret = (struct fsc_comparison){
	    .names = FSC_RECORDING_INIT,
	    .rows = FSC_VEC_INIT(struct fsc_diff_row),
	    .only_before = FSC_VEC_INIT(const struct fsc_recorded *),
	    .only_after = FSC_VEC_INIT(const struct fsc_recorded *),
	    .runs_before = before->n,
	    .runs_after = after->n,
	    .confidence = o->confidence,
	    .margin = o->margin,
	    .unit = o->paired			    ? FSC_REPLICATE_PAIR
		    : before->n > 1 && after->n > 1 ? FSC_REPLICATE_RUN
						    : FSC_REPLICATE_BLOCK,
	};
	rc = compare_all(ret, before, after, &tests, err);
	for (size_t i = 0; i < tests.n; i++)
		fsc_shift_release(&FSC_AT(struct test, &tests, i)->shift);
	fsc_vec_release(&tests);
	if (rc)
		fsc_comparison_release(ret);
	return rc;
}

/* ---- order ---- */

static double sort_rank(const struct fsc_diff_row *r, enum fsc_compare_sort by)
{
	if (by == FSC_COMPARE_VERDICT)
		return (double)r->verdict;
	return by == FSC_COMPARE_P ? r->stat[FSC_STAT_P50].p : 0;
}

/* Of the statistic that changed most; -1: unknown. */
static double greatest_change(const struct fsc_diff_row *r)
{
	double most = -1;

	for (size_t i = 0; i < r->n_stats; i++)
		if (!isnan(r->stat[i].change))
			most = fmax(most, fabs(r->stat[i].change));
	return most;
}

static int compare_rows(const void *pa, const void *pb, void *arg)
{
	const struct fsc_diff_row *a = pa, *b = pb;
	enum fsc_compare_sort by = *(enum fsc_compare_sort *)arg;
	double x = sort_rank(a, by), y = sort_rank(b, by);
	int r = (x > y) - (x < y);

	if (!r && by != FSC_COMPARE_NAME)
		r = (greatest_change(a) < greatest_change(b)) -
		    (greatest_change(a) > greatest_change(b));
	if (!r)
		r = strcmp(a->function, b->function);
	return r ? r : strcmp(a->binary, b->binary);
}

void fsc_comparison_sort(struct fsc_comparison *c, enum fsc_compare_sort by, size_t top)
{
	if (c->rows.n)
		qsort_r(c->rows.data, c->rows.n, sizeof(struct fsc_diff_row), compare_rows, &by);
	if (!top || top >= c->rows.n)
		return;
	c->hidden = c->rows.n - top;
	c->rows.n = top;
}
