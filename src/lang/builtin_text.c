/* Builtins on texts and bytes. */
#include <string.h>

#include <linux/bpf.h>

#include "lang/builtins.h"

/* The length argument: a constant, or the most there may be. */
static uint64_t length_most(struct fsc_lang *c, struct fsc_expr *e, uint64_t most)
{
	if (e->n_args < 2 || !e->args[1]->is_const)
		return most;
	if ((int64_t)e->args[1]->value < 0)
		fsc_lang_fail(c, e->args[1]->at, "%s() length must be non-negative", e->name);
	if (e->args[1]->value > most) {
		fsc_lang_warn(c, e->args[1]->at, "%s() length param (%llu) exceeds maximum of %llu",
			      e->name, (unsigned long long)e->args[1]->value,
			      (unsigned long long)most);
		return most;
	}
	return e->args[1]->value;
}

/* str($1), str($1 + 2): a parameter's text. */
static bool str_param(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_expr *a = e->args[0];
	uint64_t skip = 0, which;
	const char *s;

	if (a->kind == FSC_E_BINARY && a->op == '+' && a->b->is_const && a->a->positional) {
		skip = a->b->value;
		a = a->a;
	}
	if (!a->positional)
		return false;
	which = a->positional;
	s = which <= c->opts->n_params ? c->opts->params[which - 1] : "";
	if (skip > strlen(s))
		fsc_lang_fail(c, e->at, "cannot use offset that exceeds string size (%llu > %zu)",
			      (unsigned long long)skip, strlen(s));
	fsc_expr_text(c, e, s + skip, strlen(s + skip));
	return true;
}

/* The room for a text: as said, with the NUL. */
static uint64_t str_size(struct fsc_lang *c, struct fsc_expr *e)
{
	uint64_t most = c->config.max_strlen, said = length_most(c, e, most);

	return said + 1 < most ? said + 1 : most;
}

void fsc_check_str(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_vtype *t = e->args[0]->type;

	if (e->n_args > 1)
		fsc_want_integer(c, e, 1);
	if (str_param(c, e))
		return;
	if (t && t->kind == FSC_V_STRING) {
		e->type = t;
		return;
	}
	if (t && !fsc_vt_is_number(t) && !(t->kind == FSC_V_ARRAY && t->to->size == 1))
		fsc_lang_fail(c, e->at,
			      "str() expects an integer or a pointer type as first argument (%s "
			      "provided)",
			      fsc_vt_name(c, t));
	e->type = fsc_vt_string(c, str_size(c, e));
}

static int read_str_helper(enum fsc_v_space space)
{
	return space == FSC_SPACE_KERNEL ? BPF_FUNC_probe_read_kernel_str
	       : space == FSC_SPACE_USER ? BPF_FUNC_probe_read_user_str
					 : BPF_FUNC_probe_read_str;
}

/* The length, known to the verifier to be at most `most`. */
static fsc_vr length_bounded(struct fsc_gen *g, struct fsc_expr *e, uint64_t most, int64_t plus)
{
	fsc_vr n = fsc_ir_mov(g->f, fsc_gen_number(g, e));
	uint32_t fits = fsc_ir_label(g->f);

	fsc_ir_set(g->f, n, fsc_ir_alu_imm(g->f, BPF_ADD, n, plus));
	fsc_ir_branch_imm(g->f, BPF_JLE, n, (int64_t)most, fits);
	fsc_ir_set_imm(g->f, n, (int64_t)most);
	fsc_ir_place(g->f, fits);
	return n;
}

