/* Reading the sessions of a monitor: measurements, and processes that come and go. */
#include <stdlib.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "monitor/hooks_priv.h"

/* ---- reading ---- */

struct summing {
	const struct batch *b;
	struct fsc_tally *to;
	struct fsc_hooks *h;
	bool only_retired;
	struct fsc_err *err;
};

static const struct retired *find_retired(const struct fsc_hooks *h, pid_t pid)
{
	const uint64_t *at = fsc_map_get(&h->retired_at, &pid, sizeof(pid));

	return at ? FSC_AT(struct retired, &h->retired, *at) : NULL;
}

static enum fsc_forget to_forget(pid_t pid, void *arg)
{
	const struct retired *g = find_retired(arg, pid);

	return !g ? FSC_FORGET_NOTHING : g->alive ? FSC_FORGET_NUMBERS : FSC_FORGET_ALL;
}

static bool is_unwanted(const struct fsc_hooks *h, pid_t pid)
{
	return pid && !fsc_processes_all(h->processes) &&
	       !fsc_filter_only_pids(&h->config->targets) &&
	       fsc_processes_unwanted(h->processes, pid);
}

static int add_error(const struct fsc_error_key *key, uint64_t n, void *arg)
{
	const struct summing *s = arg;

	if (key->row >= s->b->targets.rows.n ||
	    (s->only_retired && !find_retired(s->h, (pid_t)key->pid)))
		return 0;
	return fsc_tally_error(s->to, s->b->func_of[key->row], key->pid, key->code, n, s->err);
}

int fsc_hooks_read_batch(struct fsc_hooks *h, const struct batch *b, bool ends,
			 struct fsc_tally *to, struct fsc_err *err)
{
	struct summing s = {b, to, h, false, err};
	struct fsc_latencies all;
	int rc = fsc_live_latencies(b->live, false, &all, err);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < all.rows.n; i++) {
		const struct fsc_latency *l = FSC_AT(struct fsc_latency, &all.rows, i);
		struct fsc_latency *row;

		if (!ends && is_unwanted(h, (pid_t)l->key.pid))
			continue;
		row = fsc_tally_row(to, b->func_of[l->key.func], l->key.pid);
		if (!row)
			rc = fsc_err_nomem(err);
		else
			fsc_slot_add(row->slot, l->slot), row->floor_ns = l->floor_ns;
	}
	fsc_latencies_release(&all);
	return rc ? rc : fsc_session_errors(b->session, add_error, &s, err);
}

int fsc_hooks_read(struct fsc_hooks *h, struct fsc_tally *to, struct fsc_err *err)
{
	int rc = fsc_tally_merge(to, &h->closed, true, err);

	for (size_t i = 0; !rc && i < h->batches.n; i++)
		rc = fsc_hooks_read_batch(h, batch_at(h, i), false, to, err);
	return rc;
}

/* ---- processes ---- */

/* The first note of a process counts, except for its exit. */
static int note_retired(struct fsc_hooks *h, pid_t pid, bool wanted, bool alive,
			struct fsc_err *err)
{
	bool is_new = false;
	uint64_t *at = fsc_map_put(&h->retired_at, &pid, sizeof(pid), &is_new);
	struct retired *slot = at && is_new ? fsc_vec_push(&h->retired) : NULL;

	if (at && is_new && !slot)
		fsc_map_remove(&h->retired_at, &pid, sizeof(pid));
	if (!at || (is_new && !slot))
		return fsc_err_nomem(err);
	if (!is_new) {
		FSC_AT(struct retired, &h->retired, *at)->alive &= alive;
		return 0;
	}
	*at = h->retired.n - 1;
	*slot = (struct retired){pid, wanted, alive};
	return 0;
}

void fsc_hooks_unjudge(struct fsc_hooks *h, size_t n)
{
	size_t kept = n;

	for (size_t i = n; i < h->retired.n; i++) {
		struct retired g = *FSC_AT(struct retired, &h->retired, i);
		uint64_t *at = fsc_map_get(&h->retired_at, &g.pid, sizeof(g.pid));

		if (g.alive || !at) {
			fsc_map_remove(&h->retired_at, &g.pid, sizeof(g.pid));
			continue;
		}
		g.wanted = true; /* as before the verdict */
		*at = kept;
		*FSC_AT(struct retired, &h->retired, kept++) = g;
	}
	h->retired.n = kept;
}

static void forget_retired(struct fsc_hooks *h)
{
	h->retired.n = 0;
	fsc_map_release(&h->retired_at);
}

int fsc_hooks_set_verdict(struct fsc_hooks *h, pid_t pid, bool wanted, struct fsc_err *err)
{
	int rc = 0;

	if (fsc_processes_all(h->processes) || fsc_filter_only_pids(&h->config->targets))
		return 0;
	for (size_t i = 0; !rc && i < h->batches.n; i++)
		rc = fsc_session_set_verdict(batch_at(h, i)->session, pid, wanted, err);
	/* If other targets are being tried, the sessions in force keep their own verdicts. */
	for (size_t i = 0; !rc && h->trying && !h->was.anew && i < h->was.batches.n; i++)
		rc = fsc_session_set_verdict((*FSC_AT(struct batch *, &h->was.batches, i))->session,
					     pid, wanted, err);
	if (!rc && wanted && h->namer && !fsc_spaces_known(fsc_namer_spaces(h->namer), pid))
		rc = fsc_namer_add_process(h->namer, pid, err);
	return rc || wanted ? rc : note_retired(h, pid, false, true, err);
}

