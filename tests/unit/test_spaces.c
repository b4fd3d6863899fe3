/* src/proc/spaces.h: what lies where, through mmap, fork, exec, exit and being forgotten; and the
 * files behind it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "proc/spaces.h"
#include "sym_fixtures.h"

/* A number no process has. */
#define GONE 0x3ffffff0

static struct fsc_spaces *make(size_t max)
{
	struct fsc_spaces *s = NULL;

	assert_int_equal(fsc_spaces_new(max, &s, NULL), 0);
	return s;
}

static void map(struct fsc_spaces *s, pid_t pid, uint64_t start, uint64_t len, uint64_t offset,
		const char *path)
{
	assert_int_equal(fsc_spaces_mmap(s, pid, start, len, offset, 1, 2, path, NULL), 0);
}

/* "path+offset" of an address, "-" where nothing is. */
static const char *at(const struct fsc_spaces *s, pid_t pid, uint64_t addr)
{
	static char text[200];
	const struct fsc_mapping *m = fsc_spaces_find(s, pid, addr);

	if (!m)
		return "-";
	snprintf(text, sizeof(text), "%s+%llx", m->path,
		 (unsigned long long)(addr - m->start + m->offset));
	return text;
}

static void newer_mappings_win(void **state)
{
	FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = make(0);
	size_t n;

	(void)state;
	assert_string_equal(at(s, GONE, 0x1000), "-");
	assert_false(fsc_spaces_known(s, GONE));
	map(s, GONE, 0x1000, 0x4000, 0x100, "/a");
	map(s, GONE, 0x8000, 0x1000, 0, "/b");
	assert_string_equal(at(s, GONE, 0x0fff), "-");
	assert_string_equal(at(s, GONE, 0x1000), "/a+100");
	assert_string_equal(at(s, GONE, 0x4fff), "/a+40ff");
	assert_string_equal(at(s, GONE, 0x5000), "-");
	map(s, GONE, 0x2000, 0x1000, 0x7000, "/c"); /* in the middle */
	assert_string_equal(at(s, GONE, 0x1fff), "/a+10ff");
	assert_string_equal(at(s, GONE, 0x2000), "/c+7000");
	assert_string_equal(at(s, GONE, 0x3000), "/a+2100");
	map(s, GONE, 0x3800, 0x5000, 0, "/d"); /* over an end, a gap and a beginning */
	assert_string_equal(at(s, GONE, 0x37ff), "/a+28ff");
	assert_string_equal(at(s, GONE, 0x3800), "/d+0");
	assert_string_equal(at(s, GONE, 0x87ff), "/d+4fff");
	assert_string_equal(at(s, GONE, 0x8800), "/b+800");
	map(s, GONE, 0, 0x10000, 0, "/e"); /* over all */
	assert_non_null(fsc_spaces_all(s, GONE, 0, &n));
	assert_int_equal(n, 1);
}

/* Against a plain array, in a small world. */
static void random_mappings(void **state)
{
	FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = make(0);
	int world[64];
	unsigned seed = 7;

	(void)state;
	memset(world, -1, sizeof(world));
	for (int i = 0; i < 2000; i++) {
		char path[16];
		unsigned from = (seed = seed * 1103515245u + 12345u) >> 16 & 63;
		unsigned len = 1 + ((seed = seed * 1103515245u + 12345u) >> 16) % (64 - from);

		snprintf(path, sizeof(path), "/%d", i);
		map(s, GONE, 100 + from, len, from, path);
		for (unsigned k = from; k < from + len; k++)
			world[k] = i;
		for (unsigned k = 0; k < 64; k++) {
			char expected[32] = "-";

			if (world[k] >= 0)
				snprintf(expected, sizeof(expected), "/%d+%x", world[k], k);
			assert_string_equal(at(s, GONE, 100 + k), expected);
		}
	}
}

static void names_of_memory(void **state)
{
	FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = make(0);

	(void)state;
	map(s, GONE, 0x1000, 0x1000, 0, "//anon");
	map(s, GONE, 0x2000, 0x1000, 0, "");
	map(s, GONE, 0x3000, 0x1000, 0, "[vdso]");
	map(s, GONE, 0x4000, 0x1000, 0, "[uprobes]");
	map(s, GONE, 0x5000, 0, 0, "/empty");
	map(s, GONE, UINT64_MAX - 10, 100, 0, "/round");
	assert_string_equal(at(s, GONE, 0x1000), "[anon]+0");
	assert_string_equal(at(s, GONE, 0x2000), "[anon]+0");
	assert_string_equal(at(s, GONE, 0x3000), "[vdso]+0");
	assert_string_equal(at(s, GONE, 0x4000), "[uprobes]+0");
	assert_string_equal(at(s, GONE, 0x5000), "-");
	assert_string_equal(at(s, GONE, UINT64_MAX - 5), "-");
}

