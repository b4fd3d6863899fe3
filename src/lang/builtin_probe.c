/* Builtins about the probe that was hit: its name, arguments, result, registers, stacks. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <linux/bpf.h>

#include "lang/builtins.h"

enum { GET_ATTACH_COOKIE = 174, GET_SOCKET_COOKIE = 46 };

enum fsc_v_space fsc_point_space(const struct fsc_point *p)
{
	if (1u << p->kind & FSC_USER_FUNCS)
		return FSC_SPACE_USER;
	return 1u << p->kind & (FSC_KERNEL_FUNCS | FSC_KIND(RAWTRACEPOINT) | FSC_KIND(TRACEPOINT) |
				FSC_KIND(ITER))
		   ? FSC_SPACE_KERNEL
		   : FSC_SPACE_NONE;
}

void fsc_gen_literal(struct fsc_gen *g, const char *text, const struct fsc_val *dest)
{
	struct fsc_expr e = {
	    .kind = FSC_E_STRING, .name = text, .size = strlen(text), .at = g->f->at};

	fsc_gen_into(g, &e, dest);
}

static const char *point_text(const struct fsc_point *p, int which)
{
	const char *s = which == 0 ? p->name : which == 1 ? p->func : p->type;

	return s ? s : "";
}

static void check_point_text(struct fsc_lang *c, struct fsc_expr *e, int which)
{
	uint64_t size = 1;

	for (size_t i = 0; i < c->check->n_points; i++) {
		size_t n = strlen(point_text(c->check->points[i], which)) + 1;

		size = n > size ? n : size;
	}
	e->type = fsc_vt_string(c, size);
	c->check->uses_cookie |= c->check->n_points > 1;
}

/* One of several points: their texts are a map by the attach cookie. */
static void point_text_into(struct fsc_gen *g, const struct fsc_val *dest, int which, uint64_t size)
{
	uint32_t end = fsc_ir_label(g->f), none = fsc_ir_label(g->f), map;
	struct fsc_val key, from;
	char *texts;
	fsc_vr r;

	if (g->n_points == 1) {
		fsc_gen_literal(g, point_text(g->point, which), dest);
		return;
	}
	size = (size + 7) & ~7ull;
	texts = fsc_zone_alloc(g->c->keep, size * g->n_points);
	for (size_t i = 0; i < g->n_points; i++)
		memcpy(texts + i * size, point_text(g->points[i], which),
		       strlen(point_text(g->points[i], which)));
	map = fsc_plan_map_names(g->c, texts, (uint32_t)size, (uint32_t)g->n_points);
	key = fsc_val_mem(&fsc_vt_u32, 0, fsc_ir_frame(g->f, 8));
	r = fsc_ir_call(g->f, GET_ATTACH_COOKIE, FSC_A_VR(g->ctx));
	fsc_gen_mem_store(g, &key, 4, 0, r);
	r = fsc_ir_call(g->f, BPF_FUNC_map_lookup_elem, FSC_A_MAP(map), FSC_A_FRAME(key.off));
	fsc_ir_branch_imm(g->f, BPF_JEQ, r, 0, none);
	from = fsc_val_mem(fsc_vt_string(g->c, size < dest->type->size ? size : dest->type->size),
			   r, 0);
	fsc_gen_store(g, dest, &from);
	fsc_ir_jump(g->f, end);
	fsc_ir_place(g->f, none);
	fsc_gen_zero(g, dest, 0, dest->type->size);
	fsc_ir_place(g->f, end);
}

void fsc_check_probe_name(struct fsc_lang *c, struct fsc_expr *e)
{
	check_point_text(c, e, 0);
}

static void probe_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	point_text_into(g, dest, 0, e->type->size);
}
const struct fsc_builtin_gen fsc_gen_probe_name = {.into = probe_into};

void fsc_check_probetype(struct fsc_lang *c, struct fsc_expr *e)
{
	check_point_text(c, e, 2);
}

