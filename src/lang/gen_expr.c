/* Expressions. */
#include <string.h>

#include <linux/bpf.h>

#include "lang/gen.h"

static struct fsc_val expr_int(struct fsc_gen *g, struct fsc_expr *e)
{
	(void)g;
	return fsc_val_imm(e->type, (int64_t)e->value);
}

static struct fsc_val expr_var(struct fsc_gen *g, struct fsc_expr *e)
{
	return fsc_gen_var_place(g, e->var);
}

static struct fsc_val expr_builtin(struct fsc_gen *g, struct fsc_expr *e)
{
	const struct fsc_builtin_gen *b = e->builtin->gen;
	struct fsc_val temp;

	if (b->value)
		return b->value(g, e);
	temp = fsc_gen_temp(g, e->type);
	b->into(g, e, &temp);
	return temp;
}

static struct fsc_val expr_text(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val temp = fsc_gen_temp(g, e->type);

	fsc_gen_into(g, e, &temp);
	return temp;
}

/* An unsigned quotient or rest. By a power of two it is a shift or a mask: the verifier, too, can
 * compute those, and so sees the ends of loops. */
static fsc_vr divide_unsigned(struct fsc_gen *g, int op, fsc_vr a, const struct fsc_val *b)
{
	if (b->kind == FSC_VAL_IMM && b->imm > 0 && !(b->imm & (b->imm - 1)))
		return op == '/'
			   ? fsc_ir_alu_imm(g->f, BPF_RSH, a, __builtin_ctzll((uint64_t)b->imm))
			   : fsc_ir_alu_imm(g->f, BPF_AND, a, b->imm - 1);
	if (b->kind == FSC_VAL_IMM && b->imm == (int32_t)b->imm && b->imm > 0)
		return fsc_ir_alu_imm(g->f, op == '/' ? BPF_DIV : BPF_MOD, a, b->imm);
	return fsc_ir_alu(g->f, op == '/' ? BPF_DIV : BPF_MOD, a, fsc_gen_reg(g, b));
}

static void negate_below_zero(struct fsc_gen *g, fsc_vr sign, fsc_vr v)
{
	uint32_t ok = fsc_ir_label(g->f);
	struct fsc_ir *neg;

	fsc_ir_branch_imm(g->f, BPF_JSGE, sign, 0, ok);
	neg = fsc_ir_push(g->f, FSC_IR_NEG);
	neg->a = neg->dst = v;
	fsc_ir_place(g->f, ok);
}

/* Signed division, which BPF has only lately: of the absolute values, with the sign put back. */
static fsc_vr divide_signed(struct fsc_gen *g, int op, fsc_vr a, const struct fsc_val *b)
{
	struct fsc_ir_func *f = g->f;
	fsc_vr x = fsc_ir_mov(f, a), sign = a, result;
	struct fsc_val y = *b;

	negate_below_zero(g, x, x);
	if (b->kind != FSC_VAL_IMM || b->imm <= 0) {
		y = fsc_val_reg(b->type, fsc_ir_mov(f, fsc_gen_reg(g, b)));
		if (op == '/')
			sign = fsc_ir_alu(f, BPF_XOR, a, y.vr);
		negate_below_zero(g, y.vr, y.vr);
	}
	result = fsc_ir_mov(f, divide_unsigned(g, op, x, &y));
	negate_below_zero(g, sign, result);
	return result;
}

/* By 0 the result is 1, and a warning is sent. */
static fsc_vr divide(struct fsc_gen *g, int op, bool is_unsigned, fsc_vr a, const struct fsc_val *b)
{
	uint32_t zero = fsc_ir_label(g->f), end = fsc_ir_label(g->f);
	struct fsc_val by = *b;
	fsc_vr result;

	if (b->kind == FSC_VAL_IMM && b->imm)
		return is_unsigned ? divide_unsigned(g, op, a, b) : divide_signed(g, op, a, b);
	by = fsc_val_reg(b->type, fsc_gen_reg(g, b));
	result = fsc_ir_vr(g->f);
	fsc_ir_branch_imm(g->f, BPF_JEQ, by.vr, 0, zero);
	fsc_ir_set(g->f, result,
		   is_unsigned ? divide_unsigned(g, op, a, &by) : divide_signed(g, op, a, &by));
	fsc_ir_jump(g->f, end);
	fsc_ir_place(g->f, zero);
	fsc_gen_warning(g,
			"Divide or modulo by 0 detected. This can lead to unexpected results. 1 is "
			"being used as the result.");
	fsc_ir_set_imm(g->f, result, 1);
	fsc_ir_place(g->f, end);
	return result;
}

