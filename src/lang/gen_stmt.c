/* Statements and variables. A variable that a loop's function uses lies in the program's stack
 * frame, where both can reach it; the others are registers, or memory if they are larger. */
#include <string.h>

#include <linux/bpf.h>

#include "lang/gen.h"

/* What a loop's function uses, too, lies in the frame of the program, not in that of the function.
 */
static int32_t main_frame(struct fsc_gen *g, uint64_t size)
{
	return fsc_ir_frame(*FSC_AT(struct fsc_ir_func *, &g->funcs, 0), size);
}

static void var_new(struct fsc_gen *g, struct fsc_scope_var *v)
{
	v->val = FSC_NEW(&g->c->temp, struct fsc_val);
	if (v->captured && v->type->size <= 64)
		*v->val = fsc_val_mem(v->type, 0, main_frame(g, v->type->size ? v->type->size : 8));
	else if (!fsc_vt_is_number(v->type) || v->in_memory)
		*v->val = fsc_gen_temp(g, v->type);
	else
		*v->val = fsc_val_reg(v->type, fsc_ir_vr(g->f));
}

/* Seen from the function that is being generated. */
struct fsc_val fsc_gen_var_place(struct fsc_gen *g, struct fsc_scope_var *v)
{
	struct fsc_val seen;

	if (!v->val)
		var_new(g, v);
	seen = *v->val;
	if (seen.kind == FSC_VAL_MEM && seen.vr)
		seen.vr = g->scratch;
	else if (seen.kind == FSC_VAL_MEM && v->captured && g->in_func)
		seen.vr = g->outer;
	return seen;
}

/* Whether a value of one type needs no cutting to be one of the other. */
static bool fits(const struct fsc_vtype *from, const struct fsc_vtype *to)
{
	if (from->is_signed == to->is_signed)
		return from->size <= to->size;
	return to->is_signed && from->size < to->size;
}

static void var_set(struct fsc_gen *g, struct fsc_scope_var *v, struct fsc_expr *e)
{
	struct fsc_val place = fsc_gen_var_place(g, v), value;
	fsc_vr r;

	if (place.kind != FSC_VAL_REG && !fsc_vt_is_number(v->type)) {
		fsc_gen_into(g, e, &place);
		return;
	}
	value = fsc_gen_expr(g, e);
	if (place.kind == FSC_VAL_MEM) {
		fsc_gen_store(g, &place, &value);
		return;
	}
	if (value.kind == FSC_VAL_IMM) {
		int shift = 64 - 8 * (int)v->type->size;
		uint64_t cut = (uint64_t)value.imm << shift;

		fsc_ir_set_imm(g->f, place.vr,
			       v->type->is_signed ? (int64_t)cut >> shift
						  : (int64_t)(cut >> shift));
		return;
	}
	r = fsc_gen_reg(g, &value);
	if (v->type->size < 8 && !fits(value.type, v->type))
		r = fsc_ir_extend(g->f, r, (unsigned)v->type->size, v->type->is_signed);
	fsc_ir_set(g->f, place.vr, r);
}

static void stmt_let(struct fsc_gen *g, struct fsc_stmt *s)
{
	struct fsc_val place = fsc_gen_var_place(g, s->var);

	if (s->expr)
		var_set(g, s->var, s->expr);
	else if (place.kind == FSC_VAL_REG)
		fsc_ir_set_imm(g->f, place.vr, 0);
	else
		fsc_gen_zero(g, &place, 0, place.type->size > 8 ? place.type->size : 8);
}

