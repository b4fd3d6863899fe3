/* Registers for the intermediate form: liveness by blocks, then one pass over the live intervals in
 * order of their beginnings. What no register is left for lies on the stack. Instructions that
 * nothing can reach, and those whose result nobody reads, are removed: the verifier refuses the
 * former. */
#include <stdlib.h>
#include <string.h>

#include <linux/bpf.h>

#include "lang/ir.h"

enum { STACK_MOST = 512 };

struct block {
	uint32_t first, end; /* instructions */
	int next[2];	     /* blocks, -1: none */
	uint64_t *in, *out;  /* registers that are live */
	bool reached;
};

struct flow {
	struct fsc_ir_func *f;
	struct fsc_vec blocks; /* struct block */
	int *label_block;
	size_t words;
};

static struct fsc_ir *flow_at(const struct flow *w, size_t i)
{
	return FSC_AT(struct fsc_ir, &w->f->code, i);
}

static struct block *flow_block(const struct flow *w, size_t i)
{
	return FSC_AT(struct block, &w->blocks, i);
}

static bool ir_jumps(const struct fsc_ir *i)
{
	return i->op == FSC_IR_JUMP || i->op == FSC_IR_BRANCH || i->op == FSC_IR_EXIT;
}

static void flow_split(struct flow *w)
{
	struct block *b = NULL;

	w->label_block = FSC_NEW_N(&w->f->c->temp, int, w->f->n_labels + 1);
	for (uint32_t i = 0; i < w->f->code.n; i++) {
		if (!b || flow_at(w, i)->op == FSC_IR_LABEL || ir_jumps(flow_at(w, i - 1))) {
			b = fsc_zone_push(&w->f->c->temp, &w->blocks);
			*b = (struct block){.first = i, .next = {-1, -1}};
		}
		if (flow_at(w, i)->op == FSC_IR_LABEL)
			w->label_block[flow_at(w, i)->label] = (int)w->blocks.n - 1;
		b->end = i + 1;
	}
}

static void flow_link(struct flow *w)
{
	for (size_t i = 0; i < w->blocks.n; i++) {
		struct block *b = flow_block(w, i);
		const struct fsc_ir *last = flow_at(w, b->end - 1);

		b->in = FSC_NEW_N(&w->f->c->temp, uint64_t, w->words);
		b->out = FSC_NEW_N(&w->f->c->temp, uint64_t, w->words);
		if (last->op == FSC_IR_JUMP || last->op == FSC_IR_BRANCH)
			b->next[0] = w->label_block[last->label];
		if (!fsc_ir_ends(last) && i + 1 < w->blocks.n)
			b->next[1] = (int)i + 1;
	}
}

static void flow_reach(struct flow *w)
{
	int *todo = FSC_NEW_N(&w->f->c->temp, int, 2 * w->blocks.n + 1);
	size_t n = 1;

	while (n) {
		struct block *b = flow_block(w, (size_t)todo[--n]);

		if (b->reached)
			continue;
		b->reached = true;
		for (int k = 0; k < 2; k++)
			if (b->next[k] >= 0)
				todo[n++] = b->next[k];
	}
	for (size_t i = 0; i < w->blocks.n; i++)
		for (uint32_t k = flow_block(w, i)->first; k < flow_block(w, i)->end; k++)
			if (!flow_block(w, i)->reached)
				flow_at(w, k)->op = FSC_IR_NOP;
}

static bool bit_get(const uint64_t *bits, fsc_vr v)
{
	return bits[v / 64] >> (v % 64) & 1;
}

static void bit_set(uint64_t *bits, fsc_vr v)
{
	bits[v / 64] |= 1ull << (v % 64);
}

static void bit_clear(uint64_t *bits, fsc_vr v)
{
	bits[v / 64] &= ~(1ull << (v % 64));
}

static bool ir_pure(const struct fsc_ir *i)
{
	return i->op == FSC_IR_MOV || i->op == FSC_IR_IMM || i->op == FSC_IR_ALU ||
	       i->op == FSC_IR_NEG || i->op == FSC_IR_SWAP || i->op == FSC_IR_FRAME ||
	       i->op == FSC_IR_MAP || i->op == FSC_IR_MAPVAL || i->op == FSC_IR_KVAR ||
	       i->op == FSC_IR_PARAM || i->op == FSC_IR_LOAD;
}

/* Goes backwards over a block, from what is live behind it. drop: instructions without use become
 * NOPs. */
