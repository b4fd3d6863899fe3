/* Reading and emptying a script's maps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "engine/script_priv.h"

static const struct fsc_plan_map *map_at(const struct fsc_script *s, uint32_t map)
{
	return &s->plan->maps[map];
}

static bool is_array(const struct fsc_plan_map *m)
{
	return m->type == BPF_MAP_TYPE_ARRAY || m->type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static bool is_per_cpu(const struct fsc_plan_map *m)
{
	return m->type == BPF_MAP_TYPE_PERCPU_ARRAY || m->type == BPF_MAP_TYPE_PERCPU_HASH ||
	       m->type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

unsigned fsc_script_parts(const struct fsc_script *s, uint32_t map)
{
	return is_per_cpu(map_at(s, map)) ? s->opts.n_cpus : 1;
}

size_t fsc_script_value_size(const struct fsc_script *s, uint32_t map)
{
	return ((size_t)map_at(s, map)->value_size + 7) / 8 * 8 * fsc_script_parts(s, map);
}

bool fsc_script_lookup(const struct fsc_script *s, uint32_t map, const void *key, void *value)
{
	return !bpf_map_lookup_elem(s->map_fds[map], key, value);
}

/* Growing memory for keys. */
struct keys {
	char *at;
	size_t n, cap, size;
	struct fsc_map seen;
};

static int keys_add(struct keys *k, const void *key, struct fsc_err *err)
{
	bool is_new;

	if (!fsc_map_put(&k->seen, key, k->size, &is_new))
		return fsc_err_nomem(err);
	if (!is_new)
		return 0;
	if (k->n == k->cap) {
		size_t cap = k->cap ? 2 * k->cap : 64;
		char *more = realloc(k->at, cap * k->size);

		if (!more)
			return fsc_err_nomem(err);
		k->at = more;
		k->cap = cap;
	}
	memcpy(k->at + k->n++ * k->size, key, k->size);
	return 0;
}

/* The keys as they are now, one after the other; *ret_n of them, the caller frees. Where a key is
 * removed under a walk it begins anew: each key counts once, and there is an end. */
static int read_keys(const struct fsc_script *s, uint32_t map, char **ret, size_t *ret_n,
		     struct fsc_err *err)
{
	const struct fsc_plan_map *m = map_at(s, map);
	struct keys k = {.size = m->key_size};
	FSC_AUTO(fsc_freep) char *key = malloc(m->key_size), *next = malloc(m->key_size);
	size_t steps = 2 * (size_t)m->max_entries;
	bool begun = false;
	int rc = key && next ? 0 : fsc_err_nomem(err);

	while (!rc && steps-- && k.n < m->max_entries &&
	       !bpf_map_get_next_key(s->map_fds[map], begun ? key : NULL, next)) {
		rc = keys_add(&k, next, err);
		memcpy(key, next, m->key_size);
		begun = true;
	}
	fsc_map_release(&k.seen);
	if (rc) {
		free(k.at);
		return rc;
	}
	*ret = k.at;
	*ret_n = k.n;
	return 0;
}

int fsc_script_elements(const struct fsc_script *s, uint32_t map,
			int (*fn)(const void *key, const void *value, void *arg), void *arg,
			struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *keys = NULL;
	FSC_AUTO(fsc_freep) void *value = calloc(1, fsc_script_value_size(s, map) + 1);
	size_t n = 0;
	int rc = value ? read_keys(s, map, &keys, &n, err) : fsc_err_nomem(err);

	for (size_t i = 0; !rc && i < n; i++) {
		const char *key = keys + i * map_at(s, map)->key_size;

		if (fsc_script_lookup(s, map, key, value))
			rc = fn(key, value, arg);
	}
	return rc;
}

/* Writes zeros over the values, or (keep) over all but what says that an array's was set. */
static int overwrite(struct fsc_script *s, uint32_t map, const char *keys, size_t n, bool keep,
		     struct fsc_err *err)
{
	const struct fsc_plan_map *m = map_at(s, map);
	size_t part = ((size_t)m->value_size + 7) / 8 * 8;
	FSC_AUTO(fsc_freep) char *value = malloc(fsc_script_value_size(s, map) + 1);

	if (!value)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const char *key = keys + i * m->key_size;

		if (!fsc_script_lookup(s, map, key, value))
			continue;
		for (unsigned p = 0; p < fsc_script_parts(s, map); p++)
			memset(value + p * part, 0,
			       keep && m->set_offset ? m->set_offset : m->value_size);
		if (bpf_map_update_elem(s->map_fds[map], key, value, BPF_EXIST) && errno != ENOENT)
			return fsc_err_sys(err, errno, "cannot change the map %s", m->name);
	}
	return 0;
}

int fsc_script_clear(struct fsc_script *s, uint32_t map, struct fsc_err *err)
{
	const struct fsc_plan_map *m = map_at(s, map);
	FSC_AUTO(fsc_freep) char *keys = NULL;
	size_t n = 0;
	int rc = read_keys(s, map, &keys, &n, err);

	if (rc || is_array(m))
		return rc ? rc : overwrite(s, map, keys, n, false, err);
	for (size_t i = 0; i < n; i++)
		if (bpf_map_delete_elem(s->map_fds[map], keys + i * m->key_size) && errno != ENOENT)
			return fsc_err_sys(err, errno, "cannot clear the map %s", m->name);
	return 0;
}

int fsc_script_zero(struct fsc_script *s, uint32_t map, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *keys = NULL;
	size_t n = 0;
	int rc = read_keys(s, map, &keys, &n, err);

	return rc ? rc : overwrite(s, map, keys, n, true, err);
}

size_t fsc_script_stack(const struct fsc_script *s, uint32_t map, int64_t id, uint64_t *addrs,
			size_t max)
{
	size_t depth = map_at(s, map)->value_size / sizeof(uint64_t), n = 0;
	FSC_AUTO(fsc_freep) uint64_t *all = calloc(depth + 1, sizeof(*all));
	uint32_t key = (uint32_t)id;

	if (!all || id < 0 || !fsc_script_lookup(s, map, &key, all))
		return 0;
	while (n < depth && n < max && all[n]) {
		addrs[n] = all[n];
		n++;
	}
	return n;
}
