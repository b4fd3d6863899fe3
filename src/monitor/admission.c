/* struct fsc_admission. */
#include "monitor/admission.h"

enum state { UNKNOWN, ADMITTED, FOLDED };

/* Of an error; of a row without the code. */
struct part_key {
	uint32_t func, pid;
	int64_t code;
};

enum { ROW_KEY = 2 * sizeof(uint32_t) };
_Static_assert(sizeof(struct part_key) == ROW_KEY + sizeof(int64_t), "keys have no padding");

void fsc_admission_release(struct fsc_admission *a)
{
	fsc_map_release(&a->states);
	fsc_map_release(&a->errors);
}

bool fsc_admission_folded(const struct fsc_admission *a, const struct fsc_tally_part *p)
{
	const struct part_key key = {p->func, p->pid, p->code ? *p->code : 0};
	const uint64_t *row = fsc_map_get(&a->states, &key, ROW_KEY);
	const uint64_t *error = p->code ? fsc_map_get(&a->errors, &key, sizeof(key)) : NULL;

	return (row && *row == FOLDED) || (error && *error == FOLDED);
}

/* One pass over rows or errors: those that were admitted keep their place, the others get what is
 * left. */
struct folding {
	const struct fsc_map *was;
	struct fsc_map now; /* the next states */
	size_t key_size, used, kept, cap;
};

static uint64_t state_before(const struct folding *l, const struct part_key *key)
{
	const uint64_t *was = fsc_map_get(l->was, key, l->key_size);

	return was ? *was : UNKNOWN;
}

static void count_admitted(struct folding *l, const struct part_key *key)
{
	l->used += state_before(l, key) == ADMITTED;
}

/* All that were admitted are counted by then. */
static bool decide_part(struct folding *l, const struct part_key *key, bool *ret_folded)
{
	uint64_t *state = fsc_map_put(&l->now, key, l->key_size, NULL);
	uint64_t was = state_before(l, key);

	if (!state)
		return false;
	if (was == ADMITTED)
		*state = l->kept++ < l->cap ? ADMITTED : FOLDED;
	else
		*state = was == UNKNOWN && l->used < l->cap ? ADMITTED : FOLDED;
	l->used += was == UNKNOWN && *state == ADMITTED;
	*ret_folded = *state == FOLDED;
	return true;
}

static struct part_key key_of_row(const struct fsc_latency *row)
{
	return (struct part_key){row->key.func, row->key.pid, 0};
}

static struct part_key key_of_error(const struct fsc_tally *t, const struct fsc_call_errors *e)
{
	struct part_key key = key_of_row(FSC_AT(struct fsc_latency, &t->calls.rows, e->row));

	key.code = e->code;
	return key;
}

static bool fold_rows(struct folding *l, struct fsc_tally *t)
{
	bool ok = true;

	for (size_t i = 0; i < t->calls.rows.n; i++) {
		const struct part_key key =
		    key_of_row(FSC_AT(struct fsc_latency, &t->calls.rows, i));

		count_admitted(l, &key);
	}
	for (size_t i = 0; ok && i < t->calls.rows.n; i++) {
		struct fsc_latency *row = FSC_AT(struct fsc_latency, &t->calls.rows, i);
		const struct part_key key = key_of_row(row);

		if (row->key.pid == FSC_TALLY_FOLDED)
			row->folded = true;
		else
			ok = decide_part(l, &key, &row->folded);
	}
	return ok;
}

static bool fold_errors(struct folding *l, struct fsc_tally *t)
{
	bool ok = true;

	for (size_t i = 0; i < t->errors.n; i++) {
		const struct part_key key =
		    key_of_error(t, FSC_AT(struct fsc_call_errors, &t->errors, i));

		count_admitted(l, &key);
	}
	for (size_t i = 0; ok && i < t->errors.n; i++) {
		struct fsc_call_errors *e = FSC_AT(struct fsc_call_errors, &t->errors, i);
		const struct part_key key = key_of_error(t, e);

		e->folded = FSC_AT(struct fsc_latency, &t->calls.rows, e->row)->folded;
		if (!e->folded)
			ok = decide_part(l, &key, &e->folded);
	}
	return ok;
}

static int fold_parts(struct fsc_map *states, size_t key_size, size_t cap,
		      bool (*fold)(struct folding *l, struct fsc_tally *t), struct fsc_tally *t,
		      struct fsc_err *err)
{
	struct folding l = {.was = states, .key_size = key_size, .cap = cap};

	if (!fold(&l, t)) {
		fsc_map_release(&l.now);
		return fsc_err_nomem(err);
	}
	fsc_map_release(states);
	*states = l.now;
	return 0;
}

int fsc_admission_fold(struct fsc_admission *a, struct fsc_tally *t, size_t cap,
		       struct fsc_err *err)
{
	int rc;

	if (a->by != t->calls.by)
		fsc_admission_release(a);
	a->by = t->calls.by;
	rc = fold_parts(&a->states, ROW_KEY, cap, fold_rows, t, err);
	return rc ? rc : fold_parts(&a->errors, sizeof(struct part_key), cap, fold_errors, t, err);
}
