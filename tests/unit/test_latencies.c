/* src/model/latency.h: lines of timings. What a stretch of time is, taken from the snapshots at its
 * two ends (also its least and greatest value), and the order of lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "model/latency.h"
#include "slots.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* ---- differences ---- */

static const struct fsc_func funcs[] = {{.kind = "uprobe", .binary = "/b", .name = "cc"},
					{.kind = "uprobe", .binary = "/b", .name = "aa"},
					{.kind = "uprobe", .binary = "/b", .name = "bb"}};

static struct fsc_latencies empty(void)
{
	return (struct fsc_latencies){
	    .funcs = funcs, .n_funcs = N(funcs), .rows = FSC_VEC_INIT(struct fsc_latency)};
}

static struct fsc_latency *add(struct fsc_latencies *l, uint32_t func, const uint64_t *v, size_t n)
{
	struct fsc_latency *row = fsc_latencies_add(l);

	assert_non_null(row);
	row->key.func = func;
	for (size_t i = 0; i < n; i++)
		keep(row->slot, v[i]);
	return row;
}

static struct fsc_latencies minus(const struct fsc_latencies *later,
				  const struct fsc_latencies *earlier, bool zeros)
{
	struct fsc_latencies d;

	assert_int_equal(fsc_latencies_subtract(later, earlier, zeros, &d, NULL), 0);
	return d;
}

static const struct fsc_latency *row(const struct fsc_latencies *l, size_t i)
{
	assert_true(i < l->rows.n);
	return FSC_AT(struct fsc_latency, &l->rows, i);
}

/* The difference of two snapshots is what was kept in between; the squares borrow. */
static void a_stretch_is_what_happened_in_it(void **state)
{
	const uint64_t v[] = {4000000000u, 4000000100u, 700, 800, 5000000000u};
	struct fsc_latencies before = empty(), now = empty(), d;
	struct fsc_slot *exact = slot_of(v + 2, 3);

	(void)state;
	add(&before, 0, v, 2);
	add(&now, 0, v, N(v));
	assert_true(row(&now, 0)->slot->square_low < row(&before, 0)->slot->square_low);
	d = minus(&now, &before, false);
	assert_int_equal(d.rows.n, 1);
	assert_memory_equal(row(&d, 0)->slot, exact, sizeof(*exact));
	fsc_latencies_release(&d);
	fsc_latencies_release(&before);
	fsc_latencies_release(&now);
	free(exact);
}

/* Extremes of the run that lie outside the stretch are not its own: the buckets tell. */
static void extremes_of_a_stretch(void **state)
{
	const uint64_t v[] = {100, 100000, 5000, 6000};
	struct fsc_latencies before = empty(), now = empty(), d;
	uint64_t min, max;

	(void)state;
	add(&before, 0, v, 2);
	add(&now, 0, v, 4);
	d = minus(&now, &before, false);
	min = fsc_slot_min(row(&d, 0)->slot);
	max = row(&d, 0)->slot->max;
	assert_in_range(min, 5000 - 5000 / 32, 5000);
	assert_in_range(max, 6000, 6000 + 6000 / 32);
	fsc_latencies_release(&d);
	fsc_latencies_release(&before);
	fsc_latencies_release(&now);
}

/* A bucket that also holds the run's own extreme does not reach beyond it. */
static void extremes_of_a_stretch_stay_in_those_of_the_run(void **state)
{
	const uint64_t v[] = {5000, 5010, 5005};
	struct fsc_latencies before = empty(), now = empty(), d;

	(void)state;
	assert_int_equal(fsc_hist_bucket(v[0]), fsc_hist_bucket(v[1]));
	add(&before, 0, v, 2);
	add(&now, 0, v, 3);
	d = minus(&now, &before, false);
	assert_int_equal(fsc_slot_min(row(&d, 0)->slot), 5000);
	assert_int_equal(row(&d, 0)->slot->max, 5010);
	fsc_latencies_release(&d);
	fsc_latencies_release(&before);
	fsc_latencies_release(&now);
}

static void extremes_of_a_stretch_with_the_longest(void **state)
{
	const uint64_t v[] = {1, 1ull << 40, 1ull << 39};
	struct fsc_latencies before = empty(), now = empty(), d;

	(void)state;
	add(&before, 0, v, 2);
	add(&now, 0, v, 3);
	d = minus(&now, &before, false);
	assert_int_equal(fsc_slot_min(row(&d, 0)->slot), 1ull << FSC_HIST_TOP);
	assert_true(row(&d, 0)->slot->max == 1ull << 40);
	fsc_latencies_release(&d);
	fsc_latencies_release(&before);
	fsc_latencies_release(&now);
}

