/* Builtins about the task that hit the probe, the time and the machine. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <linux/bpf.h>

#include "lang/builtins.h"

enum { KTIME_GET_TAI_NS = 208 };

static struct fsc_val helper_value(struct fsc_gen *g, struct fsc_expr *e)
{
	return fsc_val_reg(e->type, fsc_ir_call_n(g->f, FSC_IR_CALL, e->builtin->param, 0, NULL));
}
const struct fsc_builtin_gen fsc_gen_helper = {.value = helper_value};

fsc_vr fsc_gen_global(struct fsc_gen *g, size_t offset)
{
	struct fsc_ir *i = fsc_ir_push(g->f, FSC_IR_MAPVAL);

	i->imm = g->c->planner->globals;
	i->dst = fsc_ir_vr(g->f);
	return fsc_ir_load(g->f, 8, i->dst, (int32_t)offset);
}

/* The kernel's tgid << 32 | pid, in the initial namespace. */
fsc_vr fsc_gen_tgid_init(struct fsc_gen *g)
{
	fsc_vr both = fsc_ir_call_n(g->f, FSC_IR_CALL, BPF_FUNC_get_current_pid_tgid, 0, NULL);

	return fsc_ir_alu_imm(g->f, BPF_RSH, both, 32);
}

fsc_vr fsc_gen_pid_tgid(struct fsc_gen *g)
{
	const struct fsc_world *w = g->c->world;
	struct fsc_val info;
	fsc_vr pid, tgid;

	if (!w->pidns_ino || !w->features.ns_pid)
		return fsc_ir_call_n(g->f, FSC_IR_CALL, BPF_FUNC_get_current_pid_tgid, 0, NULL);
	/* struct bpf_pidns_info: pid, tgid. Zeros outside of the namespace. */
	info = fsc_val_mem(&fsc_vt_u64, 0, fsc_ir_frame(g->f, 8));
	fsc_ir_call(g->f, BPF_FUNC_get_ns_current_pid_tgid, FSC_A_IMM(w->pidns_dev),
		    FSC_A_IMM(w->pidns_ino), FSC_A_FRAME(info.off), FSC_A_IMM(8));
	pid = fsc_gen_mem_load(g, &info, 4, 0);
	tgid = fsc_gen_mem_load(g, &info, 4, 4);
	return fsc_ir_alu(g->f, BPF_OR, fsc_ir_alu_imm(g->f, BPF_LSH, tgid, 32), pid);
}

void fsc_check_pid(struct fsc_lang *c, struct fsc_expr *e)
{
	e->type = &fsc_vt_u32;
	if (e->n_args && (e->args[0]->kind != FSC_E_NAME || (strcmp(e->args[0]->name, "init") &&
							     strcmp(e->args[0]->name, "curr_ns"))))
		fsc_lang_fail(c, e->args[0]->at, "%s() takes 'curr_ns' or 'init'", e->name);
}

static struct fsc_val pid_value(struct fsc_gen *g, struct fsc_expr *e)
{
	bool init = e->n_args && !strcmp(e->args[0]->name, "init");
	fsc_vr both = init
			  ? fsc_ir_call_n(g->f, FSC_IR_CALL, BPF_FUNC_get_current_pid_tgid, 0, NULL)
			  : fsc_gen_pid_tgid(g);

	if (e->builtin->param)
		return fsc_val_reg(e->type, fsc_ir_extend(g->f, both, 4, false));
	return fsc_val_reg(e->type, fsc_ir_alu_imm(g->f, BPF_RSH, both, 32));
}
const struct fsc_builtin_gen fsc_gen_pid = {.value = pid_value};

void fsc_check_uid(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_check_u64(c, e);
}

static fsc_vr uid_gid(struct fsc_gen *g, bool gid)
{
	fsc_vr both = fsc_ir_call_n(g->f, FSC_IR_CALL, BPF_FUNC_get_current_uid_gid, 0, NULL);

	return gid ? fsc_ir_alu_imm(g->f, BPF_RSH, both, 32) : fsc_ir_extend(g->f, both, 4, false);
}

static struct fsc_val uid_value(struct fsc_gen *g, struct fsc_expr *e)
{
	return fsc_val_reg(e->type, uid_gid(g, e->builtin->param));
}
const struct fsc_builtin_gen fsc_gen_uid = {.value = uid_value};

