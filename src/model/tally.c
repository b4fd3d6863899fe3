/* Rows are never removed singly: moving builds a new tally. */
#include "model/tally.h"

#include <stdlib.h>
#include <string.h>

struct row_key {
	uint32_t func, pid;
};

struct error_key {
	uint32_t row, pad;
	int64_t code;
};

void fsc_tally_init(struct fsc_tally *t)
{
	*t = (struct fsc_tally){.calls = {.rows = FSC_VEC_INIT(struct fsc_latency)},
				.errors = FSC_VEC_INIT(struct fsc_call_errors)};
}

void fsc_tally_release(struct fsc_tally *t)
{
	fsc_latencies_release(&t->calls);
	fsc_map_release(&t->row_at);
	fsc_vec_release(&t->errors);
	fsc_map_release(&t->error_at);
}

static struct fsc_latency *row_number(struct fsc_tally *t, uint32_t func, uint32_t pid,
				      uint32_t *ret)
{
	struct row_key key = {func, pid};
	struct fsc_latency *row;
	bool is_new;
	uint64_t *at = fsc_map_put(&t->row_at, &key, sizeof(key), &is_new);

	if (!at)
		return NULL;
	if (is_new) {
		row = fsc_latencies_add(&t->calls);
		if (!row) {
			fsc_map_remove(&t->row_at, &key, sizeof(key));
			return NULL;
		}
		*at = t->calls.rows.n - 1;
		row->key.func = func;
		row->key.pid = pid;
	}
	*ret = (uint32_t)*at;
	return FSC_AT(struct fsc_latency, &t->calls.rows, *at);
}

struct fsc_latency *fsc_tally_row(struct fsc_tally *t, uint32_t func, uint32_t pid)
{
	uint32_t number;

	return row_number(t, func, pid, &number);
}

bool fsc_tally_find(const struct fsc_tally *t, uint32_t func, uint32_t pid, uint32_t *ret)
{
	struct row_key key = {func, pid};
	const uint64_t *at = fsc_map_get(&t->row_at, &key, sizeof(key));

	if (at)
		*ret = (uint32_t)*at;
	return at;
}

int fsc_tally_add(struct fsc_tally *t, uint32_t func, uint32_t pid, const struct fsc_slot *slot,
		  struct fsc_err *err)
{
	struct fsc_latency *row = fsc_tally_row(t, func, pid);

	if (!row)
		return fsc_err_nomem(err);
	fsc_slot_add(row->slot, slot);
	return 0;
}

int fsc_tally_error(struct fsc_tally *t, uint32_t func, uint32_t pid, int64_t code, uint64_t n,
		    struct fsc_err *err)
{
	struct error_key key = {.code = code};
	struct fsc_call_errors *e;
	uint64_t *at;
	bool is_new;

	if (!row_number(t, func, pid, &key.row))
		return fsc_err_nomem(err);
	at = fsc_map_put(&t->error_at, &key, sizeof(key), &is_new);
	e = !at	     ? NULL
	    : is_new ? fsc_vec_push(&t->errors)
		     : FSC_AT(struct fsc_call_errors, &t->errors, *at);
	if (!e && at)
		fsc_map_remove(&t->error_at, &key, sizeof(key));
	if (!e)
		return fsc_err_nomem(err);
	if (is_new) {
		*at = t->errors.n - 1;
		*e = (struct fsc_call_errors){.row = key.row, .code = code};
	}
	e->n += n;
	return 0;
}

uint64_t fsc_tally_errors_of(const struct fsc_tally *t, uint32_t func, uint32_t pid, int64_t code)
{
	struct error_key key = {.code = code};
	const uint64_t *at = fsc_tally_find(t, func, pid, &key.row)
				 ? fsc_map_get(&t->error_at, &key, sizeof(key))
				 : NULL;

	return at ? FSC_AT(struct fsc_call_errors, &t->errors, *at)->n : 0;
}

static int add_row_as(struct fsc_tally *t, const struct fsc_latency *from, uint32_t func,
		      uint32_t pid, struct fsc_err *err)
{
	struct fsc_latency *row = fsc_tally_row(t, func, pid);

	if (!row)
		return fsc_err_nomem(err);
	fsc_slot_add(row->slot, from->slot);
	row->folded |= from->folded || pid == FSC_TALLY_FOLDED;
	row->floor_ns = from->floor_ns > row->floor_ns ? from->floor_ns : row->floor_ns;
	if (pid == from->key.pid)
		memcpy(row->key.comm, from->key.comm, sizeof(row->key.comm));
	return 0;
}

