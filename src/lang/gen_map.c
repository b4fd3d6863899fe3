/* Reading and writing the script's maps. Maps without a key lie in arrays, whose memory programs
 * reach without a helper: the value, and behind it a word that says whether there is one. */
#include <string.h>

#include <linux/bpf.h>

#include "lang/gen.h"

static struct fsc_val scalar_place(struct fsc_gen *g, struct fsc_script_map *m,
				   const struct fsc_vtype *t)
{
	struct fsc_ir *i = fsc_ir_push(g->f, FSC_IR_MAPVAL);

	i->imm = m->number;
	i->dst = fsc_ir_vr(g->f);
	return fsc_val_mem(t, i->dst, 0);
}

static void scalar_mark(struct fsc_gen *g, struct fsc_script_map *m, const struct fsc_val *place)
{
	fsc_gen_mem_store_imm(g, place, 8, (int32_t)m->set_offset, 1);
}

struct fsc_val fsc_gen_key(struct fsc_gen *g, struct fsc_script_map *m, struct fsc_expr *key)
{
	struct fsc_val place;

	if (!key) {
		place = fsc_val_mem(&fsc_vt_u32, 0, fsc_ir_frame(g->f, 8));
		fsc_gen_mem_store_imm(g, &place, 4, 0, 0);
		return place;
	}
	/* A variable that has the map's type is a key as it is. */
	if (key->kind == FSC_E_VAR && !fsc_vt_is_number(m->key) && key->type == m->key)
		return fsc_gen_expr(g, key);
	place = fsc_gen_temp(g, m->key);
	fsc_gen_into(g, key, &place);
	return place;
}

fsc_vr fsc_gen_lookup(struct fsc_gen *g, struct fsc_script_map *m, const struct fsc_val *key)
{
	return fsc_ir_call(g->f, BPF_FUNC_map_lookup_elem, FSC_A_MAP(m->number),
			   fsc_gen_address_arg(g, key));
}

/* The value, or zeros where the key is missing. */
static struct fsc_val read_found(struct fsc_gen *g, const struct fsc_vtype *t, fsc_vr found)
{
	uint32_t end = fsc_ir_label(g->f), none = fsc_ir_label(g->f);
	struct fsc_val place = fsc_val_mem(t, found, 0), ret;
	fsc_vr r;

	if (fsc_vt_is_number(t)) {
		r = fsc_ir_vr(g->f);
		fsc_ir_set_imm(g->f, r, 0);
		fsc_ir_branch_imm(g->f, BPF_JEQ, found, 0, end);
		fsc_ir_set(g->f, r, fsc_gen_reg(g, &place));
		fsc_ir_place(g->f, end);
		return fsc_val_reg(t, r);
	}
	ret = fsc_gen_temp(g, t);
	fsc_ir_branch_imm(g->f, BPF_JEQ, found, 0, none);
	fsc_gen_store(g, &ret, &place);
	fsc_ir_jump(g->f, end);
	fsc_ir_place(g->f, none);
	fsc_gen_zero(g, &ret, 0, t->size);
	fsc_ir_place(g->f, end);
	return ret;
}

struct fsc_val fsc_gen_map_read_key(struct fsc_gen *g, struct fsc_script_map *m,
				    const struct fsc_val *key)
{
	fsc_vr found;

	if (fsc_vtype_aggregates(m->value))
		return fsc_gen_agg_read(g, m, key);
	if (m->scalar)
		return scalar_place(g, m, m->value);
	found = fsc_gen_lookup(g, m, key);
	if (g->c->opts->helper_errors) {
		uint32_t there = fsc_ir_label(g->f);

		found = fsc_ir_mov(g->f, found);
		fsc_ir_branch_imm(g->f, BPF_JNE, found, 0, there);
		fsc_gen_helper_event(g, "map_lookup_elem", fsc_ir_imm(g->f, 0));
		fsc_ir_place(g->f, there);
	}
	return read_found(g, m->value, found);
}

