/* Totals. Nothing is ever dropped: what is removed from one tally is added to another. */
#include "monitor/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "monitor/ledger_priv.h"

enum {
	MOST_ENDED = 512, /* exited processes with rows of their own */
};

int fsc_ledger_new(struct fsc_hooks *hooks, struct fsc_processes *processes, struct fsc_slow *slow,
		   struct fsc_ledger **ret, struct fsc_err *err)
{
	struct fsc_ledger *l = calloc(1, sizeof(*l));

	if (!l)
		return fsc_err_nomem(err);
	l->hooks = hooks;
	l->processes = processes;
	l->slow = slow;
	l->ended = FSC_VEC_INIT(struct ended);
	fsc_tally_init(&l->past);
	fsc_tally_init(&l->arrived);
	fsc_tally_init(&l->before);
	fsc_ledger_begin(l);
	if (fsc_labelsets_new(&l->labels, err)) {
		fsc_ledger_free(l);
		return -ENOMEM;
	}
	*ret = l;
	return 0;
}

void fsc_ledger_begin(struct fsc_ledger *l)
{
	l->start_ns = fsc_clock_ns(CLOCK_REALTIME);
	l->start_mono = l->before_mono = fsc_clock_mono();
}

void fsc_ledger_free(struct fsc_ledger *l)
{
	if (!l)
		return;
	fsc_tally_release(&l->past);
	fsc_tally_release(&l->arrived);
	fsc_tally_release(&l->before);
	fsc_vec_release(&l->ended);
	fsc_map_release(&l->ended_at);
	fsc_admission_release(&l->admission);
	fsc_labelsets_free(l->labels);
	free(l);
}

void fsc_ledger_end(struct fsc_ledger *l)
{
	l->end_mono = fsc_clock_mono();
}

/* ---- exited processes ---- */

int fsc_ledger_ended(struct fsc_ledger *l, pid_t pid, struct fsc_err *err)
{
	const uint32_t key = (uint32_t)pid;
	struct ended *e = fsc_vec_push(&l->ended);
	uint64_t *at = e ? fsc_map_put(&l->ended_at, &key, sizeof(key), NULL) : NULL;

	l->ended.n -= e && !at;
	if (!at)
		return fsc_err_nomem(err);
	*at = l->left + l->ended.n - 1;
	*e = (struct ended){.pid = pid, .at_ns = fsc_clock_mono()};
	snprintf(e->comm, sizeof(e->comm), "%s", fsc_processes_comm(l->processes, pid));
	return 0;
}

/* Its index in the list; false: not in it. */
static bool find_ended(const struct fsc_ledger *l, uint32_t pid, size_t *ret)
{
	const uint64_t *at = fsc_map_get(&l->ended_at, &pid, sizeof(pid));

	if (!at || *at < l->left || *at - l->left >= l->ended.n)
		return false;
	*ret = (size_t)(*at - l->left);
	return true;
}

/* The first n of the list leave it. */
struct leaving {
	const struct fsc_ledger *l;
	size_t n;
};

static uint32_t new_owner(const struct fsc_ledger *l, const struct fsc_tally_part *p)
{
	return ledger_owner_unless_folded(l, p, fsc_labelsets_owner(l->labels, (pid_t)p->pid));
}

static bool is_leaving(const struct fsc_tally_part *p, uint32_t *to, void *arg)
{
	const struct leaving *x = arg;
	size_t at;

	*to = new_owner(x->l, p);
	return find_ended(x->l, p->pid, &at) && at < x->n;
}

