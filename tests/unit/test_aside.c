/* src/base/aside.h: a job and its caller at the same time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/aside.h"

struct both {
	pthread_t caller;
	atomic_uint rounds;
	unsigned until; /* the job ends after so many rounds of its caller */
	bool apart;	/* it had a thread of its own */
};

static void go_on(void *arg)
{
	atomic_fetch_add(&((struct both *)arg)->rounds, 1);
}

static int job(void *arg, struct fsc_err *err)
{
	struct both *b = arg;

	b->apart = !pthread_equal(pthread_self(), b->caller);
	while (atomic_load(&b->rounds) < b->until)
		sched_yield();
	return b->until == 7 ? fsc_err_set(err, EIO, "seven") : 0;
}

/* It would never end if the caller waited for it. */
static void the_caller_goes_on(void **state)
{
	struct both b = {.caller = pthread_self(), .until = 3};
	const struct fsc_meanwhile m = {go_on, &b};
	struct fsc_err err = {0};

	(void)state;
	assert_int_equal(fsc_aside(job, &b, &m, &err), 0);
	assert_true(b.apart);
	assert_true(b.rounds >= 3);
}

static void its_failure_is_the_caller_s(void **state)
{
	struct both b = {.caller = pthread_self(), .until = 7};
	const struct fsc_meanwhile m = {go_on, &b};
	struct fsc_err err = {0};

	(void)state;
	assert_int_equal(fsc_aside(job, &b, &m, &err), -EIO);
	assert_string_equal(err.msg, "seven");
}

static void with_nothing_else_to_do_it_is_done_at_once(void **state)
{
	struct both b = {.caller = pthread_self()};
	const struct fsc_meanwhile none = {0};

	(void)state;
	assert_int_equal(fsc_aside(job, &b, &none, NULL), 0);
	assert_false(b.apart);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_caller_goes_on),
	    cmocka_unit_test(its_failure_is_the_caller_s),
	    cmocka_unit_test(with_nothing_else_to_do_it_is_done_at_once),
	};

	return cmocka_run_group_tests_name("aside", tests, NULL, NULL);
}
