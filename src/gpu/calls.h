/* The CUDA calls that `gpu` knows: one row each, of the driver, the runtime and libraries. A new
 * one is one row. */
#ifndef FSC_GPU_CALLS_H
#define FSC_GPU_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/gpu.h"

/* When a row is hooked. */
enum fsc_gpu_when {
	FSC_GPU_ALWAYS,
	FSC_GPU_LAUNCHES,  /* of the runtime: where no driver is seen, or failures are asked for */
	FSC_GPU_WITHOUT,   /* where no driver is seen: kernels are named by the runtime */
	FSC_GPU_SEVERAL,   /* where there is not exactly one GPU */
	FSC_GPU_LIBRARIES, /* unless --no-libraries */
	FSC_GPU_TENSORS,   /* --tensors */
	FSC_GPU_WHEN_MAX,
};

struct fsc_gpu_row {
	const char *symbol; /* or a glob; with "_ptsz" and "_ptds" behind it, too */
	const char *shown;  /* NULL: the symbol */
	enum fsc_gpu_when when;
	struct fsc_gpu_call call;
};

/* Number 0 is none. */
extern const struct fsc_gpu_row fsc_gpu_rows[];
extern const size_t fsc_gpu_n_rows;

static inline const char *fsc_gpu_call_name(uint32_t call)
{
	if (!call || call >= fsc_gpu_n_rows)
		return NULL;
	return fsc_gpu_rows[call].shown ? fsc_gpu_rows[call].shown : fsc_gpu_rows[call].symbol;
}

/* Which layer a file belongs to, by its name; -1: none that we know. */
int fsc_gpu_layer_of(const char *base_name);

/* Whether a call's row is of a file of that name: libraries export each other's names. */
bool fsc_gpu_row_in(const struct fsc_gpu_row *row, const char *base_name);

/* The error's name; NULL where the layer has none of that number. */
const char *fsc_gpu_error_name(uint32_t call, int code);

#endif
