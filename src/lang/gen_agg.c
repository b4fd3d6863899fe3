/* Aggregations: count() and its like. Each CPU has its own value, which is added to at once, since
 * a program on a user function may be interrupted by itself. Reading one in a program sums up. */
#include <string.h>

#include <linux/bpf.h>

#include "lang/gen.h"

enum { MAP_LOOKUP_PERCPU_ELEM = 195 };

/* Where the map of constants has as many zeros as a value needs. */
static uint32_t agg_zeros(struct fsc_gen *g, struct fsc_script_map *m)
{
	if (m->value->size <= 2048) {
		fsc_gen_constant(g, "", 0);
		return 0;
	}
	if (!m->zeros)
		m->zeros = fsc_gen_constant(g, fsc_zone_alloc(&g->c->temp, m->value->size),
					    m->value->size);
	return m->zeros;
}

/* The value's place for a key, made with zeros where it is missing; jumps to lost if it cannot. */
static struct fsc_val agg_place(struct fsc_gen *g, struct fsc_script_map *m,
				const struct fsc_val *key, uint32_t lost)
{
	uint32_t there = fsc_ir_label(g->f);
	fsc_vr found = fsc_ir_vr(g->f), failed = 0;

	fsc_ir_set(g->f, found, fsc_gen_lookup(g, m, key));
	fsc_ir_branch_imm(g->f, BPF_JNE, found, 0, there);
	if (!m->scalar) {
		failed =
		    fsc_ir_call(g->f, BPF_FUNC_map_update_elem, FSC_A_MAP(m->number),
				fsc_gen_address_arg(g, key),
				FSC_A_MAPVAL(g->c->planner->constants, (int32_t)agg_zeros(g, m)),
				FSC_A_IMM(BPF_NOEXIST));
		fsc_ir_set(g->f, found, fsc_gen_lookup(g, m, key));
		fsc_ir_branch_imm(g->f, BPF_JNE, found, 0, there);
	}
	if (failed)
		fsc_gen_map_lost(g, failed);
	else
		fsc_gen_loss(g, FSC_PLOSS_MAP);
	fsc_ir_jump(g->f, lost);
	fsc_ir_place(g->f, there);
	if (m->scalar)
		fsc_ir_store_imm(g->f, 8, found, (int32_t)m->set_offset, 1);
	return fsc_val_mem(m->value, found, 0);
}

static void agg_add(struct fsc_gen *g, fsc_vr base, int32_t off, fsc_vr value)
{
	fsc_ir_atomic(g->f, BPF_ADD, false, 8, base, off, value);
}

static void agg_sums(struct fsc_gen *g, const struct fsc_val *place, fsc_vr value)
{
	agg_add(g, place->vr, 0, value);
	if (place->type->kind != FSC_V_SUM)
		agg_add(g, place->vr, 8, fsc_ir_imm(g->f, 1));
}

static void agg_extreme(struct fsc_gen *g, const struct fsc_val *place, fsc_vr value)
{
	uint32_t set = fsc_ir_label(g->f), end = fsc_ir_label(g->f);
	bool is_min = place->type->kind == FSC_V_MIN, is_signed = place->type->is_signed;
	fsc_vr before, was_set = fsc_ir_load(g->f, 8, place->vr, 8);

	fsc_ir_branch_imm(g->f, BPF_JEQ, was_set, 0, set);
	before = fsc_ir_load(g->f, 8, place->vr, 0);
	fsc_ir_branch(g->f,
		      is_min ? (is_signed ? BPF_JSGE : BPF_JGE) : (is_signed ? BPF_JSLE : BPF_JLE),
		      value, before, end);
	fsc_ir_place(g->f, set);
	fsc_ir_store(g->f, 8, place->vr, 0, value);
	fsc_ir_store_imm(g->f, 8, place->vr, 8, 1);
	fsc_ir_place(g->f, end);
}

/* floor(log2(v)) of a v that is not 0, by halving. */
static fsc_vr agg_log2(struct fsc_gen *g, fsc_vr v)
{
	struct fsc_ir_func *f = g->f;
	fsc_vr left = fsc_ir_mov(f, v), log = fsc_ir_imm(f, 0);

	for (int shift = 32; shift; shift /= 2) {
		uint32_t small = fsc_ir_label(f);

		if (shift == 32)
			fsc_ir_branch_imm(f, BPF_JEQ, fsc_ir_alu_imm(f, BPF_RSH, left, 32), 0,
					  small);
		else
			fsc_ir_branch_imm(f, BPF_JLT, left, 1ll << shift, small);
		fsc_ir_set(f, left, fsc_ir_alu_imm(f, BPF_RSH, left, shift));
		fsc_ir_set(f, log, fsc_ir_alu_imm(f, BPF_ADD, log, shift));
		fsc_ir_place(f, small);
	}
	return log;
}

