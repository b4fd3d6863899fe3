/* src/model/compare.h: how often it is wrong (identical sides called different), how often it finds
 * what is there, and what it makes of estimates and intervals. The generator is seeded: every run
 * sees the same sides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "blocks.h"
#include "model/compare.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static const struct fsc_compare_opts any_change = {.confidence = 95, .margin = 0};

/* One run: blocks that drift (AR(1)), of calls that are skewed. */
static void record(struct fsc_recording *r, size_t blocks, size_t calls, double ns, double phi,
		   double drift)
{
	double level = normal();

	for (size_t i = 0; i < blocks; i++) {
		level = phi * level + sqrt(1 - phi * phi) * normal();
		give_block(r, "uprobe", "/bin/prog", "work",
			   skewed_block(calls, ns * exp(drift * level), 0.4, i + 1));
	}
}

struct world {
	size_t runs, blocks, calls;
	double between; /* how runs differ: half of it by layout (two modes), half of it normally */
	double phi, drift;
};

static void make_side(const struct world *w, double ns, struct fsc_vec *side)
{
	for (size_t i = 0; i < w->runs; i++) {
		double layout = uniform() < 0.3 ? 1 : 0;

		record(new_run(side), w->blocks, w->calls,
		       ns * exp(w->between * (normal() + layout)), w->phi, w->drift);
	}
}

static enum fsc_verdict compare_once(const struct world *w, double change,
				     const struct fsc_compare_opts *o)
{
	struct fsc_vec a = FSC_VEC_INIT(struct fsc_recording), b = a;
	struct fsc_comparison c;
	enum fsc_verdict v;

	make_side(w, 20000, &a);
	make_side(w, 20000 * (1 + change), &b);
	assert_int_equal(fsc_compare(&a, &b, o, &c, NULL), 0);
	v = FSC_AT(struct fsc_diff_row, &c.rows, 0)->verdict;
	fsc_comparison_release(&c);
	release_side(&a);
	release_side(&b);
	return v;
}

static bool different(enum fsc_verdict v)
{
	return v == FSC_SLOWER || v == FSC_FASTER || v == FSC_MIXED;
}

/* Of 400 the 5 % are 20; 30 is what chance exceeds in one of a hundred tries. */
static void check_false_alarms(const struct world *w, const char *what)
{
	int n = 0;

	for (int i = 0; i < 400; i++)
		n += different(compare_once(w, 0, &any_change));
	if (n > 30)
		fail_msg("%s: %d of 400 identical sides called different", what, n);
	print_message("# %s: %d of 400 identical sides called different\n", what, n);
}

static void identical_sides_are_rarely_called_different(void **state)
{
	const struct world blocks = {1, 48, 100, 0, 0.6, 0.03},
			   drifting = {1, 64, 50, 0, 0.85, 0.1},
			   runs = {6, 2, 200, 0.02, 0.5, 0.02};

	(void)state;
	check_false_alarms(&blocks, "blocks");
	check_false_alarms(&drifting, "blocks that drift");
	check_false_alarms(&runs, "runs");
}

static void identical_pairs_are_rarely_called_different(void **state)
{
	struct fsc_compare_opts o = any_change;
	const struct world pairs = {12, 1, 100, 0.02, 0, 0.02};
	int n = 0;

	(void)state;
	o.paired = true;
	for (int i = 0; i < 400; i++)
		n += different(compare_once(&pairs, 0, &o));
	if (n > 30)
		fail_msg("%d of 400", n);
}

static void check_power(const struct world *w, const char *what)
{
	const struct fsc_compare_opts o = {.confidence = 95, .margin = 1};
	int n = 0;

	for (int i = 0; i < 100; i++)
		n += compare_once(w, 0.03, &o) == FSC_SLOWER;
	if (n < 90)
		fail_msg("%s: a change of 3 %% found in %d of 100", what, n);
	print_message("# %s: a change of 3 %% found in %d of 100\n", what, n);
}

