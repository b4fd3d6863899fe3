/* Conditions and comparisons. */
#include <string.h>

#include <linux/bpf.h>

#include "lang/gen.h"

static void branch_logic(struct fsc_gen *g, struct fsc_expr *e, uint32_t yes, uint32_t no)
{
	uint32_t second = fsc_ir_label(g->f);

	if (e->op == FSC_T_AND)
		fsc_gen_branch(g, e->a, second, no);
	else
		fsc_gen_branch(g, e->a, yes, second);
	fsc_ir_place(g->f, second);
	fsc_gen_branch(g, e->b, yes, no);
}

/* The jump that is taken if `a op b` does not hold. */
static int jump_unless(int op, bool is_unsigned)
{
	switch (op) {
	case FSC_T_EQ:
		return BPF_JNE;
	case FSC_T_NE:
		return BPF_JEQ;
	case '<':
		return is_unsigned ? BPF_JGE : BPF_JSGE;
	case '>':
		return is_unsigned ? BPF_JLE : BPF_JSLE;
	case FSC_T_LE:
		return is_unsigned ? BPF_JGT : BPF_JSGT;
	default:
		return is_unsigned ? BPF_JLT : BPF_JSLT;
	}
}

static void branch_numbers(struct fsc_gen *g, struct fsc_expr *e, uint32_t yes, uint32_t no)
{
	struct fsc_val a = fsc_gen_expr(g, e->a), b;
	fsc_vr x = fsc_gen_reg(g, &a);

	if (a.kind == FSC_VAL_REG && !e->b->is_const && e->b->kind != FSC_E_VAR)
		x = fsc_ir_mov(g->f, x);
	b = fsc_gen_expr(g, e->b);
	if (b.kind == FSC_VAL_IMM)
		fsc_ir_branch_imm(g->f, jump_unless(e->op, e->is_unsigned), x, b.imm, no);
	else
		fsc_ir_branch(g->f, jump_unless(e->op, e->is_unsigned), x, fsc_gen_reg(g, &b), no);
	fsc_ir_jump(g->f, yes);
}

/* With a literal: word by word, its end included. */
static void compare_literal(struct fsc_gen *g, const struct fsc_val *v, const struct fsc_expr *text,
			    uint64_t n, uint32_t equal, uint32_t differs)
{
	for (uint64_t at = 0; at < n;) {
		unsigned step = 8;
		int64_t word = 0;
		fsc_vr r;

		while (at + step > n || (v->off + (int32_t)at) % (int)step)
			step /= 2;
		memcpy(&word, text->name + at, step);
		r = fsc_gen_mem_load(g, v, step, (int32_t)at);
		fsc_ir_branch_imm(g->f, BPF_JNE, r, word, differs);
		at += step;
	}
	fsc_ir_jump(g->f, equal);
}

static void branch_literal(struct fsc_gen *g, struct fsc_expr *e, struct fsc_expr *text,
			   uint32_t equal, uint32_t differs)
{
	struct fsc_val v = fsc_gen_expr(g, e);
	uint64_t n = strlen(text->name) + 1;

	v = fsc_gen_mem(g, &v);
	if (n > v.type->size + 1)
		fsc_ir_jump(g->f, differs);
	else
		compare_literal(g, &v, text, n > v.type->size ? v.type->size : n, equal, differs);
}

/* Byte by byte, up to limit or the end of a text. */
static void compare_loop(struct fsc_gen *g, const struct fsc_val *a, const struct fsc_val *b,
			 uint64_t limit, bool text, uint32_t equal, uint32_t differs)
{
	struct fsc_ir_func *f = g->f;
	uint32_t again = fsc_ir_label(f);
	fsc_vr i = fsc_ir_vr(f), x, y;

	fsc_ir_set_imm(f, i, 0);
	fsc_ir_place(f, again);
	fsc_ir_branch_imm(f, BPF_JGE, i, (int64_t)limit, equal);
	x = fsc_ir_load(f, 1, fsc_ir_alu(f, BPF_ADD, fsc_gen_address(g, a), i), 0);
	y = fsc_ir_load(f, 1, fsc_ir_alu(f, BPF_ADD, fsc_gen_address(g, b), i), 0);
	fsc_ir_branch(f, BPF_JNE, x, y, differs);
	if (text)
		fsc_ir_branch_imm(f, BPF_JEQ, x, 0, equal);
	fsc_ir_set(f, i, fsc_ir_alu_imm(f, BPF_ADD, i, 1));
	fsc_ir_jump(f, again);
}

