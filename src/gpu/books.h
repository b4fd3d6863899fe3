/* The sums of what CUDA programs did: launches by kernel, memory that is held and by whom, copies,
 * waits and failures. Filled event by event, in the order of time. */
#ifndef FSC_GPU_BOOKS_H
#define FSC_GPU_BOOKS_H

#include "base/err.h"
#include "gpu/stacks.h"
#include "model/gpu.h"

struct fsc_gpu_books;

/* stacks must outlive it. The caller owns *ret. */
int fsc_gpu_books_new(struct fsc_gpu_stacks *stacks, struct fsc_gpu_books **ret,
		      struct fsc_err *err);
void fsc_gpu_books_free(struct fsc_gpu_books *b);

/* What is to be known of a process; asked for once, when its first event comes. */
struct fsc_gpu_process_facts {
	uint32_t inner_pid;
	bool before; /* it ran before we came */
	bool python;
};

/* Whether a process is known; otherwise its facts are to be given first. */
bool fsc_gpu_books_knows(const struct fsc_gpu_books *b, uint32_t pid);
int fsc_gpu_books_process(struct fsc_gpu_books *b, const struct fsc_gpu_event *e,
			  const struct fsc_gpu_process_facts *f, struct fsc_err *err);
/* The number that the process has in its own namespace; 0: the same. */
uint32_t fsc_gpu_books_inner(const struct fsc_gpu_books *b, uint32_t pid);
/* Takes an event in, and fills in what only the books know: what a free gave back, which memory of
 * the host a copy used, the kernels of a graph. stack: its number. */
int fsc_gpu_books_add(struct fsc_gpu_books *b, struct fsc_gpu_event *e, uint32_t stack,
		      struct fsc_err *err);
/* Memory was mapped: made by a handle, at an address; or is no longer. */
int fsc_gpu_books_map(struct fsc_gpu_books *b, uint32_t pid, uint64_t addr, uint64_t bytes,
		      uint64_t handle, struct fsc_err *err);
void fsc_gpu_books_unmap(struct fsc_gpu_books *b, uint32_t pid, uint64_t addr, uint64_t bytes);
/* A stream's work is captured (FSC_GPU_CAPTURE: from it, FSC_GPU_CAPTURED: from it to a graph), or
 * a graph becomes one that can be launched (FSC_GPU_INSTANTIATE). */
int fsc_gpu_books_graph(struct fsc_gpu_books *b, uint32_t pid, uint32_t op, uint64_t to,
			uint64_t from, struct fsc_err *err);
/* A process has ended: what it holds is what it never gave back. */
void fsc_gpu_books_ended(struct fsc_gpu_books *b, uint32_t pid);
/* Looks which processes have ended: the kernel may not have told yet. */
void fsc_gpu_books_find_exited(struct fsc_gpu_books *b);

struct fsc_gpu_report_opts {
	double leak_age_s; /* what is held longer is a leak; 0: all that is held */
	size_t top;	   /* rows of each table; 0: all */
	bool last;
};

/* The sums so far. What it points to is valid until the next call of any function here. */
int fsc_gpu_books_report(struct fsc_gpu_books *b, const struct fsc_gpu_report_opts *o,
			 struct fsc_gpu_report *ret, struct fsc_err *err);

#endif
