/* Shared by the files behind gpu/trial.h: the library under trial, the child that tries it, and
 * the cache. Included by src/gpu/ and its tests only. */
#ifndef FSC_GPU_TRIAL_PRIV_H
#define FSC_GPU_TRIAL_PRIV_H

#include <stddef.h>

#include "gpu/trial.h"

/* Bytes of an object that the trial searches. */
#define FSC_TRIAL_OBJECT_MAX 512

/* The program src/trial/driver_trial.c, built and embedded by the Makefile. */
extern const unsigned char fsc_driver_trial[];
extern const size_t fsc_driver_trial_size;

/* ---- driver_file.c ---- */

struct fsc_driver_file {
	int fd;	      /* the library */
	int dir_fd;   /* its directory; -1: cannot be opened */
	bool trusted; /* only root and we could have written it */
	char id[192]; /* the build id, or the file's identity without one */
};

#define FSC_DRIVER_FILE_NONE ((struct fsc_driver_file){.fd = -1, .dir_fd = -1})

/* 0 or a negative errno; the caller closes it in both cases. Does not block on a FIFO. */
int fsc_driver_file_open(const char *path, const char *root, struct fsc_driver_file *ret);
void fsc_driver_file_close(struct fsc_driver_file *f);

/* ---- trial_child.c ---- */

/* Runs the trial with a timeout; contract as fsc_gpu_trial(). *ret_final: another trial would
 * have the same result. */
int fsc_trial_run(const struct fsc_driver_file *lib, int timeout_ms, struct fsc_gpu_names *ret,
		  bool *ret_final, struct fsc_err *err);

/* ---- trial_cache.c ---- */

/* The user's cache file; NULL: none, or out of memory. Caller frees. */
char *fsc_trial_cache_path(void);
/* Whether the file has this build; fills in the offsets. Untrusted files and malformed lines are
 * ignored. */
bool fsc_trial_cache_find(const char *file, const char *id, struct fsc_gpu_names *ret);
/* Adds or replaces one line, creating directories. Failures are only logged: they cost another
 * trial. */
void fsc_trial_cache_put(const char *file, const char *id, const struct fsc_gpu_names *names);

/* ---- trial.c ---- */

/* fsc_gpu_trial() with another cache (NULL: none) and timeout. */
int fsc_gpu_trial_with(const char *libcuda, const char *root, const char *cache, int timeout_ms,
		       struct fsc_gpu_names *ret, struct fsc_err *err);

#endif