void fsc_gen_compare_memory(struct fsc_gen *g, const struct fsc_val *a, const struct fsc_val *b,
			    uint32_t equal, uint32_t differs)
{
	uint64_t n = a->type->size < b->type->size ? a->type->size : b->type->size;

	if (a->type->kind == FSC_V_TUPLE) {
		for (size_t i = 0; i < a->type->n_fields; i++) {
			struct fsc_val x =
			    fsc_val_part(a, a->type->fields[i].type, a->type->fields[i].offset);
			struct fsc_val y =
			    fsc_val_part(b, b->type->fields[i].type, b->type->fields[i].offset);
			uint32_t next = fsc_ir_label(g->f);

			if (fsc_vt_is_number(x.type)) {
				fsc_vr r = fsc_gen_reg(g, &x);

				fsc_ir_branch(g->f, BPF_JNE, r, fsc_gen_reg(g, &y), differs);
			} else {
				fsc_gen_compare_memory(g, &x, &y, next, differs);
			}
			fsc_ir_place(g->f, next);
		}
		fsc_ir_jump(g->f, equal);
		return;
	}
	compare_loop(g, a, b, n, a->type->kind == FSC_V_STRING, equal, differs);
}

fsc_vr fsc_gen_strncmp(struct fsc_gen *g, const struct fsc_val *a, const struct fsc_val *b,
		       uint64_t n)
{
	uint32_t equal = fsc_ir_label(g->f), differs = fsc_ir_label(g->f), end = fsc_ir_label(g->f);
	fsc_vr r = fsc_ir_vr(g->f);

	if (n > a->type->size)
		n = a->type->size;
	if (n > b->type->size)
		n = b->type->size;
	compare_loop(g, a, b, n, true, equal, differs);
	fsc_ir_place(g->f, equal);
	fsc_ir_set_imm(g->f, r, 0);
	fsc_ir_jump(g->f, end);
	fsc_ir_place(g->f, differs);
	fsc_ir_set_imm(g->f, r, 1);
	fsc_ir_place(g->f, end);
	return r;
}

static void branch_memory(struct fsc_gen *g, struct fsc_expr *e, uint32_t yes, uint32_t no)
{
	bool same = e->op == FSC_T_EQ;
	struct fsc_val a, b;

	if (e->b->kind == FSC_E_STRING) {
		branch_literal(g, e->a, e->b, same ? yes : no, same ? no : yes);
		return;
	}
	if (e->a->kind == FSC_E_STRING) {
		branch_literal(g, e->b, e->a, same ? yes : no, same ? no : yes);
		return;
	}
	a = fsc_gen_expr(g, e->a);
	a = fsc_gen_mem(g, &a);
	b = fsc_gen_expr(g, e->b);
	b = fsc_gen_mem(g, &b);
	fsc_gen_compare_memory(g, &a, &b, same ? yes : no, same ? no : yes);
}

static bool is_comparison(const struct fsc_expr *e)
{
	return e->kind == FSC_E_BINARY && (e->op == FSC_T_EQ || e->op == FSC_T_NE || e->op == '<' ||
					   e->op == '>' || e->op == FSC_T_LE || e->op == FSC_T_GE);
}

static void branch_value(struct fsc_gen *g, struct fsc_expr *e, uint32_t yes, uint32_t no)
{
	struct fsc_val v = fsc_gen_expr(g, e);
	fsc_vr r;

	if (v.type->kind == FSC_V_STRING) {
		v = fsc_gen_mem(g, &v);
		r = fsc_gen_mem_load(g, &v, 1, 0);
	} else {
		r = fsc_gen_reg(g, &v);
	}
	fsc_ir_branch_imm(g->f, BPF_JEQ, r, 0, no);
	fsc_ir_jump(g->f, yes);
}

/* Jumps to either label; best where `yes` is placed next. */
void fsc_gen_branch(struct fsc_gen *g, struct fsc_expr *e, uint32_t yes, uint32_t no)
{
	struct fsc_loc before = g->f->at;

	g->f->at = e->at;
	if (e->is_const)
		fsc_ir_jump(g->f, e->value ? yes : no);
	else if (e->kind == FSC_E_LOGIC)
		branch_logic(g, e, yes, no);
	else if (e->kind == FSC_E_UNARY && e->op == '!')
		fsc_gen_branch(g, e->a, no, yes);
	else if (is_comparison(e) && fsc_vt_is_number(e->a->type))
		branch_numbers(g, e, yes, no);
	else if (is_comparison(e))
		branch_memory(g, e, yes, no);
	else
		branch_value(g, e, yes, no);
	g->f->at = before;
}
