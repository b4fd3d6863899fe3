/* A hash table from byte strings to 64-bit numbers. Keys are copied in. */
#ifndef FSC_BASE_MAP_H
#define FSC_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fsc_map_slot {
	void *key;
	size_t len;
	uint64_t value;
};

struct fsc_map {
	struct fsc_map_slot *slots;
	size_t n, cap; /* cap is 0 or a power of two */
};

/* The value's place for key, made with value 0 if absent (*ret_new says so, may be NULL); NULL when
 * memory is out. Valid until the next call of this function. */
uint64_t *fsc_map_put(struct fsc_map *m, const void *key, size_t len, bool *ret_new);
/* The value's place, or NULL if the key is absent. */
uint64_t *fsc_map_get(const struct fsc_map *m, const void *key, size_t len);
/* Removes a key, if present. Places of other values move. */
void fsc_map_remove(struct fsc_map *m, const void *key, size_t len);
/* Makes *ret a copy; false when memory is out, *ret is empty then. */
bool fsc_map_copy(const struct fsc_map *from, struct fsc_map *ret);
void fsc_map_release(struct fsc_map *m);

#endif
