/* The source of calls as its files see it. */
#ifndef FSC_SOURCE_CALLS_PRIV_H
#define FSC_SOURCE_CALLS_PRIV_H

#include "base/timeline.h"
#include "source/calls.h"

/* Flags that this source sets in a record. */
enum { SHOWN = 1, STACK_OF_ENTRY = 2 };

struct record {
	struct fsc_rec_call *call;
	size_t size;
};

struct fsc_call_source {
	struct fsc_live *live;
	struct fsc_namer *namer;
	struct fsc_copies *copies; /* NULL: the kernel has the stacks */
	struct fsc_call_opts opts;
	uint64_t to_wall; /* offset from the kernel's clock to wall-clock time */
	struct fsc_timeline pending;
	struct fsc_vec open; /* struct record: calls that have not returned */
	uint64_t last_ns;    /* of the latest record taken */
	uint64_t late;
	struct fsc_buf text; /* values as text, each NUL-terminated */
	struct fsc_buf ret_text;
	struct fsc_vec frames; /* const char * */
	struct fsc_vec used;   /* int32_t: IDs of stacks that were shown */
};

struct showing {
	struct fsc_call_source *s;
	fsc_call_fn fn;
	void *arg;
};

int fsc_calls_show(struct showing *w, const struct record *r, uint32_t depth, struct fsc_err *err);
/* The depth at which the open call at that index is shown. */
uint32_t fsc_calls_depth(const struct showing *w, size_t at);
/* calls_join.c: shows the next record, or keeps a copy of it until its other half arrives. showing:
 * struct showing. */
int fsc_calls_take_record(void *record, size_t size, void *showing, struct fsc_err *err);

#endif
