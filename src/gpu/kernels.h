/* Names of kernels: from the driver's object, else from names that the program looked up, else
 * from the symbol of the host stub. */
#ifndef FSC_GPU_KERNELS_H
#define FSC_GPU_KERNELS_H

#include "gpu/events.h"

struct fsc_gpu_kernels;

int fsc_gpu_kernels_new(const struct fsc_gpu_events_opts *opts, struct fsc_gpu_kernels **ret,
			struct fsc_err *err);
void fsc_gpu_kernels_free(struct fsc_gpu_kernels *k);
/* Fills in kernel, symbol and argument sizes of a launch, where known. */
int fsc_gpu_kernels_name(struct fsc_gpu_kernels *k, const struct fsc_gpu_rec *r, uint32_t layer,
			 struct fsc_gpu_event *e, struct fsc_err *err);
/* A program has looked up a kernel by name, or (alias) derived a handle from another. */
int fsc_gpu_kernels_learn(struct fsc_gpu_kernels *k, const struct fsc_gpu_rec *r, bool alias,
			  struct fsc_err *err);
void fsc_gpu_kernels_forget(struct fsc_gpu_kernels *k, uint32_t pid);

#endif
