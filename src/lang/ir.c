/* Building the intermediate form. */
#include <string.h>

#include <linux/bpf.h>

#include "lang/ir.h"

struct fsc_ir_func *fsc_ir_func_new(struct fsc_lang *c, const char *name, uint32_t n_params)
{
	struct fsc_ir_func *f = FSC_NEW(&c->temp, struct fsc_ir_func);

	f->c = c;
	f->name = name;
	f->code = FSC_VEC_INIT(struct fsc_ir);
	f->n_vrs = 1;
	f->n_params = n_params;
	return f;
}

struct fsc_ir *fsc_ir_push(struct fsc_ir_func *f, enum fsc_ir_op op)
{
	struct fsc_ir *i = fsc_zone_push(&f->c->temp, &f->code);

	*i = (struct fsc_ir){.op = op, .at = f->at, .size = 8};
	return i;
}

fsc_vr fsc_ir_vr(struct fsc_ir_func *f)
{
	return f->n_vrs++;
}

int32_t fsc_ir_frame(struct fsc_ir_func *f, uint64_t size)
{
	f->frame += (int32_t)((size + 7) & ~7ull);
	if (f->frame > f->frame_most)
		f->frame_most = f->frame;
	return -f->frame;
}

fsc_vr fsc_ir_imm(struct fsc_ir_func *f, int64_t imm)
{
	struct fsc_ir *i = fsc_ir_push(f, FSC_IR_IMM);

	i->imm = imm;
	return i->dst = fsc_ir_vr(f);
}

fsc_vr fsc_ir_mov(struct fsc_ir_func *f, fsc_vr a)
{
	fsc_vr dst = fsc_ir_vr(f);

	fsc_ir_set(f, dst, a);
	return dst;
}

void fsc_ir_set(struct fsc_ir_func *f, fsc_vr dst, fsc_vr a)
{
	struct fsc_ir *i = fsc_ir_push(f, FSC_IR_MOV);

	i->dst = dst;
	i->a = a;
}

void fsc_ir_set_imm(struct fsc_ir_func *f, fsc_vr dst, int64_t imm)
{
	struct fsc_ir *i = fsc_ir_push(f, FSC_IR_IMM);

	i->dst = dst;
	i->imm = imm;
}

fsc_vr fsc_ir_alu(struct fsc_ir_func *f, int sub, fsc_vr a, fsc_vr b)
{
	struct fsc_ir *i = fsc_ir_push(f, FSC_IR_ALU);

	i->sub = (uint8_t)sub;
	i->a = a;
	i->b = b;
	return i->dst = fsc_ir_vr(f);
}

fsc_vr fsc_ir_alu_imm(struct fsc_ir_func *f, int sub, fsc_vr a, int64_t imm)
{
	struct fsc_ir *i;

	if (imm != (int32_t)imm)
		return fsc_ir_alu(f, sub, a, fsc_ir_imm(f, imm));
	i = fsc_ir_push(f, FSC_IR_ALU);
	i->sub = (uint8_t)sub;
	i->a = a;
	i->has_imm = true;
	i->imm = imm;
	return i->dst = fsc_ir_vr(f);
}

fsc_vr fsc_ir_load(struct fsc_ir_func *f, unsigned size, fsc_vr base, int32_t off)
{
	struct fsc_ir *i = fsc_ir_push(f, FSC_IR_LOAD);

	i->size = (uint8_t)size;
	i->a = base;
	i->off = off;
	return i->dst = fsc_ir_vr(f);
}

void fsc_ir_store(struct fsc_ir_func *f, unsigned size, fsc_vr base, int32_t off, fsc_vr value)
{
	struct fsc_ir *i = fsc_ir_push(f, FSC_IR_STORE);

	i->size = (uint8_t)size;
	i->a = base;
	i->off = off;
	i->b = value;
}

void fsc_ir_store_imm(struct fsc_ir_func *f, unsigned size, fsc_vr base, int32_t off, int64_t imm)
{
	struct fsc_ir *i;

	if (imm != (int32_t)imm) {
		fsc_ir_store(f, size, base, off, fsc_ir_imm(f, imm));
		return;
	}
	i = fsc_ir_push(f, FSC_IR_STORE);
	i->size = (uint8_t)size;
	i->a = base;
	i->off = off;
	i->has_imm = true;
	i->imm = imm;
}

