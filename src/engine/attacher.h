/* The links of a run: makes them, many places at a time, keeps them and drops them. A client says
 * what a link is and what a refusal means; the attacher finds the places that spoil a link and
 * counts what the kernel missed. It holds descriptors, and no pointer of a client's outlives the
 * call it was given to. */
#ifndef FSC_ENGINE_ATTACHER_H
#define FSC_ENGINE_ATTACHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"
#include "engine/sys.h"

struct fsc_attacher {
	struct fsc_vec links;	/* struct fsc_link */
	struct fsc_vec closers; /* pthread_t */
	uint64_t missed;	/* by links that were dropped */
};

/* Tags that no place has: the first two of helpers, links that the run makes for itself. What these
 * miss is no loss, and dropping them does not wait. */
enum fsc_tag {
	FSC_TAG_SCHED = 0x7ffffffd,
	FSC_TAG_CALIBRATION,
	FSC_TAG_ALL,
};

void fsc_attacher_init(struct fsc_attacher *a);
/* Drops what is left and waits until everything is closed. */
void fsc_attacher_release(struct fsc_attacher *a);
/* Takes a link over; closes it where memory is out. */
int fsc_attacher_keep(struct fsc_attacher *a, int fd, uint32_t tag, struct fsc_err *err);
/* Drops the links with this tag. Waits for the kernel, tens of milliseconds a link. */
void fsc_attacher_drop(struct fsc_attacher *a, uint32_t tag);
/* How often the probes of all links so far were not taken. */
uint64_t fsc_attacher_missed(const struct fsc_attacher *a);

/* Places that go into one link if the kernel takes them all, as the arrays that it wants. */
struct fsc_batch {
	size_t n;
	uint64_t *ids;	/* the client's numbers */
	uint64_t *tags; /* a link has that of its first place */
	uint64_t *where, *ref_ctrs, *cookies;
	const char **names; /* kernel functions have one */
	const char *path;
	pid_t pid;   /* 0: all processes */
	bool singly; /* every place has a link of its own */
	/* Links [first, first + n): a descriptor, or -errno. */
	int (*link)(const struct fsc_batch *b, size_t first, size_t n);
	/* Place i is refused. What it returns, other than 0, ends the attempt. */
	int (*refuse)(const struct fsc_batch *b, size_t i, int code, struct fsc_err *err);
	void *arg; /* for the two */
};

/* Room for max places, which the client fills in, counting n. */
int fsc_batch_init(struct fsc_batch *b, size_t max, struct fsc_err *err);
void fsc_batch_release(struct fsc_batch *b);
/* [first, first + n) of a batch of user places. */
struct fsc_sys_uprobes fsc_batch_uprobes(const struct fsc_batch *b, size_t first, size_t n);
/* Links them all, in order, and keeps the links. -ESRCH, and no message: the process has ended. */
int fsc_attacher_link(struct fsc_attacher *a, const struct fsc_batch *b, struct fsc_err *err);

#endif
