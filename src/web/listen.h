/* A listening socket from an address as text. */
#ifndef FSC_WEB_LISTEN_H
#define FSC_WEB_LISTEN_H

#include <stdbool.h>

#include "base/err.h"

struct fsc_listen {
	int fd; /* owned by the caller */
	unsigned port;
	bool loopback;	/* only reachable from this machine */
	char host[256]; /* as given, without brackets; "127.0.0.1" if none was */
};

/* address: "HOST:PORT", "[V6]:PORT", ":PORT" (loopback only) or "PORT". May block while the host
 * is looked up. A malformed address is a usage error. */
int fsc_listen_open(const char *address, struct fsc_listen *ret, struct fsc_err *err);

#endif