static int alu_of(int op, bool is_unsigned)
{
	switch (op) {
	case '+':
		return BPF_ADD;
	case '-':
		return BPF_SUB;
	case '*':
		return BPF_MUL;
	case '/':
		return BPF_DIV;
	case '%':
		return BPF_MOD;
	case '&':
		return BPF_AND;
	case '|':
		return BPF_OR;
	case '^':
		return BPF_XOR;
	case FSC_T_SHL:
		return BPF_LSH;
	default:
		return is_unsigned ? BPF_RSH : BPF_ARSH;
	}
}

struct fsc_val fsc_gen_arith(struct fsc_gen *g, int op, const struct fsc_vtype *t, bool is_unsigned,
			     struct fsc_val a, struct fsc_val b)
{
	fsc_vr x = fsc_gen_reg(g, &a);
	bool is_shift = op == FSC_T_SHL || op == FSC_T_SHR;

	if (op == '/' || op == '%')
		return fsc_val_reg(t, divide(g, op, is_unsigned, x, &b));
	if (b.kind == FSC_VAL_IMM && b.imm == (int32_t)b.imm && !is_shift)
		return fsc_val_reg(t, fsc_ir_alu_imm(g->f, alu_of(op, is_unsigned), x, b.imm));
	if (b.kind == FSC_VAL_IMM && is_shift)
		return fsc_val_reg(t, fsc_ir_alu_imm(g->f, alu_of(op, is_unsigned), x, b.imm & 63));
	return fsc_val_reg(t, fsc_ir_alu(g->f, alu_of(op, is_unsigned), x, fsc_gen_reg(g, &b)));
}

/* What one step of a pointer is. */
static int64_t pointer_step(const struct fsc_vtype *t)
{
	return t->kind == FSC_V_POINTER && t->to->size ? (int64_t)t->to->size : 1;
}

static struct fsc_val pointer_arith(struct fsc_gen *g, struct fsc_expr *e)
{
	bool left = e->a->type->kind == FSC_V_POINTER;
	struct fsc_val p = fsc_gen_expr(g, left ? e->a : e->b), n;
	int64_t step = pointer_step(left ? e->a->type : e->b->type);
	fsc_vr base = fsc_gen_reg(g, &p), by;

	n = fsc_gen_expr(g, left ? e->b : e->a);
	if (n.kind == FSC_VAL_IMM) {
		n.imm *= step;
	} else {
		by = fsc_gen_reg(g, &n);
		if (step != 1)
			n = fsc_val_reg(&fsc_vt_i64, fsc_ir_alu_imm(g->f, BPF_MUL, by, step));
		else
			n = fsc_val_reg(&fsc_vt_i64, by);
	}
	p = fsc_val_reg(e->type, base);
	return fsc_gen_arith(g, e->op, e->type, true, p, n);
}

static bool is_comparison(int op)
{
	return op == FSC_T_EQ || op == FSC_T_NE || op == '<' || op == '>' || op == FSC_T_LE ||
	       op == FSC_T_GE;
}

/* A condition as 0 or 1. */
static struct fsc_val expr_truth(struct fsc_gen *g, struct fsc_expr *e)
{
	uint32_t yes = fsc_ir_label(g->f), no = fsc_ir_label(g->f);
	fsc_vr r = fsc_ir_vr(g->f);

	fsc_ir_set_imm(g->f, r, 0);
	fsc_gen_branch(g, e, yes, no);
	fsc_ir_place(g->f, yes);
	fsc_ir_set_imm(g->f, r, 1);
	fsc_ir_place(g->f, no);
	return fsc_val_reg(&fsc_vt_bool, r);
}

/* Whether it may change a variable. */
static bool has_effects(const struct fsc_expr *e)
{
	if (!e)
		return false;
	if (e->kind == FSC_E_STEP || e->kind == FSC_E_BLOCK)
		return true;
	for (size_t i = 0; i < e->n_args; i++)
		if (has_effects(e->args[i]))
			return true;
	return has_effects(e->a) || has_effects(e->b) || has_effects(e->c);
}

static struct fsc_val expr_binary(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val a, b;

	if (is_comparison(e->op))
		return expr_truth(g, e);
	if (e->type->kind == FSC_V_POINTER)
		return pointer_arith(g, e);
	a = fsc_gen_expr(g, e->a);
	if (a.kind != FSC_VAL_IMM) {
		fsc_vr r = fsc_gen_reg(g, &a);

		a = fsc_val_reg(e->a->type, has_effects(e->b) ? fsc_ir_mov(g->f, r) : r);
	}
	b = fsc_gen_expr(g, e->b);
	a = fsc_gen_arith(g, e->op, e->type, e->is_unsigned, a, b);
	if (e->a->type->kind == FSC_V_POINTER && e->b->type->kind == FSC_V_POINTER &&
	    pointer_step(e->a->type) > 1)
		return fsc_gen_arith(g, '/', e->type, false, a,
				     fsc_val_imm(&fsc_vt_i64, pointer_step(e->a->type)));
	return a;
}

