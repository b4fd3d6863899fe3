/* Where CUDA calls are: the driver, copies of the runtime, libraries, programs with the runtime
 * inside. Files are hooked as processes map them, each once. */
#ifndef FSC_GPU_HOOKS_H
#define FSC_GPU_HOOKS_H

#include "base/vec.h"
#include "engine/gpu.h"
#include "model/gpu.h"
#include "model/profile.h"

struct fsc_gpu_hooks;

struct fsc_gpu_hooks_opts {
	bool launch_errors; /* failed launches, too: their returns, and the runtime's own */
	bool no_libraries, tensors, no_trial;
	bool several_devices; /* which one a thread uses must be watched */
};

/* session must outlive it. The caller owns *ret. */
int fsc_gpu_hooks_new(struct fsc_gpu_session *session, const struct fsc_gpu_hooks_opts *opts,
		      struct fsc_gpu_hooks **ret, struct fsc_err *err);
void fsc_gpu_hooks_free(struct fsc_gpu_hooks *h);
/* A process (0: nobody yet) has mapped a file, as it sees it. What is no library of CUDA's and was
 * not linked with it is left alone. A file that cannot be read is said, no failure. May block for
 * seconds, the first time a driver is met: its names are looked for. */
int fsc_gpu_hooks_file(struct fsc_gpu_hooks *h, pid_t pid, const char *path, struct fsc_err *err);
/* Whether a file is a driver, by its name. */
bool fsc_gpu_hooks_is_driver(const char *path);
/* The driver that a program (NULL: any) would load, if there is one, and what it needs besides. */
int fsc_gpu_hooks_known(struct fsc_gpu_hooks *h, const char *program, struct fsc_err *err);
/* What was hooked; valid until the next file. */
const struct fsc_gpu_coverage_row *fsc_gpu_hooks_coverage(const struct fsc_gpu_hooks *h,
							  size_t *ret_n);
/* Places with a probe, and those the kernel refused; struct fsc_refusal. */
size_t fsc_gpu_hooks_places(const struct fsc_gpu_hooks *h);
const struct fsc_vec *fsc_gpu_hooks_refused(const struct fsc_gpu_hooks *h);
/* Whether a driver is hooked whose names nobody knows the place of yet; its number. */
bool fsc_gpu_hooks_unnamed(const struct fsc_gpu_hooks *h, uint32_t *ret_file);
int fsc_gpu_hooks_named(struct fsc_gpu_hooks *h, uint32_t file, int offset, struct fsc_err *err);

#endif
