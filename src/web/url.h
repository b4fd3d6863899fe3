/* The URL of a receiver, taken apart. */
#ifndef FSC_WEB_URL_H
#define FSC_WEB_URL_H

#include <stdbool.h>

#include "base/err.h"

struct fsc_url {
	bool tls;	 /* https */
	char *host;	 /* without brackets */
	char *port;	 /* digits; the scheme's own where none was given */
	char *authority; /* host and port as a Host header has them */
	char *base;	 /* path to put others behind, without a slash at its end; may be "" */
};

/* http://HOST[:PORT][/BASE] or https://…; all else is a usage error: a user and password, which
 * belong into headers, a query, spaces. The caller releases ret, also after a failure. */
int fsc_url_parse(const char *text, struct fsc_url *ret, struct fsc_err *err);
void fsc_url_release(struct fsc_url *u);

#endif
