/* src/sym/contain.h: answers, errors and deaths of the child; and damaged debug information, which
 * is what it is for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "sym/contain.h"
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
			if (fsc_elf_line(e, "lines.c", 4, &offsets, &n, &err))
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
	    cmocka_unit_test(answers_come_back),
	    cmocka_unit_test(errors_come_back),
	    cmocka_unit_test(death_is_an_error),
	    cmocka_unit_test(damaged_debug_information),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
