/* src/elf/elf.h: symbols out of every table, their versions and order, file offsets, and every kind
 * of file that must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>

#include "sym_fixtures.h"

static void versions_are_told_apart(void **state)
{
	struct fsc_elf *e = open_fixture("libver-stripped.so", "");
	const struct fsc_sym *v1 = find_symbol(e, "work", "VER_1");
	const struct fsc_sym *v2 = find_symbol(e, "work", "VER_2");
	const struct fsc_sym *plain = find_symbol(e, "plain", "VER_1");

	(void)state;
	assert_non_null(v1);
	assert_non_null(v2);
	assert_non_null(plain);
	assert_true(v1->addr != v2->addr);
	assert_false(v1->version_default);
	assert_true(v2->version_default);
	assert_true(plain->version_default);
	fsc_elf_free(e);
}

/* .symtab spells "work@@VER_2", .dynsym has the version apart: one symbol, not two. */
static void tables_are_merged(void **state)
{
	struct fsc_elf *e = open_fixture("libver.so", "");
	const struct fsc_sym *s;
	size_t n, works = 0, plains = 0;

	(void)state;
	assert_int_equal(fsc_elf_symbols(e, &s, &n, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		assert_null(strchr(s[i].name, '@'));
		works += !strcmp(s[i].name, "work");
		plains += !strcmp(s[i].name, "plain");
	}
	assert_int_equal(works, 2);
	assert_int_equal(plains, 1);
	fsc_elf_free(e);
}

/* The first entry among the versions is the library's own name, which is no version. */
static void base_version_is_none(void **state)
{
	struct fsc_elf *e = open_fixture("libver-stripped.so", "");
	const struct fsc_sym *s = find_symbol(e, "unversioned", NULL);

	(void)state;
	assert_non_null(s);
	assert_null(s->version);
	assert_true(s->version_default);
	fsc_elf_free(e);
}

static void libc_has_two_pthread_cond_wait(void **state)
{
	struct fsc_elf *e = NULL;
	const struct fsc_sym *old, *new;

	(void)state;
	if (fsc_elf_open("/lib/x86_64-linux-gnu/libc.so.6", "", &e, NULL))
		skip();
	old = find_symbol(e, "pthread_cond_wait", "GLIBC_2.2.5");
	new = find_symbol(e, "pthread_cond_wait", "GLIBC_2.3.2");
	assert_non_null(old);
	assert_non_null(new);
	assert_true(old->addr != new->addr);
	assert_true(new->version_default && !old->version_default);
	fsc_elf_free(e);
}

static void aliases_are_ordered_for_people(void **state)
{
	static const char *const expected[] = {"fix_vork", "fix_work", "fix_work_longer",
					       "__fix_work", "w"};
	struct fsc_elf *e = open_fixture("libalias.so", "");
	const struct fsc_sym *first = find_symbol(e, expected[0], NULL);

	(void)state;
	assert_non_null(first);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		assert_string_equal(first[i].name, expected[i]);
		assert_true(first[i].addr == first->addr);
	}
	assert_true(first[3].global);
	assert_false(first[4].global);
	fsc_elf_free(e);
}

static void symbols_are_sorted_and_unique(void **state)
{
	struct fsc_elf *e = open_fixture("prog-static", "");
	const struct fsc_sym *s;
	size_t n;

	(void)state;
	assert_int_equal(fsc_elf_symbols(e, &s, &n, NULL), 0);
	assert_true(n > 500);
	for (size_t i = 1; i < n; i++) {
		assert_true(s[i - 1].addr <= s[i].addr);
		assert_false(s[i - 1].addr == s[i].addr && !strcmp(s[i - 1].name, s[i].name) &&
			     s[i - 1].version == s[i].version);
	}
	fsc_elf_free(e);
}