static int add_row(struct fsc_tally *t, const struct fsc_latency *from, uint32_t pid,
		   struct fsc_err *err)
{
	return add_row_as(t, from, from->key.func, pid, err);
}

/* See fsc_tally_move_parts(); NULL: every row keeps its process. */
typedef bool (*new_owner_fn)(const struct fsc_tally_part *p, uint32_t *to, void *arg);

static uint32_t owner_of(const struct fsc_count *key, const int64_t *code, new_owner_fn which,
			 void *arg)
{
	const struct fsc_tally_part p = {key->func, key->pid, code};
	uint32_t to;

	return which && which(&p, &to, arg) ? to : key->pid;
}

static int add_all(struct fsc_tally *t, const struct fsc_tally *from, new_owner_fn which, void *arg,
		   struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < from->calls.rows.n; i++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &from->calls.rows, i);

		if (row->slot->count)
			rc = add_row(t, row, owner_of(&row->key, NULL, which, arg), err);
	}
	for (size_t i = 0; !rc && i < from->errors.n; i++) {
		const struct fsc_call_errors *e = FSC_AT(struct fsc_call_errors, &from->errors, i);
		const struct fsc_count *key =
		    &FSC_AT(struct fsc_latency, &from->calls.rows, e->row)->key;

		if (e->n)
			rc = fsc_tally_error(t, key->func, owner_of(key, &e->code, which, arg),
					     e->code, e->n, err);
	}
	return rc;
}

static bool to_nobody(const struct fsc_tally_part *p, uint32_t *to, void *arg)
{
	(void)p, (void)arg;
	*to = FSC_TALLY_NOBODY;
	return true;
}

int fsc_tally_merge(struct fsc_tally *t, const struct fsc_tally *from, bool apart,
		    struct fsc_err *err)
{
	return add_all(t, from, apart ? NULL : to_nobody, NULL, err);
}

int fsc_tally_merge_parts(struct fsc_tally *t, const struct fsc_tally *from,
			  bool (*which)(const struct fsc_tally_part *p, uint32_t *to, void *arg),
			  void *arg, struct fsc_err *err)
{
	return add_all(t, from, which, arg, err);
}

static void copy_head(struct fsc_latencies *to, const struct fsc_latencies *from)
{
	to->funcs = from->funcs;
	to->n_funcs = from->n_funcs;
	to->by = from->by;
}

int fsc_tally_move_parts(struct fsc_tally *t,
			 bool (*which)(const struct fsc_tally_part *p, uint32_t *to, void *arg),
			 void *arg, struct fsc_err *err)
{
	struct fsc_tally moved;
	int rc;

	fsc_tally_init(&moved);
	rc = add_all(&moved, t, which, arg, err);
	if (rc) {
		fsc_tally_release(&moved);
		return rc;
	}
	copy_head(&moved.calls, &t->calls);
	fsc_tally_release(t);
	*t = moved;
	return 0;
}

int fsc_tally_renumber(const struct fsc_tally *t,
		       void (*which)(const struct fsc_tally_part *p, uint32_t *func, uint32_t *pid,
				     void *arg),
		       void *arg, struct fsc_tally *ret, struct fsc_err *err)
{
	int rc = 0;

	fsc_tally_init(ret);
	copy_head(&ret->calls, &t->calls);
	for (size_t i = 0; !rc && i < t->calls.rows.n; i++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &t->calls.rows, i);
		const struct fsc_tally_part p = {row->key.func, row->key.pid, NULL};
		uint32_t func = p.func, pid = p.pid;

		which(&p, &func, &pid, arg);
		rc = add_row_as(ret, row, func, pid, err);
	}
	for (size_t i = 0; !rc && i < t->errors.n; i++) {
		const struct fsc_call_errors *e = FSC_AT(struct fsc_call_errors, &t->errors, i);
		const struct fsc_count *key =
		    &FSC_AT(struct fsc_latency, &t->calls.rows, e->row)->key;
		const struct fsc_tally_part p = {key->func, key->pid, &e->code};
		uint32_t func = p.func, pid = p.pid;

		which(&p, &func, &pid, arg);
		rc = fsc_tally_error(ret, func, pid, e->code, e->n, err);
	}
	if (rc)
		fsc_tally_release(ret);
	return rc;
}