/* more: bytes that are read beyond what was asked for. */
static void str_read(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest,
		     int64_t more)
{
	struct fsc_val p = fsc_gen_expr(g, e->args[0]);
	uint64_t room = e->type->size + (uint64_t)more,
		 size = room < dest->type->size ? room : dest->type->size, said;
	enum fsc_v_space space = (enum fsc_v_space)e->args[0]->type->space;
	struct fsc_ir_arg length = FSC_A_IMM(size);
	fsc_vr address;

	if (e->args[0]->type->kind == FSC_V_STRING) {
		fsc_gen_store(g, dest, &p);
		return;
	}
	if (e->args[0]->type->kind == FSC_V_ARRAY) {
		space = p.kind == FSC_VAL_FAR ? p.space : FSC_SPACE_KERNEL;
		address = fsc_gen_address(g, &p);
	} else {
		address = fsc_ir_mov(g->f, fsc_gen_reg(g, &p));
	}
	/* The bytes behind the text count in keys and comparisons. */
	fsc_gen_zero(g, dest, 0, dest->type->size);
	said = e->n_args > 1 && e->args[1]->is_const ? e->args[1]->value + (uint64_t)more : size;
	if (e->n_args > 1 && !e->args[1]->is_const)
		length = FSC_A_VR(length_bounded(g, e->args[1], size, more));
	else if (said < size)
		length = FSC_A_IMM(said);
	fsc_ir_call(g->f, read_str_helper(space), fsc_gen_address_arg(g, dest), length,
		    FSC_A_VR(address));
}

/* Where strings are short, a cut one is to be seen: it fills its room, without a NUL. The kernel
 * always writes one, so that the text is read into a byte more, and copied. */
static bool str_by_copy(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	struct fsc_val temp, text;

	if (g->c->config.max_strlen >= 1024 || e->args[0]->type->kind == FSC_V_STRING ||
	    dest->type->size > e->type->size)
		return false;
	temp = fsc_gen_temp(g, fsc_vt_string(g->c, e->type->size + 1));
	text = fsc_val_part(&temp, e->type, 0);
	str_read(g, e, &temp, 1);
	fsc_gen_store(g, dest, &text);
	return true;
}

static void str_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	if (!str_by_copy(g, e, dest))
		str_read(g, e, dest, 0);
}
const struct fsc_builtin_gen fsc_gen_str = {.into = str_into};

/* A record's array of char has no NUL of its own. */
static uint64_t array_bytes(const struct fsc_expr *e)
{
	return e->type->size - (e->type->kind == FSC_V_STRING && e->kind == FSC_E_FIELD);
}

void fsc_check_buf(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_vtype *t = e->args[0]->type;
	uint64_t most = c->config.max_strlen;

	e->type = NULL;
	if (!t)
		return;
	if (t->kind == FSC_V_ARRAY || t->kind == FSC_V_STRING)
		most = array_bytes(e->args[0]) < most ? array_bytes(e->args[0]) : most;
	else if (!fsc_vt_is_number(t))
		fsc_lang_fail(c, e->at, "buf() expects an integer or a pointer type but got %s",
			      fsc_vt_name(c, t));
	else if (e->n_args < 2)
		fsc_lang_fail(c, e->at, "buf() expects a length argument for non-array type %s",
			      fsc_vt_name(c, t));
	if (e->n_args > 1)
		fsc_want_integer(c, e, 1);
	e->type = fsc_vt_buffer(c, length_most(c, e, most));
}

