/* Places that go into one multi link, as the arrays the kernel wants. Refusals inside are found by
 * halving. */
#ifndef FSC_ENGINE_BATCH_H
#define FSC_ENGINE_BATCH_H

#include "engine/session_priv.h"

struct fsc_batch {
	struct fsc_session *s;
	size_t *targets;
	uint64_t *where, *ref_ctrs, *cookies;
	const char **names;
	size_t n;
	bool any_ref_ctr, hidden; /* hidden: kernel addresses unknown, go by name */
	enum fsc_end end;
	bool *left; /* per target, for refuse() to mark */
	const char *path;
	pid_t pid; /* 0: all processes */
	bool gone; /* set by linking: the process has ended */
	enum fsc_rung rung;
	int (*link)(const struct fsc_batch *b, size_t first, size_t n);
};

/* Room for max places. */
int fsc_batch_init(struct fsc_batch *b, size_t max, struct fsc_err *err);
void fsc_batch_release(struct fsc_batch *b);
/* flags: FSC_COOKIE_*, put beside the row. */
void fsc_batch_add(struct fsc_batch *b, size_t target, uint64_t where, uint64_t flags);
/* Links [first, first + n); what is refused alone goes to refuse(). */
int fsc_batch_link(struct fsc_batch *b, size_t first, size_t n,
		   int (*refuse)(struct fsc_batch *b, size_t i, int code, struct fsc_err *err),
		   struct fsc_err *err);
/* For refuse(): the session lists the place as refused. */
int fsc_batch_refuse(struct fsc_batch *b, size_t i, int code, struct fsc_err *err);

#endif
