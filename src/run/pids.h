/* Processes given by pid, watched through pidfds until they exit; and the CPU time they use. */
#ifndef FSC_RUN_PIDS_H
#define FSC_RUN_PIDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "base/vec.h"
#include "proc/family.h"

struct fsc_pid {
	pid_t pid;
	int fd;			 /* -1: it has exited */
	uint64_t cpu_start, cpu; /* ns, at the start and when last seen */
};

struct fsc_pids {
	struct fsc_vec all; /* struct fsc_pid */
	struct fsc_loop *loop;
	fsc_loop_fn fn;
	void *arg;
	bool follow; /* children count, too */
	struct fsc_family family;
	uint64_t family_start;
};

/* When any of them has exited, the loop calls fn, which calls fsc_pids_take_exited(). */
void fsc_pids_init(struct fsc_pids *p, struct fsc_loop *loop, fsc_loop_fn fn, void *arg);
void fsc_pids_release(struct fsc_pids *p);

/* The process that a task belongs to; 0: there is no such task. */
pid_t fsc_pids_owner(pid_t task);
/* Adds a process, unless it is there already. -ESRCH: it has exited. */
int fsc_pids_add(struct fsc_pids *p, pid_t pid, struct fsc_err *err);
/* -ESRCH for a zombie, which will never make a call, and for a process whose main thread has
 * exited, to which the kernel cannot limit probes; 0 otherwise. */
int fsc_pids_refuse_zombie(pid_t pid, struct fsc_err *err);
/* Removes exited processes from the loop, as their pidfds stay readable for ever, and calls fn (may
 * be NULL) for each. Returns how many still run. */
size_t fsc_pids_take_exited(struct fsc_pids *p, void (*fn)(pid_t pid, void *arg), void *arg);
/* Counts CPU time from now on; follow: also that of children, while they live and after. */
void fsc_pids_start(struct fsc_pids *p, bool follow);
/* CPU time in ns used since then; for an exited process, as last read. */
uint64_t fsc_pids_cpu(struct fsc_pids *p);

#endif
