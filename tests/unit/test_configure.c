/* src/engine/configure.c and kernel.c: what the programs can read, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "engine/kernel.h"
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

/* Where the kernel is too old for everything, the error says so, and which would do. */
static void old_kernels_are_named(void **state)
{
	struct fsc_err err = {0};

	(void)state;
	assert_int_equal(fsc_kernel_too_old("5.10.0-32-cloud-amd64", &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "5.10.0-32-cloud-amd64"));
	assert_non_null(strstr(err.msg, "bpf_get_attach_cookie"));
	assert_non_null(strstr(err.hint, "5.15 or newer"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(unknown_fork_records_are_refused),
	    cmocka_unit_test(old_kernels_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
