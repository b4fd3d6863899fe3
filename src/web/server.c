/* libmicrohttpd without threads: the caller's loop watches its epoll descriptor. Added here is what
 * untrusted clients require: limits on connections and their time, an allow-list of host names,
 * methods; and compression. */
#include "web/server.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "web/gnutls.h"
#include "web/gzip.h"
#include "web/listen.h"
#include "web/secrets.h"

enum { LEAST_TO_COMPRESS = 1024, ROUNDS = 256 };

struct client {
	int fd; /* libmicrohttpd's; -1: unused */
	uint64_t since;
	bool shut;
	bool verified; /* the handshake fails without a certificate that is good */
};

struct fsc_server {
	struct MHD_Daemon *daemon;
	int epoll; /* the daemon's */
	fsc_server_fn fn;
	void *arg;
	struct fsc_server_limits limits;
	struct fsc_listen at;
	struct fsc_secrets secrets;
	uint64_t refused;
	struct client *clients;
};

/* ---- clients ---- */

static bool require_certificate(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *of =
	    MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	return of && fsc_gnutls_require_certificate(of->tls_session);
}

static void note_client(struct fsc_server *s, struct MHD_Connection *c, void **context)
{
	const union MHD_ConnectionInfo *at =
	    MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

	*context = NULL;
	for (unsigned i = 0; at && i < s->limits.connections; i++) {
		if (s->clients[i].fd >= 0)
			continue;
		s->clients[i] = (struct client){.fd = at->connect_fd, .since = fsc_clock_mono()};
		s->clients[i].verified = s->secrets.client_ca && require_certificate(c);
		*context = &s->clients[i];
		return;
	}
}

static void on_connection(void *arg, struct MHD_Connection *c, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct client *client = *context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		note_client(arg, c, context);
	else if (client)
		client->fd = -1;
}

static struct client *client_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *of =
	    MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return of ? of->socket_context : NULL;
}

static void on_completed(void *arg, struct MHD_Connection *c, void **context,
			 enum MHD_RequestTerminationCode why)
{
	struct client *client = client_of(c);

	(void)arg, (void)context, (void)why;
	if (client)
		client->since = fsc_clock_mono();
}

/* libmicrohttpd only has an idle timeout: a byte now and then would keep a connection forever. */
static void close_overdue_clients(struct fsc_server *s)
{
	uint64_t now = fsc_clock_mono(), most = (uint64_t)s->limits.request_s * 1000000000u;

	for (unsigned i = 0; i < s->limits.connections; i++) {
		struct client *c = &s->clients[i];

		if (c->fd < 0 || c->shut || now - c->since < most)
			continue;
		shutdown(c->fd, SHUT_RDWR);
		c->shut = true;
	}
}

/* ---- requests ---- */

static const char *request_header(struct MHD_Connection *c, const char *name)
{
	const char *v = MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);

	return v ? v : "";
}

/* Whether s is the name, optionally with a port. */
static bool names_host(const char *s, const char *name)
{
	size_t n = strlen(name);

	if (strncasecmp(s, name, n))
		return false;
	s += n;
	return !*s || (*s == ':' && strspn(s + 1, "0123456789") == strlen(s + 1));
}

static bool host_allowed(const struct fsc_server *s, const char *host)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

	if (!s->at.loopback)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names_host(host, names[i]))
			return true;
	return names_host(host, s->at.host);
}

/* The weight of a coding, "; q=0.5"; 1 by default. */
static double coding_weight(const char *s, size_t n)
{
	const char *q = memmem(s, n, "q=", 2);

	return q ? strtod(q + 2, NULL) : 1;
}

/* Whether a list of codings ("deflate, gzip;q=0.5") has gzip in it. */
static bool wants_gzip(const char *list)
{
	while (*list) {
		size_t n, name;

		list += strspn(list, " \t");
		n = strcspn(list, ",");
		name = strcspn(list, " \t;,");
		if ((name == 4 && !strncasecmp(list, "gzip", 4)) || (name == 1 && list[0] == '*'))
			return coding_weight(list + name, n - name) > 0;
		list += n + (list[n] == ',');
	}
	return false;
}

/* Compresses the body if the client accepts it and it is long enough. */
static bool compress_body(struct MHD_Connection *c, struct fsc_buf *body)
{
	struct fsc_buf packed = {0};

	if (body->n <= LEAST_TO_COMPRESS ||
	    !wants_gzip(request_header(c, MHD_HTTP_HEADER_ACCEPT_ENCODING)))
		return false;
	if (!fsc_gzip(body->s, body->n, &packed)) {
		fsc_buf_release(&packed);
		return false;
	}
	fsc_buf_release(body);
	*body = packed;
	return true;
}

