/* Copied stacks of a live session: unwound in batches, with the rules by which the kernel then
 * needs fewer copies. Stacks and calls refer to what comes out by its ID. */
#ifndef FSC_SOURCE_COPIES_H
#define FSC_SOURCE_COPIES_H

#include "source/namer.h"
#include "wire/stack.h"

struct fsc_copies;

/* A hit that the kernel has not counted: its stack could not be followed there. */
struct fsc_copied_hit {
	uint32_t row;
	int32_t kernel; /* ID of the kernel's part */
	char comm[FSC_COMM_LEN];
	struct fsc_addrs stack;
	bool cut; /* the stack went on where the copy did not reach */
};

struct fsc_copies_opts {
	struct fsc_namer *namer;
	uint32_t own_row;    /* of calibration: dropped */
	size_t most_lasting; /* stacks that the kernel remembers */
	/* Gets the rules; false: no more are taken. */
	bool (*add_rule)(void *of, const struct fsc_unwind_key *key, uint64_t rule);
	void *of;
	/* Gets batches of hits; NULL: there are none. */
	int (*hits)(const struct fsc_copied_hit *hits, size_t n, void *arg, struct fsc_err *err);
	void *arg;
};

/* What opts point to must outlive it. The caller owns *ret. */
int fsc_copies_new(const struct fsc_copies_opts *opts, struct fsc_copies **ret,
		   struct fsc_err *err);
void fsc_copies_free(struct fsc_copies *c);
void fsc_copies_rename(struct fsc_copies *c, struct fsc_namer *namer);
/* Takes a copy from the ring (struct fsc_rec_stack); 0, or -errno. */
int fsc_copies_take(const void *copy, size_t size, void *copies);
/* Whether so many are waiting that the ring should rather fill up. */
bool fsc_copies_full(const struct fsc_copies *c);
/* Unwinds a batch of those that wait, or all. What processes had mapped must be known by now. */
int fsc_copies_unwind(struct fsc_copies *c, bool all, struct fsc_err *err);
size_t fsc_copies_waiting(const struct fsc_copies *c);
/* The stack with that ID; false: it is not there (any more). */
bool fsc_copies_find(const struct fsc_copies *c, int32_t id, struct fsc_addrs *ret, bool *ret_cut);

#endif
