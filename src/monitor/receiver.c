/* Senders that come, change and go. */
#include "monitor/receiver.h"

#include "base/cleanup.h"
#include "base/log.h"

#define LEAVING_S 10.0 /* for what a removed receiver has not been sent yet */

static void add_state(struct fsc_receiver_state *to, const struct fsc_receiver_state *more)
{
	to->sent += more->sent;
	to->retried += more->retried;
	to->dropped_full += more->dropped_full;
	to->dropped_refused += more->dropped_refused;
	to->rejected += more->rejected;
}

/* A removed receiver is done: what became of its messages is logged and stays in its counters. */
static void finish_leaving(struct fsc_receiver *r, double seconds)
{
	struct fsc_receiver_state s;

	fsc_sender_stop(r->leaving, seconds);
	fsc_sender_state(r->leaving, &s);
	add_state(&r->past, &s);
	fsc_log(s.dropped_full > r->left.dropped_full ? FSC_LOG_WARN : FSC_LOG_NOTE,
		"%s is no longer a receiver: of %llu waiting messages %llu were sent, %llu "
		"refused, %llu dropped, %llu left in the spool directory",
		s.name, (unsigned long long)r->left.queued,
		(unsigned long long)(s.sent - r->left.sent),
		(unsigned long long)(s.dropped_refused - r->left.dropped_refused),
		(unsigned long long)(s.dropped_full - r->left.dropped_full),
		(unsigned long long)s.queued);
	fsc_sender_free(fsc_take(&r->leaving));
}

static void remove_sender(struct fsc_receiver *r)
{
	r->leaving = fsc_take(&r->sender);
	r->logged_down = false;
	fsc_sender_state(r->leaving, &r->left);
	fsc_sender_leave(r->leaving, r->left.queued ? LEAVING_S : 0);
}

int fsc_receiver_try(struct fsc_receiver *r, const struct fsc_sender_opts *opts,
		     struct fsc_err *err)
{
	if (r->leaving && fsc_sender_stay(r->leaving)) {
		r->sender = fsc_take(&r->leaving);
		r->stays = true;
	} else if (r->leaving) {
		finish_leaving(r, 0);
	}
	return r->sender ? fsc_sender_try(r->sender, opts, &r->trying, err)
			 : fsc_sender_new(opts, &r->fresh, err);
}

void fsc_receiver_abandon(struct fsc_receiver *r)
{
	fsc_sender_free(fsc_take(&r->fresh));
	fsc_sender_abandon(fsc_take(&r->trying));
	if (r->stays)
		remove_sender(r);
	r->stays = false;
}

void fsc_receiver_commit(struct fsc_receiver *r, bool wanted)
{
	uint64_t lost = r->trying ? fsc_sender_commit(r->sender, fsc_take(&r->trying)) : 0;

	if (lost)
		fsc_log(FSC_LOG_WARN,
			"%llu messages could not be moved to the other spool directory and are "
			"dropped",
			(unsigned long long)lost);
	r->stays = false;
	if (r->fresh)
		r->sender = fsc_take(&r->fresh);
	else if (!wanted && r->sender)
		remove_sender(r);
	r->was = r->was || r->sender;
}

void fsc_receiver_tick(struct fsc_receiver *r)
{
	if (r->leaving && fsc_sender_left(r->leaving))
		finish_leaving(r, 0);
}

void fsc_receiver_log_health(struct fsc_receiver *r)
{
	struct fsc_receiver_state s;
	char why[300];

	fsc_sender_state(r->sender, &s);
	fsc_sender_failure(r->sender, why, sizeof(why));
	if (why[0] && !r->logged_down)
		fsc_log(FSC_LOG_WARN, "%s: %s; %s", s.name, why,
			s.queued ? "unsent messages wait in the spool"
				 : "refused messages are dropped and counted");
	else if (!why[0] && r->logged_down)
		fsc_log(FSC_LOG_NOTE, "%s answers again", s.name);
	r->logged_down = why[0];
}

bool fsc_receiver_state(struct fsc_receiver *r, const char *name, struct fsc_receiver_state *ret)
{
	struct fsc_sender *sender = r->sender ? r->sender : r->leaving;

	*ret = (struct fsc_receiver_state){.name = name};
	if (sender)
		fsc_sender_state(sender, ret);
	add_state(ret, &r->past);
	ret->removed = !r->sender;
	return r->was;
}

void fsc_receiver_stop(struct fsc_receiver *r, double seconds)
{
	if (r->leaving)
		finish_leaving(r, seconds);
	if (r->sender)
		fsc_sender_stop(r->sender, seconds);
}

void fsc_receiver_release(struct fsc_receiver *r)
{
	fsc_sender_free(fsc_take(&r->leaving));
	fsc_sender_free(fsc_take(&r->sender));
}
