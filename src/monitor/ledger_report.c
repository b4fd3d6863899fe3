/* Reports and snapshots of the totals. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "monitor/ledger_priv.h"

enum {
	SHOWN_SLOW = 10, /* slow calls of a report */
};

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
		fsc_ledger_name_rows(l, &a);
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
	rc = fsc_ledger_read(l, apart, true, &ret->total, err);
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
