/* Builtins on maps, and the aggregations that maps hold. */
#include <string.h>

#include <linux/bpf.h>

#include "lang/builtins.h"

void fsc_check_clear(struct fsc_lang *c, struct fsc_expr *e)
{
	e->type = &fsc_vt_void;
	if (e->args[0]->a)
		fsc_lang_fail(c, e->at, "The map passed to %s() should not be indexed by a key",
			      e->name);
	if (c->check->final && !e->args[0]->map->value)
		fsc_lang_fail(c, e->args[0]->at, "Undefined map: %s", e->args[0]->name);
}

static struct fsc_val clear_value(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_plan_event *ev =
	    fsc_gen_event_new(g, (enum fsc_plan_action)e->builtin->param, e->at);

	ev->map = e->args[0]->map->number;
	fsc_gen_event_send(g, ev, NULL, 0);
	return (struct fsc_val){.type = e->type};
}
const struct fsc_builtin_gen fsc_gen_clear = {.value = clear_value};

/* The key is the second argument, or in the old way the first one's own. */
static struct fsc_expr *key_of(struct fsc_expr *e)
{
	return e->n_args > 1 ? e->args[1] : e->args[0]->a;
}

static void map_defined(struct fsc_lang *c, struct fsc_expr *map)
{
	if (c->check->final && !map->map->value)
		fsc_lang_fail(c, map->at, "Undefined map: %s", map->name);
}

void fsc_check_delete(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_expr *key = key_of(e), *map = e->args[0];

	if (e->n_args > 1 && map->a)
		fsc_lang_fail(c, e->at, "delete() expects a map and a key: delete(@x, key)");
	if (e->n_args == 1 && key)
		fsc_check_value(c, key);
	if (!key && map->map->keyed)
		fsc_lang_fail(c, e->at,
			      "call to delete() expects a map without explicit keys (scalar map)");
	fsc_check_map_key(c, map->map, key, e->at);
	map_defined(c, map);
	e->type = &fsc_vt_bool;
}

static struct fsc_val delete_value(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_script_map *m = e->args[0]->map;
	struct fsc_val key, place;
	fsc_vr r;

	if (m->scalar && fsc_vtype_aggregates(m->value)) {
		struct fsc_plan_event *ev = fsc_gen_event_new(g, FSC_ACT_CLEAR, e->at);

		ev->map = m->number;
		fsc_gen_event_send(g, ev, NULL, 0);
		return fsc_val_imm(e->type, 1);
	}
	if (m->scalar) {
		struct fsc_ir *i = fsc_ir_push(g->f, FSC_IR_MAPVAL);

		i->imm = m->number;
		i->dst = fsc_ir_vr(g->f);
		place = fsc_val_mem(m->value, i->dst, 0);
		r = fsc_ir_mov(g->f, fsc_ir_load(g->f, 8, place.vr, (int32_t)m->set_offset));
		fsc_gen_zero(g, &place, 0, m->set_offset + 8);
		return fsc_val_reg(e->type, r);
	}
	key = fsc_gen_key(g, m, key_of(e));
	r = fsc_ir_call(g->f, BPF_FUNC_map_delete_elem, FSC_A_MAP(m->number),
			fsc_gen_address_arg(g, &key));
	{
		uint32_t gone = fsc_ir_label(g->f);
		fsc_vr ok = fsc_ir_vr(g->f);

		fsc_ir_set_imm(g->f, ok, 1);
		fsc_ir_branch_imm(g->f, BPF_JEQ, r, 0, gone);
		fsc_ir_set_imm(g->f, ok, 0);
		if (e->discarded)
			fsc_gen_helper_event(g, "map_delete_elem", r);
		fsc_ir_place(g->f, gone);
		return fsc_val_reg(e->type, ok);
	}
}
const struct fsc_builtin_gen fsc_gen_delete = {.value = delete_value};

void fsc_check_has_key(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_script_map *m = e->args[0]->map;

	if (m->scalar)
		fsc_lang_fail(
		    c, e->at,
		    "call to has_key() expects a map with explicit keys (non-scalar map)");
	fsc_check_map_key(c, m, e->args[1], e->at);
	map_defined(c, e->args[0]);
	e->type = &fsc_vt_bool;
}

static struct fsc_val has_key_value(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_script_map *m = e->args[0]->map;
	struct fsc_val key = fsc_gen_key(g, m, e->args[1]);
	uint32_t none = fsc_ir_label(g->f);
	fsc_vr found = fsc_gen_lookup(g, m, &key), r = fsc_ir_vr(g->f);

	fsc_ir_set_imm(g->f, r, 0);
	fsc_ir_branch_imm(g->f, BPF_JEQ, found, 0, none);
	fsc_ir_set_imm(g->f, r, 1);
	fsc_ir_place(g->f, none);
	return fsc_val_reg(e->type, r);
}
const struct fsc_builtin_gen fsc_gen_has_key = {.value = has_key_value};