static void buf_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	const struct fsc_vtype *t = e->args[0]->type;
	struct fsc_val p = fsc_gen_expr(g, e->args[0]), bytes = fsc_val_part(dest, dest->type, 4);
	bool array = t->kind == FSC_V_ARRAY || t->kind == FSC_V_STRING;
	uint64_t most = e->type->size - 4;
	enum fsc_v_space space = array && p.kind == FSC_VAL_MEM ? FSC_SPACE_KERNEL
				 : array			? p.space
								: (enum fsc_v_space)t->space;
	int helper = space == FSC_SPACE_KERNEL ? BPF_FUNC_probe_read_kernel
		     : space == FSC_SPACE_USER ? BPF_FUNC_probe_read_user
					       : BPF_FUNC_probe_read;
	fsc_vr address = array ? fsc_gen_address(g, &p) : fsc_ir_mov(g->f, fsc_gen_reg(g, &p)), n;
	struct fsc_ir_arg length;

	fsc_gen_zero(g, dest, 0, dest->type->size);
	if (e->n_args > 1 && !e->args[1]->is_const) {
		n = length_bounded(g, e->args[1], most, 0);
		fsc_gen_mem_store(g, dest, 4, 0, n);
		length = FSC_A_VR(n);
	} else {
		uint64_t size = e->n_args > 1 ? e->args[1]->value : array_bytes(e->args[0]);

		size = size < most ? size : most;
		fsc_gen_mem_store_imm(g, dest, 4, 0, (int64_t)size);
		length = FSC_A_IMM(size);
		if (!size)
			return;
	}
	fsc_ir_call(g->f, helper, fsc_gen_address_arg(g, &bytes), length, FSC_A_VR(address));
}
const struct fsc_builtin_gen fsc_gen_buf = {.into = buf_into};

void fsc_check_strncmp(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_want_text(c, e, 0);
	fsc_want_text(c, e, 1);
	if (fsc_const_arg(c, e, 2) < 0)
		fsc_lang_fail(c, e->at, "Builtin strncmp requires a non-negative literal");
	e->type = &fsc_vt_u64;
}

static struct fsc_val memory_arg(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val v = fsc_gen_expr(g, e);

	return fsc_gen_mem(g, &v);
}

static struct fsc_val strncmp_value(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val a = memory_arg(g, e->args[0]), b = memory_arg(g, e->args[1]);

	return fsc_val_reg(e->type, fsc_gen_strncmp(g, &a, &b, e->args[2]->value));
}
const struct fsc_builtin_gen fsc_gen_strncmp_builtin = {.value = strncmp_value};

void fsc_check_memcmp(struct fsc_lang *c, struct fsc_expr *e)
{
	for (unsigned i = 0; i < 2; i++)
		if (e->args[i]->type && fsc_vt_is_number(e->args[i]->type))
			fsc_lang_fail(c, e->args[i]->at,
				      "memcmp() compares texts, arrays, records and tuples");
	if (fsc_const_arg(c, e, 2) < 0)
		fsc_lang_fail(c, e->at, "memcmp() requires a non-negative literal");
	e->type = &fsc_vt_i64;
}

/* The first byte that differs decides. */
static struct fsc_val memcmp_value(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val a = memory_arg(g, e->args[0]), b = memory_arg(g, e->args[1]);
	uint32_t again = fsc_ir_label(g->f), end = fsc_ir_label(g->f);
	fsc_vr i = fsc_ir_imm(g->f, 0), r = fsc_ir_imm(g->f, 0), x, y;
	uint64_t n = e->args[2]->value;

	n = n > a.type->size ? a.type->size : n;
	n = n > b.type->size ? b.type->size : n;
	fsc_ir_place(g->f, again);
	fsc_ir_branch_imm(g->f, BPF_JGE, i, (int64_t)n, end);
	x = fsc_ir_load(g->f, 1, fsc_ir_alu(g->f, BPF_ADD, fsc_gen_address(g, &a), i), 0);
	y = fsc_ir_load(g->f, 1, fsc_ir_alu(g->f, BPF_ADD, fsc_gen_address(g, &b), i), 0);
	fsc_ir_set(g->f, r, fsc_ir_alu(g->f, BPF_SUB, x, y));
	fsc_ir_set(g->f, i, fsc_ir_alu_imm(g->f, BPF_ADD, i, 1));
	fsc_ir_branch_imm(g->f, BPF_JEQ, r, 0, again);
	fsc_ir_place(g->f, end);
	return fsc_val_reg(e->type, r);
}
const struct fsc_builtin_gen fsc_gen_memcmp = {.value = memcmp_value};

void fsc_check_strcontains(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_want_text(c, e, 0);
	fsc_want_text(c, e, 1);
	e->type = e->builtin->param ? &fsc_vt_i64 : &fsc_vt_bool;
}

