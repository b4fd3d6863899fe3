/* src/probe/exits.h: where functions end, by their instructions. Known code of this very program
 * first, then whole libraries against what objdump makes of them: every return inside a function
 * that was understood must be among its exits, and every jump out of it, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/exits.h"
#include "proc/libs.h"
#include "sym_fixtures.h"

/* ---- known code ---- */

/* A function in assembly; it is never called. */
#define CODE(name, text)                                                                           \
	__asm__(".pushsection .text\n.p2align 4\n.globl exit_" #name "\n.type exit_" #name         \
		", @function\nexit_" #name ":\n" text "\n.size exit_" #name ", . - exit_" #name    \
		"\n.popsection");

#ifdef __x86_64__
CODE(plain, "push %rbp\n 1: pop %rbp\n ret")
CODE(sorts, "rep ret\n bnd ret\n ret $8")
CODE(tail, "add $1, %edi\n jmp exit_plain")
CODE(middle, "jmp exit_plain + 1")
CODE(indirect, "jmp *%rax\n jmp *%r11\n jmp *8(%rdi)\n jmp *(%r12)\n bnd jmp *%rax")
CODE(table, "notrack jmp *%rax\n add %rcx, %rax\n jmp *%rax\n add %rcx, %r9\n jmp *%r9\n"
	    "jmp *64(,%rax,8)\n ret")
CODE(added_to_another, "add %rcx, %rdi\n jmp *%rax")
CODE(loops, "1: dec %edi\n jmp 1b\n .byte 0xe9\n .long 2f - . - 4\n 2: jne 1b\n ret")
CODE(looks_like, "mov $0xc3c3c3c3, %eax\n movabs $0xc3c3c3c3c3c3c3c3, %rax\n ret")
CODE(never, "1: pause\n jmp 1b\n ud2")
CODE(unknown, "ret\n .byte 0x06\n ret")
CODE(cut, "ret\n .byte 0xe8, 0, 0")
CODE(no_probe, "cs ret")
CODE(runs_on, "test %edi, %edi\n je exit_plain\n ret\n mov %edi, %eax\n nopw 0(%rax,%rax)")
CODE(dies, "ret\n mov %edi, %eax\n call exit_plain")
CODE(split, "push %rax\n jmp exit_split.cold\n pop %rax\n ret")
CODE(split.cold, "jne exit_split + 1\n jmp exit_split + 1\n pop %rax\n ret\n call exit_plain")
#else
CODE(plain, "stp x29, x30, [sp, -16]!\n ldp x29, x30, [sp], 16\n ret")
CODE(sorts, ".inst 0xd65f0bff\n .inst 0xd65f0fff\n ret x1")
CODE(tail, "add w0, w0, 1\n b exit_plain")
CODE(middle, "b exit_plain + 4")
CODE(indirect, "br x0\n br x16\n br x17")
CODE(table, "add x1, x0, w1, sxth #2\n br x1\n ret")
CODE(added_to_another, "add x2, x0, w1, sxth #2\n br x1")
CODE(loops, "1: sub w0, w0, 1\n b 1b\n b 2f\n 2: cbnz w0, 1b\n ret")
CODE(looks_like, "bl exit_plain\n blr x0\n b.ne . + 4\n ret")
CODE(never, "1: yield\n b 1b\n brk 1")
CODE(cut, "ret\n .byte 0, 0")
CODE(runs_on, "cbz w0, . + 8\n ret\n mov w0, w1\n nop")
CODE(dies, "ret\n mov w0, w1\n bl exit_plain")
CODE(split, "nop\n b exit_split.cold\n ret")
CODE(split.cold, "b.ne exit_split\n b exit_split + 4\n ret\n bl exit_plain")
#endif

static struct fsc_elf *open_self(void)
{
	struct fsc_elf *e = NULL;

	assert_int_equal(fsc_elf_open("/proc/self/exe", "", &e, NULL), 0);
	return e;
}

