/* Events: what programs tell user space, as records of the ring. A record's memory is reserved
 * first, so that texts are read straight into it. */
#include <string.h>

#include <linux/bpf.h>

#include "lang/gen.h"

void fsc_gen_loss(struct fsc_gen *g, enum fsc_plan_loss loss)
{
	struct fsc_ir *i = fsc_ir_push(g->f, FSC_IR_MAPVAL);

	i->imm = g->c->planner->losses;
	i->off = 8 * (int32_t)loss;
	i->dst = fsc_ir_vr(g->f);
	fsc_ir_atomic(g->f, BPF_ADD, false, 8, i->dst, 0, fsc_ir_imm(g->f, 1));
}

uint32_t fsc_gen_text(struct fsc_gen *g, const char *text)
{
	struct fsc_vec *v = &g->c->planner->texts;

	for (size_t i = 0; i < v->n; i++)
		if (!strcmp(*FSC_AT(const char *, v, i), text))
			return (uint32_t)i;
	*(const char **)fsc_zone_push(g->c->keep, v) =
	    fsc_zone_copy(g->c->keep, text, strlen(text));
	return (uint32_t)v->n - 1;
}

struct fsc_plan_event *fsc_gen_event_new(struct fsc_gen *g, enum fsc_plan_action action,
					 struct fsc_loc at)
{
	struct fsc_plan_event *ev = fsc_zone_push(g->c->keep, &g->c->planner->events);

	*ev = (struct fsc_plan_event){
	    .action = action, .line = at.line, .column = at.column, .probe = g->probe->number};
	ev->column_end = at.line_end == at.line ? at.column_end : at.column + 1;
	return ev;
}

void fsc_gen_warning(struct fsc_gen *g, const char *text)
{
	struct fsc_plan_event *ev = fsc_gen_event_new(g, FSC_ACT_RUNTIME, g->f->at);

	ev->text = text;
	fsc_gen_event_send(g, ev, NULL, 0);
}

void fsc_gen_helper_event(struct fsc_gen *g, const char *helper, fsc_vr result)
{
	const struct fsc_vtype *types[] = {fsc_vt_int(4, true)};
	struct fsc_plan_event *ev = fsc_gen_event_new(g, FSC_ACT_HELPER, g->f->at);
	uint32_t lost = fsc_ir_label(g->f);
	struct fsc_val record;

	ev->text = helper;
	record = fsc_gen_event_begin(g, ev, types, 1, lost);
	ev = FSC_AT(struct fsc_plan_event, &g->c->planner->events, g->c->planner->events.n - 1);
	fsc_gen_mem_store(g, &record, 4, (int32_t)ev->args[0].offset, result);
	fsc_gen_event_end(g, &record);
	fsc_ir_place(g->f, lost);
}

void fsc_gen_helper_failed(struct fsc_gen *g, const char *helper, fsc_vr result)
{
	uint32_t ok = fsc_ir_label(g->f);

	if (!g->c->opts->helper_errors)
		return;
	fsc_ir_branch_imm(g->f, BPF_JSGE, result, 0, ok);
	fsc_gen_helper_event(g, helper, result);
	fsc_ir_place(g->f, ok);
}

static void event_layout(struct fsc_gen *g, struct fsc_plan_event *ev,
			 const struct fsc_vtype *const *types, size_t n)
{
	struct fsc_plan_arg *args = FSC_NEW_N(g->c->keep, struct fsc_plan_arg, n);
	uint64_t at = sizeof(uint64_t);

	for (size_t i = 0; i < n; i++) {
		uint32_t align =
		    types[i]->align > 1 && types[i]->kind != FSC_V_STRING ? types[i]->align : 8;

		fsc_vt_complete_all(g->c, types[i]);
		at = (at + align - 1) & ~(uint64_t)(align - 1);
		args[i] = (struct fsc_plan_arg){types[i], (uint32_t)at};
		at += types[i]->size;
		if (at > 60000)
			fsc_lang_fail(g->c, g->f->at, "an event cannot be this large: %llu bytes",
				      (unsigned long long)at);
	}
	ev->args = args;
	ev->n_args = n;
	ev->size = (uint32_t)((at + 7) & ~7ull);
}

struct fsc_val fsc_gen_event_begin(struct fsc_gen *g, struct fsc_plan_event *ev,
				   const struct fsc_vtype *const *types, size_t n, uint32_t lost)
{
	uint32_t number = (uint32_t)(ev - FSC_AT(struct fsc_plan_event, &g->c->planner->events, 0));
	uint32_t got = fsc_ir_label(g->f);
	fsc_vr r;

	event_layout(g, ev, types, n);
	r = fsc_ir_call(g->f, BPF_FUNC_ringbuf_reserve, FSC_A_MAP(g->c->planner->ring),
			FSC_A_IMM(ev->size), FSC_A_IMM(0));
	fsc_ir_branch_imm(g->f, BPF_JNE, r, 0, got);
	fsc_gen_loss(g, FSC_PLOSS_RING);
	fsc_ir_jump(g->f, lost);
	fsc_ir_place(g->f, got);
	fsc_ir_store_imm(g->f, 8, r, 0, number);
	return fsc_val_mem(&fsc_vt_void, r, 0);
}

void fsc_gen_event_end(struct fsc_gen *g, const struct fsc_val *record)
{
	struct fsc_ir_arg args[] = {FSC_A_VR(record->vr), FSC_A_IMM(0)};

	fsc_ir_call_n(g->f, FSC_IR_CALL, BPF_FUNC_ringbuf_submit, 2, args);
}

/* Values that run statements, or loops, are made before the record is there: it must be sent on
 * every way out. */
static bool arg_is_early(const struct fsc_expr *e)
{
	if (!e)
		return false;
	if (e->kind == FSC_E_BLOCK || (e->kind == FSC_E_CALL && !strcmp(e->name, "len")))
		return true;
	for (size_t i = 0; i < e->n_args; i++)
		if (arg_is_early(e->args[i]))
			return true;
	return arg_is_early(e->a) || arg_is_early(e->b) || arg_is_early(e->c);
}

void fsc_gen_event_send(struct fsc_gen *g, struct fsc_plan_event *ev, struct fsc_expr **args,
			size_t n)
{
	const struct fsc_vtype **types = FSC_NEW_N(&g->c->temp, const struct fsc_vtype *, n);
	struct fsc_val *early = FSC_NEW_N(&g->c->temp, struct fsc_val, n), record, part;
	size_t number = (size_t)(ev - FSC_AT(struct fsc_plan_event, &g->c->planner->events, 0));
	uint32_t lost = fsc_ir_label(g->f);

	for (size_t i = 0; i < n; i++) {
		types[i] = args[i]->type;
		if (!arg_is_early(args[i]))
			continue;
		early[i] = fsc_gen_expr(g, args[i]);
		if (early[i].kind == FSC_VAL_REG)
			early[i].vr = fsc_ir_mov(g->f, early[i].vr);
	}
	ev = FSC_AT(struct fsc_plan_event, &g->c->planner->events, number);
	record = fsc_gen_event_begin(g, ev, types, n, lost);
	for (size_t i = 0; i < n; i++) {
		int32_t frame = g->f->frame;

		ev = FSC_AT(struct fsc_plan_event, &g->c->planner->events, number);
		part = fsc_val_part(&record, types[i], ev->args[i].offset);
		if (early[i].type)
			fsc_gen_store(g, &part, &early[i]);
		else
			fsc_gen_into(g, args[i], &part);
		g->f->frame = frame;
	}
	fsc_gen_event_end(g, &record);
	fsc_ir_place(g->f, lost);
}
