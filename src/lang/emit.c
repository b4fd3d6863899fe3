/* BPF instructions from the intermediate form, once every register has its place. r0 and r5 are
 * free for values that come from or go to the stack. */
#include <string.h>

#include <linux/bpf.h>

#include "lang/ir.h"

enum { R0 = 0, R5 = 5, FP = 10, TAIL_CALL = 12 };

struct emit {
	struct fsc_ir_func *f;
	struct fsc_ir_out *o;
	uint32_t *labels;     /* instruction of each */
	struct fsc_vec jumps; /* struct fsc_ir_funcref: instruction and label */
};

void fsc_ir_out_init(struct fsc_ir_out *o)
{
	*o = (struct fsc_ir_out){.insns = FSC_VEC_INIT(struct bpf_insn),
				 .relocs = FSC_VEC_INIT(struct fsc_plan_reloc),
				 .lines = FSC_VEC_INIT(struct fsc_plan_line),
				 .funcs = FSC_VEC_INIT(struct fsc_plan_func),
				 .calls = FSC_VEC_INIT(struct fsc_ir_funcref)};
}

static void insn_put(struct emit *e, struct bpf_insn insn)
{
	*(struct bpf_insn *)fsc_zone_push(e->f->c->keep, &e->o->insns) = insn;
}

static void insn_alu(struct emit *e, int op, int dst, int src, unsigned size)
{
	insn_put(
	    e, (struct bpf_insn){.code = (uint8_t)((size == 4 ? BPF_ALU : BPF_ALU64) | op | BPF_X),
				 .dst_reg = (uint8_t)dst & 15,
				 .src_reg = (uint8_t)src & 15});
}

static void insn_alu_imm(struct emit *e, int op, int dst, int32_t imm, unsigned size)
{
	insn_put(
	    e, (struct bpf_insn){.code = (uint8_t)((size == 4 ? BPF_ALU : BPF_ALU64) | op | BPF_K),
				 .dst_reg = (uint8_t)dst & 15,
				 .imm = imm});
}

static void insn_mov(struct emit *e, int dst, int src)
{
	if (dst != src)
		insn_alu(e, BPF_MOV, dst, src, 8);
}

static void insn_wide(struct emit *e, int dst, int pseudo, int32_t low, int32_t high)
{
	insn_put(e, (struct bpf_insn){.code = BPF_LD | BPF_IMM | BPF_DW,
				      .dst_reg = (uint8_t)dst & 15,
				      .src_reg = (uint8_t)pseudo & 15,
				      .imm = low});
	insn_put(e, (struct bpf_insn){.imm = high});
}

static void insn_number(struct emit *e, int dst, int64_t v)
{
	if (v == (int32_t)v)
		insn_alu_imm(e, BPF_MOV, dst, (int32_t)v, 8);
	else if (v == (int64_t)(uint32_t)v)
		insn_alu_imm(e, BPF_MOV, dst, (int32_t)v, 4);
	else
		insn_wide(e, dst, 0, (int32_t)v, (int32_t)(v >> 32));
}

static int size_code(unsigned size)
{
	return size == 1 ? BPF_B : size == 2 ? BPF_H : size == 4 ? BPF_W : BPF_DW;
}

static void insn_load(struct emit *e, unsigned size, int dst, int base, int off)
{
	insn_put(e, (struct bpf_insn){.code = (uint8_t)(BPF_LDX | BPF_MEM | size_code(size)),
				      .dst_reg = (uint8_t)dst & 15,
				      .src_reg = (uint8_t)base & 15,
				      .off = (int16_t)off});
}

static void insn_store(struct emit *e, unsigned size, int base, int off, int src)
{
	insn_put(e, (struct bpf_insn){.code = (uint8_t)(BPF_STX | BPF_MEM | size_code(size)),
				      .dst_reg = (uint8_t)base & 15,
				      .src_reg = (uint8_t)src & 15,
				      .off = (int16_t)off});
}

