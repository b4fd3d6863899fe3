/* Copies of stacks, and the rules that make most of them unnecessary (wire/stack.h): what sessions
 * and `gpu` share. */
#ifndef FSC_ENGINE_COPIES_H
#define FSC_ENGINE_COPIES_H

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "wire/config.h"
#include "wire/stack.h"

struct bpf_map;
struct ring_buffer;

/* Where copies come from. */
struct fsc_copy_maps {
	int copies, rules;	    /* descriptors of maps, borrowed; copies -1: there are none */
	uint32_t bytes;		    /* of the ring in use */
	uint64_t lost;		    /* copies that found no room, when it was made */
	struct fsc_vec fds;	    /* int: rings */
	struct ring_buffer **rings; /* who reads them */
	int (*fn)(void *arg, void *record, size_t size);
	void *arg;
};

/* Before loading: what the programs need of the kernel's structures. */
void fsc_copies_configure(struct fsc_config *cfg);
/* Sizes the maps, which are made only if copies are wanted. */
void fsc_copies_size(struct bpf_map *copies, struct bpf_map *rules, struct bpf_map *chains,
		     struct bpf_map *ids, bool wanted, uint32_t most_stacks);
/* After loading: adds the ring to *rings, which is made if it is NULL. Caller closes. */
int fsc_copies_open(struct fsc_copy_maps *m, const struct bpf_map *copies,
		    const struct bpf_map *rules, struct ring_buffer **rings,
		    int (*fn)(void *arg, void *record, size_t size), void *arg,
		    struct fsc_err *err);
void fsc_copies_close(struct fsc_copy_maps *m);
/* To be called after reading: a ring that was too small for the rate is followed by a larger one.
 */
void fsc_copies_grow(struct fsc_copy_maps *m, uint64_t lost);
/* Adds a rule. false: there is no room for more, or none can be made now. */
bool fsc_copies_add_rule(const struct fsc_copy_maps *m, const struct fsc_unwind_key *key,
			 uint64_t rule);

#endif