/* The exits of one function of this program, as "r" or "p" (perhaps) each, capital outside of the
 * function's own bytes; "?" if not known. */
static void check_code(const char *name, const char *expected)
{
	struct fsc_elf *e = open_self();
	const struct fsc_sym *sym = find_symbol(e, name, NULL);
	struct fsc_exits_file f;
	struct fsc_target t = {0};
	char got[16] = "?";

	assert_non_null(sym);
	assert_int_equal(fsc_exits_open(&f, e, NULL), 0);
	assert_int_equal(fsc_exits_find(&f, sym, &t, NULL), 0);
	assert_true(t.n_exits < sizeof(got));
	if (t.by_insns)
		got[0] = '\0';
	for (size_t i = 0; i < t.n_exits; i++) {
		bool inside = t.exits[i].offset - sym->offset < sym->size;

		memcpy(got + i, t.exits[i].perhaps ? inside ? "p" : "P" : inside ? "r" : "R", 2);
	}
	if (strcmp(got, expected))
		fail_msg("%s: %s, not %s", name, got, expected);
	free(t.exits);
	fsc_exits_release(&f);
	fsc_elf_free(e);
}

static void known_code(void **state)
{
	(void)state;
	check_code("exit_plain", "r");
	check_code("exit_sorts", "rrr");
	check_code("exit_tail", "r");
	check_code("exit_middle", "p"); /* not where a function begins */
	check_code("exit_added_to_another", "p");
	check_code("exit_loops", "r");
	check_code("exit_looks_like", "r");
	check_code("exit_never", "");
	check_code("exit_cut", "?");
	check_code("exit_dies", "r");
	check_code("exit_runs_on", "?"); /* into the next function: ends somewhere else */
#ifdef __x86_64__
	check_code("exit_indirect", "ppppp");
	check_code("exit_unknown", "?");
	check_code("exit_no_probe", "?"); /* uprobes do not take its return */
#else
	check_code("exit_indirect", "ppp");
#endif
}

/* The jump of a switch stays inside; taken for an end, it would end the call at the switch. */
static void a_table_of_places_is_no_exit(void **state)
{
	(void)state;
	check_code("exit_table", "r");
}

static void exits_are_where_the_instructions_are(void **state)
{
	struct fsc_elf *e = open_self();
	const struct fsc_sym *sym = find_symbol(e, "exit_plain", NULL);
	struct fsc_exits_file f;
	struct fsc_target t = {0};

	(void)state;
	assert_non_null(sym);
	assert_int_equal(fsc_exits_open(&f, e, NULL), 0);
	assert_int_equal(fsc_exits_find(&f, sym, &t, NULL), 0);
	assert_int_equal(t.n_exits, 1);
	assert_int_equal(t.exits[0].offset, sym->offset + sym->size - (sym->size > 4 ? 4 : 1));
	free(t.exits);
	fsc_exits_release(&f);
	fsc_elf_free(e);
}

static void without_its_bytes_nothing_is_known(void **state)
{
	struct fsc_elf *e = open_self();
	const struct fsc_sym *plain = find_symbol(e, "exit_plain", NULL);
	const struct fsc_sym broken[] = {
	    {.name = "f", .offset = plain->offset, .size = 0},
	    {.name = "f", .offset = plain->offset, .size = UINT64_MAX},
	    {.name = "f", .offset = plain->offset, .size = (1 << 20) + 1},
	    {.name = "f", .offset = UINT64_MAX - 10, .size = 64}, /* behind the end of the file */
	};
	struct fsc_exits_file f;

	(void)state;
	assert_int_equal(fsc_exits_open(&f, e, NULL), 0);
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct fsc_target t = {0};

		assert_int_equal(fsc_exits_find(&f, &broken[i], &t, NULL), 0);
		assert_false(t.by_insns);
		assert_null(t.exits);
	}
	fsc_exits_release(&f);
	fsc_elf_free(e);
}

