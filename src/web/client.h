/* One HTTP POST and its answer. Plain HTTP is spoken here; for https libcurl is loaded when it is
 * first needed. Redirects are never followed and proxies of the environment are ignored, so that
 * credentials only go to the configured receiver. */
#ifndef FSC_WEB_CLIENT_H
#define FSC_WEB_CLIENT_H

#include <stddef.h>

#include "base/err.h"
#include "model/snapshot.h"
#include "web/response.h"
#include "web/url.h"

struct fsc_post {
	const struct fsc_url *url;
	const char *path; /* appended to the URL's base */
	const char *type;
	const char *encoding; /* of the body, "gzip"; NULL: none */
	const struct fsc_label *headers;
	size_t n_headers;
	const void *body;
	size_t n;
	const char *ca_file; /* NULL: the system's */
	double timeout_s;    /* for all of it */
	int stop_fd;	     /* readable: give up; -1: none */
};

/* Blocks until the answer is complete, the timeout has passed (ETIMEDOUT) or stop_fd is readable
 * (ECANCELED; over TLS within about a second). Returns 0 for an answer of any status; the caller
 * releases it, also after a failure. With https, SIGPIPE must be blocked or ignored. */
int fsc_post(const struct fsc_post *p, struct fsc_response *ret, struct fsc_err *err);
/* Fails with the reason if this kind of URL cannot be used here. */
int fsc_post_possible(const struct fsc_url *url, struct fsc_err *err);
/* A usage error unless name and value make exactly one header. */
int fsc_post_header_check(const struct fsc_label *header, struct fsc_err *err);

#endif
