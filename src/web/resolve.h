/* The addresses of a host, with a deadline, which getaddrinfo() does not know. */
#ifndef FSC_WEB_RESOLVE_H
#define FSC_WEB_RESOLVE_H

#include <netdb.h>

#include "base/err.h"
#include "web/wait.h"

/* The caller owns *ret (freeaddrinfo). Blocks as long as its patience lasts; what was begun by then
 * ends by itself. Fails with ETIMEDOUT, ECANCELED, ENOMEM, or EHOSTUNREACH where there is no such
 * host. */
int fsc_resolve(const char *host, const char *port, const struct fsc_patience *p,
		struct addrinfo **ret, struct fsc_err *err);

#endif