fsc_vr fsc_ir_frame_vr(struct fsc_ir_func *f, int32_t off)
{
	struct fsc_ir *i = fsc_ir_push(f, FSC_IR_FRAME);

	i->off = off;
	return i->dst = fsc_ir_vr(f);
}

uint32_t fsc_ir_label(struct fsc_ir_func *f)
{
	return f->n_labels++;
}

void fsc_ir_place(struct fsc_ir_func *f, uint32_t label)
{
	fsc_ir_push(f, FSC_IR_LABEL)->label = label;
}

void fsc_ir_jump(struct fsc_ir_func *f, uint32_t label)
{
	fsc_ir_push(f, FSC_IR_JUMP)->label = label;
}

void fsc_ir_branch(struct fsc_ir_func *f, int sub, fsc_vr a, fsc_vr b, uint32_t label)
{
	struct fsc_ir *i = fsc_ir_push(f, FSC_IR_BRANCH);

	i->sub = (uint8_t)sub;
	i->a = a;
	i->b = b;
	i->label = label;
}

void fsc_ir_branch_imm(struct fsc_ir_func *f, int sub, fsc_vr a, int64_t imm, uint32_t label)
{
	struct fsc_ir *i;

	if (imm != (int32_t)imm) {
		fsc_ir_branch(f, sub, a, fsc_ir_imm(f, imm), label);
		return;
	}
	i = fsc_ir_push(f, FSC_IR_BRANCH);
	i->sub = (uint8_t)sub;
	i->a = a;
	i->has_imm = true;
	i->imm = imm;
	i->label = label;
}

void fsc_ir_exit(struct fsc_ir_func *f, int64_t value)
{
	struct fsc_ir *i = fsc_ir_push(f, FSC_IR_EXIT);

	i->has_imm = true;
	i->imm = value;
}

fsc_vr fsc_ir_atomic(struct fsc_ir_func *f, int op, bool fetch, unsigned size, fsc_vr base,
		     int32_t off, fsc_vr value)
{
	struct fsc_ir *i = fsc_ir_push(f, FSC_IR_ATOMIC);

	i->imm = fetch ? op | BPF_FETCH : op;
	i->size = (uint8_t)size;
	i->a = base;
	i->off = off;
	i->b = value;
	return i->dst = fetch ? fsc_ir_vr(f) : 0;
}

fsc_vr fsc_ir_extend(struct fsc_ir_func *f, fsc_vr a, unsigned size, bool is_signed)
{
	int shift = 64 - 8 * (int)size;

	if (size >= 8)
		return a;
	if (!is_signed && size < 4)
		return fsc_ir_alu_imm(f, BPF_AND, a, (1 << (8 * size)) - 1);
	a = fsc_ir_alu_imm(f, BPF_LSH, a, shift);
	return fsc_ir_alu_imm(f, is_signed ? BPF_ARSH : BPF_RSH, a, shift);
}

fsc_vr fsc_ir_call_n(struct fsc_ir_func *f, enum fsc_ir_op op, int64_t helper, unsigned n,
		     const struct fsc_ir_arg *args)
{
	struct fsc_ir_arg *copy = FSC_NEW_N(&f->c->temp, struct fsc_ir_arg, 5);
	struct fsc_ir *i = fsc_ir_push(f, op);

	if (n)
		memcpy(copy, args, n * sizeof(*args));
	i->imm = helper;
	i->args = copy;
	return i->dst = fsc_ir_vr(f);
}

unsigned fsc_ir_uses(const struct fsc_ir *i, fsc_vr *uses)
{
	unsigned n = 0;

	if (i->a)
		uses[n++] = i->a;
	if (i->b)
		uses[n++] = i->b;
	for (unsigned k = 0; i->args && k < 5; k++)
		if (i->args[k].kind == FSC_IRA_VR)
			uses[n++] = i->args[k].vr;
	return n;
}

bool fsc_ir_ends(const struct fsc_ir *i)
{
	return i->op == FSC_IR_JUMP || i->op == FSC_IR_EXIT;
}
