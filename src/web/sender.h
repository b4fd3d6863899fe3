/* Sends messages to an HTTP receiver from a thread of its own, by way of a spool bounded in memory
 * and on disk: whoever posts never waits for the receiver, and what had to be dropped is counted.
 */
#ifndef FSC_WEB_SENDER_H
#define FSC_WEB_SENDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/snapshot.h"

struct fsc_sender;

struct fsc_sender_opts {
	const char *name; /* for messages and counters: "otlp" */
	const char *
	    url; /* http://HOST[:PORT][/BASE], https://…; the paths of messages are put behind it */
	const struct fsc_label *headers; /* to send with every message */
	size_t n_headers;
	const char *ca_file;   /* NULL: the system's */
	bool gzip;	       /* bodies are sent compressed */
	double timeout_s;      /* of one attempt */
	size_t memory;	       /* bytes of the spool in memory */
	const char *directory; /* NULL: none on disk */
	uint64_t disk;	       /* bytes of the spool there */
	/* Looks at the body of a 2xx answer: how many records of the message were refused in it.
	 * NULL: none ever are. */
	uint64_t (*rejected)(const char *body, size_t n);
};

/* Strings of opts are copied. A spool that an earlier run left in the directory is taken over.
 * Fails on a URL, a header or a directory that cannot be used, and where https:// was asked for and
 * there is no libcurl. The caller owns *ret.
 *
 * 429, 502, 503, 504, no connection, no answer in time and nonsense for an answer are tried again
 * for as long as it takes, later and later (0.1 s to 30 s, or as Retry-After says, up to 300 s);
 * any other answer but 2xx drops the message. */
int fsc_sender_new(const struct fsc_sender_opts *opts, struct fsc_sender **ret,
		   struct fsc_err *err);
/* Puts a message in the spool; the oldest ones make room for it. path and type must be static.
 * Never waits for the receiver; when the spool's memory is full, it writes a file. */
void fsc_sender_post(struct fsc_sender *s, const char *path, const char *type, const void *body,
		     size_t n);
/* Once it stands still: posted + taken over == sent + dropped_full + dropped_refused + queued,
 * where dropped_full also has what could not be written to disk or was damaged there, and queued is
 * what another run can take over. The name is the sender's. */
void fsc_sender_state(struct fsc_sender *s, struct fsc_receiver_state *ret);
/* The last failure in words, "" if the last attempt went well; into buf. */
void fsc_sender_failure(struct fsc_sender *s, char *buf, size_t size);
/* Tries to send what is there for so long, then ends the thread; what is left stays on disk where
 * there is one, and is counted as dropped otherwise. Nothing may be posted meanwhile. */
void fsc_sender_stop(struct fsc_sender *s, double seconds);
void fsc_sender_free(struct fsc_sender *s);

#endif