static void block_walk(struct flow *w, struct block *b, uint64_t *live, bool drop)
{
	fsc_vr uses[8];

	for (uint32_t k = b->end; k-- > b->first;) {
		struct fsc_ir *i = flow_at(w, k);
		unsigned n;

		if (i->op == FSC_IR_NOP)
			continue;
		if (i->dst && !bit_get(live, i->dst)) {
			if (ir_pure(i)) {
				if (drop)
					i->op = FSC_IR_NOP;
				continue;
			}
			if (drop)
				i->dst = 0;
		}
		if (i->dst)
			bit_clear(live, i->dst);
		n = fsc_ir_uses(i, uses);
		while (n--)
			bit_set(live, uses[n]);
	}
}

static bool block_update(struct flow *w, struct block *b, uint64_t *live)
{
	memset(b->out, 0, w->words * sizeof(uint64_t));
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; b->next[k] >= 0 && i < w->words; i++)
			b->out[i] |= flow_block(w, (size_t)b->next[k])->in[i];
	memcpy(live, b->out, w->words * sizeof(uint64_t));
	block_walk(w, b, live, false);
	if (!memcmp(live, b->in, w->words * sizeof(uint64_t)))
		return false;
	memcpy(b->in, live, w->words * sizeof(uint64_t));
	return true;
}

static void flow_live(struct flow *w)
{
	uint64_t *live = FSC_NEW_N(&w->f->c->temp, uint64_t, w->words);
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = w->blocks.n; i-- > 0;)
			if (flow_block(w, i)->reached)
				changed |= block_update(w, flow_block(w, i), live);
	}
	for (size_t i = 0; i < w->blocks.n; i++) {
		memcpy(live, flow_block(w, i)->out, w->words * sizeof(uint64_t));
		block_walk(w, flow_block(w, i), live, true);
	}
}

/* From the first instruction that writes it (or a loop's beginning) to the last that reads it. */
struct interval {
	fsc_vr vr;
	uint32_t first, last;
	bool crosses; /* a call lies within */
	int8_t hint;
};

static void interval_touch(struct interval *v, uint32_t at)
{
	if (!v->first || at < v->first)
		v->first = at;
	if (at > v->last)
		v->last = at;
}

/* Positions count from 1, two for each instruction: it reads at the first and writes at the second.
 */
static struct interval *flow_intervals(struct flow *w)
{
	struct interval *v = FSC_NEW_N(&w->f->c->temp, struct interval, w->f->n_vrs);
	fsc_vr uses[8];

	for (size_t i = 0; i < w->blocks.n; i++) {
		const struct block *b = flow_block(w, i);

		for (fsc_vr r = 1; r < w->f->n_vrs; r++) {
			if (bit_get(b->in, r))
				interval_touch(&v[r], 2 * b->first + 1);
			if (bit_get(b->out, r))
				interval_touch(&v[r], 2 * b->end);
		}
		for (uint32_t k = b->first; k < b->end; k++) {
			const struct fsc_ir *in = flow_at(w, k);
			unsigned n = in->op == FSC_IR_NOP ? 0 : fsc_ir_uses(in, uses);

			while (n--)
				interval_touch(&v[uses[n]], 2 * k + 1);
			if (in->op != FSC_IR_NOP && in->dst)
				interval_touch(&v[in->dst], 2 * k + 2);
		}
	}
	return v;
}

static void interval_hints(struct flow *w, struct interval *v)
{
	for (uint32_t k = 0; k < w->f->code.n; k++) {
		const struct fsc_ir *in = flow_at(w, k);

		for (int a = 0; in->args && in->op != FSC_IR_NOP && a < 4; a++)
			if (in->args[a].kind == FSC_IRA_VR)
				v[in->args[a].vr].hint = (int8_t)(a + 1);
	}
	/* A parameter stays where it comes, or it would overwrite the next one. */
	for (uint32_t k = 0; k < w->f->code.n; k++)
		if (flow_at(w, k)->op == FSC_IR_PARAM)
			v[flow_at(w, k)->dst].hint = (int8_t)(flow_at(w, k)->imm + 1);
}

static bool ir_calls(const struct fsc_ir *i)
{
	return i->op == FSC_IR_CALL || i->op == FSC_IR_KCALL;
}

