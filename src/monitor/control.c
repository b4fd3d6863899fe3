/* Sockets and clients. */
#include "monitor/control_priv.h"

#include <errno.h>
#include <fnmatch.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "base/vec.h"

enum {
	MOST_ACCEPTED = 64, /* in a row: the rest of a flood waits in the kernel */
	LAST_MS = 500,	    /* for all clients to read the rest, at the end */
	LAST_STEP_MS = 10,
	MOST_REQUEST = 64 << 10,
	MOST_WAITING = 4 << 20, /* bytes that a client has not read */
	MOST_UNREAD = 64 << 10, /* beyond this no more requests are read */
};

int fsc_control_new(fsc_control_fn fn, void *arg, struct fsc_control **ret, struct fsc_err *err)
{
	struct fsc_control *c = calloc(1, sizeof(*c));

	if (!c)
		return fsc_err_nomem(err);
	c->fn = fn;
	c->arg = arg;
	c->limits = FSC_CONTROL_LIMITS;
	c->listeners = FSC_VEC_INIT(struct listener);
	c->clients = FSC_VEC_INIT(struct client *);
	*ret = c;
	return 0;
}

void fsc_control_limit(struct fsc_control *c, struct fsc_control_limits limits)
{
	c->limits = limits;
}

static struct client *client_at(const struct fsc_control *c, size_t i)
{
	return *FSC_AT(struct client *, &c->clients, i);
}

static void close_client(struct client *x)
{
	close(x->fd);
	fsc_buf_release(&x->in);
	fsc_buf_release(&x->out);
	json_decref(x->wants);
	free(x);
}

uint64_t fsc_control_dropped(const struct fsc_control *c)
{
	return c->dropped;
}

size_t fsc_control_clients(const struct fsc_control *c)
{
	return c->clients.n;
}

uint64_t fsc_control_refused(const struct fsc_control *c)
{
	return c->refused;
}

uint64_t fsc_control_timed_out(const struct fsc_control *c)
{
	return c->timed_out;
}

/* ---- clients ---- */

/* The socket's mode admits only us and root; this checks the peer as well. */
static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

static bool has_room(const struct fsc_control *c, bool local)
{
	return local ? c->n_local < c->limits.local : c->clients.n - c->n_local < c->limits.remote;
}

/* A subscriber sends nothing: only the kernel notices that its machine is gone. */
static void keep_alive(int fd)
{
	const int on = 1, idle_s = 60, every_s = 20, tries = 3;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
}

static int add_client(struct fsc_control *c, int fd, bool local, struct fsc_err *err)
{
	struct client *x = calloc(1, sizeof(*x));

	if (!x || fsc_vec_add(&c->clients, &x, err)) {
		free(x);
		close(fd);
		return fsc_err_nomem(err);
	}
	*x = (struct client){.fd = fd, .local = local, .since = fsc_clock_mono()};
	c->n_local += local;
	if (!local)
		keep_alive(fd);
	return 0;
}

