/* What processes map, fork, start and when they end, as the kernel tells it: so that addresses can
 * be named although their process is gone by then. */
#ifndef FSC_ENGINE_MMAPS_H
#define FSC_ENGINE_MMAPS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct fsc_mmaps;

/* Whom to tell; a failure ends the reading and is returned. */
struct fsc_mmaps_to {
	void *arg;
	int (*mmap)(void *arg, pid_t pid, uint64_t start, uint64_t len, uint64_t offset, dev_t dev,
		    ino_t ino, const char *path, struct fsc_err *err);
	int (*fork)(void *arg, pid_t parent, pid_t child, struct fsc_err *err);
	int (*exec)(void *arg, pid_t pid, const char *comm, struct fsc_err *err);
	void (*exit)(void *arg, pid_t pid);
};

/* Listens from now on, to the whole machine. The caller owns *ret. */
int fsc_mmaps_open(struct fsc_mmaps **ret, struct fsc_err *err);
void fsc_mmaps_free(struct fsc_mmaps *m);
/* Tells everything that came since the last time. Does not block. */
int fsc_mmaps_read(struct fsc_mmaps *m, const struct fsc_mmaps_to *to, struct fsc_err *err);
/* Records the kernel had no room for. */
uint64_t fsc_mmaps_lost(const struct fsc_mmaps *m);

#endif