static void imports_and_data_are_left_out(void **state)
{
	struct fsc_elf *e = open_fixture("libalias.so", "");

	(void)state;
	assert_non_null(find_symbol(e, "fix_import", NULL));
	assert_null(find_symbol(e, "strlen", NULL));
	assert_null(find_symbol(e, "fix_data", NULL));
	fsc_elf_free(e);
}

static void ifuncs_are_marked(void **state)
{
	struct fsc_elf *e = open_fixture("libalias.so", "");
	const struct fsc_sym *s = find_symbol(e, "fix_ifunc", NULL);

	(void)state;
	assert_non_null(s);
	assert_true(s->ifunc);
	assert_false(find_symbol(e, "fix_work", NULL)->ifunc);
	fsc_elf_free(e);
}

/* The bytes at the symbol's offset must be the same function in every layout. */
static void offsets_lead_to_the_code(void **state)
{
	static const char *const programs[] = {"prog-pie", "prog-nopie", "prog-static"};
	unsigned char expected[16] = {0}, found[16];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct fsc_elf *e = open_fixture(programs[i], "");
		const struct fsc_sym *s = find_symbol(e, "fix_local", NULL);
		uint64_t offset;

		assert_non_null(s);
		assert_true(s->size >= 4 && s->size <= sizeof(found));
		memset(found, 0, sizeof(found));
		assert_int_equal(fsc_elf_read(e, s->offset, found, s->size), s->size);
		if (!i)
			memcpy(expected, found, sizeof(expected));
		assert_memory_equal(found, expected, sizeof(expected));
		assert_true(fsc_elf_offset(e, s->addr, true, &offset));
		assert_true(offset == s->offset);
		if (i)
			assert_true(s->addr != s->offset);
		fsc_elf_free(e);
	}
}

static void offsets_outside_are_refused(void **state)
{
	struct fsc_elf *e = open_fixture("prog-nopie", "");
	uint64_t offset;
	char c;

	(void)state;
	assert_false(fsc_elf_offset(e, 0, false, &offset));
	assert_false(fsc_elf_offset(e, UINT64_MAX, false, &offset));
	assert_true(fsc_elf_offset(e, 0x400000, false, &offset)); /* the header: not executable */
	assert_false(fsc_elf_offset(e, 0x400000, true, &offset));
	assert_int_equal(fsc_elf_read(e, UINT64_MAX - 1, &c, 1), 0);
	assert_int_equal(fsc_elf_read(e, 1u << 30, &c, 1), 0);
	fsc_elf_free(e);
}

static void stripped_has_no_locals(void **state)
{
	struct fsc_elf *e = open_fixture("stripped", "");
	const struct fsc_sym *s;
	size_t n = 1;

	(void)state;
	assert_int_equal(fsc_elf_symbols(e, &s, &n, NULL), 0);
	assert_int_equal(n, 0);
	fsc_elf_free(e);
}

static void assert_same_as_full(struct fsc_elf *e)
{
	struct fsc_elf *full = open_fixture("full", "");
	static const char *const names[] = {"fix_local", "fix_add", "main"};

	for (size_t i = 0; i < 3; i++) {
		const struct fsc_sym *a = find_symbol(e, names[i], NULL);
		const struct fsc_sym *b = find_symbol(full, names[i], NULL);

		assert_non_null(a);
		assert_non_null(b);
		assert_true(a->offset == b->offset && a->size == b->size);
	}
	fsc_elf_free(full);
}

static void debug_file_is_found_by_build_id(void **state)
{
	struct fsc_elf *e = open_fixture("stripped", fixture("root"));

	(void)state;
	assert_same_as_full(e);
	fsc_elf_free(e);
}

static void debug_file_of_another_build_is_ignored(void **state)
{
	struct fsc_elf *e = open_fixture("other-stripped", fixture("root"));

	(void)state;
	assert_null(find_symbol(e, "fix_add", NULL));
	fsc_elf_free(e);
}

