/* Turns records of CUDA calls into events: named, completed by the totals, in time order. */
#ifndef FSC_GPU_EVENTS_H
#define FSC_GPU_EVENTS_H

#include "gpu/books.h"
#include "gpu/hooks.h"
#include "gpu/stacks.h"

struct fsc_gpu_events;

struct fsc_gpu_events_to {
	void *arg;
	/* A complete event; the index of its stack. */
	int (*event)(void *arg, const struct fsc_gpu_event *e, uint32_t stack, struct fsc_err *err);
	/* Called at a process's first call. */
	int (*process)(void *arg, uint32_t pid, struct fsc_gpu_process_facts *f,
		       struct fsc_err *err);
};

struct fsc_gpu_events_opts {
	struct fsc_gpu_stacks *stacks;
	struct fsc_gpu_texts *texts;
	struct fsc_gpu_books *books;
	struct fsc_gpu_hooks *hooks;
	struct fsc_namer *namer;
	bool sizes; /* read the sizes of kernel arguments from fatbins */
	int device; /* the only one; -1: there is not exactly one */
};

/* Everything in opts must outlive it. The caller owns *ret. */
int fsc_gpu_events_new(const struct fsc_gpu_events_opts *opts, const struct fsc_gpu_events_to *to,
		       struct fsc_gpu_events **ret, struct fsc_err *err);
void fsc_gpu_events_free(struct fsc_gpu_events *v);
/* Queues a record; fsc_gpu_events_flush() publishes it. */
int fsc_gpu_events_take(struct fsc_gpu_events *v, const void *rec, size_t size,
			struct fsc_err *err);
/* Publishes queued records that ended until then, in time order. */
int fsc_gpu_events_flush(struct fsc_gpu_events *v, uint64_t until_ns, struct fsc_err *err);
/* Pending copies: their stream may yet be synchronised. In no total so far. */
uint64_t fsc_gpu_events_pending(const struct fsc_gpu_events *v);
/* Publishes pending copies without their end: before the last report, or when the process (0:
 * all) exits. */
int fsc_gpu_events_settle(struct fsc_gpu_events *v, uint32_t pid, struct fsc_err *err);
void fsc_gpu_events_forget(struct fsc_gpu_events *v, uint32_t pid);
/* Records published so far. */
uint64_t fsc_gpu_events_kept(const struct fsc_gpu_events *v);

#endif
