/* A queue of messages, bounded in memory and on disk. When memory is full, a message goes into a
 * file; when the disk's limit is reached, too, the oldest ones are dropped and counted. Messages on
 * disk outlive the process and are queued by the next one. All functions but fsc_spool_new() and
 * fsc_spool_free() may be called from any thread; no lock is held during I/O. */
#ifndef FSC_WEB_SPOOL_H
#define FSC_WEB_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct fsc_spool;

struct fsc_spool_opts {
	const char *name;      /* begins the names of its files */
	size_t memory;	       /* bytes */
	const char *directory; /* NULL: none */
	uint64_t disk;	       /* bytes there */
};

struct fsc_spool_counts {
	uint64_t put;	     /* messages */
	uint64_t taken_over; /* left by an earlier run, damaged ones included */
	uint64_t dropped;    /* no room, not written, or damaged */
	uint64_t gone;	     /* taken and not returned */
	uint64_t queued, queued_bytes;
};

/* The message at the head of the queue, lent for one attempt. */
struct fsc_spool_msg {
	const char *path, *type;
	const void *body;
	size_t n;
	void *entry, *owned;
};

/* Fails if the directory cannot be used. The caller owns *ret. */
int fsc_spool_new(const struct fsc_spool_opts *opts, struct fsc_spool **ret, struct fsc_err *err);
void fsc_spool_free(struct fsc_spool *s);
/* Appends a copy of a message. Fails if this one was dropped. Writes a file if memory is full. */
int fsc_spool_put(struct fsc_spool *s, const char *path, const char *type, const void *body,
		  size_t n, struct fsc_err *err);
/* Whether fsc_spool_take() would return one. */
bool fsc_spool_ready(struct fsc_spool *s);
/* Takes the oldest one: 1; 0 if there is none, negative if it cannot be read now. One at a time,
 * until fsc_spool_done(). */
int fsc_spool_take(struct fsc_spool *s, struct fsc_spool_msg *ret, struct fsc_err *err);
/* Returns a message; gone: it is removed. */
void fsc_spool_done(struct fsc_spool *s, struct fsc_spool_msg *msg, bool gone);
/* Writes what is in memory to disk, as far as there is room, and drops the rest. No message may be
 * in use then, and nothing can be put or taken afterwards. */
void fsc_spool_close(struct fsc_spool *s);
/* Sets other limits. What is too much in memory goes to disk; what has no room there, either, is
 * dropped, the oldest first. No message may be in use then. */
void fsc_spool_limit(struct fsc_spool *s, size_t memory, uint64_t disk);
/* Whether its directory is this one, by whatever path; NULL: none. */
bool fsc_spool_is_in(const struct fsc_spool *s, const char *directory);
/* Moves all messages to the end of another spool, in order; those that it has no room for are its
 * dropped ones. Messages that cannot be read now stay queued. No message may be in use then. */
void fsc_spool_move(struct fsc_spool *from, struct fsc_spool *to);
void fsc_spool_counts(struct fsc_spool *s, struct fsc_spool_counts *ret);

#endif
