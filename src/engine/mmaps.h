/* Mappings, forks, execs and exits of all processes, as the kernel reports them, so that addresses
 * can be named after their process has exited. */
#ifndef FSC_ENGINE_MMAPS_H
#define FSC_ENGINE_MMAPS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct fsc_mmaps;

/* Callbacks; an error ends the reading and is returned. */
struct fsc_mmaps_to {
	void *arg;
	int (*mmap)(void *arg, pid_t pid, uint64_t start, uint64_t len, uint64_t offset, dev_t dev,
		    ino_t ino, const char *path, struct fsc_err *err);
	int (*fork)(void *arg, pid_t parent, pid_t child, struct fsc_err *err);
	int (*exec)(void *arg, pid_t pid, const char *comm, struct fsc_err *err);
	/* The main thread took another name; may be NULL. */
	int (*renamed)(void *arg, pid_t pid, const char *comm, struct fsc_err *err);
	void (*exit)(void *arg, pid_t pid);
	/* Optional, before each of the others: when it happened (CLOCK_MONOTONIC). */
	void (*at)(void *arg, uint64_t time_ns);
};

/* Records events of the whole machine from now on. The caller owns *ret. */
int fsc_mmaps_open(struct fsc_mmaps **ret, struct fsc_err *err);
void fsc_mmaps_free(struct fsc_mmaps *m);
/* Reports everything since the last time. Does not block. */
int fsc_mmaps_read(struct fsc_mmaps *m, const struct fsc_mmaps_to *to, struct fsc_err *err);
/* Reads without reporting: what has come is reported the next time. Keeps the kernel's buffers from
 * running over. */
int fsc_mmaps_pull(struct fsc_mmaps *m, struct fsc_err *err);
/* Records that the kernel dropped for lack of room. */
uint64_t fsc_mmaps_lost(const struct fsc_mmaps *m);

#endif
