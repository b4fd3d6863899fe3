/* Stacks of CUDA calls, symbolized when first seen, because the process may exit, and stored
 * once each. */
#ifndef FSC_GPU_STACKS_H
#define FSC_GPU_STACKS_H

#include "base/err.h"
#include "gpu/texts.h"
#include "model/gpu.h"
#include "source/copies.h"
#include "source/namer.h"
#include "python/python.h"

struct fsc_gpu_stacks;

/* namer, copies (NULL: records have their stacks) and texts must outlive it. The caller owns *ret.
 */
int fsc_gpu_stacks_new(struct fsc_namer *namer, const struct fsc_copies *copies,
		       struct fsc_gpu_texts *texts, struct fsc_gpu_stacks **ret,
		       struct fsc_err *err);
void fsc_gpu_stacks_free(struct fsc_gpu_stacks *s);
/* The index of the record's stack; 0: none, or no room. */
int fsc_gpu_stacks_take(struct fsc_gpu_stacks *s, const struct fsc_gpu_rec *rec,
			const struct fsc_gpu_rec_stack *stack, uint32_t *ret, struct fsc_err *err);
/* Reads Python names from the process's memory as soon as its record arrives. */
int fsc_gpu_stacks_prefetch(struct fsc_gpu_stacks *s, const struct fsc_gpu_rec *rec,
			    const struct fsc_gpu_rec_stack *stack, struct fsc_err *err);
struct fsc_gpu_stack fsc_gpu_stacks_at(const struct fsc_gpu_stacks *s, uint32_t n);
/* Whether a process runs Python; *ret describes it. Negative: out of memory. */
int fsc_gpu_stacks_python(struct fsc_gpu_stacks *s, pid_t pid, struct fsc_python *ret,
			  struct fsc_err *err);
/* The base name of the file around an address; NULL: unknown. */
const char *fsc_gpu_stacks_owner(struct fsc_gpu_stacks *s, pid_t pid, uint64_t addr);
/* A process has exited: its pid may be reused. */
void fsc_gpu_stacks_forget(struct fsc_gpu_stacks *s, pid_t pid);
/* Stacks dropped for lack of room, frames, and unknown frames. */
void fsc_gpu_stacks_books(const struct fsc_gpu_stacks *s, uint64_t *lost, uint64_t *frames,
			  uint64_t *unknown);

#endif
