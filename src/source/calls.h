/* Traced calls of a live session: records from the rings, sorted by time, entry and return joined
 * if asked for, stacks symbolised. */
#ifndef FSC_SOURCE_CALLS_H
#define FSC_SOURCE_CALLS_H

#include "base/format.h"
#include "model/call.h"
#include "source/live.h"
#include "source/namer.h"
#include "types/types.h"

struct fsc_call_source;

enum fsc_call_shape {
	FSC_CALLS_SINGLE, /* one line per record */
	FSC_CALLS_JOINED, /* one line per call, when it returns */
	FSC_CALLS_TREE,	  /* entry and return when they happen, with the depth; one line for a call
			     without inner calls */
};

/* The type of a return value. */
struct fsc_returned {
	const struct fsc_type *type; /* NULL: not known */
	bool readable;		     /* it is in the register that is read */
};

struct fsc_call_opts {
	enum fsc_call_shape shape;
	const struct fsc_format *formats;   /* per row; NULL: none */
	const struct fsc_returned *returns; /* per row; NULL: nothing is known */
	/* Per row, for the registers of slow calls; NULL, or without conversions: as numbers. */
	const struct fsc_format *slow_formats;
	bool kernel_stack, user_stack;
	bool slow_stacks; /* only of slow calls */
	bool copies;	  /* user stacks are unwound by debug information */
	/* For endless runs: once this many stacks were shown, they are deleted in the kernel; 0:
	 * never. */
	uint32_t drop_stacks;
	bool own_frame; /* put the function that returned at the top of a return's stack */
};

typedef int (*fsc_call_fn)(const struct fsc_call *c, void *arg, struct fsc_err *err);

/* live and namer (may be NULL without stacks) must outlive it. The caller owns *ret. */
int fsc_call_source_new(struct fsc_live *live, struct fsc_namer *namer,
			const struct fsc_call_opts *opts, struct fsc_call_source **ret,
			struct fsc_err *err);
void fsc_call_source_free(struct fsc_call_source *s);
/* Replaces the namer. */
void fsc_call_source_rename(struct fsc_call_source *s, struct fsc_namer *namer);
/* Reads the rings and calls fn for records that are old enough that no earlier one can follow;
 * last: for all, including calls that did not return. */
int fsc_call_source_read(struct fsc_call_source *s, bool last, fsc_call_fn fn, void *arg,
			 struct fsc_err *err);
/* Calls that came too late to be in order. */
uint64_t fsc_call_source_late(const struct fsc_call_source *s);

#endif
