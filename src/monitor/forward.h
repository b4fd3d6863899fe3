/* Exports a monitor's data: a page for Prometheus, and messages to OTLP and Alertmanager receivers.
 * Never waits for any of them. */
#ifndef FSC_MONITOR_FORWARD_H
#define FSC_MONITOR_FORWARD_H

#include "monitor/config.h"
#include "monitor/ledger.h"

struct fsc_forward;

/* Makes a complete snapshot; the caller releases it. */
typedef int (*fsc_forward_view_fn)(bool apart, size_t cap, struct fsc_ledger_view *ret, void *arg,
				   struct fsc_err *err);

/* config and slow must outlive it. The caller owns *ret. */
int fsc_forward_new(const struct fsc_snoop_config *config, struct fsc_slow *slow,
		    fsc_forward_view_fn view, void *arg, struct fsc_forward **ret,
		    struct fsc_err *err);
/* Whether the files that the page needs are there and right; opens nothing else. */
int fsc_forward_check(const struct fsc_snoop_config *config, struct fsc_err *err);
/* Switches to another configuration. Receivers in both keep their queues, whatever else changes of
 * them; one that is no longer configured is sent what is queued for some seconds, and what became
 * of it is logged. If a new one cannot be opened, it fails and nothing changes. */
int fsc_forward_reload(struct fsc_forward *f, const struct fsc_snoop_config *config,
		       struct fsc_err *err);
/* Readable when the page is requested; the same for its life. -1: only fsc_forward_serve() helps.
 */
int fsc_forward_fd(const struct fsc_forward *f);
/* Answers requests for the page. */
void fsc_forward_serve(struct fsc_forward *f);
/* Requests for the page without its token. */
uint64_t fsc_forward_refused(const struct fsc_forward *f);
/* Sends what is due. */
int fsc_forward_tick(struct fsc_forward *f, struct fsc_err *err);
/* The state of the receivers, also of those that were removed; valid until the next call. */
const struct fsc_receiver_state *fsc_forward_receivers(struct fsc_forward *f, size_t *ret_n);
/* Slow calls that were not sent because there were too many at once. */
uint64_t fsc_forward_missed(const struct fsc_forward *f);
/* Sends the rest, for at most so many seconds. */
void fsc_forward_stop(struct fsc_forward *f, double seconds);
void fsc_forward_free(struct fsc_forward *f);

#endif
