/* A program run for the user: held before its first instruction until the probes are on. */
#ifndef FSC_ENGINE_CHILD_H
#define FSC_ENGINE_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct fsc_child {
	pid_t pid; /* 0: none */
	int pidfd; /* readable when it has ended; -1: none */
	bool held;
};

/* Starts argv (found as execvp finds it) with the given signal mask and holds it at the end of
 * execve. If we die while it is held, it is killed: it has not run yet. */
int fsc_child_start(char *const *argv, const sigset_t *mask, struct fsc_child *ret,
		    struct fsc_err *err);
/* Lets it run. */
int fsc_child_release(struct fsc_child *c, struct fsc_err *err);
/* After it has ended: how, and the CPU time of it and its children. */
int fsc_child_wait(struct fsc_child *c, int *ret_status, uint64_t *ret_cpu_ns, struct fsc_err *err);
/* Kills it if it is still held (it never ran), leaves it alone otherwise. */
void fsc_child_drop(struct fsc_child *c);

#endif
