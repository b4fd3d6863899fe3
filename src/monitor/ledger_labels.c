/* The part of the ledger that knows labels: rows of processes become those of their label sets. */
#include "base/cleanup.h"
#include "monitor/ledger_priv.h"

/* ---- rows by labels ---- */

static bool has_process(const struct fsc_latency *row)
{
	return fsc_tally_pid(row->key.pid) != FSC_TALLY_NOBODY;
}

struct labelling {
	const struct fsc_ledger *l;
	bool folded;
};

static bool to_labelled(const struct fsc_tally_part *p, uint32_t *to, void *arg)
{
	const struct labelling *x = arg;

	*to = fsc_labelsets_owner(x->l->labels, (pid_t)p->pid);
	if (p->pid == FSC_TALLY_FOLDED && !x->folded)
		*to = FSC_TALLY_OTHER;
	return p->pid < FSC_TALLY_SETS || (p->pid == FSC_TALLY_FOLDED && !x->folded);
}

int fsc_ledger_merge_labelled(struct fsc_ledger *l, const struct fsc_tally *from, bool folded,
			      struct fsc_tally *ret, struct fsc_err *err)
{
	struct labelling x = {l, folded};

	return fsc_tally_merge_parts(ret, from, to_labelled, &x, err);
}

void fsc_ledger_name_labels(const struct fsc_ledger *l, struct fsc_tally *t)
{
	for (size_t i = 0; i < t->calls.rows.n; i++) {
		struct fsc_latency *row = FSC_AT(struct fsc_latency, &t->calls.rows, i);

		row->labels = fsc_labelsets_of(l->labels, row->key.pid, &row->n_labels);
		row->fields = fsc_labelsets_fields(l->labels, row->key.pid, &row->n_fields);
	}
}

void fsc_ledger_clear_labels(struct fsc_tally *t)
{
	for (size_t i = 0; i < t->calls.rows.n; i++) {
		struct fsc_latency *row = FSC_AT(struct fsc_latency, &t->calls.rows, i);

		row->labels = row->fields = NULL;
		row->n_labels = row->n_fields = 0;
	}
}

/* ---- folding ---- */

struct folding {
	const struct fsc_ledger *l;
	bool folded; /* what is a part of the folded sum stays one */
};

static bool is_marked(const struct fsc_tally_part *p, uint32_t *to, void *arg)
{
	const struct folding *x = arg;

	*to = FSC_TALLY_OTHER;
	if (x->folded)
		*to = ledger_owner_unless_folded(x->l, p, *to);
	return fsc_labelsets_marked(x->l->labels, p->pid);
}

/* The rows of labels that are marked become those of the others; also in a copy, if there is one.
 */
static int fold_marked(struct fsc_ledger *l, struct fsc_tally *copy, struct fsc_err *err)
{
	struct folding past = {l, true}, before = {l, l->before_shape.apart};
	int rc = fsc_tally_move_parts(&l->past, is_marked, &past, err);

	/* So that the next report does not show them as new. */
	if (!rc)
		rc = fsc_tally_move_parts(&l->before, is_marked, &before, err);
	if (!rc && copy)
		rc = fsc_tally_move_parts(copy, is_marked, &past, err);
	if (!rc)
		fsc_labelsets_drop_marked(l->labels);
	return rc;
}

/* Free places for what comes before the next time. */
static size_t sets_to_leave(const struct fsc_ledger *l)
{
	const size_t most = fsc_labelsets_most(l->labels);

	return most < 8 ? most - 1 : most - most / 8;
}

static int fold_idle(struct fsc_ledger *l, struct fsc_tally *copy, size_t keep_rows, size_t *ret,
		     struct fsc_err *err)
{
	int rc;

	for (size_t i = 0; i < l->past.calls.rows.n; i++)
		fsc_labelsets_count_row(
		    l->labels, FSC_AT(struct fsc_latency, &l->past.calls.rows, i)->key.pid);
	rc = fsc_labelsets_mark(l->labels, sets_to_leave(l), keep_rows, ret, err);
	return rc || !*ret ? rc : fold_marked(l, copy, err);
}

/* How many of the exited processes, the oldest first, have rows of their own to lose so that a set
 * is without processes; 0: all have some that run. */
static size_t ended_of_a_set(const struct fsc_ledger *l)
{
	FSC_AUTO(fsc_map_release) struct fsc_map leaving = {0};

	for (size_t i = 0; i < l->ended.n; i++) {
		const pid_t pid = FSC_AT(struct ended, &l->ended, i)->pid;
		const uint32_t owner = fsc_labelsets_owner(l->labels, pid);
		uint64_t *n = fsc_map_put(&leaving, &owner, sizeof(owner), NULL);

		if (n && ++*n == fsc_labelsets_users(l->labels, owner) && owner >= FSC_TALLY_SETS &&
		    owner != FSC_TALLY_OTHER)
			return i + 1;
	}
	return 0;
}

