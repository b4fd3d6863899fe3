/* Which label sets are given up when there are too many of them, or of their rows. */
#include <stdlib.h>

#include "monitor/labelsets_priv.h"

size_t fsc_labelsets_most(const struct fsc_labelsets *s)
{
	return s->o.most;
}

size_t fsc_labelsets_count(const struct fsc_labelsets *s)
{
	return s->all.n;
}

uint64_t fsc_labelsets_folded(const struct fsc_labelsets *s)
{
	return s->folded;
}

void fsc_labelsets_count_row(struct fsc_labelsets *s, uint32_t owner)
{
	if (owner >= FSC_TALLY_SETS)
		labelset_by_number(s, owner)->rows++;
}

static int oldest_first(const void *pa, const void *pb)
{
	const struct labelset *const *a = pa, *const *b = pb;

	return fsc_compare_u64((*a)->since, (*b)->since);
}

int fsc_labelsets_mark(struct fsc_labelsets *s, size_t sets, size_t rows, size_t *ret,
		       struct fsc_err *err)
{
	struct labelset **idle = calloc(s->all.n + 1, sizeof(struct labelset *));
	size_t n = 0, have = 0;

	*ret = 0;
	if (!idle)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < s->all.n; i++) {
		struct labelset *x = *FSC_AT(struct labelset *, &s->all, i);

		have += x->rows;
		x->marked = false;
		if (!x->users)
			idle[n++] = x;
	}
	qsort(idle, n, sizeof(struct labelset *), oldest_first);
	for (; *ret < n && (s->all.n - *ret > sets || have > rows); ++*ret) {
		idle[*ret]->marked = true;
		have -= idle[*ret]->rows;
	}
	free(idle);
	for (size_t i = 0; i < s->all.n; i++)
		(*FSC_AT(struct labelset *, &s->all, i))->rows = 0;
	return 0;
}

bool fsc_labelsets_marked(const struct fsc_labelsets *s, uint32_t owner)
{
	return owner >= FSC_TALLY_SETS && labelset_by_number(s, owner)->marked;
}

void fsc_labelsets_drop_marked(struct fsc_labelsets *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->all.n; i++) {
		struct labelset *x = *FSC_AT(struct labelset *, &s->all, i);

		s->folded += x->marked;
		if (x->marked)
			labelset_drop(s, x);
		else
			*FSC_AT(struct labelset *, &s->all, kept++) = x;
	}
	s->all.n = kept;
}
