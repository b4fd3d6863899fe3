/* src/sym/symbolize.h: addresses of the kernel and of processes to functions, and what is said
 * where there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "dwarf/inlines.h"
#include "dwarf/lines.h"
#include "sym/symbolize.h"
#include "sym_fixtures.h"

/* A number no process has. */
#define GONE 0x3ffffff0
#define BASE 0x10000000u

struct world {
	struct fsc_spaces *spaces;
	struct fsc_symbolizer *y;
};

static struct world make(bool dwarf, const char *kallsyms)
{
	struct fsc_symbolizer_opts opts = {.dwarf = dwarf, .kallsyms = kallsyms};
	struct world w = {0};

	assert_int_equal(fsc_spaces_new(0, &w.spaces, NULL), 0);
	assert_int_equal(fsc_symbolizer_new(w.spaces, &opts, &w.y, NULL), 0);
	return w;
}

static void release(struct world *w)
{
	fsc_symbolizer_free(w->y);
	fsc_spaces_free(w->spaces);
}

/* The frames of an address: "name+offset@line*", where * is an inlined one and ? an unknown one. */
static const char *at(struct world *w, struct fsc_address a)
{
	static char text[4000];
	const struct fsc_frame *f = NULL;
	struct fsc_err err = {0};
	size_t n = 0, len = 0;

	if (fsc_symbolizer_frames(w->y, &a, &f, &n, &err))
		fail_msg("%s", err.msg);
	assert_true(n > 0);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		len +=
		    (size_t)snprintf(text + len, sizeof(text) - len, "%s%.300s+%llx@%u%s%s",
				     i ? " " : "", f[i].name, (unsigned long long)f[i].offset,
				     f[i].line, f[i].inlined ? "*" : "", f[i].unknown ? "?" : "");
	return text;
}

static const char *kernel(struct world *w, uint64_t addr, bool is_return)
{
	return at(w, (struct fsc_address){.addr = addr, .kernel = true, .is_return = is_return});
}

static const char *user(struct world *w, uint64_t addr, bool is_return)
{
	return at(w, (struct fsc_address){.addr = addr, .pid = GONE, .is_return = is_return});
}

/* Maps a fixture whole, so that a file offset is an address less BASE. */
static void map_fixture(struct world *w, const char *name)
{
	const char *path = fixture(name);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(fsc_spaces_mmap(w->spaces, GONE, BASE, (uint64_t)st.st_size, 0, st.st_dev,
					 st.st_ino, path, NULL),
			 0);
}

static uint64_t offset_of(const char *name, const char *function, uint64_t *ret_size)
{
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = open_fixture(name, "");
	const struct fsc_sym *s = find_symbol(e, function, NULL);

	assert_non_null(s);
	*ret_size = s->size;
	return s->offset;
}

static void the_kernel(void **state)
{
	static const char text[] = "ffffffff81000000 T _stext\n"
				   "ffffffff81000000 T first\n"
				   "ffffffff81001000 t __pfx_do_read\n"
				   "ffffffff81001010 t do_read\n"
				   "ffffffff81001100 t do_read.cold\n"
				   "ffffffff81001200 D data\n"
				   "ffffffffc0000000 t ext4_read\t[ext4]\n"
				   "ffffffffc0001000 t bpf_prog_1_f\t[bpf]\n";
	struct world w = make(false, make_file("kallsyms", text, sizeof(text) - 1));

	(void)state;
	assert_string_equal(kernel(&w, 0xffffffff81000000, false), "first+0@0");
	assert_string_equal(kernel(&w, 0xffffffff81001020, false), "do_read+10@0");
	assert_string_equal(kernel(&w, 0xffffffff81001100, true), "do_read+f0@0");
	assert_string_equal(kernel(&w, 0xffffffff81001100, false), "do_read.cold+0@0");
	assert_string_equal(kernel(&w, 0xffffffffc0000004, false), "ext4_read [ext4]+4@0");
	assert_string_equal(kernel(&w, 0xffffffffc0001004, false), "bpf_prog_1_f [bpf]+4@0");
	assert_string_equal(kernel(&w, 0xffffffffc0f00000, false), "[unknown]+ffffffffc0f00000@0?");
	assert_string_equal(kernel(&w, 0x1000, false), "[unknown]+1000@0?");
	assert_string_equal(kernel(&w, 0, true), "[unknown]+1@0?");
	release(&w);
}

static void a_hidden_kernel(void **state)
{
	static const char text[] = "0000000000000000 T first\n0000000000000000 T second\n";
	struct world hidden = make(false, make_file("kallsyms-0", text, sizeof(text) - 1));
	struct world none = make(false, "/nonexistent");

	(void)state;
	assert_string_equal(kernel(&hidden, 0xffffffff81000000, false),
			    "[unknown]+ffffffff81000000@0?");
	assert_string_equal(kernel(&hidden, 0x10, false), "[unknown]+10@0?");
	assert_string_equal(kernel(&none, 0x10, false), "[unknown]+10@0?");
	release(&hidden);
	release(&none);
}

