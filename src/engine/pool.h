/* The pool of a monitor's slots: where calls of a function by a process are measured. */
#ifndef FSC_ENGINE_POOL_H
#define FSC_ENGINE_POOL_H

#include <stdint.h>

#include "base/aside.h"
#include "base/vec.h"
#include "wire/time.h"

struct fsc_pool {
	struct fsc_vec chunks; /* struct chunk */
	uint32_t installed;    /* of those: the programs know them */
	uint32_t stripes;      /* copies of each slot */
	uint32_t most;	       /* slots */
	uint32_t freed;	       /* slots given back so far */
	int chunks_map, free_map;
};

/* Makes the first chunk, which the programs need to be loaded. */
int fsc_pool_init(struct fsc_pool *p, uint32_t stripes, uint32_t most, struct fsc_err *err);
void fsc_pool_release(struct fsc_pool *p);
/* The descriptor of a chunk, for the type of slot_chunks. */
int fsc_pool_template(const struct fsc_pool *p);
/* The programs are loaded: their map of chunks, and their queue of free slots. */
int fsc_pool_install(struct fsc_pool *p, int chunks_map, int free_map, struct fsc_err *err);
/* Adds chunks until so many slots are free, or there are as many as there may be. taken: slots that
 * the programs have taken so far. The kernel may take a while; slots can be read meanwhile. */
int fsc_pool_reserve(struct fsc_pool *p, uint32_t taken, size_t spare,
		     const struct fsc_meanwhile *m, struct fsc_err *err);
/* Its copies, one after the other; NULL: there is no such slot. */
struct fsc_slot *fsc_pool_slot(const struct fsc_pool *p, uint32_t slot);
/* Clears a slot and frees it for another key. Nobody may be using it. */
void fsc_pool_free(struct fsc_pool *p, uint32_t slot);

#endif