static void insn_map(struct emit *e, int dst, int pseudo, uint32_t map, int32_t off)
{
	*(struct fsc_plan_reloc *)fsc_zone_push(e->f->c->keep, &e->o->relocs) =
	    (struct fsc_plan_reloc){
		.kind = FSC_RELOC_MAP, .insn = (uint32_t)e->o->insns.n, .map = map};
	insn_wide(e, dst, pseudo, 0, off);
}

static void insn_func(struct emit *e, int dst, uint32_t func)
{
	*(struct fsc_ir_funcref *)fsc_zone_push(&e->f->c->temp, &e->o->calls) =
	    (struct fsc_ir_funcref){(uint32_t)e->o->insns.n, func};
	insn_wide(e, dst, BPF_PSEUDO_FUNC, 0, 0);
}

/* The machine's register with the value: its own, or scratch after a load. */
static int value_in(struct emit *e, fsc_vr v, int scratch)
{
	if (e->f->regs[v] > 0)
		return e->f->regs[v];
	insn_load(e, 8, scratch, FP, e->f->spills[v]);
	return scratch;
}

/* Where a result is to be made, and then put. */
static int result_reg(struct emit *e, fsc_vr v)
{
	return e->f->regs[v] > 0 ? e->f->regs[v] : R0;
}

static void result_put(struct emit *e, fsc_vr v, int reg)
{
	if (e->f->regs[v] > 0)
		insn_mov(e, e->f->regs[v], reg);
	else if (e->f->regs[v] < 0)
		insn_store(e, 8, FP, e->f->spills[v], reg);
}

static void emit_alu(struct emit *e, const struct fsc_ir *i)
{
	int dst = result_reg(e, i->dst), a, b;

	if (i->has_imm) {
		a = value_in(e, i->a, dst);
		insn_mov(e, dst, a);
		insn_alu_imm(e, i->sub, dst, (int32_t)i->imm, i->size);
		result_put(e, i->dst, dst);
		return;
	}
	b = value_in(e, i->b, R5);
	if (b == dst) {
		insn_mov(e, R5, b);
		b = R5;
	}
	a = value_in(e, i->a, dst);
	insn_mov(e, dst, a);
	insn_alu(e, i->sub, dst, b, i->size);
	result_put(e, i->dst, dst);
}

static void emit_unary(struct emit *e, const struct fsc_ir *i)
{
	int dst = result_reg(e, i->dst);

	insn_mov(e, dst, value_in(e, i->a, dst));
	if (i->op == FSC_IR_NEG)
		insn_alu_imm(e, BPF_NEG, dst, 0, 8);
	if (i->op == FSC_IR_SWAP) {
		/* To the byte order that the machine has not. */
		int order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? BPF_TO_BE : BPF_TO_LE;

		insn_put(e, (struct bpf_insn){.code = (uint8_t)(BPF_ALU | BPF_END | order),
					      .dst_reg = (uint8_t)dst & 15,
					      .imm = i->size * 8});
	}
	result_put(e, i->dst, dst);
}

static void emit_load(struct emit *e, const struct fsc_ir *i)
{
	int dst = result_reg(e, i->dst);

	insn_load(e, i->size, dst, i->a ? value_in(e, i->a, R5) : FP, i->off);
	result_put(e, i->dst, dst);
}

static void emit_store(struct emit *e, const struct fsc_ir *i)
{
	int base = i->a ? value_in(e, i->a, R0) : FP;

	if (i->has_imm)
		insn_put(e,
			 (struct bpf_insn){.code = (uint8_t)(BPF_ST | BPF_MEM | size_code(i->size)),
					   .dst_reg = (uint8_t)base & 15,
					   .off = (int16_t)i->off,
					   .imm = (int32_t)i->imm});
	else
		insn_store(e, i->size, base, i->off, value_in(e, i->b, R5));
}