/* At each place of the text, as much of the other as fits; -1 if it is nowhere. */
static struct fsc_val strcontains_value(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_ir_func *f = g->f;
	struct fsc_val a = memory_arg(g, e->args[0]), b = memory_arg(g, e->args[1]);
	uint32_t outer = fsc_ir_label(f), inner = fsc_ir_label(f), next = fsc_ir_label(f);
	uint32_t found = fsc_ir_label(f), none = fsc_ir_label(f), end = fsc_ir_label(f);
	fsc_vr i = fsc_ir_imm(f, 0), k = fsc_ir_vr(f), r = fsc_ir_vr(f), x, y, at;
	uint64_t n = a.type->size, m = b.type->size;

	fsc_ir_place(f, outer);
	fsc_ir_branch_imm(f, BPF_JGE, i, (int64_t)n, none);
	fsc_ir_set_imm(f, k, 0);
	fsc_ir_place(f, inner);
	fsc_ir_branch_imm(f, BPF_JGE, k, (int64_t)m, found);
	y = fsc_ir_load(f, 1, fsc_ir_alu(f, BPF_ADD, fsc_gen_address(g, &b), k), 0);
	fsc_ir_branch_imm(f, BPF_JEQ, y, 0, found);
	at = fsc_ir_alu(f, BPF_ADD, i, k);
	fsc_ir_branch_imm(f, BPF_JGE, at, (int64_t)n, none);
	x = fsc_ir_load(f, 1, fsc_ir_alu(f, BPF_ADD, fsc_gen_address(g, &a), at), 0);
	fsc_ir_branch_imm(f, BPF_JEQ, x, 0, none);
	fsc_ir_branch(f, BPF_JNE, x, y, next);
	fsc_ir_set(f, k, fsc_ir_alu_imm(f, BPF_ADD, k, 1));
	fsc_ir_jump(f, inner);
	fsc_ir_place(f, next);
	fsc_ir_set(f, i, fsc_ir_alu_imm(f, BPF_ADD, i, 1));
	fsc_ir_jump(f, outer);
	fsc_ir_place(f, found);
	if (e->builtin->param)
		fsc_ir_set(f, r, i);
	else
		fsc_ir_set_imm(f, r, 1);
	fsc_ir_jump(f, end);
	fsc_ir_place(f, none);
	fsc_ir_set_imm(f, r, e->builtin->param ? -1 : 0);
	fsc_ir_place(f, end);
	return fsc_val_reg(e->type, r);
}
const struct fsc_builtin_gen fsc_gen_strcontains = {.value = strcontains_value};

void fsc_check_strlen(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_want_text(c, e, 0);
	e->type = &fsc_vt_u64;
	if (e->args[0]->kind == FSC_E_STRING)
		fsc_expr_const(e, &fsc_vt_u64, strlen(e->args[0]->name));
}

static struct fsc_val strlen_value(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val v = memory_arg(g, e->args[0]);
	uint32_t again = fsc_ir_label(g->f), end = fsc_ir_label(g->f);
	fsc_vr n = fsc_ir_imm(g->f, 0), ch;

	fsc_ir_place(g->f, again);
	fsc_ir_branch_imm(g->f, BPF_JGE, n, (int64_t)v.type->size, end);
	ch = fsc_ir_load(g->f, 1, fsc_ir_alu(g->f, BPF_ADD, fsc_gen_address(g, &v), n), 0);
	fsc_ir_branch_imm(g->f, BPF_JEQ, ch, 0, end);
	fsc_ir_set(g->f, n, fsc_ir_alu_imm(g->f, BPF_ADD, n, 1));
	fsc_ir_jump(g->f, again);
	fsc_ir_place(g->f, end);
	return fsc_val_reg(e->type, n);
}
const struct fsc_builtin_gen fsc_gen_strlen = {.value = strlen_value};
