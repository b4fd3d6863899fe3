/* The event loop: descriptors, timers and signals in one place, handled one at a time. */
#ifndef FSC_BASE_LOOP_H
#define FSC_BASE_LOOP_H

#include <signal.h>
#include <stdbool.h>

#include "base/err.h"

struct fsc_loop_watch;

struct fsc_loop {
	int epoll;
	bool stop;
	struct fsc_loop_watch *watches;
};

/* Called when the descriptor is readable; n is the number of expirations of a timer, the number of
 * a signal, else 0. A negative return ends the loop with it; set loop->stop to end it normally. */
typedef int (*fsc_loop_fn)(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err);

int fsc_loop_init(struct fsc_loop *l, struct fsc_err *err);
/* Watches a descriptor, which stays the caller's. */
int fsc_loop_watch_fd(struct fsc_loop *l, int fd, fsc_loop_fn fn, void *arg, struct fsc_err *err);
/* Stops watching a descriptor of fsc_loop_watch_fd(), from within a handler, too: a pidfd stays
 * readable once its process has exited, and would be reported for ever. */
void fsc_loop_unwatch_fd(struct fsc_loop *l, int fd);
/* Fires after seconds, then at that interval if it repeats. */
int fsc_loop_timer(struct fsc_loop *l, double seconds, bool repeat, fsc_loop_fn fn, void *arg,
		   struct fsc_err *err);
/* Cancels the timers that call fn with arg; from within a handler, too. */
void fsc_loop_cancel(struct fsc_loop *l, fsc_loop_fn fn, void *arg);
/* Handles the signals of set, which must be blocked already. */
int fsc_loop_signals(struct fsc_loop *l, const sigset_t *set, fsc_loop_fn fn, void *arg,
		     struct fsc_err *err);
/* Blocks until stopped. */
int fsc_loop_run(struct fsc_loop *l, struct fsc_err *err);
void fsc_loop_release(struct fsc_loop *l);

#endif