static void probetype_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	point_text_into(g, dest, 2, e->type->size);
}
const struct fsc_builtin_gen fsc_gen_probetype = {.into = probetype_into};

void fsc_check_func(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_want_kinds(c, e,
		       FSC_KERNEL_FUNCS | FSC_KIND(UPROBE) | FSC_KIND(URETPROBE) | FSC_KIND(USDT));
	check_point_text(c, e, 1);
}

static void func_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	point_text_into(g, dest, 1, e->type->size);
}
const struct fsc_builtin_gen fsc_gen_func = {.into = func_into};

static const char *const stack_modes[] = {"bpftrace", "perf", "raw", "build_id"};

void fsc_check_stack(struct fsc_lang *c, struct fsc_expr *e)
{
	enum fsc_vkind kind = e->builtin->param ? FSC_V_USTACK : FSC_V_KSTACK;
	struct fsc_vtype *t = fsc_vt_new(c, kind, sizeof(struct fsc_v_stack), 8);

	t->stack.mode = c->config.stack_mode;
	t->stack.depth = 127;
	for (size_t i = 0; i < e->n_args; i++) {
		struct fsc_expr *a = e->args[i];
		bool known = false;

		for (size_t k = 0; a->kind == FSC_E_NAME && k < 4; k++)
			if (!strcmp(a->name, stack_modes[k])) {
				t->stack.mode = (enum fsc_v_stack_mode)k;
				known = true;
			}
		if (known)
			continue;
		if (a->kind == FSC_E_NAME)
			fsc_lang_fail(c, a->at, "Unknown stack mode: '%s'", a->name);
		fsc_check_value(c, a);
		if (fsc_const_arg(c, e, (unsigned)i) < 1)
			fsc_lang_fail(c, a->at, "%s() needs a number of frames from 1 to 127",
				      e->name);
		if (a->value > 127)
			fsc_lang_fail(c, a->at,
				      "%s([int limit]): limit shouldn't exceed 127, %llu given",
				      e->name, (unsigned long long)a->value);
		t->stack.depth = (uint32_t)a->value;
	}
	t->stack.map = fsc_plan_map_stacks(c, t->stack.depth);
	e->type = t;
}

/* bpf_get_stackid() has a buffer for each CPU, which another thread may overwrite in a program that
 * can be preempted: that is turned off for the while, or else the stack is taken twice. */
static fsc_vr stack_id(struct fsc_gen *g, uint32_t map, uint64_t flags)
{
	const struct fsc_world *w = g->c->world;
	uint32_t off = g->in_user && w->features.preempt_off && w->kfunc
			   ? w->kfunc(w->arg, "bpf_preempt_disable")
			   : 0;
	fsc_vr id;

	if (off)
		fsc_ir_call_n(g->f, FSC_IR_KCALL, off, 0, NULL);
	id = fsc_ir_call(g->f, BPF_FUNC_get_stackid, FSC_A_VR(g->ctx), FSC_A_MAP(map),
			 FSC_A_IMM(flags));
	if (off) {
		fsc_ir_call_n(g->f, FSC_IR_KCALL, w->kfunc(w->arg, "bpf_preempt_enable"), 0, NULL);
	} else if (g->in_user) {
		uint32_t same = fsc_ir_label(g->f);
		fsc_vr again = fsc_ir_call(g->f, BPF_FUNC_get_stackid, FSC_A_VR(g->ctx),
					   FSC_A_MAP(map), FSC_A_IMM(flags));

		id = fsc_ir_mov(g->f, id);
		fsc_ir_branch(g->f, BPF_JEQ, id, again, same);
		fsc_ir_set_imm(g->f, id, -EAGAIN);
		fsc_ir_place(g->f, same);
	}
	return id;
}