static void interval_crossings(struct flow *w, struct interval *v)
{
	uint32_t *calls = FSC_NEW_N(&w->f->c->temp, uint32_t, w->f->code.n + 1), n = 0;

	for (uint32_t k = 0; k < w->f->code.n; k++)
		if (ir_calls(flow_at(w, k)))
			calls[n++] = 2 * k + 1;
	for (fsc_vr r = 1; r < w->f->n_vrs; r++) {
		uint32_t low = 0, high = n;

		while (low < high) { /* the first call at or behind the beginning */
			uint32_t mid = (low + high) / 2;

			if (calls[mid] >= v[r].first)
				high = mid;
			else
				low = mid + 1;
		}
		v[r].vr = r;
		v[r].crosses = v[r].first && low < n && calls[low] < v[r].last;
	}
}

static int by_first(const void *pa, const void *pb)
{
	const struct interval *a = pa, *b = pb;

	return a->first != b->first ? (a->first < b->first ? -1 : 1) : (int)a->vr - (int)b->vr;
}

struct scan {
	struct fsc_ir_func *f;
	struct interval *holder[10]; /* of each machine register */
};

static void scan_spill(struct scan *s, fsc_vr r)
{
	s->f->regs[r] = -1;
}

/* Registers that may hold it, best first. */
static const int8_t *scan_choices(const struct interval *v, unsigned *n)
{
	static const int8_t across[] = {6, 7, 8, 9}, any[] = {1, 2, 3, 4, 6, 7, 8, 9};

	*n = v->crosses ? 4 : 8;
	return v->crosses ? across : any;
}

static bool scan_free(struct scan *s, int8_t reg, uint32_t at)
{
	return !s->holder[reg] || s->holder[reg]->last <= at;
}

static void scan_take(struct scan *s, struct interval *v, int8_t reg)
{
	s->holder[reg] = v;
	s->f->regs[v->vr] = reg;
}

static void scan_one(struct scan *s, struct interval *v)
{
	const int8_t *choices;
	int8_t victim = 0;
	unsigned n;

	choices = scan_choices(v, &n);
	if (v->hint && !v->crosses && scan_free(s, v->hint, v->first)) {
		scan_take(s, v, v->hint);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		int8_t reg = choices[i];

		if (scan_free(s, reg, v->first)) {
			scan_take(s, v, reg);
			return;
		}
		if (!s->f->keeps[s->holder[reg]->vr] &&
		    (!victim || s->holder[reg]->last > s->holder[victim]->last))
			victim = reg;
	}
	if (victim && (s->holder[victim]->last > v->last || s->f->keeps[v->vr])) {
		scan_spill(s, s->holder[victim]->vr);
		scan_take(s, v, victim);
		return;
	}
	scan_spill(s, v->vr);
}

/* Places for what is spilled; two share one if they do not live at the same time. */
static void scan_places(struct fsc_ir_func *f, struct interval *sorted, uint32_t n)
{
	uint32_t *until = FSC_NEW_N(&f->c->temp, uint32_t, n + 1), places = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t p = 0;

		if (!sorted[i].first || f->regs[sorted[i].vr] != -1)
			continue;
		while (p < places && until[p] > sorted[i].first)
			p++;
		if (p == places)
			places++;
		until[p] = sorted[i].last + 1;
		f->spills[sorted[i].vr] = (int16_t)(-f->frame_most - 8 * (int)(p + 1));
		if (f->frame_most + 8 * (int)places > STACK_MOST)
			fsc_lang_fail_hint(
			    f->c, f->at,
			    "keep fewer variables and keys at once, or make strings shorter",
			    "this needs more than the %d bytes of stack that the kernel gives",
			    STACK_MOST);
	}
	f->stack = f->frame_most + 8 * (int)places;
}

void fsc_ir_allocate(struct fsc_ir_func *f)
{
	struct flow w = {.f = f, .blocks = FSC_VEC_INIT(struct block), .words = f->n_vrs / 64 + 1};
	struct scan s = {.f = f};
	struct interval *v;

	flow_split(&w);
	flow_link(&w);
	flow_reach(&w);
	flow_live(&w);
	v = flow_intervals(&w);
	interval_hints(&w, v);
	interval_crossings(&w, v);
	f->regs = FSC_NEW_N(&f->c->temp, int8_t, f->n_vrs);
	f->spills = FSC_NEW_N(&f->c->temp, int16_t, f->n_vrs);
	if (!f->keeps)
		f->keeps = FSC_NEW_N(&f->c->temp, bool, f->n_vrs);
	qsort(v, f->n_vrs, sizeof(*v), by_first);
	for (uint32_t i = 0; i < f->n_vrs; i++)
		if (v[i].first)
			scan_one(&s, &v[i]);
	scan_places(f, v, f->n_vrs);
}
