/* Builtins for what a probed function takes and returns: args, arg0, sarg0, retval, reg(), ctx. */
#include <errno.h>
#include <string.h>

#include <linux/bpf.h>

#include "lang/builtins.h"
#include "probe/usdtargs.h"

const struct fsc_args *fsc_check_args(struct fsc_lang *c, struct fsc_loc at)
{
	struct fsc_check *k = c->check;

	k->uses_point = true;
	if (k->args_code == 1) {
		k->args = (struct fsc_args){0};
		k->args_code =
		    c->world->args
			? c->world->args(c->world->arg, k->point, &k->args, &k->args_err)
			: fsc_err_set(&k->args_err, ENOENT, "the arguments of '%s' are not known",
				      k->point->name);
	}
	if (k->args_code)
		fsc_lang_fail_world(c, at, k->args_code, &k->args_err);
	return &k->args;
}

static const struct fsc_vtype *arg_type(struct fsc_lang *c, const struct fsc_arg *a)
{
	const struct fsc_vtype *t = fsc_vt_import(c, a->type);
	enum fsc_v_space space = a->user ? FSC_SPACE_USER : fsc_point_space(c->check->point);

	if (a->at == FSC_ARG_AT_DATA_LOC || a->at == FSC_ARG_AT_REL_LOC)
		return fsc_vt_pointer(c, t, FSC_SPACE_KERNEL);
	return fsc_vt_in(c, t, space);
}

static bool arg_is_readable(const struct fsc_arg *a, const struct fsc_vtype *t)
{
	if (a->at == FSC_ARG_AT_NOWHERE)
		return false;
	return (a->at != FSC_ARG_AT_REGISTER && a->at != FSC_ARG_AT_SLOT) || t->size <= 8;
}

/* `args` alone is a record of all that can be read. */
static void args_whole(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_args *args = fsc_check_args(c, e->at);
	struct fsc_vrecord *r = FSC_NEW(c->keep, struct fsc_vrecord);
	struct fsc_vfield *fields = FSC_NEW_N(c->keep, struct fsc_vfield, args->n);
	size_t n = 0;

	for (size_t i = 0; i < args->n; i++) {
		const struct fsc_vtype *t = arg_type(c, &args->args[i]);

		if (arg_is_readable(&args->args[i], t))
			fields[n++] = (struct fsc_vfield){.name = args->args[i].name, .type = t};
	}
	r->t = (struct fsc_vtype){.kind = FSC_V_RECORD, .is_complete = true, .name = args->name};
	r->read = true;
	fsc_vt_layout(&r->t, fields, n);
	e->type = &r->t;
}

void fsc_check_args_builtin(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_arg *a = e->kind == FSC_E_FIELD ? e->more : NULL;

	if (!a) {
		args_whole(c, e);
		return;
	}
	e->type = arg_type(c, a);
	if (e->type->kind == FSC_V_STRING)
		e->type = fsc_vt_string(c, e->type->size + 1);
	if (!arg_is_readable(a, e->type))
		fsc_lang_fail(c, e->at, "the argument '%s' is not where a probe could read it",
			      a->name);
}

/* A number in the context, with what its register had above it cut off. */
static struct fsc_val arg_word(struct fsc_gen *g, const struct fsc_vtype *t, int32_t off)
{
	fsc_vr r = fsc_ir_load(g->f, 8, g->ctx, off);

	if (fsc_vt_is_number(t))
		return fsc_val_reg(t, fsc_ir_extend(g->f, r, (unsigned)t->size, t->is_signed));
	{
		struct fsc_val temp = fsc_gen_temp(g, t);

		fsc_gen_mem_store(g, &temp, 8, 0, r);
		return temp;
	}
}

static struct fsc_val arg_dynamic(struct fsc_gen *g, const struct fsc_arg *a,
				  const struct fsc_vtype *t)
{
	fsc_vr loc = fsc_ir_load(g->f, 4, g->ctx, (int32_t)a->offset);
	fsc_vr at = fsc_ir_alu_imm(g->f, BPF_AND, loc, 0xffff), base = fsc_ir_mov(g->f, g->ctx);
	struct fsc_val word;

	if (a->at == FSC_ARG_AT_REL_LOC)
		at = fsc_ir_alu_imm(g->f, BPF_ADD, at, a->offset + 4);
	/* The verifier allows no variable offset in the context, so it must not know it as one. */
	word = fsc_val_mem(&fsc_vt_u64, 0, fsc_ir_frame(g->f, 8));
	fsc_gen_mem_store(g, &word, 8, 0, base);
	base = fsc_ir_frame_vr(g->f, word.off);
	word = fsc_val_mem(&fsc_vt_u64, 0, fsc_ir_frame(g->f, 8));
	fsc_gen_read(g, &word, 8, FSC_SPACE_KERNEL, base);
	return fsc_val_reg(t, fsc_ir_alu(g->f, BPF_ADD, fsc_gen_mem_load(g, &word, 8, 0), at));
}