static void stack_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	bool user = e->builtin->param;
	uint32_t ok = fsc_ir_label(g->f);
	fsc_vr id = stack_id(g, e->type->stack.map, user ? BPF_F_USER_STACK : 0);

	fsc_gen_mem_store(g, dest, 8, 0, id);
	fsc_ir_branch_imm(g->f, BPF_JSGE, id, 0, ok);
	fsc_ir_branch_imm(g->f, BPF_JEQ, id, -EFAULT, ok);
	fsc_gen_loss(g, FSC_PLOSS_STACK);
	fsc_ir_place(g->f, ok);
	if (user)
		fsc_gen_mem_store(g, dest, 8, 8, fsc_gen_tgid_init(g));
	else
		fsc_gen_mem_store_imm(g, dest, 8, 8, 0);
}
const struct fsc_builtin_gen fsc_gen_stack = {.into = stack_into};

void fsc_check_kaddr(struct fsc_lang *c, struct fsc_expr *e)
{
	const char *name = fsc_string_arg(c, e, 0);
	struct fsc_err err = {0};
	uint64_t address;
	int code = c->world->kaddr ? c->world->kaddr(c->world->arg, name, &address, &err)
				   : fsc_err_set(&err, ENOENT, "there are no kernel symbols here");

	if (code)
		fsc_lang_fail_world(c, e->at, code, &err);
	fsc_expr_const(e, fsc_vt_in(c, &fsc_vt_u64, FSC_SPACE_KERNEL), address);
}

void fsc_check_uaddr(struct fsc_lang *c, struct fsc_expr *e)
{
	const char *name = fsc_string_arg(c, e, 0);
	struct fsc_world_symbol *s = FSC_NEW(&c->temp, struct fsc_world_symbol);
	struct fsc_err err = {0};
	unsigned size;
	int code;

	fsc_want_kinds(c, e, FSC_USER_FUNCS);
	c->check->uses_point = true;
	code = c->world->uaddr ? c->world->uaddr(c->world->arg, c->check->point, name, s, &err)
			       : fsc_err_set(&err, ENOENT, "there are no symbols here");
	if (code)
		fsc_lang_fail_world(c, e->at, code, &err);
	size = s->size == 1 || s->size == 2 || s->size == 4 ? (unsigned)s->size : 8;
	e->more = s;
	e->type = fsc_vt_pointer(c, fsc_vt_int(size, false), FSC_SPACE_USER);
}

/* Where the file is loaded follows from where the probe is: the program counter, less the address
 * that the symbol table has for the probed place. */
static struct fsc_val uaddr_value(struct fsc_gen *g, struct fsc_expr *e)
{
	const struct fsc_world_symbol *s = e->more;
	fsc_vr ip;

	if (!s->relocated)
		return fsc_val_reg(e->type, fsc_ir_imm(g->f, (int64_t)s->address));
	ip = fsc_ir_load(g->f, 8, g->ctx, fsc_reg_ip);
	return fsc_val_reg(e->type,
			   fsc_ir_alu_imm(g->f, BPF_ADD, ip, (int64_t)(s->address - s->probed)));
}
const struct fsc_builtin_gen fsc_gen_uaddr = {.value = uaddr_value};

void fsc_check_percpu_kaddr(struct fsc_lang *c, struct fsc_expr *e)
{
	const char *name = fsc_string_arg(c, e, 0);

	e->value = c->world->kvar ? c->world->kvar(c->world->arg, name) : 0;
	if (!e->value)
		fsc_lang_fail(c, e->at, "the kernel has no variable '%s' for each CPU", name);
	if (e->n_args > 1)
		fsc_want_integer(c, e, 1);
	e->type = fsc_vt_in(c, &fsc_vt_u64, FSC_SPACE_KERNEL);
}

static struct fsc_val percpu_value(struct fsc_gen *g, struct fsc_expr *e)
{
	enum { PER_CPU_PTR = 153, THIS_CPU_PTR = 154 };
	fsc_vr cpu = e->n_args > 1 ? fsc_gen_number(g, e->args[1]) : 0;
	struct fsc_ir *i = fsc_ir_push(g->f, FSC_IR_KVAR);
	fsc_vr var;