static struct fsc_val expr_logic(struct fsc_gen *g, struct fsc_expr *e)
{
	return expr_truth(g, e);
}

static struct fsc_val expr_unary(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val v;
	struct fsc_ir *i;

	if (e->op == '!')
		return expr_truth(g, e);
	v = fsc_gen_expr(g, e->a);
	if (e->op == '&')
		return fsc_val_reg(e->type, fsc_gen_address(g, &v));
	if (e->op == '*')
		return (struct fsc_val){.kind = FSC_VAL_FAR,
					.type = e->type,
					.vr = fsc_gen_reg(g, &v),
					.space = (enum fsc_v_space)e->a->type->space};
	if (e->op == '~')
		return fsc_val_reg(e->type, fsc_ir_alu_imm(g->f, BPF_XOR, fsc_gen_reg(g, &v), -1));
	v.vr = fsc_gen_reg(g, &v);
	i = fsc_ir_push(g->f, FSC_IR_NEG);
	i->a = v.vr;
	i->dst = fsc_ir_vr(g->f);
	return fsc_val_reg(e->type, i->dst);
}

static struct fsc_val expr_step(struct fsc_gen *g, struct fsc_expr *e)
{
	int64_t by = pointer_step(e->type) * (e->op == FSC_T_INC ? 1 : -1);
	struct fsc_val place, before, after;

	if (e->a->kind == FSC_E_MAP)
		return fsc_gen_map_step(g, e);
	place = fsc_gen_var_place(g, e->a->var);
	before = fsc_val_reg(e->type, fsc_ir_mov(g->f, fsc_gen_reg(g, &place)));
	after = fsc_val_reg(e->type, fsc_ir_alu_imm(g->f, BPF_ADD, before.vr, by));
	after.vr = fsc_ir_extend(g->f, after.vr, (unsigned)e->type->size, e->type->is_signed);
	if (place.kind == FSC_VAL_REG)
		fsc_ir_set(g->f, place.vr, after.vr);
	else
		fsc_gen_store(g, &place, &after);
	return e->prefix ? after : before;
}

static struct fsc_val expr_ternary(struct fsc_gen *g, struct fsc_expr *e)
{
	uint32_t yes = fsc_ir_label(g->f), no = fsc_ir_label(g->f), end = fsc_ir_label(g->f);
	bool number = fsc_vt_is_number(e->type), none = e->type->kind == FSC_V_VOID;
	struct fsc_val ret = {.type = e->type};
	fsc_vr r = number ? fsc_ir_vr(g->f) : 0;

	if (e->a->is_const && none)
		return fsc_gen_expr(g, e->a->value ? e->b : e->c);
	if (!number && !none)
		ret = fsc_gen_temp(g, e->type);
	fsc_gen_branch(g, e->a, yes, no);
	for (int k = 0; k < 2; k++) {
		struct fsc_expr *part = k ? e->c : e->b;

		fsc_ir_place(g->f, k ? no : yes);
		if (e->a->is_const && !e->a->value == !k) {
			fsc_ir_jump(g->f, end);
			continue;
		}
		if (number)
			fsc_ir_set(g->f, r, fsc_gen_number(g, part));
		else if (none)
			fsc_gen_expr(g, part);
		else
			fsc_gen_into(g, part, &ret);
		fsc_ir_jump(g->f, end);
	}
	fsc_ir_place(g->f, end);
	return number ? fsc_val_reg(e->type, r) : ret;
}

/* A member of a value that lies somewhere: nothing is read yet. */
static struct fsc_val expr_field(struct fsc_gen *g, struct fsc_expr *e)
{
	const struct fsc_vfield *f = e->more;
	struct fsc_val v, part;

	if (e->builtin)
		return expr_builtin(g, e);
	v = fsc_gen_expr(g, e->a);
	if (e->a->type->kind == FSC_V_POINTER)
		v = (struct fsc_val){.kind = FSC_VAL_FAR,
				     .vr = fsc_gen_reg(g, &v),
				     .trusted = v.trusted,
				     .space = (enum fsc_v_space)e->a->type->space};
	part = fsc_val_part(&v, f->type->kind == FSC_V_STRING ? f->type : e->type, f->offset);
	part.bits = f->bits;
	part.bit_shift = f->bit_shift;
	return part;
}

