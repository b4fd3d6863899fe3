/* for: the body is a function that bpf_loop() or bpf_for_each_map_elem() calls. It gets the address
 * of the program's stack frame, where the variables that both use lie, and with them the context.
 */
#include <string.h>

#include <linux/bpf.h>

#include "lang/gen.h"

enum { FOR_EACH_MAP_ELEM = 164, LOOP = 181 };

static fsc_vr param(struct fsc_gen *g, unsigned n)
{
	struct fsc_ir *i = fsc_ir_push(g->f, FSC_IR_PARAM);

	i->imm = n;
	return i->dst = fsc_ir_vr(g->f);
}

/* What changes while a function is generated. */
static uint32_t func_begin(struct fsc_gen *g, struct fsc_gen *saved, unsigned n_params)
{
	uint32_t number = (uint32_t)g->funcs.n;
	struct fsc_ir_func *f =
	    fsc_ir_func_new(g->c, fsc_zone_printf(g->c->keep, "loop_%u", number), n_params);

	*saved = *g;
	f->callback = true;
	f->at = g->f->at;
	*(struct fsc_ir_func **)fsc_zone_push(&g->c->temp, &g->funcs) = f;
	saved->funcs = g->funcs;
	g->f = f;
	g->in_func = true;
	return number;
}

static void func_outer(struct fsc_gen *g, fsc_vr frame)
{
	g->outer = frame;
	g->ctx = fsc_ir_load(g->f, 8, frame, g->ctx_slot);
	g->scratch = fsc_ir_load(g->f, 8, frame, g->scratch_slot);
}

static void func_end(struct fsc_gen *g, const struct fsc_gen *saved)
{
	struct fsc_vec funcs = g->funcs;
	uint32_t most = g->scratch_most;
	bool may_return = g->may_return;

	fsc_ir_exit(g->f, 0);
	*g = *saved;
	g->funcs = funcs;
	g->scratch_most = most;
	g->may_return = may_return;
}

/* The address of the program's frame, from the program or from a function of it. */
static struct fsc_ir_arg frame_arg(struct fsc_gen *g)
{
	return g->in_func ? FSC_A_VR(g->outer) : FSC_A_FRAME(0);
}

/* The body returned from the probe: so does whoever called the loop. */
static void loop_left(struct fsc_gen *g)
{
	uint32_t go_on = fsc_ir_label(g->f);
	fsc_vr base = g->in_func ? g->outer : 0;

	if (!g->may_return)
		return;
	fsc_ir_branch_imm(g->f, BPF_JEQ, fsc_ir_load(g->f, 8, base, g->return_slot), 0, go_on);
	if (g->in_func)
		fsc_ir_exit(g->f, 1);
	else
		fsc_ir_jump(g->f, g->end);
	fsc_ir_place(g->f, go_on);
}

static void for_range(struct fsc_gen *g, struct fsc_stmt *s)
{
	struct fsc_loop loop = {.is_func = true};
	struct fsc_gen saved;
	int32_t start_slot = fsc_ir_frame(*FSC_AT(struct fsc_ir_func *, &g->funcs, 0), 8);
	fsc_vr start = fsc_ir_mov(g->f, fsc_gen_number(g, s->expr)), until, n, index;
	uint32_t none = fsc_ir_label(g->f), number;
	struct fsc_val place, value;

	until = fsc_gen_number(g, s->until);
	fsc_ir_branch(g->f, BPF_JSGE, start, until, none);
	fsc_ir_store(g->f, 8, g->in_func ? g->outer : 0, start_slot, start);
	n = fsc_ir_alu(g->f, BPF_SUB, until, start);
	number = func_begin(g, &saved, 2);
	index = param(g, 0);
	func_outer(g, param(g, 1));
	g->loop = &loop;
	value =
	    fsc_val_reg(&fsc_vt_i64, fsc_ir_alu(g->f, BPF_ADD, fsc_ir_extend(g->f, index, 4, false),
						fsc_ir_load(g->f, 8, g->outer, start_slot)));
	s->var->val = NULL;
	place = fsc_gen_var_place(g, s->var);
	if (place.kind == FSC_VAL_REG)
		fsc_ir_set(g->f, place.vr, value.vr);
	else
		fsc_gen_store(g, &place, &value);
	fsc_gen_block(g, s->body);
	func_end(g, &saved);
	s->var->val = NULL;
	fsc_ir_call(g->f, LOOP, FSC_A_VR(n), FSC_A_FUNC(number), frame_arg(g), FSC_A_IMM(0));
	loop_left(g);
	fsc_ir_place(g->f, none);
}

