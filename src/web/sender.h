/* Sends messages to an HTTP receiver from a thread, through a spool bounded in memory and on disk:
 * posting never waits for the receiver, and dropped messages are counted. */
#ifndef FSC_WEB_SENDER_H
#define FSC_WEB_SENDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/snapshot.h"

struct fsc_sender;
struct fsc_sender_change;

struct fsc_sender_opts {
	const char *name; /* for messages and counters: "otlp" */
	const char *url;  /* http://HOST[:PORT][/BASE], https://…; messages append their paths */
	const struct fsc_label *headers; /* to send with every message */
	size_t n_headers;
	const char *ca_file;   /* NULL: the system's */
	bool gzip;	       /* bodies are sent compressed */
	double timeout_s;      /* of one attempt */
	size_t memory;	       /* bytes of the spool in memory */
	const char *directory; /* NULL: none on disk */
	uint64_t disk;	       /* bytes of the spool there */
	/* How many records the body of a 2xx answer says were rejected. NULL: none. */
	uint64_t (*rejected)(const char *body, size_t n);
};

/* Strings of opts are copied. Messages that an earlier run left in the directory are queued. Fails
 * on a URL, a header or a directory that cannot be used, and on https:// without libcurl. The
 * caller owns *ret.
 *
 * 429, 502, 503, 504, no connection, a timeout and a malformed answer are retried without limit,
 * with growing delays (0.1 s to 30 s, or as Retry-After says, up to 300 s); any other answer but
 * 2xx drops the message. */
int fsc_sender_new(const struct fsc_sender_opts *opts, struct fsc_sender **ret,
		   struct fsc_err *err);
/* Prepares other options (all but the name) for a sender, without changing anything yet; fails as
 * fsc_sender_new() does. Ends with fsc_sender_commit() or fsc_sender_abandon(). */
int fsc_sender_try(const struct fsc_sender *s, const struct fsc_sender_opts *opts,
		   struct fsc_sender_change **ret, struct fsc_err *err);
void fsc_sender_abandon(struct fsc_sender_change *c);
/* Puts them in force and frees c. What is queued goes on: in the same spool, with its new limits,
 * or moved to the one in another directory. An attempt in progress is interrupted and made again.
 * Returns how many messages had to be left behind in the old directory because they could not be
 * read; they count as dropped. */
uint64_t fsc_sender_commit(struct fsc_sender *s, struct fsc_sender_change *c);
/* Puts a copy of a message in the spool, dropping the oldest ones if it is full. Never waits for
 * the receiver; when the spool's memory is full, it writes a file. */
void fsc_sender_post(struct fsc_sender *s, const char *path, const char *type, const void *body,
		     size_t n);
/* While nothing is in progress: posted + taken over == sent + dropped_full + dropped_refused +
 * queued. dropped_full includes what could not be written to disk or was damaged there; another run
 * can take over what is queued. The name is the sender's. */
void fsc_sender_state(struct fsc_sender *s, struct fsc_receiver_state *ret);
/* Copies the last failure into buf, "" if the last attempt succeeded. */
void fsc_sender_failure(struct fsc_sender *s, char *buf, size_t size);
/* Tries to send what is queued for so many seconds, then ends the thread; the rest stays on disk if
 * there is a directory, else it is dropped and counted. Nothing may be posted meanwhile. */
void fsc_sender_stop(struct fsc_sender *s, double seconds);
/* The same without waiting: begins to send what is queued, for so many seconds at most;
 * fsc_sender_left() tells when that is over, and fsc_sender_stop() and fsc_sender_free() end it.
 * fsc_sender_stay() takes it back; false: it is too late. */
void fsc_sender_leave(struct fsc_sender *s, double seconds);
bool fsc_sender_left(struct fsc_sender *s);
bool fsc_sender_stay(struct fsc_sender *s);
void fsc_sender_free(struct fsc_sender *s);

#endif
