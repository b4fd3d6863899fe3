/* An address in words made into a socket that listens. */
#ifndef FSC_WEB_LISTEN_H
#define FSC_WEB_LISTEN_H

#include <stdbool.h>

#include "base/err.h"

struct fsc_listen {
	int fd; /* owned by the caller */
	unsigned port;
	bool loopback;	/* nobody but this machine can reach it */
	char host[256]; /* as it was written, brackets removed; "127.0.0.1" where it was not */
};

/* address: "HOST:PORT", "[V6]:PORT", ":PORT" (loopback alone) or "PORT". May block while the name
 * of a host is looked up. A mistake in the address is a usage error. */
int fsc_listen_open(const char *address, struct fsc_listen *ret, struct fsc_err *err);

#endif