/* The pair of key and value is copied: its memory is only the function's while it runs, and the
 * value of a map with one for each CPU has to be summed up. */
static void pair_copy(struct fsc_gen *g, struct fsc_stmt *s, fsc_vr key, fsc_vr value)
{
	struct fsc_script_map *m = s->var->map;
	const struct fsc_vfield *f = s->var->type->fields;
	struct fsc_val place, from = fsc_val_mem(m->key, key, 0), part, sum;

	s->var->val = NULL;
	place = fsc_gen_var_place(g, s->var);
	fsc_gen_zero(g, &place, 0, s->var->type->size);
	part = fsc_val_part(&place, f[0].type, f[0].offset);
	fsc_gen_store(g, &part, &from);
	part = fsc_val_part(&place, f[1].type, f[1].offset);
	if (fsc_vtype_aggregates(m->value)) {
		from = fsc_val_part(&place, f[0].type, f[0].offset);
		from = fsc_gen_mem(g, &from);
		sum = fsc_gen_agg_read(g, m, &from);
	} else {
		sum = fsc_val_mem(m->value, value, 0);
	}
	fsc_gen_store(g, &part, &sum);
}

static void for_map(struct fsc_gen *g, struct fsc_stmt *s)
{
	struct fsc_loop loop = {.is_func = true};
	struct fsc_gen saved;
	uint32_t number = func_begin(g, &saved, 4);
	fsc_vr key, value;

	key = param(g, 1);
	value = param(g, 2);
	func_outer(g, param(g, 3));
	g->loop = &loop;
	pair_copy(g, s, key, value);
	fsc_gen_block(g, s->body);
	func_end(g, &saved);
	s->var->val = NULL;
	fsc_ir_call(g->f, FOR_EACH_MAP_ELEM, FSC_A_MAP(s->to->map->number), FSC_A_FUNC(number),
		    frame_arg(g), FSC_A_IMM(0));
	loop_left(g);
}

void fsc_gen_for(struct fsc_gen *g, struct fsc_stmt *s)
{
	bool range = s->kind == FSC_S_FOR_RANGE;
	struct fsc_inline *inlined = g->inlined;

	if (range && !g->c->world->features.loop)
		fsc_lang_fail(g->c, s->at,
			      "a loop over a range needs bpf_loop(), which this kernel lacks "
			      "(Linux 5.17)");
	if (!range && !g->c->world->features.for_each)
		fsc_lang_fail(g->c, s->at,
			      "a loop over a map needs bpf_for_each_map_elem(), which this "
			      "kernel lacks (Linux 5.13)");
	g->inlined = NULL;
	if (range)
		for_range(g, s);
	else
		for_map(g, s);
	g->inlined = inlined;
}

fsc_vr fsc_gen_map_count(struct fsc_gen *g, struct fsc_script_map *m)
{
	struct fsc_gen saved;
	uint32_t number = func_begin(g, &saved, 4);

	func_end(g, &saved);
	return fsc_ir_call(g->f, FOR_EACH_MAP_ELEM, FSC_A_MAP(m->number), FSC_A_FUNC(number),
			   frame_arg(g), FSC_A_IMM(0));
}