/* Adds one to a bucket; the verifier must see that it is one. */
static void agg_bucket(struct fsc_gen *g, const struct fsc_val *place, fsc_vr bucket, uint32_t end)
{
	fsc_vr at;

	fsc_ir_branch_imm(g->f, BPF_JGE, bucket, (int64_t)place->type->n, end);
	at = fsc_ir_alu_imm(g->f, BPF_LSH, bucket, 3);
	agg_add(g, fsc_ir_alu(g->f, BPF_ADD, place->vr, at), 0, fsc_ir_imm(g->f, 1));
}

static void agg_hist(struct fsc_gen *g, const struct fsc_val *place, fsc_vr value, uint32_t end)
{
	struct fsc_ir_func *f = g->f;
	unsigned bits = place->type->hist_bits;
	uint32_t known = fsc_ir_label(f), large = fsc_ir_label(f);
	fsc_vr bucket = fsc_ir_imm(f, 0), log, part;

	fsc_ir_branch_imm(f, BPF_JSLT, value, 0, known);
	fsc_ir_branch_imm(f, BPF_JGE, value, 1ll << bits, large);
	fsc_ir_set(f, bucket, fsc_ir_alu_imm(f, BPF_ADD, value, 1));
	fsc_ir_jump(f, known);
	fsc_ir_place(f, large);
	log = fsc_ir_alu_imm(f, BPF_SUB, agg_log2(g, value), bits);
	part = fsc_ir_alu_imm(f, BPF_AND, fsc_ir_alu(f, BPF_RSH, value, log), (1ll << bits) - 1);
	fsc_ir_set(f, bucket,
		   fsc_ir_alu(f, BPF_ADD,
			      fsc_ir_alu_imm(f, BPF_LSH, fsc_ir_alu_imm(f, BPF_ADD, log, 1), bits),
			      fsc_ir_alu_imm(f, BPF_ADD, part, 1)));
	fsc_ir_place(f, known);
	agg_bucket(g, place, bucket, end);
}

static void agg_lhist(struct fsc_gen *g, const struct fsc_val *place, fsc_vr value, uint32_t end)
{
	struct fsc_ir_func *f = g->f;
	const struct fsc_vtype *t = place->type;
	uint32_t known = fsc_ir_label(f), large = fsc_ir_label(f);
	fsc_vr bucket = fsc_ir_imm(f, 0);

	fsc_ir_branch_imm(f, BPF_JSLT, value, t->lhist.min, known);
	fsc_ir_branch_imm(f, BPF_JSGE, value, t->lhist.max, large);
	fsc_ir_set(f, bucket,
		   fsc_ir_alu_imm(f, BPF_ADD,
				  fsc_ir_alu_imm(f, BPF_DIV,
						 fsc_ir_alu_imm(f, BPF_SUB, value, t->lhist.min),
						 t->lhist.step),
				  1));
	fsc_ir_jump(f, known);
	fsc_ir_place(f, large);
	fsc_ir_set_imm(f, bucket, (int64_t)t->n - 1);
	fsc_ir_place(f, known);
	agg_bucket(g, place, bucket, end);
}

/* How a slot of a time series takes a value into account. */
static void tslot_update(struct fsc_gen *g, const struct fsc_vtype *t, fsc_vr slot, fsc_vr value)
{
	struct fsc_ir_func *f = g->f;
	enum fsc_v_ts_agg agg = t->tseries.agg;
	uint32_t set = fsc_ir_label(f), end = fsc_ir_label(f);

	if (agg == FSC_TS_AVG || agg == FSC_TS_SUM) {
		agg_add(g, slot, 8, value);
	} else {
		if (agg != FSC_TS_LAST) {
			fsc_vr before = fsc_ir_load(f, 8, slot, 8);

			fsc_ir_branch_imm(f, BPF_JEQ, fsc_ir_load(f, 8, slot, 16), 0, set);
			fsc_ir_branch(f,
				      agg == FSC_TS_MIN ? (t->is_signed ? BPF_JSGE : BPF_JGE)
							: (t->is_signed ? BPF_JSLE : BPF_JLE),
				      value, before, end);
			fsc_ir_place(f, set);
		}
		fsc_ir_store(f, 8, slot, 8, value);
		fsc_ir_place(f, end);
	}
	agg_add(g, slot, 16, fsc_ir_imm(f, 1));
}

static void agg_tseries(struct fsc_gen *g, const struct fsc_val *place, fsc_vr value, uint32_t end)
{
	struct fsc_ir_func *f = g->f;
	const struct fsc_vtype *t = place->type;
	int helper =
	    g->c->world->features.boot_ns ? BPF_FUNC_ktime_get_boot_ns : BPF_FUNC_ktime_get_ns;
	fsc_vr now = fsc_ir_call_n(f, FSC_IR_CALL, helper, 0, NULL), epoch, slot, at;
	uint32_t same = fsc_ir_label(f);

	epoch = fsc_ir_alu(f, BPF_DIV, now, fsc_ir_imm(f, (int64_t)t->tseries.interval_ns));
	at = fsc_ir_alu_imm(f, BPF_MOD, epoch, (int64_t)t->n);
	fsc_ir_branch_imm(f, BPF_JGE, at, (int64_t)t->n, end);
	at = fsc_ir_alu_imm(f, BPF_MUL, at, sizeof(struct fsc_v_tslot));
	slot = fsc_ir_alu(f, BPF_ADD, place->vr, at);
	fsc_ir_branch(f, BPF_JEQ, fsc_ir_load(f, 8, slot, 0), epoch, same);
	fsc_ir_store(f, 8, slot, 0, epoch);
	fsc_ir_store_imm(f, 8, slot, 8, 0);
	fsc_ir_store_imm(f, 8, slot, 16, 0);
	fsc_ir_place(f, same);
	tslot_update(g, t, slot, value);
	fsc_ir_store(f, 8, slot, 24, now);
}

