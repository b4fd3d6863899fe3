/* engine/inodes: what looks say, numbers, and trials on real overlay mounts where they may be made.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* unshare */
#endif
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/inodes.h"

static const struct fsc_inode_look FILE_A = {
    .dev = 1, .ino = 7, .size = 4096, .born = 100, .changed = 300, .modified = 200};

static enum fsc_inode_guess compare(struct fsc_inode_look a, struct fsc_inode_look b)
{
	enum fsc_inode_guess guess = fsc_inode_compare(&a, &b);

	assert_int_equal(guess, fsc_inode_compare(&b, &a));
	return guess;
}

static void looks_on_one_device(void **state)
{
	struct fsc_inode_look b = FILE_A;

	(void)state;
	assert_int_equal(compare(FILE_A, b), FSC_INODE_SAME);
	b.changed = 301; /* chmod, or another link */
	b.size = 5;
	assert_int_equal(compare(FILE_A, b), FSC_INODE_SAME);
	b.born = 101; /* the number was used again, or the file copied up */
	assert_int_equal(compare(FILE_A, b), FSC_INODE_OTHER);
	b = FILE_A;
	b.ino = 8;
	assert_int_equal(compare(FILE_A, b), FSC_INODE_OTHER);
}

static void looks_on_two_devices(void **state)
{
	struct fsc_inode_look b = FILE_A, c;

	(void)state;
	b.dev = 2;
	assert_int_equal(compare(FILE_A, b), FSC_INODE_OTHER);
	b.overlay = true;
	assert_int_equal(compare(FILE_A, b), FSC_INODE_PERHAPS);
	b.ino = 70; /* as with xino */
	assert_int_equal(compare(FILE_A, b), FSC_INODE_PERHAPS);
	c = b;
	c.size++;
	assert_int_equal(compare(FILE_A, c), FSC_INODE_OTHER);
	c = b;
	c.modified++;
	assert_int_equal(compare(FILE_A, c), FSC_INODE_OTHER);
	c = b;
	c.born++; /* metadata copied up, or all of it */
	assert_int_equal(compare(FILE_A, c), FSC_INODE_HARDLY);
	c.born = 0; /* only the times of change can be compared */
	assert_int_equal(compare(FILE_A, c), FSC_INODE_PERHAPS);
	c.changed++;
	assert_int_equal(compare(FILE_A, c), FSC_INODE_HARDLY);
}

/* A directory of the test's own, the current one. */
static char top[64];

static int enter_top(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/test_inodes.XXXXXX");
	return !mkdtemp(top) || chdir(top);
}

static int leave_top(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return chdir("/") || system(command);
}

static void copy_self(const char *to)
{
	char command[160];

	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", (int)getpid(), to);
	assert_int_equal(system(command), 0);
}

static uint64_t number(struct fsc_inodes *t, const char *path)
{
	struct fsc_err err = {0};
	uint64_t n = 0;

	if (fsc_inodes_number(t, path, &n, &err))
		fail_msg("%s: %s", path, err.msg);
	return n;
}

static void numbers_without_overlay(void **state)
{
	struct fsc_inodes *t = NULL;
	struct fsc_err err = {0};
	uint64_t n;

	(void)state;
	assert_int_equal(fsc_inodes_new(&t, &err), 0);
	copy_self("a");
	copy_self("b");
	assert_int_equal(link("a", "c"), 0);
	assert_int_equal(symlink("b", "d"), 0);
	assert_int_equal(number(t, "a"), 1);
	assert_int_equal(number(t, "b"), 2);
	assert_int_equal(number(t, "c"), 1);
	assert_int_equal(number(t, "d"), 2);
	assert_int_equal(chmod("a", 0500), 0);
	assert_int_equal(number(t, "a"), 1);
	assert_int_equal(fsc_inodes_number(t, "none", &n, &err), -ENOENT);
	assert_int_equal(fsc_inodes_count(t), 2);
	assert_int_equal(fsc_inodes_trials(t), 0);
	fsc_inodes_free(t);
}

static void references(void **state)
{
	struct fsc_inodes *t = NULL, *same;

	(void)state;
	assert_int_equal(fsc_inodes_new(&t, NULL), 0);
	same = fsc_inodes_ref(t);
	fsc_inodes_free(t);
	assert_int_equal(number(same, "/"), 1);
	fsc_inodes_free(same);
}

