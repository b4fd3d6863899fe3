/* src/kernel/tracefs.h: the lists on a directory that looks like tracefs, and the real one where
 * root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/tracefs.h"

static char dir[] = "/tmp/test_tracefs.XXXXXX";
static int fake = -1;

static int put(const char *name, const char *text)
{
	int fd = openat(fake, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	size_t n = strlen(text);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		return -1;
	return close(fd);
}

static int make_fake(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	fake = open(dir, O_RDONLY | O_DIRECTORY);
	if (fake < 0 || mkdirat(fake, "events", 0700) || mkdirat(fake, "events/sched", 0700) ||
	    mkdirat(fake, "events/sched/sched_switch", 0700) ||
	    mkdirat(fake, "events/sched/odd", 0700))
		return -1;
	return put("available_events",
		   "syscalls:sys_enter_read\nsched:sched_switch\nftrace:function\n"
		   "synthetic:mine\nbroken\n:x\ny:\nsched:odd\n") ||
	       put("events/sched/sched_switch/id", "372\n") || put("events/sched/odd/id", "x\n") ||
	       put("available_filter_functions", "vfs_read\next4_read [ext4]\n\nvfs_write");
}

static int remove_fake(void **state)
{
	char command[64];

	(void)state;
	close(fake);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static void tracepoints_are_listed_in_order(void **state)
{
	static const char *const expected[][2] = {
	    {"sched", "odd"}, {"sched", "sched_switch"}, {"syscalls", "sys_enter_read"}};
	struct fsc_vec tps = FSC_VEC_INIT(struct fsc_tracepoint);

	(void)state;
	assert_int_equal(fsc_tracepoints_list(fake, &tps, NULL), 0);
	assert_int_equal(tps.n, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(FSC_AT(struct fsc_tracepoint, &tps, i)->category,
				    expected[i][0]);
		assert_string_equal(FSC_AT(struct fsc_tracepoint, &tps, i)->name, expected[i][1]);
	}
	fsc_tracepoints_release(&tps);
}

static void tracepoints_have_numbers(void **state)
{
	struct fsc_err err = {0};

	(void)state;
	assert_int_equal(fsc_tracepoint_id(fake, "sched", "sched_switch", &err), 372);
	assert_int_equal(fsc_tracepoint_id(fake, "sched", "odd", &err), -EINVAL);
	assert_int_equal(fsc_tracepoint_id(fake, "sched", "nosuch", &err), -ENOENT);
	assert_non_null(strstr(err.msg, "'sched:nosuch'"));
	/* names cannot lead out of the directory */
	assert_int_equal(fsc_tracepoint_id(fake, ".", "sched/sched_switch", &err), -ENOENT);
	assert_int_equal(fsc_tracepoint_id(fake, "..", "events/sched/sched_switch", &err), -ENOENT);
	assert_int_equal(fsc_tracepoint_id(fake, "", "", &err), -ENOENT);
}

static void hookable_functions(void **state)
{
	struct fsc_map set = {0};

	(void)state;
	assert_int_equal(fsc_tracefs_filter_functions(fake, &set, NULL), 0);
	assert_int_equal(set.n, 3);
	assert_non_null(fsc_map_get(&set, "vfs_read", 8));
	assert_non_null(fsc_map_get(&set, "ext4_read", 9));
	assert_non_null(fsc_map_get(&set, "vfs_write", 9));
	assert_int_equal(*fsc_map_get(&set, "vfs_write", 9), 1);
	fsc_map_release(&set);
}

static void a_kernel_without_ftrace(void **state)
{
	int events = openat(fake, "events", O_RDONLY | O_DIRECTORY);
	struct fsc_map set = {0};
	struct fsc_err err = {0};

	(void)state;
	assert_int_equal(fsc_tracefs_filter_functions(events, &set, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "no ftrace"));
	close(events);
}

static void the_real_one(void **state)
{
	struct fsc_vec tps = FSC_VEC_INIT(struct fsc_tracepoint);
	bool mounted = fsc_tracefs_mounted();
	struct fsc_err err = {0};
	int fd = fsc_tracefs_open(&err);

	(void)state;
	if (fd < 0) {
		assert_true(err.msg[0]);
		skip();
	}
	assert_int_equal(fsc_tracepoints_list(fd, &tps, &err), 0);
	assert_true(tps.n > 100);
	assert_true(fsc_tracepoint_id(fd, "sched", "sched_switch", &err) > 0);
	assert_int_equal(fsc_tracefs_mounted(), mounted); /* a private mount is seen by nobody */
	fsc_tracepoints_release(&tps);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tracepoints_are_listed_in_order),
	    cmocka_unit_test(tracepoints_have_numbers),
	    cmocka_unit_test(hookable_functions),
	    cmocka_unit_test(a_kernel_without_ftrace),
	    cmocka_unit_test(the_real_one),
	};

	return cmocka_run_group_tests(tests, make_fake, remove_fake);
}
