/* src/elf/textrel.c: which bytes of code the loader changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>

#include "sym_fixtures.h"

static uint64_t offset_of(struct fsc_elf *e, const char *name)
{
	const struct fsc_sym *s = find_symbol(e, name, NULL);

	assert_non_null(s);
	return s->offset;
}

/* text_value: movabs (48 b8 and 8 bytes), then code that nobody changes. */
static void only_the_changed_bytes(void **state)
{
	struct fsc_elf *e = open_fixture("libtextrel.so", "");
	const uint64_t at = offset_of(e, "text_value");

	(void)state;
	assert_true(fsc_elf_has_textrel(e));
	assert_true(fsc_elf_relocates(e, at, 10));
	assert_false(fsc_elf_relocates(e, at, 2));
	assert_true(fsc_elf_relocates(e, at, 3));
	assert_true(fsc_elf_relocates(e, at + 9, 1));
	assert_false(fsc_elf_relocates(e, at + 10, 6));
	assert_false(fsc_elf_relocates(e, offset_of(e, "text_plain"), 8));
	fsc_elf_free(e);
}

static void most_files_have_none(void **state)
{
	struct fsc_elf *e = open_fixture("libalias.so", "");

	(void)state;
	assert_false(fsc_elf_has_textrel(e));
	assert_false(fsc_elf_relocates(e, 0, 1 << 20));
	fsc_elf_free(e);
}

/* Damaged tables: everything may be changed. */
static void unknown_is_changed(void **state)
{
	size_t n;
	unsigned char *bytes = fixture_bytes("libtextrel.so", &n);
	const Elf64_Ehdr *eh = (const void *)bytes;
	const Elf64_Phdr *ph = (const void *)(bytes + eh->e_phoff);
	struct fsc_elf *e = NULL;

	(void)state;
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		Elf64_Dyn *d = (void *)(bytes + ph[i].p_offset);

		for (size_t k = 0; ph[i].p_type == PT_DYNAMIC && d[k].d_tag != DT_NULL; k++)
			if (d[k].d_tag == DT_RELASZ)
				d[k].d_un.d_val = 1ull << 40;
	}
	assert_int_equal(fsc_elf_open(make_file("textrel-damaged", bytes, n), "", &e, NULL), 0);
	assert_true(fsc_elf_relocates(e, offset_of(e, "text_plain"), 1));
	fsc_elf_free(e);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(only_the_changed_bytes),
	    cmocka_unit_test(most_files_have_none),
	    cmocka_unit_test(unknown_is_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
