/* Reading what a monitor has measured, and processes that come and go. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "monitor/hooks_priv.h"

/* ---- verdicts ---- */

int fsc_hooks_verdict(const struct fsc_hooks *h, pid_t pid)
{
	const struct fsc_snoop_config *config = h->trying ? h->was.config : h->config;
	const uint64_t *wanted;

	if (fsc_filter_passes_all(&config->targets))
		return 1;
	wanted = fsc_map_get(&h->verdicts, &pid, sizeof(pid));
	return wanted ? *wanted != 0 : -1;
}

static const struct retired *find_retired(const struct fsc_hooks *h, pid_t pid)
{
	const uint64_t *at = fsc_map_get(&h->retired_at, &pid, sizeof(pid));

	return at ? FSC_AT(struct retired, &h->retired, *at) : NULL;
}

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

static void forget_retired(struct fsc_hooks *h)
{
	for (size_t i = 0; i < h->retired.n; i++) {
		const struct retired *r = FSC_AT(struct retired, &h->retired, i);

		if (r->alive)
			continue;
		fsc_map_remove(&h->verdicts, &r->pid, sizeof(r->pid));
		if (h->session)
			fsc_session_forget_exited(h->session, r->pid);
	}
	h->retired.n = 0;
	fsc_map_release(&h->retired_at);
}

/* If all processes count, only a verdict from before has to be replaced. */
static int note_verdict(struct fsc_hooks *h, pid_t pid, bool wanted, struct fsc_err *err)
{
	uint64_t *at;

	if (fsc_filter_passes_all(&h->config->targets) &&
	    !fsc_map_get(&h->verdicts, &pid, sizeof(pid)))
		return 0;
	at = fsc_map_put(&h->verdicts, &pid, sizeof(pid), NULL);
	if (!at)
		return fsc_err_nomem(err);
	*at = wanted;
	return h->session ? fsc_session_set_verdict(h->session, pid, wanted, err) : 0;
}

/* What a process counted as a target stays counted; what it counted before its first verdict only
 * if that is that it is one. */
int fsc_hooks_apply_verdict(struct fsc_hooks *h, pid_t pid, bool wanted, struct fsc_err *err)
{
	int was = fsc_hooks_verdict(h, pid), rc;
	/* Most processes never call a watched function. */
	bool counted = was > 0 || !h->session || fsc_session_is_pending(h->session, pid);

	rc = note_verdict(h, pid, wanted, err);
	if (!rc && wanted && h->namer && !fsc_spaces_known(fsc_namer_spaces(h->namer), pid))
		rc = fsc_namer_add_process(h->namer, pid, err);
	if (rc || wanted || !was || !counted)
		return rc;
	h->urgent = true;
	return note_retired(h, pid, was > 0, true, err);
}

void fsc_hooks_exec(struct fsc_hooks *h, pid_t pid)
{
	if (fsc_hooks_verdict(h, pid) || h->trying)
		return;
	fsc_map_remove(&h->verdicts, &pid, sizeof(pid));
	if (h->session)
		fsc_session_clear_verdict(h->session, pid);
}

bool fsc_hooks_urgent(const struct fsc_hooks *h)
{
	return h->urgent;
}

int fsc_hooks_set_verdict(struct fsc_hooks *h, pid_t pid, bool wanted, struct fsc_err *err)
{
	struct verdict *v;

	if (!h->trying)
		return fsc_hooks_apply_verdict(h, pid, wanted, err);
	v = fsc_vec_push(&h->undecided);
	if (!v)
		return fsc_err_nomem(err);
	*v = (struct verdict){pid, wanted};
	return 0;
}

int fsc_hooks_exited(struct fsc_hooks *h, pid_t pid, struct fsc_err *err)
{
	return note_retired(h, pid, fsc_hooks_verdict(h, pid) > 0, false, err);
}

/* ---- reading ---- */

struct summing {
	struct fsc_hooks *h;
	struct fsc_tally *to;
	const struct hooked *only; /* its rows; NULL: all */
	bool retired;		   /* only of those processes, whatever the verdict on them */
	struct fsc_err *err;
};

/* The function of a row of the session; NULL: it is free. */
static const struct hook *hook_of(const struct fsc_hooks *h, uint32_t row,
				  const struct hooked **ret_file)
{
	const struct hooked *f = row < fsc_session_rows(h->session) ? h->hooked_at[row] : NULL;

	*ret_file = f;
	return f ? &f->hooks[row - fsc_session_first_row(f->part)] : NULL;
}

static int add_slot(const struct summing *s, const struct fsc_count_key *key,
		    const struct fsc_slot *slot)
{
	const struct hooked *f;
	const struct hook *x = hook_of(s->h, key->row, &f);
	struct fsc_latency *row = x ? fsc_tally_row(s->to, x->func, key->pid) : NULL;

	if (!x || (s->only && s->only != f))
		return 0;
	if (!row)
		return -1;
	fsc_slot_add(row->slot, slot);
	row->floor_ns = fsc_live_row_floor(f->live, key->row - fsc_session_first_row(f->part));
	return 0;
}

static int add_measured(const struct fsc_count_key *key, uint32_t slot, void *arg)
{
	const struct summing *s = arg;
	int verdict = fsc_hooks_verdict(s->h, (pid_t)key->pid);
	struct fsc_slot sum;

	if (!verdict)
		return 0;
	fsc_session_slot(s->h->session, slot, &sum);
	if (verdict < 0) {
		s->h->pending += sum.count;
		return 0;
	}
	return add_slot(s, key, &sum);
}

