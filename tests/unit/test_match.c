/* src/probe/match.h: symbols by the names people give them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "probe/match.h"

static int matches(const char *pattern, const char *symbol)
{
	struct fsc_sym s = {.name = (char *)symbol};
	struct fsc_matcher m;
	int rc;

	assert_int_equal(fsc_matcher_init(&m, pattern, false, NULL), 0);
	rc = fsc_matcher_match(&m, &s);
	fsc_matcher_release(&m);
	return rc;
}

static void mangled_and_demangled(void **state)
{
	(void)state;
	assert_int_equal(matches("app::thrower", "_ZN3app7throwerEi"), 1);
	assert_int_equal(matches("app::thrower(int)", "_ZN3app7throwerEi"), 1);
	assert_int_equal(matches("_ZN3app7throwerEi", "_ZN3app7throwerEi"), 1);
	assert_int_equal(matches("app::thrower", "_ZN3app7throwerEi.part.0"), 1);
	assert_int_equal(matches("app::throw", "_ZN3app7throwerEi"), 0);
}

/* The part of a function that is moved out of line has the function's name when it is demangled. */
static void cold_parts(void **state)
{
	(void)state;
	assert_int_equal(matches("app::thrower", "_ZN3app7throwerEi.cold"), 0);
	assert_int_equal(matches("app::*", "_ZN3app7throwerEi.cold"), 0);
	assert_int_equal(matches("f*", "f.cold"), 0);
	assert_int_equal(matches("_ZN3app7throwerEi.cold", "_ZN3app7throwerEi.cold"), 1);
	assert_int_equal(matches("app::*.cold*", "_ZN3app7throwerEi.cold"), 1);
	assert_int_equal(matches("f.cold", "f.cold"), 1);
	assert_int_equal(matches("*.cold", "f.cold"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(mangled_and_demangled),
	    cmocka_unit_test(cold_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
