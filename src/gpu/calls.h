/* The CUDA calls that `gpu` hooks, one row each: driver, runtime and libraries. */
#ifndef FSC_GPU_CALLS_H
#define FSC_GPU_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/gpu.h"

/* When a row is hooked. */
enum fsc_gpu_when {
	FSC_GPU_ALWAYS,
	FSC_GPU_LAUNCHES,  /* runtime launches: if no driver is hooked, or with --launch-errors */
	FSC_GPU_WITHOUT,   /* if no driver is hooked: kernels are named by the runtime */
	FSC_GPU_SEVERAL,   /* unless there is exactly one GPU */
	FSC_GPU_LIBRARIES, /* unless --no-libraries */
	FSC_GPU_TENSORS,   /* --tensors */
	FSC_GPU_WHEN_MAX,
};

struct fsc_gpu_row {
	const char *symbol; /* or a glob; also hooked with the suffixes "_ptsz" and "_ptds" */
	const char *shown;  /* NULL: the symbol */
	enum fsc_gpu_when when;
	struct fsc_gpu_call call;
};

/* Row 0 is unused. */
extern const struct fsc_gpu_row fsc_gpu_rows[];
extern const size_t fsc_gpu_n_rows;

static inline const char *fsc_gpu_call_name(uint32_t call)
{
	if (!call || call >= fsc_gpu_n_rows)
		return NULL;
	return fsc_gpu_rows[call].shown ? fsc_gpu_rows[call].shown : fsc_gpu_rows[call].symbol;
}

/* The layer of a file, by its name; -1: not a CUDA library. */
int fsc_gpu_layer_of(const char *base_name);

/* Whether a row applies to a file of that name: libraries export each other's names. */
bool fsc_gpu_row_in(const struct fsc_gpu_row *row, const char *base_name);

/* NULL: the layer has no such error. */
const char *fsc_gpu_error_name(uint32_t call, int code);

#endif
