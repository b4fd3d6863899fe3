/* A POST over TCP: look up, connect, write and read at the same time (a receiver may answer before
 * it has read everything), with one deadline for all of it. */
#include "web/client.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "web/resolve.h"
#include "web/tls.h"
#include "web/wait.h"

/* ---- connecting ---- */

/* A descriptor, or a negative errno. */
static int dial_address(const struct addrinfo *ai, const struct fsc_deadline *p)
{
	FSC_AUTO(fsc_closep)
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size = sizeof(int);
	int rc, code = 0;

	if (fd < 0)
		return -errno;
	if (!connect(fd, ai->ai_addr, ai->ai_addrlen))
		return fsc_take_fd(&fd);
	if (errno != EINPROGRESS)
		return -errno;
	rc = fsc_wait(fd, POLLOUT, p);
	if (rc < 0)
		return rc;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size))
		return -errno;
	return code ? -code : fsc_take_fd(&fd);
}

/* Tries the addresses in order; each gets its share of the remaining time. */
static int connect_any(const struct addrinfo *list, const struct fsc_deadline *p)
{
	uint64_t n = 0;
	int fd = -EHOSTUNREACH;

	for (const struct addrinfo *ai = list; ai; ai = ai->ai_next)
		n++;
	for (const struct addrinfo *ai = list; ai; ai = ai->ai_next, n--) {
		uint64_t now = fsc_clock_mono();
		uint64_t left = now < p->until ? p->until - now : 0;
		struct fsc_deadline share = {.until = now + left / n, .stop_fd = p->stop_fd};

		fd = dial_address(ai, &share);
		if (fd >= 0 || fd == -ECANCELED)
			return fd;
	}
	return fd;
}

static int connect_to(const struct fsc_url *u, const struct fsc_deadline *p, struct fsc_err *err)
{
	FSC_AUTO(fsc_freeaddrinfop) struct addrinfo *list = NULL;
	int rc = fsc_resolve(u->host, u->port, p, &list, err);

	if (rc)
		return rc;
	rc = connect_any(list, p);
	return rc < 0 ? fsc_err_sys(err, -rc, "cannot connect to %s", u->authority) : rc;
}

/* ---- talking ---- */

static void write_head(const struct fsc_post *p, struct fsc_buf *b)
{
	fsc_buf_printf(b, "POST %s%s HTTP/1.1\r\n", p->url->base, p->path);
	fsc_buf_printf(b, "Host: %s\r\nUser-Agent: funcscope/%s\r\n", p->url->authority,
		       FSC_VERSION);
	fsc_buf_printf(b, "Content-Type: %s\r\nContent-Length: %zu\r\n", p->type, p->n);
	if (p->encoding)
		fsc_buf_printf(b, "Content-Encoding: %s\r\n", p->encoding);
	for (size_t i = 0; i < p->n_headers; i++)
		fsc_buf_printf(b, "%s: %s\r\n", p->headers[i].name, p->headers[i].value);
	fsc_buf_puts(b, "Connection: close\r\n\r\n");
}

/* What remains to be written: the head, then the body. */
struct output {
	const char *bytes[2];
	size_t n[2];
};

/* Writes as much as fits. A write error is ignored: the receiver may have answered already. */
static void write_some(int fd, struct output *o)
{
	for (int i = 0; i < 2; i++) {
		while (o->n[i]) {
			ssize_t n = send(fd, o->bytes[i], o->n[i], MSG_NOSIGNAL);

			if (n < 0 && (errno == EAGAIN || errno == EINTR))
				return;
			if (n < 0) {
				*o = (struct output){0};
				return;
			}
			o->bytes[i] += n;
			o->n[i] -= (size_t)n;
		}
	}
}

/* 1: the answer is complete, 0: not yet, negative: it failed. */
static int read_some(int fd, struct fsc_response *a, struct fsc_err *err)
{
	char piece[16384];
	ssize_t n = recv(fd, piece, sizeof(piece), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return fsc_err_sys(err, errno, "cannot read the answer");
	if (n)
		return fsc_response_feed(a, piece, (size_t)n, err);
	return fsc_response_end(a, err) ? -EBADMSG : 1;
}

static int exchange_messages(int fd, struct output *o, const struct fsc_deadline *p,
			     struct fsc_response *a, struct fsc_err *err)
{
	int rc = 0;

	while (!rc) {
		bool more = o->n[0] || o->n[1];
		int events = fsc_wait(fd, (short)(POLLIN | (more ? POLLOUT : 0)), p);

		if (events == -ETIMEDOUT)
			return fsc_err_set(err, ETIMEDOUT, "no answer in time%s",
					   more ? ", and not all of the message was read" : "");
		if (events < 0)
			return fsc_err_sys(err, -events, "cannot wait for the answer");
		if (events & POLLOUT)
			write_some(fd, o);
		if (events & ~POLLOUT)
			rc = read_some(fd, a, err);
	}
	return rc < 0 ? rc : 0;
}

static int post_plainly(const struct fsc_post *p, const struct fsc_deadline *deadline,
			struct fsc_response *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf head = {0};
	FSC_AUTO(fsc_closep) int fd = -1;

	write_head(p, &head);
	if (fsc_buf_failed(&head))
		return fsc_err_nomem(err);
	fd = connect_to(p->url, deadline, err);
	if (fd < 0)
		return fd;
	return exchange_messages(fd, &(struct output){{head.s, p->body}, {head.n, p->n}}, deadline,
				 ret, err);
}

int fsc_post(const struct fsc_post *p, struct fsc_response *ret, struct fsc_err *err)
{
	struct fsc_deadline deadline = {.until = fsc_clock_mono() + (uint64_t)(p->timeout_s * 1e9),
					.stop_fd = p->stop_fd};

	fsc_response_init(ret);
	if (p->url->tls)
		return fsc_tls_post(p, &deadline, ret, err);
	return post_plainly(p, &deadline, ret, err);
}

int fsc_post_possible(const struct fsc_url *url, struct fsc_err *err)
{
	return url->tls ? fsc_tls_possible(err) : 0;
}

int fsc_post_header_check(const struct fsc_label *header, struct fsc_err *err)
{
	static const char token[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (!header->name[0] || header->name[strspn(header->name, token)])
		return fsc_err_usage(err, "'%s' is not the name of an HTTP header", header->name);
	for (const unsigned char *c = (const unsigned char *)header->value; *c; c++)
		if ((*c < ' ' && *c != '\t') || *c == 127)
			return fsc_err_usage(err, "header '%s' has a control character in it",
					     header->name);
	return 0;
}