/* $x op= value */
static void assign_var_op(struct fsc_gen *g, struct fsc_stmt *s)
{
	struct fsc_scope_var *v = s->var;
	struct fsc_val place = fsc_gen_var_place(g, v), value = fsc_gen_expr(g, s->expr), made;
	bool is_unsigned = !v->type->is_signed;

	if (v->type->kind == FSC_V_POINTER && v->type->to->size > 1)
		value = fsc_gen_arith(g, '*', &fsc_vt_i64, true, value,
				      fsc_val_imm(&fsc_vt_i64, (int64_t)v->type->to->size));
	made = fsc_gen_arith(g, s->op, v->type, is_unsigned, place, value);
	made.vr = fsc_ir_extend(g->f, made.vr, (unsigned)v->type->size, v->type->is_signed);
	if (place.kind == FSC_VAL_REG)
		fsc_ir_set(g->f, place.vr, made.vr);
	else
		fsc_gen_store(g, &place, &made);
}

static void stmt_assign(struct fsc_gen *g, struct fsc_stmt *s)
{
	if (s->to->kind == FSC_E_MAP)
		fsc_gen_map_assign(g, s);
	else if (s->op)
		assign_var_op(g, s);
	else
		var_set(g, s->var, s->expr);
}

static void stmt_if(struct fsc_gen *g, struct fsc_stmt *s)
{
	uint32_t yes = fsc_ir_label(g->f), no = fsc_ir_label(g->f), end = fsc_ir_label(g->f);

	if (s->expr->is_const) {
		if (s->expr->value)
			fsc_gen_block(g, s->body);
		else if (s->other)
			fsc_gen_block(g, s->other);
		return;
	}
	fsc_gen_branch(g, s->expr, yes, no);
	fsc_ir_place(g->f, yes);
	fsc_gen_block(g, s->body);
	if (s->other)
		fsc_ir_jump(g->f, end);
	fsc_ir_place(g->f, no);
	if (s->other)
		fsc_gen_block(g, s->other);
	fsc_ir_place(g->f, end);
}

static void stmt_while(struct fsc_gen *g, struct fsc_stmt *s)
{
	struct fsc_loop loop = {
	    .up = g->loop, .next = fsc_ir_label(g->f), .end = fsc_ir_label(g->f)};
	uint32_t body = fsc_ir_label(g->f);

	g->loop = &loop;
	fsc_ir_place(g->f, loop.next);
	fsc_gen_branch(g, s->expr, body, loop.end);
	fsc_ir_place(g->f, body);
	fsc_gen_block(g, s->body);
	fsc_ir_jump(g->f, loop.next);
	fsc_ir_place(g->f, loop.end);
	g->loop = loop.up;
}

static void stmt_jump(struct fsc_gen *g, struct fsc_stmt *s)
{
	bool is_break = s->kind == FSC_S_BREAK;

	if (g->loop && !g->loop->is_func)
		fsc_ir_jump(g->f, is_break ? g->loop->end : g->loop->next);
	else
		fsc_ir_exit(g->f, is_break);
}

/* Leaves the probe, from within a loop's function by way of the program that called it. */
void fsc_gen_return(struct fsc_gen *g)
{
	if (!g->in_func) {
		fsc_ir_jump(g->f, g->end);
		return;
	}
	g->may_return = true;
	fsc_ir_store_imm(g->f, 8, g->outer, g->return_slot, 1);
	fsc_ir_exit(g->f, 1);
}

static void stmt_return(struct fsc_gen *g, struct fsc_stmt *s)
{
	struct fsc_val value;

	if (!g->inlined) {
		if (s->expr)
			fsc_gen_expr(g, s->expr);
		fsc_gen_return(g);
		return;
	}
	if (s->expr && fsc_vt_is_number(s->expr->type) && g->inlined->result.kind == FSC_VAL_REG) {
		value = fsc_gen_expr(g, s->expr);
		fsc_ir_set(g->f, g->inlined->result.vr, fsc_gen_reg(g, &value));
	} else if (s->expr && g->inlined->result.kind == FSC_VAL_MEM) {
		fsc_gen_into(g, s->expr, &g->inlined->result);
	}
	fsc_ir_jump(g->f, g->inlined->end);
}