static void three_percent_are_found(void **state)
{
	const struct world blocks = {1, 60, 500, 0, 0.3, 0.01},
			   runs = {10, 1, 2000, 0.005, 0, 0.005};

	(void)state;
	check_power(&blocks, "blocks");
	check_power(&runs, "runs");
}

/* ---- verdicts ---- */

static void verdict_table(void **state)
{
	static const struct {
		double low, change, high;
		bool decided;
		enum fsc_verdict want;
	} rows[] = {
	    {2, 3, 4, true, FSC_SLOWER},
	    {-4, -3, -2, true, FSC_FASTER},
	    {0.1, 1.0, 2, true, FSC_SLOWER},
	    {0.2, 0.5, 0.8, true, FSC_SAME},	  /* certain, but too small to matter */
	    {0.2, 0.8, 1.4, true, FSC_UNDECIDED}, /* certain, perhaps large enough to matter */
	    {-0.5, 0.1, 0.9, false, FSC_SAME},
	    {-1, 0, 1, false, FSC_SAME},
	    {-0.5, 0.4, 1.2, false, FSC_UNDECIDED},
	    {-3, 2, 7, false, FSC_UNDECIDED},
	    {-INFINITY, 50, INFINITY, false, FSC_UNDECIDED},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct fsc_diff d = {
		    .low = rows[i].low, .change = rows[i].change, .high = rows[i].high};

		if (fsc_verdict_of(&d, rows[i].decided, 1) != rows[i].want)
			fail_msg("row %zu", i);
	}
}

/* A run with the function's calls exactly so long. */
static void exact_run(struct fsc_vec *side, const char *function, double ns, size_t calls)
{
	struct fsc_block b = FSC_BLOCK_INIT;

	b.count = (double)calls;
	b.total_ns = ns * b.count;
	b.min_ns = b.max_ns = ns;
	assert_non_null(fsc_block_bin(&b, ns, ns + 1, calls));
	give_block(new_run(side), "uprobe", "p", function, b);
}

static struct fsc_diff_row compare_runs(const double *a, const double *b, size_t n,
					struct fsc_vec *x, struct fsc_vec *y,
					struct fsc_comparison *c)
{
	const struct fsc_compare_opts o = {.confidence = 95, .margin = 1};

	*x = *y = FSC_VEC_INIT(struct fsc_recording);
	for (size_t i = 0; i < n; i++) {
		exact_run(x, "f", a[i], 1000);
		exact_run(y, "f", b[i], 1000);
	}
	assert_int_equal(fsc_compare(x, y, &o, c, NULL), 0);
	assert_int_equal(c->rows.n, 1);
	return *FSC_AT(struct fsc_diff_row, &c->rows, 0);
}

static void runs_are_the_units(void **state)
{
	const double a[] = {1000, 1001, 1002, 1003, 1004, 1005},
		     b[] = {1100, 1101, 1102, 1103, 1104, 1105};
	struct fsc_vec x, y;
	struct fsc_comparison c;
	struct fsc_diff_row r = compare_runs(a, b, 6, &x, &y, &c);

	(void)state;
	assert_int_equal(c.unit, FSC_REPLICATE_RUN);
	assert_int_equal(r.verdict, FSC_SLOWER);
	assert_int_equal(r.stat[FSC_STAT_P50].units_before, 6);
	assert_true(fabs(r.stat[FSC_STAT_MEAN].change - 9.97) < 0.05);
	assert_true(fabs(r.stat[FSC_STAT_P50].p - 2.0 / 924) < 1e-9);
	assert_true(fabs(r.stat[FSC_STAT_P50].p_corrected - 6.0 / 924) < 1e-9);
	assert_int_equal(r.stat[FSC_STAT_P50].more, 0);
	assert_int_equal(c.verdicts[FSC_SLOWER], 1);
	fsc_comparison_release(&c);
	release_side(&x);
	release_side(&y);
}