int fsc_ledger_forget_ended(struct fsc_ledger *l, size_t n, struct fsc_err *err)
{
	struct leaving x = {l, n};
	int rc = n ? fsc_tally_move_parts(&l->past, is_leaving, &x, err) : 0;

	/* So that the next report does not show them as new. */
	if (!rc && n && l->before.calls.by)
		rc = fsc_tally_move_parts(&l->before, is_leaving, &x, err);
	if (rc || !n)
		return rc;
	for (size_t i = 0; i < n; i++) {
		const uint32_t pid = (uint32_t)FSC_AT(struct ended, &l->ended, i)->pid;
		size_t at;

		if (!find_ended(l, pid, &at) || at >= n)
			continue;
		fsc_map_remove(&l->ended_at, &pid, sizeof(pid));
		fsc_labelsets_forget(l->labels, (pid_t)pid);
	}
	l->ended.n -= n;
	l->left += n;
	memmove(l->ended.data, FSC_AT(struct ended, &l->ended, n),
		l->ended.n * sizeof(struct ended));
	return 0;
}

int fsc_ledger_began(struct fsc_ledger *l, pid_t pid, struct fsc_err *err)
{
	size_t at;

	return find_ended(l, (uint32_t)pid, &at) ? fsc_ledger_forget_ended(l, at + 1, err) : 0;
}

static void name_ended(struct fsc_ledger *l)
{
	for (size_t i = 0; i < l->past.calls.rows.n; i++) {
		struct fsc_count *key = &FSC_AT(struct fsc_latency, &l->past.calls.rows, i)->key;
		size_t at;

		if (!key->comm[0] && find_ended(l, key->pid, &at))
			memcpy(key->comm, FSC_AT(struct ended, &l->ended, at)->comm,
			       sizeof(key->comm));
	}
}

/* Late measurements of a process that has left the list get no row of their own. */
static bool is_late(const struct fsc_tally_part *p, uint32_t *to, void *arg)
{
	const struct fsc_ledger *l = arg;
	size_t at;

	*to = new_owner(l, p);
	return !find_ended(l, p->pid, &at);
}

/* What memory is too short for now is added the next time. */
static int collect_ended(struct fsc_ledger *l,
			 int (*on_pid)(pid_t pid, void *arg, struct fsc_err *err), void *arg,
			 struct fsc_err *err)
{
	int rc = fsc_hooks_collect(l->hooks, on_pid, arg, &l->arrived, err);

	if (!rc)
		rc = fsc_ledger_settle_labels(l, &l->arrived, err);
	return rc ? rc : fsc_tally_drain(&l->past, &l->arrived, is_late, l, err);
}

/* How many of the list, the oldest first, must leave it at least so that the rest has so many rows
 * at most. */
static int too_many_rows(const struct fsc_ledger *l, size_t most, size_t *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) uint32_t *rows = NULL;
	size_t sum = 0, at, n = 0;

	*ret = 0;
	if (l->past.calls.rows.n <= most)
		return 0;
	rows = calloc(l->ended.n + 1, sizeof(*rows));
	if (!rows)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < l->past.calls.rows.n; i++)
		if (find_ended(l, FSC_AT(struct fsc_latency, &l->past.calls.rows, i)->key.pid,
			       &at)) {
			rows[at]++;
			sum++;
		}
	while (n < l->ended.n && sum > most)
		sum -= rows[n++];
	*ret = n;
	return 0;
}

int fsc_ledger_collect(struct fsc_ledger *l, double keep_s, size_t keep_rows,
		       int (*on_pid)(pid_t pid, void *arg, struct fsc_err *err), void *arg,
		       struct fsc_err *err)
{
	uint64_t now = fsc_clock_mono();
	int rc = collect_ended(l, on_pid, arg, err);
	size_t n = 0;

	if (rc)
		return rc;
	name_ended(l);
	/* Not before: on_pid() may have removed others from the list. */
	rc = too_many_rows(l, keep_rows, &n, err);
	if (rc)
		return rc;
	if (l->ended.n > MOST_ENDED && n < l->ended.n - MOST_ENDED)
		n = l->ended.n - MOST_ENDED;
	while (n < l->ended.n &&
	       (double)(now - FSC_AT(struct ended, &l->ended, n)->at_ns) / 1e9 >= keep_s)
		n++;
	rc = fsc_ledger_forget_ended(l, n, err);
	return rc ? rc : fsc_ledger_fold_labels(l, keep_rows, err);
}

/* ---- totals ---- */