/* Returns from the part that was split off are the function's; jumps between the two stay. */
static void returns_from_a_part(void **state)
{
	(void)state;
	check_code("exit_split", "rR");
	assert_true(fsc_exits_is_part("f.cold"));
	assert_true(fsc_exits_is_part("f.part.0.cold.3"));
	assert_false(fsc_exits_is_part("scold"));
}

/* ---- against objdump ---- */

struct line {
	uint64_t addr, to;
	enum { OTHER, RETURN, JUMP, INDIRECT, TABLE } what;
	bool table; /* an indirect jump that looks like a switch's */
};

struct listing {
	struct line *at;
	size_t n, cap;
};

/* The word after prefixes that say nothing about where control goes. */
static const char *skip_prefixes(const char *p, bool *notrack)
{
	static const char *const prefixes[] = {"bnd ",	 "notrack ", "repz ", "rep ",	 "rex.W ",
					       "rex.B ", "ds ",	     "cs ",   "data16 ", "repnz "};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(p, prefixes[i], strlen(prefixes[i]))) {
			*notrack |= i == 1;
			p += strlen(prefixes[i]);
			i = (size_t)-1;
		}
	return p;
}

static bool is_word(const char *p, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(p, word, n) && (!p[n] || strchr(" \t\n", p[n]));
}

static void classify(struct line *l, const char *text)
{
	bool notrack = false;
	const char *p = skip_prefixes(text, &notrack);
	const char *args = p + strcspn(p, " \t\n");

	args += strspn(args, " \t");
	if (is_word(p, "ret") || is_word(p, "retq") || is_word(p, "retaa") || is_word(p, "retab")) {
		l->what = RETURN;
	} else if (is_word(p, "jmp") || is_word(p, "b")) {
		l->what = *args == '*' ? notrack ? TABLE : INDIRECT : JUMP;
		l->to = strtoull(args, NULL, 16);
	} else if (is_word(p, "br")) {
		l->what = INDIRECT;
	}
}

static struct listing disassemble(const char *path)
{
	struct listing all = {0};
	char command[600], text[1024];
	bool added = false;
	FILE *f;

	snprintf(command, sizeof(command), "objdump -d --no-show-raw-insn '%s' 2>/dev/null", path);
	f = popen(command, "r");
	assert_non_null(f);
	while (fgets(text, sizeof(text), f)) {
		char *end;
		uint64_t addr = strtoull(text, &end, 16);

		if (end == text || strncmp(end, ":\t", 2))
			continue;
		if (all.n == all.cap) {
			all.cap = all.cap ? 2 * all.cap : 65536;
			all.at = realloc(all.at, all.cap * sizeof(*all.at));
			assert_non_null(all.at);
		}
		all.at[all.n] = (struct line){.addr = addr};
		classify(&all.at[all.n], end + 2);
		all.at[all.n++].table = added || strstr(end, "(,");
		added = !strncmp(end + 2, "add ", 4) || !strncmp(end + 2, "add\t", 4);
	}
	pclose(f);
	return all;
}

