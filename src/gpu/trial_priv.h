/* What the files behind gpu/trial.h share: the library under trial, the child that tries it, and
 * the cache of what was found. Included by src/gpu/ and its tests only. */
#ifndef FSC_GPU_TRIAL_PRIV_H
#define FSC_GPU_TRIAL_PRIV_H

#include <stddef.h>

#include "gpu/trial.h"

/* How far into an object the trial looks. */
#define FSC_TRIAL_OBJECT_MAX 512

/* The program src/trial/driver_trial.c, built and embedded by the Makefile. */
extern const unsigned char fsc_driver_trial[];
extern const size_t fsc_driver_trial_size;

/* ---- driver_file.c ---- */

struct fsc_driver_file {
	int fd;	      /* the library */
	int dir_fd;   /* where it lies; -1: cannot be opened */
	bool trusted; /* only root and we could have written it */
	char id[192]; /* of this build; of this file where it has no build id */
};

#define FSC_DRIVER_FILE_NONE ((struct fsc_driver_file){.fd = -1, .dir_fd = -1})

/* 0 or a negative errno; the caller closes it in both cases. Never waits on a FIFO. */
int fsc_driver_file_open(const char *path, const char *root, struct fsc_driver_file *ret);
void fsc_driver_file_close(struct fsc_driver_file *f);

/* ---- trial_child.c ---- */

/* Runs the trial for at most that long; contract as fsc_gpu_trial(). *ret_final: the next trial of
 * this library will say the same. */
int fsc_trial_run(const struct fsc_driver_file *lib, int timeout_ms, struct fsc_gpu_names *ret,
		  bool *ret_final, struct fsc_err *err);

/* ---- trial_cache.c ---- */

/* The user's cache file; NULL where there is no place for one or memory is out. Caller frees. */
char *fsc_trial_cache_path(void);
/* Whether the file knows this build; fills in the offsets. A file that others could have written,
 * and lines that make no sense, count as not there. */
bool fsc_trial_cache_find(const char *file, const char *id, struct fsc_gpu_names *ret);
/* Adds or replaces one line, making the directories. What fails is only logged: a trial more. */
void fsc_trial_cache_put(const char *file, const char *id, const struct fsc_gpu_names *names);

/* ---- trial.c ---- */

/* fsc_gpu_trial() with another cache (NULL: none) and another patience. */
int fsc_gpu_trial_with(const char *libcuda, const char *root, const char *cache, int timeout_ms,
		       struct fsc_gpu_names *ret, struct fsc_err *err);

#endif
