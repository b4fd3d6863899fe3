/* Operators between two values. Arithmetic is C's, with 64 bits: unsigned if one side is an
 * unsigned number of 64 bits that the other's sign does not reach. */
#include <string.h>

#include "lang/check.h"

void fsc_check_binary(struct fsc_lang *c, struct fsc_expr *e);

static bool is_comparison(int op)
{
	return op == FSC_T_EQ || op == FSC_T_NE || op == '<' || op == '>' || op == FSC_T_LE ||
	       op == FSC_T_GE;
}

static const char *op_name(struct fsc_lang *c, int op)
{
	struct fsc_token t = {.kind = op};

	return fsc_token_name(c, &t);
}

static bool both_signed(const struct fsc_expr *a, const struct fsc_expr *b)
{
	const struct fsc_vtype *ta = a->type, *tb = b->type;

	if (a->is_const && (int64_t)a->value >= 0)
		return tb->is_signed || b->is_const;
	if (b->is_const && (int64_t)b->value >= 0)
		return ta->is_signed;
	if (ta->is_signed == tb->is_signed)
		return ta->is_signed;
	return (ta->is_signed ? tb : ta)->size < 8;
}

static uint64_t fold_divide(int op, uint64_t a, uint64_t b, bool is_signed)
{
	if (!is_signed)
		return op == '/' ? a / b : a % b;
	if (b == UINT64_MAX)
		return op == '/' ? 0 - a : 0;
	return (uint64_t)(op == '/' ? (int64_t)a / (int64_t)b : (int64_t)a % (int64_t)b);
}

static uint64_t fold(int op, uint64_t a, uint64_t b, bool is_signed)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '/':
	case '%':
		return fold_divide(op, a, b, is_signed);
	case '&':
		return a & b;
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	case FSC_T_SHL:
		return a << (b & 63);
	case FSC_T_SHR:
		return is_signed ? (uint64_t)(sa >> (b & 63)) : a >> (b & 63);
	case FSC_T_EQ:
		return a == b;
	case FSC_T_NE:
		return a != b;
	case '<':
		return is_signed ? sa < sb : a < b;
	case '>':
		return is_signed ? sa > sb : a > b;
	case FSC_T_LE:
		return is_signed ? sa <= sb : a <= b;
	default:
		return is_signed ? sa >= sb : a >= b;
	}
}

/* A difference is signed, and whatever has a signed side: only a literal takes the other's sign. */
static bool result_signed(const struct fsc_expr *e, bool is_signed)
{
	bool a = e->a->type->is_signed, b = e->b->type->is_signed;

	if (e->op == '-')
		return true;
	if (e->op == FSC_T_SHL || e->op == FSC_T_SHR)
		return a;
	if (e->a->is_const && !e->b->is_const && (int64_t)e->a->value >= 0)
		return b;
	if (e->b->is_const && !e->a->is_const && (int64_t)e->b->value >= 0)
		return a;
	return is_signed || a || b;
}

static void binary_ints(struct fsc_lang *c, struct fsc_expr *e)
{
	bool is_signed = both_signed(e->a, e->b);
	enum fsc_v_space space = e->a->type->space == e->b->type->space || e->b->is_const
				     ? (enum fsc_v_space)e->a->type->space
				     : FSC_SPACE_NONE;

	if (e->op == FSC_T_SHR || e->op == FSC_T_SHL)
		is_signed = e->a->type->is_signed;
	e->type =
	    is_comparison(e->op)
		? &fsc_vt_bool
		: fsc_vt_in(c, result_signed(e, is_signed) ? &fsc_vt_i64 : &fsc_vt_u64, space);
	e->is_unsigned = !is_signed;
	if ((e->op == '/' || e->op == '%') && e->b->is_const && !e->b->value)
		fsc_lang_fail(c, e->at, "the divisor is 0");
	if (e->a->is_const && e->b->is_const && e->a->type->kind != FSC_V_POINTER)
		fsc_expr_const(e, e->type, fold(e->op, e->a->value, e->b->value, is_signed));
}

