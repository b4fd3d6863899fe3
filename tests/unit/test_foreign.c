/* src/probe/foreign.h: whether code of others may run inside a function, told by the code of a
 * library that calls through a table of jumps, and of one that does without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "probe/foreign.h"
#include "sym_fixtures.h"

static const char *const libraries[] = {"libforeign.so", "libforeign-noplt.so"};

static void expect(const char *function, bool may)
{
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		struct fsc_elf *e = open_fixture(libraries[i], "");
		const struct fsc_sym *sym = find_symbol(e, function, NULL);

		assert_non_null(sym);
		if (fsc_foreign_may_run(e, sym) != may)
			fail_msg("%s of %s", function, libraries[i]);
		fsc_elf_free(e);
	}
}

/* Its own functions, and those of the C library that call nobody back. */
static void own_code(void **state)
{
	(void)state;
#ifdef __x86_64__
	expect("plain", false);
	expect("within", false);
	expect("lengths", false);
#else
	skip();
#endif
}

static void a_callback(void **state)
{
	(void)state;
	expect("callback", true);
	expect("jump", true);
	expect("behind", true);
}

/* A point where threads are cancelled, and a sort that calls back. */
static void the_c_library(void **state)
{
	(void)state;
	expect("waits", true);
	expect("sorts", true);
}

static void another_library(void **state)
{
	(void)state;
	expect("leaves", true);
	expect("replaceable",
	       true); /* by a function of the program's with the name of its callee */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(own_code),
	    cmocka_unit_test(a_callback),
	    cmocka_unit_test(the_c_library),
	    cmocka_unit_test(another_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