static void fork_and_exec(void **state)
{
	FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = make(0);

	(void)state;
	map(s, GONE, 0x1000, 0x1000, 0, "/parent");
	assert_int_equal(fsc_spaces_fork(s, GONE, GONE, NULL), 0); /* a thread */
	assert_int_equal(fsc_spaces_fork(s, GONE, GONE + 1, NULL), 0);
	assert_string_equal(at(s, GONE + 1, 0x1000), "/parent+0");
	map(s, GONE + 1, 0x1800, 0x1000, 0, "/child");
	assert_string_equal(at(s, GONE + 1, 0x1800), "/child+0");
	assert_string_equal(at(s, GONE, 0x1800), "/parent+800"); /* not touched by the child */
	assert_int_equal(fsc_spaces_exec(s, GONE + 1, NULL), 0);
	assert_string_equal(at(s, GONE + 1, 0x1000), "/parent+0"); /* from before */
	map(s, GONE + 1, 0x1000, 0x400, 0, "/new");
	assert_string_equal(at(s, GONE + 1, 0x1000), "/new+0");
	assert_string_equal(at(s, GONE + 1, 0x1400), "/parent+400");
	assert_string_equal(at(s, GONE + 1, 0x1800), "/child+0");
	assert_int_equal(fsc_spaces_fork(s, GONE + 7, GONE + 8, NULL), 0); /* a parent unknown */
	assert_string_equal(at(s, GONE + 8, 0x1000), "-");
	for (int i = 0; i < 100; i++)
		assert_int_equal(fsc_spaces_exec(s, GONE + 1, NULL), 0);
	assert_string_equal(at(s, GONE + 1, 0x1000), "-"); /* too long ago */
}

/* Samples from before an exec are read when the process is another program already. */
static void programs_by_time(void **state)
{
	FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = make(0);
	const struct fsc_mapping *m;
	size_t n;

	(void)state;
	map(s, GONE, 0x1000, 0x1000, 0, "/first");
	fsc_spaces_at(s, 100);
	assert_int_equal(fsc_spaces_exec(s, GONE, NULL), 0);
	map(s, GONE, 0x1000, 0x1000, 0, "/second");
	fsc_spaces_at(s, 200);
	assert_int_equal(fsc_spaces_exec(s, GONE, NULL), 0);
	map(s, GONE, 0x1000, 0x1000, 0, "/third");
	map(s, GONE, 0x8000, 0x1000, 0, "/more");
	assert_string_equal(fsc_spaces_find_at(s, GONE, 0x1000, 99)->path, "/first");
	assert_string_equal(fsc_spaces_find_at(s, GONE, 0x1000, 100)->path, "/second");
	assert_string_equal(fsc_spaces_find_at(s, GONE, 0x1000, 199)->path, "/second");
	assert_string_equal(fsc_spaces_find_at(s, GONE, 0x1000, 5000)->path, "/third");
	assert_string_equal(fsc_spaces_find_at(s, GONE, 0x1000, 0)->path, "/third");
	assert_string_equal(fsc_spaces_find_at(s, GONE, 0x8000, 99)->path,
			    "/more"); /* if nowhere else */
	m = fsc_spaces_all(s, GONE, 150, &n);
	assert_int_equal(n, 1);
	assert_string_equal(m->path, "/second");
}

static void the_dead_are_forgotten_first(void **state)
{
	FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = make(64);

	(void)state;
	map(s, getpid(), 0x1000, 0x1000, 0, "/me"); /* the oldest, but it runs */
	for (int i = 0; i < 1000; i++) {
		map(s, GONE + i, 0x1000, 0x1000, 0, "/x");
		fsc_spaces_exit(s, GONE + i);
	}
	assert_string_equal(at(s, getpid(), 0x1000), "/me+0");
	assert_string_equal(at(s, GONE, 0x1000), "-");
	assert_string_equal(at(s, GONE + 999, 0x1000), "/x+0");
	fsc_spaces_exit(s, GONE + 5000); /* nobody */
}

