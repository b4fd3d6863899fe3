/* What a trap costs (src/engine/calibrate.c): the least of several short calibrations. The function
 * that is called takes CPU time of its own instead of a probe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/calibrate.h"

/* As if something else on the machine took ten times as long, now and then. */
enum { QUIET = 3000, BUSY = 30000 };

static long work, links;

static void call(void)
{
	for (long i = 0; i < work; i++)
		__asm__ volatile("");
}

/* After the bare calls: from here on it costs. */
static int link_busy(void *arg, struct fsc_err *err)
{
	(void)arg, (void)err;
	links++;
	work = BUSY;
	return 0;
}

static double quieter(void *arg)
{
	static int rounds;

	(void)arg;
	/* The first calibration is made while the machine is busy. */
	if (links && ++rounds == 12)
		work = QUIET;
	return (double)work;
}

static void the_least_counts(void **state)
{
	struct fsc_hitcost h = {.fn = call, .link = link_busy, .inner = quieter};
	struct fsc_cost_ns c = {0};
	double least;

	(void)state;
	assert_int_equal(fsc_hitcost_measure(&h, &c, NULL), 0);
	assert_int_equal(links, 1);
	assert_int_equal(c.n, 3);
	assert_true(c.outer > 0 && c.outer < c.most / 2);
	assert_int_equal((int)c.inner, QUIET);
	/* Busy again during the run: nothing changes but the spread. */
	least = c.outer;
	work = 3 * BUSY;
	h.inner = NULL;
	c.inner = 0;
	assert_false(fsc_hitcost_again(&h, &c));
	assert_int_equal(c.n, 4);
	assert_true(c.outer <= least && c.outer >= least && c.most > 2 * c.outer);
	/* Quieter than ever: so little a trap costs. */
	work = QUIET / 10;
	assert_true(fsc_hitcost_again(&h, &c));
	assert_true(c.outer < least);
	assert_int_equal(c.n, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_least_counts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
