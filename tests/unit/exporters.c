/* Writes a snapshot whose numbers are known in every format that is sent to others, for the
 * programs that read them (tests/e2e/exporters.bats).
 *
 *   exporters DIR      all formats, a file each
 *   exporters serve    an HTTP server on a free port of the loopback, which it prints; it answers
 * with the page that the Accept header asks for, until its standard input ends */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <err.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "sink/alerts.h"
#include "sink/otlp.h"
#include "sink/prometheus.h"
#include "snapshots.h"

enum { FOLDED = 5 };

static struct fsc_latencies latencies;
static struct fsc_noted_call noted[3];
static struct fsc_snapshot snap;

/* As of now: receivers do not like the past. */
static void make_snapshot(void)
{
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_REALTIME, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	latencies = snap_latencies(FSC_BY_PID);
	for (uint32_t i = 0; i < FOLDED; i++) {
		struct fsc_latency *row = snap_row(&latencies, 0, 100 + i, "folded");

		row->folded = true;
		keep(row->slot, 1000 * i); /* one of no duration */
	}
	snap = snapshot(&latencies);
	memcpy(noted, snap_noted, sizeof(noted));
	for (size_t i = 0; i < 3; i++)
		noted[i].wall_ns = now - (SNAP_NOW - snap_noted[i].wall_ns);
	snap.noted = noted;
	snap.time_ns = now;
	snap.start_ns = now - 60000000000;
}

/* ---- files ---- */

static void save(const char *dir, const char *name, struct fsc_buf *b)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f || fsc_buf_failed(b) || fwrite(b->s, 1, b->n, f) != b->n || fclose(f))
		err(1, "%s", path);
	fsc_buf_release(b);
}

static void save_all(const char *dir)
{
	static const char *const pages[] = {"metrics.txt", "metrics.om", "metrics.pb"};
	struct fsc_buf b = {0};

	for (int f = FSC_PROMETHEUS_TEXT; f <= FSC_PROMETHEUS_PROTOBUF; f++) {
		fsc_prometheus_write(&snap, f, &b);
		save(dir, pages[f], &b);
	}
	for (int json = 0; json < 2; json++) {
		fsc_otlp_metrics(&snap, json, &b);
		save(dir, json ? "metrics.otlp.json" : "metrics.otlp.pb", &b);
		fsc_otlp_logs(&snap, noted, 3, json, &b);
		save(dir, json ? "logs.otlp.json" : "logs.otlp.pb", &b);
		fsc_otlp_spans(&snap, noted, 3, json, &b);
		save(dir, json ? "trace.otlp.json" : "trace.otlp.pb", &b);
	}
	fsc_alerts_write(noted, 3, &snap, 300, &b);
	save(dir, "alerts.json", &b);
}

/* ---- the server ---- */

/* A GET has no body: it ends with an empty line. */
static void read_request(int fd, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	while (n + 1 < size && !strstr(buf, "\r\n\r\n")) {
		ssize_t got = read(fd, buf + n, size - 1 - n);

		if (got <= 0)
			return;
		n += (size_t)got;
		buf[n] = '\0';
	}
}

static void answer(int fd)
{
	struct fsc_buf body = {0}, head = {0};
	char request[8192], *accept;
	enum fsc_prometheus_format f;

	read_request(fd, request, sizeof(request));
	accept = strcasestr(request, "\r\nAccept:");
	if (accept) {
		accept += strlen("\r\nAccept:");
		accept[strcspn(accept, "\r\n")] = '\0';
	}
	f = fsc_prometheus_choose(accept);
	fsc_prometheus_write(&snap, f, &body);
	fsc_buf_printf(&head,
		       "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		       "Connection: close\r\n\r\n",
		       fsc_prometheus_type(f), body.n);
	if (send(fd, head.s, head.n, MSG_NOSIGNAL) < 0 ||
	    send(fd, body.s, body.n, MSG_NOSIGNAL) < 0)
		warn("a scraper went away");
	fsc_buf_release(&head);
	fsc_buf_release(&body);
	close(fd);
}

static void serve(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.events = POLLIN}};
	socklen_t len = sizeof(at);

	fds[1].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fds[1].fd < 0 || bind(fds[1].fd, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(fds[1].fd, 8) || getsockname(fds[1].fd, (struct sockaddr *)&at, &len))
		err(1, "cannot listen");
	printf("%u\n", ntohs(at.sin_port));
	fflush(stdout);
	while (poll(fds, 2, -1) > 0 && !fds[0].revents) {
		int fd = accept(fds[1].fd, NULL, NULL);

		if (fd >= 0)
			answer(fd);
	}
	close(fds[1].fd);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: exporters DIR|serve");
	make_snapshot();
	if (strcmp(argv[1], "serve") != 0)
		save_all(argv[1]);
	else
		serve();
	fsc_latencies_release(&latencies);
	return 0;
}
