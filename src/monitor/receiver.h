/* A receiver of messages, through changes of the configuration: its sender, and, once it is no
 * longer configured, the one that sends the rest. */
#ifndef FSC_MONITOR_RECEIVER_H
#define FSC_MONITOR_RECEIVER_H

#include "web/sender.h"

/* All zero: none yet. */
struct fsc_receiver {
	struct fsc_sender *sender; /* NULL: none */
	/* private */
	struct fsc_sender *leaving;	  /* no longer configured; NULL: none */
	struct fsc_receiver_state left;	  /* its state when it was removed */
	struct fsc_receiver_state past;	  /* of those that are gone */
	struct fsc_sender *fresh;	  /* while a configuration is tried: a new one */
	struct fsc_sender_change *trying; /* likewise: a change of the old one */
	bool stays;			  /* likewise: it was leaving */
	bool logged_down;
	bool was; /* configured at some time: its counters do not go away */
};

/* Opens one, or prepares another address or spool of the one there is: all that can fail of a
 * change. It is in force after fsc_receiver_commit(); fsc_receiver_abandon() takes it back. */
int fsc_receiver_try(struct fsc_receiver *r, const struct fsc_sender_opts *opts,
		     struct fsc_err *err);
void fsc_receiver_abandon(struct fsc_receiver *r);
/* wanted: it is configured. One that is not is sent what is queued for some seconds. */
void fsc_receiver_commit(struct fsc_receiver *r, bool wanted);
/* Ends one that was removed and has sent the rest, or had its seconds; logs what became of it. */
void fsc_receiver_tick(struct fsc_receiver *r);
/* Logs once that it is down, and once that it is up again. */
void fsc_receiver_log_health(struct fsc_receiver *r);
/* Its state, with that of senders before. False: there never was one. */
bool fsc_receiver_state(struct fsc_receiver *r, const char *name, struct fsc_receiver_state *ret);
/* Sends the rest, for at most so many seconds. */
void fsc_receiver_stop(struct fsc_receiver *r, double seconds);
void fsc_receiver_release(struct fsc_receiver *r);

#endif
