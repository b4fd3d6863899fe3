/* src/dwarf/unwind.h: the callers of a function of which registers and stack were copied, through a
 * library without frame pointers (libdeep.so), and through copies that are too short or damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "base/cleanup.h"
#include "sym/symbolize.h"
#include "dwarf/unwind.h"
#include "sym_fixtures.h"
#include "wire/stack.h"

#define GONE 0x3ffffff0

typedef int (*deep_fn)(int (*back)(void), int n);

static struct fsc_unwind_sample taken;
static uint64_t stack_copy[4096];

static void take_registers(const ucontext_t *c)
{
#ifdef __aarch64__
	for (int i = 0; i < 31; i++)
		taken.regs[i] = c->uc_mcontext.regs[i];
	taken.regs[FSC_UNWIND_SP] = c->uc_mcontext.sp;
	taken.regs[FSC_UNWIND_PC] = c->uc_mcontext.pc;
#else
	static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_R8,  REG_R9,	REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (int i = 0; i < FSC_UNWIND_REGS; i++)
		taken.regs[i] = (uint64_t)c->uc_mcontext.gregs[order[i]];
#endif
	taken.sp = taken.regs[FSC_UNWIND_SP];
}

/* What a probe in it would send. The stack may end before the copy does. */
__attribute__((noipa)) static int take_sample(void)
{
	FSC_AUTO(fsc_closep) int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	ucontext_t c;
	ssize_t n;

	getcontext(&c);
	take_registers(&c);
	n = pread(memory, stack_copy, sizeof(stack_copy), (off_t)taken.sp);
	assert_true(n > 0);
	taken.stack = stack_copy;
	taken.n = (size_t)n;
	return 1;
}

/* Takes a sample below n middle functions of the library. */
__attribute__((noipa)) static int sample_below(int n)
{
	void *lib = dlopen(fixture("libdeep.so"), RTLD_NOW);
	deep_fn top;

	assert_non_null(lib);
	top = (deep_fn)dlsym(lib, "deep_top");
	assert_non_null(top);
	return top(take_sample, n) + 1;
}

static void unwind(struct fsc_spaces *s, struct fsc_unwind *u, size_t n)
{
	struct fsc_err err = {0};

	if (fsc_unwind(s, u, n, &err))
		fail_msg("%s", err.msg);
}

/* The names of the functions, separated by spaces. */
static const char *names(struct fsc_spaces *s, const struct fsc_unwind *u)
{
	static char text[20000];
	struct fsc_symbolizer_opts opts = {0};
	FSC_AUTO(fsc_symbolizer_freep) struct fsc_symbolizer *y = NULL;
	size_t len = 0;

	assert_int_equal(fsc_symbolizer_new(s, &opts, &y, NULL), 0);
	text[0] = '\0';
	for (size_t i = 0; i < u->n; i++) {
		struct fsc_address a = {.addr = u->addrs[i], .pid = u->pid, .is_return = i > 0};
		const struct fsc_frame *f = NULL;
		size_t n;

		assert_int_equal(fsc_symbolizer_frames(y, &a, &f, &n, NULL), 0);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ", f->name);
	}
	return text;
}

static void without_frame_pointers(void **state)
{
	FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = NULL;
	uint64_t addrs[200];
	struct fsc_unwind u = {.pid = getpid(), .addrs = addrs, .max = 200};

	(void)state;
	assert_int_equal(fsc_spaces_new(0, &s, NULL), 0);
	for (int n = 0; n < 8; n++) {
		char expected[400] = "take_sample deep_leaf ";

		sample_below(n);
		u.sample = taken;
		unwind(s, &u, 1);
		for (int i = 0; i <= n; i++)
			strcat(expected, "deep_middle ");
		strcat(expected, "deep_top sample_below without_frame_pointers ");
		assert_memory_equal(names(s, &u), expected, strlen(expected));
		assert_int_equal(u.addrs[0], taken.regs[FSC_UNWIND_PC]);
	}
	assert_non_null(strstr(names(s, &u), " main "));
	assert_true(u.whole);
}