static void functions_of_a_file(void **state)
{
	static const char *const names[] = {"prog-pie", "prog-nopie", "prog-static", "full"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		uint64_t size, offset = offset_of(names[i], "fix_add", &size);
		struct world w = make(false, NULL);
		char expected[64];

		map_fixture(&w, names[i]);
		assert_string_equal(user(&w, BASE + offset, false), "fix_add+0@0");
		assert_string_equal(user(&w, BASE + offset + 3, false), "fix_add+3@0");
		/* a call that ends the function: the address behind it is the next one's */
		snprintf(expected, sizeof(expected), "fix_add+%llx@0", (unsigned long long)size);
		assert_string_equal(user(&w, BASE + offset + size, true), expected);
		assert_null(strstr(user(&w, BASE + offset + size, false), "fix_add"));
		offset = offset_of(names[i], "fix_local", &size);
		assert_string_equal(user(&w, BASE + offset, false), "fix_local+0@0");
		assert_string_equal(user(&w, BASE + 2, false), "[unknown]+2@0?"); /* no code */
		release(&w);
	}
}

/* _init has no size, and what follows it is another section. */
static void nothing_behind_an_end(void **state)
{
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = open_fixture("prog-pie", "");
	const struct fsc_sym *init = find_symbol(e, "_init", NULL), *sym, *all;
	size_t n;

	(void)state;
	if (!init)
		skip();
	assert_int_equal(fsc_elf_symbol_at(e, init->addr, &sym, NULL), 0);
	assert_string_equal(sym->name, "_init");
	assert_int_equal(fsc_elf_symbol_at(e, init->addr + 0x30, &sym, NULL), 0);
	assert_null(sym);
	assert_int_equal(fsc_elf_symbols(e, &all, &n, NULL), 0);
	assert_int_equal(fsc_elf_symbol_at(e, all[0].addr - 1, &sym, NULL), 0);
	assert_null(sym);
	assert_int_equal(fsc_elf_symbol_at(e, UINT64_MAX, &sym, NULL), 0);
	assert_null(sym);
}

static void places_without_functions(void **state)
{
	struct world w = make(true, NULL);
	struct stat st;

	(void)state;
	assert_string_equal(user(&w, 0x7777, false), "[unknown]+7777@0?");
	assert_int_equal(fsc_spaces_mmap(w.spaces, GONE, 0x1000, 0x1000, 0, 0, 0, "", NULL), 0);
	assert_int_equal(
	    fsc_spaces_mmap(w.spaces, GONE, 0x2000, 0x1000, 0, 0, 0, "[uprobes]", NULL), 0);
	assert_int_equal(
	    fsc_spaces_mmap(w.spaces, GONE, 0x3000, 0x1000, 0x500, 1, 2, "/no/such/file", NULL), 0);
	assert_string_equal(user(&w, 0x1004, false), "[unknown]+4@0?");
	assert_string_equal(user(&w, 0x2000, true), "[unknown]+1000@0?"); /* one byte before */
	assert_string_equal(user(&w, 0x2001, true), "[uprobes]+1@0");
	assert_string_equal(user(&w, 0x3010, false), "[unknown]+510@0?");
	assert_int_equal(stat("/etc/passwd", &st), 0);
	assert_int_equal(fsc_spaces_mmap(w.spaces, GONE, 0x5000, 0x1000, 0, st.st_dev, st.st_ino,
					 "/etc/passwd", NULL),
			 0);
	assert_string_equal(user(&w, 0x5010, false), "[unknown]+10@0?");
	release(&w);
}

/* The name of a C++ function: sym_ns::work(int). */
int mangled_work(int x) __asm__("_ZN6sym_ns4workEi");

int mangled_work(int x)
{
	return x + 1;
}

/* Its maps are read when an address is in none that is known. */
static void our_own_process(void **state)
{
	struct world w = make(false, NULL);
	struct fsc_address a = {.addr = (uintptr_t)mangled_work, .pid = getpid()};
	const struct fsc_frame *first, *again;
	size_t n;

	(void)state;
	assert_string_equal(at(&w, a), "sym_ns::work(int)+0@0");
	assert_int_equal(fsc_symbolizer_frames(w.y, &a, &first, &n, NULL), 0);
	assert_int_equal(fsc_symbolizer_frames(w.y, &a, &again, &n, NULL), 0);
	assert_ptr_equal(first, again);
	assert_non_null(strstr(first->binary, "test_symbolize"));
	release(&w);
}