static void emit_atomic(struct emit *e, const struct fsc_ir *i)
{
	int base = value_in(e, i->a, R0), src = value_in(e, i->b, R5);

	if (i->dst && src != R5) {
		insn_mov(e, R5, src);
		src = R5;
	}
	insn_put(e, (struct bpf_insn){.code = (uint8_t)(BPF_STX | BPF_ATOMIC | size_code(i->size)),
				      .dst_reg = (uint8_t)base & 15,
				      .src_reg = (uint8_t)src & 15,
				      .off = (int16_t)i->off,
				      .imm = (int32_t)i->imm});
	if (i->dst)
		result_put(e, i->dst, R5);
}

static void emit_address(struct emit *e, const struct fsc_ir *i)
{
	int dst = result_reg(e, i->dst);

	if (i->op == FSC_IR_FRAME) {
		insn_mov(e, dst, FP);
		insn_alu_imm(e, BPF_ADD, dst, i->off, 8);
	} else if (i->op == FSC_IR_MAP) {
		insn_map(e, dst, BPF_PSEUDO_MAP_FD, (uint32_t)i->imm, 0);
	} else if (i->op == FSC_IR_MAPVAL) {
		insn_map(e, dst, BPF_PSEUDO_MAP_VALUE, (uint32_t)i->imm, i->off);
	} else if (i->op == FSC_IR_KVAR) {
		insn_wide(e, dst, BPF_PSEUDO_BTF_ID, (int32_t)i->imm, 0);
	} else {
		insn_func(e, dst, (uint32_t)i->imm);
	}
	result_put(e, i->dst, dst);
}

static void emit_move(struct emit *e, const struct fsc_ir *i)
{
	int dst = result_reg(e, i->dst);

	if (i->op == FSC_IR_IMM)
		insn_number(e, dst, i->imm);
	else if (i->op == FSC_IR_PARAM)
		dst = (int)i->imm + 1;
	else
		dst = value_in(e, i->a, dst);
	result_put(e, i->dst, dst);
}

/* Arguments that are in r1..r4 may be in each other's way: those whose target nobody needs go
 * first; a circle is broken by r0. */
static void call_moves(struct emit *e, const struct fsc_ir *i)
{
	int from[6] = {0};
	bool left = true;

	for (int k = 0; k < 5; k++)
		if (i->args[k].kind == FSC_IRA_VR && e->f->regs[i->args[k].vr] > 0 &&
		    e->f->regs[i->args[k].vr] != k + 1)
			from[k + 1] = e->f->regs[i->args[k].vr];
	while (left) {
		int circle = 0;
		bool moved = false;

		left = false;
		for (int to = 1; to <= 5; to++) {
			bool needed = false;

			if (!from[to])
				continue;
			for (int k = 1; k <= 5; k++)
				needed |= k != to && from[k] == to;
			if (needed) {
				circle = to;
				left = true;
				continue;
			}
			insn_mov(e, to, from[to] == -1 ? R0 : from[to]);
			from[to] = 0;
			moved = true;
		}
		if (left && !moved) {
			insn_mov(e, R0, circle);
			for (int k = 1; k <= 5; k++)
				if (from[k] == circle)
					from[k] = -1;
		}
	}
}

static void call_arg(struct emit *e, int reg, const struct fsc_ir_arg *a)
{
	switch (a->kind) {
	case FSC_IRA_VR:
		if (e->f->regs[a->vr] < 0)
			insn_load(e, 8, reg, FP, e->f->spills[a->vr]);
		break;
	case FSC_IRA_IMM:
		insn_number(e, reg, a->imm);
		break;
	case FSC_IRA_FRAME:
		insn_mov(e, reg, FP);
		insn_alu_imm(e, BPF_ADD, reg, (int32_t)a->imm, 8);
		break;
	case FSC_IRA_MAP:
		insn_map(e, reg, BPF_PSEUDO_MAP_FD, (uint32_t)a->imm, 0);
		break;
	case FSC_IRA_MAPVAL:
		insn_map(e, reg, BPF_PSEUDO_MAP_VALUE, (uint32_t)a->imm, a->off);
		break;
	case FSC_IRA_FUNC:
		insn_func(e, reg, (uint32_t)a->imm);
		break;
	case FSC_IRA_NONE:
		break;
	}
}

