/* A listening socket from an address as text. */
#ifndef FSC_WEB_LISTEN_H
#define FSC_WEB_LISTEN_H

#include <stdbool.h>
#include <sys/un.h>

#include "base/err.h"

struct fsc_listen {
	int fd; /* owned by the caller */
	unsigned port;
	bool loopback;	/* only reachable from this machine */
	char host[256]; /* as given, without brackets; "127.0.0.1" if none was */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* of a Unix socket, else "" */
};

/* address: "HOST:PORT", "[V6]:PORT", ":PORT" (loopback only), "PORT", or "unix:PATH", for this user
 * and group. May block while the host is looked up. A malformed address is a usage error. */
int fsc_listen_open(const char *address, struct fsc_listen *ret, struct fsc_err *err);
/* Gives a Unix socket to a group, by name or number. */
int fsc_listen_group(const struct fsc_listen *l, const char *group, struct fsc_err *err);
/* Closes it, and removes a Unix socket's file. */
void fsc_listen_close(struct fsc_listen *l);

#endif