struct fsc_val fsc_gen_map_read(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_val key = {0};

	if (!e->map->scalar)
		key = fsc_gen_key(g, e->map, e->a);
	return fsc_gen_map_read_key(g, e->map, &key);
}

/* Every loss is counted, and the first one said at once. */
void fsc_gen_map_lost(struct fsc_gen *g, fsc_vr result)
{
	uint32_t said = fsc_ir_label(g->f);
	struct fsc_ir *i = fsc_ir_push(g->f, FSC_IR_MAPVAL);
	fsc_vr before;

	i->imm = g->c->planner->losses;
	i->off = 8 * FSC_PLOSS_MAP;
	i->dst = fsc_ir_vr(g->f);
	before = fsc_ir_atomic(g->f, BPF_ADD, true, 8, i->dst, 0, fsc_ir_imm(g->f, 1));
	fsc_ir_branch_imm(g->f, BPF_JNE, before, 0, said);
	fsc_gen_helper_event(g, "map_update_elem", result);
	fsc_ir_place(g->f, said);
}

void fsc_gen_map_set(struct fsc_gen *g, struct fsc_script_map *m, const struct fsc_val *key,
		     const struct fsc_val *value)
{
	uint32_t ok = fsc_ir_label(g->f);
	struct fsc_val place;
	fsc_vr r;

	if (m->scalar) {
		place = scalar_place(g, m, m->value);
		fsc_gen_store(g, &place, value);
		scalar_mark(g, m, &place);
		return;
	}
	r = fsc_ir_call(g->f, BPF_FUNC_map_update_elem, FSC_A_MAP(m->number),
			fsc_gen_address_arg(g, key), fsc_gen_address_arg(g, value), FSC_A_IMM(0));
	fsc_ir_branch_imm(g->f, BPF_JEQ, r, 0, ok);
	fsc_gen_map_lost(g, r);
	fsc_ir_place(g->f, ok);
}

/* The value of an assignment in memory of the map's type. */
static struct fsc_val assign_value(struct fsc_gen *g, struct fsc_script_map *m, struct fsc_expr *e)
{
	struct fsc_val place;

	if (e->kind == FSC_E_VAR && !fsc_vt_is_number(m->value) && e->type == m->value)
		return fsc_gen_expr(g, e);
	place = fsc_gen_temp(g, m->value);
	fsc_gen_into(g, e, &place);
	return place;
}

static const struct fsc_vtype *assign_type(const struct fsc_vtype *t)
{
	return t->kind == FSC_V_POINTER ? t : t->is_signed ? &fsc_vt_i64 : &fsc_vt_u64;
}

/* @x[key] op= value */
static void assign_op(struct fsc_gen *g, struct fsc_stmt *s)
{
	struct fsc_script_map *m = s->to->map;
	struct fsc_val key = {0}, old, value, made;

	if (!m->scalar)
		key = fsc_gen_key(g, m, s->to->a);
	value = fsc_gen_expr(g, s->expr);
	if (value.kind != FSC_VAL_IMM)
		value = fsc_val_reg(s->expr->type, fsc_gen_reg(g, &value));
	if (m->value->kind == FSC_V_POINTER && m->value->to->size > 1)
		value = fsc_gen_arith(g, '*', &fsc_vt_i64, true, value,
				      fsc_val_imm(&fsc_vt_i64, (int64_t)m->value->to->size));
	old = fsc_gen_map_read_key(g, m, &key);
	made = fsc_gen_arith(g, s->op, assign_type(m->value), !m->value->is_signed, old, value);
	if (!m->scalar) {
		struct fsc_val place = fsc_gen_temp(g, m->value);

		fsc_gen_store(g, &place, &made);
		made = place;
	}
	fsc_gen_map_set(g, m, &key, &made);
}