static struct fsc_val arg_read(struct fsc_gen *g, const struct fsc_arg *a,
			       const struct fsc_vtype *t)
{
	struct fsc_val v;

	switch (a->at) {
	case FSC_ARG_AT_REGISTER:
		return arg_word(g, t, fsc_reg_args[a->index]);
	case FSC_ARG_AT_SLOT:
		v = arg_word(g, t, (int32_t)a->index * 8);
		v.trusted = t->kind == FSC_V_POINTER;
		return v;
	case FSC_ARG_AT_DATA_LOC:
	case FSC_ARG_AT_REL_LOC:
		return arg_dynamic(g, a, t);
	case FSC_ARG_AT_CONTEXT:
		v = fsc_val_mem(t, g->ctx, (int32_t)a->offset);
		if (t->kind != FSC_V_POINTER)
			return v;
		v = fsc_val_reg(t, fsc_gen_reg(g, &v));
		v.trusted = true;
		if (!g->in_func)
			fsc_ir_branch_imm(g->f, BPF_JEQ, v.vr, 0, g->end);
		return v;
	default:
		if (fsc_vt_is_number(t))
			return fsc_val_mem(t, g->ctx, (int32_t)a->offset);
		return (struct fsc_val){.kind = FSC_VAL_FAR,
					.type = t,
					.vr = g->ctx,
					.off = (int32_t)a->offset,
					.space = FSC_SPACE_KERNEL};
	}
}

static struct fsc_val args_value(struct fsc_gen *g, struct fsc_expr *e)
{
	const struct fsc_args *args = &g->c->check->args;
	struct fsc_val temp, part, v;
	size_t n = 0;

	if (e->kind == FSC_E_FIELD) {
		v = arg_read(g, e->more, e->type);
		if (e->type->kind == FSC_V_STRING)
			v.type = fsc_vt_string(g->c, e->type->size - 1);
		return v;
	}
	temp = fsc_gen_temp(g, e->type);
	fsc_gen_zero(g, &temp, 0, e->type->size);
	for (size_t i = 0; i < args->n; i++) {
		const struct fsc_vfield *f = &e->type->fields[n];

		if (n == e->type->n_fields || strcmp(args->args[i].name, f->name))
			continue;
		v = arg_read(g, &args->args[i], f->type);
		part = fsc_val_part(&temp, f->type, f->offset);
		fsc_gen_store(g, &part, &v);
		n++;
	}
	return temp;
}
const struct fsc_builtin_gen fsc_gen_args_builtin = {.value = args_value};

/* arg0... */
static void check_usdt_arg(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_usdt_arg *a = FSC_NEW(&c->temp, struct fsc_usdt_arg);
	const char *text = c->check->point->usdt_args;
	struct fsc_err err = {0};

	c->check->uses_point = true;
	if (fsc_usdt_arg_parse(text ? text : "", FSC_USDT_HOST, (unsigned)e->builtin->param + 1, a,
			       &err))
		fsc_lang_fail(c, e->at, "%s", err.msg);
	e->more = a;
	e->type = fsc_vt_in(c, fsc_vt_int(a->size, a->is_signed), FSC_SPACE_USER);
}

void fsc_check_arg(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_point *p = c->check->point;

	fsc_want_kinds(c, e,
		       FSC_KIND(KPROBE) | FSC_KIND(UPROBE) | FSC_KIND(USDT) |
			   FSC_KIND(RAWTRACEPOINT) | FSC_KIND(FENTRY) | FSC_KIND(FEXIT) |
			   FSC_KIND(WATCHPOINT) | FSC_KIND(ASYNCWATCHPOINT));
	if (p->kind == FSC_POINT_USDT) {
		check_usdt_arg(c, e);
		return;
	}
	e->type = fsc_vt_in(c, &fsc_vt_u64, fsc_point_space(p));
	if (p->kind == FSC_POINT_KPROBE || p->kind == FSC_POINT_UPROBE) {
		if (e->builtin->param >= (int64_t)fsc_reg_n_args)
			fsc_lang_fail(c, e->at,
				      "this machine has only %u argument registers: arg0 to arg%u",
				      fsc_reg_n_args, fsc_reg_n_args - 1);
	} else if (e->builtin->param >= 12) {
		fsc_lang_fail(c, e->at, "a raw tracepoint has no argument %s", e->name);
	}
}

