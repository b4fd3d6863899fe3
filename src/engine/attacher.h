/* Owns the links of a run: makes them, many places at a time, and drops them. A client says how to
 * link and what a refusal means; the attacher finds the places that the kernel refuses and counts
 * the hits that it missed. It keeps descriptors, but no pointer of a client. */
#ifndef FSC_ENGINE_ATTACHER_H
#define FSC_ENGINE_ATTACHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"
#include "engine/sys.h"

struct fsc_closing;

struct fsc_attacher {
	struct fsc_vec links;	 /* struct fsc_link */
	struct fsc_vec closers;	 /* pthread_t, of helpers */
	struct fsc_vec droppers; /* pthread_t, of fsc_attacher_drop_later() */
	uint64_t missed;	 /* by links that were dropped */
	atomic_uint dropping;	 /* how many of these are at work */
	atomic_bool leaving;	 /* what they have not closed yet is left to somebody else: */
	_Atomic(struct fsc_closing *) unclosed;
};

/* Tags that no row has: of links that hold many, up to FSC_MOVING_GATES of them. But for the last,
 * the others are for helpers, links that the run makes for itself: their misses are no loss, and
 * dropping them does not wait. */
enum fsc_tag {
	FSC_TAG_GROUP = 0x7fffff00,
	FSC_TAG_OWN = 0x7ffffffc, /* on our own functions, for calibration during the run */
	FSC_TAG_SCHED,
	FSC_TAG_CALIBRATION,
	FSC_TAG_ALL,
};

void fsc_attacher_init(struct fsc_attacher *a);
/* Drops all links and waits until they are closed. */
void fsc_attacher_release(struct fsc_attacher *a);
/* Takes ownership of a link; closes it if memory is out. */
int fsc_attacher_keep(struct fsc_attacher *a, int fd, uint32_t tag, struct fsc_err *err);
/* Drops the links with this tag. Blocks for tens of milliseconds a link. */
void fsc_attacher_drop(struct fsc_attacher *a, uint32_t tag);
/* Likewise without waiting: a thread does, and fsc_attacher_dropping() says whether one still is.
 */
void fsc_attacher_drop_later(struct fsc_attacher *a, uint32_t tag);
/* The same for all links whose tag is one of those. */
void fsc_attacher_drop_which(struct fsc_attacher *a, bool (*which)(uint32_t tag, const void *arg),
			     const void *arg);
bool fsc_attacher_dropping(const struct fsc_attacher *a);
/* Gives up all links that are not being closed at this moment: their descriptors, in order, which
 * the caller frees; NULL: out of memory, nothing was given up. Blocks until the others are closed.
 */
int *fsc_attacher_give_up(struct fsc_attacher *a, size_t *ret_n);
/* Closes links at the same time. */
void fsc_attacher_close(int *fds, size_t n);
/* Waits until none is. */
void fsc_attacher_await(struct fsc_attacher *a);
/* Hits that the kernel missed, over all links so far. */
uint64_t fsc_attacher_missed(const struct fsc_attacher *a);

/* Places that go into one link if the kernel accepts them all, in the arrays that it expects. */
struct fsc_batch {
	size_t n;
	uint64_t *ids;	/* chosen by the client */
	uint64_t *tags; /* a link has the tag of its first place */
	uint64_t *where, *ref_ctrs, *cookies;
	const char **names; /* of kernel functions */
	const char *path;
	pid_t pid;   /* 0: all processes */
	bool singly; /* one link per place */
	/* Links [first, first + n): a descriptor, or -errno. */
	int (*link)(const struct fsc_batch *b, size_t first, size_t n);
	/* Place i is refused. Any result other than 0 ends the attempt. */
	int (*refuse)(const struct fsc_batch *b, size_t i, int code, struct fsc_err *err);
	void *arg; /* for both */
};

/* Allocates room for max places; the client fills them in and counts n. */
int fsc_batch_init(struct fsc_batch *b, size_t max, struct fsc_err *err);
void fsc_batch_release(struct fsc_batch *b);
/* [first, first + n) of a batch of user places. */
struct fsc_sys_uprobes fsc_batch_uprobes(const struct fsc_batch *b, size_t first, size_t n);
/* Links them all, in order, and keeps the links. -ESRCH, and no message: the process has exited. */
int fsc_attacher_link(struct fsc_attacher *a, const struct fsc_batch *b, struct fsc_err *err);

#endif
