/* Tree to operations: C's conversions, and an order of evaluation that keeps the machine's stack
 * small. Expressions have no side effects, so the operand that needs more room goes first; with
 * that, eight places are enough for any program that fits. */
#include "probe/expr.h"

#include <errno.h>
#include <string.h>

/* By how much an operation changes the height of the stack. */
static int stack_effect(enum fsc_op_code code)
{
	if (code < FSC_OP_CAST)
		return 1;
	return code < FSC_OP_ADD ? 0 : -1;
}

static void note_need(struct fsc_gen *g, enum fsc_op_code code, uint32_t arg)
{
	static const uint32_t needs[FSC_OP_MAX] = {
	    [FSC_OP_ARG] = FSC_NEED_ARGS,	[FSC_OP_FIELD] = FSC_NEED_RECORD,
	    [FSC_OP_ADDRESS] = FSC_NEED_RECORD, [FSC_OP_DYNAMIC] = FSC_NEED_RECORD,
	    [FSC_OP_REG] = FSC_NEED_REGS,
	};

	g->prog->needs |= needs[code];
	if (code == FSC_OP_VAR && arg == FSC_VAR_RETVAL)
		g->prog->needs |= FSC_NEED_RETVAL;
	if (code == FSC_OP_VAR && arg == FSC_VAR_DURATION)
		g->prog->needs |= FSC_NEED_DURATION | FSC_NEED_RETVAL;
}

int fsc_gen_emit(struct fsc_gen *g, enum fsc_op_code code, unsigned size, uint32_t arg,
		 uint64_t imm)
{
	struct fsc_trace_prog *p = g->prog;

	if (p->n_ops >= FSC_TRACE_OPS)
		return fsc_err_usage(g->err,
				     "predicate and values together need more than %d operations; "
				     "shorten them or use two probes",
				     FSC_TRACE_OPS);
	g->depth = (unsigned)((int)g->depth + stack_effect(code));
	if (g->depth > FSC_TRACE_DEPTH)
		return fsc_err_usage(g->err, "an expression is nested too deeply to be evaluated "
					     "in the kernel; shorten it");
	note_need(g, code, arg);
	p->ops[p->n_ops++] =
	    (struct fsc_op){.code = (__u16)code, .size = (__u16)size, .arg = arg, .imm = imm};
	return 0;
}

static const struct fsc_node *node_at(const struct fsc_gen *g, uint32_t node)
{
	return FSC_AT(struct fsc_node, &g->tree->nodes, node);
}

/* How many places of the stack the node needs. */
static unsigned room_needed(const struct fsc_gen *g, uint32_t node)
{
	const struct fsc_node *n = node_at(g, node);
	unsigned a, b, c;

	if (n->kind <= FSC_NODE_FIELD)
		return 1;
	a = room_needed(g, n->a);
	if (n->kind == FSC_NODE_COND) {
		b = room_needed(g, n->b);
		c = room_needed(g, n->c);
		b = b > c ? b : c;
		return a > b ? a : b;
	}
	if (n->kind == FSC_NODE_AND || n->kind == FSC_NODE_OR) {
		b = room_needed(g, n->b);
		return a > b ? a : b;
	}
	if (n->kind != FSC_NODE_BINARY && n->kind != FSC_NODE_INDEX)
		return a;
	b = room_needed(g, n->b);
	return a == b ? a + 1 : a > b ? a : b;
}

/* The size of what a pointer points to; 1 where it is unknown or nothing. */
static unsigned pointer_step(const struct fsc_ctype *t)
{
	struct fsc_ctype to = *t;

	if (!t->pointers)
		return 1;
	to.pointers--;
	return fsc_ctype_size(&to) ? fsc_ctype_size(&to) : 1;
}

/* The type of a op b, and the size field its operation gets. */
static struct fsc_ctype result_type(const struct fsc_node *n, const struct fsc_operand *a,
				    const struct fsc_operand *b, unsigned *how)
{
	struct fsc_ctype t = fsc_ctype_common(&a->type, &b->type);

	if (n->op == FSC_OP_SHL || n->op == FSC_OP_SHR)
		t = fsc_ctype_promote(&a->type);
	*how = fsc_ctype_how(&t);
	if (n->op >= FSC_OP_EQ && n->op <= FSC_OP_LE)
		return (struct fsc_ctype){.size = 4, .is_signed = true};
	if (n->op == FSC_OP_ADD && a->type.pointers)
		return a->type;
	if (n->op == FSC_OP_ADD && b->type.pointers)
		return b->type;
	if (n->op == FSC_OP_SUB && a->type.pointers && !b->type.pointers)
		return a->type;
	if (n->op == FSC_OP_SUB && a->type.pointers)
		return (struct fsc_ctype){.size = 8, .is_signed = true};
	return t;
}

static int gen_difference(struct fsc_gen *g, const struct fsc_ctype *pointer)
{
	int rc;

	if (pointer_step(pointer) == 1)
		return 0;
	rc = fsc_gen_emit(g, FSC_OP_CONST, 8, 0, pointer_step(pointer));
	return rc ? rc : fsc_gen_emit(g, FSC_OP_DIV, 8 | FSC_OP_SIGNED, 0, 0);
}

