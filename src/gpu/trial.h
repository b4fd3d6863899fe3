/* Where an NVIDIA driver keeps the names of kernels: the offset of the name pointer in a
 * CUfunction and a CUkernel. It is undocumented, so it is found by a trial with the driver library
 * itself, once per build. */
#ifndef FSC_GPU_TRIAL_H
#define FSC_GPU_TRIAL_H

#include <stdbool.h>

#include "base/err.h"

struct fsc_gpu_names {
	int function_offset, kernel_offset; /* -1: unknown */
	bool from_cache;
	char why[128]; /* why an offset is unknown; "" if both are known */
};

/* libcuda: a path that can be opened here. root: "/proc/PID/root" if the library is a container's
 * (libcuda then begins with it), else "". Uses the result of an earlier trial of the same build if
 * it is cached; else the library is loaded in a child process, which needs a device. A library
 * that others than root and this user could have written runs isolated as nobody, or, if we are
 * not root, not at all.
 *
 * A failed trial (no device, no such file, a crash) is not an error: the offsets are -1, with the
 * reason in ret->why. Fails only for lack of memory, descriptors or processes. Nothing to free.
 * May block for 25 s. */
int fsc_gpu_trial(const char *libcuda, const char *root, struct fsc_gpu_names *ret,
		  struct fsc_err *err);

#endif
