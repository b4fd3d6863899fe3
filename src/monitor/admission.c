/* struct fsc_admission. */
#include "monitor/admission.h"

enum state { UNKNOWN, ADMITTED, FOLDED };

void fsc_admission_release(struct fsc_admission *a)
{
	fsc_map_release(&a->states);
	a->rows = 0;
}

bool fsc_admission_folded(const struct fsc_admission *a, uint32_t pid)
{
	const uint64_t *state = fsc_map_get(&a->states, &pid, sizeof(pid));

	return state && *state == FOLDED;
}

void fsc_admission_forget(struct fsc_admission *a, uint32_t pid)
{
	fsc_map_remove(&a->states, &pid, sizeof(pid));
}

static bool is_process(const struct fsc_latency *row)
{
	return row->key.pid != FSC_TALLY_NOBODY && row->key.pid != FSC_TALLY_FOLDED;
}

/* One pass of fsc_admission_fold(): many new processes at once stay below the cap, too. */
struct folding {
	const struct fsc_admission *a;
	struct fsc_map now; /* the next states */
	size_t used, each, cap;
};

static uint64_t admit_new(struct folding *l)
{
	if (l->used + l->each > l->cap)
		return FOLDED;
	l->used += l->each;
	return ADMITTED;
}

static bool decide_row(struct folding *l, const struct fsc_latency *row, uint64_t *ret)
{
	const uint64_t *was = fsc_map_get(&l->a->states, &row->key.pid, sizeof(row->key.pid));
	uint64_t *state = fsc_map_put(&l->now, &row->key.pid, sizeof(row->key.pid), NULL);

	if (!state)
		return false;
	if (*state == UNKNOWN)
		*state = was ? *was : admit_new(l);
	*ret = *state;
	return true;
}

int fsc_admission_fold(struct fsc_admission *a, struct fsc_tally *t, size_t cap,
		       struct fsc_err *err)
{
	struct folding l = {.a = a, .used = a->rows, .each = t->calls.n_funcs, .cap = cap};
	size_t rows = 0;

	for (size_t i = 0; i < t->calls.rows.n; i++) {
		struct fsc_latency *row = FSC_AT(struct fsc_latency, &t->calls.rows, i);
		uint64_t state = UNKNOWN;

		if (is_process(row) && !decide_row(&l, row, &state)) {
			fsc_map_release(&l.now);
			return fsc_err_nomem(err);
		}
		if (is_process(row))
			row->folded = state == FOLDED;
		rows += !row->folded;
	}
	fsc_map_release(&a->states);
	a->states = l.now;
	a->rows = rows;
	return 0;
}
