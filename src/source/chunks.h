/* The descriptors of a process's instrumentation memory: found among its open files or mappings,
 * received from its socket, or opened as the files that it left behind. Their contents are not read
 * here. */
#ifndef FSC_SOURCE_CHUNKS_H
#define FSC_SOURCE_CHUNKS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "funcscope.h"

/* In order; -1 after the last. */
struct fsc_chunks {
	int fd[FUNCSCOPE_CHUNKS];
	uint32_t pid; /* in the process's own pid namespace; 0: unknown */
};

#define FSC_CHUNKS_INIT ((struct fsc_chunks){.fd = {[0 ... FUNCSCOPE_CHUNKS - 1] = -1}})
void fsc_chunks_release(struct fsc_chunks *c);

/* Of a running process. -ENOENT: it has no such memory (yet); -ESRCH: there is no such process;
 * -EACCES: we may not read it. May wait a second for the process to answer on its socket. */
int fsc_chunks_of(pid_t pid, struct fsc_chunks *ret, struct fsc_err *err);
/* path: the first of the files that hold a process's memory, "DIR/funcscope.PID.0". */
int fsc_chunks_open(const char *path, struct fsc_chunks *ret, struct fsc_err *err);

#endif
