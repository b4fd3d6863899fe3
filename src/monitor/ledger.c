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
	MOST_PAST = 1024, /* functions of files that nobody maps any more, likewise */
	SHOWN_SLOW = 10,  /* slow calls of a report */
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

/* ---- files that nobody maps any more ---- */

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

/* ---- totals ---- */

/* One that has just exited is in the list, but what it measured not in the past. */
static const char *comm_of(const struct fsc_ledger *l, uint32_t pid)
{
	size_t at;

	return find_ended(l, pid, &at) ? FSC_AT(struct ended, &l->ended, at)->comm
				       : fsc_processes_comm(l->processes, (pid_t)pid);
}

static void name_rows(const struct fsc_ledger *l, struct fsc_tally *t)
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

static int read_total(struct fsc_ledger *l, bool apart, bool folded, struct fsc_tally *ret,
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
	name_rows(l, ret);
	fsc_ledger_name_labels(l, ret);
	return 0;
}

int fsc_ledger_total(struct fsc_ledger *l, bool apart, struct fsc_tally *ret, struct fsc_err *err)
{
	return read_total(l, apart, false, ret, err);
}

uint64_t fsc_ledger_kept(const struct fsc_ledger *l)
{
	return l->kept;
}

/* ---- reports ---- */

struct row_key {
	uint32_t func, pid;
};

/* Maps function and process to the row. */
static bool index_calls(const struct fsc_latencies *calls, struct fsc_map *ret)
{
	for (size_t i = 0; i < calls->rows.n; i++) {
		const struct fsc_count *k = &FSC_AT(struct fsc_latency, &calls->rows, i)->key;
		struct row_key key = {k->func, k->pid};
		uint64_t *at = fsc_map_put(ret, &key, sizeof(key), NULL);

		if (!at)
			return false;
		*at = i;
	}
	return true;
}

/* Errors since `before`, with the report's rows. */
static int subtract_errors(const struct fsc_tally *now, const struct fsc_tally *before,
			   const struct fsc_map *rows, struct fsc_vec *ret, struct fsc_err *err)
{
	for (size_t i = 0; i < now->errors.n; i++) {
		struct fsc_call_errors e = *FSC_AT(struct fsc_call_errors, &now->errors, i), *slot;
		const struct fsc_count *k =
		    &FSC_AT(struct fsc_latency, &now->calls.rows, e.row)->key;
		struct row_key key = {k->func, k->pid};
		const uint64_t *at = fsc_map_get(rows, &key, sizeof(key));

		e.n -= before ? fsc_tally_errors_of(before, k->func, k->pid, e.code) : 0;
		if (!e.n || !at)
			continue;
		slot = fsc_vec_push(ret);
		if (!slot)
			return fsc_err_nomem(err);
		e.row = (uint32_t)*at;
		*slot = e;
	}
	return 0;
}