void fsc_check_find(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_expr *map = e->args[0], *var = e->args[2];
	struct fsc_scope_var *v;

	if (map->kind != FSC_E_MAP || map->a)
		fsc_lang_fail(c, map->at, "find() expects a map to be provided");
	if (var->kind != FSC_E_VAR)
		fsc_lang_fail(c, var->at, "find() expects a variable for the value");
	fsc_check_map(c, map);
	fsc_check_value(c, e->args[1]);
	fsc_check_map_key(c, map->map, e->args[1], e->at);
	map_defined(c, map);
	v = fsc_check_var(c, var->name);
	if (!v)
		v = fsc_check_declare(c, var->name, NULL);
	if (map->map->value && fsc_vtype_aggregates(map->map->value))
		fsc_lang_fail(c, map->at, "find() cannot be used with values of type '%s'",
			      fsc_vt_name(c, map->map->value));
	fsc_check_var_type(c, v, map->map->value, NULL, e->at);
	var->var = v;
	var->type = v->type;
	e->type = &fsc_vt_bool;
}

static struct fsc_val find_value(struct fsc_gen *g, struct fsc_expr *e)
{
	struct fsc_script_map *m = e->args[0]->map;
	struct fsc_val to = fsc_gen_var_place(g, e->args[2]->var), from;
	struct fsc_val key = fsc_gen_key(g, m, e->args[1]);
	uint32_t none = fsc_ir_label(g->f);
	fsc_vr found = fsc_gen_lookup(g, m, &key), r = fsc_ir_vr(g->f);

	fsc_ir_set_imm(g->f, r, 0);
	fsc_ir_branch_imm(g->f, BPF_JEQ, found, 0, none);
	from = fsc_val_mem(m->value, found, 0);
	if (to.kind == FSC_VAL_REG)
		fsc_ir_set(g->f, to.vr, fsc_gen_reg(g, &from));
	else
		fsc_gen_store(g, &to, &from);
	fsc_ir_set_imm(g->f, r, 1);
	fsc_ir_place(g->f, none);
	return fsc_val_reg(e->type, r);
}
const struct fsc_builtin_gen fsc_gen_find = {.value = find_value};

void fsc_check_len(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_expr *a = e->args[0];

	e->type = &fsc_vt_i64;
	if (a->kind == FSC_E_MAP && !a->a) {
		if (fsc_check_map(c, a)->scalar)
			fsc_lang_fail(c, e->at,
				      "call to len() expects a map with explicit keys (non-scalar "
				      "map)");
		map_defined(c, a);
		return;
	}
	fsc_check_value(c, a);
	if (!a->type || a->type->kind == FSC_V_ARRAY || a->type->kind == FSC_V_STRING)
		return;
	if (a->type->kind != FSC_V_KSTACK && a->type->kind != FSC_V_USTACK)
		fsc_lang_fail(c, e->at, "len() expects a map or stack to be provided");
	if (a->kind != FSC_E_NAME && a->kind != FSC_E_CALL)
		fsc_lang_fail_hint(c, a->at, "write len(ustack) where the stack is taken",
				   "len() cannot count the frames of a stack that was stored");
}

/* The kernel counts them while it copies the stack, which nobody looks at. */
static struct fsc_val len_stack(struct fsc_gen *g, struct fsc_expr *e)
{
	const struct fsc_vtype *t = e->args[0]->type;
	struct fsc_val to = fsc_gen_temp(g, fsc_vt_array(g->c, &fsc_vt_u64, t->stack.depth));
	fsc_vr n = fsc_ir_call(g->f, BPF_FUNC_get_stack, FSC_A_VR(g->ctx),
			       fsc_gen_address_arg(g, &to), FSC_A_IMM(to.type->size),
			       FSC_A_IMM(t->kind == FSC_V_USTACK ? BPF_F_USER_STACK : 0));
	fsc_vr frames = fsc_ir_vr(g->f);
	uint32_t none = fsc_ir_label(g->f);

	fsc_ir_set_imm(g->f, frames, 0);
	fsc_ir_branch_imm(g->f, BPF_JSLT, n, 0, none);
	fsc_ir_set(g->f, frames, fsc_ir_alu_imm(g->f, BPF_RSH, n, 3));
	fsc_ir_place(g->f, none);
	return fsc_val_reg(e->type, frames);
}

static struct fsc_val len_value(struct fsc_gen *g, struct fsc_expr *e)
{
	const struct fsc_vtype *t = e->args[0]->type;

	if (e->args[0]->kind == FSC_E_MAP && !e->args[0]->a)
		return fsc_val_reg(e->type, fsc_gen_map_count(g, e->args[0]->map));
	if (t->kind == FSC_V_ARRAY)
		return fsc_val_imm(e->type, (int64_t)t->n);
	if (t->kind == FSC_V_STRING)
		return fsc_gen_strlen.value(g, e);
	return len_stack(g, e);
}
const struct fsc_builtin_gen fsc_gen_len = {.value = len_value};