/* Line 4 of lines.c is inlined three times, into two functions. */
static void inlined_functions(void **state)
{
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = open_fixture("lines", "");
	FSC_AUTO(fsc_freep) uint64_t *offsets = NULL;
	size_t n = 0, ones = 0, twos = 0;

	(void)state;
	assert_int_equal(fsc_dwarf_line(e, "lines.c", 4, &offsets, &n, NULL), 0);
	assert_int_equal(n, 3);
	for (int batch = 0; batch < 2; batch++) {
		struct world w = make(true, NULL);

		map_fixture(&w, "lines");
		for (size_t i = 0; batch && i < n; i++) {
			struct fsc_address a = {.addr = BASE + offsets[i], .pid = GONE};

			assert_int_equal(fsc_symbolizer_want(w.y, &a, NULL), 0);
		}
		assert_int_equal(fsc_symbolizer_resolve(w.y, NULL), 0);
		for (size_t i = 0; i < n; i++) {
			const char *text = user(&w, BASE + offsets[i], false);

			/* atoi() may be inlined as well */
			assert_non_null(strstr(text, "twice+0@4* fix_"));
			ones += strstr(text, " fix_one+") && strstr(text, "@8");
			twos += strstr(text, " fix_two+") && strstr(text, "@12");
		}
		release(&w);
	}
	assert_int_equal(ones, 2);
	assert_int_equal(twos, 4);
}

static void without_debug_information(void **state)
{
	uint64_t size, offset = offset_of("prog-pie", "fix_add", &size);
	struct world w = make(true, NULL);

	(void)state;
	map_fixture(&w, "prog-pie");
	assert_string_equal(user(&w, BASE + offset, false), "fix_add+0@0");
	release(&w);
}

static void from_a_separate_debug_file(void **state)
{
	struct fsc_vec found = FSC_VEC_INIT(struct fsc_inlined);
	char root[512];
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;
	const struct fsc_sym *sym;
	uint64_t addrs[2];

	(void)state;
	snprintf(root, sizeof(root), "%s/root", getenv("UNIT_FIXTURES"));
	e = open_fixture("lines-stripped", root);
	sym = find_symbol(e, "fix_loop", NULL);
	assert_non_null(sym);
	addrs[0] = UINT64_MAX; /* is in no unit */
	addrs[1] = sym->addr;
	assert_int_equal(fsc_inlines_find(e, addrs, 2, &found, NULL), 0);
	assert_int_equal(found.n, 1);
	assert_int_equal(FSC_AT(struct fsc_inlined, &found, 0)->n, 1);
	assert_string_equal(FSC_AT(struct fsc_inlined, &found, 0)->at->name, "fix_loop");
	assert_int_equal(FSC_AT(struct fsc_inlined, &found, 0)->at->line, 19);
	fsc_inlines_release(&found);
}

/* Whatever is broken, there is an answer. */
static void damaged_debug_information(void **state)
{
	size_t n;
	unsigned char *bytes = fixture_bytes("lines", &n);
	uint64_t size, offset = offset_of("lines", "fix_two", &size);
	unsigned seed = 3;

	(void)state;
	fsc_log_set_level(FSC_LOG_ERROR);
	for (int round = 0; round < 150; round++) {
		FSC_AUTO(fsc_freep) unsigned char *copy = malloc(n);
		struct world w = make(true, NULL);

		assert_non_null(copy);
		memcpy(copy, bytes, n);
		for (int i = 0; i <= round / 10; i++) { /* mostly in its debug information */
			seed = seed * 1103515245u + 12345u;
			copy[0x3000 + (seed >> 8) % (n / 8)] ^= (unsigned char)(seed >> 3 | 1);
		}
		make_file("lines-broken", copy, n);
		map_fixture(&w, "lines-broken");
		for (uint64_t at_offset = 0; at_offset < size; at_offset += 7) {
			struct fsc_address a = {.addr = BASE + offset + at_offset, .pid = GONE};

			assert_int_equal(fsc_symbolizer_want(w.y, &a, NULL), 0);
		}
		assert_int_equal(fsc_symbolizer_resolve(w.y, NULL), 0);
		assert_non_null(user(&w, BASE + offset, false));
		release(&w);
	}
	fsc_log_set_level(FSC_LOG_NOTE);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_kernel),
	    cmocka_unit_test(a_hidden_kernel),
	    cmocka_unit_test(functions_of_a_file),
	    cmocka_unit_test(nothing_behind_an_end),
	    cmocka_unit_test(places_without_functions),
	    cmocka_unit_test(our_own_process),
	    cmocka_unit_test(inlined_functions),
	    cmocka_unit_test(without_debug_information),
	    cmocka_unit_test(from_a_separate_debug_file),
	    cmocka_unit_test(damaged_debug_information),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
