/* Series by process with a limit: who is in stays in, what is remembered does not grow with the
 * processes that there ever were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "monitor/admission.h"

enum { FUNCS = 2 };

/* A tally of processes [from, to), each with a row for each function, besides those of nobody. */
static void fill_with(struct fsc_tally *t, uint32_t funcs, uint32_t from, uint32_t to)
{
	fsc_tally_init(t);
	t->calls.n_funcs = funcs;
	for (uint32_t func = 0; func < funcs; func++) {
		assert_non_null(fsc_tally_row(t, func, FSC_TALLY_NOBODY));
		for (uint32_t pid = from; pid < to; pid++)
			assert_non_null(fsc_tally_row(t, func, pid));
	}
}

static void fill(struct fsc_tally *t, uint32_t from, uint32_t to)
{
	fill_with(t, FUNCS, from, to);
}

static size_t folded(const struct fsc_tally *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->calls.rows.n; i++)
		n += FSC_AT(struct fsc_latency, &t->calls.rows, i)->folded;
	return n;
}

static bool is_folded(const struct fsc_admission *a, uint32_t func, uint32_t pid)
{
	return fsc_admission_folded(a, &(struct fsc_tally_part){func, pid, NULL});
}

static void the_past_is_not_remembered(void **state)
{
	struct fsc_admission a = {0};
	struct fsc_tally t;

	(void)state;
	for (uint32_t i = 1; i < 2000; i++) {
		fill(&t, i, i + 10);
		assert_int_equal(fsc_admission_fold(&a, &t, 1000, NULL), 0);
		assert_int_equal(folded(&t), 0);
		assert_int_equal(a.states.n, FUNCS * 11);
		fsc_tally_release(&t);
	}
	fsc_admission_release(&a);
}

static void many_at_once_stay_below_the_cap(void **state)
{
	struct fsc_admission a = {0};
	struct fsc_tally t;

	(void)state;
	fill(&t, 1, 1000);
	assert_int_equal(fsc_admission_fold(&a, &t, 100, NULL), 0);
	assert_int_equal(t.calls.rows.n - folded(&t), 100);
	fsc_tally_release(&t);
	fsc_admission_release(&a);
}

/* Processes that were admitted while they had few rows get more of them. */
static void functions_that_come_later_stay_below_the_cap(void **state)
{
	struct fsc_admission a = {0};
	struct fsc_tally t;

	(void)state;
	for (uint32_t funcs = 1; funcs <= 40; funcs++) {
		fill_with(&t, funcs, 1, 100);
		assert_int_equal(fsc_admission_fold(&a, &t, 200, NULL), 0);
		assert_int_equal(t.calls.rows.n - folded(&t), funcs == 1 ? 100 : 200);
		for (uint32_t pid = 1; pid < 100; pid++)
			assert_false(is_folded(&a, 0, pid)); /* they stay in */
		fsc_tally_release(&t);
	}
	fsc_admission_release(&a);
}

static void who_is_in_stays_in(void **state)
{
	struct fsc_admission a = {0};
	struct fsc_tally t;

	(void)state;
	fill(&t, 1, 4);
	assert_int_equal(fsc_admission_fold(&a, &t, 8, NULL), 0);
	assert_int_equal(folded(&t), 0);
	fsc_tally_release(&t);
	/* There is no room for more; they are folded, and stay so when there is. */
	fill(&t, 1, 7);
	assert_int_equal(fsc_admission_fold(&a, &t, 8, NULL), 0);
	assert_int_equal(folded(&t), 3 * FUNCS);
	fsc_tally_release(&t);
	assert_true(is_folded(&a, 0, 6));
	assert_false(is_folded(&a, 1, 3));
	fill(&t, 3, 7);
	assert_int_equal(fsc_admission_fold(&a, &t, 100, NULL), 0);
	assert_int_equal(folded(&t), 3 * FUNCS);
	assert_int_equal(a.states.n, 5 * FUNCS);
	fsc_tally_release(&t);
	/* A process that is gone is forgotten: its number may be another's. */
	fill(&t, 3, 6);
	assert_int_equal(fsc_admission_fold(&a, &t, 100, NULL), 0);
	assert_false(is_folded(&a, 0, 6));
	fsc_tally_release(&t);
	fsc_admission_release(&a);
}

static void a_lower_cap_holds_at_once(void **state)
{
	struct fsc_admission a = {0};
	struct fsc_tally t;

	(void)state;
	for (size_t cap = 40; cap; cap /= 2) {
		fill(&t, 1, 20);
		assert_int_equal(fsc_admission_fold(&a, &t, cap, NULL), 0);
		assert_int_equal(t.calls.rows.n - folded(&t), cap);
		fsc_tally_release(&t);
	}
	fsc_admission_release(&a);
}

static size_t errors_shown(const struct fsc_tally *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->errors.n; i++)
		n += !FSC_AT(struct fsc_call_errors, &t->errors, i)->folded;
	return n;
}

/* A function may return any number of errors. */
static void errors_stay_below_the_cap(void **state)
{
	struct fsc_admission a = {0};
	const int64_t first = 0, last = 999;
	struct fsc_tally t;

	(void)state;
	for (int round = 0; round < 2; round++) {
		fill(&t, 1, 3);
		for (int64_t code = 0; code < 1000; code++)
			assert_int_equal(fsc_tally_error(&t, 1, 2, code, 1, NULL), 0);
		assert_int_equal(fsc_tally_error(&t, 0, 1, 5, 1, NULL), 0);
		assert_int_equal(fsc_admission_fold(&a, &t, 100, NULL), 0);
		assert_int_equal(folded(&t), 0);
		assert_int_equal(errors_shown(&t), 100);
		fsc_tally_release(&t);
	}
	assert_false(fsc_admission_folded(&a, &(struct fsc_tally_part){1, 2, &first}));
	assert_true(fsc_admission_folded(&a, &(struct fsc_tally_part){1, 2, &last}));
	assert_false(is_folded(&a, 1, 2));
	fsc_admission_release(&a);
}

/* Rows by function are others than those by process. */
static void another_kind_of_rows_starts_anew(void **state)
{
	struct fsc_admission a = {0};
	struct fsc_tally t;

	(void)state;
	fill(&t, 1, 10);
	t.calls.by = FSC_BY_PID;
	assert_int_equal(fsc_admission_fold(&a, &t, 1, NULL), 0);
	assert_true(is_folded(&a, 1, FSC_TALLY_NOBODY));
	fsc_tally_release(&t);
	fill(&t, 1, 1);
	assert_int_equal(fsc_admission_fold(&a, &t, 2, NULL), 0);
	assert_int_equal(folded(&t), 0);
	fsc_tally_release(&t);
	fsc_admission_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_past_is_not_remembered),
	    cmocka_unit_test(many_at_once_stay_below_the_cap),
	    cmocka_unit_test(functions_that_come_later_stay_below_the_cap),
	    cmocka_unit_test(who_is_in_stays_in),
	    cmocka_unit_test(a_lower_cap_holds_at_once),
	    cmocka_unit_test(errors_stay_below_the_cap),
	    cmocka_unit_test(another_kind_of_rows_starts_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