/* One that has just exited is in the list, but what it measured not in the past. */
static const char *comm_of(const struct fsc_ledger *l, uint32_t pid)
{
	size_t at;

	return find_ended(l, pid, &at) ? FSC_AT(struct ended, &l->ended, at)->comm
				       : fsc_processes_comm(l->processes, (pid_t)pid);
}

void fsc_ledger_name_rows(const struct fsc_ledger *l, struct fsc_tally *t)
{
	for (size_t i = 0; i < t->calls.rows.n; i++) {
		struct fsc_count *key = &FSC_AT(struct fsc_latency, &t->calls.rows, i)->key;

		if (fsc_tally_pid(key->pid) && !key->comm[0])
			snprintf(key->comm, sizeof(key->comm), "%s", comm_of(l, key->pid));
	}
	for (size_t i = 0; i < t->errors.n; i++) {
		struct fsc_call_errors *e = FSC_AT(struct fsc_call_errors, &t->errors, i);
		uint32_t func = FSC_AT(struct fsc_latency, &t->calls.rows, e->row)->key.func;

		e->name = fsc_hooks_error_name(l->hooks, func, e->code);
	}
}

static int read_tally(struct fsc_ledger *l, struct fsc_tally *ret, struct fsc_err *err)
{
	int rc = fsc_tally_merge(ret, &l->past, true, err);

	if (!rc)
		rc = fsc_tally_merge(ret, &l->arrived, true, err);
	return rc ? rc : fsc_hooks_read(l->hooks, ret, err);
}

static bool to_nobody(const struct fsc_tally_part *p, uint32_t *to, void *arg)
{
	const bool *folded = arg;

	*to = *folded && p->pid == FSC_TALLY_FOLDED ? FSC_TALLY_FOLDED : FSC_TALLY_NOBODY;
	return true;
}

/* Rows of all processes, added up unless apart. folded: what is a part of the folded
 * sum of a page stays apart. */
static int add_up(struct fsc_ledger *l, bool apart, bool folded, struct fsc_tally *ret,
		  struct fsc_err *err)
{
	struct fsc_tally all;
	int rc;

	fsc_tally_init(&all);
	rc = read_tally(l, apart ? ret : &all, err);
	if (!rc)
		rc = fsc_ledger_settle_labels(l, apart ? ret : &all, err);
	if (!rc && !apart)
		rc = fsc_labelsets_on(l->labels)
			 ? fsc_ledger_merge_labelled(l, &all, folded, ret, err)
			 : fsc_tally_drain(ret, &all, to_nobody, &folded, err);
	fsc_tally_release(&all);
	return rc;
}

int fsc_ledger_read(struct fsc_ledger *l, bool apart, bool folded, struct fsc_tally *ret,
		    struct fsc_err *err)
{
	int rc;

	fsc_tally_init(ret);
	rc = add_up(l, apart, folded, ret, err);
	if (rc) {
		fsc_tally_release(ret);
		return rc;
	}
	ret->calls.funcs = fsc_hooks_funcs(l->hooks, &ret->calls.n_funcs);
	ret->calls.by = apart ? FSC_BY_PID | FSC_BY_COMM : 0;
	ret->calls.time_ns = fsc_clock_ns(CLOCK_REALTIME);
	ret->calls.seconds =
	    (double)((l->end_mono ? l->end_mono : fsc_clock_mono()) - l->start_mono) / 1e9;
	ret->calls.parts.slow = true;
	l->kept = 0;
	for (size_t i = 0; i < ret->calls.rows.n; i++)
		l->kept += FSC_AT(struct fsc_latency, &ret->calls.rows, i)->slot->count;
	fsc_ledger_name_rows(l, ret);
	fsc_ledger_name_labels(l, ret);
	return 0;
}

int fsc_ledger_total(struct fsc_ledger *l, bool apart, struct fsc_tally *ret, struct fsc_err *err)
{
	return fsc_ledger_read(l, apart, false, ret, err);
}

uint64_t fsc_ledger_kept(const struct fsc_ledger *l)
{
	return l->kept;
}
