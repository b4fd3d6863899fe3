/* A program of the plan: what comes before and behind an action block, and all of it as
 * instructions. */
#include <string.h>

#include <linux/bpf.h>

#include "lang/builtins.h"

enum { SCRATCH_TRIES = 4, STACK_MOST = 512 };

#define USER_KINDS (FSC_KIND(UPROBE) | FSC_KIND(URETPROBE) | FSC_KIND(USDT))
#define FILTERED_KINDS                                                                             \
	(USER_KINDS | FSC_KIND(KPROBE) | FSC_KIND(KRETPROBE) | FSC_KIND(FENTRY) |                  \
	 FSC_KIND(FEXIT) | FSC_KIND(TRACEPOINT) | FSC_KIND(RAWTRACEPOINT) | FSC_KIND(PROFILE) |    \
	 FSC_KIND(SOFTWARE) | FSC_KIND(HARDWARE))

static bool stmts_loop(const struct fsc_stmt *s);

static bool expr_loops(const struct fsc_expr *e)
{
	if (!e)
		return false;
	if (e->kind == FSC_E_CALL && !strcmp(e->name, "len"))
		return true;
	for (size_t i = 0; i < e->n_args; i++)
		if (expr_loops(e->args[i]))
			return true;
	return expr_loops(e->a) || expr_loops(e->b) || expr_loops(e->c) || stmts_loop(e->body);
}

static bool stmts_loop(const struct fsc_stmt *s)
{
	for (; s; s = s->next)
		if (s->kind == FSC_S_FOR_RANGE || s->kind == FSC_S_FOR_MAP || expr_loops(s->expr) ||
		    expr_loops(s->to) || stmts_loop(s->body) || stmts_loop(s->other))
			return true;
	return false;
}

/* A slot of the scratch map that nobody uses: one of the CPU's four. An interrupt, or a program
 * that preempted this one, takes the next. */
static void scratch_acquire(struct fsc_gen *g, uint32_t give_up)
{
	struct fsc_ir_func *f = g->f;
	int32_t key = fsc_ir_frame(f, 8);
	fsc_vr cpu = fsc_ir_call_n(f, FSC_IR_CALL, BPF_FUNC_get_smp_processor_id, 0, NULL), slot;
	uint32_t got = fsc_ir_label(f), lost = fsc_ir_label(f);

	slot = fsc_ir_alu_imm(f, BPF_LSH, cpu, 2);
	for (int i = 0; i < SCRATCH_TRIES; i++) {
		uint32_t next = fsc_ir_label(f);
		fsc_vr busy;

		fsc_ir_store(f, 4, 0, key, slot);
		fsc_ir_set(f, g->scratch,
			   fsc_ir_call(f, BPF_FUNC_map_lookup_elem,
				       FSC_A_MAP(g->c->planner->scratch), FSC_A_FRAME(key)));
		fsc_ir_branch_imm(f, BPF_JEQ, g->scratch, 0, lost);
		busy = fsc_ir_atomic(f, BPF_XCHG, true, 8, g->scratch, 0, fsc_ir_imm(f, 1));
		fsc_ir_branch_imm(f, BPF_JEQ, busy, 0, got);
		fsc_ir_set(f, slot, fsc_ir_alu_imm(f, BPF_ADD, slot, 1));
		fsc_ir_place(f, next);
	}
	fsc_ir_place(f, lost);
	fsc_gen_loss(g, FSC_PLOSS_SCRATCH);
	fsc_ir_jump(f, give_up);
	fsc_ir_place(f, got);
}

static void prologue_filter(struct fsc_gen *g, uint32_t give_up)
{
	fsc_vr tgid;

	if (!g->c->opts->pid || !(1u << g->point->kind & FILTERED_KINDS))
		return;
	tgid = fsc_ir_alu_imm(g->f, BPF_RSH, fsc_gen_pid_tgid(g), 32);
	fsc_ir_branch_imm(g->f, BPF_JNE, tgid, g->c->opts->pid, give_up);
}

/* Only once the body is there is it known what has to come before it. */
static void program_prologue(struct fsc_gen *g, uint32_t give_up)
{
	struct fsc_ir_func *f = g->f;
	struct fsc_vec body = f->code;
	struct fsc_ir *i;

	f->code = FSC_VEC_INIT(struct fsc_ir);
	f->at = g->probe->at;
	i = fsc_ir_push(f, FSC_IR_PARAM);
	i->dst = g->ctx;
	if (g->in_user)
		fsc_ir_push(f, FSC_IR_GUARD);
	prologue_filter(g, give_up);
	if (g->scratch_most)
		scratch_acquire(g, give_up);
	else
		fsc_ir_set_imm(f, g->scratch, 0);
	if (g->uses_loops) {
		fsc_ir_store(f, 8, 0, g->ctx_slot, g->ctx);
		fsc_ir_store(f, 8, 0, g->scratch_slot, g->scratch);
		fsc_ir_store_imm(f, 8, 0, g->return_slot, 0);
	}
	for (size_t k = 0; k < body.n; k++)
		*(struct fsc_ir *)fsc_zone_push(&g->c->temp, &f->code) =
		    *FSC_AT(struct fsc_ir, &body, k);
}