static void keys_that_are_new_old_or_quiet(void **state)
{
	const uint64_t v[] = {10, 20, 30};
	struct fsc_latencies before = empty(), now = empty(), d;

	(void)state;
	add(&before, 0, v, 2)->key.pid = 1;
	add(&before, 0, v, 1)->key.pid = 2;
	add(&now, 0, v, 1)->key.pid = 2; /* quiet */
	add(&now, 1, v, 3)->key.pid = 1; /* new: another function of the same process */
	add(&now, 0, v, 3)->key.pid = 1;
	now.parts.self = true;
	now.by = FSC_BY_PID;
	d = minus(&now, &before, false);
	assert_int_equal(d.rows.n, 2);
	assert_int_equal(row(&d, 0)->key.func, 1);
	assert_int_equal(row(&d, 0)->slot->count, 3);
	assert_int_equal(row(&d, 0)->slot->max, 30);
	assert_int_equal(row(&d, 1)->slot->count, 1);
	assert_int_equal(row(&d, 1)->slot->total, 30);
	assert_true(d.parts.self && d.by == FSC_BY_PID && d.funcs == funcs);
	assert_ptr_not_equal(row(&d, 1)->slot, row(&now, 2)->slot);
	fsc_latencies_release(&d);
	d = minus(&now, &before, true);
	assert_int_equal(d.rows.n, 3);
	assert_int_equal(row(&d, 0)->slot->count, 0);
	assert_int_equal(row(&d, 0)->slot->total, 0);
	fsc_latencies_release(&d);
	fsc_latencies_release(&before);
	fsc_latencies_release(&now);
}

/* ---- order ---- */

/* cc: many short calls; aa: the longest one; bb: the longest on average. */
static struct fsc_latencies three(void)
{
	struct fsc_latencies l = empty();
	uint64_t c[200], a[] = {1, 1, 9000}, b[] = {6000, 6000};

	for (size_t i = 0; i < N(c); i++)
		c[i] = 100;
	add(&l, 0, c, N(c));
	add(&l, 1, a, N(a));
	add(&l, 2, b, N(b));
	return l;
}

static void check_order(enum fsc_latency_sort by, bool reverse, size_t top, const char *expected)
{
	struct fsc_latencies l = three();
	char got[4] = "";

	fsc_latencies_sort(&l, by, reverse, top);
	for (size_t i = 0; i < l.rows.n; i++)
		got[i] = funcs[row(&l, i)->key.func].name[0];
	if (strcmp(got, expected))
		fail_msg("order %d, top %zu: %s, not %s", (int)by, top, got, expected);
	fsc_latencies_release(&l);
}

static void orders(void **state)
{
	(void)state;
	check_order(FSC_LATENCY_TOTAL, false, 0, "cba");
	check_order(FSC_LATENCY_COUNT, false, 0, "cab");
	check_order(FSC_LATENCY_AVG, false, 0, "bac");
	check_order(FSC_LATENCY_MAX, false, 0, "abc");
	check_order(FSC_LATENCY_P99, false, 0, "abc");
	check_order(FSC_LATENCY_NAME, false, 0, "abc");
	check_order(FSC_LATENCY_TOTAL, true, 0, "abc");
	check_order(FSC_LATENCY_NAME, true, 0, "cba");
}

static void the_top_rows(void **state)
{
	struct fsc_latencies none = empty();

	(void)state;
	check_order(FSC_LATENCY_TOTAL, false, 2, "cb");
	check_order(FSC_LATENCY_TOTAL, true, 2, "bc"); /* the same two, turned round */
	check_order(FSC_LATENCY_MAX, false, 1, "a");
	check_order(FSC_LATENCY_NAME, false, 2, "bc"); /* the two of most time, by name */
	check_order(FSC_LATENCY_NAME, false, 3, "abc");
	check_order(FSC_LATENCY_NAME, false, 9, "abc");
	fsc_latencies_sort(&none, FSC_LATENCY_TOTAL, false, 3);
	assert_int_equal(none.rows.n, 0);
}

static void equal_rows_go_by_name_and_keys(void **state)
{
	struct fsc_latencies l = empty();
	const uint64_t v[] = {7};

	(void)state;
	l.by = FSC_BY_PID;
	add(&l, 0, v, 1)->key.pid = 2;
	add(&l, 0, v, 1)->key.pid = 1;
	add(&l, 1, v, 1)->key.pid = 3;
	fsc_latencies_sort(&l, FSC_LATENCY_TOTAL, false, 0);
	assert_int_equal(row(&l, 0)->key.pid, 3);
	assert_int_equal(row(&l, 1)->key.pid, 1);
	assert_int_equal(row(&l, 2)->key.pid, 2);
	fsc_latencies_release(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_stretch_is_what_happened_in_it),
	    cmocka_unit_test(extremes_of_a_stretch),
	    cmocka_unit_test(extremes_of_a_stretch_stay_in_those_of_the_run),
	    cmocka_unit_test(extremes_of_a_stretch_with_the_longest),
	    cmocka_unit_test(keys_that_are_new_old_or_quiet),
	    cmocka_unit_test(orders),
	    cmocka_unit_test(the_top_rows),
	    cmocka_unit_test(equal_rows_go_by_name_and_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
