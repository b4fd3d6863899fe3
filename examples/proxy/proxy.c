/* A small proxy: one thread, one event loop. Takes requests in the manner of HTTP/1.1 (a head, no
 * body), looks at their headers, passes them on to the upstream with a "via" line added, and hands
 * the answers back. Each client connection has an upstream connection of its own.
 *
 * Every turn of the loop is timed in stages (laps), so that they add up to it. Compiled with -DFAST
 * the headers are told apart by length and first letter before they are compared: the change that
 * the example measures.
 *
 * usage: proxy UPSTREAM_PORT      prints the port it listens on; SIGTERM ends it */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "funcscope.h"

enum { MOST_FDS = 1024, BUFFER = 16384 };

/* One end of a pair of connections. */
struct end {
	int fd, other;
	bool client;
	size_t n;
	char bytes[BUFFER];
};

static struct end *ends[MOST_FDS];
static volatile sig_atomic_t stop;

/* ---- headers ---- */

static const char *const known[] = {
    "Accept",
    "Accept-Charset",
    "Accept-Encoding",
    "Accept-Language",
    "Authorization",
    "Cache-Control",
    "Connection",
    "Content-Length",
    "Content-Type",
    "Cookie",
    "Date",
    "Expect",
    "Forwarded",
    "From",
    "Host",
    "If-Match",
    "If-Modified-Since",
    "If-None-Match",
    "Keep-Alive",
    "Origin",
    "Pragma",
    "Range",
    "Referer",
    "TE",
    "Transfer-Encoding",
    "Upgrade",
    "User-Agent",
    "Via",
    "X-Forwarded-For",
    "X-Request-Id",
};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };

static size_t seen[KNOWN + 1];

#ifdef FAST

/* The known names, by length. */
static struct {
	unsigned char at[8], n;
} by_length[32];

static void prepare(void)
{
	for (unsigned i = 0; i < KNOWN; i++) {
		unsigned len = (unsigned)strlen(known[i]);

		by_length[len].at[by_length[len].n++] = (unsigned char)i;
	}
}

static int header_id(const char *name, size_t len)
{
	if (len >= 32)
		return KNOWN;
	for (unsigned i = 0; i < by_length[len].n; i++) {
		unsigned id = by_length[len].at[i];

		if ((known[id][0] | 32) == (name[0] | 32) && !strncasecmp(known[id], name, len))
			return (int)id;
	}
	return KNOWN;
}

#else

static void prepare(void)
{
}

static int header_id(const char *name, size_t len)
{
	for (int i = 0; i < KNOWN; i++)
		if (!strncasecmp(known[i], name, len) && !known[i][len])
			return i;
	return KNOWN;
}

#endif

/* Where the head ends, 0 where it does not yet. */
static size_t head_length(const char *s, size_t n)
{
	const char *end = memmem(s, n, "\r\n\r\n", 4);

	return end ? (size_t)(end - s) + 4 : 0;
}

static void parse_head(const char *s, size_t n)
{
	const char *end = s + n, *line = memchr(s, '\n', n);

	while (line && ++line < end) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		const char *colon = memchr(line, ':', (size_t)((next ? next : end) - line));

		if (colon)
			seen[header_id(line, (size_t)(colon - line))]++;
		line = next;
	}
}

/* ---- connections ---- */

static void close_pair(struct end *e)
{
	int other = e->other;

	ends[e->fd] = NULL;
	close(e->fd);
	free(e);
	if (other >= 0 && ends[other]) {
		ends[other]->other = -1;
		close_pair(ends[other]);
	}
}

static struct end *add_end(int epoll, int fd, bool client)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
	struct end *e = fd >= 0 && fd < MOST_FDS ? calloc(1, sizeof(*e)) : NULL;
	int one = 1;

	if (!e || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev)) {
		free(e);
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	*e = (struct end){.fd = fd, .other = -1, .client = client};
	ends[fd] = e;
	return e;
}

