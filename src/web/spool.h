/* A queue of messages, bounded in memory and on disk. What finds no room in memory goes into a
 * file; where there is none either, the oldest ones make room, and are counted. What is on disk
 * outlives the process and is taken over by the next one. All functions but fsc_spool_new() and
 * fsc_spool_free() may be called from any thread; no lock is held while a file is written or read.
 */
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
	uint64_t put;	     /* messages that were given to it */
	uint64_t taken_over; /* that an earlier run left, damaged ones included */
	uint64_t dropped;    /* that found no room, could not be written or were damaged */
	uint64_t gone;	     /* that were taken and not given back */
	uint64_t queued, queued_bytes;
};

/* The message at the head of the queue, lent out for one attempt. */
struct fsc_spool_msg {
	const char *path, *type;
	const void *body;
	size_t n;
	void *entry, *owned;
};

/* Fails where the directory cannot be used; says why. The caller owns *ret. */
int fsc_spool_new(const struct fsc_spool_opts *opts, struct fsc_spool **ret, struct fsc_err *err);
void fsc_spool_free(struct fsc_spool *s);
/* Puts a message behind all others. path and type must be static. Fails where this one was dropped.
 * Blocks no longer than it takes to write a file, and that only when memory is full. */
int fsc_spool_put(struct fsc_spool *s, const char *path, const char *type, const void *body,
		  size_t n, struct fsc_err *err);
/* Whether there is one to take. */
bool fsc_spool_ready(struct fsc_spool *s);
/* Takes the oldest one: 1; 0 if there is none, negative if it cannot be read now. One at a time,
 * until fsc_spool_done(). */
int fsc_spool_take(struct fsc_spool *s, struct fsc_spool_msg *ret, struct fsc_err *err);
/* Ends what fsc_spool_take() began; gone: it is not needed any more. */
void fsc_spool_done(struct fsc_spool *s, struct fsc_spool_msg *msg, bool gone);
/* Writes what is in memory to disk, as far as there is room, and drops the rest. Nothing can be put
 * or taken afterwards. Not while a message is being put or is taken. */
void fsc_spool_close(struct fsc_spool *s);
void fsc_spool_counts(struct fsc_spool *s, struct fsc_spool_counts *ret);

#endif
