/* One HTTP POST and its answer. Plain HTTP is spoken here; for https libcurl is loaded when it is
 * first needed, where there is one. No redirect is ever followed: credentials go where they were
 * meant to go or nowhere; proxies named in the environment are left alone for the same reason. */
#ifndef FSC_WEB_CLIENT_H
#define FSC_WEB_CLIENT_H

#include <stddef.h>

#include "base/err.h"
#include "model/snapshot.h"
#include "web/response.h"
#include "web/url.h"

struct fsc_post {
	const struct fsc_url *url;
	const char *path; /* put behind the URL's base */
	const char *type;
	const char *encoding; /* of the body, "gzip"; NULL: none */
	const struct fsc_label *headers;
	size_t n_headers;
	const void *body;
	size_t n;
	const char *ca_file; /* NULL: the system's */
	double timeout_s;    /* for all of it */
	int stop_fd;	     /* readable: give up; -1: nothing makes it */
};

/* Blocks until the answer is there, time is over (ETIMEDOUT) or stop_fd says so (ECANCELED; over
 * TLS within about a second). Whatever status it is, an answer is 0; the caller releases it, also
 * after a failure. With https, SIGPIPE must be blocked or ignored. */
int fsc_post(const struct fsc_post *p, struct fsc_response *ret, struct fsc_err *err);
/* Whether a URL of this kind can be used here; the reason if not. */
int fsc_post_possible(const struct fsc_url *url, struct fsc_err *err);
/* Whether name and value can be a header and nothing but one. A usage error if not. */
int fsc_post_header_check(const struct fsc_label *header, struct fsc_err *err);

#endif