/* Moves everything, or only the parts of processes for which `only` returns true. What was moved
 * counts nothing in the source any more. */
struct draining {
	bool (*only)(uint32_t pid, void *arg);
	new_owner_fn which;
	void *arg;
};

static bool is_drained(const struct draining *d, uint32_t pid)
{
	return !d->only || d->only(pid, d->arg);
}

static int drain_errors(struct fsc_tally *t, struct fsc_tally *from, const struct draining *d,
			struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < from->errors.n; i++) {
		struct fsc_call_errors *e = FSC_AT(struct fsc_call_errors, &from->errors, i);
		const struct fsc_count *key;

		if (!e->n) /* its row may have been drained */
			continue;
		key = &FSC_AT(struct fsc_latency, &from->calls.rows, e->row)->key;
		if (!is_drained(d, key->pid))
			continue;
		rc = fsc_tally_error(t, key->func, owner_of(key, &e->code, d->which, d->arg),
				     e->code, e->n, err);
		e->n = rc ? e->n : 0;
	}
	return rc;
}

static int drain_rows(struct fsc_tally *t, struct fsc_tally *from, const struct draining *d,
		      struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < from->calls.rows.n; i++) {
		struct fsc_latency *row = FSC_AT(struct fsc_latency, &from->calls.rows, i);

		if (!row->slot->count || !is_drained(d, row->key.pid))
			continue;
		rc = add_row(t, row, owner_of(&row->key, NULL, d->which, d->arg), err);
		if (!rc)
			memset(row->slot, 0, sizeof(*row->slot));
	}
	return rc;
}

static int drain_row(struct fsc_tally *t, const struct fsc_latency *row, const struct draining *d,
		     struct fsc_err *err)
{
	return row->slot->count ? add_row(t, row, owner_of(&row->key, NULL, d->which, d->arg), err)
				: 0;
}

/* Takes the first n rows, which were drained, out of the list. */
static void drop_drained(struct fsc_tally *from, size_t n)
{
	struct fsc_vec *rows = &from->calls.rows;

	rows->n -= n;
	if (rows->n)
		memmove(rows->data, FSC_AT(struct fsc_latency, rows, n),
			rows->n * sizeof(struct fsc_latency));
	for (size_t i = 0; i < rows->n; i++) {
		const struct fsc_count *count = &FSC_AT(struct fsc_latency, rows, i)->key;
		const struct row_key key = {count->func, count->pid};

		*fsc_map_get(&from->row_at, &key, sizeof(key)) = i;
	}
}

/* Each row is freed before the next is added, so that there is memory for one of the two tallies
 * only; in their order, by which views give rows to those that come first. */
static int drain_all_rows(struct fsc_tally *t, struct fsc_tally *from, const struct draining *d,
			  struct fsc_err *err)
{
	struct fsc_vec *rows = &from->calls.rows;
	size_t i;
	int rc = 0;

	for (i = 0; i < rows->n; i++) {
		struct fsc_latency *row = FSC_AT(struct fsc_latency, rows, i);
		const struct row_key key = {row->key.func, row->key.pid};

		rc = drain_row(t, row, d, err);
		if (rc)
			break;
		fsc_map_remove(&from->row_at, &key, sizeof(key));
		free(row->slot);
	}
	drop_drained(from, i);
	return rc;
}

int fsc_tally_drain(struct fsc_tally *t, struct fsc_tally *from,
		    bool (*which)(const struct fsc_tally_part *p, uint32_t *to, void *arg),
		    void *arg, struct fsc_err *err)
{
	const struct draining d = {.which = which, .arg = arg};
	int rc = drain_errors(t, from, &d, err);

	if (!rc)
		rc = drain_all_rows(t, from, &d, err);
	if (rc)
		return rc;
	fsc_tally_release(from);
	fsc_tally_init(from);
	return 0;
}

int fsc_tally_take(struct fsc_tally *t, struct fsc_tally *from,
		   bool (*only)(uint32_t pid, void *arg), void *arg, struct fsc_err *err)
{
	const struct draining d = {.only = only, .arg = arg};
	int rc = drain_errors(t, from, &d, err);

	if (!rc)
		rc = drain_rows(t, from, &d, err);
	/* Frees the rows that are empty now. */
	return rc ? rc : fsc_tally_move_parts(from, NULL, NULL, err);
}
