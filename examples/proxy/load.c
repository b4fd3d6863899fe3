/* Work for the proxy: starts it with an upstream of our own, sends requests on a few connections,
 * checks every answer, and ends it. One run from the first request to the last, to be compared with
 * another.
 *
 * usage: load PROXY REQUESTS */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONNECTIONS = 4, BUFFER = 16384 };

static const char request[] = "GET /index.html HTTP/1.1\r\n"
			      "Host: localhost\r\n"
			      "User-Agent: load/1\r\n"
			      "Accept: text/html\r\n"
			      "Accept-Encoding: gzip\r\n"
			      "Accept-Language: en\r\n"
			      "Cache-Control: no-cache\r\n"
			      "Cookie: a=1; b=2; c=3\r\n"
			      "Referer: http://localhost/\r\n"
			      "X-Request-Id: 0123456789abcdef\r\n"
			      "X-Forwarded-For: 127.0.0.1\r\n"
			      "X-Something-Else: 1\r\n"
			      "\r\n";
static const char answer[] = "HTTP/1.1 204 No Content\r\n\r\n";

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static bool send_all(int fd, const char *s, size_t n)
{
	return send(fd, s, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* ---- the upstream: an answer for each head ---- */

static void *answer_all(void *arg)
{
	int fd = (int)(long)arg;
	char buffer[BUFFER];
	size_t n = 0;

	for (;;) {
		ssize_t got = recv(fd, buffer + n, sizeof(buffer) - n, 0);
		char *end;

		if (got <= 0)
			break;
		n += (size_t)got;
		while ((end = memmem(buffer, n, "\r\n\r\n", 4))) {
			size_t head = (size_t)(end - buffer) + 4;

			if (!memmem(buffer, head, "\r\nVia: 1.1 example", 18) ||
			    !send_all(fd, answer, sizeof(answer) - 1))
				die("upstream");
			memmove(buffer, buffer + head, n - head);
			n -= head;
		}
	}
	close(fd);
	return NULL;
}

static void *upstream(void *arg)
{
	int listener = (int)(long)arg, one = 1, fd;
	pthread_t t;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (pthread_create(&t, NULL, answer_all, (void *)(long)fd))
			die("upstream");
		pthread_detach(t);
	}
	return NULL;
}

static unsigned start_upstream(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pthread_t t;

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 64) ||
	    getsockname(fd, (struct sockaddr *)&at, &len) ||
	    pthread_create(&t, NULL, upstream, (void *)(long)fd))
		die("upstream");
	return ntohs(at.sin_port);
}

/* ---- the proxy, and its clients ---- */

static pid_t start_proxy(const char *program, unsigned upstream_port, unsigned *port)
{
	char number[16];
	int out[2];
	FILE *f;
	pid_t pid;

	snprintf(number, sizeof(number), "%u", upstream_port);
	if (pipe2(out, O_CLOEXEC) || (pid = fork()) < 0)
		die("proxy");
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		execl(program, program, number, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	f = fdopen(out[0], "r");
	if (!f || fscanf(f, "%u", port) != 1) {
		fprintf(stderr, "'%s' does not start\n", program);
		exit(1);
	}
	return pid;
}

static int connect_to(unsigned port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void expect_answer(int fd)
{
	char buffer[sizeof(answer)];

	if (recv(fd, buffer, sizeof(answer) - 1, MSG_WAITALL) != (ssize_t)sizeof(answer) - 1 ||
	    memcmp(buffer, answer, sizeof(answer) - 1))
		die("the answer is not right");
}

int main(int argc, char **argv)
{
	long n = argc == 3 ? atol(argv[2]) : 0;
	int fd[CONNECTIONS], status;
	unsigned port;
	pid_t pid;

	if (n < 1) {
		fprintf(stderr, "usage: load PROXY REQUESTS\n");
		return 2;
	}
	pid = start_proxy(argv[1], start_upstream(), &port);
	for (int i = 0; i < CONNECTIONS; i++)
		fd[i] = connect_to(port);
	for (long k = 0; k < n; k += CONNECTIONS) {
		for (int i = 0; i < CONNECTIONS; i++)
			if (!send_all(fd[i], request, sizeof(request) - 1))
				die("send");
		for (int i = 0; i < CONNECTIONS; i++)
			expect_answer(fd[i]);
	}
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : 1;
}
