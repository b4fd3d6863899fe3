/* struct fsc_map: open addressing, FNV-1a, at most three quarters full. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_key(const void *key, size_t len)
{
	const unsigned char *p = key;
	uint64_t h = 0xcbf29ce484222325u;

	while (len--)
		h = (h ^ *p++) * 0x100000001b3u;
	return h ^ (h >> 29);
}

static struct fsc_map_slot *find_slot(struct fsc_map_slot *slots, size_t cap, const void *key,
				      size_t len)
{
	for (size_t i = hash_key(key, len) & (cap - 1);; i = (i + 1) & (cap - 1)) {
		struct fsc_map_slot *s = &slots[i];

		if (!s->key || (s->len == len && !memcmp(s->key, key, len)))
			return s;
	}
}

static bool grow_slots(struct fsc_map *m)
{
	size_t cap = m->cap ? m->cap * 2 : 8;
	struct fsc_map_slot *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].key)
			*find_slot(slots, cap, m->slots[i].key, m->slots[i].len) = m->slots[i];
	free(m->slots);
	m->slots = slots;
	m->cap = cap;
	return true;
}

uint64_t *fsc_map_put(struct fsc_map *m, const void *key, size_t len, bool *ret_new)
{
	struct fsc_map_slot *s;

	if (m->n * 4 >= m->cap * 3 && !grow_slots(m))
		return NULL;
	s = find_slot(m->slots, m->cap, key, len);
	if (ret_new)
		*ret_new = !s->key;
	if (s->key)
		return &s->value;
	s->key = malloc(len ? len : 1);
	if (!s->key)
		return NULL;
	memcpy(s->key, key, len);
	s->len = len;
	s->value = 0;
	m->n++;
	return &s->value;
}

uint64_t *fsc_map_get(const struct fsc_map *m, const void *key, size_t len)
{
	struct fsc_map_slot *s;

	if (!m->cap)
		return NULL;
	s = find_slot(m->slots, m->cap, key, len);
	return s->key ? &s->value : NULL;
}

/* Later keys of the same probe sequence move up: there are no tombstones, so that a table whose
 * keys come and go does not fill up. */
void fsc_map_remove(struct fsc_map *m, const void *key, size_t len)
{
	struct fsc_map_slot *hole = m->cap ? find_slot(m->slots, m->cap, key, len) : NULL;
	size_t mask = m->cap - 1, at;

	if (!hole || !hole->key)
		return;
	free(hole->key);
	m->n--;
	at = (size_t)(hole - m->slots);
	for (size_t i = (at + 1) & mask; m->slots[i].key; i = (i + 1) & mask) {
		size_t home = hash_key(m->slots[i].key, m->slots[i].len) & mask;

		if (((i - home) & mask) < ((i - at) & mask))
			continue;
		m->slots[at] = m->slots[i];
		at = i;
	}
	m->slots[at] = (struct fsc_map_slot){0};
}

bool fsc_map_copy(const struct fsc_map *from, struct fsc_map *ret)
{
	*ret = (struct fsc_map){0};
	for (size_t i = 0; i < from->cap; i++) {
		const struct fsc_map_slot *s = &from->slots[i];
		uint64_t *value = s->key ? fsc_map_put(ret, s->key, s->len, NULL) : NULL;

		if (s->key && !value) {
			fsc_map_release(ret);
			return false;
		}
		if (value)
			*value = s->value;
	}
	return true;
}

void fsc_map_release(struct fsc_map *m)
{
	for (size_t i = 0; i < m->cap; i++)
		free(m->slots[i].key);
	free(m->slots);
	*m = (struct fsc_map){0};
}
