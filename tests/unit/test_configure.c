/* src/engine/configure.c: what the programs can read, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "engine/session_priv.h"

/* Of an offset that the program does not know it would read 0, and follow process 0. */
static void unknown_fork_records_are_refused(void **state)
{
	static const unsigned known[] = {20, 44}, unknown[] = {0, 12, 24, 48, 4096};
	struct fsc_config cfg = {0};
	struct fsc_err err = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_int_equal(fsc_configure_fork(&cfg, known[i], &err), 0);
		assert_int_equal(cfg.fork_child_offset, known[i]);
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		assert_int_equal(fsc_configure_fork(&cfg, unknown[i], &err), -ENOTSUP);
		assert_non_null(strstr(err.msg, "child_pid"));
		assert_non_null(strstr(err.hint, "--no-follow"));
		assert_int_equal(cfg.fork_child_offset, 44);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(unknown_fork_records_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
