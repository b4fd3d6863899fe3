/* The engine's side of `gpu`: programs on CUDA calls, in files that are found during the run, and
 * the rings that carry their records. Everything it holds is a file descriptor, so that the kernel
 * removes the probes however we die. */
#ifndef FSC_ENGINE_GPU_H
#define FSC_ENGINE_GPU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/gpu.h"
#include "wire/stack.h"

struct fsc_gpu_session;

struct fsc_gpu_session_opts {
	const struct fsc_gpu_call *calls; /* index 0 is unused */
	size_t n_calls;
	uint32_t stacks;  /* enum fsc_gpu_stacks_of */
	bool copy_stacks; /* they are unwound by debug information */
	bool python, args;
	uint32_t sample;
	uint32_t max_tasks; /* room for verdicts and interpreters; 0: default */
	bool judged;	    /* the calls of a process count until fsc_gpu_session_set_verdict() says
			       otherwise */
};

/* Loads the programs, attaches nothing. The caller owns *ret. */
int fsc_gpu_session_open(const struct fsc_gpu_session_opts *opts, struct fsc_gpu_session **ret,
			 struct fsc_err *err);
void fsc_gpu_session_free(struct fsc_gpu_session *s);

struct fsc_gpu_place {
	uint64_t offset;
	uint32_t call;
	uint32_t tag;	  /* for fsc_gpu_session_drop() */
	bool ret;	  /* probe the return, too */
	int refused;	  /* set: errno, 0 if attached */
	pid_t patched_by; /* the reason: this process has changed its code; 0: another one */
};

/* Attaches the probes of a file; file: its index, see fsc_gpu_session_names(). Places that the
 * kernel refuses are marked, which is no failure. */
int fsc_gpu_session_attach(struct fsc_gpu_session *s, const char *path, uint32_t file,
			   struct fsc_gpu_place *places, size_t n, struct fsc_err *err);
/* Detaches all probes with this tag. */
void fsc_gpu_session_drop(struct fsc_gpu_session *s, uint32_t tag);
/* Detaches all; the rings can still be read. */
void fsc_gpu_session_detach(struct fsc_gpu_session *s);

int fsc_gpu_session_names(struct fsc_gpu_session *s, uint32_t file,
			  const struct fsc_gpu_names_at *at, struct fsc_err *err);
int fsc_gpu_session_set_verdict(struct fsc_gpu_session *s, pid_t pid, bool wanted,
				struct fsc_err *err);
/* The process is a Python interpreter. */
int fsc_gpu_session_python(struct fsc_gpu_session *s, pid_t pid, const struct fsc_python *py,
			   struct fsc_err *err);
/* The process has exited. */
void fsc_gpu_session_forget(struct fsc_gpu_session *s, pid_t pid);

/* Readable when a ring fills up. */
int fsc_gpu_session_fd(const struct fsc_gpu_session *s);
/* Calls fn for each pending record, launches first; all events before one of them are among the
 * rest. fn returns 0 or -errno, which ends it. */
int fsc_gpu_session_drain(struct fsc_gpu_session *s,
			  int (*fn)(const void *rec, size_t size, void *arg), void *arg,
			  struct fsc_err *err);

/* As fsc_session_on_copy() and fsc_session_add_rule(). */
void fsc_gpu_session_on_copy(struct fsc_gpu_session *s,
			     int (*fn)(const void *copy, size_t size, void *arg), void *arg);
bool fsc_gpu_session_add_rule(struct fsc_gpu_session *s, const struct fsc_unwind_key *key,
			      uint64_t rule);

/* What a hit costs, in ns of CPU time: at the entry alone, and with the return. Call while
 * attached. */
int fsc_gpu_session_cost(struct fsc_gpu_session *s, double *ret_entry, double *ret_both,
			 struct fsc_err *err);
/* Calls that became, or should have become, a record so far; and all hits, outer calls included. */
uint64_t fsc_gpu_session_seen(const struct fsc_gpu_session *s, uint32_t call);
uint64_t fsc_gpu_session_hits(const struct fsc_gpu_session *s, uint32_t call);
uint64_t fsc_gpu_session_loss(const struct fsc_gpu_session *s, enum fsc_loss which);
/* How often a table in the kernel had no room for a process. Its calls are recorded anyway. */
enum fsc_gpu_full { FSC_GPU_FULL_VERDICTS, FSC_GPU_FULL_PYTHON, FSC_GPU_FULL_MAX };
uint64_t fsc_gpu_session_full(const struct fsc_gpu_session *s, enum fsc_gpu_full which);
/* Records that were too short, or of an unknown call. */
uint64_t fsc_gpu_session_damaged(const struct fsc_gpu_session *s);
uint64_t fsc_gpu_session_missed(const struct fsc_gpu_session *s);
/* "uprobe.multi" or "uprobe" */
const char *fsc_gpu_session_rung(const struct fsc_gpu_session *s);

#endif