/* Hands the body over to libmicrohttpd. */
static enum MHD_Result send_reply(struct MHD_Connection *c, struct fsc_reply *reply)
{
	bool packed = compress_body(c, &reply->body);
	struct MHD_Response *r = MHD_create_response_from_buffer(
	    reply->body.n, reply->body.s ? reply->body.s : (char *)"",
	    reply->body.s ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	enum MHD_Result rc;

	if (!r) {
		fsc_buf_release(&reply->body);
		return MHD_NO;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, reply->type);
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding");
	if (packed)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	if (reply->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (reply->status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
					"Bearer realm=\"funcscope\"");
	rc = MHD_queue_response(c, reply->status, r);
	MHD_destroy_response(r);
	return rc;
}

static enum MHD_Result send_error(struct MHD_Connection *c, unsigned status, const char *why)
{
	struct fsc_reply reply = {.status = status, .type = "text/plain; charset=utf-8"};

	fsc_buf_puts(&reply.body, why);
	return send_reply(c, &reply);
}

/* The handshake has checked certificates already; this is in case it could not be told to. */
static bool is_verified(const struct fsc_server *s, struct MHD_Connection *c)
{
	const struct client *client = client_of(c);

	return !s->secrets.client_ca || (client && client->verified);
}

static enum MHD_Result answer_request(struct fsc_server *s, struct MHD_Connection *c,
				      const char *path)
{
	struct fsc_request req = {.path = path,
				  .accept = request_header(c, MHD_HTTP_HEADER_ACCEPT)};
	struct fsc_reply reply = {.status = MHD_HTTP_OK, .type = "text/plain; charset=utf-8"};
	char type[160];

	s->fn(&req, &reply, s->arg);
	/* It may point into the body, which is about to be compressed. */
	snprintf(type, sizeof(type), "%s", reply.type);
	reply.type = type;
	if (!fsc_buf_failed(&reply.body))
		return send_reply(c, &reply);
	fsc_buf_release(&reply.body);
	return send_error(c, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *path,
				  const char *method, const char *version, const char *upload,
				  size_t *n_upload, void **context)
{
	struct fsc_server *s = arg;

	(void)version, (void)upload;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return send_error(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD work here\n");
	/* Answering the first call, before a body could arrive, would close the connection. */
	if (!*context) {
		*context = s;
		return MHD_YES;
	}
	if (*n_upload) {
		*n_upload = 0;
		return MHD_YES;
	}
	if (!host_allowed(s, request_header(c, MHD_HTTP_HEADER_HOST)))
		return send_error(
		    c, MHD_HTTP_FORBIDDEN,
		    "this server is for this machine only, and answers only to its local names\n");
	if (!is_verified(s, c))
		return send_error(c, MHD_HTTP_FORBIDDEN, "this page needs a certificate\n");
	if (!fsc_secrets_admit(&s->secrets, request_header(c, MHD_HTTP_HEADER_AUTHORIZATION))) {
		s->refused++;
		return send_error(c, MHD_HTTP_UNAUTHORIZED,
				  "this page needs a token: Authorization: Bearer TOKEN\n");
	}
	return answer_request(s, c, path);
}

/* ---- life ---- */

/* Whoever listens for others is told what they can see. */
static void warn_if_open(const struct fsc_server *s, const char *address)
{
	if (s->at.loopback || s->at.path[0])
		return;
	if (!s->secrets.token && !s->secrets.client_ca)
		fsc_log(FSC_LOG_WARN,
			"anyone who can reach %s can read the metrics: it asks for neither a token "
			"nor a certificate",
			address);
	else if (!s->secrets.cert)
		fsc_log(FSC_LOG_WARN,
			"the token for %s is sent unencrypted: there is no certificate for TLS",
			address);
}

/* TLS 1.0 and 1.1 are deprecated (RFC 8996). */
static const char priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

static struct MHD_Daemon *start_on(struct fsc_server *s, int fd, const struct fsc_secrets *secrets)
{
	const struct fsc_server_limits *l = &s->limits;
	struct MHD_OptionItem tls[] = {
	    {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)priorities},
	    {MHD_OPTION_HTTPS_MEM_KEY, 0, secrets->key},
	    {MHD_OPTION_HTTPS_MEM_CERT, 0, secrets->cert},
	    {secrets->client_ca ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0,
	     secrets->client_ca},
	    {MHD_OPTION_END, 0, NULL},
	};

	return MHD_start_daemon(
	    MHD_USE_EPOLL | (secrets->cert ? MHD_USE_TLS : 0), 0, NULL, NULL, on_request, s,
	    MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, l->connections,
	    MHD_OPTION_PER_IP_CONNECTION_LIMIT, l->per_ip, MHD_OPTION_CONNECTION_TIMEOUT, l->idle_s,
	    MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_NOTIFY_COMPLETED,
	    on_completed, s, MHD_OPTION_ARRAY, secrets->cert ? tls : &tls[4], MHD_OPTION_END);
}

/* Not the listening socket, which belongs to the server: shutting that down would end it for a
 * daemon that took over, too. */
static void stop_daemon(struct MHD_Daemon *d)
{
	int fd;

	if (!d)
		return;
	fd = MHD_quiesce_daemon(d);
	MHD_stop_daemon(d);
	fsc_closep(&fd);
}

/* On the server's socket, in the place of the daemon before. Takes over the secrets. */
static int start_daemon(struct fsc_server *s, struct fsc_secrets *secrets, struct fsc_err *err)
{
	FSC_AUTO(fsc_closep) int fd = fcntl(s->at.fd, F_DUPFD_CLOEXEC, 0);
	struct MHD_Daemon *d = fd >= 0 ? start_on(s, fd, secrets) : NULL;
	const union MHD_DaemonInfo *info =
	    d ? MHD_get_daemon_info(d, MHD_DAEMON_INFO_EPOLL_FD) : NULL;

	if (!d)
		return fsc_err_set(err, ENOMEM, "cannot start the server");
	fsc_take_fd(&fd); /* the daemon's */
	if (!info || info->epoll_fd < 0) {
		stop_daemon(d);
		return fsc_err_set(err, ENOTSUP, "libmicrohttpd on this machine has no epoll");
	}
	stop_daemon(s->daemon);
	fsc_secrets_release(&s->secrets);
	s->daemon = d;
	s->epoll = info->epoll_fd;
	s->secrets = *secrets;
	*secrets = (struct fsc_secrets){0};
	return 0;
}

int fsc_server_check(const struct fsc_server_opts *opts, struct fsc_err *err)
{
	FSC_AUTO(fsc_secrets_release) struct fsc_secrets secrets;

	return fsc_secrets_read(opts, &secrets, err);
}

int fsc_server_renew(struct fsc_server *s, const struct fsc_server_opts *opts, struct fsc_err *err)
{
	FSC_AUTO(fsc_secrets_release) struct fsc_secrets fresh;
	int rc = fsc_secrets_read(opts, &fresh, err);

	if (!rc && opts->group)
		rc = fsc_listen_group(&s->at, opts->group, err);
	if (rc || fsc_secrets_same(&fresh, &s->secrets))
		return rc;
	rc = start_daemon(s, &fresh, err);
	if (!rc)
		warn_if_open(s, opts->listen);
	return rc;
}

static void server_freep(struct fsc_server **s)
{
	fsc_server_free(*s);
}

int fsc_server_new_limited(const struct fsc_server_opts *opts,
			   const struct fsc_server_limits *limits, fsc_server_fn fn, void *arg,
			   struct fsc_server **ret, struct fsc_err *err)
{
	FSC_AUTO(server_freep) struct fsc_server *s = calloc(1, sizeof(*s));
	FSC_AUTO(fsc_secrets_release) struct fsc_secrets secrets = {0};
	int rc;

	if (!s)
		return fsc_err_nomem(err);
	*s = (struct fsc_server){.epoll = -1, .fn = fn, .arg = arg, .limits = *limits};
	s->at.fd = -1;
	s->clients = calloc(limits->connections, sizeof(*s->clients));
	if (!s->clients)
		return fsc_err_nomem(err);
	for (unsigned i = 0; i < limits->connections; i++)
		s->clients[i].fd = -1;
	rc = fsc_secrets_read(opts, &secrets, err);
	if (!rc)
		rc = fsc_listen_open(opts->listen, &s->at, err);
	if (!rc && opts->group)
		rc = fsc_listen_group(&s->at, opts->group, err);
	if (!rc)
		rc = start_daemon(s, &secrets, err);
	if (rc)
		return rc;
	warn_if_open(s, opts->listen);
	*ret = fsc_take(&s);
	return 0;
}

int fsc_server_new(const struct fsc_server_opts *opts, fsc_server_fn fn, void *arg,
		   struct fsc_server **ret, struct fsc_err *err)
{
	return fsc_server_new_limited(opts, &FSC_SERVER_LIMITS, fn, arg, ret, err);
}

void fsc_server_free(struct fsc_server *s)
{
	if (!s)
		return;
	stop_daemon(s->daemon);
	fsc_listen_close(&s->at);
	fsc_secrets_release(&s->secrets);
	free(s->clients);
	free(s);
}

int fsc_server_fd(const struct fsc_server *s)
{
	return s->epoll;
}

void fsc_server_run(struct fsc_server *s)
{
	MHD_UNSIGNED_LONG_LONG wait;

	close_overdue_clients(s);
	/* Its internal list of ready connections is not visible to epoll. */
	for (int i = 0; i < ROUNDS; i++) {
		MHD_run(s->daemon);
		if (MHD_get_timeout(s->daemon, &wait) != MHD_YES || wait)
			return;
	}
}

unsigned fsc_server_port(const struct fsc_server *s)
{
	return s->at.port;
}

uint64_t fsc_server_refused(const struct fsc_server *s)
{
	return s->refused;
}
