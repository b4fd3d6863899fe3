/* src/proc/maps.h: lines of /proc/PID/maps with odd paths, and lines that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "proc/maps.h"

static void odd_paths(void **state)
{
	char text[] = "400000-401000 r--p 00000000 fe:01 77 /usr/bin/a b (deleted)\n"
		      "401000-402000 r-xp 00001000 fe:01 77                /usr/bin/a b (deleted)\n"
		      "402000-403000 r-xp 00000000 00:00 0 \n"
		      "403000-404000 r-xp 00000000 00:00 0                 [vdso]\n"
		      "404000-405000 r-xs 000ff000 08:00 18446744073709551615 /x\\012y\n"
		      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";
	struct fsc_vec maps = FSC_VEC_INIT(struct fsc_mapping);
	struct fsc_mapping *m;

	(void)state;
	assert_int_equal(fsc_maps_parse(text, true, &maps, NULL), 0);
	assert_int_equal(maps.n, 5);
	m = maps.data;
	assert_true(m[0].start == 0x401000 && m[0].end == 0x402000 && m[0].offset == 0x1000);
	assert_true(m[0].dev == makedev(0xfe, 1) && m[0].ino == 77);
	assert_string_equal(m[0].path, "/usr/bin/a b (deleted)");
	assert_string_equal(m[1].path, "");
	assert_string_equal(m[2].path, "[vdso]");
	assert_string_equal(m[3].path, "/x\ny");
	assert_true(m[4].start == 0xffffffffff600000);
	fsc_maps_release(&maps);
}

static void not_only_executable(void **state)
{
	char text[] = "1-2 r--p 0 0:0 0 /a\n2-3 r-xp 0 0:0 0 /b";
	struct fsc_vec maps = FSC_VEC_INIT(struct fsc_mapping);

	(void)state;
	assert_int_equal(fsc_maps_parse(text, false, &maps, NULL), 0);
	assert_int_equal(maps.n, 2);
	assert_false(FSC_AT(struct fsc_mapping, &maps, 0)->exec);
	assert_true(FSC_AT(struct fsc_mapping, &maps, 1)->exec);
	fsc_maps_release(&maps);
}

static void broken_lines_are_passed_over(void **state)
{
	char text[] = "\n-\n1-\n1-2\n1-2 \n1-2 r-x\n1-2 r-xp\n1-2 r-xp \n1-2 r-xp 0\n1-2 r-xp 0 0\n"
		      "1-2 r-xp 0 0:\n1-2 r-xp 0 0:0\n1-2 r-xp 0 0:0 5x\nhello world\n"
		      "99999999999999999-2 r-xp 0 0:0 0 /a\n";
	struct fsc_vec maps = FSC_VEC_INIT(struct fsc_mapping);

	(void)state;
	assert_int_equal(fsc_maps_parse(text, false, &maps, NULL), 0);
	assert_int_equal(maps.n, 0);
	fsc_maps_release(&maps);
}

static void this_process(void **state)
{
	struct fsc_vec maps = FSC_VEC_INIT(struct fsc_mapping);
	struct fsc_err err = {0};

	(void)state;
	assert_int_equal(fsc_maps_read(getpid(), true, &maps, &err), 0);
	assert_true(maps.n >= 3);
	fsc_maps_release(&maps);
	assert_int_equal(fsc_maps_read(0x3fffffff, true, &maps, &err), -ESRCH);
	assert_non_null(strstr(err.msg, "1073741823"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(odd_paths),
	    cmocka_unit_test(not_only_executable),
	    cmocka_unit_test(broken_lines_are_passed_over),
	    cmocka_unit_test(this_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
