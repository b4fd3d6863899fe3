/* The session of `gpu`: what finds no room in the kernel's tables is counted. Needs root; skipped
 * otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/gpu.h"

static void what_finds_no_room_is_counted(void **state)
{
	static const struct fsc_gpu_call calls[2];
	const struct fsc_gpu_session_opts o = {
	    .calls = calls, .n_calls = 2, .max_tasks = 4, .judged = true, .python = true};
	const struct fsc_python py = {0};
	struct fsc_gpu_session *s;
	struct fsc_err err = {0};

	(void)state;
	if (geteuid())
		skip();
	if (fsc_gpu_session_open(&o, &s, &err))
		fail_msg("%s", err.msg);
	for (pid_t pid = 100; pid < 110; pid++) {
		assert_int_equal(fsc_gpu_session_set_verdict(s, pid, pid % 2, &err), 0);
		assert_int_equal(fsc_gpu_session_python(s, pid, &py, &err), 0);
	}
	assert_int_equal(fsc_gpu_session_full(s, FSC_GPU_FULL_VERDICTS), 6);
	assert_int_equal(fsc_gpu_session_full(s, FSC_GPU_FULL_PYTHON), 6);
	/* Who has room may change, and room that is left is used. */
	assert_int_equal(fsc_gpu_session_set_verdict(s, 100, true, &err), 0);
	fsc_gpu_session_forget(s, 101);
	assert_int_equal(fsc_gpu_session_set_verdict(s, 109, true, &err), 0);
	assert_int_equal(fsc_gpu_session_full(s, FSC_GPU_FULL_VERDICTS), 6);
	assert_int_equal(fsc_gpu_session_damaged(s), 0);
	fsc_gpu_session_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_finds_no_room_is_counted)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
