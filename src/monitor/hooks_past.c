/* Functions of files that are closed. Their sums stay, but not for ever by file: beyond a number of
 * them, the oldest are summed up by name, in a function without a file. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "monitor/hooks_priv.h"

#define OTHER "other"

void fsc_hooks_note_closed(struct fsc_hooks *h, const struct hooked *f)
{
	h->closings++;
	for (uint32_t row = 0; f->hooks && row < f->targets.rows.n; row++)
		state_at(h, f->hooks[row].func)->closed = h->closings;
}

/* ---- which ---- */

static bool *mark_open(const struct fsc_hooks *h)
{
	bool *open = calloc(h->funcs.n + 1, sizeof(*open));

	for (size_t i = 0; open && i < h->files.n; i++)
		for (uint32_t row = 0; row < hooked_at(h, i)->targets.rows.n; row++)
			open[hooked_at(h, i)->hooks[row].func] = true;
	return open;
}

static int list_closed(const struct fsc_hooks *h, struct fsc_vec *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) bool *open = mark_open(h);
	int rc = 0;

	if (!open)
		return fsc_err_nomem(err);
	for (uint32_t i = 0; !rc && i < h->funcs.n; i++) {
		const struct fsc_fold fold = {i, 0};

		if (!open[i] && !state_at(h, i)->unused &&
		    FSC_AT(struct fsc_func, &h->funcs, i)->binary[0])
			rc = fsc_vec_add(ret, &fold, err);
	}
	return rc;
}

static int by_closing(const void *pa, const void *pb, void *arg)
{
	const struct fsc_fold *a = pa, *b = pb;
	uint64_t x = state_at(arg, a->func)->closed, y = state_at(arg, b->func)->closed;

	return (x > y) - (x < y);
}

/* A pattern may match other names in every file: beyond a number of names all are one. */
static int number_general(struct fsc_hooks *h, size_t most, struct fsc_fold *fold,
			  struct fsc_err *err)
{
	struct fsc_func names = *FSC_AT(struct fsc_func, &h->funcs, fold->func);
	size_t before = h->func_at.n;
	int rc;

	names.binary = "";
	if (h->general >= most)
		names.name = names.symbol = OTHER;
	rc = fsc_hooks_number_of(h, &names, &fold->to, err);
	h->general += h->func_at.n - before;
	if (!rc && h->func_at.n > before && strcmp(names.name, OTHER))
		state_at(h, fold->to)->errors = state_at(h, fold->func)->errors;
	return rc;
}

int fsc_hooks_to_fold(struct fsc_hooks *h, size_t most, struct fsc_vec *ret, struct fsc_err *err)
{
	int rc;

	if (h->trying || h->folded_at == h->closings || h->funcs.n - h->unused.n <= most)
		return 0;
	rc = list_closed(h, ret, err);
	if (!rc && ret->n > most) {
		qsort_r(ret->data, ret->n, ret->size, by_closing, h);
		/* Some more, so that it is not done for each. */
		ret->n -= most - most / 8;
	} else {
		ret->n = 0;
	}
	for (size_t i = 0; !rc && i < ret->n; i++)
		rc = number_general(h, most, FSC_AT(struct fsc_fold, ret, i), err);
	if (rc)
		ret->n = 0;
	else
		h->folded_at = h->closings;
	return rc;
}

/* ---- folding ---- */

static void drop_func(struct fsc_hooks *h, uint32_t func)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf key = {0};

	fsc_hooks_func_key(FSC_AT(struct fsc_func, &h->funcs, func), &key);
	if (fsc_buf_failed(&key))
		return; /* it stays */
	fsc_map_remove(&h->func_at, key.s, key.n);
	fsc_hooks_free_number(h, func);
}

int fsc_hooks_fold(struct fsc_hooks *h, const struct fsc_vec *folds,
		   void (*which)(const struct fsc_tally_part *p, uint32_t *func, uint32_t *pid,
				 void *arg),
		   void *arg, struct fsc_err *err)
{
	struct fsc_tally closed;
	int rc = fsc_tally_renumber(&h->closed, which, arg, &closed, err);

	if (rc)
		return rc;
	fsc_tally_release(&h->closed);
	h->closed = closed;
	for (size_t i = 0; i < folds->n; i++)
		drop_func(h, FSC_AT(struct fsc_fold, folds, i)->func);
	return 0;
}
