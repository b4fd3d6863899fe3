/* The addresses of a host, with a deadline, which getaddrinfo() does not have. */
#ifndef FSC_WEB_RESOLVE_H
#define FSC_WEB_RESOLVE_H

#include <netdb.h>

#include "base/err.h"
#include "web/wait.h"

/* The caller owns *ret (freeaddrinfo). Blocks until the deadline; a lookup that takes longer ends
 * in the background. Fails with ETIMEDOUT, ECANCELED, ENOMEM, or EHOSTUNREACH if the host is
 * unknown. */
int fsc_resolve(const char *host, const char *port, const struct fsc_deadline *p,
		struct addrinfo **ret, struct fsc_err *err);

static inline void fsc_freeaddrinfop(struct addrinfo **ai)
{
	if (*ai)
		freeaddrinfo(*ai);
}

#endif
