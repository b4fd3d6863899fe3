/* An HTTP server that answers GET from memory, in the caller's loop: no thread, no lock. A slow
 * client only occupies its connection, and those are limited. */
#ifndef FSC_WEB_SERVER_H
#define FSC_WEB_SERVER_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct fsc_server;

struct fsc_request {
	const char *path;   /* "/metrics", without the query */
	const char *accept; /* "" if it was not sent */
};

struct fsc_reply {
	unsigned status;  /* 200 by default */
	const char *type; /* of the body; static, or in the body's buffer */
	struct fsc_buf body;
};

/* Fills the reply; status 404 for an unknown path. The server compresses it. */
typedef void (*fsc_server_fn)(const struct fsc_request *req, struct fsc_reply *reply, void *arg);

struct fsc_server_limits {
	unsigned connections; /* at a time; more of them wait in the kernel */
	unsigned per_ip;      /* of one address; more of them are closed at once */
	unsigned idle_s;      /* an idle connection is closed after this */
	unsigned request_s;   /* and any after this, for a request and its answer */
};
#define FSC_SERVER_LIMITS                                                                          \
	((struct fsc_server_limits){.connections = 64, .per_ip = 16, .idle_s = 10, .request_s = 30})

struct fsc_server_opts {
	const char *listen;		  /* as for fsc_listen_open() */
	const char *group;		  /* of a Unix socket; NULL: this process's */
	const char *cert_file, *key_file; /* PEM; NULL: without TLS */
	const char *client_ca_file; /* clients need a certificate that these sign; NULL: none */
	const char *token_file;	    /* clients need what is in it as a bearer token; NULL: none */
};

/* On loopback, only requests to localhost, 127.0.0.1, [::1] and the host of opts->listen are
 * answered, against DNS rebinding by web pages. May block while the host is looked up. The caller
 * owns *ret. */
int fsc_server_new(const struct fsc_server_opts *opts, fsc_server_fn fn, void *arg,
		   struct fsc_server **ret, struct fsc_err *err);
/* The same with limits other than FSC_SERVER_LIMITS. */
int fsc_server_new_limited(const struct fsc_server_opts *opts,
			   const struct fsc_server_limits *limits, fsc_server_fn fn, void *arg,
			   struct fsc_server **ret, struct fsc_err *err);
void fsc_server_free(struct fsc_server *s);
/* Reads the files of opts, and fails if the server could not use them. */
int fsc_server_check(const struct fsc_server_opts *opts, struct fsc_err *err);
/* Takes over what opts say, but for the address, and reads the files again: a renewed certificate
 * is for all connections from then on. fsc_server_fd() may change. A failure changes nothing. */
int fsc_server_renew(struct fsc_server *s, const struct fsc_server_opts *opts, struct fsc_err *err);
/* Call fsc_server_run() when it is readable, and a few times a second. */
int fsc_server_fd(const struct fsc_server *s);
void fsc_server_run(struct fsc_server *s);
/* The port it listens on, if 0 was requested; 0: a Unix socket. */
unsigned fsc_server_port(const struct fsc_server *s);
/* Requests without the token. */
uint64_t fsc_server_refused(const struct fsc_server *s);

#endif
