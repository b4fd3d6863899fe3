/* The engine's side of `gpu`: programs on CUDA calls, in files that come one after the other, and
 * the rings by which calls are told. Everything it holds is a file descriptor, so that whatever
 * kills us, the kernel takes the probes off. */
#ifndef FSC_ENGINE_GPU_H
#define FSC_ENGINE_GPU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/gpu.h"

struct fsc_gpu_session;

struct fsc_gpu_session_opts {
	const struct fsc_gpu_call *calls; /* number 0 is none */
	size_t n_calls;
	uint32_t stacks; /* enum fsc_gpu_stacks_of */
	bool python, args;
	uint32_t sample;
	uint32_t max_tasks; /* verdicts and interpreters that there is room for; 0: many */
	bool judged; /* the calls of a process count until fsc_gpu_session_judge() says otherwise */
};

/* The caller owns *ret. Loads the programs, attaches nothing. */
int fsc_gpu_session_open(const struct fsc_gpu_session_opts *opts, struct fsc_gpu_session **ret,
			 struct fsc_err *err);
void fsc_gpu_session_free(struct fsc_gpu_session *s);

/* A place to put a probe on. */
struct fsc_gpu_place {
	uint64_t offset;
	uint32_t call;
	uint32_t tag; /* for fsc_gpu_session_drop() */
	bool ret;     /* the return, too */
	int refused;  /* set: errno, 0 if it took */
};

/* Puts the probes of a file on; file is its number, by which names are found. What the kernel
 * refuses is marked, no failure. */
int fsc_gpu_session_attach(struct fsc_gpu_session *s, const char *path, uint32_t file,
			   struct fsc_gpu_place *places, size_t n, struct fsc_err *err);
/* Takes all probes with this tag off. */
void fsc_gpu_session_drop(struct fsc_gpu_session *s, uint32_t tag);
/* Takes all off; the rings can still be read. */
void fsc_gpu_session_detach(struct fsc_gpu_session *s);

int fsc_gpu_session_names(struct fsc_gpu_session *s, uint32_t file,
			  const struct fsc_gpu_names_at *at, struct fsc_err *err);
int fsc_gpu_session_judge(struct fsc_gpu_session *s, pid_t pid, bool wanted, struct fsc_err *err);
/* The process is a Python interpreter. */
int fsc_gpu_session_python(struct fsc_gpu_session *s, pid_t pid, const struct fsc_python *py,
			   struct fsc_err *err);
/* The process is gone. */
void fsc_gpu_session_forget(struct fsc_gpu_session *s, pid_t pid);

/* Readable when a ring fills up. */
int fsc_gpu_session_fd(const struct fsc_gpu_session *s);
/* Calls fn for each record that is there, launches first; all that was told before one of them is
 * among the others. fn returns 0 or -errno, which ends it. */
int fsc_gpu_session_drain(struct fsc_gpu_session *s,
			  int (*fn)(const void *rec, size_t size, void *arg), void *arg,
			  struct fsc_err *err);

/* What a hit costs, in ns of CPU time: at the entry alone, and with the return. Call while
 * attached. */
int fsc_gpu_session_cost(struct fsc_gpu_session *s, double *ret_entry, double *ret_both,
			 struct fsc_err *err);
/* Calls that became, or should have become, a record so far; and all hits, those of calls around
 * others included. */
uint64_t fsc_gpu_session_seen(const struct fsc_gpu_session *s, uint32_t call);
uint64_t fsc_gpu_session_hits(const struct fsc_gpu_session *s, uint32_t call);
uint64_t fsc_gpu_session_loss(const struct fsc_gpu_session *s, enum fsc_loss which);
/* How often a table of the kernel had no room for a process. Its calls are sent all the same. */
enum fsc_gpu_full { FSC_GPU_FULL_VERDICTS, FSC_GPU_FULL_PYTHON, FSC_GPU_FULL_MAX };
uint64_t fsc_gpu_session_full(const struct fsc_gpu_session *s, enum fsc_gpu_full which);
/* Records that were too short, or of no call. */
uint64_t fsc_gpu_session_damaged(const struct fsc_gpu_session *s);
uint64_t fsc_gpu_session_missed(const struct fsc_gpu_session *s);
/* "uprobe.multi" or "uprobe" */
const char *fsc_gpu_session_rung(const struct fsc_gpu_session *s);

#endif
