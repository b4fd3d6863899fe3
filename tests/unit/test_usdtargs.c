/* src/probe/usdtargs.h: operands as assemblers write them, and text that is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "eval_native.h"
#include "probe/names.h"
#include "probe/tracespec.h"
#include "probe/usdtargs.h"

static void operands(void **state)
{
	static const struct {
		enum fsc_usdt_machine machine;
		const char *text;
		struct fsc_usdt_arg want;
	} cases[] = {
	    {FSC_USDT_X86_64,
	     "-4@%edi",
	     {.form = FSC_USDT_REG, .size = 4, .is_signed = true, .base_reg = 112}},
	    {FSC_USDT_X86_64, "8@%r10", {.form = FSC_USDT_REG, .size = 8, .base_reg = 56}},
	    {FSC_USDT_X86_64, "2@%r8w", {.form = FSC_USDT_REG, .size = 2, .base_reg = 72}},
	    {FSC_USDT_X86_64, "1@%al", {.form = FSC_USDT_REG, .size = 1, .base_reg = 80}},
	    {FSC_USDT_X86_64,
	     "1@%bh",
	     {.form = FSC_USDT_REG, .size = 1, .base_reg = 40, .second_byte = true}},
	    {FSC_USDT_X86_64, "4@$5", {.form = FSC_USDT_CONST, .size = 4, .imm = 5}},
	    {FSC_USDT_X86_64,
	     "-4@$-9",
	     {.form = FSC_USDT_CONST, .size = 4, .is_signed = true, .imm = (uint64_t)-9}},
	    {FSC_USDT_X86_64,
	     "8@-16(%rbp)",
	     {.form = FSC_USDT_MEMORY,
	      .size = 8,
	      .imm = (uint64_t)-16,
	      .base = true,
	      .base_reg = 32,
	      .scale = 1}},
	    {FSC_USDT_X86_64,
	     "8@(%rax,%rbx,8)",
	     {.form = FSC_USDT_MEMORY,
	      .size = 8,
	      .base = true,
	      .base_reg = 80,
	      .index = true,
	      .index_reg = 40,
	      .scale = 8}},
	    {FSC_USDT_X86_64,
	     "4@0x20(,%rcx,4)",
	     {.form = FSC_USDT_MEMORY,
	      .size = 4,
	      .imm = 32,
	      .index = true,
	      .index_reg = 88,
	      .scale = 4}},
	    {FSC_USDT_ARM64, "8@x0", {.form = FSC_USDT_REG, .size = 8, .base_reg = 0}},
	    {FSC_USDT_ARM64, "4@w30", {.form = FSC_USDT_REG, .size = 4, .base_reg = 240}},
	    {FSC_USDT_ARM64,
	     "-4@[sp, 12]",
	     {.form = FSC_USDT_MEMORY,
	      .size = 4,
	      .is_signed = true,
	      .imm = 12,
	      .base = true,
	      .base_reg = 248,
	      .scale = 1}},
	    {FSC_USDT_ARM64,
	     "8@[x19]",
	     {.form = FSC_USDT_MEMORY, .size = 8, .base = true, .base_reg = 152, .scale = 1}},
	    {FSC_USDT_ARM64,
	     "-4@-5",
	     {.form = FSC_USDT_CONST, .size = 4, .is_signed = true, .imm = (uint64_t)-5}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct fsc_usdt_arg *w = &cases[i].want;
		struct fsc_usdt_arg a;
		struct fsc_err err = {0};

		if (fsc_usdt_arg_parse(cases[i].text, cases[i].machine, 1, &a, &err))
			fail_msg("%s: %s", cases[i].text, err.msg);
		if (a.form != w->form || a.size != w->size || a.is_signed != w->is_signed ||
		    a.imm != w->imm || a.base != w->base || a.index != w->index ||
		    a.base_reg != w->base_reg || a.index_reg != w->index_reg ||
		    a.scale != w->scale || a.second_byte != w->second_byte)
			fail_msg("%s is read wrongly", cases[i].text);
	}
}

static void several(void **state)
{
	static const char x86[] = " -4@%edi  8@-16(%rbp) 4@$5", arm[] = "8@x0 -4@[sp, 12] 4@w1";
	struct fsc_usdt_arg a;

	(void)state;
	assert_int_equal(fsc_usdt_args_count(x86), 3);
	assert_int_equal(fsc_usdt_args_count(arm), 3);
	assert_int_equal(fsc_usdt_args_count(""), 0);
	assert_int_equal(fsc_usdt_arg_parse(x86, FSC_USDT_X86_64, 3, &a, NULL), 0);
	assert_int_equal(a.imm, 5);
	assert_int_equal(fsc_usdt_arg_parse(arm, FSC_USDT_ARM64, 3, &a, NULL), 0);
	assert_int_equal(a.base_reg, 8);
	assert_int_equal(fsc_usdt_arg_parse(x86, FSC_USDT_X86_64, 4, &a, NULL), -ENOENT);
	assert_int_equal(fsc_usdt_arg_parse(x86, FSC_USDT_X86_64, 0, &a, NULL), -ENOENT);
}

static void what_is_no_operand(void **state)
{
	static const char *const texts[] = {"8@",
					    "@%rax",
					    "3@%rax",
					    "8f@%xmm0",
					    "8@%xmm0",
					    "8@%",
					    "8@$",
					    "8@$x",
					    "8@x+8(%rip)",
					    "8@8(%rip)",
					    "8@(",
					    "8@()",
					    "8@(%rax",
					    "8@(%rax,%rbx,",
					    "8@(%rax,%rbx,99)",
					    "8@(%rax)x",
					    "-@%rax",
					    "99999999999999999999@%rax",
					    "8@%raxraxraxrax",
					    "8@99999999999999999999(%rax)",
					    "4@global"};
	static const char *const arm[] = {"8@x31", "8@x99",  "8@[",	 "8@[]",
					  "8@[sp", "8@[sp,", "8@[sp, ]", "8@[sp, q]",
					  "8@y0",  "8@x",    "8@#"};
	struct fsc_usdt_arg a;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (fsc_usdt_arg_parse(texts[i], FSC_USDT_X86_64, 1, &a, NULL) != -EOPNOTSUPP)
			fail_msg("%s", texts[i]);
	for (size_t i = 0; i < sizeof(arm) / sizeof(arm[0]); i++)
		if (fsc_usdt_arg_parse(arm[i], FSC_USDT_ARM64, 1, &a, NULL) != -EOPNOTSUPP)
			fail_msg("%s", arm[i]);
}

#if defined(__x86_64__)
static void evaluated(void **state)
{
	static const char args[] =
	    "-4@%edi 8@-16(%rbp) 4@$5 1@%ah -2@(%rax,%rbx,2) 8@x(%rip) 4@(,%rcx,4)";
	short shorts[] = {1, 2, -3, 4};
	uint64_t frame[4] = {7, 8, 9, 10}, regs[21] = {0};
	uint32_t word = 99;
	struct fsc_tracespec s;
	struct fsc_trace_prog prog;
	struct fsc_format f;
	struct fsc_names names;
	struct fsc_err err = {0};
	struct fsc_eval e = {.prog = &prog, .ctx = regs};

	(void)state;
	regs[14] = 0x1fffffffe;			   /* di */
	regs[4] = (uint64_t)(uintptr_t)&frame[3];  /* bp */
	regs[10] = (uint64_t)(uintptr_t)shorts;	   /* ax */
	regs[5] = 2;				   /* bx */
	regs[11] = (uint64_t)(uintptr_t)&word / 4; /* cx */
	fsc_usdt_names(args, &names);
	assert_int_equal(fsc_tracespec_parse("u:x:y", &s, &err), 0);
	assert_int_equal(fsc_tracespec_compile(&s, &names, FSC_AT_ENTRY, &prog, &f, &err), 0);
	assert_int_equal(prog.n_values, 6); /* all but the one that cannot be read */
	assert_int_equal(prog.needs, FSC_NEED_REGS);
	assert_int_equal(fsc_eval_run(&e, FSC_TRACE_OPS), FSC_EVAL_YES);
	assert_int_equal(e.unreadable, 0);
	assert_int_equal((int64_t)e.values[0], -2);
	assert_int_equal(e.values[1], 8);
	assert_int_equal(e.values[2], 5);
	assert_int_equal(e.values[3], regs[10] >> 8 & 0xff);
	assert_int_equal((int64_t)e.values[4], -3);
	assert_int_equal(e.values[5], 99);
	assert_string_equal(FSC_AT(struct fsc_conv, &f.convs, 5)->name, "arg7");
	fsc_format_release(&f);
	fsc_tracespec_release(&s);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operands),
		cmocka_unit_test(several),
		cmocka_unit_test(what_is_no_operand),
#if defined(__x86_64__)
		cmocka_unit_test(evaluated),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