static void debugdata_is_unpacked(void **state)
{
	struct fsc_elf *e = open_fixture("with-debugdata", "");

	(void)state;
	assert_same_as_full(e);
	fsc_elf_free(e);
}

static void bad_debugdata_is_ignored(void **state)
{
	static const char *const files[] = {"with-cut-debugdata", "with-bomb"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fsc_elf *e = open_fixture(files[i], "");

		assert_null(find_symbol(e, "fix_add", NULL));
		fsc_elf_free(e);
	}
}

static void needed_and_runpath(void **state)
{
	struct fsc_elf *e = open_fixture("prog-runpath", "");
	const char *const *needed = fsc_elf_needed(e);

	(void)state;
	assert_non_null(needed[0]);
	assert_non_null(strstr(needed[0], "libver.so"));
	assert_string_equal(fsc_elf_runpath(e), "$ORIGIN/sub");
	fsc_elf_free(e);
	e = open_fixture("prog-static", "");
	assert_null(fsc_elf_needed(e)[0]);
	assert_null(fsc_elf_runpath(e));
	fsc_elf_free(e);
}

/* Expects the file to be refused with that code and a message that holds text. */
static void assert_refused(const char *path, int code, const char *text)
{
	struct fsc_err err = {0};
	struct fsc_elf *e = NULL;

	assert_int_equal(fsc_elf_open(path, "", &e, &err), -code);
	assert_null(e);
	assert_int_equal(err.code, code);
	if (!strstr(err.msg, text))
		fail_msg("'%s' does not say '%s'", err.msg, text);
}

static void non_files_are_refused(void **state)
{
	const char *fifo = fixture("fifo");

	(void)state;
	unlink(fifo);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	alarm(5); /* a FIFO must not block */
	assert_refused(fifo, ENOEXEC, "not a regular file");
	alarm(0);
	unlink(fifo);
	assert_refused(fixture("."), EISDIR, "is a directory");
	assert_refused("/dev/null", ENOEXEC, "not a regular file");
	assert_refused(fixture("nosuch"), ENOENT, "cannot open");
}

static void non_programs_are_refused(void **state)
{
	(void)state;
	assert_refused(make_file("empty", "", 0), ENOEXEC, "is empty");
	assert_refused(make_file("tiny", "\177EL", 3), ENOEXEC, "no ELF");
	assert_refused(make_file("text", "hello, world\n", 13), ENOEXEC, "no ELF");
	assert_refused(make_file("script", "#!/bin/sh\n", 10), ENOEXEC, "is a script");
	assert_refused(make_file("magic", "\177ELF", 4), ENOEXEC, "cut short");
	assert_refused(fixture("prog.o"), ENOEXEC, "object file");
}

static void assert_patched(size_t at, const void *bytes, size_t n, const char *text)
{
	size_t size;
	unsigned char *copy = fixture_bytes("prog-pie", &size);

	memcpy(copy + at, bytes, n);
	assert_refused(make_file("patched", copy, size), ENOEXEC, text);
	free(copy);
}

static void foreign_programs_are_refused(void **state)
{
	uint16_t core = ET_CORE, other = EM_S390, strange = 0x1234;

	(void)state;
	assert_patched(EI_CLASS, (char[]){ELFCLASS32}, 1,
		       "is a 32-bit program; funcscope probes 64-bit ones only");
	assert_patched(EI_CLASS, (char[]){9}, 1, "damaged");
	assert_patched(EI_DATA, (char[]){ELFDATA2MSB}, 1, "another machine");
	assert_patched(offsetof(Elf64_Ehdr, e_machine), &other, 2, "another machine (S/390)");
	assert_patched(offsetof(Elf64_Ehdr, e_machine), &strange, 2, "another machine");
	assert_patched(offsetof(Elf64_Ehdr, e_type), &core, 2, "core dump");
}