void fsc_gen_map_assign(struct fsc_gen *g, struct fsc_stmt *s)
{
	struct fsc_script_map *m = s->to->map;
	struct fsc_val key = {0}, value, place;

	if (s->expr->type && fsc_vtype_aggregates(s->expr->type)) {
		if (s->expr->kind == FSC_E_BLOCK)
			fsc_gen_block_with(g, s->expr, s);
		else
			fsc_gen_aggregate(g, m, s->to->a, s->expr);
		return;
	}
	if (s->op) {
		assign_op(g, s);
		return;
	}
	if (m->scalar && !fsc_vt_is_number(m->value)) {
		value = assign_value(g, m, s->expr);
		place = scalar_place(g, m, m->value);
		fsc_gen_store(g, &place, &value);
		scalar_mark(g, m, &place);
		return;
	}
	if (m->scalar) {
		value = fsc_gen_expr(g, s->expr);
	} else {
		value = assign_value(g, m, s->expr);
		key = fsc_gen_key(g, m, s->to->a);
	}
	fsc_gen_map_set(g, m, &key, &value);
}

/* A new key gets the step as its value; if another CPU was faster, the value is stepped. */
static void step_insert(struct fsc_gen *g, struct fsc_script_map *m, const struct fsc_val *key,
			int64_t by, uint32_t done)
{
	struct fsc_val value = fsc_gen_temp(g, m->value);
	fsc_vr r, found;

	fsc_gen_mem_store_imm(g, &value, (unsigned)m->value->size, 0, by);
	r = fsc_ir_call(g->f, BPF_FUNC_map_update_elem, FSC_A_MAP(m->number),
			fsc_gen_address_arg(g, key), fsc_gen_address_arg(g, &value),
			FSC_A_IMM(BPF_NOEXIST));
	fsc_ir_branch_imm(g->f, BPF_JEQ, r, 0, done);
	found = fsc_gen_lookup(g, m, key);
	{
		uint32_t there = fsc_ir_label(g->f);

		fsc_ir_branch_imm(g->f, BPF_JNE, found, 0, there);
		fsc_gen_loss(g, FSC_PLOSS_MAP);
		fsc_ir_jump(g->f, done);
		fsc_ir_place(g->f, there);
	}
	fsc_ir_atomic(g->f, BPF_ADD, false, 8, found, 0, fsc_ir_imm(g->f, by));
}

/* @x[key]++: added to at once where the key is there, so no update is lost. */
struct fsc_val fsc_gen_map_step(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_script_map *m = e->a->map;
	int64_t unit =
	    m->value->kind == FSC_V_POINTER && m->value->to->size ? (int64_t)m->value->to->size : 1;
	int64_t by = e->op == FSC_T_INC ? unit : -unit;
	uint32_t none = fsc_ir_label(g->f), done = fsc_ir_label(g->f);
	struct fsc_val key, place;
	fsc_vr old = fsc_ir_vr(g->f), found, was;

	fsc_ir_set_imm(g->f, old, 0);
	if (m->scalar) {
		place = scalar_place(g, m, m->value);
		was = fsc_ir_atomic(g->f, BPF_ADD, !e->discarded, 8, place.vr, 0,
				    fsc_ir_imm(g->f, by));
		if (was)
			fsc_ir_set(g->f, old, was);
		scalar_mark(g, m, &place);
	} else {
		key = fsc_gen_key(g, m, e->a->a);
		found = fsc_gen_lookup(g, m, &key);
		fsc_ir_branch_imm(g->f, BPF_JEQ, found, 0, none);
		was =
		    fsc_ir_atomic(g->f, BPF_ADD, !e->discarded, 8, found, 0, fsc_ir_imm(g->f, by));
		if (was)
			fsc_ir_set(g->f, old, was);
		fsc_ir_jump(g->f, done);
		fsc_ir_place(g->f, none);
		step_insert(g, m, &key, by, done);
	}
	fsc_ir_place(g->f, done);
	if (e->discarded)
		return (struct fsc_val){.type = &fsc_vt_void};
	return fsc_val_reg(e->type, e->prefix ? fsc_ir_alu_imm(g->f, BPF_ADD, old, by) : old);
}
