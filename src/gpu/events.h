/* Records of CUDA calls become events: named, completed from the books, in the order of time. */
#ifndef FSC_GPU_EVENTS_H
#define FSC_GPU_EVENTS_H

#include "gpu/books.h"
#include "gpu/hooks.h"
#include "gpu/stacks.h"

struct fsc_gpu_events;

struct fsc_gpu_events_to {
	void *arg;
	/* An event, complete; its stack's number. */
	int (*event)(void *arg, const struct fsc_gpu_event *e, uint32_t stack, struct fsc_err *err);
	/* Facts of a process that has made its first call. */
	int (*process)(void *arg, uint32_t pid, struct fsc_gpu_process_facts *f,
		       struct fsc_err *err);
};

struct fsc_gpu_events_opts {
	struct fsc_gpu_stacks *stacks;
	struct fsc_gpu_texts *texts;
	struct fsc_gpu_books *books;
	struct fsc_gpu_hooks *hooks;
	struct fsc_namer *namer;
	bool sizes; /* of kernels' arguments, from the files they are in */
	int device; /* the only one; -1: there is not exactly one */
};

/* What it is given must outlive it. The caller owns *ret. */
int fsc_gpu_events_new(const struct fsc_gpu_events_opts *opts, const struct fsc_gpu_events_to *to,
		       struct fsc_gpu_events **ret, struct fsc_err *err);
void fsc_gpu_events_free(struct fsc_gpu_events *v);
/* Takes a record in; it is told of by fsc_gpu_events_flush(). */
int fsc_gpu_events_take(struct fsc_gpu_events *v, const void *rec, size_t size,
			struct fsc_err *err);
/* Tells of what was taken in, in the order of time. */
int fsc_gpu_events_flush(struct fsc_gpu_events *v, struct fsc_err *err);
/* Copies that may yet be waited for, and are told of then: they are in no sum so far. */
uint64_t fsc_gpu_events_pending(const struct fsc_gpu_events *v);
/* Tells of them as far as they are known now: before the last sums, or when the process (0: all) is
 * forgotten. */
int fsc_gpu_events_settle(struct fsc_gpu_events *v, uint32_t pid, struct fsc_err *err);
void fsc_gpu_events_forget(struct fsc_gpu_events *v, uint32_t pid);
/* Records told of so far, and launches whose name could not be read. */
uint64_t fsc_gpu_events_kept(const struct fsc_gpu_events *v);

#endif
