/* Shared by the files behind cuda/fatbin.h, from the outside in: the fatbins of a file
 * (fatbin_read.c), the bytes of one packed entry (fatbin_unpack.c), the kernels of one cubin
 * (cubin.c). */
#ifndef FSC_CUDA_FATBIN_PRIV_H
#define FSC_CUDA_FATBIN_PRIV_H

#include <stdbool.h>
#include <stddef.h>

#include "elf/image.h"
#include "cuda/fatbin.h"

/* Called with each kernel; what is not 0 ends the reading and is returned. name is good until fn
 * returns. */
typedef int (*fsc_kernel_fn)(void *arg, const char *name, const struct fsc_kernel_params *params,
			     struct fsc_err *err);

/* The kernels of a cubin in memory. What cannot be understood is skipped. */
int fsc_cubin_each(const void *cubin, size_t size, fsc_kernel_fn fn, void *arg,
		   struct fsc_err *err);

enum fsc_packing {
	FSC_PACKING_LZ4, /* a bare block */
	FSC_PACKING_ZSTD,
};

/* Unpacks n bytes to exactly ret_n, which is room enough for what they say they are. False if they
 * are damaged. */
bool fsc_fatbin_unpack(enum fsc_packing packing, const void *packed, size_t n, void *ret,
		       size_t ret_n);
/* Whether n packed bytes can be ret_n unpacked ones: asked before there is room for them. */
bool fsc_fatbin_unpackable(enum fsc_packing packing, const void *packed, size_t n, size_t ret_n);

enum fsc_fatbin_pass {
	FSC_FATBIN_FIRST, /* of each linked fatbin the smallest cubin */
	FSC_FATBIN_REST,
	FSC_FATBIN_PASSES
};

/* The kernels in all fatbins of an image, those of one pass. */
int fsc_fatbin_each(const struct fsc_image *im, enum fsc_fatbin_pass pass, fsc_kernel_fn fn,
		    void *arg, struct fsc_err *err);

#endif
