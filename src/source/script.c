/* Events and maps of a script as values. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "probe/target.h"
#include "source/script_priv.h"

/* Whether a type, or what it is made of, is one of those that need names for addresses. */
static bool type_has_address(const struct fsc_vtype *t)
{
	if (!t)
		return false;
	if (t->kind == FSC_V_KSTACK || t->kind == FSC_V_USTACK || t->kind == FSC_V_KSYM ||
	    t->kind == FSC_V_USYM)
		return true;
	for (size_t i = 0; t->kind == FSC_V_TUPLE && i < t->n_fields; i++)
		if (type_has_address(t->fields[i].type))
			return true;
	return t->kind == FSC_V_ARRAY && type_has_address(t->to);
}

static bool plan_has_address(const struct fsc_plan *p)
{
	for (size_t i = 0; i < p->n_maps; i++)
		if (type_has_address(p->maps[i].key) || type_has_address(p->maps[i].value))
			return true;
	for (size_t i = 0; i < p->n_events; i++)
		for (size_t k = 0; k < p->events[i].n_args; k++)
			if (type_has_address(p->events[i].args[k].type))
				return true;
	return false;
}

/* Where probes were put behind a function's leading no-operations. */
static int note_moved(struct fsc_readings *r, const struct fsc_point *pt, struct fsc_err *err)
{
	const struct fsc_target *t = pt->targets ? fsc_targets_at(pt->targets, pt->place) : NULL;
	const char *name;
	uint64_t *moved;

	if (!t || !t->at_entry || t->body == t->offset)
		return 0;
	name = fsc_targets_row(pt->targets, t->row)->name;
	moved = fsc_map_put(&r->moved, name, strlen(name), NULL);
	if (!moved)
		return fsc_err_nomem(err);
	*moved = t->body - t->offset;
	return 0;
}

static int open_namer(struct fsc_readings *r, const pid_t *pids, size_t n_pids, struct fsc_err *err)
{
	const struct fsc_namer_opts opts = {.pids = pids, .n_pids = n_pids};
	int rc = fsc_namer_new(&opts, &r->namer, err);

	for (size_t i = 0; !rc && i < r->plan->n_progs; i++) {
		const struct fsc_plan_prog *p = &r->plan->progs[i];

		for (size_t k = 0; !rc && p->kind == FSC_POINT_UPROBE && k < p->n_points; k++)
			rc = note_moved(r, p->points[k], err);
	}
	return rc;
}

int fsc_readings_new(struct fsc_script *script, const pid_t *pids, size_t n_pids,
		     struct fsc_readings **ret, struct fsc_err *err)
{
	struct fsc_readings *r = calloc(1, sizeof(*r));
	int rc = 0;