static void of_a_running_process(void **state)
{
	FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = make(0);
	struct fsc_err err = {0};
	const struct fsc_space_file *file, *again;
	const struct fsc_mapping *m;
	const struct fsc_sym *sym;
	uint64_t addr;

	(void)state;
	assert_int_equal(fsc_spaces_read(s, GONE, &err), -ESRCH);
	assert_int_equal(fsc_spaces_read(s, getpid(), &err), 0);
	assert_int_equal(fsc_spaces_read(s, getpid(), &err), 0);
	m = fsc_spaces_find(s, getpid(), (uintptr_t)of_a_running_process);
	assert_non_null(m);
	assert_int_equal(fsc_spaces_hold(s, getpid(), 0, &err), 0);
	assert_int_equal(fsc_spaces_file(s, getpid(), m, &file, &err), 0);
	assert_int_equal(fsc_spaces_file(s, getpid(), m, &again, &err), 0);
	assert_ptr_equal(file, again);
	assert_non_null(strstr(file->name, "test_spaces"));
	assert_non_null(file->elf);
	assert_true(
	    fsc_elf_addr(file->elf, (uintptr_t)of_a_running_process - m->start + m->offset, &addr));
	assert_int_equal(fsc_elf_symbol_at(file->elf, addr, &sym, &err), 0);
	assert_non_null(sym);
	assert_string_equal(sym->name, "of_a_running_process");
}

static void the_vdso(void **state)
{
	FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = make(0);
	uint64_t image = getauxval(AT_SYSINFO_EHDR);
	const struct fsc_space_file *file;
	const struct fsc_sym *syms;
	size_t n = 0;

	(void)state;
	assert_int_equal(fsc_spaces_read(s, getpid(), NULL), 0);
	if (!image || !fsc_spaces_find(s, getpid(), image))
		skip();
	assert_int_equal(
	    fsc_spaces_file(s, getpid(), fsc_spaces_find(s, getpid(), image), &file, NULL), 0);
	assert_non_null(file);
	assert_string_equal(file->name, "[vdso]");
	assert_non_null(file->elf);
	assert_int_equal(fsc_elf_symbols(file->elf, &syms, &n, NULL), 0);
	assert_true(n > 0);
}

/* A program that sleeps in its main(), from a copy of a fixture. */
static pid_t start(const char *path)
{
	pid_t pid = fork();

	if (!pid) {
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Waits until the process has mapped something else than we have. */
static const struct fsc_mapping *wait_for(struct fsc_spaces *s, pid_t pid, const char *name)
{
	for (int i = 0; i < 5000; i++) {
		const struct fsc_mapping *m;
		size_t n = 0;

		assert_int_equal(fsc_spaces_read(s, pid, NULL), 0);
		m = fsc_spaces_all(s, pid, 0, &n);
		for (size_t k = 0; k < n; k++)
			if (strstr(m[k].path, name))
				return &m[k];
		usleep(1000);
	}
	fail_msg("%s never ran", name);
	return NULL;
}

static void files_of_processes_that_ended(void **state)
{
	size_t n;
	unsigned char *bytes = fixture_bytes("sleeper", &n);

	(void)state;
	for (int hold = 0; hold < 2; hold++) {
		for (int replaced = 0; replaced < 2; replaced++) {
			FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = make(0);
			const char *path = make_file("short-lived", bytes, n);
			pid_t pid = start(path);
			const struct fsc_space_file *file;
			const struct fsc_mapping *m = wait_for(s, pid, "short-lived");

			if (hold)
				assert_int_equal(fsc_spaces_hold(s, pid, 0, NULL), 0);
			if (replaced) {
				char other[600];

				/* First the other file, so that it cannot get the inode. */
				snprintf(other, sizeof(other), "%s", make_file("other", bytes, n));
				assert_int_equal(rename(other, path), 0);
			}
			stop(pid);
			assert_int_equal(fsc_spaces_file(s, pid, m, &file, NULL), 0);
			assert_non_null(file);
			assert_int_equal(file->elf != NULL, hold || !replaced);
			unlink(path);
		}
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(newer_mappings_win),
	    cmocka_unit_test(random_mappings),
	    cmocka_unit_test(names_of_memory),
	    cmocka_unit_test(fork_and_exec),
	    cmocka_unit_test(programs_by_time),
	    cmocka_unit_test(the_dead_are_forgotten_first),
	    cmocka_unit_test(of_a_running_process),
	    cmocka_unit_test(the_vdso),
	    cmocka_unit_test(files_of_processes_that_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