static int add_error(const struct fsc_error_key *key, uint64_t n, void *arg)
{
	const struct summing *s = arg;
	const struct hooked *f;
	const struct hook *x = hook_of(s->h, key->row, &f);

	if (!x || (s->only && s->only != f))
		return 0;
	if (s->retired ? !find_retired(s->h, (pid_t)key->pid)
		       : fsc_hooks_verdict(s->h, (pid_t)key->pid) <= 0)
		return 0;
	return fsc_tally_error(s->to, x->func, key->pid, key->code, n, s->err);
}

/* Only what is certain: a counter that was shown is never taken back. */
int fsc_hooks_read(struct fsc_hooks *h, struct fsc_tally *to, struct fsc_err *err)
{
	struct summing s = {.h = h, .to = to, .err = err};
	int rc = fsc_tally_merge(to, &h->closed, true, err);

	h->pending = 0;
	if (!rc && h->session)
		rc = fsc_session_slots(h->session, add_measured, &s, err);
	if (!rc && h->session)
		rc = fsc_session_errors(h->session, add_error, &s, err);
	return rc;
}

/* ---- processes that exit, or are no targets ---- */

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
	if ((pid_t)key->pid == m->last)
		return 0;
	m->last = (pid_t)key->pid;
	if (m->on_pid(m->last, m->arg, m->err))
		return -1;
	return fsc_hooks_verdict(m->h, m->last) ? 0
						: note_retired(m->h, m->last, false, true, m->err);
}

static bool is_retired(pid_t pid, void *arg)
{
	return find_retired(arg, pid);
}

/* Drops what a process counted before it was known not to be a target. That it was seen stays in
 * the books: no counter goes back. */
static void drop_unwanted(struct fsc_hooks *h, const struct fsc_count_key *key,
			  const struct fsc_slot *slot)
{
	fsc_log(FSC_LOG_DEBUG, "process %u: %llu calls dropped", key->pid,
		(unsigned long long)slot->count);
	h->not_target += slot->count;
}

static int add_reclaimed(const struct fsc_count_key *key, const struct fsc_slot *slot, void *arg)
{
	const struct summing *s = arg;
	const struct retired *r = find_retired(s->h, (pid_t)key->pid);

	if (!r || r->wanted)
		return add_slot(s, key, slot);
	drop_unwanted(s->h, key, slot);
	return 0;
}

static void drop_errors(const struct fsc_hooks *h, struct fsc_tally *all)
{
	for (size_t i = 0; i < all->errors.n; i++) {
		struct fsc_call_errors *e = FSC_AT(struct fsc_call_errors, &all->errors, i);
		uint32_t pid = FSC_AT(struct fsc_latency, &all->calls.rows, e->row)->key.pid;
		const struct retired *r = find_retired(h, (pid_t)pid);

		if (r && !r->wanted)
			e->n = 0;
	}
}

static int keep_retired(struct fsc_hooks *h, struct fsc_tally *ended, struct fsc_err *err)
{
	struct fsc_tally all;
	struct summing s = {.h = h, .to = &all, .retired = true, .err = err};
	int rc;

	fsc_tally_init(&all);
	rc = fsc_session_reclaim(h->session, add_reclaimed, &s, err);
	if (!rc)
		rc = fsc_session_errors(h->session, add_error, &s, err);
	/* What was read is kept, even if memory was too short for the rest. */
	drop_errors(h, &all);
	if (fsc_tally_merge(ended, &all, true, rc ? NULL : err) && !rc)
		rc = -ENOMEM;
	if (!rc)
		rc = fsc_session_forget(h->session, is_retired, h, err);
	fsc_tally_release(&all);
	return rc;
}

static bool has_exited(uint32_t pid, void *arg)
{
	const struct retired *r = find_retired(arg, (pid_t)pid);

	return r && !r->alive;
}

/* Nobody waits if all the processes have exited. */
static int drop_retired(struct fsc_hooks *h, struct fsc_tally *ended, struct fsc_err *err)
{
	bool alive = false;
	int rc = 0;

	if (h->retired.n && h->session) {
		rc = fsc_session_retire(h->session, is_retired, h, &alive, err);
		if (!rc && alive)
			rc = fsc_session_settle(h->session, err);
		if (!rc)
			rc = keep_retired(h, ended, err);
	}
	if (!rc && h->retired.n && h->closed.calls.rows.n)
		rc = fsc_tally_take(ended, &h->closed, has_exited, h, err);
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
	struct slot_walk m = {.h = h, .on_pid = on_pid, .arg = arg, .err = err};
	int rc = drop_retired(h, ended, err);

	h->urgent = false;
	if (!rc && h->session)
		rc = fsc_session_slots(h->session, on_slot, &m, err);
	return rc ? rc : drop_retired(h, ended, err);
}

/* ---- files that are closed ---- */

/* Of a process without a verdict, what it measured here is dropped, and said to be. */
static int add_closed(const struct fsc_count_key *key, const struct fsc_slot *slot, void *arg)
{
	const struct summing *s = arg;

	if (fsc_hooks_verdict(s->h, (pid_t)key->pid) > 0)
		return add_slot(s, key, slot);
	drop_unwanted(s->h, key, slot);
	return 0;
}

int fsc_hooks_read_closed(struct fsc_hooks *h, struct hooked *f, struct fsc_err *err)
{
	struct summing s = {.h = h, .to = &h->closed, .only = f, .err = err};
	int rc = fsc_session_errors(h->session, add_error, &s, err);

	s.only = NULL;
	if (!rc)
		rc = fsc_session_retire_part(f->part, err);
	return rc ? rc : fsc_session_reclaim(h->session, add_closed, &s, err);
}