static void accept_client(int epoll, int listener, const struct sockaddr_in *to)
{
	struct end *client = add_end(epoll, accept4(listener, NULL, NULL, SOCK_CLOEXEC), true);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct end *upstream;

	if (!client || connect(fd, (const struct sockaddr *)to, sizeof(*to))) {
		close(fd);
		if (client)
			close_pair(client);
		return;
	}
	upstream = add_end(epoll, fd, false);
	if (!upstream) {
		close_pair(client);
		return;
	}
	client->other = upstream->fd;
	upstream->other = client->fd;
}

static bool send_all(int fd, const char *s, size_t n)
{
	while (n) {
		ssize_t sent = send(fd, s, n, MSG_NOSIGNAL);

		if (sent < 0)
			return false;
		s += sent;
		n -= (size_t)sent;
	}
	return true;
}

/* Passes on what is whole: an answer as it comes, a request with its line added. */
static bool pass_on(struct end *e, uint64_t *laps)
{
	static const char via[] = "Via: 1.1 example\r\n\r\n";
	size_t n;

	if (!e->client) {
		bool ok = send_all(e->other, e->bytes, e->n);

		e->n = 0;
		FUNCSCOPE_LAP(*laps, "answer");
		return ok;
	}
	while ((n = head_length(e->bytes, e->n))) {
		FUNCSCOPE_LAP(*laps, "find the end");
		parse_head(e->bytes, n);
		FUNCSCOPE_LAP(*laps, "parse headers");
		if (!send_all(e->other, e->bytes, n - 2) ||
		    !send_all(e->other, via, sizeof(via) - 1))
			return false;
		memmove(e->bytes, e->bytes + n, e->n - n);
		e->n -= n;
		FUNCSCOPE_LAP(*laps, "request");
	}
	return e->n < BUFFER;
}

static void serve(struct end *e, uint64_t *laps)
{
	ssize_t n = recv(e->fd, e->bytes + e->n, BUFFER - e->n, 0);

	FUNCSCOPE_LAP(*laps, "receive");
	if (n > 0)
		e->n += (size_t)n;
	if (n <= 0 || e->other < 0 || !pass_on(e, laps))
		close_pair(e);
}

/* ---- the loop ---- */

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static int listen_anywhere(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 64) ||
	    getsockname(fd, (struct sockaddr *)&at, &len))
		return -1;
	printf("%u\n", (unsigned)ntohs(at.sin_port));
	fflush(stdout);
	return fd;
}

static void loop(int epoll, int listener, const struct sockaddr_in *upstream)
{
	struct epoll_event ev[64];

	while (!stop) {
		int n = epoll_wait(epoll, ev, 64, -1);

		FUNCSCOPE_LAPS(laps);
		for (int i = 0; i < n; i++) {
			int fd = ev[i].data.fd;

			if (fd == listener)
				accept_client(epoll, listener, upstream);
			else if (ends[fd])
				serve(ends[fd], &laps);
			FUNCSCOPE_RESTART(laps);
		}
		funcscope_server_poll_and_send_fd();
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in upstream = {.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sigaction on = {.sa_handler = on_term};
	struct epoll_event ev = {.events = EPOLLIN};
	int epoll = epoll_create1(EPOLL_CLOEXEC), listener;

	if (argc != 2 || epoll < 0) {
		fprintf(stderr, "usage: proxy UPSTREAM_PORT\n");
		return 2;
	}
	if (!funcscope_caller_initialize(1, FS_NORMAL))
		perror("funcscope");
	upstream.sin_port = htons((uint16_t)atoi(argv[1]));
	sigaction(SIGTERM, &on, NULL);
	prepare();
	listener = listen_anywhere();
	ev.data.fd = listener;
	if (listener < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &ev)) {
		perror("proxy");
		return 1;
	}
	loop(epoll, listener, &upstream);
	funcscope_caller_cleanup();
	return 0;
}