static void emit_call(struct emit *e, const struct fsc_ir *i)
{
	call_moves(e, i);
	for (int k = 0; k < 5; k++)
		call_arg(e, k + 1, &i->args[k]);
	if (i->op == FSC_IR_KCALL)
		*(struct fsc_plan_reloc *)fsc_zone_push(e->f->c->keep, &e->o->relocs) =
		    (struct fsc_plan_reloc){.kind = FSC_RELOC_KFUNC,
					    .insn = (uint32_t)e->o->insns.n};
	insn_put(e,
		 (struct bpf_insn){.code = BPF_JMP | BPF_CALL,
				   .imm = (int32_t)i->imm,
				   .src_reg = i->op == FSC_IR_KCALL ? BPF_PSEUDO_KFUNC_CALL : 0});
	if (i->dst && e->f->regs[i->dst])
		result_put(e, i->dst, R0);
}

static void emit_jump(struct emit *e, const struct fsc_ir *i)
{
	struct bpf_insn insn = {.code = BPF_JMP | BPF_JA};

	if (i->op == FSC_IR_BRANCH && i->has_imm) {
		insn.code = (uint8_t)(BPF_JMP | i->sub | BPF_K);
		insn.dst_reg = (uint8_t)value_in(e, i->a, R0) & 15;
		insn.imm = (int32_t)i->imm;
	} else if (i->op == FSC_IR_BRANCH) {
		insn.code = (uint8_t)(BPF_JMP | i->sub | BPF_X);
		insn.dst_reg = (uint8_t)value_in(e, i->a, R0) & 15;
		insn.src_reg = (uint8_t)value_in(e, i->b, R5) & 15;
	}
	*(struct fsc_ir_funcref *)fsc_zone_push(&e->f->c->temp, &e->jumps) =
	    (struct fsc_ir_funcref){(uint32_t)e->o->insns.n, i->label};
	insn_put(e, insn);
}

static void emit_exit(struct emit *e, const struct fsc_ir *i)
{
	if (i->has_imm)
		insn_number(e, R0, i->imm);
	else
		insn_mov(e, R0, value_in(e, i->a, R0));
	insn_put(e, (struct bpf_insn){.code = BPF_JMP | BPF_EXIT});
}

/* A tail call that is never made: the JIT then gives the program no private stack. The verifier
 * knows the condition to be false, and does not look at the arguments. */
static void emit_guard(struct emit *e, const struct fsc_ir *i)
{
	(void)i;
	insn_alu_imm(e, BPF_MOV, R0, 0, 8);
	insn_put(e, (struct bpf_insn){.code = BPF_JMP | BPF_JEQ | BPF_K, .off = 1});
	insn_put(e, (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = TAIL_CALL});
}

static void (*const emitters[])(struct emit *e, const struct fsc_ir *i) = {
    [FSC_IR_MOV] = emit_move,	   [FSC_IR_IMM] = emit_move,	 [FSC_IR_PARAM] = emit_move,
    [FSC_IR_ALU] = emit_alu,	   [FSC_IR_NEG] = emit_unary,	 [FSC_IR_SWAP] = emit_unary,
    [FSC_IR_LOAD] = emit_load,	   [FSC_IR_STORE] = emit_store,	 [FSC_IR_ATOMIC] = emit_atomic,
    [FSC_IR_FRAME] = emit_address, [FSC_IR_MAP] = emit_address,	 [FSC_IR_MAPVAL] = emit_address,
    [FSC_IR_FUNC] = emit_address,  [FSC_IR_KVAR] = emit_address, [FSC_IR_CALL] = emit_call,
    [FSC_IR_KCALL] = emit_call,	   [FSC_IR_JUMP] = emit_jump,	 [FSC_IR_BRANCH] = emit_jump,
    [FSC_IR_EXIT] = emit_exit,	   [FSC_IR_GUARD] = emit_guard,
};

