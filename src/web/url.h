/* The URL of a receiver, parsed. */
#ifndef FSC_WEB_URL_H
#define FSC_WEB_URL_H

#include <stdbool.h>

#include "base/err.h"

struct fsc_url {
	bool tls;	 /* https */
	char *host;	 /* without brackets */
	char *port;	 /* digits; the scheme's default if none was given */
	char *authority; /* host and port as a Host header has them */
	char *base;	 /* prefix of paths, without a trailing slash; may be "" */
};

/* http://HOST[:PORT][/BASE] or https://…; anything else is a usage error: user and password (those
 * belong in headers), a query, spaces. The caller releases ret, also after a failure. */
int fsc_url_parse(const char *text, struct fsc_url *ret, struct fsc_err *err);
void fsc_url_release(struct fsc_url *u);

#endif