void fsc_check_username(struct fsc_lang *c, struct fsc_expr *e)
{
	e->type = fsc_vt_new(c, FSC_V_USERNAME, 8, 8);
}

static void username_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	(void)e;
	fsc_gen_mem_store(g, dest, 8, 0, uid_gid(g, false));
}
const struct fsc_builtin_gen fsc_gen_username = {.into = username_into};

void fsc_check_comm(struct fsc_lang *c, struct fsc_expr *e)
{
	e->type = fsc_vt_string(c, 16);
}

/* Linux 6.1 leaves what was there behind the name: keys would differ by it. */
static void comm_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	uint64_t n = dest->type->size < 16 ? dest->type->size : 16;

	(void)e;
	fsc_gen_zero(g, dest, 0, n);
	fsc_ir_call(g->f, BPF_FUNC_get_current_comm, fsc_gen_address_arg(g, dest), FSC_A_IMM(n));
	fsc_gen_zero(g, dest, n, dest->type->size);
}
const struct fsc_builtin_gen fsc_gen_comm = {.into = comm_into};

void fsc_check_curtask(struct fsc_lang *c, struct fsc_expr *e)
{
	const struct fsc_vtype *task = fsc_vt_named(c, "struct task_struct");

	e->type = task ? fsc_vt_pointer(c, task, FSC_SPACE_KERNEL)
		       : fsc_vt_in(c, &fsc_vt_u64, FSC_SPACE_KERNEL);
}

static struct fsc_val curtask_value(struct fsc_gen *g, struct fsc_expr *e)
{
	return fsc_val_reg(e->type,
			   fsc_ir_call_n(g->f, FSC_IR_CALL, BPF_FUNC_get_current_task, 0, NULL));
}
const struct fsc_builtin_gen fsc_gen_curtask = {.value = curtask_value};

static const char *const clocks[] = {"boot", "monotonic", "tai", "sw_tai"};

void fsc_check_nsecs(struct fsc_lang *c, struct fsc_expr *e)
{
	e->type = &fsc_vt_u64;
	e->value = FSC_CLOCK_BOOT;
	if (!e->n_args)
		return;
	for (size_t i = 0; e->args[0]->kind == FSC_E_NAME && i < 4; i++)
		if (!strcmp(clocks[i], e->args[0]->name)) {
			e->value = i;
			if (i == FSC_CLOCK_TAI && !c->world->features.tai_ns)
				fsc_lang_fail(c, e->at,
					      "Kernel does not support tai timestamp, please try "
					      "sw_tai");
			return;
		}
	fsc_lang_fail(c, e->args[0]->at, "nsecs() takes 'boot', 'monotonic', 'tai' or 'sw_tai'");
}

static fsc_vr clock_read(struct fsc_gen *g, uint64_t clock)
{
	int helper = clock == FSC_CLOCK_TAI ? KTIME_GET_TAI_NS
		     : clock == FSC_CLOCK_BOOT && g->c->world->features.boot_ns
			 ? BPF_FUNC_ktime_get_boot_ns
			 : BPF_FUNC_ktime_get_ns;
	fsc_vr now = fsc_ir_call_n(g->f, FSC_IR_CALL, helper, 0, NULL);

	if (clock != FSC_CLOCK_SW_TAI)
		return now;
	return fsc_ir_alu(g->f, BPF_ADD, now,
			  fsc_gen_global(g, offsetof(struct fsc_plan_globals, sw_tai_offset)));
}

static struct fsc_val nsecs_value(struct fsc_gen *g, struct fsc_expr *e)
{
	return fsc_val_reg(e->type, clock_read(g, e->value));
}
const struct fsc_builtin_gen fsc_gen_nsecs = {.value = nsecs_value};

static struct fsc_val elapsed_value(struct fsc_gen *g, struct fsc_expr *e)
{
	fsc_vr now = clock_read(g, FSC_CLOCK_BOOT);

	return fsc_val_reg(
	    e->type, fsc_ir_alu(g->f, BPF_SUB, now,
				fsc_gen_global(g, offsetof(struct fsc_plan_globals, start_ns))));
}
const struct fsc_builtin_gen fsc_gen_elapsed = {.value = elapsed_value};

void fsc_check_ncpus(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_expr_const(e, &fsc_vt_u64, c->world->n_online);
}

