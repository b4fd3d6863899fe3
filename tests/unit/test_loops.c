/* src/probe/loops.h: jumps to the first instruction, on known code of this very program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "probe/insn.h"
#include "probe/loops.h"
#include "sym_fixtures.h"

/* A function in assembly; it is never called. */
#define CODE(name, text)                                                                           \
	__asm__(".pushsection .text\n.p2align 4\n.globl loop_" #name "\n.type loop_" #name         \
		", @function\nloop_" #name ":\n" text "\n.size loop_" #name ", . - loop_" #name    \
		"\n.popsection");

#ifdef __x86_64__
CODE(none, "push %rax\n 1: dec %edi\n jne 1b\n ret")
CODE(short, "1: dec %edi\n jne 1b\n ret")
CODE(near, "1: dec %edi\n .skip 200, 0x90\n jne 1b\n ret")
CODE(jmp, "1: dec %edi\n je 2f\n .skip 200, 0x90\n jmp 1b\n 2: ret")
CODE(call, "push %rax\n call loop_call\n pop %rax\n ret")
CODE(looks_like, "mov $0x00fdeb, %eax\n ret\n .skip 200, 0x90\n mov $0xffffff2be9, %rax\n ret")
CODE(endbr, "endbr64\n 1: dec %edi\n jne 1b\n ret")
CODE(endbr_too, "2: endbr64\n 1: dec %edi\n jne 1b\n jmp 2b")
CODE(endbr_none, "endbr64\n push %rax\n 1: dec %edi\n jne 1b\n ret")
CODE(nop5, ".byte 0x0f, 0x1f, 0x44, 0, 0\n 1: dec %edi\n jne 1b\n ret")
CODE(endbr_nop5, "endbr64\n .byte 0x0f, 0x1f, 0x44, 0, 0\n 1: dec %edi\n jne 1b\n ret")
CODE(split, "dec %edi\n js loop_split.cold\n ret")
CODE(split.cold, "inc %edi\n jmp loop_split")
CODE(unknown, "1: dec %edi\n .byte 0x06\n jne 1b\n ret")
#else
CODE(none, "nop\n 1: sub w0, w0, 1\n cbnz w0, 1b\n ret")
CODE(short, "1: sub w0, w0, 1\n cbnz w0, 1b\n ret")
CODE(near, "1: subs w0, w0, 1\n b.ne 1b\n ret")
CODE(jmp, "1: nop\n b 1b")
CODE(call, "stp x29, x30, [sp, -16]!\n bl loop_call\n ldp x29, x30, [sp], 16\n ret")
CODE(bit, "1: sub x0, x0, 1\n tbz x0, 40, 1b\n ret")
#endif

/* Where the probe of a function goes, and whether a loop begins there. */
static void check_code(const char *name, uint64_t body, bool looped)
{
	struct fsc_elf *e = NULL;
	const struct fsc_sym *sym;
	struct fsc_exits_file f;
	struct fsc_target t = {.at_entry = true};
	char why[FSC_INSN_WHY];

	assert_int_equal(fsc_elf_open("/proc/self/exe", "", &e, NULL), 0);
	sym = find_symbol(e, name, NULL);
	assert_non_null(sym);
	t.offset = sym->offset;
	assert_int_equal(fsc_exits_open(&f, e, NULL), 0);
	assert_true(fsc_insn_inspect(e, &t, why));
	assert_int_equal(fsc_loops_avoid(&f, sym, &t, NULL), 0);
	if (t.body - t.offset != body || t.looped != looped)
		fail_msg("%s: at +%llu, looped %d", name, (unsigned long long)(t.body - t.offset),
			 t.looped);
	fsc_exits_release(&f);
	fsc_elf_free(e);
}

static void known_code(void **state)
{
	(void)state;
	check_code("loop_none", 0, false);
	check_code("loop_short", 0, true);
	check_code("loop_near", 0, true);
	check_code("loop_jmp", 0, true);
	check_code("loop_call", 0, false); /* a call is a call */
#ifdef __x86_64__
	check_code("loop_looks_like", 0, false);
	check_code("loop_endbr", 0, false);
	check_code("loop_endbr_too", 4, true);
	check_code("loop_endbr_none", 4, false);
	check_code("loop_nop5", 5, true);
	check_code("loop_endbr_nop5", 0, false);
	check_code("loop_split", 0, true);
	check_code("loop_unknown", 0, true); /* rather than a wrong number */
#else
	check_code("loop_bit", 0, true);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(known_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
