/* The descriptors of a process's instrumentation memory: found among its open files, among its
 * mappings, asked of its socket, or opened as the files it left behind. What lies in them is not
 * looked at here. */
#ifndef FSC_SOURCE_CHUNKS_H
#define FSC_SOURCE_CHUNKS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "funcscope.h"

/* One descriptor each, in their order; -1 behind the last. */
struct fsc_chunks {
	int fd[FUNCSCOPE_CHUNKS];
	uint32_t pid; /* the process's number as it sees itself; 0: not known */
};

#define FSC_CHUNKS_INIT ((struct fsc_chunks){.fd = {[0 ... FUNCSCOPE_CHUNKS - 1] = -1}})
void fsc_chunks_release(struct fsc_chunks *c);

/* Of a running process. -ENOENT: it has no such memory (yet); -ESRCH: it does not run; -EACCES: it
 * is not ours to read. May wait a second for the process to answer on its socket. */
int fsc_chunks_of(pid_t pid, struct fsc_chunks *ret, struct fsc_err *err);
/* From the first of the files that a process keeps its memory in, "DIR/funcscope.PID.0". */
int fsc_chunks_open(const char *path, struct fsc_chunks *ret, struct fsc_err *err);

#endif
