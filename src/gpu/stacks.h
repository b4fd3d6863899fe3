/* Stacks of CUDA calls, named when they are first seen and kept once each: the process may be gone
 * when somebody asks. */
#ifndef FSC_GPU_STACKS_H
#define FSC_GPU_STACKS_H

#include "base/err.h"
#include "gpu/texts.h"
#include "model/gpu.h"
#include "source/namer.h"
#include "python/python.h"

struct fsc_gpu_stacks;

/* namer and texts must outlive it. The caller owns *ret. */
int fsc_gpu_stacks_new(struct fsc_namer *namer, struct fsc_gpu_texts *texts,
		       struct fsc_gpu_stacks **ret, struct fsc_err *err);
void fsc_gpu_stacks_free(struct fsc_gpu_stacks *s);
/* The number of the record's stack; 0 is none, also where there is no room for another one. */
int fsc_gpu_stacks_take(struct fsc_gpu_stacks *s, const struct fsc_gpu_rec *rec,
			const struct fsc_gpu_rec_stack *stack, uint32_t *ret, struct fsc_err *err);
/* Reads the names that are only in the process's memory, as soon as a record has come. */
int fsc_gpu_stacks_prefetch(struct fsc_gpu_stacks *s, const struct fsc_gpu_rec *rec,
			    const struct fsc_gpu_rec_stack *stack, struct fsc_err *err);
struct fsc_gpu_stack fsc_gpu_stacks_at(const struct fsc_gpu_stacks *s, uint32_t n);
/* Whether a process runs Python, from now on known; *ret describes it. Negative: memory is out. */
int fsc_gpu_stacks_python(struct fsc_gpu_stacks *s, pid_t pid, struct fsc_python *ret,
			  struct fsc_err *err);
/* The base name of the file that an address of a process lies in; NULL: not known. */
const char *fsc_gpu_stacks_owner(struct fsc_gpu_stacks *s, pid_t pid, uint64_t addr);
/* A process is gone: its number may come again. */
void fsc_gpu_stacks_forget(struct fsc_gpu_stacks *s, pid_t pid);
/* Stacks that found no room, frames, and those of them without a name. */
void fsc_gpu_stacks_books(const struct fsc_gpu_stacks *s, uint64_t *lost, uint64_t *frames,
			  uint64_t *unknown);

#endif