static const struct {
	enum fsc_vkind kind;
	uint64_t size;
} aggregates[] = {
    {FSC_V_COUNT, 8},
    {FSC_V_SUM, 8},
    {FSC_V_AVG, sizeof(struct fsc_v_avg)},
    {FSC_V_STATS, sizeof(struct fsc_v_avg)},
    {FSC_V_MIN, sizeof(struct fsc_v_extreme)},
    {FSC_V_MAX, sizeof(struct fsc_v_extreme)},
};

void fsc_check_aggregate(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_vtype *t;

	for (size_t i = 0; i < sizeof(aggregates) / sizeof(*aggregates); i++) {
		if (aggregates[i].kind != (enum fsc_vkind)e->builtin->param)
			continue;
		t = fsc_vt_new(c, aggregates[i].kind, aggregates[i].size, 8);
		if (e->n_args) {
			fsc_want_integer(c, e, 0);
			t->is_signed = e->args[0]->type && e->args[0]->type->is_signed;
		}
		e->type = t;
	}
}

void fsc_check_hist(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_vtype *t = fsc_vt_new(c, FSC_V_HIST, 0, 8);
	int64_t bits = e->n_args > 1 ? fsc_const_arg(c, e, 1) : 0;

	fsc_want_integer(c, e, 0);
	if (bits < 0 || bits > 5)
		fsc_lang_fail(c, e->at, "hist: bits %lld must be 0..5", (long long)bits);
	t->hist_bits = (uint8_t)bits;
	t->n = fsc_v_hist_buckets((unsigned)bits);
	t->size = t->n * 8;
	e->type = t;
}

void fsc_check_lhist(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_vtype *t = fsc_vt_new(c, FSC_V_LHIST, 0, 8);
	int64_t min = fsc_const_arg(c, e, 1), max = fsc_const_arg(c, e, 2),
		step = fsc_const_arg(c, e, 3);

	fsc_want_integer(c, e, 0);
	if (step <= 0)
		fsc_lang_fail(c, e->at, "lhist() step must be >= 1 (%lld provided)",
			      (long long)step);
	if (min >= max)
		fsc_lang_fail(c, e->at,
			      "lhist() min must be less than max (provided min %lld and max %lld)",
			      (long long)min, (long long)max);
	if ((uint64_t)(max - min) / (uint64_t)step > 1000)
		fsc_lang_fail(c, e->at,
			      "lhist() too many buckets, must be <= 1000 (would need %llu)",
			      (unsigned long long)((uint64_t)(max - min) / (uint64_t)step));
	if (min < 0)
		fsc_lang_fail(c, e->at, "lhist() min must be non-negative (provided min %lld)",
			      (long long)min);
	if (step > max - min)
		fsc_lang_fail(c, e->at, "lhist() step is larger than the range");
	t->lhist.min = min;
	t->lhist.max = max;
	t->lhist.step = step;
	t->n = (uint64_t)(max - min + step - 1) / (uint64_t)step + 2;
	t->size = t->n * 8;
	e->type = t;
}

static const char *const ts_aggs[] = {"last", "avg", "max", "min", "sum"};

void fsc_check_tseries(struct fsc_lang *c, struct fsc_expr *e)
{
	struct fsc_vtype *t = fsc_vt_new(c, FSC_V_TSERIES, 0, 8);
	int64_t interval = fsc_const_arg(c, e, 1), n = fsc_const_arg(c, e, 2);
	const char *agg = e->n_args > 3 ? fsc_string_arg(c, e, 3) : "last";
	bool known = false;

	fsc_want_integer(c, e, 0);
	if (interval <= 0)
		fsc_lang_fail(c, e->at, "tseries() interval_ns must be >= 1 (%lld provided)",
			      (long long)interval);
	if (n <= 0)
		fsc_lang_fail(c, e->at, "tseries() num_intervals must be >= 1 (%lld provided)",
			      (long long)n);
	if (n > 1000)
		fsc_lang_fail(c, e->at, "tseries() num_intervals must be <= 1000 (%lld provided)",
			      (long long)n);
	for (size_t i = 0; i < sizeof(ts_aggs) / sizeof(*ts_aggs); i++)
		if (!strcmp(ts_aggs[i], agg)) {
			t->tseries.agg = (enum fsc_v_ts_agg)i;
			known = true;
		}
	if (!known)
		fsc_lang_fail(
		    c, e->at,
		    "tseries() aggregation function must be one of avg, max, min, sum, not "
		    "'%s'",
		    agg);
	t->tseries.interval_ns = (uint64_t)interval;
	t->is_signed = e->args[0]->type && e->args[0]->type->is_signed;
	t->n = (uint64_t)n;
	t->size = t->n * sizeof(struct fsc_v_tslot);
	e->type = t;
}
