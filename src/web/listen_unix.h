/* Listening Unix sockets: those of the page, and the monitor's own. */
#ifndef FSC_WEB_LISTEN_UNIX_H
#define FSC_WEB_LISTEN_UNIX_H

#include <sys/types.h>
#include <sys/un.h>

#include "base/err.h"

/* A path as the address of a socket. */
int fsc_unix_address(const char *path, struct sockaddr_un *ret, struct fsc_err *err);
/* A non-blocking descriptor that listens at path, whose file has this mode from its first moment;
 * or negative. A socket that was left behind by a process that ended is replaced; EADDRINUSE if
 * somebody listens there, or if it is no socket. The caller removes the file. */
int fsc_unix_listen(const char *path, mode_t mode, struct fsc_err *err);

#endif
