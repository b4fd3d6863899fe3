/* src/engine/marks.c: what is put where instructions carry a mark, and that whoever asks learns
 * whether there was one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "engine/marks.h"
#include "wire/config.h"

#define LD_IMM64(value)                                                                            \
	{.code = BPF_LD | BPF_IMM | BPF_DW, .imm = (int32_t)(uint32_t)(value)},                    \
	{                                                                                          \
		.imm = (int32_t)(uint32_t)((uint64_t)(value) >> 32)                                \
	}

static void a_number_stands_where_the_mark_was(void **state)
{
	struct bpf_insn insns[] = {LD_IMM64(FSC_ROW_MARK), LD_IMM64(FSC_ARGS_MARK),
				   LD_IMM64(FSC_ROW_MARK)};

	(void)state;
	assert_int_equal(fsc_marks_put_number(insns, 6, FSC_ROW_MARK, 7), 2);
	assert_int_equal(insns[0].imm, 7);
	assert_int_equal(insns[1].imm, 0);
	assert_int_equal(insns[4].imm, 7);
	assert_int_equal((uint32_t)insns[2].imm, (uint32_t)FSC_ARGS_MARK);
	assert_int_equal(fsc_marks_put_number(insns, 6, FSC_ROW_MARK, 8), 0);
}

static void a_call_and_a_jump_stand_where_the_mark_was(void **state)
{
	struct bpf_insn insns[] = {LD_IMM64(FSC_COOKIE_MARK), {.code = BPF_JMP | BPF_EXIT}};

	(void)state;
	assert_int_equal(fsc_marks_put_call(insns, 3, FSC_COOKIE_MARK, 4711), 1);
	assert_int_equal(insns[0].code, BPF_JMP | BPF_CALL);
	assert_int_equal(insns[0].src_reg, BPF_PSEUDO_KFUNC_CALL);
	assert_int_equal(insns[0].imm, 4711);
	assert_int_equal(insns[1].code, BPF_JMP | BPF_JA);
	assert_int_equal(insns[1].off, 0);
	assert_int_equal(insns[2].code, BPF_JMP | BPF_EXIT);
}

/* A program without the mark would be loaded and do nothing: whoever puts it in must know. */
static void what_is_not_there_is_said(void **state)
{
	/* half a mark at the end, another number, an address of a map */
	struct bpf_insn insns[] = {LD_IMM64(FSC_ROW_MARK ^ 1ull << 40),
				   LD_IMM64(FSC_ROW_MARK),
				   {.code = BPF_LD | BPF_IMM | BPF_DW, .imm = (int32_t)0x0badcafe}};
	struct bpf_insn before[5];

	(void)state;
	insns[2].src_reg = BPF_PSEUDO_MAP_FD;
	memcpy(before, insns, sizeof(before));
	assert_int_equal(fsc_marks_put_number(insns, 5, FSC_ROW_MARK, 7), 0);
	assert_int_equal(fsc_marks_put_call(insns, 5, FSC_ROW_MARK, 7), 0);
	assert_int_equal(fsc_marks_put_call(insns, 0, FSC_ROW_MARK, 7), 0);
	assert_memory_equal(before, insns, sizeof(before));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_number_stands_where_the_mark_was),
	    cmocka_unit_test(a_call_and_a_jump_stand_where_the_mark_was),
	    cmocka_unit_test(what_is_not_there_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
