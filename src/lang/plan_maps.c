/* The plan's maps: the script's, and those that programs need for themselves. */
#include <string.h>

#include <linux/bpf.h>

#include "lang/gen.h"

enum { STACKS = 4096, LARGE_VALUE = 512 };

static struct fsc_plan_map *map_add(struct fsc_lang *c, enum fsc_pmap_role role, const char *name,
				    uint32_t type, uint32_t key_size, uint32_t value_size,
				    uint32_t entries)
{
	struct fsc_plan_map *m = fsc_zone_push(c->keep, &c->planner->maps);

	*m = (struct fsc_plan_map){.role = role,
				   .name = name,
				   .type = type,
				   .key_size = key_size,
				   .value_size = value_size,
				   .max_entries = entries};
	return m;
}

static uint32_t map_last(const struct fsc_lang *c)
{
	return (uint32_t)c->planner->maps.n - 1;
}

void fsc_plan_maps_init(struct fsc_lang *c)
{
	struct fsc_planner *p = FSC_NEW(&c->temp, struct fsc_planner);

	c->planner = p;
	p->maps = FSC_VEC_INIT(struct fsc_plan_map);
	p->progs = FSC_VEC_INIT(struct fsc_plan_prog);
	p->events = FSC_VEC_INIT(struct fsc_plan_event);
	p->texts = FSC_VEC_INIT(const char *);
	p->constant = FSC_VEC_INIT(char);
	map_add(c, FSC_PMAP_RING, "ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 0);
	p->ring = map_last(c);
	map_add(c, FSC_PMAP_GLOBALS, "globals", BPF_MAP_TYPE_ARRAY, 4,
		sizeof(struct fsc_plan_globals), 1);
	p->globals = map_last(c);
	map_add(c, FSC_PMAP_LOSSES, "losses", BPF_MAP_TYPE_ARRAY, 4, 8 * FSC_PLOSS_MAX, 1);
	p->losses = map_last(c);
	map_add(c, FSC_PMAP_TEXTS, "texts", BPF_MAP_TYPE_ARRAY, 4, 8, 1);
	p->constants = map_last(c);
	map_add(c, FSC_PMAP_SCRATCH, "scratch", BPF_MAP_TYPE_ARRAY, 4, 8, 4 * c->world->n_cpus);
	p->scratch = map_last(c);
}

static const struct {
	const char *kind;
	uint32_t type;
	bool per_cpu;
} map_kinds[] = {
    {"hash", BPF_MAP_TYPE_HASH, false},
    {"lruhash", BPF_MAP_TYPE_LRU_HASH, false},
    {"percpuhash", BPF_MAP_TYPE_PERCPU_HASH, true},
    {"percpulruhash", BPF_MAP_TYPE_LRU_PERCPU_HASH, true},
    {"array", BPF_MAP_TYPE_HASH, false},
    {"percpuarray", BPF_MAP_TYPE_PERCPU_HASH, true},
};

static void map_declared(struct fsc_lang *c, struct fsc_script_map *m, struct fsc_plan_map *p)
{
	struct fsc_nearest nearest = {.wanted = m->decl->kind};

	for (size_t i = 0; i < sizeof(map_kinds) / sizeof(*map_kinds); i++) {
		fsc_nearest_offer(&nearest, map_kinds[i].kind);
		if (strcmp(map_kinds[i].kind, m->decl->kind))
			continue;
		if (!m->decl->entries || m->decl->entries > UINT32_MAX)
			fsc_lang_fail(c, m->decl->at, "a map cannot hold %llu keys",
				      (unsigned long long)m->decl->entries);
		p->max_entries = m->scalar ? 1 : (uint32_t)m->decl->entries;
		if (m->scalar)
			return;
		if (map_kinds[i].per_cpu != p->per_cpu && fsc_vtype_aggregates(m->value))
			fsc_lang_fail(c, m->decl->at,
				      "Incompatible map types. Type from declaration: %s. Type "
				      "from value/key type: percpuhash",
				      m->decl->kind);
		p->type = map_kinds[i].type;
		p->per_cpu = map_kinds[i].per_cpu;
		return;
	}
	fsc_lang_fail_hint(c, m->decl->at, fsc_lang_nearest(c, &nearest),
			   "Invalid bpf map type: %s", m->decl->kind);
}

static void map_script(struct fsc_lang *c, struct fsc_script_map *m)
{
	struct fsc_plan_map *p;
	bool per_cpu = fsc_vtype_aggregates(m->value);
	uint64_t value = (m->value->size + 7) & ~7ull;

	fsc_vt_complete_all(c, m->value);
	if (m->key)
		fsc_vt_complete_all(c, m->key);
	if (value > 32000 || (m->key && m->key->size > 32000))
		fsc_lang_fail(c, m->at, "the values of %s are too large: %llu bytes", m->name,
			      (unsigned long long)value);
	m->set_offset = (uint32_t)value;
	p = map_add(c, FSC_PMAP_SCRIPT, m->name,
		    per_cpu ? BPF_MAP_TYPE_PERCPU_HASH : BPF_MAP_TYPE_HASH,
		    m->key ? (uint32_t)m->key->size : 4, (uint32_t)m->value->size,
		    (uint32_t)c->config.max_map_keys);
	m->number = map_last(c);
	p->key = m->key;
	p->value = m->value;
	p->per_cpu = per_cpu;
	p->scalar = m->scalar;
	p->printed = true;
	if (m->scalar) {
		p->type = per_cpu ? BPF_MAP_TYPE_PERCPU_ARRAY : BPF_MAP_TYPE_ARRAY;
		p->key = NULL;
		p->key_size = 4;
		p->max_entries = 1;
		p->set_offset = m->set_offset;
		p->value_size = (uint32_t)value + 8;
	} else if (per_cpu && p->value_size > LARGE_VALUE) {
		/* Room for every key on every CPU beforehand would be too much. */
		p->flags = BPF_F_NO_PREALLOC;
	}
	if (m->decl)
		map_declared(c, m, p);
}

/* An empty key (()) has no bytes, which no map takes. */
void fsc_plan_maps_script(struct fsc_lang *c)
{
	for (size_t i = 0; i < c->check->maps.n; i++) {
		struct fsc_script_map *m = *FSC_AT(struct fsc_script_map *, &c->check->maps, i);

		if (!m->value)
			fsc_lang_fail(c, m->at, "Undefined map: %s", m->name);
		if (!m->scalar && !m->key)
			m->scalar = !m->keyed;
		if (!m->scalar && !m->key)
			fsc_lang_fail(c, m->at, "Undefined map: %s", m->name);
		if (m->key && !m->key->size)
			fsc_lang_fail(c, m->at, "a key without a value is not possible");
		map_script(c, m);
	}
}

/* Called while types are checked: the map is needed by number, and made when the plan is. */
uint32_t fsc_plan_map_stacks(struct fsc_lang *c, uint32_t depth)
{
	struct fsc_planner *p = c->planner;

	if (!p->stacks[depth]) {
		map_add(c, FSC_PMAP_STACKS, fsc_zone_printf(c->keep, "stacks_%u", depth),
			BPF_MAP_TYPE_STACK_TRACE, 4, depth * 8, STACKS);
		p->stacks[depth] = (uint32_t)p->maps.n;
	}
	return p->stacks[depth] - 1;
}

uint32_t fsc_plan_map_names(struct fsc_lang *c, const void *content, uint32_t size, uint32_t n)
{
	struct fsc_plan_map *m =
	    map_add(c, FSC_PMAP_NAMES, "names", BPF_MAP_TYPE_ARRAY, 4, size, n);

	m->content = content;
	m->flags = BPF_F_RDONLY_PROG;
	return map_last(c);
}

uint32_t fsc_plan_map_skb(struct fsc_lang *c)
{
	for (size_t i = 0; i < c->planner->maps.n; i++)
		if (FSC_AT(struct fsc_plan_map, &c->planner->maps, i)->role == FSC_PMAP_SKB)
			return (uint32_t)i;
	map_add(c, FSC_PMAP_SKB, "skb", BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, c->world->n_cpus);
	return map_last(c);
}

void fsc_plan_maps_finish(struct fsc_lang *c)
{
	struct fsc_planner *p = c->planner;
	struct fsc_plan_map *texts = FSC_AT(struct fsc_plan_map, &p->maps, p->constants);
	struct fsc_plan_map *scratch = FSC_AT(struct fsc_plan_map, &p->maps, p->scratch);

	while (!p->constant.n || p->constant.n % 8)
		*(char *)fsc_zone_push(c->keep, &p->constant) = 0;
	texts->value_size = (uint32_t)p->constant.n;
	texts->content = p->constant.data;
	texts->frozen = true;
	texts->flags = BPF_F_RDONLY_PROG;
	scratch->value_size = (p->scratch_size + 7) & ~7u;
	if (!p->has_scratch) {
		scratch->value_size = 8;
		scratch->max_entries = 1;
	}
}