int fsc_hooks_exited(struct fsc_hooks *h, pid_t pid, bool wanted, struct fsc_err *err)
{
	return note_retired(h, pid, wanted, false, err);
}

struct slot_walk {
	struct fsc_hooks *h;
	int (*on_pid)(pid_t pid, void *arg, struct fsc_err *err);
	void *arg;
	struct fsc_err *err;
	pid_t last;
};

static int on_slot(const struct fsc_count_key *key, uint32_t slot, void *arg)
{
	struct slot_walk *m = arg;

	(void)slot;
	if (!key->pid || (pid_t)key->pid == m->last)
		return 0;
	m->last = (pid_t)key->pid;
	if (m->on_pid(m->last, m->arg, m->err))
		return -1;
	return is_unwanted(m->h, m->last) ? note_retired(m->h, m->last, false, true, m->err) : 0;
}

static int add_reclaimed(const struct fsc_count_key *key, const struct fsc_slot *slot, void *arg)
{
	const struct summing *s = arg;
	struct fsc_latency *row = fsc_tally_row(s->to, s->b->func_of[key->row], key->pid);

	if (!row)
		return -1;
	fsc_slot_add(row->slot, slot);
	row->floor_ns = fsc_live_row_floor(s->b->live, key->row);
	return 0;
}

/* Drops what a process counted before it was known not to be a target. */
static void drop_unwanted(const struct fsc_hooks *h, struct batch *b, struct fsc_tally *all)
{
	for (size_t i = 0; i < all->calls.rows.n; i++) {
		const struct fsc_latency *l = FSC_AT(struct fsc_latency, &all->calls.rows, i);
		bool wanted = find_retired(h, (pid_t)l->key.pid)->wanted;

		fsc_log(FSC_LOG_DEBUG, "process %u: %llu calls %s", l->key.pid,
			(unsigned long long)l->slot->count, wanted ? "kept" : "dropped");
		if (!wanted) {
			fsc_live_discard_seen(b->live, l->slot->count);
			memset(l->slot, 0, sizeof(*l->slot));
		}
	}
	for (size_t i = 0; i < all->errors.n; i++) {
		struct fsc_call_errors *e = FSC_AT(struct fsc_call_errors, &all->errors, i);
		uint32_t pid = FSC_AT(struct fsc_latency, &all->calls.rows, e->row)->key.pid;

		if (!find_retired(h, (pid_t)pid)->wanted)
			e->n = 0;
	}
}

static int keep_retired(struct fsc_hooks *h, struct batch *b, struct fsc_tally *ended,
			struct fsc_err *err)
{
	struct fsc_tally all;
	struct summing s = {b, &all, h, true, err};
	int rc;

	fsc_tally_init(&all);
	rc = fsc_session_reclaim(b->session, add_reclaimed, &s, err);
	if (!rc)
		rc = fsc_session_errors(b->session, add_error, &s, err);
	/* What was read is kept, even if memory was too short for the rest. */
	drop_unwanted(h, b, &all);
	if (fsc_tally_merge(ended, &all, true, rc ? NULL : err) && !rc)
		rc = -ENOMEM;
	if (!rc)
		rc = fsc_session_forget(b->session, to_forget, h, err);
	fsc_tally_release(&all);
	return rc;
}

/* One wait is enough for all sessions; none is needed if all the processes have exited. */
static int retire_processes(struct fsc_hooks *h, struct fsc_err *err)
{
	bool alive = false;
	int rc = 0;

	for (size_t i = 0; !rc && i < h->batches.n; i++)
		rc = fsc_session_retire(batch_at(h, i)->session, to_forget, h, &alive, err);
	return rc || !alive ? rc : fsc_session_settle(batch_at(h, 0)->session, err);
}

static bool to_nobody(uint32_t pid, uint32_t *to, void *arg)
{
	*to = FSC_TALLY_NOBODY;
	return find_retired(arg, (pid_t)pid);
}

static int drop_retired(struct fsc_hooks *h, struct fsc_tally *ended, struct fsc_err *err)
{
	int rc = h->retired.n ? retire_processes(h, err) : 0;

	for (size_t i = 0; !rc && h->retired.n && i < h->batches.n; i++)
		rc = keep_retired(h, batch_at(h, i), ended, err);
	if (!rc && h->retired.n && h->closed.calls.rows.n)
		rc = fsc_tally_move(&h->closed, to_nobody, h, err);
	/* After a failure they are tried again. */
	if (!rc)
		forget_retired(h);
	return rc;
}

/* Exited processes first: a process that still has a slot then is new, or is not a target and has
 * returned from a call since the verdict. */
int fsc_hooks_collect(struct fsc_hooks *h, int (*on_pid)(pid_t pid, void *arg, struct fsc_err *err),
		      void *arg, struct fsc_tally *ended, struct fsc_err *err)
{
	struct slot_walk m = {h, on_pid, arg, err, 0};
	int rc = drop_retired(h, ended, err);

	for (size_t i = 0; !rc && i < h->batches.n; i++)
		rc = fsc_session_slots(batch_at(h, i)->session, on_slot, &m, err);
	return rc ? rc : drop_retired(h, ended, err);
}