static uint64_t word_at(uint64_t addr)
{
	uint64_t word = 0;

	assert_in_range(addr, taken.sp, taken.sp + taken.n - sizeof(word));
	memcpy(&word, (const char *)taken.stack + (addr - taken.sp), sizeof(word));
	return word;
}

/* As bpf/copies.bpf.h does: the rules lead to the same callers. Returns how many. */
static size_t follow_rules(const struct fsc_unwind *u)
{
	uint64_t sp = taken.regs[FSC_UNWIND_SP], fp = taken.regs[FSC_UNWIND_FP], pc;

	for (size_t i = 0; i < u->n; i++) {
		uint64_t r = u->rules[i], cfa;

		if (!(r & FSC_UNWIND_PLAIN))
			return i;
		cfa = (r & FSC_UNWIND_BY_FP ? fp : sp) + (uint64_t)((int64_t)(r << 32) >> 40);
#ifdef __aarch64__
		pc = r & FSC_UNWIND_IN_LR ? taken.regs[FSC_UNWIND_LR]
					  : word_at(cfa + (uint64_t)((int64_t)(r << 16) >> 48) * 8);
#else
		pc = word_at(cfa + (uint64_t)((int64_t)(r << 16) >> 48) * 8);
#endif
		if (r & FSC_UNWIND_SAVED_FP)
			fp = word_at(cfa + (uint64_t)((int64_t)r >> 48) * 8);
		sp = cfa;
		if (i + 1 < u->n)
			assert_int_equal(pc, u->addrs[i + 1]);
	}
	return u->n;
}

static void rules_for_the_kernel(void **state)
{
	FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = NULL;
	uint64_t addrs[200], rules[200] = {0};
	struct fsc_unwind u = {.pid = getpid(), .addrs = addrs, .rules = rules, .max = 200};

	(void)state;
	assert_int_equal(fsc_spaces_new(0, &s, NULL), 0);
	for (int n = 0; n < 5; n++) {
		size_t got;

		sample_below(n);
		u.sample = taken;
		unwind(s, &u, 1);
		assert_true(u.whole);
		got = follow_rules(&u);
		/* to the end: _start says that nobody called it */
		assert_int_equal(got, u.n - 1);
		assert_int_equal(rules[got], FSC_UNWIND_END);
	}
	u.pid = GONE; /* nothing is known of its code */
	rules[0] = 1;
	unwind(s, &u, 1);
	assert_int_equal(rules[0], 0);
}

static void limits(void **state)
{
	FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = NULL;
	uint64_t addrs[3][10] = {0};
	struct fsc_unwind u[] = {
	    {.pid = getpid(), .addrs = addrs[0], .max = 4},
	    {.pid = getpid(), .addrs = addrs[1], .max = 0},
	    {.pid = getpid(), .addrs = addrs[2], .max = 10},
	};

	(void)state;
	assert_int_equal(fsc_spaces_new(0, &s, NULL), 0);
	sample_below(5);
	u[0].sample = u[1].sample = u[2].sample = taken;
	u[2].sample.n = 1100; /* of our own frame, and the first of the 700-byte ones */
	unwind(s, u, 3);
	assert_string_equal(names(s, &u[0]), "take_sample deep_leaf deep_middle deep_middle ");
	assert_false(u[0].whole);
	assert_int_equal(u[1].n, 0);
	assert_false(u[0].cut);
	assert_true(u[2].n >= 1 && u[2].n < 6);
	assert_false(u[2].whole);
	assert_true(u[2].cut);
	unwind(s, u, 0);
}

/* The deepest frames lie on pages that could not be copied, or on others than those. */
static void holes(void **state)
{
	FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = NULL;
	uint64_t addrs[2][200];
	struct fsc_unwind u[] = {{.pid = getpid(), .addrs = addrs[0], .max = 200},
				 {.pid = getpid(), .addrs = addrs[1], .max = 200}};

	(void)state;
	assert_int_equal(fsc_spaces_new(0, &s, NULL), 0);
	sample_below(7);
	u[0].sample = u[1].sample = taken;
	u[0].sample.missing = ~(uint64_t)0 << 1;
	u[1].sample.missing = ~(uint64_t)0 << (1 + taken.n / FSC_UNWIND_PAGE);
	unwind(s, u, 2);
	assert_true(u[0].cut && !u[0].whole && u[0].n < u[1].n);
	assert_true(u[1].whole && !u[1].cut);
}

