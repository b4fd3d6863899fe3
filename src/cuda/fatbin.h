/* The parameters of CUDA kernels, from the GPU code that a program or library carries: its fatbins
 * hold one or more cubins (ELF files for the GPU), plain or packed, and a cubin says of each of its
 * kernels where each parameter lies and how long it is. Reads files only, never a process. */
#ifndef FSC_CUDA_FATBIN_H
#define FSC_CUDA_FATBIN_H

#include <stdint.h>

#include "base/err.h"

#define FSC_KERNEL_PARAMS_MAX 64

/* In the order of the kernel's declaration; of a kernel with more parameters than there is room
 * for, the first ones. offset is the place in the block of all parameters. */
struct fsc_kernel_params {
	uint16_t n;
	struct {
		uint16_t offset, size;
	} at[FSC_KERNEL_PARAMS_MAX];
};

struct fsc_fatbins;

/* An empty cache. The caller owns *ret (fsc_fatbins_free). */
int fsc_fatbins_new(struct fsc_fatbins **ret, struct fsc_err *err);
void fsc_fatbins_free(struct fsc_fatbins *f);
void fsc_fatbins_freep(struct fsc_fatbins **f);

/* The parameters of a kernel (its name as in the GPU's symbols: mangled) in the file at path. 1:
 * *ret is filled, owned by f and good until f is freed. 0: the file has no such kernel, no fatbin
 * at all, or several kernels of that name whose parameters differ. Negative: the file cannot be
 * opened or is no program of this machine; -EFBIG: its GPU code is past what we read (2 GB a
 * section, 16 GB unpacked, 200,000 kernels). What is damaged inside a fatbin is skipped.
 *
 * Blocks: the first question about a file reads one cubin of each fatbin, the first miss reads the
 * others and looks through all data, at about 1 GB of unpacked code a second; after that it is a
 * look into memory. A file, or the failure to read it, is remembered by its path: later changes are
 * not seen. */
int fsc_fatbins_params(struct fsc_fatbins *f, const char *path, const char *kernel,
		       const struct fsc_kernel_params **ret, struct fsc_err *err);

#endif
