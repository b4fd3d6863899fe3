/* A command run for the user: held before its first instruction until the probes are attached. */
#ifndef FSC_RUN_CHILD_H
#define FSC_RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "proc/family.h"

struct fsc_child {
	char *name; /* as it was given; NULL: none was started */
	pid_t pid;  /* 0: none, or reaped */
	int pidfd;  /* readable when it has exited; -1: none */
	bool held;
	bool exited;	 /* and then: */
	int status;	 /* as wait() gives it */
	uint64_t cpu_ns; /* of it and its children */
	struct fsc_family family;
};

/* Starts argv (found as execvp finds it) with the given signal mask and holds it at the end of
 * execve. If we die while it is held, it is killed. */
int fsc_child_start(struct fsc_child *c, char *const *argv, const sigset_t *mask,
		    struct fsc_err *err);
/* Lets it run. */
int fsc_child_release(struct fsc_child *c, struct fsc_err *err);
/* Notes the exit status and CPU time of a child that has exited. */
int fsc_child_reap(struct fsc_child *c, struct fsc_err *err);
/* Waits up to ms milliseconds for it to exit, and reaps it if it does. */
int fsc_child_await(struct fsc_child *c, int ms, struct fsc_err *err);
/* CPU time, in ns, that it has used, with its children's: while it runs also of those alive, then
 * of those it has waited for. */
uint64_t fsc_child_cpu(struct fsc_child *c);
/* Its exit status, 128 and the signal if that killed it; 0 if it has not exited. */
int fsc_child_code(const struct fsc_child *c);
/* Logs how it exited, or that it continues; does nothing if none was started. waiting:
 * fsc_child_await() follows. */
void fsc_child_log_exit(const struct fsc_child *c, bool waiting);
/* Kills it if it is still held (it never ran), leaves it alone otherwise. */
void fsc_child_drop(struct fsc_child *c);

#endif