static int by_calls(const void *pa, const void *pb, void *arg)
{
	const struct fsc_call_errors *a = pa, *b = pb;
	const struct fsc_latencies *calls = arg;
	const struct fsc_count *x = &FSC_AT(struct fsc_latency, &calls->rows, a->row)->key;
	const struct fsc_count *y = &FSC_AT(struct fsc_latency, &calls->rows, b->row)->key;
	int order = (b->n > a->n) - (b->n < a->n);

	if (!order)
		order = strcmp(calls->funcs[x->func].name, calls->funcs[y->func].name);
	if (!order)
		order = (a->code > b->code) - (a->code < b->code);
	return order ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

void fsc_ledger_sort_errors(struct fsc_vec *errors, const struct fsc_latencies *calls)
{
	if (errors->n)
		qsort_r(errors->data, errors->n, sizeof(struct fsc_call_errors), by_calls,
			(void *)calls);
}

/* The slowest calls of the interval. */
static int choose_slow(struct fsc_ledger *l, bool whole, bool all, struct fsc_vec *ret,
		       struct fsc_err *err)
{
	size_t n, kept = 0;
	const struct fsc_func *funcs = fsc_hooks_funcs(l->hooks, &n);
	int rc = fsc_slow_list(l->slow, funcs, -1, ret, err);

	for (size_t i = 0; i < ret->n; i++) {
		const struct fsc_noted_call *c = *FSC_AT(const struct fsc_noted_call *, ret, i);

		if ((whole || c->id > l->slow_before) && (all || kept < SHOWN_SLOW))
			*FSC_AT(const struct fsc_noted_call *, ret, kept++) = c;
	}
	ret->n = kept;
	l->slow_before = fsc_slow_count(l->slow);
	return rc;
}

static int write_report(struct fsc_ledger *l, struct fsc_sink *sink, const struct fsc_tally *now,
			const struct fsc_latencies *calls, const struct fsc_tally *before,
			unsigned top, struct fsc_err *err)
{
	struct fsc_vec errors = FSC_VEC_INIT(struct fsc_call_errors);
	struct fsc_vec slow = FSC_VEC_INIT(const struct fsc_noted_call *);
	struct fsc_map rows = {0};
	int rc = index_calls(calls, &rows) ? subtract_errors(now, before, &rows, &errors, err)
					   : fsc_err_nomem(err);

	fsc_map_release(&rows);
	fsc_ledger_sort_errors(&errors, calls);
	if (!rc)
		rc = choose_slow(l, !before, !top, &slow, err);
	if (!rc)
		rc = fsc_sink_report(sink,
				     &(struct fsc_report){
					 .calls = calls,
					 .errors = errors.data,
					 .n_errors = errors.n,
					 .slow = slow.data,
					 .n_slow = slow.n,
					 .processes = fsc_processes_count(l->processes, !before),
					 .top = top,
					 .whole = !before,
				     },
				     err);
	fsc_vec_release(&errors);
	fsc_vec_release(&slow);
	return rc;
}

static bool is_same_shape(const struct fsc_ledger *l, struct ledger_shape now)
{
	return !l->before.calls.rows.n ||
	       (l->before_shape.apart == now.apart && l->before_shape.labels == now.labels);
}

/* The report of an interval in which rows became those of something else, by a reload: what both of
 * them can be compared by is the function. */
static int write_by_function(struct fsc_ledger *l, struct fsc_sink *sink,
			     const struct fsc_tally *now, double seconds, unsigned top,
			     struct fsc_err *err)
{
	struct fsc_latencies delta = {0};
	struct fsc_tally a, b;
	int rc;

	fsc_tally_init(&a);
	fsc_tally_init(&b);
	rc = fsc_tally_merge(&a, now, false, err);
	if (!rc)
		rc = fsc_tally_merge(&b, &l->before, false, err);
	a.calls.funcs = now->calls.funcs;
	a.calls.n_funcs = now->calls.n_funcs;
	a.calls.time_ns = now->calls.time_ns;
	a.calls.parts = now->calls.parts;
	if (!rc)
		name_rows(l, &a);
	if (!rc)
		rc = fsc_latencies_subtract(&a.calls, &b.calls, false, &delta, err);
	delta.seconds = seconds;
	if (!rc)
		rc = write_report(l, sink, &a, &delta, &b, top, err);
	fsc_latencies_release(&delta);
	fsc_tally_release(&a);
	fsc_tally_release(&b);
	return rc;
}

static int write_interval(struct fsc_ledger *l, struct fsc_sink *sink, const struct fsc_tally *now,
			  double seconds, unsigned top, struct fsc_err *err)
{
	struct fsc_latencies delta;
	int rc = fsc_latencies_subtract(&now->calls, &l->before.calls, false, &delta, err);

	if (rc)
		return rc;
	delta.parts = now->calls.parts;
	delta.seconds = seconds;
	rc = write_report(l, sink, now, &delta, &l->before, top, err);
	fsc_latencies_release(&delta);
	return rc;
}

int fsc_ledger_report(struct fsc_ledger *l, struct fsc_sink *sink, bool apart, bool whole,
		      unsigned top, struct fsc_err *err)
{
	const struct ledger_shape shape = {apart, l->relabelled};
	uint64_t mono = fsc_clock_mono(), slow_before = l->slow_before;
	double seconds = (double)(mono - l->before_mono) / 1e9;
	struct fsc_tally now;
	int rc = fsc_ledger_total(l, apart, &now, err);

	if (rc)
		return rc;
	if (whole)
		rc = write_report(l, sink, &now, &now.calls, NULL, top, err);
	else if (is_same_shape(l, shape))
		rc = write_interval(l, sink, &now, seconds, top, err);
	else
		rc = write_by_function(l, sink, &now, seconds, top, err);
	if (rc && !whole)
		l->slow_before = slow_before;
	if (rc || whole) {
		fsc_tally_release(&now);
		return rc;
	}
	fsc_tally_release(&l->before);
	l->before = now;
	fsc_ledger_clear_labels(&l->before);
	l->before_shape = shape;
	l->before_mono = mono;
	return 0;
}

/* ---- snapshots ---- */

/* The row's owner, of a call's process. False: its labels are not known any more. */
static bool find_labelled(const struct fsc_ledger *l, uint32_t pid, uint32_t *ret)
{
	*ret = fsc_labelsets_owner(l->labels, (pid_t)pid);
	return !fsc_labelsets_on(l->labels) || fsc_labelsets_knows(l->labels, (pid_t)pid);
}

static int copy_noted(struct fsc_ledger *l, struct fsc_ledger_view *v, struct fsc_err *err)
{
	struct fsc_vec slow = FSC_VEC_INIT(const struct fsc_noted_call *);
	bool apart = v->total.calls.by;
	int rc = fsc_slow_list(l->slow, v->total.calls.funcs, -1, &slow, err);

	v->noted = rc ? NULL : calloc(slow.n + 1, sizeof(*v->noted));
	for (size_t i = 0; v->noted && i < slow.n; i++) {
		const struct fsc_noted_call *c = *FSC_AT(const struct fsc_noted_call *, &slow, i);
		struct fsc_noted_call *to = &v->noted[v->snapshot.n_noted];
		uint32_t owner = apart ? c->call->pid : FSC_TALLY_NOBODY;

		*to = *c;
		if (!apart && !find_labelled(l, c->call->pid, &owner))
			continue;
		v->snapshot.n_noted += fsc_tally_find(&v->total, fsc_slow_func(c), owner, &to->row);
	}
	fsc_vec_release(&slow);
	v->snapshot.noted = v->noted;
	return rc ? rc : v->noted ? 0 : fsc_err_nomem(err);
}

int fsc_ledger_view(struct fsc_ledger *l, bool apart, size_t cap, struct fsc_ledger_view *ret,
		    struct fsc_err *err)
{
	struct fsc_snapshot *s = &ret->snapshot;
	int rc;

	*ret = (struct fsc_ledger_view){0};
	rc = read_total(l, apart, true, &ret->total, err);
	if (rc)
		return rc;
	rc = fsc_admission_fold(&l->admission, &ret->total, cap, err);
	if (!rc)
		rc = copy_noted(l, ret, err);
	if (rc) {
		fsc_ledger_view_release(ret);
		return rc;
	}
	s->start_ns = l->start_ns;
	s->time_ns = ret->total.calls.time_ns;
	s->calls = &ret->total.calls;
	s->errors = ret->total.errors.data;
	s->n_errors = ret->total.errors.n;
	s->books = &ret->books;
	s->processes = fsc_processes_count(l->processes, false);
	s->series_cap = cap;
	s->labelled = fsc_labelsets_on(l->labels);
	s->label_sets = fsc_labelsets_count(l->labels);
	s->label_sets_folded = fsc_labelsets_folded(l->labels);
	return 0;
}

void fsc_ledger_view_release(struct fsc_ledger_view *v)
{
	fsc_tally_release(&v->total);
	free(v->noted);
}
