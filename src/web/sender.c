/* The thread takes the oldest message, tries to send it, and by the outcome removes it or retries
 * it later. The lock is only held for timing and counting, never during I/O. */
#include "web/sender.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "web/client.h"
#include "web/destination.h"
#include "web/gzip.h"
#include "web/spool.h"

#define LEAST_DELAY_S	   0.1
#define MOST_DELAY_S	   30.0
#define MOST_RETRY_AFTER_S 300.0
#define MOST_DRAINING_S	   1e6

enum outcome { SENT, REFUSED, AGAIN, INTERRUPTED };

struct fsc_sender_change {
	struct fsc_destination *to;
	struct fsc_spool *spool; /* NULL: the same, with other limits */
	size_t memory;
	uint64_t disk;
};

struct fsc_sender {
	/* set once */
	char *name;
	int stop_fd;
	pthread_t thread;
	bool started;
	/* changed while the thread is held */
	struct fsc_destination *to;
	struct fsc_spool *spool;
	uint64_t dropped; /* by earlier spools */
	/* under the lock */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stopping, ended;
	bool hold, held;      /* the thread shall wait; it does */
	bool retry_after;     /* not_before is from the receiver */
	uint64_t not_before;  /* the next attempt */
	uint64_t drain_until; /* while stopping */
	unsigned failures;    /* in a row */
	struct fsc_receiver_state state;
	char failure[600];
};

/* ---- when ---- */

static uint64_t time_in(double seconds)
{
	return fsc_clock_mono() + (uint64_t)(seconds * 1e9);
}

/* Exponential, with jitter so that many senders do not retry at the same time. */
static double backoff_delay(unsigned failures)
{
	unsigned doublings = failures > 10 ? 10 : failures;
	double s = LEAST_DELAY_S * (double)(1u << doublings);
	uint16_t r = 0;

	if (s > MOST_DELAY_S)
		s = MOST_DELAY_S;
	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
		r = (uint16_t)fsc_clock_mono();
	s *= 0.5 + 0.5 * r / UINT16_MAX;
	return s < LEAST_DELAY_S ? LEAST_DELAY_S : s;
}

static void wait_until(struct fsc_sender *s, uint64_t when)
{
	struct timespec ts = {.tv_sec = (time_t)(when / 1000000000u),
			      .tv_nsec = (long)(when % 1000000000u)};

	pthread_cond_timedwait(&s->changed, &s->lock, &ts);
}

/* While the thread is held, its destination and spool may change. */
static void wait_while_held(struct fsc_sender *s)
{
	s->held = true;
	pthread_cond_broadcast(&s->changed);
	while (s->hold)
		pthread_cond_wait(&s->changed, &s->lock);
	s->held = false;
}

/* Waits, under the lock, until a message may be sent; false: the thread shall end. */
static bool wait_for_turn(struct fsc_sender *s)
{
	for (;;) {
		bool ready;
		uint64_t now;

		if (s->hold)
			wait_while_held(s);
		ready = fsc_spool_ready(s->spool);
		now = fsc_clock_mono();
		if (s->stopping &&
		    (!ready || now >= s->drain_until || s->not_before >= s->drain_until))
			return false;
		if (ready && now >= s->not_before)
			return true;
		if (ready)
			wait_until(s, s->not_before);
		else
			pthread_cond_wait(&s->changed, &s->lock);
	}
}

/* ---- outcomes; under the lock ---- */

static void fail_later(struct fsc_sender *s, double retry_after_s, const char *why)
{
	double delay = backoff_delay(s->failures++);

	s->retry_after = retry_after_s >= 0;
	if (s->retry_after)
		delay = retry_after_s < LEAST_DELAY_S ? LEAST_DELAY_S : retry_after_s;
	s->not_before = time_in(delay > MOST_RETRY_AFTER_S ? MOST_RETRY_AFTER_S : delay);
	s->state.up = false;
	snprintf(s->failure, sizeof(s->failure), "%s", why);
}

static void count_outcome(struct fsc_sender *s, enum outcome v, const struct fsc_response *r,
			  uint64_t rejected, const char *why)
{
	if (v == INTERRUPTED)
		return;
	if (v == AGAIN) {
		s->state.retried++;
		fail_later(s, r->retry_after_s, why);
		return;
	}
	s->failures = 0;
	s->not_before = 0;
	s->retry_after = false;
	s->state.up = v == SENT;
	s->state.rejected += rejected;
	if (v == SENT)
		s->state.sent++;
	else
		s->state.dropped_refused++;
	snprintf(s->failure, sizeof(s->failure), "%s", why);
}

/* ---- trying ---- */

static enum outcome classify_outcome(int rc, unsigned status)
{
	static const unsigned passing[] = {429, 502, 503, 504};

	if (rc)
		return rc == -ECANCELED ? INTERRUPTED : AGAIN;
	if (status >= 200 && status <= 299)
		return SENT;
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		if (status == passing[i])
			return AGAIN;
	return REFUSED;
}

