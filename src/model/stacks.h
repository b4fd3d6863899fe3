/* Stacks that lead to functions, with what they weigh: pure data, no I/O. Frames are kept once each
 * and named by number; a stack is a run of such numbers, leaf first. Equal stacks are one stack. */
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
	char comm[FSC_COMM_LEN + 1]; /* "": stacks are not told apart by it */
	uint32_t first, n;	     /* of ids */
	bool truncated;		     /* there were more callers than could be kept */
	uint64_t calls, time_ns;
};

struct fsc_stacks {
	const struct fsc_func *funcs; /* borrowed */
	size_t n_funcs;
	struct fsc_vec frames; /* struct fsc_frame, whose strings are ours */
	struct fsc_vec stacks; /* struct fsc_stack */
	struct fsc_vec ids;    /* uint32_t: frames, leaf first */
	bool per_process;      /* -P */
	bool by_time;	       /* weigh by time_ns instead of calls */
	bool offsets;	       /* places in a function are told apart and shown */
	uint64_t time_ns;      /* wall clock at the snapshot */
	size_t left_out;       /* stacks that fsc_stacks_sort() cut off, and their weight */
	uint64_t left_out_weight;
	struct fsc_map frame_index, stack_index; /* how equals are found */
};

/* An empty one; funcs is borrowed. per_process, by_time and offsets are to be set before the first
 * frame. */
void fsc_stacks_init(struct fsc_stacks *t, const struct fsc_func *funcs, size_t n_funcs);
void fsc_stacks_release(struct fsc_stacks *t);
/* The number of a frame equal to f, which is copied if it is new. Without offsets all places of a
 * known function are one frame, without offset and line. */
int fsc_stacks_frame(struct fsc_stacks *t, const struct fsc_frame *f, uint32_t *ret,
		     struct fsc_err *err);
/* Adds the calls and time of s to the stack with the same function, process, comm and frames; of s,
 * first and n are not looked at, pid only with per_process. Not after fsc_stacks_sort(). */
int fsc_stacks_add(struct fsc_stacks *t, const struct fsc_stack *s, const uint32_t *ids, size_t n,
		   struct fsc_err *err);
/* Makes `later - earlier`: what came in between. The two need not share frame numbers; stacks that
 * did not change are left out. The caller releases *ret. */
int fsc_stacks_subtract(const struct fsc_stacks *later, const struct fsc_stacks *earlier,
			struct fsc_stacks *ret, struct fsc_err *err);
/* Heaviest first, equals by name; keeps the first top (0: all) and books the others as left out. */
void fsc_stacks_sort(struct fsc_stacks *t, size_t top);

static inline uint64_t fsc_stacks_weight(const struct fsc_stacks *t, const struct fsc_stack *s)
{
	return t->by_time ? s->time_ns : s->calls;
}

/* Of all stacks, those left out included. */
uint64_t fsc_stacks_total(const struct fsc_stacks *t);
/* The frame at place i of a stack, leaf first. */
const struct fsc_frame *fsc_stacks_at(const struct fsc_stacks *t, const struct fsc_stack *s,
				      size_t i);

/* ---- the tree of calls ---- */

enum fsc_tree_kind {
	FSC_NODE_ROOT,
	FSC_NODE_PROCESS,   /* id: a stack that has its comm and pid */
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
	uint32_t depth;	      /* of the deepest */
};

/* Top-down begins with the outermost callers, bottom-up with the leaves. Stacks that carry a comm
 * get a node for their process, at the outer end. The caller releases *ret. */
int fsc_tree_make(const struct fsc_stacks *t, bool bottom_up, struct fsc_tree *ret,
		  struct fsc_err *err);
void fsc_tree_release(struct fsc_tree *tree);
/* The node behind i when parents come before children and siblings in order; FSC_NO_NODE behind the
 * last. */
uint32_t fsc_tree_next(const struct fsc_tree *tree, uint32_t i);

#endif
