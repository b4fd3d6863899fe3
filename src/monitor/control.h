/* The monitor's sockets: requests and answers as JSON lines, and events for subscribers. Nothing
 * waits for a client: events that it does not read in time are dropped, counted, and reported to
 * it. */
#ifndef FSC_MONITOR_CONTROL_H
#define FSC_MONITOR_CONTROL_H

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/call.h"

struct fsc_control;

/* Places for clients. Those of the network have their own, so that root's requests find one
 * however many of them there are. */
struct fsc_control_limits {
	unsigned local, remote; /* at a time; more of them are closed at once */
	double idle_s; /* without a request, a remote client that has no subscription is closed */
};
#define FSC_CONTROL_LIMITS ((struct fsc_control_limits){.local = 32, .remote = 32, .idle_s = 30})

/* Answers a request by appending lines to b; a failure is sent as an error. may_change: the client
 * is trusted. -EAGAIN: it has to wait, and is asked for again. It may call fsc_control_run(). */
typedef int (*fsc_control_fn)(const json_t *request, bool may_change, struct fsc_buf *b, void *arg,
			      struct fsc_err *err);

/* The caller owns *ret. */
int fsc_control_new(fsc_control_fn fn, void *arg, struct fsc_control **ret, struct fsc_err *err);
/* Closes all clients and removes the sockets. */
void fsc_control_free(struct fsc_control *c);
/* Instead of FSC_CONTROL_LIMITS. */
void fsc_control_limit(struct fsc_control *c, struct fsc_control_limits limits);
/* Listens on a path ("unix:PATH"), for this user and root only; or on "tcp:HOST:PORT", where no
 * changes are allowed. */
int fsc_control_listen(struct fsc_control *c, const char *where, struct fsc_err *err);
/* This process's default path, where fsc_control_connect() looks. */
int fsc_control_default(char *buf, size_t size, struct fsc_err *err);
/* Serves the clients: to be called many times a second. */
int fsc_control_run(struct fsc_control *c, struct fsc_err *err);
/* Whether any client has subscribed to calls of this type. */
bool fsc_control_wants(const struct fsc_control *c, const char *type);
/* Sends line to those who subscribed to such calls: "slow" ones, or each "call" of a sample (it may
 * be both). */
void fsc_control_call(struct fsc_control *c, const struct fsc_call *call,
		      const struct fsc_buf *line);
/* Events that were dropped because a client did not read them. */
uint64_t fsc_control_dropped(const struct fsc_control *c);
size_t fsc_control_clients(const struct fsc_control *c);
/* Connections that were closed because there was no place, and because no request came. */
uint64_t fsc_control_refused(const struct fsc_control *c);
uint64_t fsc_control_timed_out(const struct fsc_control *c);

/* ---- clients ---- */

/* Connects to the monitor at path; NULL: to the only one there is. A descriptor, or negative. */
int fsc_control_connect(const char *path, struct fsc_err *err);

#endif