static bool mount_overlay(const char *name)
{
	char options[160], upper[32], work[32];

	snprintf(upper, sizeof(upper), "upper-%s", name);
	snprintf(work, sizeof(work), "work-%s", name);
	snprintf(options, sizeof(options), "lowerdir=lower,upperdir=%s,workdir=%s", upper, work);
	return !mkdir(name, 0755) && !mkdir(upper, 0755) && !mkdir(work, 0755) &&
	       !mount("overlay", name, "overlay", 0, options);
}

static bool is_number(uint64_t number, void *arg)
{
	return number == *(uint64_t *)arg;
}

/* Files of one size and time are in one chain, from which they are taken at any place. */
static void unused_ones_are_forgotten(void **state)
{
	static const char *const names[] = {"t0", "t1", "t2", "t3", "t4"};
	const struct timespec same[2] = {{1000, 0}, {1000, 0}};
	struct fsc_inodes *t = NULL;
	uint64_t numbers[5], used;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		copy_self(names[i]);
		assert_int_equal(utimensat(AT_FDCWD, names[i], same, 0), 0);
	}
	for (size_t k = 0; k < 5; k++) {
		assert_int_equal(fsc_inodes_new(&t, NULL), 0);
		for (size_t i = 0; i < 5; i++)
			numbers[i] = number(t, names[i]);
		used = numbers[k];
		assert_int_equal(fsc_inodes_trim(t, 5, is_number, &used, NULL), 0);
		for (size_t i = 0; i < 5; i++)
			assert_int_equal(number(t, names[i]), numbers[i]);
		assert_int_equal(fsc_inodes_trim(t, 4, is_number, &used, NULL), 0);
		for (size_t i = 0; i < 5; i++)
			assert_int_equal(number(t, names[i]) == numbers[i], i == k);
		assert_int_equal(fsc_inodes_count(t), 9);
		fsc_inodes_free(t);
	}
}

enum { NO_OVERLAY = 77 };

/* Exit status: 0, NO_OVERLAY, or the number of what is wrong. */
static int numbers_in_namespace(void)
{
	struct fsc_inodes *t = NULL;
	uint64_t a, twin;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    !mount_overlay("one") || !mount_overlay("two") || !mount_overlay("three"))
		return NO_OVERLAY;
	if (fsc_inodes_new(&t, NULL))
		return 1;
	a = number(t, "one/app");
	if (fsc_inodes_trials(t) || number(t, "one/app") != a)
		return 2;
	if (number(t, "two/app") != a || number(t, "lower/app") != a)
		return 3;
	if (fsc_inodes_trials(t) != 2 || number(t, "two/app") != a || fsc_inodes_trials(t) != 2)
		return 4;
	/* Copied up: its number stays, the inode does not. What shows in the others is not of its
	 * event. */
	if (chmod("three/app", 0700) || number(t, "three/app") == a)
		return 5;
	/* Not an ELF file: no trial, but its numbers and times tell. */
	twin = number(t, "one/text");
	if (twin == a || number(t, "two/text") != twin)
		return 6;
	/* The first mount has gone. */
	if (umount2("one", MNT_DETACH) || !mount_overlay("four") || number(t, "four/app") != a)
		return 7;
	fsc_inodes_free(t);
	return 0;
}

static void numbers_with_overlay(void **state)
{
	int status = 0;
	pid_t pid;
	FILE *f;

	(void)state;
	assert_int_equal(mkdir("lower", 0755), 0);
	copy_self("lower/app");
	f = fopen("lower/text", "w");
	assert_non_null(f);
	fputs("no program", f);
	fclose(f);
	pid = fork();
	if (!pid)
		_exit(numbers_in_namespace());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_OVERLAY) {
		print_message("overlays cannot be mounted here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(looks_on_one_device),     cmocka_unit_test(looks_on_two_devices),
	    cmocka_unit_test(numbers_without_overlay), cmocka_unit_test(references),
	    cmocka_unit_test(numbers_with_overlay),    cmocka_unit_test(unused_ones_are_forgotten),
	};

	return cmocka_run_group_tests(tests, enter_top, leave_top);
}
