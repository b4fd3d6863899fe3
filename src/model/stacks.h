/* Call stacks of functions, with their weights: pure data, no I/O. Each frame is stored once and
 * has a number; a stack is a list of these, leaf first. Equal stacks are merged. */
#ifndef FSC_MODEL_STACKS_H
#define FSC_MODEL_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/profile.h"

struct fsc_stack {
	uint32_t func;
	uint32_t pid;		     /* 0 unless per_process */
	char comm[FSC_COMM_LEN + 1]; /* "": not distinguished by it */
	uint32_t first, n;	     /* in ids */
	bool truncated;		     /* it has more callers than could be kept */
	uint64_t calls, time_ns;
};

struct fsc_stacks {
	const struct fsc_func *funcs; /* borrowed */
	size_t n_funcs;
	struct fsc_vec frames; /* struct fsc_frame; strings are owned */
	struct fsc_vec stacks; /* struct fsc_stack */
	struct fsc_vec ids;    /* uint32_t: frames, leaf first */
	bool per_process;      /* -P */
	bool by_time;	       /* weigh by time_ns instead of calls */
	bool offsets;	       /* offsets within a function are distinguished and shown */
	unsigned one_in;       /* weights are those of one hit in that many, times it; 0, 1: all */
	uint64_t time_ns;      /* wall clock at the snapshot */
	size_t left_out;       /* stacks beyond top in fsc_stacks_sort(), and their weight */
	uint64_t left_out_weight;
	struct fsc_map frame_index, stack_index; /* to find equal ones */
};

/* funcs is borrowed. Set per_process, by_time and offsets before adding frames. */
void fsc_stacks_init(struct fsc_stacks *t, const struct fsc_func *funcs, size_t n_funcs);
void fsc_stacks_release(struct fsc_stacks *t);
/* The number of the frame, which is copied if it is new. Without offsets all places of a known
 * function are one frame, without offset and line. */
int fsc_stacks_frame(struct fsc_stacks *t, const struct fsc_frame *f, uint32_t *ret,
		     struct fsc_err *err);
/* Adds the calls and time of s to the stack with the same function, process, comm and frames; first
 * and n of s are ignored, pid is used only with per_process. Not after fsc_stacks_sort(). */
int fsc_stacks_add(struct fsc_stacks *t, const struct fsc_stack *s, const uint32_t *ids, size_t n,
		   struct fsc_err *err);
/* Computes `later - earlier`. The two need not share frame numbers; stacks that did not change are
 * left out. The caller releases *ret. */
int fsc_stacks_subtract(const struct fsc_stacks *later, const struct fsc_stacks *earlier,
			struct fsc_stacks *ret, struct fsc_err *err);
/* Sorts heaviest first, ties by name; keeps the first top (0: all) and counts the rest as left out.
 */
void fsc_stacks_sort(struct fsc_stacks *t, size_t top);

static inline uint64_t fsc_stacks_weight(const struct fsc_stacks *t, const struct fsc_stack *s)
{
	return t->by_time ? s->time_ns : s->calls;
}

/* Of all stacks, those left out included. */
uint64_t fsc_stacks_total(const struct fsc_stacks *t);
/* Frame i of a stack, leaf first. */
const struct fsc_frame *fsc_stacks_at(const struct fsc_stacks *t, const struct fsc_stack *s,
				      size_t i);

/* ---- the tree of calls ---- */

enum fsc_tree_kind {
	FSC_NODE_ROOT,
	FSC_NODE_PROCESS,   /* id: a stack with its comm and pid */
	FSC_NODE_TRUNCATED, /* callers that were not kept */
	FSC_NODE_FRAME,	    /* id: a frame */
};

#define FSC_NO_NODE UINT32_MAX

struct fsc_tree_node {
	enum fsc_tree_kind kind;
	uint32_t id;
	uint32_t parent, child, next; /* FSC_NO_NODE: none */
	uint32_t depth;		      /* 0: the root */
	uint64_t total, self;
};

/* Node 0 is the root, whose total is that of the stacks. Children are linked heaviest first. */
struct fsc_tree {
	struct fsc_vec nodes; /* struct fsc_tree_node */
	uint32_t depth;	      /* of the deepest node */
};

/* Top-down starts at the outermost callers, bottom-up at the leaves. Stacks with a comm get a node
 * for their process, at the outer end. The caller releases *ret. */
int fsc_tree_make(const struct fsc_stacks *t, bool bottom_up, struct fsc_tree *ret,
		  struct fsc_err *err);
void fsc_tree_release(struct fsc_tree *tree);
/* The node after i in preorder; FSC_NO_NODE after the last. */
uint32_t fsc_tree_next(const struct fsc_tree *tree, uint32_t i);

#endif
