/* src/base/contain.h: answers, errors and deaths of the child; and damaged debug information, which
 * is what it is for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/contain.h"
#include "dwarf/lines.h"
#include "sym_fixtures.h"

/* Pushes *arg numbers; 0 of them is an error, negative: dies after one. */
static int child(void *arg, struct fsc_vec *out, struct fsc_err *err)
{
	int n = *(int *)arg;

	*(int *)arg = 999; /* must not be seen outside */
	if (!n)
		return fsc_err_set(err, ENOENT, "nothing here");
	for (int i = 0; i < n || i < 1; i++) {
		int *place = fsc_vec_push(out);

		if (!place)
			return fsc_err_nomem(err);
		*place = i;
	}
	if (n < 0)
		raise(SIGKILL);
	return 0;
}

static void answers_come_back(void **state)
{
	struct fsc_vec out = FSC_VEC_INIT(int);
	struct fsc_err err = {0};
	int n = 300000; /* more than a pipe holds */

	(void)state;
	assert_int_equal(fsc_contain(child, &n, "it", &out, &err), 0);
	assert_int_equal(n, 300000);
	assert_int_equal(out.n, 300000);
	assert_int_equal(*FSC_AT(int, &out, 299999), 299999);
	assert_int_equal(err.code, 0);
	fsc_vec_release(&out);
}

static void errors_come_back(void **state)
{
	struct fsc_vec out = FSC_VEC_INIT(int);
	struct fsc_err err = {0};
	int n = 0;

	(void)state;
	assert_int_equal(fsc_contain(child, &n, "it", &out, &err), -ENOENT);
	assert_string_equal(err.msg, "nothing here");
	assert_int_equal(out.n, 0);
}

static void death_is_an_error(void **state)
{
	struct fsc_vec out = FSC_VEC_INIT(int);
	struct fsc_err err = {0};
	int n = -1;

	(void)state;
	assert_int_equal(fsc_contain(child, &n, "this file", &out, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "this file is damaged"));
	assert_int_equal(out.n, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombie stays */
	assert_int_equal(errno, ECHILD);
}

/* What the child is, and what it is refused. */
struct rights {
	uint64_t euid, effective, permitted, no_new_privs, seccomp;
	uint64_t wrote, forked, opened, read_own;
};

static uint64_t status_number(const char *key, int base)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	uint64_t n = UINT64_MAX;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			n = strtoull(line + strlen(key), NULL, base);
	if (f)
		fclose(f);
	return n;
}

static int see_rights(void *arg, struct fsc_vec *out, struct fsc_err *err)
{
	struct rights *r = fsc_vec_push(out);
	char byte;
	pid_t pid;
	int fd;

	if (!r)
		return fsc_err_nomem(err);
	r->euid = geteuid();
	r->effective = status_number("CapEff:", 16);
	r->permitted = status_number("CapPrm:", 16);
	r->no_new_privs = status_number("NoNewPrivs:", 10);
	r->seccomp = status_number("Seccomp:", 10);
	fd = open("fsc-contained", O_WRONLY | O_CREAT, 0600);
	r->wrote = fd >= 0;
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		_exit(0);
	r->forked = pid > 0;
	r->opened = open("/etc/shadow", O_RDONLY) >= 0;
	r->read_own = pread(*(int *)arg, &byte, 1, 0) == 1; /* opened before */
	return 0;
}

static void the_child_has_no_rights(void **state)
{
	struct fsc_vec out = FSC_VEC_INIT(struct rights);
	const struct rights *r;
	int fd = open("/etc/shadow", O_RDONLY | O_CLOEXEC);

	(void)state;
	if (geteuid() || fd < 0)
		skip();
	assert_int_equal(fsc_contain(see_rights, &fd, "it", &out, NULL), 0);
	assert_int_equal(out.n, 1);
	r = out.data;
	assert_int_equal(r->euid, 65534);
	assert_int_equal(r->effective, 0);
	assert_int_equal(r->permitted, 0);
	assert_int_equal(r->no_new_privs, 1);
	assert_int_equal(r->seccomp, 2);
	assert_int_equal(r->wrote, 0);
	assert_int_equal(r->forked, 0);
	assert_int_equal(r->opened, 0);
	assert_int_equal(r->read_own, 1);
	assert_int_equal(geteuid(), 0); /* here nothing has changed */
	fsc_vec_release(&out);
	close(fd);
}

/* Whatever the bytes say, there is an answer or an error. */
static void damaged_debug_information(void **state)
{
	size_t size;
	unsigned char *bytes = fixture_bytes("lines", &size);

	(void)state;
	srand(1);
	for (int i = 0; i < 100; i++) {
		struct fsc_err err = {0};
		uint64_t *offsets = NULL;
		struct fsc_elf *e;
		unsigned char old[8];
		size_t n, at = 0x3000 + (size_t)rand() % (size - 0x3000);

		at = at + 8 > size ? size - 8 : at;
		memcpy(old, bytes + at, 8);
		memset(bytes + at, rand(), 8);
		if (!fsc_elf_open(make_file("damaged", bytes, size), "", &e, NULL)) {
			if (fsc_dwarf_line(e, "lines.c", 4, &offsets, &n, &err))
				assert_true(err.code > 0 && err.msg[0]);
			free(offsets);
			fsc_elf_free(e);
		}
		memcpy(bytes + at, old, 8);
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(answers_come_back),	 cmocka_unit_test(errors_come_back),
	    cmocka_unit_test(death_is_an_error),	 cmocka_unit_test(the_child_has_no_rights),
	    cmocka_unit_test(damaged_debug_information),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