static size_t first_at(const struct listing *all, uint64_t addr)
{
	size_t low = 0, high = all->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (all->at[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static const struct fsc_exit *find_exit(const struct fsc_target *t, uint64_t offset)
{
	for (size_t i = 0; i < t->n_exits; i++)
		if (t->exits[i].offset == offset)
			return &t->exits[i];
	return NULL;
}

static bool in_part(const struct fsc_exits_file *f, const struct fsc_sym *s, uint64_t addr)
{
	const uint64_t *at = fsc_map_get(&f->parts, s->name, strlen(s->name));

	return at && *at && addr - f->syms[*at - 1].addr < f->syms[*at - 1].size;
}

/* One function: all that objdump lists is found, and all that is found objdump lists. */
static void compare(const struct fsc_exits_file *f, const struct fsc_sym *s,
		    const struct fsc_target *t, const struct listing *all)
{
	size_t matched = 0, inside = 0;

	for (size_t i = 0; i < t->n_exits; i++)
		inside += t->exits[i].offset - s->offset < s->size;
	for (size_t i = first_at(all, s->addr); i < all->n && all->at[i].addr < s->addr + s->size;
	     i++) {
		const struct line *l = &all->at[i];
		bool leaves =
		    l->what == JUMP && l->to - s->addr >= s->size && !in_part(f, s, l->to);
		const struct fsc_exit *x = find_exit(t, l->addr - s->addr + s->offset);

		matched += x != NULL;
		if ((l->what == RETURN || leaves || (l->what == INDIRECT && !l->table)) && !x)
			fail_msg("%s+%#llx: an end that was not found", s->name,
				 (unsigned long long)(l->addr - s->addr));
		if (l->what == RETURN)
			assert_false(x->perhaps);
		if (x && l->what != RETURN && l->what != INDIRECT && !leaves)
			fail_msg("%s+%#llx: taken for an end", s->name,
				 (unsigned long long)(l->addr - s->addr));
	}
	assert_int_equal(matched, inside);
}

struct tally {
	size_t functions, understood, never, exits;
};

static struct tally compare_file(const char *path)
{
	struct listing all = disassemble(path);
	struct tally n = {0};
	const struct fsc_sym *s;
	struct fsc_elf *e = NULL;
	struct fsc_exits_file f;
	size_t n_syms;

	if (!all.n)
		skip(); /* no objdump */
	assert_int_equal(fsc_elf_open(path, "", &e, NULL), 0);
	assert_int_equal(fsc_elf_symbols(e, &s, &n_syms, NULL), 0);
	assert_int_equal(fsc_exits_open(&f, e, NULL), 0);
	for (size_t i = 0; i < n_syms; i++) {
		struct fsc_target t = {0};

		if (!s[i].size || fsc_exits_is_part(s[i].name) ||
		    (i && s[i].addr == s[i - 1].addr && s[i].size == s[i - 1].size))
			continue;
		assert_int_equal(fsc_exits_find(&f, &s[i], &t, NULL), 0);
		n.functions++;
		n.understood += t.by_insns;
		n.never += t.by_insns && !t.n_exits;
		n.exits += t.n_exits;
		if (t.by_insns)
			compare(&f, &s[i], &t, &all);
		free(t.exits);
	}
	fsc_exits_release(&f);
	fsc_elf_free(e);
	free(all.at);
	return n;
}

static void check_library(const char *name)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	struct fsc_libs_scope scope = {0};
	struct tally n;

	if (fsc_libs_find(name, &scope, &files, NULL))
		skip();
	n = compare_file(FSC_AT(struct fsc_libs_file, &files, 0)->path);
	fsc_libs_release(&files);
	print_message("# %s: %zu functions, %zu understood, %zu never return, %zu exits\n", name,
		      n.functions, n.understood, n.never, n.exits);
	assert_true(n.functions > 100);
	assert_true(n.understood * 100 >= n.functions * 95);
	assert_true(n.never * 10 < n.functions);
}

static void a_whole_program(void **state)
{
	struct tally n = compare_file(fixture("prog-static"));

	(void)state;
	assert_true(n.functions > 500);
	assert_true(n.understood * 100 >= n.functions * 95);
}

static void libc(void **state)
{
	(void)state;
	check_library("c");
}

static void libstdcxx(void **state)
{
	(void)state;
	check_library("stdc++");
}

static void libcrypto(void **state)
{
	(void)state;
	check_library("crypto");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(known_code),
	    cmocka_unit_test(a_table_of_places_is_no_exit),
	    cmocka_unit_test(exits_are_where_the_instructions_are),
	    cmocka_unit_test(without_its_bytes_nothing_is_known),
	    cmocka_unit_test(returns_from_a_part),
	    cmocka_unit_test(a_whole_program),
	    cmocka_unit_test(libc),
	    cmocka_unit_test(libstdcxx),
	    cmocka_unit_test(libcrypto),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