/* Both operands, the one that needs more room first. */
static int gen_operands(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *a,
			struct fsc_operand *b, bool *reversed)
{
	int rc;

	*reversed = room_needed(g, n->b) > room_needed(g, n->a);
	rc = *reversed ? fsc_gen_value(g, n->b, b) : fsc_gen_value(g, n->a, a);
	if (rc)
		return rc;
	return *reversed ? fsc_gen_value(g, n->a, a) : fsc_gen_value(g, n->b, b);
}

static int gen_binary(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret)
{
	struct fsc_operand a, b;
	bool reversed;
	uint64_t by = 1; /* pointers move by what they point to */
	unsigned how;
	int rc = gen_operands(g, n, &a, &b, &reversed);

	if (rc)
		return rc;
	*ret = (struct fsc_operand){.type = result_type(n, &a, &b, &how), .user = a.user || b.user};
	reversed ^= n->swap;
	if (!a.type.pointers && b.type.pointers && n->op == FSC_OP_ADD) {
		reversed = !reversed;
		by = pointer_step(&b.type);
	} else if (a.type.pointers && !b.type.pointers) {
		by = pointer_step(&a.type);
	}
	rc = fsc_gen_emit(g, n->op, how | (reversed ? FSC_OP_SWAP : 0), 0, by);
	if (!rc && n->op == FSC_OP_SUB && a.type.pointers && b.type.pointers)
		rc = gen_difference(g, &a.type);
	return rc;
}

static int gen_unary(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret)
{
	const struct fsc_node *of = node_at(g, n->a);
	int rc;

	if (n->op == FSC_OP_NEG && of->kind == FSC_NODE_NUMBER && of->type.is_signed) {
		*ret = (struct fsc_operand){.type = of->type};
		return fsc_gen_emit(g, FSC_OP_CONST, fsc_ctype_how(&of->type), 0, -of->number);
	}
	rc = fsc_gen_value(g, n->a, ret);
	if (rc)
		return rc;
	ret->type = n->op == FSC_OP_NOT ? (struct fsc_ctype){.size = 4, .is_signed = true}
					: fsc_ctype_promote(&ret->type);
	return fsc_gen_emit(g, n->op, fsc_ctype_how(&ret->type), 0, 0);
}

/* a && b, a || b: b is skipped where a decides. */
static int gen_logical(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret)
{
	uint32_t jump;
	int rc = fsc_gen_value(g, n->a, ret);

	jump = g->prog->n_ops;
	if (!rc)
		rc = fsc_gen_emit(g, n->kind == FSC_NODE_AND ? FSC_OP_ANDIF : FSC_OP_ORIF, 8, 0, 0);
	if (!rc)
		rc = fsc_gen_value(g, n->b, ret);
	if (!rc)
		rc = fsc_gen_emit(g, FSC_OP_BOOL, 8, 0, 0);
	if (rc)
		return rc;
	g->prog->ops[jump].arg = g->prog->n_ops;
	*ret = (struct fsc_operand){.type = {.size = 4, .is_signed = true}};
	return 0;
}

static int gen_conditional(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret)
{
	struct fsc_operand a, b;
	uint32_t jump, end;
	int rc = fsc_gen_value(g, n->a, &a);

	jump = g->prog->n_ops;
	if (!rc)
		rc = fsc_gen_emit(g, FSC_OP_JZERO, 8, 0, 0);
	if (!rc)
		rc = fsc_gen_value(g, n->b, &a);
	end = g->prog->n_ops;
	if (!rc)
		rc = fsc_gen_emit(g, FSC_OP_JUMP, 8, 0, 0);
	if (rc)
		return rc;
	g->prog->ops[jump].arg = g->prog->n_ops;
	g->depth--;
	rc = fsc_gen_value(g, n->c, &b);
	if (rc)
		return rc;
	g->prog->ops[end].arg = g->prog->n_ops;
	*ret = (struct fsc_operand){.type = a.type.pointers   ? a.type
					    : b.type.pointers ? b.type
							      : fsc_ctype_common(&a.type, &b.type),
				    .user = a.user || b.user};
	return fsc_gen_emit(g, FSC_OP_CAST, fsc_ctype_how(&ret->type), 0, 0);
}

static int gen_cast(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret)
{
	const struct fsc_ctype_name *name = FSC_AT(struct fsc_ctype_name, &g->tree->types, n->cast);
	struct fsc_ctype type;
	int rc = fsc_gen_type(g, name, &type);

	if (!rc)
		rc = fsc_gen_value(g, n->a, ret);
	if (rc)
		return rc;
	if (!type.pointers && type.class != FSC_CLASS_INT)
		return fsc_err_usage(g->err,
				     "column %u: a value can be cast to an integer or a pointer, "
				     "not to '%s'",
				     n->column, name->base);
	ret->type = type;
	if (fsc_ctype_how(&type) == 8)
		return 0;
	return fsc_gen_emit(g, FSC_OP_CAST, fsc_ctype_how(&type), 0, 0);
}