void fsc_gen_aggregate(struct fsc_gen *g, struct fsc_script_map *m, struct fsc_expr *key,
		       struct fsc_expr *call)
{
	uint32_t end = fsc_ir_label(g->f);
	struct fsc_val k, place;
	fsc_vr value = 0;

	if (call->n_args)
		value = fsc_ir_mov(g->f, fsc_gen_number(g, call->args[0]));
	k = fsc_gen_key(g, m, m->scalar ? NULL : key);
	place = agg_place(g, m, &k, end);
	switch (m->value->kind) {
	case FSC_V_COUNT:
		agg_add(g, place.vr, 0, fsc_ir_imm(g->f, 1));
		break;
	case FSC_V_MIN:
	case FSC_V_MAX:
		agg_extreme(g, &place, value);
		break;
	case FSC_V_HIST:
		agg_hist(g, &place, value, end);
		break;
	case FSC_V_LHIST:
		agg_lhist(g, &place, value, end);
		break;
	case FSC_V_TSERIES:
		agg_tseries(g, &place, value, end);
		break;
	default:
		agg_sums(g, &place, value);
	}
	fsc_ir_place(g->f, end);
}

/* What one CPU's value adds to the whole. */
static void read_merge(struct fsc_gen *g, const struct fsc_vtype *t, fsc_vr from, fsc_vr total,
		       fsc_vr count)
{
	struct fsc_ir_func *f = g->f;
	uint32_t skip = fsc_ir_label(f), set = fsc_ir_label(f);
	fsc_vr v = fsc_ir_load(f, 8, from, 0);

	if (t->kind == FSC_V_MIN || t->kind == FSC_V_MAX) {
		bool is_min = t->kind == FSC_V_MIN;

		fsc_ir_branch_imm(f, BPF_JEQ, fsc_ir_load(f, 8, from, 8), 0, skip);
		fsc_ir_branch_imm(f, BPF_JEQ, count, 0, set);
		fsc_ir_branch(f,
			      is_min ? (t->is_signed ? BPF_JSGE : BPF_JGE)
				     : (t->is_signed ? BPF_JSLE : BPF_JLE),
			      v, total, skip);
		fsc_ir_place(f, set);
		fsc_ir_set(f, total, v);
		fsc_ir_set_imm(f, count, 1);
		fsc_ir_place(f, skip);
		return;
	}
	fsc_ir_set(f, total, fsc_ir_alu(f, BPF_ADD, total, v));
	if (t->kind == FSC_V_AVG)
		fsc_ir_set(f, count, fsc_ir_alu(f, BPF_ADD, count, fsc_ir_load(f, 8, from, 8)));
}

struct fsc_val fsc_gen_agg_read(struct fsc_gen *g, struct fsc_script_map *m,
				const struct fsc_val *key)
{
	struct fsc_ir_func *f = g->f;
	fsc_vr total = fsc_ir_imm(f, 0), count = fsc_ir_imm(f, 0), cpu = fsc_ir_imm(f, 0), found;
	uint32_t again = fsc_ir_label(f), end = fsc_ir_label(f);
	const struct fsc_vtype *t = &fsc_vt_u64;
	struct fsc_val k = *key;

	if (!g->c->world->features.percpu_lookup)
		fsc_lang_fail(g->c, f->at,
			      "to read the value of an aggregation, the kernel needs "
			      "bpf_map_lookup_percpu_elem() (Linux 5.19)");
	if (m->scalar)
		k = fsc_gen_key(g, m, NULL);
	fsc_vt_castable(m->value, &t);
	fsc_ir_place(f, again);
	fsc_ir_branch_imm(f, BPF_JGE, cpu, g->c->world->n_cpus, end);
	found = fsc_ir_call(f, MAP_LOOKUP_PERCPU_ELEM, FSC_A_MAP(m->number),
			    fsc_gen_address_arg(g, &k), FSC_A_VR(cpu));
	fsc_ir_branch_imm(f, BPF_JEQ, found, 0, end);
	read_merge(g, m->value, found, total, count);
	fsc_ir_set(f, cpu, fsc_ir_alu_imm(f, BPF_ADD, cpu, 1));
	fsc_ir_jump(f, again);
	fsc_ir_place(f, end);
	if (m->value->kind == FSC_V_AVG)
		return fsc_gen_arith(g, '/', t, !m->value->is_signed, fsc_val_reg(t, total),
				     fsc_val_reg(t, count));
	return fsc_val_reg(t, total);
}
