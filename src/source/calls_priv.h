/* What the files that read calls share. */
#ifndef FSC_SOURCE_CALLS_PRIV_H
#define FSC_SOURCE_CALLS_PRIV_H

#include "base/timeline.h"
#include "source/calls.h"

/* What is noted in a record here. */
enum { SHOWN = 1, STACK_OF_ENTRY = 2 };

struct record {
	struct fsc_rec_call *call;
	size_t size;
};

struct fsc_call_source {
	struct fsc_live *live;
	struct fsc_namer *namer;
	struct fsc_call_opts opts;
	uint64_t to_wall; /* what makes the kernel's clock the wall clock */
	struct fsc_timeline waiting;
	struct fsc_vec open; /* struct record: entries without return, and in a tree not shown */
	uint64_t last_ns;    /* of the last one shown */
	uint64_t late;
	struct fsc_buf text; /* values as text, each ended by a zero byte */
	struct fsc_buf ret_text;
	struct fsc_vec frames; /* const char * */
	struct fsc_vec used;   /* int32_t: ids of stacks that were shown */
};

struct showing {
	struct fsc_call_source *s;
	fsc_call_fn fn;
	void *arg;
};

/* Shows one record. */
int fsc_calls_show(struct showing *w, const struct record *r, uint32_t depth, struct fsc_err *err);
/* How deep the open call at a place is shown. */
uint32_t fsc_calls_depth(const struct showing *w, size_t at);
/* calls_join.c: a record that comes in its turn is shown, or a copy of it waits for its other half.
 * showing: struct showing. */
int fsc_calls_take(void *record, size_t size, void *showing, struct fsc_err *err);

#endif
