/* Traced calls of a live session: records from the rings, put in the order of time, entry and
 * return joined where asked, stacks named. */
#ifndef FSC_SOURCE_CALLS_H
#define FSC_SOURCE_CALLS_H

#include "base/format.h"
#include "model/call.h"
#include "source/live.h"
#include "source/namer.h"
#include "types/types.h"

struct fsc_call_source;

enum fsc_call_shape {
	FSC_CALLS_SINGLE, /* each record is shown */
	FSC_CALLS_JOINED, /* one for entry and return together, when it returns */
	FSC_CALLS_TREE, /* each when it happens, with its depth; a call without calls inside once */
};

/* What a function returns. */
struct fsc_returned {
	const struct fsc_type *type; /* NULL: not known */
	bool readable;		     /* in the register that is read */
};

struct fsc_call_opts {
	enum fsc_call_shape shape;
	const struct fsc_format *formats;   /* per row; NULL: none */
	const struct fsc_returned *returns; /* per row; NULL: nothing is known */
	bool kernel_stack, user_stack;
	bool slow_stacks; /* of slow calls alone */
	/* After so many the stacks that were shown leave the kernel's memory, for a run without an
	 * end; 0: never. */
	uint32_t drop_stacks;
	bool own_frame; /* a return's stack begins with the function that returned */
};

typedef int (*fsc_call_fn)(const struct fsc_call *c, void *arg, struct fsc_err *err);

/* live and namer (may be NULL without stacks) must outlive it. The caller owns *ret. */
int fsc_call_source_new(struct fsc_live *live, struct fsc_namer *namer,
			const struct fsc_call_opts *opts, struct fsc_call_source **ret,
			struct fsc_err *err);
void fsc_call_source_free(struct fsc_call_source *s);
/* Names come from another one from now on. */
void fsc_call_source_rename(struct fsc_call_source *s, struct fsc_namer *namer);
/* Reads the rings and calls fn for what is old enough that nothing earlier can still come; last:
 * for everything, also calls that did not return. */
int fsc_call_source_read(struct fsc_call_source *s, bool last, fsc_call_fn fn, void *arg,
			 struct fsc_err *err);
/* Calls that came too late to be in order. */
uint64_t fsc_call_source_late(const struct fsc_call_source *s);

#endif
