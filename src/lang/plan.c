/* A finished plan: releasing it, finding lines, showing it to people (-d). */
#include <stdlib.h>
#include <string.h>

#include "lang/arena.h"
#include "lang/plan.h"

const char *const fsc_plan_loss_names[FSC_PLOSS_MAX] = {
    [FSC_PLOSS_RING] = "ring full",	    [FSC_PLOSS_MAP] = "map full",
    [FSC_PLOSS_SCRATCH] = "scratch memory", [FSC_PLOSS_STACK] = "stack not stored",
    [FSC_PLOSS_RACE] = "concurrent update",
};

void fsc_plan_free(struct fsc_plan *p)
{
	if (!p)
		return;
	fsc_zone_release(p->arena);
	free(p->arena);
	free(p);
}

void fsc_plan_freep(struct fsc_plan **p)
{
	fsc_plan_free(*p);
}

bool fsc_plan_line_of(const struct fsc_plan_prog *p, uint32_t insn, struct fsc_plan_line *ret)
{
	bool found = false;

	for (size_t i = 0; i < p->n_lines && p->lines[i].insn <= insn; i++) {
		*ret = p->lines[i];
		found = true;
	}
	return found;
}

static void dump_maps(const struct fsc_plan *p, struct fsc_buf *b)
{
	for (size_t i = 0; i < p->n_maps; i++) {
		const struct fsc_plan_map *m = &p->maps[i];

		fsc_buf_printf(b, "map %zu %s: type %u, key %u, value %u, entries %u, flags %#x\n",
			       i, m->name, m->type, m->key_size, m->value_size, m->max_entries,
			       m->flags);
	}
}

static void dump_event(const struct fsc_plan_event *e, size_t i, struct fsc_buf *b)
{
	static const char *const actions[FSC_ACT_MAX] = {
	    [FSC_ACT_PRINTF] = "printf",
	    [FSC_ACT_ERRORF] = "errorf",
	    [FSC_ACT_WARNF] = "warnf",
	    [FSC_ACT_PRINT] = "print",
	    [FSC_ACT_PRINT_MAP] = "print map",
	    [FSC_ACT_PRINT_ENTRY] = "print entry",
	    [FSC_ACT_CLEAR] = "clear",
	    [FSC_ACT_ZERO] = "zero",
	    [FSC_ACT_TIME] = "time",
	    [FSC_ACT_JOIN] = "join",
	    [FSC_ACT_CAT] = "cat",
	    [FSC_ACT_SYSTEM] = "system",
	    [FSC_ACT_EXIT] = "exit",
	    [FSC_ACT_UNWATCH] = "unwatch",
	    [FSC_ACT_WATCH] = "watch",
	    [FSC_ACT_SKBOUTPUT] = "skboutput",
	    [FSC_ACT_HELPER] = "helper",
	    [FSC_ACT_RUNTIME] = "runtime",
	};

	fsc_buf_printf(b, "event %zu %s: %u bytes", i, actions[e->action], e->size);
	for (size_t k = 0; k < e->n_args; k++)
		fsc_buf_printf(b, ", %u at %u", (unsigned)e->args[k].type->size, e->args[k].offset);
	fsc_buf_putc(b, '\n');
}

static void dump_prog(const struct fsc_plan *p, const struct fsc_plan_prog *g, struct fsc_buf *b)
{
	size_t line = 0;

	fsc_buf_printf(b, "program %s: %zu instructions, %zu points\n", g->title, g->n_insns,
		       g->n_points);
	for (size_t i = 0; i < g->n_insns; i++) {
		const struct bpf_insn *n = &g->insns[i];

		for (; line < g->n_lines && g->lines[line].insn <= i; line++)
			if (g->lines[line].line <= p->n_source_lines)
				fsc_buf_printf(b, "; %u:%u %s\n", g->lines[line].line,
					       g->lines[line].column,
					       p->source_lines[g->lines[line].line - 1]);
		fsc_buf_printf(b, "%5zu: (%02x) dst r%u src r%u off %d imm %d\n", i, n->code,
			       n->dst_reg, n->src_reg, n->off, n->imm);
	}
}

void fsc_plan_dump(const struct fsc_plan *p, struct fsc_buf *b)
{
	dump_maps(p, b);
	for (size_t i = 0; i < p->n_events; i++)
		dump_event(&p->events[i], i, b);
	for (size_t i = 0; i < p->n_progs; i++)
		dump_prog(p, &p->progs[i], b);
}