static struct fsc_val expr_nth(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val v = fsc_gen_expr(g, e->a);

	return fsc_val_part(&v, e->type, e->a->type->fields[e->value].offset);
}

static const char out_of_bounds[] =
    "Array access out of bounds. This can lead to unexpected results.";

/* An element by an index that is only known at run time, of an array that the program holds: the
 * verifier must see that it lies within. Outside it is 0. */
static struct fsc_val index_held(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *v,
				 fsc_vr n)
{
	uint32_t out = fsc_ir_label(g->f), end = fsc_ir_label(g->f);
	uint64_t count = v->type->kind == FSC_V_STRING ? v->type->size : v->type->n;
	struct fsc_val ret = fsc_gen_temp(g, e->type), element;
	fsc_vr at = fsc_ir_mov(g->f, n), base;

	fsc_gen_zero(g, &ret, 0, e->type->size);
	fsc_ir_branch_imm(g->f, BPF_JGE, at, (int64_t)count, out);
	at = fsc_ir_alu_imm(g->f, BPF_MUL, at, (int64_t)e->type->size);
	base = fsc_ir_alu(g->f, BPF_ADD, fsc_gen_address(g, v), at);
	element = fsc_val_mem(e->type, base, 0);
	if (fsc_vt_is_number(e->type))
		fsc_gen_store(g, &ret, &element);
	else
		fsc_gen_read(g, &ret, e->type->size, FSC_SPACE_KERNEL, base);
	fsc_ir_jump(g->f, end);
	fsc_ir_place(g->f, out);
	fsc_gen_warning(g, out_of_bounds);
	fsc_ir_place(g->f, end);
	return ret;
}

static struct fsc_val expr_index(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val v = fsc_gen_expr(g, e->a), n;
	fsc_vr at;

	if (e->a->type->kind == FSC_V_POINTER)
		v = (struct fsc_val){.kind = FSC_VAL_FAR,
				     .type = e->a->type,
				     .vr = fsc_ir_mov(g->f, fsc_gen_reg(g, &v)),
				     .space = (enum fsc_v_space)e->a->type->space};
	n = fsc_gen_expr(g, e->b);
	if (n.kind == FSC_VAL_IMM &&
	    n.imm * (int64_t)e->type->size == (int32_t)(n.imm * (int64_t)e->type->size))
		return fsc_val_part(&v, e->type, (uint64_t)(n.imm * (int64_t)e->type->size));
	at = fsc_gen_reg(g, &n);
	if (v.kind == FSC_VAL_MEM)
		return index_held(g, e, &v, at);
	if (e->a->type->kind == FSC_V_ARRAY && e->a->type->n) {
		uint32_t within = fsc_ir_label(g->f);

		fsc_ir_branch_imm(g->f, BPF_JLT, at, (int64_t)e->a->type->n, within);
		fsc_gen_warning(g, out_of_bounds);
		fsc_ir_place(g->f, within);
	}
	at = fsc_ir_alu_imm(g->f, BPF_MUL, at, (int64_t)e->type->size);
	v.vr = fsc_ir_alu(g->f, BPF_ADD, fsc_gen_address(g, &v), at);
	v.off = 0;
	return fsc_val_part(&v, e->type, 0);
}

static struct fsc_val expr_cast(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val v = fsc_gen_expr(g, e->a);
	const struct fsc_vtype *to = e->type, *from = e->a->type;
	fsc_vr r;

	if (to->kind == FSC_V_ARRAY && v.kind != FSC_VAL_MEM && v.kind != FSC_VAL_FAR) {
		struct fsc_val temp = fsc_gen_temp(g, to);

		fsc_gen_mem_store(g, &temp, 8, 0, fsc_gen_reg(g, &v));
		return temp;
	}
	if (to->kind == FSC_V_ARRAY || (!fsc_vt_is_number(from) && fsc_vt_is_number(to) &&
					to->kind != FSC_V_POINTER && to->kind != FSC_V_BOOL)) {
		v.type = to;
		return v;
	}
	if (to->kind == FSC_V_POINTER && !fsc_vt_is_number(from))
		return fsc_val_reg(to, fsc_gen_address(g, &v));
	if (to->kind == FSC_V_BOOL)
		return expr_truth(g, e->a);
	if (!fsc_vt_is_number(to)) {
		v.type = to;
		return v;
	}
	r = fsc_gen_reg(g, &v);
	if (to->size < from->size || (to->size == from->size && to->is_signed != from->is_signed))
		r = fsc_ir_extend(g->f, r, (unsigned)to->size, to->is_signed);
	return fsc_val_reg(to, r);
}