/* STRCMP: whether two texts are the same. */
static int gen_strcmp(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret)
{
	const struct fsc_node *of = node_at(g, n->a);
	bool comm = of->kind == FSC_NODE_VAR && of->name.n == 4 && !memcmp(of->name.s, "comm", 4);
	const char *s = n->name.s, *end = s + n->name.n;
	char literal[FSC_TRACE_LITERAL] = "";
	size_t used = 0;
	int rc = 0;

	while (s < end && used < sizeof(literal) - 1)
		literal[used++] = fsc_format_char(&s, end);
	if (s < end)
		return fsc_err_usage(g->err, "column %u: STRCMP compares with up to %d characters",
				     n->column, FSC_TRACE_LITERAL - 1);
	if (!comm)
		rc = fsc_gen_value(g, n->a, ret);
	if (!rc && g->n_literals == FSC_TRACE_LITERALS)
		rc = fsc_err_usage(g->err, "column %u: a probe can have at most %d STRCMPs",
				   n->column, FSC_TRACE_LITERALS);
	if (rc)
		return rc;
	memcpy(g->prog->literals[g->n_literals], literal, sizeof(literal));
	rc = comm ? fsc_gen_emit(g, FSC_OP_STRCOMM, 8, g->n_literals, 0)
		  : fsc_gen_emit(g, FSC_OP_STRCMP, 8 | (ret->user ? FSC_OP_USER : 0), g->n_literals,
				 0);
	g->n_literals++;
	*ret = (struct fsc_operand){.type = {.size = 4, .is_signed = true}};
	return rc;
}

static int gen_number(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret)
{
	*ret = (struct fsc_operand){.type = n->type};
	return fsc_gen_emit(g, FSC_OP_CONST, fsc_ctype_how(&n->type), 0, n->number);
}

/* What a pointer on the stack points to, in memory. */
static int gen_pointed_to(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *o)
{
	if (!o->type.pointers || (o->type.pointers == 1 && o->type.class == FSC_CLASS_VOID))
		return fsc_err_usage(g->err,
				     "column %u: the type that this points to is unknown; add a "
				     "cast such as *(int *)arg1",
				     n->column);
	o->type.pointers--;
	o->in_memory = true;
	o->offset = 0;
	return 0;
}

static int gen_deref(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret)
{
	int rc = fsc_gen_value(g, n->a, ret);

	return rc ? rc : gen_pointed_to(g, n, ret);
}

static int gen_element(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret)
{
	const struct fsc_node *index = node_at(g, n->b);
	bool fixed = index->kind == FSC_NODE_NUMBER, reversed = false;
	struct fsc_operand by;
	int rc = fixed ? fsc_gen_value(g, n->a, ret) : gen_operands(g, n, ret, &by, &reversed);

	if (!rc)
		rc = gen_pointed_to(g, n, ret);
	if (rc)
		return rc;
	if (fixed) {
		ret->offset = index->number * fsc_ctype_size(&ret->type);
		return 0;
	}
	return fsc_gen_emit(g, FSC_OP_ADD, 8 | (reversed ? FSC_OP_SWAP : 0), 0,
			    fsc_ctype_size(&ret->type));
}

static int gen_user(struct fsc_gen *g, const struct fsc_node *n, struct fsc_operand *ret)
{
	int rc = fsc_gen_place(g, n->a, ret);

	ret->user = true;
	return rc;
}

int fsc_gen_place(struct fsc_gen *g, uint32_t node, struct fsc_operand *ret)
{
	static int (*const kinds[])(struct fsc_gen *, const struct fsc_node *,
				    struct fsc_operand *) = {
	    [FSC_NODE_NUMBER] = gen_number,    [FSC_NODE_NAME] = fsc_gen_name,
	    [FSC_NODE_VAR] = fsc_gen_var,      [FSC_NODE_FIELD] = fsc_gen_field,
	    [FSC_NODE_UNARY] = gen_unary,      [FSC_NODE_BINARY] = gen_binary,
	    [FSC_NODE_AND] = gen_logical,      [FSC_NODE_OR] = gen_logical,
	    [FSC_NODE_COND] = gen_conditional, [FSC_NODE_CAST] = gen_cast,
	    [FSC_NODE_DEREF] = gen_deref,      [FSC_NODE_MEMBER] = fsc_gen_member,
	    [FSC_NODE_INDEX] = gen_element,    [FSC_NODE_STRCMP] = gen_strcmp,
	    [FSC_NODE_USER] = gen_user,
	};
	const struct fsc_node *n = node_at(g, node);

	*ret = (struct fsc_operand){0};
	return kinds[n->kind](g, n, ret);
}

int fsc_gen_value(struct fsc_gen *g, uint32_t node, struct fsc_operand *ret)
{
	int rc = fsc_gen_place(g, node, ret);

	return rc ? rc : fsc_gen_load(g, node_at(g, node)->column, ret);
}
