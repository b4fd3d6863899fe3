/* getaddrinfo() in a thread, so that the caller can give up: the lookup belongs to both, and the
 * last one frees it. Numeric addresses need no thread. */
#include "web/resolve.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct lookup {
	atomic_int owners;
	int done_fd;
	char *host, *port;
	int rc, sys; /* getaddrinfo()'s result, and the errno with it */
	struct addrinfo *list;
};

static const struct addrinfo stream_hints = {.ai_socktype = SOCK_STREAM};

static void lookup_unref(struct lookup *l)
{
	if (atomic_fetch_sub(&l->owners, 1) > 1)
		return;
	if (l->list)
		freeaddrinfo(l->list);
	if (l->done_fd >= 0)
		close(l->done_fd);
	free(l->host);
	free(l->port);
	free(l);
}

static void *lookup_thread(void *arg)
{
	struct lookup *l = arg;

	l->rc = getaddrinfo(l->host, l->port, &stream_hints, &l->list);
	l->sys = errno;
	eventfd_write(l->done_fd, 1);
	lookup_unref(l);
	return NULL;
}

static struct lookup *lookup_new(const char *host, const char *port)
{
	struct lookup *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	atomic_init(&l->owners, 1);
	l->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->host = strdup(host);
	l->port = strdup(port);
	if (l->done_fd >= 0 && l->host && l->port)
		return l;
	lookup_unref(l);
	return NULL;
}

/* Signals are handled by other threads. */
static int start_lookup(struct lookup *l)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t t;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	atomic_fetch_add(&l->owners, 1);
	rc = pthread_create(&t, &attr, lookup_thread, l);
	if (rc)
		atomic_fetch_sub(&l->owners, 1);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}

static int lookup_error(const char *host, int rc, int sys, struct fsc_err *err)
{
	if (rc == EAI_MEMORY)
		return fsc_err_nomem(err);
	return fsc_err_set(err, EHOSTUNREACH, "cannot look up host '%s': %s", host,
			   rc == EAI_SYSTEM ? fsc_err_text(sys) : gai_strerror(rc));
}

static int await_lookup(struct lookup *l, const struct fsc_deadline *p, struct addrinfo **ret,
			struct fsc_err *err)
{
	int rc = start_lookup(l);
	eventfd_t done;

	if (rc)
		return fsc_err_sys(err, rc, "cannot start a thread to look up host '%s'", l->host);
	rc = fsc_wait(l->done_fd, POLLIN, p);
	if (rc < 0)
		return fsc_err_sys(err, -rc, "cannot look up host '%s'", l->host);
	eventfd_read(l->done_fd, &done);
	if (l->rc)
		return lookup_error(l->host, l->rc, l->sys, err);
	*ret = l->list;
	l->list = NULL;
	return 0;
}

int fsc_resolve(const char *host, const char *port, const struct fsc_deadline *p,
		struct addrinfo **ret, struct fsc_err *err)
{
	struct addrinfo digits = {.ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct lookup *l;
	int rc;

	*ret = NULL;
	if (!getaddrinfo(host, port, &digits, ret))
		return 0;
	l = lookup_new(host, port);
	if (!l)
		return fsc_err_nomem(err);
	rc = await_lookup(l, p, ret, err);
	lookup_unref(l);
	return rc;
}
