/* epoll, timerfd and signalfd behind one small interface. */
#include "base/loop.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum kind { PLAIN, TIMER, SIGNAL };

struct fsc_loop_watch {
	struct fsc_loop_watch *next;
	enum kind kind;
	int fd;
	fsc_loop_fn fn; /* NULL: not watched any more */
	void *arg;
};

int fsc_loop_init(struct fsc_loop *l, struct fsc_err *err)
{
	*l = (struct fsc_loop){.epoll = epoll_create1(EPOLL_CLOEXEC)};
	return l->epoll < 0 ? fsc_err_sys(err, errno, "cannot make an event loop") : 0;
}

/* Owns fd from here on, unless it is a plain one. */
static int add_watch(struct fsc_loop *l, enum kind kind, int fd, fsc_loop_fn fn, void *arg,
		     struct fsc_err *err)
{
	struct fsc_loop_watch *w = fd < 0 ? NULL : calloc(1, sizeof(*w));
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = w};
	int code = fd < 0 ? errno : ENOMEM;

	if (w && !epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &ev)) {
		*w = (struct fsc_loop_watch){l->watches, kind, fd, fn, arg};
		l->watches = w;
		return 0;
	}
	if (w)
		code = errno;
	free(w);
	if (kind != PLAIN && fd >= 0)
		close(fd);
	return fsc_err_sys(err, code, "cannot watch an event");
}

int fsc_loop_watch_fd(struct fsc_loop *l, int fd, fsc_loop_fn fn, void *arg, struct fsc_err *err)
{
	return add_watch(l, PLAIN, fd, fn, arg, err);
}

/* The watch stays in the list: an event that epoll has returned already may point to it. */
static void ignore_watch(struct fsc_loop *l, struct fsc_loop_watch *w)
{
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	w->fn = NULL;
}

void fsc_loop_unwatch_fd(struct fsc_loop *l, int fd)
{
	for (struct fsc_loop_watch *w = l->watches; w; w = w->next)
		if (w->kind == PLAIN && w->fd == fd && w->fn)
			ignore_watch(l, w);
}

void fsc_loop_cancel(struct fsc_loop *l, fsc_loop_fn fn, void *arg)
{
	for (struct fsc_loop_watch *w = l->watches; w; w = w->next)
		if (w->kind == TIMER && w->fn == fn && w->arg == arg)
			ignore_watch(l, w);
}

int fsc_loop_timer(struct fsc_loop *l, double seconds, bool repeat, fsc_loop_fn fn, void *arg,
		   struct fsc_err *err)
{
	struct timespec ts = {.tv_sec = (time_t)seconds,
			      .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
	struct itimerspec it = {.it_value = ts, .it_interval = repeat ? ts : (struct timespec){0}};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0 && timerfd_settime(fd, 0, &it, NULL)) {
		int code = errno;

		close(fd);
		return fsc_err_sys(err, code, "cannot set a timer of %g s", seconds);
	}
	return add_watch(l, TIMER, fd, fn, arg, err);
}

int fsc_loop_signals(struct fsc_loop *l, const sigset_t *set, fsc_loop_fn fn, void *arg,
		     struct fsc_err *err)
{
	return add_watch(l, SIGNAL, signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK), fn, arg, err);
}

/* Reads the count of a timer or the number of a signal; false if nothing was pending. */
static bool take_event(const struct fsc_loop_watch *w, int *n)
{
	struct signalfd_siginfo si;
	uint64_t expired;

	*n = 0;
	if (w->kind == TIMER) {
		if (read(w->fd, &expired, sizeof(expired)) != sizeof(expired))
			return false;
		*n = (int)expired;
	}
	if (w->kind == SIGNAL) {
		if (read(w->fd, &si, sizeof(si)) != sizeof(si))
			return false;
		*n = (int)si.ssi_signo;
	}
	return true;
}

int fsc_loop_run(struct fsc_loop *l, struct fsc_err *err)
{
	struct epoll_event ev[8];

	while (!l->stop) {
		int n = epoll_wait(l->epoll, ev, 8, -1);

		if (n < 0 && errno != EINTR)
			return fsc_err_sys(err, errno, "cannot wait for events");
		for (int i = 0; i < n && !l->stop; i++) {
			struct fsc_loop_watch *w = ev[i].data.ptr;
			int what, rc;

			if (!w->fn || !take_event(w, &what))
				continue;
			rc = w->fn(l, what, w->arg, err);
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

void fsc_loop_release(struct fsc_loop *l)
{
	while (l->watches) {
		struct fsc_loop_watch *w = l->watches;

		l->watches = w->next;
		if (w->kind != PLAIN)
			close(w->fd);
		free(w);
	}
	if (l->epoll > 0)
		close(l->epoll);
	l->epoll = -1;
}
