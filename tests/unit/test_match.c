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

/* Of a function that was cut in parts or specialised often only these are left. */
static void clones(void **state)
{
	(void)state;
	assert_int_equal(matches("treat_file", "treat_file.part.0"), 1);
	assert_int_equal(matches("treat_*", "treat_file.constprop.0.isra.0"), 1);
	assert_int_equal(matches("treat_file", "treat_file.isra.0"), 1);
	assert_int_equal(matches("treat_file", "treat_file.lto_priv.3"), 1);
	assert_int_equal(matches("treat_file.part.0", "treat_file.part.0"), 1);
	assert_int_equal(matches("treat_file.part.0", "treat_file"), 0);
	assert_int_equal(matches("treat", "treat_file.part.0"), 0);
	assert_int_equal(matches("treat_file", "treat_file.part.0.cold"), 0);
	assert_int_equal(matches("f", "f.c"), 0);
	assert_int_equal(matches("", ".part.0"), 0);
}

/* Characters that mean something in a pattern are in names, too. */
static void names_as_they_are(void **state)
{
	(void)state;
	assert_int_equal(matches("os.(*File).Read", "os.(*File).Read"), 1);
	assert_int_equal(matches("slices.Sort[go.shape.[]int]", "slices.Sort[go.shape.[]int]"), 1);
	assert_int_equal(matches("app::at::operator[](int)", "_ZN3app2atixEi"), 1);
	assert_int_equal(matches("f[ab]", "fa"), 1);
	assert_int_equal(matches("f[ab]", "f[ab]"), 1);
	assert_int_equal(matches("f[ab]", "fc"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(mangled_and_demangled),
	    cmocka_unit_test(cold_parts),
	    cmocka_unit_test(clones),
	    cmocka_unit_test(names_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