/* The status, and the first line of the answer's body. */
static void explain_status(const struct fsc_sender *s, const char *path,
			   const struct fsc_response *r, struct fsc_err *err)
{
	const char *text = fsc_buf_str(&r->body);
	size_t n = 0;

	while (n < 160 && text[n] >= ' ' && text[n] <= '~')
		n++;
	fsc_err_set(err, EPROTO, "%s%s answered %u%s%.*s", s->to->address, path, r->status,
		    n ? ": " : "", (int)n, text);
}

static void attempt_message(struct fsc_sender *s, struct fsc_spool_msg *msg)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf packed = {0};
	FSC_AUTO(fsc_response_release) struct fsc_response r = {0};
	struct fsc_err err = {0};
	const struct fsc_destination *to = s->to;
	struct fsc_post p = {
	    .url = &to->url,
	    .path = msg->path,
	    .type = msg->type,
	    .headers = to->headers,
	    .n_headers = to->n_headers,
	    .body = msg->body,
	    .n = msg->n,
	    .ca_file = to->ca_file,
	    .timeout_s = to->timeout_s,
	    .stop_fd = s->stop_fd,
	};
	uint64_t rejected = 0;
	enum outcome v;
	int rc;

	if (to->gzip && fsc_gzip(msg->body, msg->n, &packed)) {
		p.body = packed.s;
		p.n = packed.n;
		p.encoding = "gzip";
	}
	rc = fsc_post(&p, &r, &err);
	v = classify_outcome(rc, r.status);
	if (v == SENT && to->rejected)
		rejected = to->rejected(fsc_buf_str(&r.body), r.body.n);
	if (!rc && v != SENT)
		explain_status(s, msg->path, &r, &err);
	fsc_spool_done(s->spool, msg, v == SENT || v == REFUSED);
	pthread_mutex_lock(&s->lock);
	count_outcome(s, v, &r, rejected, err.msg);
	pthread_mutex_unlock(&s->lock);
}

static void send_one(struct fsc_sender *s)
{
	struct fsc_err err = {0};
	struct fsc_spool_msg msg;
	int rc = fsc_spool_take(s->spool, &msg, &err);

	if (rc > 0) {
		attempt_message(s, &msg);
		return;
	}
	if (!rc)
		return;
	pthread_mutex_lock(&s->lock);
	fail_later(s, -1, err.msg);
	pthread_mutex_unlock(&s->lock);
}

static void *sender_thread(void *arg)
{
	struct fsc_sender *s = arg;

	pthread_mutex_lock(&s->lock);
	while (wait_for_turn(s)) {
		pthread_mutex_unlock(&s->lock);
		send_one(s);
		pthread_mutex_lock(&s->lock);
	}
	s->ended = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- life ---- */

static void init_lock(struct fsc_sender *s)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
}

static int open_spool(const struct fsc_sender_opts *opts, struct fsc_spool **ret,
		      struct fsc_err *err)
{
	const struct fsc_spool_opts spool = {.name = opts->name,
					     .memory = opts->memory,
					     .directory = opts->directory,
					     .disk = opts->disk};

	return fsc_spool_new(&spool, ret, err);
}

/* Signals are handled by other threads; SIGPIPE, which a write may raise here, stays blocked. */
static int start_thread(struct fsc_sender *s, struct fsc_err *err)
{
	sigset_t all, before;
	int rc;

	s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->stop_fd < 0)
		return fsc_err_sys(err, errno, "cannot make an event for sender '%s'", s->name);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&s->thread, NULL, sender_thread, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	s->started = !rc;
	return rc ? fsc_err_sys(err, rc, "cannot start the thread of sender '%s'", s->name) : 0;
}

static void sender_freep(struct fsc_sender **s)
{
	fsc_sender_free(*s);
}

int fsc_sender_new(const struct fsc_sender_opts *opts, struct fsc_sender **ret, struct fsc_err *err)
{
	FSC_AUTO(sender_freep) struct fsc_sender *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return fsc_err_nomem(err);
	s->stop_fd = -1;
	init_lock(s);
	s->state.up = true; /* until an attempt fails */
	s->name = strdup(opts->name);
	rc = s->name ? fsc_destination_new(opts, &s->to, err) : fsc_err_nomem(err);
	rc = rc ? rc : open_spool(opts, &s->spool, err);
	rc = rc ? rc : start_thread(s, err);
	if (rc)
		return rc;
	*ret = fsc_take(&s);
	return 0;
}