void fsc_check_cpid(struct fsc_lang *c, struct fsc_expr *e)
{
	e->type = &fsc_vt_u32;
	if (!c->opts->has_cpid)
		fsc_lang_fail(c, e->at, "cpid cannot be used without child command");
}

static struct fsc_val cpid_value(struct fsc_gen *g, struct fsc_expr *e)
{
	return fsc_val_reg(e->type, fsc_gen_global(g, offsetof(struct fsc_plan_globals, cpid)));
}
const struct fsc_builtin_gen fsc_gen_cpid = {.value = cpid_value};

void fsc_check_has_cpid(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_expr_const(e, &fsc_vt_bool, c->opts->has_cpid);
}

/* A member of the task, or of what it points to: "group_leader.comm". */
static struct fsc_val task_member(struct fsc_gen *g, struct fsc_expr *e, const char *first,
				  const char *second)
{
	const struct fsc_vtype *task = fsc_vt_named(g->c, "struct task_struct");
	struct fsc_val v = {.kind = FSC_VAL_FAR, .space = FSC_SPACE_KERNEL};
	struct fsc_vfield f;

	v.vr = e->n_args ? fsc_gen_number(g, e->args[0])
			 : fsc_ir_call_n(g->f, FSC_IR_CALL, BPF_FUNC_get_current_task, 0, NULL);
	if (!task || !fsc_vt_field(g->c, task, first, &f))
		fsc_lang_fail(g->c, e->at, "%s needs the kernel's type information (BTF)", e->name);
	v = fsc_val_part(&v, f.type, f.offset);
	v.vr = fsc_gen_reg(g, &v);
	v.off = 0;
	if (!fsc_vt_field(g->c, task, second, &f))
		fsc_lang_fail(g->c, e->at, "%s needs the kernel's type information (BTF)", e->name);
	return fsc_val_part(&v, f.type, f.offset);
}

void fsc_check_ppid(struct fsc_lang *c, struct fsc_expr *e)
{
	e->type = &fsc_vt_u32;
	if (e->n_args)
		fsc_want_number(c, e, 0);
}

static struct fsc_val ppid_value(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val v = task_member(g, e, "real_parent", "tgid");

	return fsc_val_reg(e->type, fsc_gen_reg(g, &v));
}
const struct fsc_builtin_gen fsc_gen_ppid = {.value = ppid_value};

void fsc_check_pcomm(struct fsc_lang *c, struct fsc_expr *e)
{
	fsc_check_comm(c, e);
	if (e->n_args)
		fsc_want_number(c, e, 0);
}

static void pcomm_into(struct fsc_gen *g, struct fsc_expr *e, const struct fsc_val *dest)
{
	struct fsc_val v = task_member(g, e, "group_leader", "comm");

	fsc_gen_store(g, dest, &v);
}
const struct fsc_builtin_gen fsc_gen_pcomm = {.into = pcomm_into};

/* Sampling stops user code at its registers: the code segment says which ring it was in. */
void fsc_check_usermode(struct fsc_lang *c, struct fsc_expr *e)
{
	e->type = fsc_vt_int(1, false);
	if (fsc_reg_find("cs") < 0)
		fsc_lang_fail(c, e->at, "'usermode' builtin is only supported on x86_64");
	if (c->check->point->kind == FSC_POINT_BEGIN || c->check->point->kind == FSC_POINT_END) {
		fsc_expr_const(e, e->type, 1);
		return;
	}
	fsc_want_kinds(c, e,
		       FSC_KIND(PROFILE) | FSC_KIND(INTERVAL) | FSC_KIND(SOFTWARE) |
			   FSC_KIND(HARDWARE) | FSC_KIND(KPROBE) | FSC_KIND(UPROBE) |
			   FSC_KIND(USDT) | FSC_KIND(URETPROBE) | FSC_KIND(KRETPROBE));
}

static struct fsc_val usermode_value(struct fsc_gen *g, struct fsc_expr *e)
{
	fsc_vr cs = fsc_ir_load(g->f, 8, g->ctx, fsc_reg_find("cs"));
	fsc_vr ring = fsc_ir_alu_imm(g->f, BPF_AND, cs, 3);

	return fsc_val_reg(e->type, fsc_ir_alu_imm(g->f, BPF_RSH, ring, 1));
}
const struct fsc_builtin_gen fsc_gen_usermode = {.value = usermode_value};