static int accept_all(struct fsc_control *c, const struct listener *l, struct fsc_err *err)
{
	for (int i = 0; i < MOST_ACCEPTED; i++) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		bool room = has_room(c, l->local);
		int rc;

		if (fd < 0)
			return 0;
		if (!room || (l->local && !is_trusted(fd))) {
			c->refused += !room;
			close(fd);
			continue;
		}
		rc = add_client(c, fd, l->local, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Those who began a request and never end it are idle, too. */
static bool is_idle(const struct fsc_control *c, const struct client *x, uint64_t now)
{
	return !x->local && !x->wants && (double)(now - x->since) > c->limits.idle_s * 1e9;
}

static void flush_client(struct client *x)
{
	while (x->sent < x->out.n && !x->gone) {
		ssize_t n = send(x->fd, x->out.s + x->sent, x->out.n - x->sent, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		x->gone |= n < 0;
		x->sent += n > 0 ? (size_t)n : 0;
	}
	if (x->sent == x->out.n) {
		fsc_buf_clear(&x->out);
		x->sent = 0;
		x->gone |= x->ends && !x->wants;
	} else if (x->sent > MOST_WAITING / 2) {
		memmove(x->out.s, x->out.s + x->sent, x->out.n - x->sent + 1);
		x->out.n -= x->sent;
		x->sent = 0;
	}
}

/* Tells a client how much was dropped, once it reads again. */
static void report_dropped(struct client *x)
{
	if (x->dropped == x->dropped_reported || x->out.n - x->sent > MOST_WAITING / 2)
		return;
	fsc_json_line(&x->out, "dropped");
	fsc_json_uint(&x->out, "count", x->dropped - x->dropped_reported);
	fsc_json_line_end(&x->out);
	x->dropped_reported = x->dropped;
}

/* Queues lines for a client, or drops them if it has too many unread. */
static void send_lines(struct fsc_control *c, struct client *x, const struct fsc_buf *lines)
{
	report_dropped(x);
	if (x->out.n - x->sent + lines->n > MOST_WAITING) {
		x->dropped++;
		c->dropped++;
		return;
	}
	fsc_buf_add(&x->out, lines->s, lines->n);
	x->gone |= fsc_buf_failed(&x->out);
	flush_client(x);
}

/* ---- subscriptions ---- */

/* Whether the subscription has no such array, or one of its patterns matches. */
static bool matches_any(const json_t *wants, const char *key, const char *text)
{
	const json_t *all = json_object_get(wants, key);
	size_t i;
	json_t *one;

	if (!all)
		return true;
	json_array_foreach(all, i, one) if (json_is_string(one) &&
					    !fnmatch(json_string_value(one), text, 0)) return true;
	return false;
}

static bool wants_type(const struct client *x, const char *type)
{
	return x->wants && !x->gone && matches_any(x->wants, "types", type);
}

bool fsc_control_wants(const struct fsc_control *c, const char *type)
{
	for (size_t i = 0; i < c->clients.n; i++)
		if (wants_type(client_at(c, i), type))
			return true;
	return false;
}

static bool wants_pid(const struct client *x, uint32_t pid)
{
	const json_t *all = json_object_get(x->wants, "pids");
	size_t i;
	json_t *one;

	if (!all)
		return true;
	json_array_foreach(all, i, one) if (json_integer_value(one) == (json_int_t)pid) return true;
	return false;
}

static bool wants_call(const struct client *x, const struct fsc_call *call)
{
	return (call->slow && wants_type(x, "slow")) ||
	       (call->event != FSC_CALL_BOTH && wants_type(x, "call"));
}

void fsc_control_call(struct fsc_control *c, const struct fsc_call *call,
		      const struct fsc_buf *line)
{
	for (size_t i = 0; i < c->clients.n; i++) {
		struct client *x = client_at(c, i);

		if (wants_call(x, call) && matches_any(x->wants, "functions", call->func->name) &&
		    matches_any(x->wants, "groups", call->func->group ? call->func->group : "") &&
		    wants_pid(x, call->pid) &&
		    (!call->has_duration || (double)call->duration_ns >= x->min_ns))
			send_lines(c, x, line);
	}
}

static int subscribe_client(struct client *x, json_t *request, struct fsc_buf *b,
			    struct fsc_err *err)
{
	const char *least = json_string_value(json_object_get(request, "min_duration"));
	double min_ns = 0;

	if (least && !fsc_str_duration(least, strlen(least), &min_ns))
		return fsc_err_set(err, EINVAL,
				   "\"min_duration\" of a request must be a duration such as "
				   "\"10ms\" (ns, us, ms, s, m), not \"%.60s\"",
				   least);
	json_decref(x->wants);
	x->wants = json_incref(request);
	x->min_ns = min_ns;
	fsc_json_line(b, "subscribed");
	fsc_json_line_end(b);
	return 0;
}

/* ---- requests ---- */

static int answer_request(struct fsc_control *c, struct client *x, json_t *request,
			  struct fsc_buf *b, struct fsc_err *err)
{
	const char *what = json_string_value(json_object_get(request, "request"));
	int rc;

	if (!what)
		return fsc_err_set(err, EINVAL,
				   "a request is an object with a member \"request\": add, remove, "
				   "list, stats, status, reload or subscribe");
	rc = fsc_control_check(request, what, err);
	if (rc)
		return rc;
	if (!strcmp(what, "subscribe"))
		return subscribe_client(x, request, b, err);
	return c->fn(request, x->local, b, c->arg, err);
}

/* False: it has to wait, and will be handled again. */
static bool handle_line(struct fsc_control *c, struct client *x, const char *line, size_t n)
{
	struct fsc_err err = {0};
	json_error_t why;
	json_t *request = json_loadb(line, n, JSON_REJECT_DUPLICATES, &why);
	struct fsc_buf b = {0};
	int rc = request ? answer_request(c, x, request, &b, &err)
			 : fsc_err_set(&err, EINVAL, "not JSON: %s", why.text);

	if (rc == -EAGAIN) {
		json_decref(request);
		fsc_buf_release(&b);
		return false;
	}
	if (!rc && x->wants != request) {
		fsc_json_line(&b, "done");
		fsc_json_line_end(&b);
	}
	if (err.code) {
		fsc_buf_clear(&b);
		fsc_json_line(&b, "error");
		fsc_json_string(&b, "message", err.msg);
		fsc_json_string_if(&b, "hint", err.hint[0] ? err.hint : NULL);
		fsc_json_line_end(&b);
	}
	json_decref(request);
	/* Answers, unlike events, are never dropped. */
	fsc_buf_add(&x->out, fsc_buf_str(&b), b.n);
	fsc_buf_release(&b);
	flush_client(x);
	return true;
}

/* Handles whole lines; false: the first of the rest has to wait. */
static bool handle_lines(struct fsc_control *c, struct client *x)
{
	char *end;

	while (x->in.n && (end = memchr(x->in.s, '\n', x->in.n))) {
		size_t len = (size_t)(end - x->in.s);

		if (!handle_line(c, x, x->in.s, len))
			return false;
		x->since = fsc_clock_mono();
		x->in.n -= len + 1;
		memmove(x->in.s, end + 1, x->in.n + 1);
	}
	return true;
}

static void read_client(struct fsc_control *c, struct client *x)
{
	char chunk[4096];
	ssize_t n = 1;

	if (!handle_lines(c, x))
		return;
	/* A client that does not read its answers gets no more of them. */
	while (x->out.n - x->sent < MOST_UNREAD && (n = recv(x->fd, chunk, sizeof(chunk), 0)) > 0) {
		fsc_buf_add(&x->in, chunk, (size_t)n);
		if (fsc_buf_failed(&x->in) || x->in.n > MOST_REQUEST) {
			x->gone = true;
			return;
		}
		if (!handle_lines(c, x))
			return;
	}
	if (n == 0) {
		x->ends = true; /* no more requests, but it may still read */
		/* Over TCP there is no way to know whether it does. */
		x->gone |= x->wants && !x->local;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR)
		x->gone = true;
	if (x->ends && !x->wants && x->sent == x->out.n)
		x->gone = true;
}

static bool has_hung_up(const struct client *x)
{
	struct pollfd p = {.fd = x->fd};

	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

static void serve_client(struct fsc_control *c, struct client *x)
{
	if (x->served)
		return; /* its request is being carried out */
	x->served = true;
	if (!x->ends)
		read_client(c, x);
	else
		x->gone |= has_hung_up(x);
	x->served = false;
	report_dropped(x);
	flush_client(x);
	if (!x->gone && is_idle(c, x, fsc_clock_mono())) {
		x->gone = true;
		c->timed_out++;
	}
}

/* Not before all were served: handling a request may send events to all of them. */
static void close_gone_clients(struct fsc_control *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->clients.n; i++) {
		struct client *x = client_at(c, i);

		if (x->gone) {
			c->n_local -= x->local;
			close_client(x);
		} else
			*FSC_AT(struct client *, &c->clients, kept++) = x;
	}
	c->clients.n = kept;
}

int fsc_control_run(struct fsc_control *c, struct fsc_err *err)
{
	int rc = 0;

	c->depth++;
	for (size_t i = 0; !rc && i < c->listeners.n; i++)
		rc = accept_all(c, FSC_AT(struct listener, &c->listeners, i), err);
	for (size_t i = 0; i < c->clients.n; i++)
		serve_client(c, client_at(c, i));
	if (!--c->depth)
		close_gone_clients(c);
	return rc;
}

/* Gives the client time to read the rest; those that do not read share that of all. */
static void drain_client(struct client *x, uint64_t until)
{
	struct pollfd p = {.fd = x->fd, .events = POLLOUT};

	while (!x->gone && (x->sent < x->out.n || x->dropped > x->dropped_reported)) {
		report_dropped(x);
		flush_client(x);
		if (fsc_clock_mono() >= until)
			return;
		if (x->sent < x->out.n)
			poll(&p, 1, LAST_STEP_MS);
	}
}

void fsc_control_free(struct fsc_control *c)
{
	const uint64_t until = fsc_clock_mono() + LAST_MS * 1000000ull;

	if (!c)
		return;
	for (size_t i = 0; i < c->clients.n; i++) {
		drain_client(client_at(c, i), until);
		close_client(client_at(c, i));
	}
	for (size_t i = 0; i < c->listeners.n; i++) {
		struct listener *l = FSC_AT(struct listener, &c->listeners, i);

		close(l->fd);
		if (l->path)
			unlink(l->path);
		free(l->path);
	}
	fsc_vec_release(&c->clients);
	fsc_vec_release(&c->listeners);
	free(c);
}