static struct fsc_val expr_tuple(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val temp = fsc_gen_temp(g, e->type);

	fsc_gen_into(g, e, &temp);
	return temp;
}

static struct fsc_val (*const generators[])(struct fsc_gen *g, struct fsc_expr *e) = {
    [FSC_E_INT] = expr_int,	  [FSC_E_BOOL] = expr_int,    [FSC_E_STRING] = expr_text,
    [FSC_E_NAME] = expr_builtin,  [FSC_E_VAR] = expr_var,     [FSC_E_MAP] = fsc_gen_map_read,
    [FSC_E_CALL] = expr_builtin,  [FSC_E_UNARY] = expr_unary, [FSC_E_STEP] = expr_step,
    [FSC_E_BINARY] = expr_binary, [FSC_E_LOGIC] = expr_logic, [FSC_E_TERNARY] = expr_ternary,
    [FSC_E_FIELD] = expr_field,	  [FSC_E_INDEX] = expr_index, [FSC_E_NTH] = expr_nth,
    [FSC_E_CAST] = expr_cast,	  [FSC_E_TUPLE] = expr_tuple, [FSC_E_BLOCK] = fsc_gen_block_expr,
};

struct fsc_val fsc_gen_expr(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_loc before = g->f->at;
	struct fsc_val v;

	if (e->is_const)
		return fsc_val_imm(e->type, (int64_t)e->value);
	g->f->at = e->at;
	v = generators[e->kind](g, e);
	g->f->at = before;
	return v;
}

fsc_vr fsc_gen_number(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val v = fsc_gen_expr(g, e);

	return fsc_gen_reg(g, &v);
}

/* A literal, eight bytes at a time; long ones from the map of constants. */
static void into_text(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	uint64_t size = dest->type->size, n = e->size + 1 < size ? e->size + 1 : size;

	if (n > 64) {
		uint32_t at = fsc_gen_constant(g, e->name, n);

		fsc_ir_call(g->f, BPF_FUNC_probe_read_kernel, fsc_gen_address_arg(g, dest),
			    FSC_A_IMM(n), FSC_A_MAPVAL(g->c->planner->constants, (int32_t)at));
		fsc_gen_zero(g, dest, n, size);
		return;
	}
	for (uint64_t at = 0; at < n;) {
		unsigned step = 8;
		int64_t word = 0;

		while ((dest->off + (int32_t)at) % (int)step || at + step > size)
			step /= 2;
		memcpy(&word, e->name + at, n - at < step ? n - at : step);
		fsc_gen_mem_store_imm(g, dest, step, (int32_t)at, word);
		at += step;
		n = at > n ? at : n;
	}
	fsc_gen_zero(g, dest, n, size);
}

/* The record may have its members in another order. */
static void into_record(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	const char *const *names = e->more;
	struct fsc_vfield f;

	fsc_gen_zero(g, dest, 0, dest->type->size);
	for (size_t i = 0; i < e->n_args; i++) {
		struct fsc_val part;

		if (!fsc_vt_field(g->c, dest->type, names[i], &f))
			continue;
		part = fsc_val_part(dest, f.type, f.offset);
		fsc_gen_into(g, e->args[i], &part);
	}
}

static void into_tuple(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	uint64_t end = 0;

	if (e->more) {
		into_record(g, e, dest);
		return;
	}
	for (size_t i = 0; i < e->n_args; i++) {
		const struct fsc_vfield *f = &dest->type->fields[i];
		struct fsc_val part = fsc_val_part(dest, f->type, f->offset);

		fsc_gen_zero(g, dest, end, f->offset);
		fsc_gen_into(g, e->args[i], &part);
		end = f->offset + f->type->size;
	}
	fsc_gen_zero(g, dest, end, dest->type->size);
}

void fsc_gen_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	const struct fsc_builtin_gen *b = e->builtin ? e->builtin->gen : NULL;
	struct fsc_loc before = g->f->at;
	struct fsc_val v;

	g->f->at = e->at;
	if (e->kind == FSC_E_STRING) {
		into_text(g, e, dest);
	} else if (e->kind == FSC_E_TUPLE) {
		into_tuple(g, e, dest);
	} else if (b && b->into && !e->is_const) {
		b->into(g, e, dest);
	} else {
		v = fsc_gen_expr(g, e);
		fsc_gen_store(g, dest, &v);
	}
	g->f->at = before;
}