	i->imm = (int64_t)e->value;
	var = i->dst = fsc_ir_vr(g->f);
	if (cpu)
		return fsc_val_reg(e->type,
				   fsc_ir_call(g->f, PER_CPU_PTR, FSC_A_VR(var), FSC_A_VR(cpu)));
	return fsc_val_reg(e->type, fsc_ir_call(g->f, THIS_CPU_PTR, FSC_A_VR(var)));
}
const struct fsc_builtin_gen fsc_gen_percpu_kaddr = {.value = percpu_value};

void fsc_check_kptr(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_want_number(c, e, 0);
	e->type = e->args[0]->type
		      ? fsc_vt_in(c, e->args[0]->type, (enum fsc_v_space)e->builtin->param)
		      : NULL;
}

static struct fsc_val kptr_value(struct fsc_gen *g, struct fsc_expr *e)
{
	return fsc_val_reg(e->type, fsc_gen_number(g, e->args[0]));
}
const struct fsc_builtin_gen fsc_gen_kptr = {.value = kptr_value};

void fsc_check_signal(struct fsc_lang *c, struct fsc_expr *e)
{
	e->type = &fsc_vt_void;
	fsc_want_kinds(c, e,
		       FSC_KIND(KPROBE) | FSC_KIND(KRETPROBE) | FSC_USER_FUNCS | FSC_KIND(PROFILE) |
			   FSC_KIND(TRACEPOINT) | FSC_KIND(RAWTRACEPOINT) | FSC_KIND(FENTRY) |
			   FSC_KIND(FEXIT) | FSC_KIND(SOFTWARE) | FSC_KIND(HARDWARE));
	if (e->args[0]->kind == FSC_E_STRING) {
		int n = c->world->signal ? c->world->signal(c->world->arg, e->args[0]->name) : -1;

		if (n < 1)
			fsc_lang_fail(c, e->at, "%s is not a valid signal", e->args[0]->name);
		fsc_expr_const(e->args[0], &fsc_vt_i64, (uint64_t)n);
	}
	fsc_want_integer(c, e, 0);
	if (e->args[0]->is_const && (e->args[0]->value < 1 || e->args[0]->value > 64))
		fsc_lang_fail(c, e->at, "%lld is not a valid signal, allowed range: [1,64]",
			      (long long)e->args[0]->value);
}

static struct fsc_val signal_value(struct fsc_gen *g, struct fsc_expr *e)
{
	fsc_ir_call(g->f, e->builtin->param, FSC_A_VR(fsc_gen_number(g, e->args[0])));
	return (struct fsc_val){.type = e->type};
}
const struct fsc_builtin_gen fsc_gen_signal = {.value = signal_value};

void fsc_check_override(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_want_kinds(c, e, FSC_KIND(KPROBE));
	fsc_want_integer(c, e, 0);
	if (!c->world->features.override)
		fsc_lang_fail(c, e->at,
			      "this kernel cannot override a function's result "
			      "(CONFIG_BPF_KPROBE_OVERRIDE)");
	e->type = &fsc_vt_void;
	c->check->overrides = true;
}

static struct fsc_val override_value(struct fsc_gen *g, struct fsc_expr *e)
{
	fsc_vr v = fsc_gen_number(g, e->args[0]);

	fsc_ir_call(g->f, BPF_FUNC_override_return, FSC_A_VR(g->ctx), FSC_A_VR(v));
	return (struct fsc_val){.type = e->type};
}
const struct fsc_builtin_gen fsc_gen_override = {.value = override_value};

void fsc_check_socket_cookie(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_want_kinds(c, e, FSC_KIND(FENTRY) | FSC_KIND(FEXIT));
	fsc_want_number(c, e, 0);
	e->type = &fsc_vt_u64;
}

static struct fsc_val cookie_value(struct fsc_gen *g, struct fsc_expr *e)
{
	fsc_vr sk = fsc_gen_number(g, e->args[0]);

	return fsc_val_reg(e->type, fsc_ir_call(g->f, GET_SOCKET_COOKIE, FSC_A_VR(sk)));
}
const struct fsc_builtin_gen fsc_gen_socket_cookie = {.value = cookie_value};