/* Four a side: 2/70 each, but three are tested; five would do (2/252 * 3). */
static void too_few_runs_say_how_many_more(void **state)
{
	const double a[] = {1000, 1001, 1002, 1003}, b[] = {1100, 1101, 1102, 1103};
	struct fsc_vec x, y;
	struct fsc_comparison c;
	struct fsc_diff_row r = compare_runs(a, b, 4, &x, &y, &c);

	(void)state;
	assert_int_equal(r.verdict, FSC_UNDECIDED);
	assert_int_equal(r.stat[FSC_STAT_P50].more, 1);
	assert_true(isinf(r.stat[FSC_STAT_P50].high));
	fsc_comparison_release(&c);
	release_side(&x);
	release_side(&y);
}

static void functions_of_one_side_are_listed(void **state)
{
	const struct fsc_compare_opts o = {.confidence = 95, .margin = 1};
	struct fsc_vec x = FSC_VEC_INIT(struct fsc_recording), y = x;
	struct fsc_comparison c;

	(void)state;
	exact_run(&x, "both", 100, 5);
	exact_run(&x, "gone", 100, 5);
	exact_run(&y, "new", 100, 5);
	exact_run(&y, "both", 100, 5);
	assert_int_equal(fsc_compare(&x, &y, &o, &c, NULL), 0);
	assert_int_equal(c.rows.n, 1);
	assert_int_equal(c.only_before.n, 1);
	assert_string_equal((*FSC_AT(const struct fsc_recorded *, &c.only_before, 0))->function,
			    "gone");
	assert_string_equal((*FSC_AT(const struct fsc_recorded *, &c.only_after, 0))->function,
			    "new");
	/* a run each that has it, of two each */
	assert_int_equal(FSC_AT(struct fsc_diff_row, &c.rows, 0)->stat[0].units_before, 1);
	assert_string_equal(FSC_AT(struct fsc_diff_row, &c.rows, 0)->stat[FSC_STAT_P99].why,
			    "too few calls");
	fsc_comparison_release(&c);
	release_side(&x);
	release_side(&y);
}

static void order_and_top(void **state)
{
	struct fsc_comparison c = {.rows = FSC_VEC_INIT(struct fsc_diff_row)};
	static const struct {
		const char *name;
		enum fsc_verdict verdict;
		double change;
	} rows[] = {{"c", FSC_SAME, 0.1},
		    {"a", FSC_FASTER, -20},
		    {"b", FSC_SLOWER, 5},
		    {"d", FSC_SLOWER, 7}};
	static const char *const want[] = {"dbac", "adbc", NULL, "abcd"};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct fsc_diff_row *r = fsc_vec_push(&c.rows);

		assert_non_null(r);
		*r = (struct fsc_diff_row){.kind = "",
					   .binary = "",
					   .function = rows[i].name,
					   .verdict = rows[i].verdict,
					   .n_stats = 1};
		r->stat[0].change = rows[i].change;
	}
	for (int by = FSC_COMPARE_VERDICT; by <= FSC_COMPARE_NAME; by++) {
		fsc_comparison_sort(&c, (enum fsc_compare_sort)by, 0);
		for (size_t i = 0; want[by] && i < N(rows); i++)
			assert_int_equal(FSC_AT(struct fsc_diff_row, &c.rows, i)->function[0],
					 want[by][i]);
	}
	fsc_comparison_sort(&c, FSC_COMPARE_VERDICT, 1);
	assert_int_equal(c.rows.n, 1);
	assert_int_equal(c.hidden, 3);
	fsc_vec_release(&c.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(identical_sides_are_rarely_called_different),
	    cmocka_unit_test(identical_pairs_are_rarely_called_different),
	    cmocka_unit_test(three_percent_are_found),
	    cmocka_unit_test(verdict_table),
	    cmocka_unit_test(runs_are_the_units),
	    cmocka_unit_test(too_few_runs_say_how_many_more),
	    cmocka_unit_test(functions_of_one_side_are_listed),
	    cmocka_unit_test(order_and_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
