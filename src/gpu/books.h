/* Totals of what CUDA programs did: launches by kernel, memory held and by whom, copies,
 * synchronisations and errors. Filled event by event, in time order. */
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

/* Facts of a process, requested once, at its first event. */
struct fsc_gpu_process_facts {
	uint32_t inner_pid;
	bool before; /* it ran before this run */
	bool python;
};

/* Whether a process is known; if not, fsc_gpu_books_process() must come first. */
bool fsc_gpu_books_knows(const struct fsc_gpu_books *b, uint32_t pid);
int fsc_gpu_books_process(struct fsc_gpu_books *b, const struct fsc_gpu_event *e,
			  const struct fsc_gpu_process_facts *f, struct fsc_err *err);
/* The pid in its own namespace; 0: the same. */
uint32_t fsc_gpu_books_inner(const struct fsc_gpu_books *b, uint32_t pid);
/* Adds an event, and fills in what depends on earlier ones: the size of a free, the kind of host
 * memory of a copy, the kernels of a graph. stack: its index. */
int fsc_gpu_books_add(struct fsc_gpu_books *b, struct fsc_gpu_event *e, uint32_t stack,
		      struct fsc_err *err);
/* cuMemMap() of a handle at an address, and cuMemUnmap(). */
int fsc_gpu_books_map(struct fsc_gpu_books *b, uint32_t pid, uint64_t addr, uint64_t bytes,
		      uint64_t handle, struct fsc_err *err);
void fsc_gpu_books_unmap(struct fsc_gpu_books *b, uint32_t pid, uint64_t addr, uint64_t bytes);
/* Stream capture begins (FSC_GPU_CAPTURE) or ends with a graph (FSC_GPU_CAPTURED), or a graph is
 * instantiated (FSC_GPU_INSTANTIATE). */
int fsc_gpu_books_graph(struct fsc_gpu_books *b, uint32_t pid, uint32_t op, uint64_t to,
			uint64_t from, struct fsc_err *err);
/* A process has exited: what it still holds it never freed. */
void fsc_gpu_books_ended(struct fsc_gpu_books *b, uint32_t pid);
/* Marks processes that have exited without an event so far. */
void fsc_gpu_books_find_exited(struct fsc_gpu_books *b);

struct fsc_gpu_report_opts {
	double leak_age_s; /* held for longer is a leak; 0: everything held */
	size_t top;	   /* rows of each table; 0: all */
	bool last;
};

/* The totals so far; valid until the next call of any function here. */
int fsc_gpu_books_report(struct fsc_gpu_books *b, const struct fsc_gpu_report_opts *o,
			 struct fsc_gpu_report *ret, struct fsc_err *err);

#endif