static void nothing_to_go_by(void **state)
{
	FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = NULL;
	uint64_t addrs[10];
	struct fsc_unwind u = {.pid = GONE, .addrs = addrs, .max = 10};

	(void)state;
	assert_int_equal(fsc_spaces_new(0, &s, NULL), 0);
	u.sample.regs[FSC_UNWIND_PC] = 0x1234;
	unwind(s, &u, 1);
	assert_int_equal(u.n, 1);
	assert_int_equal(addrs[0], 0x1234);
	u.pid = getpid();
	unwind(s, &u, 1); /* a place where nothing is */
	assert_int_equal(addrs[0], 0x1234);
	assert_true(u.n >= 1);
}

/* Several processes at once, the sampled one a forked copy of us that has ended. */
static void a_process_that_ended(void **state)
{
	FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = NULL;
	uint64_t addrs[2][100];
	struct fsc_unwind u[] = {{.pid = GONE, .addrs = addrs[0], .max = 100},
				 {.pid = getpid(), .addrs = addrs[1], .max = 100}};

	(void)state;
	assert_int_equal(fsc_spaces_new(0, &s, NULL), 0);
	sample_below(2);
	u[0].sample = u[1].sample = taken;
	assert_int_equal(fsc_spaces_read(s, getpid(), NULL), 0);
	assert_int_equal(fsc_spaces_fork(s, getpid(), GONE, NULL), 0);
	unwind(s, u, 2);
	assert_int_equal(u[0].n, u[1].n);
	assert_memory_equal(addrs[0], addrs[1], u[0].n * sizeof(addrs[0][0]));
	assert_non_null(strstr(names(s, &u[0]), "deep_top sample_below a_process_that_ended "));
}

/* Call frame information with flipped bytes, and stacks full of anything: some answer, in time. */
static void damage(void **state)
{
	size_t size;
	unsigned char *bytes = fixture_bytes("libdeep.so", &size);
	void *lib = dlopen(fixture("libdeep.so"), RTLD_NOW);
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = open_fixture("libdeep.so", "");
	const struct fsc_sym *leaf = find_symbol(e, "deep_leaf", NULL);
	unsigned seed = 9;

	(void)state;
	assert_non_null(lib);
	assert_non_null(leaf);
	sample_below(3);
	for (int round = 0; round < 60; round++) {
		FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = NULL;
		FSC_AUTO(fsc_freep) unsigned char *copy = malloc(size);
		uint64_t base, addrs[64];
		struct fsc_unwind u = {.pid = GONE, .addrs = addrs, .max = 64, .sample = taken};
		const char *path;
		struct stat st;

		memcpy(copy, bytes, size);
		for (int i = 0; i < 1 + round / 4; i++) {
			seed = seed * 1103515245u + 12345u;
			copy[0x1000 + (seed >> 8) % (size - 0x1000)] ^=
			    (unsigned char)(seed >> 3 | 1);
		}
		path = make_file("libdeep-broken.so", copy, size);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(fsc_spaces_new(0, &s, NULL), 0);
		base = (uintptr_t)dlsym(lib, "deep_leaf") - leaf->offset;
		assert_int_equal(
		    fsc_spaces_mmap(s, GONE, base, size, 0, st.st_dev, st.st_ino, path, NULL), 0);
		u.sample.regs[FSC_UNWIND_PC] = (uintptr_t)dlsym(lib, "deep_leaf") + 1;
		if (round % 3 == 0)
			for (size_t i = 0; i < sizeof(stack_copy) / sizeof(stack_copy[0]); i++)
				stack_copy[i] = u.sample.regs[FSC_UNWIND_PC] + (i & 31);
		unwind(s, &u, 1);
		assert_true(u.n >= 1 && u.n <= 64);
	}
	dlclose(lib);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(without_frame_pointers),
	    cmocka_unit_test(rules_for_the_kernel),
	    cmocka_unit_test(limits),
	    cmocka_unit_test(holes),
	    cmocka_unit_test(nothing_to_go_by),
	    cmocka_unit_test(a_process_that_ended),
	    cmocka_unit_test(damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
