/* Stacks of launches or allocations for a flame graph: the kernel or kind of memory on top of
 * its callers, which are Python lines in a Python program. */
#ifndef FSC_GPU_FLAMES_H
#define FSC_GPU_FLAMES_H

#include "gpu/stacks.h"
#include "gpu/watch.h"

struct fsc_gpu_flames;

int fsc_gpu_flames_new(struct fsc_gpu_stacks *stacks, enum fsc_gpu_weigh weigh,
		       struct fsc_gpu_flames **ret, struct fsc_err *err);
void fsc_gpu_flames_free(struct fsc_gpu_flames *f);
int fsc_gpu_flames_add(struct fsc_gpu_flames *f, const struct fsc_gpu_event *e, uint32_t stack,
		       struct fsc_err *err);
int fsc_gpu_flames_show(struct fsc_gpu_flames *f, struct fsc_sink *sink, struct fsc_err *err);

#endif
