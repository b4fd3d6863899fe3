/* USDT notes (src/elf/usdt.c): names, arguments, addresses, semaphores, a moved file, broken notes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "sym_fixtures.h"

static void assert_probes(const char *name)
{
	struct fsc_elf *e = open_fixture(name, "");
	const struct fsc_sym *function = find_symbol(e, "fix_usdt", NULL);
	const struct fsc_usdt *u = NULL;
	struct fsc_err err = {0};
	uint16_t semaphore = 0;
	size_t n = 0;

	assert_int_equal(fsc_elf_usdts(e, &u, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_string_equal(u[0].provider, "fix");
	assert_string_equal(u[0].name, "first");
	assert_string_equal(u[0].args, "-4@%edi 8@%rsi");
	assert_true(u[0].sem_offset == 0);
	assert_string_equal(u[1].name, "second");
	assert_string_equal(u[1].args, "");
	/* the probe is the function's first instruction, and the semaphore's value can be read */
	assert_non_null(function);
	assert_true(u[0].addr == function->addr && u[0].offset == function->offset);
	assert_true(u[1].offset > u[0].offset);
	assert_int_equal(fsc_elf_read(e, u[1].sem_offset, &semaphore, 2), 2);
	assert_int_equal(semaphore, 7);
	fsc_elf_free(e);
}

static void probes_and_semaphores(void **state)
{
	(void)state;
	assert_probes("usdt");
}

static void a_moved_file_is_corrected(void **state)
{
	(void)state;
	assert_probes("usdt-moved");
}

static void a_file_without_probes_has_none(void **state)
{
	struct fsc_elf *e = open_fixture("prog-pie", "");
	const struct fsc_usdt *u;
	size_t n = 1;

	(void)state;
	assert_int_equal(fsc_elf_usdts(e, &u, &n, NULL), 0);
	assert_int_equal(n, 0);
	fsc_elf_free(e);
}

static void broken_notes_are_errors(void **state)
{
	static const struct {
		const char *name, *text;
	} files[] = {
	    {"usdt-cut", "names are not terminated"},
	    {"usdt-huge", "sizes are inconsistent"},
	    {"usdt-wild", "not in executable code"},
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct fsc_elf *e = open_fixture(files[i].name, "");
		const struct fsc_usdt *u;
		struct fsc_err err = {0};
		size_t n;

		/* twice: a failure must not leave half a list behind */
		assert_int_equal(fsc_elf_usdts(e, &u, &n, &err), -EBADMSG);
		assert_int_equal(fsc_elf_usdts(e, &u, &n, &err), -EBADMSG);
		assert_non_null(strstr(err.msg, files[i].text));
		fsc_elf_free(e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(probes_and_semaphores),
	    cmocka_unit_test(a_moved_file_is_corrected),
	    cmocka_unit_test(a_file_without_probes_has_none),
	    cmocka_unit_test(broken_notes_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