static void program_body(struct fsc_gen *g, struct fsc_probe *p)
{
	struct fsc_ir_func *f = g->f;
	uint32_t yes = fsc_ir_label(f), give_up = fsc_ir_label(f);

	g->end = fsc_ir_label(f);
	g->ctx = fsc_ir_vr(f);
	g->scratch = fsc_ir_vr(f);
	g->uses_loops = stmts_loop(p->body) || expr_loops(p->predicate);
	if (g->uses_loops) {
		g->ctx_slot = fsc_ir_frame(f, 8);
		g->scratch_slot = fsc_ir_frame(f, 8);
		g->return_slot = fsc_ir_frame(f, 8);
	}
	if (p->predicate) {
		int32_t frame = f->frame;

		fsc_gen_branch(g, p->predicate, yes, g->end);
		fsc_ir_place(f, yes);
		f->frame = frame;
		g->scratch_used = 0;
	}
	fsc_gen_block(g, p->body);
	f->at = (struct fsc_loc){0};
	fsc_ir_place(f, g->end);
	if (g->scratch_most)
		fsc_ir_store_imm(f, 8, g->scratch, 0, 0);
	fsc_ir_place(f, give_up);
	fsc_ir_exit(f, 0);
	program_prologue(g, give_up);
}

/* A loop's function has its frame below the program's, and a nested one's below that. */
static void program_stack(struct fsc_gen *g)
{
	int32_t sum = 0;

	for (size_t i = 0; i < g->funcs.n; i++)
		sum += ((*FSC_AT(struct fsc_ir_func *, &g->funcs, i))->stack + 31) & ~31;
	if (sum > STACK_MOST)
		fsc_lang_fail_hint(
		    g->c, g->probe->at, "keep fewer variables and keys at once, or nest loops less",
		    "this needs more than the %d bytes of stack that the kernel gives", STACK_MOST);
}

/* Functions that nothing calls any more, since the call was never reached, are left out: the kernel
 * would not know them. */
static void program_mark(struct fsc_gen *g, size_t number)
{
	struct fsc_ir_func *f = *FSC_AT(struct fsc_ir_func *, &g->funcs, number);

	if (f->used)
		return;
	f->used = true;
	for (size_t i = 0; i < f->code.n; i++) {
		const struct fsc_ir *in = FSC_AT(struct fsc_ir, &f->code, i);

		for (int k = 0; in->op == FSC_IR_CALL && k < 5; k++)
			if (in->args[k].kind == FSC_IRA_FUNC)
				program_mark(g, (size_t)in->args[k].imm);
	}
}

static void program_emit(struct fsc_gen *g, struct fsc_plan_prog *prog)
{
	struct fsc_ir_out out;
	uint32_t *numbers;

	fsc_ir_out_init(&out);
	for (size_t i = 0; i < g->funcs.n; i++)
		fsc_ir_allocate(*FSC_AT(struct fsc_ir_func *, &g->funcs, i));
	program_stack(g);
	program_mark(g, 0);
	numbers = FSC_NEW_N(&g->c->temp, uint32_t, g->funcs.n);
	for (size_t i = 0; i < g->funcs.n; i++) {
		struct fsc_ir_func *f = *FSC_AT(struct fsc_ir_func *, &g->funcs, i);

		numbers[i] = (uint32_t)out.funcs.n;
		if (f->used)
			fsc_ir_emit(f, &out);
	}
	fsc_ir_finish(&out, numbers);
	prog->insns = out.insns.data;
	prog->n_insns = out.insns.n;
	prog->relocs = out.relocs.data;
	prog->n_relocs = out.relocs.n;
	prog->lines = out.lines.data;
	prog->n_lines = out.lines.n;
	prog->funcs = out.funcs.data;
	prog->n_funcs = out.funcs.n;
}

/* Letters of the probe's name that the kernel takes. */
static const char *program_name(struct fsc_lang *c, const struct fsc_point *p)
{
	char *name = fsc_zone_alloc(c->keep, 16);
	size_t n = 0;

	for (const char *s = p->name; *s && n < 15; s++)
		name[n++] =
		    strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *s)
			? *s
			: '_';
	return name;
}

static const char *program_title(struct fsc_lang *c, const struct fsc_probe *p)
{
	const struct fsc_attach_text *first = FSC_AT(struct fsc_attach_text, &p->texts, 0);

	return p->texts.n > 1 ? fsc_zone_printf(c->keep, "%s, ...", first->text) : first->text;
}

void fsc_gen_program(struct fsc_lang *c, struct fsc_probe *p)
{
	struct fsc_check *k = c->check;
	struct fsc_plan_prog *prog;
	struct fsc_gen g = {.c = c,
			    .funcs = FSC_VEC_INIT(struct fsc_ir_func *),
			    .points = k->points,
			    .n_points = k->n_points,
			    .point = k->point,
			    .probe = p};

	g.in_user = 1u << k->point->kind & USER_KINDS;
	g.f = fsc_ir_func_new(c, program_name(c, k->point), 1);
	*(struct fsc_ir_func **)fsc_zone_push(&c->temp, &g.funcs) = g.f;
	program_body(&g, p);
	if (g.scratch_most + 8 > c->planner->scratch_size)
		c->planner->scratch_size = g.scratch_most + 8;
	c->planner->has_scratch |= g.scratch_most > 0;
	prog = fsc_zone_push(c->keep, &c->planner->progs);
	*prog = (struct fsc_plan_prog){.name = g.f->name,
				       .title = program_title(c, p),
				       .kind = k->point->kind,
				       .probe = p->number,
				       .points = k->points,
				       .n_points = k->n_points,
				       .needs_cookie = k->uses_cookie,
				       .unsafe = k->overrides,
				       .in_user = g.in_user};
	prog->returns = prog->kind == FSC_POINT_TEST;
	prog->cookies = FSC_NEW_N(c->keep, uint64_t, k->n_points);
	for (size_t i = 0; i < k->n_points; i++)
		prog->cookies[i] = i;
	program_emit(&g, prog);
	fsc_btf_build(c, prog);
}
