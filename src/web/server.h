/* An HTTP server that answers GET from memory, in the caller's own loop: no thread, no lock.
 * Requests that are slow to come or to be read cost nothing but their connection, of which there
 * are few. */
#ifndef FSC_WEB_SERVER_H
#define FSC_WEB_SERVER_H

#include "base/buf.h"
#include "base/err.h"

struct fsc_server;

struct fsc_request {
	const char *path;   /* "/metrics", without the query */
	const char *accept; /* "" where it was not sent */
};

struct fsc_reply {
	unsigned status;  /* 200 as it comes in */
	const char *type; /* of the body; static, or in the body's buffer for as long */
	struct fsc_buf body;
};

/* Fills the reply; status 404 for a path it does not know. Compression is the server's business. */
typedef void (*fsc_server_fn)(const struct fsc_request *req, struct fsc_reply *reply, void *arg);

/* What it grants its clients. */
struct fsc_server_limits {
	unsigned connections; /* at a time; more of them wait in the kernel */
	unsigned per_ip;      /* of one address; more of them are closed at once */
	unsigned idle_s;      /* a connection on which so long nothing moves is closed */
	unsigned request_s;   /* and so is one that needs longer for a request and its answer */
};
#define FSC_SERVER_LIMITS                                                                          \
	((struct fsc_server_limits){.connections = 64, .per_ip = 16, .idle_s = 10, .request_s = 30})

/* address: "HOST:PORT", "[V6]:PORT", ":PORT" (loopback alone) or "PORT". Where it is loopback, only
 * requests to localhost, 127.0.0.1, [::1] and HOST are answered, so that no web page can have a
 * browser ask under a name of its own. May block while a host's name is looked up. The caller owns
 * *ret. */
int fsc_server_new(const char *address, fsc_server_fn fn, void *arg, struct fsc_server **ret,
		   struct fsc_err *err);
/* The same with other limits than FSC_SERVER_LIMITS. */
int fsc_server_new_limited(const char *address, const struct fsc_server_limits *limits,
			   fsc_server_fn fn, void *arg, struct fsc_server **ret,
			   struct fsc_err *err);
void fsc_server_free(struct fsc_server *s);
/* Readable when there is something to do; then, and a few times a second, fsc_server_run(). */
int fsc_server_fd(const struct fsc_server *s);
void fsc_server_run(struct fsc_server *s);
/* The port it listens on: of use where 0 was asked for. */
unsigned fsc_server_port(const struct fsc_server *s);

#endif
