/* What functions of files have counted that nobody maps any more: kept by file up to a number of
 * them, then by name. */
#include "base/cleanup.h"
#include "monitor/ledger_priv.h"

enum {
	MOST_PAST = 1024, /* functions of such files with rows of their own */
};

struct folding {
	const struct fsc_ledger *l;
	struct fsc_map to; /* function -> the one that stands for it */
};

static void fold_part(const struct fsc_tally_part *p, uint32_t *func, uint32_t *pid, void *arg)
{
	const struct folding *x = arg;
	const uint64_t *to = fsc_map_get(&x->to, &p->func, sizeof(p->func));

	if (!to)
		return;
	*func = (uint32_t)*to;
	/* What is a part of the folded sum of a page stays one. */
	if (fsc_admission_folded(&x->l->admission, p))
		*pid = FSC_TALLY_FOLDED;
}

/* The last report has no folded sum, unless it was by process. */
static void fold_reported(const struct fsc_tally_part *p, uint32_t *func, uint32_t *pid, void *arg)
{
	const struct folding *x = arg;

	fold_part(p, func, pid, arg);
	if (!x->l->before.calls.by)
		*pid = p->pid;
}

/* All or nothing: a row is in the report and in the one before under the same function. */
static int fold_tallies(struct fsc_ledger *l, const struct fsc_vec *folds, struct folding *x,
			struct fsc_err *err)
{
	struct fsc_tally *const of[] = {&l->past, &l->arrived, &l->before};
	struct fsc_tally folded[3];
	size_t n = 0;
	int rc = 0;

	for (; !rc && n < 3; n += !rc)
		rc = fsc_tally_renumber(of[n], of[n] == &l->before ? fold_reported : fold_part, x,
					&folded[n], err);
	if (!rc)
		rc = fsc_hooks_fold(l->hooks, folds, fold_part, x, err);
	for (size_t i = 0; i < n; i++) {
		if (rc) {
			fsc_tally_release(&folded[i]);
			continue;
		}
		fsc_tally_release(of[i]);
		*of[i] = folded[i];
	}
	return rc;
}

static int index_folds(const struct fsc_vec *folds, struct fsc_map *ret, struct fsc_err *err)
{
	for (size_t i = 0; i < folds->n; i++) {
		const struct fsc_fold *f = FSC_AT(struct fsc_fold, folds, i);
		uint64_t *to = fsc_map_put(ret, &f->func, sizeof(f->func), NULL);

		if (!to)
			return fsc_err_nomem(err);
		*to = f->to;
	}
	return 0;
}

int fsc_ledger_fold(struct fsc_ledger *l, void (*folded)(uint32_t func, void *arg), void *arg,
		    struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec folds = FSC_VEC_INIT(struct fsc_fold);
	struct folding x = {.l = l};
	int rc = fsc_hooks_to_fold(l->hooks, MOST_PAST, &folds, err);

	if (!rc && folds.n)
		rc = index_folds(&folds, &x.to, err);
	if (!rc && folds.n)
		rc = fold_tallies(l, &folds, &x, err);
	for (size_t i = 0; !rc && i < folds.n; i++) {
		const struct fsc_fold *f = FSC_AT(struct fsc_fold, &folds, i);

		fsc_slow_fold(l->slow, f->func, f->to);
		folded(f->func, arg);
	}
	fsc_map_release(&x.to);
	return rc;
}