int fsc_ledger_fold_labels(struct fsc_ledger *l, size_t keep_rows, struct fsc_err *err)
{
	const bool crowded = fsc_labelsets_count(l->labels) > sets_to_leave(l);
	size_t n = 0;
	int rc;

	if (!fsc_labelsets_on(l->labels) || (!crowded && l->past.calls.rows.n <= keep_rows))
		return 0;
	rc = fold_idle(l, NULL, keep_rows, &n, err);
	if (rc || n || !crowded)
		return rc;
	n = ended_of_a_set(l);
	rc = fsc_ledger_forget_ended(l, n, err);
	return rc || !n ? rc : fold_idle(l, NULL, keep_rows, &n, err);
}

/* ---- processes ---- */

/* It has called a function: where sets are at their limit, one without processes makes room for its
 * own. */
static int settle_process(struct fsc_ledger *l, pid_t pid, struct fsc_tally *copy,
			  struct fsc_err *err)
{
	const bool full = fsc_labelsets_count(l->labels) >= fsc_labelsets_most(l->labels);
	size_t folded;
	int rc = full ? fsc_labelsets_note(l->labels, pid, false, err) : 0;

	if (!rc && full && fsc_labelsets_needs_room(l->labels, pid))
		rc = fold_idle(l, copy, SIZE_MAX, &folded, err);
	return rc ? rc : fsc_labelsets_note(l->labels, pid, true, err);
}

/* By number: folding moves the rows. */
static int list_processes(const struct fsc_tally *t, struct fsc_vec *ret, struct fsc_err *err)
{
	for (size_t i = 0; i < t->calls.rows.n; i++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &t->calls.rows, i);
		pid_t *pid = has_process(row) ? fsc_vec_push(ret) : NULL;

		if (pid)
			*pid = (pid_t)row->key.pid;
		else if (has_process(row))
			return fsc_err_nomem(err);
	}
	return 0;
}

int fsc_ledger_settle_labels(struct fsc_ledger *l, struct fsc_tally *t, struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec pids = FSC_VEC_INIT(pid_t);
	int rc = list_processes(t, &pids, err);

	for (size_t i = 0; !rc && i < pids.n; i++)
		rc = settle_process(l, *FSC_AT(pid_t, &pids, i), t, err);
	return rc;
}

int fsc_ledger_process(struct fsc_ledger *l, pid_t pid, bool called, struct fsc_err *err)
{
	return called ? settle_process(l, pid, NULL, err)
		      : fsc_labelsets_note(l->labels, pid, false, err);
}

int fsc_ledger_exec(struct fsc_ledger *l, pid_t pid, struct fsc_err *err)
{
	return fsc_labelsets_knows(l->labels, pid) ? fsc_labelsets_note(l->labels, pid, false, err)
						   : 0;
}

void fsc_ledger_forget(struct fsc_ledger *l, pid_t pid)
{
	fsc_labelsets_forget(l->labels, pid);
}

size_t fsc_ledger_about(const struct fsc_ledger *l, pid_t pid,
			struct fsc_label ret[FSC_LABELS + FSC_PROCESS_FIELDS])
{
	size_t labels, fields;
	const struct fsc_label *from = fsc_labelsets_of(l->labels, (uint32_t)pid, &labels);

	for (size_t i = 0; i < labels; i++)
		ret[i] = from[i];
	from = fsc_labelsets_fields(l->labels, (uint32_t)pid, &fields);
	for (size_t i = 0; i < fields; i++)
		ret[labels + i] = from[i];
	return labels + fields;
}

/* ---- other labels ---- */

static bool is_of_a_set(const struct fsc_tally_part *p, uint32_t *to, void *arg)
{
	(void)arg;
	*to = FSC_TALLY_NOBODY;
	return p->pid >= FSC_TALLY_SETS && p->pid != FSC_TALLY_FOLDED;
}

int fsc_ledger_use_labels(struct fsc_ledger *l, const struct fsc_labelsets_opts *o,
			  struct fsc_err *err)
{
	int rc = 0;

	if (fsc_labelsets_differ(l->labels, o)) {
		rc = fsc_tally_move_parts(&l->past, is_of_a_set, NULL, err);
		if (rc)
			return rc;
		fsc_admission_release(&l->admission);
		l->relabelled++;
	}
	return fsc_labelsets_use(l->labels, o, err);
}
