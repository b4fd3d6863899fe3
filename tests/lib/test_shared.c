/* Libraries that are loaded later and have checkpoints: with the library inside, or with that of
 * the program, which exports it. */
#include "reader.h"
#include "scoped.h"

static void with_the_programs(void)
{
	struct scoped s = scoped_load("libscoped-bare.so");

	CHECK(funcscope_caller_initialize(4, FS_LITE) == 1);
	s.work(10);
	for (int i = 0; i < 10; i++) {
		FUNCSCOPE_SCOPE("in the program");
		FUNCSCOPE_ENTER(1);
		FUNCSCOPE_EXIT(1);
	}
	EQUAL(sums_of(1).calls, 20);
	EQUAL(sums_named("in the library").calls, 10);
	EQUAL(sums_named("in the program").calls, 10);
	FAILS(s.start(), 0, EALREADY);
}

/* The program's comes first, as symbols do: there is one memory, not two. */
static void with_one_of_its_own_and_the_programs(void)
{
	struct scoped s = scoped_load("libscoped.so");

	CHECK(s.start() == 1);
	FAILS(funcscope_caller_initialize(4, FS_LITE), 0, EALREADY);
	s.work(10);
	EQUAL(sums_named("in the library").calls, 10);
	CHECK(funcscope_caller_cleanup() == 1);
	CHECK(s.clean_up() == 0);
}

static const struct check_test tests[] = {
    TEST(with_the_programs),
    TEST(with_one_of_its_own_and_the_programs),
};

CHECK_MAIN(tests)