static void binary_pointers(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_vtype *a = e->a->type, *b = e->b->type;

	e->is_unsigned = true;
	if (is_comparison(e->op) || e->op == FSC_T_AND) {
		e->type = &fsc_vt_bool;
		return;
	}
	if (a->kind == FSC_V_POINTER && b->kind == FSC_V_POINTER && e->op != '-')
		fsc_lang_fail(c, e->at, "The %s operator can not be used on two pointers",
			      op_name(c, e->op));
	if (a->kind == FSC_V_POINTER && b->kind == FSC_V_POINTER) {
		e->type = &fsc_vt_i64;
		return;
	}
	if ((e->op != '+' && e->op != '-') || (e->op == '-' && b->kind == FSC_V_POINTER)) {
		/* Masks and the like make a number of it. */
		if (e->op == '-')
			fsc_lang_fail(c, e->at, "a pointer cannot be subtracted from a number");
		e->type = fsc_vt_in(c, &fsc_vt_u64, a->kind == FSC_V_POINTER ? a->space : b->space);
		return;
	}
	e->type = a->kind == FSC_V_POINTER ? a : b;
	if (e->type->to->kind == FSC_V_RECORD)
		fsc_vt_complete(c, e->type->to);
}

static bool is_text(const struct fsc_vtype *t)
{
	return t->kind == FSC_V_STRING;
}

static void binary_memory(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_vtype *a = e->a->type, *b = e->b->type;

	e->type = &fsc_vt_bool;
	if (is_text(a) && is_text(b) && is_comparison(e->op)) {
		if (e->op != FSC_T_EQ && e->op != FSC_T_NE)
			fsc_lang_fail(
			    c, e->at,
			    "The %s operator can not be used on expressions of type 'string'",
			    op_name(c, e->op));
		if (e->a->kind == FSC_E_STRING && e->b->kind == FSC_E_STRING)
			fsc_expr_const(e, &fsc_vt_bool,
				       (strcmp(e->a->name, e->b->name) == 0) ==
					   (e->op == FSC_T_EQ));
		return;
	}
	if ((e->op == FSC_T_EQ || e->op == FSC_T_NE) && a->kind == b->kind &&
	    (a->kind == FSC_V_ARRAY || a->kind == FSC_V_TUPLE || a->kind == FSC_V_BUFFER ||
	     a->kind == FSC_V_MAC || a->kind == FSC_V_INET) &&
	    (a->kind == FSC_V_TUPLE ? fsc_vt_merge(c, a, b, true) != NULL : a->size == b->size))
		return;
	fsc_lang_fail(c, e->at, "Type mismatch for %s: comparing '%s' with '%s'", op_name(c, e->op),
		      fsc_vt_name(c, a), fsc_vt_name(c, b));
}

/* $1 + 2 of a parameter that is a text is its end from there on. */
static bool param_offset(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_expr *a = e->a, *b = e->b;

	if (e->op != '+' || !a->positional || a->kind != FSC_E_STRING || !b->is_const)
		return false;
	if (b->value > a->size)
		fsc_lang_fail(c, e->at, "cannot use offset that exceeds string size (%llu > %zu)",
			      (unsigned long long)b->value, a->size);
	fsc_expr_text(c, e, a->name + b->value, a->size - b->value);
	return true;
}

void fsc_check_binary(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_check_value(c, e->a);
	fsc_check_value(c, e->b);
	e->type = is_comparison(e->op) ? &fsc_vt_bool : NULL;
	if (!e->a->type || !e->b->type)
		return;
	if (param_offset(c, e))
		return;
	if (fsc_vt_is_integer(e->a->type) && fsc_vt_is_integer(e->b->type))
		binary_ints(c, e);
	else if (fsc_vt_is_number(e->a->type) && fsc_vt_is_number(e->b->type))
		binary_pointers(c, e);
	else
		binary_memory(c, e);
}