	if (!r)
		return fsc_err_nomem(err);
	r->script = script;
	r->plan = fsc_script_plan(script);
	r->named = FSC_VEC_INIT(char *);
	fsc_readings_clocks(r);
	if (plan_has_address(r->plan))
		rc = open_namer(r, pids, n_pids, err);
	if (rc) {
		fsc_readings_free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void fsc_readings_free(struct fsc_readings *r)
{
	if (!r)
		return;
	fsc_namer_free(r->namer);
	fsc_values_release(&r->arena);
	fsc_vec_release_owned(&r->named);
	fsc_map_release(&r->users);
	fsc_map_release(&r->cgroups);
	fsc_map_release(&r->moved);
	free(r);
}

int fsc_readings_tick(struct fsc_readings *r, struct fsc_err *err)
{
	return r->namer ? fsc_namer_tick(r->namer, NULL, err) : 0;
}

void fsc_readings_reset(struct fsc_readings *r)
{
	fsc_values_reset(&r->arena);
}

uint64_t fsc_readings_cut(const struct fsc_readings *r)
{
	return r->cut;
}

uint64_t fsc_readings_wall(const struct fsc_readings *r, uint64_t boot_ns)
{
	return boot_ns + (uint64_t)r->wall_minus[FSC_CLOCK_BOOT];
}

int fsc_readings_event(struct fsc_readings *r, const struct fsc_plan_event *e, const void *record,
		       size_t size, struct fsc_value **ret, struct fsc_err *err)
{
	struct fsc_value *values = fsc_values_alloc(&r->arena, e->n_args * sizeof(*values));
	int rc = 0;

	for (size_t i = 0; !rc && values && i < e->n_args; i++) {
		const struct fsc_plan_arg *a = &e->args[i];

		if (a->offset > size || a->type->size > size - a->offset)
			return fsc_err_set(err, EPROTO, "an event of the script is too short");
		rc = fsc_readings_value(r, a->type, (const char *)record + a->offset, &values[i],
					err);
	}
	if (!rc && r->arena.failed)
		return fsc_err_nomem(err);
	*ret = values;
	return rc;
}

/* ---- maps ---- */

/* An element as it was read. */
struct entry {
	__int128 rank;
	const char *key, *value;
};

struct reading {
	struct fsc_readings *r;
	uint32_t map;
	const struct fsc_plan_map *m;
	struct fsc_vec entries; /* struct entry; keys and values in the arena */
	struct fsc_err *err;
};

static struct fsc_parts parts_of(const struct reading *g, const void *value)
{
	unsigned n = fsc_script_parts(g->r->script, g->map);

	return (struct fsc_parts){
	    .bytes = value, .stride = fsc_script_value_size(g->r->script, g->map) / n, .n = n};
}

/* Of an array: whether the script has set it. */
static bool is_set(const struct reading *g, const void *value)
{
	const struct fsc_parts parts = parts_of(g, value);

	for (unsigned i = 0; g->m->set_offset && i < parts.n; i++) {
		uint64_t set;

		memcpy(&set, (const char *)value + i * parts.stride + g->m->set_offset,
		       sizeof(set));
		if (set)
			return true;
	}
	return !g->m->set_offset;
}

static __int128 rank_of(const struct reading *g, const void *value)
{
	const struct fsc_vtype *t = g->m->value;
	const struct fsc_parts parts = parts_of(g, value);
	struct fsc_value v;

	if (fsc_vtype_aggregates(t))
		return fsc_readings_rank(t, &parts);
	if (t->kind != FSC_V_INT || fsc_readings_value(g->r, t, value, &v, NULL) ||
	    (v.kind != FSC_VALUE_INT && v.kind != FSC_VALUE_UINT))
		return 0;
	return t->is_signed ? (__int128)v.i : (__int128)v.u;
}

static int add_entry(const void *key, const void *value, void *arg)
{
	struct reading *g = arg;
	struct entry *e;

	if (!is_set(g, value))
		return 0;
	e = fsc_vec_push(&g->entries);
	if (!e)
		return fsc_err_nomem(g->err);
	e->rank = rank_of(g, value);
	e->key = fsc_values_copy(&g->r->arena, key, g->m->key_size);
	e->value =
	    fsc_values_copy(&g->r->arena, value, fsc_script_value_size(g->r->script, g->map));
	return e->key && e->value ? 0 : fsc_err_nomem(g->err);
}

static int compare_keys(const struct fsc_vtype *t, const char *a, const char *b)
{
	int rc = 0;
	uint64_t x = 0, y = 0;

	if (t->kind == FSC_V_TUPLE) {
		for (size_t i = 0; !rc && i < t->n_fields; i++)
			rc = compare_keys(t->fields[i].type, a + t->fields[i].offset,
					  b + t->fields[i].offset);
		return rc;
	}
	if (t->kind == FSC_V_STRING)
		return strncmp(a, b, t->size);
	if (t->size > sizeof(x) || !t->size)
		return memcmp(a, b, t->size);
	memcpy(&x, a, t->size);
	memcpy(&y, b, t->size);
	if (t->kind == FSC_V_INT && t->is_signed) {
		unsigned spare = 64 - 8 * (unsigned)t->size;

		x = (x << spare) ^ 1ull << 63;
		y = (y << spare) ^ 1ull << 63;
	}
	return (x > y) - (x < y);
}

/* By value where that is a number, then by key. */
static int compare_entries(const void *a, const void *b, void *arg)
{
	const struct entry *x = a, *y = b;
	const struct fsc_vtype *key = arg;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return key ? compare_keys(key, x->key, y->key) : 0;
}

static int entry_value(struct reading *g, const struct entry *e, uint64_t last_epoch, uint64_t div,
		       struct fsc_value *ret)
{
	const struct fsc_vtype *t = g->m->value;
	const struct fsc_parts parts = parts_of(g, e->value);
	int rc = 0;

	if (t->kind == FSC_V_TSERIES)
		*ret = fsc_readings_series(g->r, t, &parts, last_epoch);
	else if (fsc_vtype_aggregates(t))
		fsc_readings_merge(g->r, t, &parts, div, ret);
	else
		rc = fsc_readings_value(g->r, t, e->value, ret, g->err);
	if (div > 1 && ret->kind == FSC_VALUE_INT && !fsc_vtype_aggregates(t))
		ret->i = (int64_t)((__int128)ret->i / (__int128)div);
	if (div > 1 && ret->kind == FSC_VALUE_UINT && !fsc_vtype_aggregates(t))
		ret->u /= div;
	return rc;
}

/* All series of a map end together. */
static uint64_t last_epoch_of(const struct reading *g)
{
	__int128 last = 0;

	for (size_t i = 0; g->m->value->kind == FSC_V_TSERIES && i < g->entries.n; i++)
		if (FSC_AT(struct entry, &g->entries, i)->rank > last)
			last = FSC_AT(struct entry, &g->entries, i)->rank;
	return (uint64_t)last;
}

static int map_value(struct reading *g, uint64_t top, uint64_t div, struct fsc_value *ret)
{
	size_t n = g->entries.n, first = top && top < n ? n - top : 0;
	uint64_t last = last_epoch_of(g);
	int rc = 0;

	if (g->m->scalar) {
		*ret = (struct fsc_value){0};
		return n ? entry_value(g, g->entries.data, last, div, ret) : 0;
	}
	*ret = fsc_value_list(&g->r->arena, FSC_VALUE_MAP, n - first);
	for (size_t i = first; !rc && ret->kind && i < n; i++) {
		const struct entry *e = FSC_AT(struct entry, &g->entries, i);

		rc =
		    fsc_readings_value(g->r, g->m->key, e->key, &ret->list.keys[i - first], g->err);
		if (!rc)
			rc = entry_value(g, e, last, div, &ret->list.at[i - first]);
	}
	return rc;
}

int fsc_readings_map(struct fsc_readings *r, uint32_t map, uint64_t top, uint64_t div,
		     struct fsc_value *ret, struct fsc_err *err)
{
	struct reading g = {.r = r,
			    .map = map,
			    .m = &r->plan->maps[map],
			    .entries = FSC_VEC_INIT(struct entry),
			    .err = err};
	int rc = fsc_script_elements(r->script, map, add_entry, &g, err);

	if (!rc && g.entries.n)
		qsort_r(g.entries.data, g.entries.n, sizeof(struct entry), compare_entries,
			(void *)g.m->key);
	if (!rc)
		rc = map_value(&g, top, div, ret);
	fsc_vec_release(&g.entries);
	return !rc && r->arena.failed ? fsc_err_nomem(err) : rc;
}
