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
static void fill(struct fsc_tally *t, uint32_t from, uint32_t to)
{
	fsc_tally_init(t);
	t->calls.n_funcs = FUNCS;
	for (uint32_t func = 0; func < FUNCS; func++) {
		assert_non_null(fsc_tally_row(t, func, FSC_TALLY_NOBODY));
		for (uint32_t pid = from; pid < to; pid++)
			assert_non_null(fsc_tally_row(t, func, pid));
	}
}

static size_t folded(const struct fsc_tally *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->calls.rows.n; i++)
		n += FSC_AT(struct fsc_latency, &t->calls.rows, i)->folded;
	return n;
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
		assert_int_equal(a.states.n, 10);
		assert_int_equal(a.rows, FUNCS * 11);
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
	assert_int_equal(folded(&t), (999 - 50) * FUNCS);
	fsc_tally_release(&t);
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
	assert_true(fsc_admission_folded(&a, 6));
	assert_false(fsc_admission_folded(&a, 3));
	fill(&t, 3, 7);
	assert_int_equal(fsc_admission_fold(&a, &t, 100, NULL), 0);
	assert_int_equal(folded(&t), 3 * FUNCS);
	assert_int_equal(a.states.n, 4);
	fsc_tally_release(&t);
	/* The number is another process's. */
	fsc_admission_forget(&a, 6);
	assert_false(fsc_admission_folded(&a, 6));
	fill(&t, 3, 7);
	assert_int_equal(fsc_admission_fold(&a, &t, 100, NULL), 0);
	assert_int_equal(folded(&t), 2 * FUNCS);
	fsc_tally_release(&t);
	fsc_admission_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_past_is_not_remembered),
	    cmocka_unit_test(many_at_once_stay_below_the_cap),
	    cmocka_unit_test(who_is_in_stays_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
