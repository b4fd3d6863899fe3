/* Arguments and return values, for all program types. */
#ifndef FSC_BPF_ARGS_H
#define FSC_BPF_ARGS_H

#include "calls.bpf.h"

#define FSC_ARGS 6

/* Of a function just entered, by the calling convention. */
static __always_inline void regs_args(const struct pt_regs *ctx, __u64 *args)
{
#if defined(__TARGET_ARCH_x86)
	args[0] = ctx->rdi;
	args[1] = ctx->rsi;
	args[2] = ctx->rdx;
	args[3] = ctx->rcx;
	args[4] = ctx->r8;
	args[5] = ctx->r9;
#else
	args[0] = PT_REGS_PARM1(ctx);
	args[1] = PT_REGS_PARM2(ctx);
	args[2] = PT_REGS_PARM3(ctx);
	args[3] = PT_REGS_PARM4(ctx);
	args[4] = PT_REGS_PARM5(ctx);
	args[5] = ((const struct user_pt_regs *)ctx)->regs[5];
#endif
}

/* A word of the context at a constant offset. In assembly, because the compiler would compute the
 * address first, and the verifier only accepts the context's own. */
#define CTX_WORD(ctx, at)                                                                          \
	({                                                                                         \
		__u64 word;                                                                        \
		asm volatile("%0 = *(u64 *)(%1 + " #at ")" : "=r"(word) : "r"(ctx));               \
		word;                                                                              \
	})

/* fentry has them in an array, as many as the function takes; the verifier refuses reads beyond the
 * last, so their number is put into the instructions. */
static __always_inline void own_args(const struct call *c, __u64 *args)
{
	if (c->n_args > 0)
		args[0] = CTX_WORD(c->ctx, 0);
	if (c->n_args > 1)
		args[1] = CTX_WORD(c->ctx, 8);
	if (c->n_args > 2)
		args[2] = CTX_WORD(c->ctx, 16);
	if (c->n_args > 3)
		args[3] = CTX_WORD(c->ctx, 24);
	if (c->n_args > 4)
		args[4] = CTX_WORD(c->ctx, 32);
	if (c->n_args > 5)
		args[5] = CTX_WORD(c->ctx, 40);
}

static __always_inline void call_args(const struct call *c, __u64 *args)
{
	if (c->own)
		own_args(c, args);
	else if (c->regs)
		regs_args(c->ctx, args);
}

/* For fexit it follows the arguments. */
static __always_inline __u64 own_ret(const struct call *c)
{
	switch (c->n_args) {
	case 0:
		return CTX_WORD(c->ctx, 0);
	case 1:
		return CTX_WORD(c->ctx, 8);
	case 2:
		return CTX_WORD(c->ctx, 16);
	case 3:
		return CTX_WORD(c->ctx, 24);
	case 4:
		return CTX_WORD(c->ctx, 32);
	case 5:
		return CTX_WORD(c->ctx, 40);
	case 6:
		return CTX_WORD(c->ctx, 48);
	default:
		return 0;
	}
}

static __always_inline __u64 call_ret(const struct call *c)
{
	if (c->own)
		return own_ret(c);
	return c->regs ? PT_REGS_RC((struct pt_regs *)c->ctx) : 0;
}

#endif