static void wild_offsets_are_refused(void **state)
{
	uint64_t wild = UINT64_MAX - 8, past = 1ull << 40;
	uint16_t many = 0xffff, none = 0;

	(void)state;
	assert_patched(offsetof(Elf64_Ehdr, e_shoff), &wild, 8, "cut short");
	assert_patched(offsetof(Elf64_Ehdr, e_shoff), &past, 8, "cut short");
	assert_patched(offsetof(Elf64_Ehdr, e_phoff), &wild, 8, "cut short");
	assert_patched(offsetof(Elf64_Ehdr, e_phoff), &past, 8, "cut short");
	assert_patched(offsetof(Elf64_Ehdr, e_phnum), &none, 2, "segments");
	assert_patched(offsetof(Elf64_Ehdr, e_phnum), &many, 2, "segments");
	assert_patched(offsetof(Elf64_Ehdr, e_shnum), &many, 2, "cut short");
}

static void truncated_files_are_refused(void **state)
{
	size_t size;
	unsigned char *copy = fixture_bytes("prog-pie", &size);

	(void)state;
	for (size_t n = 4; n < size; n += 97)
		assert_refused(make_file("truncated", copy, n), ENOEXEC, "cut short");
	free(copy);
}

/* A symbol table whose strings do not end, and one that lies past the end of the file. */
static void damaged_tables(void **state)
{
	size_t size;
	unsigned char *copy = fixture_bytes("prog-pie", &size);
	Elf64_Ehdr *eh = (Elf64_Ehdr *)copy;
	Elf64_Shdr *sh = (Elf64_Shdr *)(copy + eh->e_shoff), *strings = NULL;
	struct fsc_err err = {0};
	const struct fsc_sym *s;
	struct fsc_elf *e;
	size_t n;

	(void)state;
	for (unsigned i = 0; i < eh->e_shnum; i++) {
		if (sh[i].sh_type == SHT_SYMTAB)
			strings = &sh[sh[i].sh_link];
	}
	assert_non_null(strings);
	memset(copy + strings->sh_offset, 'x', strings->sh_size);
	make_file("unterminated", copy, size);
	e = open_fixture("unterminated", "");
	assert_int_equal(fsc_elf_symbols(e, &s, &n, &err), 0);
	fsc_elf_free(e);
	strings->sh_offset = UINT64_MAX - 16;
	make_file("past-end", copy, size);
	e = open_fixture("past-end", "");
	assert_int_equal(fsc_elf_symbols(e, &s, &n, &err), -ENOEXEC);
	assert_non_null(strstr(err.msg, "cut short"));
	fsc_elf_free(e);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(versions_are_told_apart),
	    cmocka_unit_test(tables_are_merged),
	    cmocka_unit_test(base_version_is_none),
	    cmocka_unit_test(libc_has_two_pthread_cond_wait),
	    cmocka_unit_test(aliases_are_ordered_for_people),
	    cmocka_unit_test(symbols_are_sorted_and_unique),
	    cmocka_unit_test(imports_and_data_are_left_out),
	    cmocka_unit_test(ifuncs_are_marked),
	    cmocka_unit_test(offsets_lead_to_the_code),
	    cmocka_unit_test(offsets_outside_are_refused),
	    cmocka_unit_test(stripped_has_no_locals),
	    cmocka_unit_test(debug_file_is_found_by_build_id),
	    cmocka_unit_test(debug_file_of_another_build_is_ignored),
	    cmocka_unit_test(debugdata_is_unpacked),
	    cmocka_unit_test(bad_debugdata_is_ignored),
	    cmocka_unit_test(needed_and_runpath),
	    cmocka_unit_test(non_files_are_refused),
	    cmocka_unit_test(non_programs_are_refused),
	    cmocka_unit_test(foreign_programs_are_refused),
	    cmocka_unit_test(wild_offsets_are_refused),
	    cmocka_unit_test(truncated_files_are_refused),
	    cmocka_unit_test(damaged_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
