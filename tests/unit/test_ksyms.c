/* src/kernel/ksyms.h on a kallsyms of our own, and on the machine's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/ksyms.h"

static const char sample[] = "ffffffff81000000 T _stext\n"
			     "ffffffff81000010 t vfs_read\n"
			     "ffffffff81000020 W weak_one\n"
			     "ffffffff81000030 w weak_two\n"
			     "ffffffff81000040 D some_data\n"
			     "ffffffff81000050 r some_constant\n"
			     "ffffffff81000060 A absolute\n"
			     "ffffffff81000070 t __pfx_vfs_read\n"
			     "ffffffff81000080 t __cfi_vfs_read\n"
			     "ffffffff81000090 t vfs_read.cold\n"
			     "ffffffff810000a0 T __SCT__might_resched\n"
			     "ffffffff810000b0 T __SCK__x\n"
			     "ffffffff810000c0 T __kstrtab_y\n"
			     "ffffffffc0000000 t ext4_read\t[ext4]\n"
			     "ffffffffc0000010 t bpf_prog_123_x\t[bpf]\n"
			     "ffffffffc0000020 t ftrace_trampoline\t[__builtin__ftrace]\n"
			     "0000000000000000 T hidden_address\n"
			     "\n"
			     "garbage\n"
			     "12 T\n"
			     "ffffffffc0000030 \n"
			     "ffffffffc0000030 T \n"
			     "ffffffff810000d0 t last_without_newline";

static char path[] = "/tmp/test_ksyms.XXXXXX";

static int write_sample(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0 || write(fd, sample, sizeof(sample) - 1) != sizeof(sample) - 1)
		return -1;
	return close(fd);
}

static int remove_sample(void **state)
{
	(void)state;
	return unlink(path);
}

static void functions_only(void **state)
{
	static const char *const expected[] = {"_stext",
					       "vfs_read",
					       "weak_one",
					       "weak_two",
					       "ext4_read",
					       "hidden_address",
					       "last_without_newline"};
	struct fsc_ksyms k;

	(void)state;
	assert_int_equal(fsc_ksyms_load(path, NULL, NULL, &k, NULL), 0);
	assert_int_equal(k.n, 7);
	for (size_t i = 0; i < 7; i++)
		assert_string_equal(k.syms[i].name, expected[i]);
	assert_true(k.syms[1].addr == 0xffffffff81000010);
	assert_null(k.syms[1].module);
	assert_string_equal(k.syms[4].module, "ext4");
	assert_true(k.syms[5].addr == 0);
	fsc_ksyms_release(&k);
}

static bool only_of_module(const char *name, const char *module, void *arg)
{
	(void)name;
	return module && !strcmp(module, arg);
}

static void a_filter_chooses(void **state)
{
	char module[] = "ext4";
	struct fsc_ksyms k;

	(void)state;
	assert_int_equal(fsc_ksyms_load(path, only_of_module, module, &k, NULL), 0);
	assert_int_equal(k.n, 1);
	assert_string_equal(k.syms[0].name, "ext4_read");
	fsc_ksyms_release(&k);
	fsc_ksyms_release(&k); /* harmless twice */
}

static void a_missing_file_is_said(void **state)
{
	struct fsc_err err = {0};
	struct fsc_ksyms k;

	(void)state;
	assert_int_equal(fsc_ksyms_load("/no/such/kallsyms", NULL, NULL, &k, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/no/such/kallsyms"));
}

static void this_kernel(void **state)
{
	struct fsc_ksyms k;

	(void)state;
	if (access("/proc/kallsyms", R_OK))
		skip();
	assert_int_equal(fsc_ksyms_load(NULL, NULL, NULL, &k, NULL), 0);
	assert_true(k.n > 5000);
	fsc_ksyms_release(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(functions_only),
	    cmocka_unit_test(a_filter_chooses),
	    cmocka_unit_test(a_missing_file_is_said),
	    cmocka_unit_test(this_kernel),
	};

	return cmocka_run_group_tests(tests, write_sample, remove_sample);
}
