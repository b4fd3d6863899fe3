/* Reading and emptying a script's maps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
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

/* The keys as they are now, one after the other: a walk among changes could begin anew for ever.
 * *ret_n of them; the caller frees. */
static int read_keys(const struct fsc_script *s, uint32_t map, char **ret, size_t *ret_n,
		     struct fsc_err *err)
{
	size_t size = map_at(s, map)->key_size, n = 0, cap = 64;
	FSC_AUTO(fsc_freep) char *keys = malloc(cap * size);
	const void *previous = NULL;

	if (!keys)
		return fsc_err_nomem(err);
	while (n < map_at(s, map)->max_entries &&
	       !bpf_map_get_next_key(s->map_fds[map], previous, keys + n * size)) {
		if (++n == cap) {
			char *more = realloc(keys, 2 * cap * size);

			if (!more)
				return fsc_err_nomem(err);
			keys = more;
			cap *= 2;
		}
		previous = keys + (n - 1) * size;
	}
	*ret = fsc_take(&keys);
	*ret_n = n;
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