static void emit_line(struct emit *e, const struct fsc_ir *i)
{
	const struct fsc_vec *v = &e->o->lines;
	const struct fsc_plan_line *last = v->n ? FSC_AT(struct fsc_plan_line, v, v->n - 1) : NULL;

	if (!i->at.line || (last && last->line == i->at.line && last->column == i->at.column))
		return;
	if (last && last->insn == e->o->insns.n)
		e->o->lines.n--;
	*(struct fsc_plan_line *)fsc_zone_push(e->f->c->keep, &e->o->lines) =
	    (struct fsc_plan_line){
		.insn = (uint32_t)e->o->insns.n,
		.line = i->at.line,
		.column = i->at.column,
		.length = i->at.line == i->at.line_end ? i->at.column_end - i->at.column : 1};
}

static bool jump_is_next(struct emit *e, size_t at)
{
	const struct fsc_ir *i = FSC_AT(struct fsc_ir, &e->f->code, at);

	for (size_t k = at + 1; i->op == FSC_IR_JUMP && k < e->f->code.n; k++) {
		const struct fsc_ir *n = FSC_AT(struct fsc_ir, &e->f->code, k);

		if (n->op == FSC_IR_LABEL && n->label == i->label)
			return true;
		if (n->op != FSC_IR_LABEL && n->op != FSC_IR_NOP)
			return false;
	}
	return false;
}

static void emit_patch(struct emit *e)
{
	for (size_t i = 0; i < e->jumps.n; i++) {
		const struct fsc_ir_funcref *j = FSC_AT(struct fsc_ir_funcref, &e->jumps, i);
		int64_t off = (int64_t)e->labels[j->func] - j->insn - 1;

		if (off != (int16_t)off)
			fsc_lang_fail(e->f->c, e->f->at,
				      "this program is too long: %zu instructions", e->o->insns.n);
		FSC_AT(struct bpf_insn, &e->o->insns, j->insn)->off = (int16_t)off;
	}
}

void fsc_ir_emit(struct fsc_ir_func *f, struct fsc_ir_out *o)
{
	struct emit e = {.f = f, .o = o, .jumps = FSC_VEC_INIT(struct fsc_ir_funcref)};
	struct fsc_plan_func *func = fsc_zone_push(f->c->keep, &o->funcs);

	*func = (struct fsc_plan_func){.name = f->name,
				       .insn = (uint32_t)o->insns.n,
				       .n_args = f->n_params,
				       .callback = f->callback};
	e.labels = FSC_NEW_N(&f->c->temp, uint32_t, f->n_labels + 1);
	for (size_t k = 0; k < f->code.n; k++) {
		const struct fsc_ir *i = FSC_AT(struct fsc_ir, &f->code, k);

		if (i->op == FSC_IR_LABEL)
			e.labels[i->label] = (uint32_t)o->insns.n;
		if (!emitters[i->op] || jump_is_next(&e, k))
			continue;
		emit_line(&e, i);
		emitters[i->op](&e, i);
	}
	emit_patch(&e);
}

void fsc_ir_finish(struct fsc_ir_out *o, const uint32_t *numbers)
{
	for (size_t i = 0; i < o->calls.n; i++) {
		const struct fsc_ir_funcref *r = FSC_AT(struct fsc_ir_funcref, &o->calls, i);
		uint32_t to = FSC_AT(struct fsc_plan_func, &o->funcs, numbers[r->func])->insn;

		FSC_AT(struct bpf_insn, &o->insns, r->insn)->imm = (int32_t)(to - r->insn - 1);
	}
}
