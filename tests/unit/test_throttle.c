/* src/monitor/throttle.h, by a clock of its own: who comes back when, and that nobody flaps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "monitor/throttle.h"

#define SECOND 1000000000ull

static double detached(struct fsc_throttle *t, uint32_t func, double share, uint64_t now_s)
{
	struct fsc_err err = {0};
	double s = 0;

	if (fsc_throttle_detached(t, func, share, now_s * SECOND, &s, &err))
		fail_msg("%s", err.msg);
	assert_true(fsc_throttle_is_detached(t, func));
	return s;
}

/* -1: none. */
static int due(const struct fsc_throttle *t, double share, double most, uint64_t now_s)
{
	uint32_t func;

	return fsc_throttle_due(t, share, most, now_s * SECOND, &func) ? (int)func : -1;
}

static void it_comes_back_after_a_while_if_there_is_room(void **state)
{
	struct fsc_throttle t = FSC_THROTTLE_INIT;

	(void)state;
	assert_int_equal(due(&t, 0, 2, 100), -1);
	assert_true(detached(&t, 7, 30, 100) == 5);
	assert_int_equal(due(&t, 0, 2, 104), -1);
	assert_int_equal(due(&t, 0, 2, 105), 7);
	assert_int_equal(due(&t, 1.7, 2, 105), -1); /* the others take more than 80 % of it */
	assert_int_equal(due(&t, 1.6, 2, 105), 7);
	fsc_throttle_back(&t, 7, 105 * SECOND);
	assert_false(fsc_throttle_is_detached(&t, 7));
	assert_int_equal(due(&t, 0, 2, 1000), -1);
	fsc_throttle_release(&t);
}

/* A function that stays too expensive is tried 8 times in 20 minutes, and then every 10. */
static void what_stays_expensive_is_tried_less_and_less(void **state)
{
	static const double waits[] = {5, 10, 20, 40, 80, 160, 320, 600, 600, 600};
	struct fsc_throttle t = FSC_THROTTLE_INIT;
	uint64_t now = 50;

	(void)state;
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		assert_true(detached(&t, 1, 50, now) == waits[i]);
		now += (uint64_t)waits[i];
		assert_int_equal(due(&t, 0, 2, now - 1), -1);
		assert_int_equal(due(&t, 0, 2, now), 1);
		fsc_throttle_back(&t, 1, now * SECOND);
		now++; /* the next check finds it too expensive */
	}
	/* It stays for as long as it had waited: the next time begins anew. */
	assert_true(detached(&t, 1, 50, now + 600) == 5);
	fsc_throttle_release(&t);
}

static void the_cheapest_is_first_and_one_at_a_time(void **state)
{
	struct fsc_throttle t = FSC_THROTTLE_INIT;

	(void)state;
	detached(&t, 1, 30, 10);
	detached(&t, 2, 10, 11);
	detached(&t, 3, 20, 12);
	assert_int_equal(due(&t, 0, 2, 15), 1); /* the only one that has waited */
	assert_int_equal(due(&t, 0, 2, 20), 2);
	fsc_throttle_back(&t, 2, 20 * SECOND);
	assert_int_equal(due(&t, 0, 2, 20), 3);
	assert_true(fsc_throttle_is_detached(&t, 1) && fsc_throttle_is_detached(&t, 3));
	fsc_throttle_release(&t);
}

static void a_reload_forgets_what_was(void **state)
{
	struct fsc_throttle t = FSC_THROTTLE_INIT;

	(void)state;
	detached(&t, 1, 30, 10);
	fsc_throttle_back(&t, 1, 15 * SECOND);
	assert_true(detached(&t, 1, 30, 16) == 10);
	fsc_throttle_reset(&t);
	assert_false(fsc_throttle_is_detached(&t, 1));
	assert_int_equal(due(&t, 0, 2, 1000), -1);
	assert_true(detached(&t, 1, 30, 17) == 5);
	fsc_throttle_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_comes_back_after_a_while_if_there_is_room),
	    cmocka_unit_test(what_stays_expensive_is_tried_less_and_less),
	    cmocka_unit_test(the_cheapest_is_first_and_one_at_a_time),
	    cmocka_unit_test(a_reload_forgets_what_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
