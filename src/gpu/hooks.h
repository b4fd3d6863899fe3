/* Hooks the files with CUDA calls: the driver, copies of the runtime, libraries, programs linked
 * with a static runtime. Files are hooked as processes map them, each once. */
#ifndef FSC_GPU_HOOKS_H
#define FSC_GPU_HOOKS_H

#include "base/vec.h"
#include "engine/gpu.h"
#include "model/gpu.h"
#include "model/profile.h"

struct fsc_gpu_hooks;

struct fsc_gpu_hooks_opts {
	bool launch_errors; /* report failed launches: hooks returns, and the runtime's launches */
	bool no_libraries, tensors, no_trial;
	bool several_devices; /* track which device a thread uses */
};

/* session must outlive it. The caller owns *ret. */
int fsc_gpu_hooks_new(struct fsc_gpu_session *session, const struct fsc_gpu_hooks_opts *opts,
		      struct fsc_gpu_hooks **ret, struct fsc_err *err);
void fsc_gpu_hooks_free(struct fsc_gpu_hooks *h);
/* Process pid (0: none yet) has mapped path, a path in its own namespace. Hooks it if it is a
 * CUDA library or linked with one. A file that cannot be read is logged, not an error. May block
 * for seconds at the first sight of a driver, for a trial of its names. */
int fsc_gpu_hooks_file(struct fsc_gpu_hooks *h, pid_t pid, const char *path, struct fsc_err *err);
/* By its file name. */
bool fsc_gpu_hooks_is_driver(const char *path);
/* Hooks the driver that a program (NULL: any) would load, and the program's libraries. */
int fsc_gpu_hooks_known(struct fsc_gpu_hooks *h, const char *program, struct fsc_err *err);
/* Readable when a hooked file was written to; -1: that is not noticed. fn gets its name. */
int fsc_gpu_hooks_writes_fd(const struct fsc_gpu_hooks *h);
void fsc_gpu_hooks_check_writes(struct fsc_gpu_hooks *h, void (*fn)(const void *name, void *arg),
				void *arg);
/* The hooked files; valid until the next is added. */
const struct fsc_gpu_coverage_row *fsc_gpu_hooks_coverage(const struct fsc_gpu_hooks *h,
							  size_t *ret_n);
/* Probed places, and those that could not be probed; struct fsc_refusal. */
size_t fsc_gpu_hooks_places(const struct fsc_gpu_hooks *h);
const struct fsc_vec *fsc_gpu_hooks_refused(const struct fsc_gpu_hooks *h);
/* A hooked driver whose name offset is unknown; its index. */
bool fsc_gpu_hooks_unnamed(const struct fsc_gpu_hooks *h, uint32_t *ret_file);
int fsc_gpu_hooks_named(struct fsc_gpu_hooks *h, uint32_t file, int offset, struct fsc_err *err);

#endif
