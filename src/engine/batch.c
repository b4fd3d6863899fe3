/* Batches: building the arrays, linking them, and finding the places that spoil a link. */
#include "engine/batch.h"

#include <errno.h>
#include <stdlib.h>

void fsc_batch_release(struct fsc_batch *b)
{
	free(b->targets);
	free(b->where);
	free(b->ref_ctrs);
	free(b->cookies);
	free(b->names);
}

int fsc_batch_init(struct fsc_batch *b, size_t max, struct fsc_err *err)
{
	b->targets = calloc(max, sizeof(*b->targets));
	b->where = calloc(max, sizeof(*b->where));
	b->ref_ctrs = calloc(max, sizeof(*b->ref_ctrs));
	b->cookies = calloc(max, sizeof(*b->cookies));
	b->names = calloc(max, sizeof(*b->names));
	if (b->targets && b->where && b->ref_ctrs && b->cookies && b->names)
		return 0;
	fsc_batch_release(b);
	return fsc_err_nomem(err);
}

void fsc_batch_add(struct fsc_batch *b, size_t target, uint64_t where, uint64_t flags)
{
	const struct fsc_target *t = fsc_targets_at(b->s->targets, target);
	const struct fsc_target_row *row = fsc_targets_row(b->s->targets, t->row);

	b->targets[b->n] = target;
	b->where[b->n] = where;
	b->ref_ctrs[b->n] = t->ref_ctr;
	b->cookies[b->n] = t->row | flags;
	b->names[b->n] = row->symbol ? row->symbol : row->name;
	b->any_ref_ctr |= t->ref_ctr != 0;
	b->hidden |= !where;
	b->n++;
}

/* Refusals of everything, not of one place: halving would only repeat them. */
static bool is_general(int rc)
{
	return rc == -EPERM || rc == -EACCES || rc == -EMFILE || rc == -ENFILE || rc == -EOPNOTSUPP;
}

int fsc_batch_link(struct fsc_batch *b, size_t first, size_t n,
		   int (*refuse)(struct fsc_batch *b, size_t i, int code, struct fsc_err *err),
		   struct fsc_err *err)
{
	bool one_by_one = b->s->opts.per_row && n > 1;
	int fd = one_by_one ? -E2BIG : b->link(b, first, n), rc;

	if (fd >= 0) {
		/* Of a function that is probed twice, the entry counts. */
		if (!b->s->pairs || b->end == FSC_END_ENTRY || b->end == FSC_END_BOTH)
			fsc_session_stand(b->s, b->rung, n);
		return fsc_session_keep_link(b->s, fd, b->targets[first], err);
	}
	/* That says nothing about the places: other processes may take them. */
	if (fd == -ESRCH && b->pid) {
		b->gone = true;
		return 0;
	}
	if (n == 1 || is_general(fd)) {
		for (size_t i = first; i < first + n; i++) {
			rc = refuse(b, i, fd, err);
			if (rc)
				return rc;
		}
		return 0;
	}
	rc = fsc_batch_link(b, first, n / 2, refuse, err);
	return rc || b->gone ? rc : fsc_batch_link(b, first + n / 2, n - n / 2, refuse, err);
}

int fsc_batch_refuse(struct fsc_batch *b, size_t i, int code, struct fsc_err *err)
{
	return fsc_session_refuse(b->s, b->targets[i], code, err);
}
