/* The monitor's sockets: requests and answers as JSON lines, and events for those who subscribe.
 * Nothing here waits for a client: what one does not read in time is dropped for it, counted, and
 * said. */
#ifndef FSC_MONITOR_CONTROL_H
#define FSC_MONITOR_CONTROL_H

#include <sys/un.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/call.h"

struct fsc_control;

/* Answers a request by appending lines to b; a failure is answered with its words. may_change: the
 * client is one of ours. */
typedef int (*fsc_control_fn)(const json_t *request, bool may_change, struct fsc_buf *b, void *arg,
			      struct fsc_err *err);

/* The caller owns *ret. */
int fsc_control_new(fsc_control_fn fn, void *arg, struct fsc_control **ret, struct fsc_err *err);
/* Closes all and removes the sockets. */
void fsc_control_free(struct fsc_control *c);
/* Listens: on a path of its own ("unix:PATH"), for us and root alone; or on "tcp:HOST:PORT", for
 * questions and subscriptions alone. */
int fsc_control_listen(struct fsc_control *c, const char *where, struct fsc_err *err);
/* The place where fsc_control_find() looks, for this process. */
int fsc_control_default(char *buf, size_t size, struct fsc_err *err);
/* Does what there is to do: to be called many times a second. */
int fsc_control_run(struct fsc_control *c, struct fsc_err *err);
/* Whether anybody wants calls of a type: whoever makes them can spare the work. */
bool fsc_control_wants(const struct fsc_control *c, const char *type);
/* Sends a call to those who subscribed to such, "slow" ones or each "call" of a sample (it may be
 * both); line is what they get. */
void fsc_control_call(struct fsc_control *c, const struct fsc_call *call,
		      const struct fsc_buf *line);
/* Events that were dropped because a client did not read them. */
uint64_t fsc_control_dropped(const struct fsc_control *c);
size_t fsc_control_clients(const struct fsc_control *c);

/* ---- the other side ---- */

/* A path as the address of a socket. */
int fsc_control_address(const char *path, struct sockaddr_un *ret, struct fsc_err *err);

/* A connection to the monitor at path; NULL: to the only one there is. A descriptor, or negative.
 */
int fsc_control_connect(const char *path, struct fsc_err *err);

#endif