static void stmt_unroll(struct fsc_gen *g, struct fsc_stmt *s)
{
	for (uint64_t i = 0; i < s->expr->value; i++)
		fsc_gen_block(g, s->body);
}

static void stmt_one(struct fsc_gen *g, struct fsc_stmt *s)
{
	switch (s->kind) {
	case FSC_S_EXPR:
	case FSC_S_DISCARD:
		fsc_gen_expr(g, s->expr);
		break;
	case FSC_S_LET:
		stmt_let(g, s);
		break;
	case FSC_S_ASSIGN:
		stmt_assign(g, s);
		break;
	case FSC_S_IF:
		stmt_if(g, s);
		break;
	case FSC_S_WHILE:
		stmt_while(g, s);
		break;
	case FSC_S_FOR_RANGE:
	case FSC_S_FOR_MAP:
		fsc_gen_for(g, s);
		break;
	case FSC_S_UNROLL:
		stmt_unroll(g, s);
		break;
	case FSC_S_RETURN:
		stmt_return(g, s);
		break;
	case FSC_S_BLOCK:
		fsc_gen_block(g, s->body);
		break;
	default:
		stmt_jump(g, s);
	}
}

/* Memory of a statement's values is free behind it; a variable's, behind its block. Variables that
 * a statement makes get theirs before anything else. */
static void stmts_run(struct fsc_gen *g, struct fsc_stmt *s)
{
	for (; s; s = s->next) {
		int32_t frame;
		uint32_t scratch;

		g->f->at = s->at;
		s->made = s->var && !s->var->val && s->var->type && s->kind != FSC_S_FOR_RANGE &&
			  s->kind != FSC_S_FOR_MAP;
		if (s->made)
			fsc_gen_var_place(g, s->var);
		frame = g->f->frame;
		scratch = g->scratch_used;
		stmt_one(g, s);
		g->f->frame = frame;
		g->scratch_used = scratch;
	}
}

/* A block may be generated again (unroll), in another place. */
static void stmts_forget(struct fsc_stmt *s)
{
	for (; s; s = s->next)
		if (s->made)
			s->var->val = NULL;
}

void fsc_gen_block(struct fsc_gen *g, struct fsc_stmt *s)
{
	int32_t frame = g->f->frame;
	uint32_t scratch = g->scratch_used;
	struct fsc_loc at = g->f->at;

	stmts_run(g, s);
	stmts_forget(s);
	g->f->at = at;
	g->f->frame = frame;
	g->scratch_used = scratch;
}

static struct fsc_val block_inlined(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_inline in = {.up = g->inlined, .end = fsc_ir_label(g->f)};

	in.result = (struct fsc_val){.type = e->type};
	if (fsc_vt_is_number(e->type)) {
		in.result = fsc_val_reg(e->type, fsc_ir_vr(g->f));
		fsc_ir_set_imm(g->f, in.result.vr, 0);
	} else if (e->type->kind != FSC_V_VOID) {
		in.result = fsc_gen_temp(g, e->type);
		fsc_gen_zero(g, &in.result, 0, e->type->size);
	}
	g->inlined = &in;
	stmts_run(g, e->body);
	g->inlined = in.up;
	fsc_ir_place(g->f, in.end);
	stmts_forget(e->body);
	return in.result;
}

/* Its value may lie in its variables: their memory stays until the statement's end. */
struct fsc_val fsc_gen_block_expr(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val v = {.type = &fsc_vt_void};

	if (e->called)
		return block_inlined(g, e);
	stmts_run(g, e->body);
	if (e->a)
		v = fsc_gen_expr(g, e->a);
	stmts_forget(e->body);
	return v;
}

void fsc_gen_block_with(struct fsc_gen *g, struct fsc_expr *e, struct fsc_stmt *assign)
{
	struct fsc_stmt inner = *assign;

	inner.expr = e->a;
	stmts_run(g, e->body);
	fsc_gen_map_assign(g, &inner);
	stmts_forget(e->body);
}