static struct fsc_val usdt_value(struct fsc_gen *g, struct fsc_expr *e,
				 const struct fsc_usdt_arg *a)
{
	fsc_vr r;

	if (a->form == FSC_USDT_CONST)
		return fsc_val_imm(e->type, (int64_t)a->imm);
	if (a->form == FSC_USDT_REG) {
		r = fsc_ir_load(g->f, 8, g->ctx, a->base_reg);
		if (a->second_byte)
			r = fsc_ir_alu_imm(g->f, BPF_RSH, r, 8);
		return fsc_val_reg(e->type, fsc_ir_extend(g->f, r, a->size, a->is_signed));
	}
	r = a->base ? fsc_ir_load(g->f, 8, g->ctx, a->base_reg) : fsc_ir_imm(g->f, 0);
	if (a->index)
		r = fsc_ir_alu(g->f, BPF_ADD, r,
			       fsc_ir_alu_imm(g->f, BPF_MUL,
					      fsc_ir_load(g->f, 8, g->ctx, a->index_reg),
					      a->scale ? a->scale : 1));
	r = fsc_ir_alu_imm(g->f, BPF_ADD, r, (int64_t)a->imm);
	return (struct fsc_val){
	    .kind = FSC_VAL_FAR, .type = e->type, .vr = r, .space = FSC_SPACE_USER};
}

static struct fsc_val arg_value(struct fsc_gen *g, struct fsc_expr *e)
{
	if (g->point->kind == FSC_POINT_USDT)
		return usdt_value(g, e, e->more);
	if (g->point->kind == FSC_POINT_KPROBE || g->point->kind == FSC_POINT_UPROBE)
		return arg_word(g, e->type, fsc_reg_args[e->builtin->param]);
	return arg_word(g, e->type, (int32_t)e->builtin->param * 8);
}
const struct fsc_builtin_gen fsc_gen_arg = {.value = arg_value};

/* sarg0: the words on the stack, at a function's entry behind the return address. */
void fsc_check_sarg(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_want_kinds(c, e, FSC_KIND(KPROBE) | FSC_KIND(UPROBE));
	e->type = fsc_vt_in(c, &fsc_vt_u64, fsc_point_space(c->check->point));
}

static struct fsc_val sarg_value(struct fsc_gen *g, struct fsc_expr *e)
{
	fsc_vr sp = fsc_ir_load(g->f, 8, g->ctx, fsc_reg_sp);
	int32_t first = fsc_reg_find("ax") >= 0 ? 8 : 0;

	return (struct fsc_val){.kind = FSC_VAL_FAR,
				.type = e->type,
				.vr = sp,
				.off = first + (int32_t)e->builtin->param * 8,
				.space = fsc_point_space(g->point)};
}
const struct fsc_builtin_gen fsc_gen_sarg = {.value = sarg_value};

void fsc_check_retval(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_point *p = c->check->point;

	fsc_want_kinds(c, e, FSC_KIND(KRETPROBE) | FSC_KIND(URETPROBE) | FSC_KIND(FEXIT));
	e->type = fsc_vt_in(c, &fsc_vt_u64, fsc_point_space(p));
	if (p->kind != FSC_POINT_FEXIT)
		return;
	if (fsc_check_args(c, e->at)->ret)
		e->type = fsc_vt_in(c, fsc_vt_import(c, c->check->args.ret), FSC_SPACE_KERNEL);
	if (e->type->kind == FSC_V_VOID)
		fsc_lang_fail(c, e->at, "'%s' returns nothing", p->func);
}

static struct fsc_val retval_value(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val v;

	if (g->point->kind != FSC_POINT_FEXIT)
		return arg_word(g, e->type, fsc_reg_ret);
	v = arg_word(g, e->type, (int32_t)g->c->check->args.ret_slot * 8);
	v.trusted = e->type->kind == FSC_V_POINTER;
	return v;
}
const struct fsc_builtin_gen fsc_gen_retval = {.value = retval_value};

void fsc_check_reg(struct fsc_lang *c, struct fsc_expr *e)
{
	const char *name = fsc_string_arg(c, e, 0);

	fsc_want_kinds(c, e, FSC_WITH_REGS);
	if (fsc_reg_find(name) < 0)
		fsc_lang_fail(c, e->at, "'%s' is not a valid register on this architecture", name);
	e->type = fsc_vt_in(c, &fsc_vt_u64, fsc_point_space(c->check->point));
}

static struct fsc_val reg_value(struct fsc_gen *g, struct fsc_expr *e)
{
	return fsc_val_reg(e->type, fsc_ir_load(g->f, 8, g->ctx, fsc_reg_find(e->args[0]->name)));
}
const struct fsc_builtin_gen fsc_gen_reg_builtin = {.value = reg_value};

/* The context of an iterator has members as args do. */
void fsc_check_ctx(struct fsc_lang *c, struct fsc_expr *e)
{
	e->type = fsc_vt_pointer(c, &fsc_vt_void, FSC_SPACE_KERNEL);
	if (c->check->point->kind == FSC_POINT_ITER)
		args_whole(c, e);
}

static struct fsc_val ctx_value(struct fsc_gen *g, struct fsc_expr *e)
{
	if (g->point->kind == FSC_POINT_ITER)
		return args_value(g, e);
	return fsc_val_reg(e->type, fsc_ir_mov(g->f, g->ctx));
}
const struct fsc_builtin_gen fsc_gen_ctx = {.value = ctx_value};
