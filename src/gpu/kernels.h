/* Names of kernels: from the driver's own object, and where that cannot be, from what the program
 * looked up, or from the symbols of the function that stands for the kernel. */
#ifndef FSC_GPU_KERNELS_H
#define FSC_GPU_KERNELS_H

#include "gpu/events.h"

struct fsc_gpu_kernels;

int fsc_gpu_kernels_new(const struct fsc_gpu_events_opts *opts, struct fsc_gpu_kernels **ret,
			struct fsc_err *err);
void fsc_gpu_kernels_free(struct fsc_gpu_kernels *k);
/* Fills in kernel, symbol and the sizes of arguments of a launch, as far as they are known. */
int fsc_gpu_kernels_name(struct fsc_gpu_kernels *k, const struct fsc_gpu_rec *r, uint32_t layer,
			 struct fsc_gpu_event *e, struct fsc_err *err);
/* A program has looked up a kernel by its name, or has made a handle from another one. */
int fsc_gpu_kernels_learn(struct fsc_gpu_kernels *k, const struct fsc_gpu_rec *r, bool alias,
			  struct fsc_err *err);
void fsc_gpu_kernels_forget(struct fsc_gpu_kernels *k, uint32_t pid);

#endif
