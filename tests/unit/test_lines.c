/* FILE:LINE (src/dwarf/lines.c, scopes.c) on tests/unit/make-fixtures' lines.c, whose line 4 is
 * inlined into two functions three times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "dwarf/lines.h"
#include "sym_fixtures.h"

#define LINE_INLINED 4
#define LINE_ONE     7
#define LINE_BLANK   10
#define LINE_LOOP    21

static size_t count_in(const struct fsc_sym *s, const uint64_t *offsets, size_t n)
{
	size_t hits = 0;

	for (size_t i = 0; i < n; i++)
		hits += offsets[i] >= s->offset && offsets[i] < s->offset + s->size;
	return hits;
}

static void assert_lines(const char *name, const char *root)
{
	struct fsc_elf *full = open_fixture("lines-id", "");
	struct fsc_elf *e = open_fixture(name, root);
	const struct fsc_sym *one = find_symbol(full, "fix_one", NULL);
	const struct fsc_sym *two = find_symbol(full, "fix_two", NULL);
	struct fsc_err err = {0};
	uint64_t *offsets = NULL;
	size_t n = 0;

	assert_int_equal(fsc_dwarf_line(e, "lines.c", LINE_ONE, &offsets, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_true(offsets[0] == one->offset);
	free(offsets);
	assert_int_equal(fsc_dwarf_line(e, "./lines.c", LINE_INLINED, &offsets, &n, &err), 0);
	assert_int_equal(n, 3);
	assert_int_equal(count_in(one, offsets, n), 1);
	assert_int_equal(count_in(two, offsets, n), 2);
	free(offsets);
	fsc_elf_free(e);
	fsc_elf_free(full);
}

static void statements_are_found(void **state)
{
	(void)state;
	assert_lines("lines-id", "");
}

/* The loop's condition stands at its start and at its end: one probe, not two. */
static void one_place_per_scope(void **state)
{
	struct fsc_elf *e = open_fixture("lines", "");
	struct fsc_err err = {0};
	uint64_t *offsets = NULL;
	size_t n = 0;

	(void)state;
	assert_int_equal(fsc_dwarf_line(e, "lines.c", LINE_LOOP, &offsets, &n, &err), 0);
	assert_int_equal(n, 1);
	free(offsets);
	fsc_elf_free(e);
}

static void compressed_debug_information(void **state)
{
	(void)state;
	assert_lines("lines-z", "");
}

static void separate_debug_file(void **state)
{
	(void)state;
	assert_lines("lines-stripped", fixture("root"));
}

static void assert_missing(const char *name, const char *file, unsigned line, int code,
			   const char *hint)
{
	struct fsc_elf *e = open_fixture(name, "");
	struct fsc_err err = {0};
	uint64_t *offsets = NULL;
	size_t n = 0;

	assert_int_equal(fsc_dwarf_line(e, file, line, &offsets, &n, &err), -code);
	assert_null(offsets);
	if (!strstr(err.hint, hint))
		fail_msg("'%s' (%s) does not say '%s'", err.hint, err.msg, hint);
	fsc_elf_free(e);
}

static void what_is_missing_is_said(void **state)
{
	(void)state;
	assert_missing("lines", "lines.c", LINE_BLANK, ENOENT, "nearest line with code is 11");
	assert_missing("lines", "lines.c", 4000, ENOENT, "nearest line with code is 2");
	assert_missing("lines", "linse.c", 3, ENOENT, "'lines.c'");
	assert_missing("lines", "ines.c", 3, ENOENT, "'lines.c'");
	assert_missing("prog-pie", "prog.c", 1, ENODATA, "-g");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(statements_are_found),	    cmocka_unit_test(one_place_per_scope),
	    cmocka_unit_test(compressed_debug_information), cmocka_unit_test(separate_debug_file),
	    cmocka_unit_test(what_is_missing_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
