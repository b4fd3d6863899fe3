/* Where an NVIDIA driver keeps the names of kernels: at which offset of a CUfunction and of a
 * CUkernel the pointer to the name lies. Nothing documents it, so it is found by a trial with the
 * driver library itself, once per build of it, and never assumed. */
#ifndef FSC_GPU_TRIAL_H
#define FSC_GPU_TRIAL_H

#include <stdbool.h>

#include "base/err.h"

struct fsc_gpu_names {
	int function_offset, kernel_offset; /* -1: not known */
	bool from_cache;
	char why[128]; /* why an offset is not known; "" where both are */
};

/* libcuda: a path that opens from here. root: "/proc/PID/root" where the library is a container's
 * (libcuda then begins with it), "" otherwise. What an earlier trial of the same build found is
 * taken from the cache; else the library is loaded in a child process, which needs a device.
 * A library that others than root and we could have written runs as nobody and apart from here, or,
 * where we are not root, not at all.
 *
 * A trial that fails (no device, no such file, a crash) is an answer: offsets of -1 and the reason
 * in ret->why. Fails only where memory, descriptors or processes are out. Nothing to free. May
 * block for 25 s. */
int fsc_gpu_trial(const char *libcuda, const char *root, struct fsc_gpu_names *ret,
		  struct fsc_err *err);

#endif
