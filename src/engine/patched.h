/* Code that a process has changed in its own memory: hooks write a jump over a function's first
 * instructions. Under a probe the kernel executes the instruction of the file instead, which kills
 * such a process. So what is about to be probed is compared with what runs. */
#ifndef FSC_ENGINE_PATCHED_H
#define FSC_ENGINE_PATCHED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

struct fsc_patched {
	struct fsc_vec files;  /* struct fsc_patched_file */
	struct fsc_vec places; /* struct fsc_patched_place */
};

void fsc_patched_init(struct fsc_patched *p);
void fsc_patched_release(struct fsc_patched *p);
/* From now on places are added to this file. path must outlive p. */
int fsc_patched_file(struct fsc_patched *p, const char *path, struct fsc_err *err);
/* The place of a probe, as an offset in the file; id: the caller's. */
int fsc_patched_place(struct fsc_patched *p, uint64_t offset, size_t id, struct fsc_err *err);
/* Calls found() for each place whose instruction is another one in a process: of those given, or of
 * all that have the file mapped. A breakpoint is no difference. Processes that may not be looked at
 * are left out. Takes some 0.1 ms a process. */
int fsc_patched_find(struct fsc_patched *p, const pid_t *pids, size_t n_pids,
		     int (*found)(size_t id, pid_t pid, void *arg, struct fsc_err *err), void *arg,
		     struct fsc_err *err);
/* Why such a place gets no probe. Caller frees; NULL: out of memory. */
char *fsc_patched_why(pid_t pid);

#endif
