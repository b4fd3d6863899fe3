/* An HTTP receiver for tests: a thread that listens on a free port of loopback and does with each
 * connection, one after the other, what its function says. Ending it interrupts whatever it waits
 * for. */
#ifndef RECEIVER_H
#define RECEIVER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

enum { PATIENCE_S = 120 };

struct receiver {
	int listen, stop;
	unsigned port;
	pthread_t thread;
	atomic_int connections, requests, answers;
	/* Called for each connection, which is closed behind it. */
	void (*serve)(struct receiver *r, int fd);
	struct fsc_buf got; /* by receiver_read(); of the latest request */
	pthread_mutex_t lock;
	struct fsc_buf bodies; /* all of them, one behind the other, with a newline each */
};

/* Waits for the descriptor; false when the receiver is to end. */
static inline bool receiver_wait(const struct receiver *r, int fd)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = r->stop, .events = POLLIN}};

	return poll(p, 2, -1) > 0 && !p[1].revents;
}

/* Answers nothing until the other side goes away. */
static inline void receiver_hang(const struct receiver *r, int fd)
{
	char piece[4096];

	while (receiver_wait(r, fd) && recv(fd, piece, sizeof(piece), 0) > 0)
		;
}

static inline size_t receiver_missing(const struct fsc_buf *b)
{
	const char *s = fsc_buf_str(b), *end = strstr(s, "\r\n\r\n");
	const char *length = strstr(s, "\r\nContent-Length: ");
	size_t whole;

	if (!end || !length)
		return 1;
	whole = (size_t)(end + 4 - s) + strtoul(length + 18, NULL, 10);
	return whole > b->n ? whole - b->n : 0;
}

/* Reads a request whole into r->got. */
static inline bool receiver_read(struct receiver *r, int fd)
{
	char piece[65536];
	const char *body;

	fsc_buf_clear(&r->got);
	while (receiver_missing(&r->got)) {
		ssize_t n = receiver_wait(r, fd) ? recv(fd, piece, sizeof(piece), 0) : -1;

		if (n <= 0)
			return false;
		fsc_buf_add(&r->got, piece, (size_t)n);
	}
	body = strstr(r->got.s, "\r\n\r\n") + 4;
	pthread_mutex_lock(&r->lock);
	fsc_buf_add(&r->bodies, body, r->got.n - (size_t)(body - r->got.s));
	fsc_buf_putc(&r->bodies, '\n');
	pthread_mutex_unlock(&r->lock);
	r->requests++;
	return true;
}

static inline bool receiver_write(int fd, const void *bytes, size_t n)
{
	return send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static inline void receiver_say(struct receiver *r, int fd, const char *text)
{
	r->answers++;
	receiver_write(fd, text, strlen(text));
}

static inline void *receiver_work(void *arg)
{
	struct receiver *r = arg;

	while (receiver_wait(r, r->listen)) {
		int fd = accept(r->listen, NULL, NULL);

		if (fd < 0)
			continue;
		r->connections++;
		r->serve(r, fd);
		close(fd);
	}
	return NULL;
}

static inline void receiver_begin(struct receiver *r, void (*serve)(struct receiver *, int))
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);

	*r = (struct receiver){.serve = serve, .listen = socket(AF_INET, SOCK_STREAM, 0)};
	r->stop = eventfd(0, EFD_NONBLOCK);
	pthread_mutex_init(&r->lock, NULL);
	assert_int_equal(bind(r->listen, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(r->listen, 64), 0);
	getsockname(r->listen, (struct sockaddr *)&a, &n);
	r->port = ntohs(a.sin_port);
	assert_int_equal(pthread_create(&r->thread, NULL, receiver_work, r), 0);
}

static inline void receiver_end(struct receiver *r)
{
	eventfd_write(r->stop, 1);
	pthread_join(r->thread, NULL);
	close(r->listen);
	close(r->stop);
	fsc_buf_release(&r->got);
	fsc_buf_release(&r->bodies);
	pthread_mutex_destroy(&r->lock);
}

/* A port at which nobody listens. */
static inline unsigned port_of_nobody(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	getsockname(fd, (struct sockaddr *)&a, &n);
	close(fd);
	return ntohs(a.sin_port);
}

#endif