void fsc_sender_free(struct fsc_sender *s)
{
	if (!s)
		return;
	fsc_sender_stop(s, 0);
	fsc_spool_free(s->spool);
	fsc_closep(&s->stop_fd);
	fsc_destination_free(s->to);
	free(s->name);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ---- changes ---- */

int fsc_sender_try(const struct fsc_sender *s, const struct fsc_sender_opts *opts,
		   struct fsc_sender_change **ret, struct fsc_err *err)
{
	struct fsc_sender_change *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return fsc_err_nomem(err);
	rc = fsc_destination_new(opts, &c->to, err);
	if (!rc && !fsc_spool_is_in(s->spool, opts->directory))
		rc = open_spool(opts, &c->spool, err);
	if (rc) {
		fsc_sender_abandon(c);
		return rc;
	}
	c->memory = opts->memory;
	c->disk = opts->disk;
	*ret = c;
	return 0;
}

void fsc_sender_abandon(struct fsc_sender_change *c)
{
	if (!c)
		return;
	fsc_destination_free(c->to);
	fsc_spool_free(c->spool);
	free(c);
}

/* Interrupts an attempt: its message stays in the spool. */
static void hold_thread(struct fsc_sender *s)
{
	pthread_mutex_lock(&s->lock);
	s->hold = true;
	pthread_cond_broadcast(&s->changed);
	eventfd_write(s->stop_fd, 1);
	while (!s->held && !s->ended)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

static void release_thread(struct fsc_sender *s)
{
	eventfd_t n;

	eventfd_read(s->stop_fd, &n);
	pthread_mutex_lock(&s->lock);
	s->hold = false;
	s->failures = 0;
	s->not_before = 0;
	s->retry_after = false;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* Its queue goes on in another spool, behind what that one holds already. Returns how many messages
 * could not be read. */
static uint64_t replace_spool(struct fsc_sender *s, struct fsc_spool *fresh)
{
	struct fsc_spool_counts counts;

	fsc_spool_move(s->spool, fresh);
	fsc_spool_counts(s->spool, &counts);
	s->dropped += counts.dropped + counts.queued;
	fsc_spool_free(s->spool);
	s->spool = fresh;
	return counts.queued;
}

uint64_t fsc_sender_commit(struct fsc_sender *s, struct fsc_sender_change *c)
{
	uint64_t left = 0;

	hold_thread(s);
	fsc_destination_free(s->to);
	s->to = fsc_take(&c->to);
	if (c->spool)
		left = replace_spool(s, fsc_take(&c->spool));
	else
		fsc_spool_limit(s->spool, c->memory, c->disk);
	release_thread(s);
	fsc_sender_abandon(c);
	return left;
}

/* ---- from outside ---- */

void fsc_sender_post(struct fsc_sender *s, const char *path, const char *type, const void *body,
		     size_t n)
{
	struct fsc_err err = {0};
	int rc = fsc_spool_put(s->spool, path, type, body, n, &err);

	pthread_mutex_lock(&s->lock);
	if (rc)
		snprintf(s->failure, sizeof(s->failure), "%s", err.msg);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void fsc_sender_state(struct fsc_sender *s, struct fsc_receiver_state *ret)
{
	struct fsc_spool_counts counts;

	fsc_spool_counts(s->spool, &counts);
	pthread_mutex_lock(&s->lock);
	*ret = s->state;
	pthread_mutex_unlock(&s->lock);
	ret->name = s->name;
	ret->dropped_full = s->dropped + counts.dropped;
	ret->queued = counts.queued;
	ret->queued_bytes = counts.queued_bytes;
}

void fsc_sender_failure(struct fsc_sender *s, char *buf, size_t size)
{
	pthread_mutex_lock(&s->lock);
	snprintf(buf, size, "%s", s->failure);
	pthread_mutex_unlock(&s->lock);
}

void fsc_sender_leave(struct fsc_sender *s, double seconds)
{
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	s->drain_until = time_in(seconds > 0 ? fmin(seconds, MOST_DRAINING_S) : 0);
	if (!s->retry_after) /* there is no time left to back off */
		s->not_before = 0;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

bool fsc_sender_left(struct fsc_sender *s)
{
	bool left;

	pthread_mutex_lock(&s->lock);
	left = s->ended || (s->stopping && fsc_clock_mono() >= s->drain_until);
	pthread_mutex_unlock(&s->lock);
	return left;
}

bool fsc_sender_stay(struct fsc_sender *s)
{
	bool stays;

	pthread_mutex_lock(&s->lock);
	stays = !s->ended;
	if (stays)
		s->stopping = false;
	pthread_mutex_unlock(&s->lock);
	return stays;
}

void fsc_sender_stop(struct fsc_sender *s, double seconds)
{
	if (!s->started)
		return;
	fsc_sender_leave(s, seconds);
	pthread_mutex_lock(&s->lock);
	while (!s->ended && fsc_clock_mono() < s->drain_until)
		wait_until(s, s->drain_until);
	pthread_mutex_unlock(&s->lock);
	eventfd_write(s->stop_fd, 1);
	pthread_join(s->thread, NULL);
	s->started = false;
	fsc_spool_close(s->spool);
}
