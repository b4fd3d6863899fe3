/* Reading the sessions of a monitor: measurements, processes that come and go, calls, and the
 * books. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "monitor/hooks_priv.h"

enum {
	NAMER_LIFE_S = 600,	/* then the namer is replaced */
	NAMED_PROCESSES = 2048, /* of the machine; those that exited first are dropped first */
};

/* ---- reading ---- */

struct summing {
	const struct batch *b;
	struct fsc_tally *to;
	struct fsc_hooks *h;
	bool only_gone;
	struct fsc_err *err;
};

static const struct gone *find_gone(const struct fsc_hooks *h, pid_t pid)
{
	const uint64_t *at = fsc_map_get(&h->gone_at, &pid, sizeof(pid));

	return at ? FSC_AT(struct gone, &h->gone, *at) : NULL;
}

static enum fsc_forget to_forget(pid_t pid, void *arg)
{
	const struct gone *g = find_gone(arg, pid);

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

	if (key->row >= s->b->targets.rows.n || (s->only_gone && !find_gone(s->h, (pid_t)key->pid)))
		return 0;
	return fsc_tally_error(s->to, s->b->func_of[key->row], key->pid, key->code, n, s->err);
}

/* Adds what a session has measured. ends: the verdicts may be those of another configuration, and
 * those of its own have been applied already. */
static int read_batch(struct fsc_hooks *h, const struct batch *b, bool ends, struct fsc_tally *to,
		      struct fsc_err *err)
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
		rc = read_batch(h, batch_at(h, i), false, to, err);
	return rc;
}

/* ---- processes ---- */

/* The first note of a process counts, except for its exit. */
static int note_gone(struct fsc_hooks *h, pid_t pid, bool wanted, bool alive, struct fsc_err *err)
{
	bool is_new = false;
	uint64_t *at = fsc_map_put(&h->gone_at, &pid, sizeof(pid), &is_new);
	struct gone *slot = at && is_new ? fsc_vec_push(&h->gone) : NULL;

	if (!at || (is_new && !slot))
		return fsc_err_nomem(err);
	if (!is_new) {
		FSC_AT(struct gone, &h->gone, *at)->alive &= alive;
		return 0;
	}
	*at = h->gone.n - 1;
	*slot = (struct gone){pid, wanted, alive};
	return 0;
}

void fsc_hooks_unjudge(struct fsc_hooks *h, size_t n)
{
	size_t kept = n;

	for (size_t i = n; i < h->gone.n; i++) {
		struct gone g = *FSC_AT(struct gone, &h->gone, i);
		uint64_t *at = fsc_map_get(&h->gone_at, &g.pid, sizeof(g.pid));

		if (g.alive || !at) {
			fsc_map_remove(&h->gone_at, &g.pid, sizeof(g.pid));
			continue;
		}
		g.wanted = true; /* as before the verdict */
		*at = kept;
		*FSC_AT(struct gone, &h->gone, kept++) = g;
	}
	h->gone.n = kept;
}

static void forget_gone(struct fsc_hooks *h)
{
	h->gone.n = 0;
	fsc_map_release(&h->gone_at);
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
	return rc || wanted ? rc : note_gone(h, pid, false, true, err);
}

int fsc_hooks_gone(struct fsc_hooks *h, pid_t pid, bool wanted, struct fsc_err *err)
{
	return note_gone(h, pid, wanted, false, err);
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
	return is_unwanted(m->h, m->last) ? note_gone(m->h, m->last, false, true, m->err) : 0;
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
		bool wanted = find_gone(h, (pid_t)l->key.pid)->wanted;

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

		if (!find_gone(h, (pid_t)pid)->wanted)
			e->n = 0;
	}
}

static int keep_gone(struct fsc_hooks *h, struct batch *b, struct fsc_tally *ended,
		     struct fsc_err *err)
{
	struct fsc_tally all;
	struct summing s = {b, &all, h, true, err};
	int rc;

	fsc_tally_init(&all);
	rc = fsc_session_reclaim(b->session, add_reclaimed, &s, err);
	if (!rc)
		rc = fsc_session_errors(b->session, add_error, &s, err);
	if (!rc) {
		drop_unwanted(h, b, &all);
		rc = fsc_tally_merge(ended, &all, true, err);
	}
	if (!rc)
		rc = fsc_session_forget(b->session, to_forget, h, err);
	fsc_tally_release(&all);
	return rc;
}

/* One wait is enough for all sessions; none is needed if all the processes have exited. */
static int retire_gone(struct fsc_hooks *h, struct fsc_err *err)
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
	return find_gone(arg, (pid_t)pid);
}

static int drop_gone(struct fsc_hooks *h, struct fsc_tally *ended, struct fsc_err *err)
{
	int rc = h->gone.n ? retire_gone(h, err) : 0;

	for (size_t i = 0; !rc && h->gone.n && i < h->batches.n; i++)
		rc = keep_gone(h, batch_at(h, i), ended, err);
	if (!rc && h->gone.n && h->closed.calls.rows.n)
		rc = fsc_tally_move(&h->closed, to_nobody, h, err);
	forget_gone(h);
	return rc;
}

/* Exited processes first: a process that still has a slot then is new, or is not a target and has
 * returned from a call since the verdict. */
int fsc_hooks_collect(struct fsc_hooks *h, int (*on_pid)(pid_t pid, void *arg, struct fsc_err *err),
		      void *arg, struct fsc_tally *ended, struct fsc_err *err)
{
	struct slot_walk m = {h, on_pid, arg, err, 0};
	int rc = drop_gone(h, ended, err);

	for (size_t i = 0; !rc && i < h->batches.n; i++)
		rc = fsc_session_slots(batch_at(h, i)->session, on_slot, &m, err);
	return rc ? rc : drop_gone(h, ended, err);
}

/* ---- calls ---- */

struct sending {
	const struct fsc_hooks *h;
	const struct batch *b;
};

void fsc_hooks_on_call(struct fsc_hooks *h, fsc_hooks_call_fn fn, void *arg)
{
	h->on_call = fn;
	h->on_call_arg = arg;
}

static int send_call(const struct fsc_call *c, void *arg, struct fsc_err *err)
{
	const struct sending *s = arg;
	size_t n;
	const struct fsc_func *funcs = fsc_live_funcs(s->b->live, &n);

	return s->h->on_call(c, s->b->func_of[c->func - funcs], s->h->on_call_arg, err);
}

static int send_calls(const struct fsc_hooks *h, const struct batch *b, bool last,
		      struct fsc_err *err)
{
	struct sending s = {h, b};

	return h->on_call ? fsc_call_source_read(b->calls, last, send_call, &s, err) : 0;
}

static int name_target(pid_t pid, bool wanted, void *arg, struct fsc_err *err)
{
	struct fsc_hooks *h = arg;

	return wanted ? fsc_namer_add_process(h->namer, pid, err) : 0;
}

/* Targets are read while they run: a slow call may be their last. */
int fsc_hooks_namer(struct fsc_hooks *h, struct fsc_err *err)
{
	const struct fsc_namer_opts opts = {.max_processes = NAMED_PROCESSES,
					    .told = fsc_processes_has_events(h->processes)};
	int rc;

	if (!h->config->stacks || h->namer)
		return 0;
	h->namer_ns = fsc_clock_mono();
	rc = fsc_namer_new(&opts, &h->namer, err);
	return rc || fsc_processes_all(h->processes)
		   ? rc
		   : fsc_processes_each(h->processes, name_target, h, err);
}

struct fsc_mmaps_to fsc_hooks_also(struct fsc_hooks *h)
{
	return h->namer && fsc_processes_has_events(h->processes) ? fsc_namer_callbacks(h->namer)
								  : (struct fsc_mmaps_to){0};
}

/* The namer grows with every process, so it is replaced now and then. */
static int renew_namer(struct fsc_hooks *h, struct fsc_err *err)
{
	int rc;

	if (!h->namer || fsc_clock_mono() - h->namer_ns < NAMER_LIFE_S * 1000000000ull)
		return 0;
	fsc_namer_free(h->namer);
	h->namer = NULL;
	rc = fsc_hooks_namer(h, err);
	for (size_t i = 0; !rc && i < h->batches.n; i++)
		fsc_call_source_rename(batch_at(h, i)->calls, h->namer);
	return rc;
}

int fsc_hooks_calls(struct fsc_hooks *h, bool last, struct fsc_err *err)
{
	int rc = renew_namer(h, err);

	/* What was not found before may be there now. */
	if (!rc && h->namer)
		rc = fsc_namer_resolve(h->namer, err);
	for (size_t i = 0; !rc && i < h->batches.n; i++)
		rc = send_calls(h, batch_at(h, i), last, err);
	return rc;
}

/* ---- errors ---- */

const char *fsc_hooks_error_name(const struct fsc_hooks *h, uint32_t func, int64_t code)
{
	return fsc_error_name(*FSC_AT(enum fsc_error_rule, &h->rules, func), code);
}

const char *fsc_hooks_error(const struct fsc_hooks *h, uint32_t func, uint64_t ret)
{
	return (uint32_t)ret ? fsc_hooks_error_name(h, func, (int32_t)ret) : NULL;
}

/* ---- cost ---- */

static void add_cost(const struct fsc_hooks *h, struct batch *b, size_t at,
		     struct fsc_hooks_cost *ret)
{
	for (uint32_t row = 0; row < b->targets.rows.n; row++) {
		uint64_t seen = fsc_session_seen(b->session, row);
		double ns = (double)(seen - b->cost_seen[row]) * fsc_live_row_cost(b->live, row);

		b->cost_seen[row] = seen;
		ret->ns += ns;
		if (b->entry_of[row] < 0 || b->off[row] || ns <= ret->costliest_ns)
			continue;
		ret->costliest_ns = ns;
		ret->costliest = FSC_AT(struct fsc_func, &h->funcs, b->func_of[row])->name;
		ret->batch = at;
		ret->row = row;
	}
}

void fsc_hooks_cost(struct fsc_hooks *h, struct fsc_hooks_cost *ret)
{
	*ret = (struct fsc_hooks_cost){0};
	for (size_t i = 0; i < h->batches.n; i++)
		add_cost(h, batch_at(h, i), i, ret);
}

void fsc_hooks_pause(struct fsc_hooks *h, const struct fsc_hooks_cost *cost)
{
	struct batch *b = batch_at(h, cost->batch);

	b->off[cost->row] = true;
	fsc_session_pause(b->session, cost->row);
}

/* ---- the books ---- */

static void add_named(struct fsc_named *all, size_t max, const struct fsc_named *more)
{
	size_t i = 0;

	while (i + 1 < max && all[i].name && strcmp(all[i].name, more->name))
		i++;
	if (i + 1 >= max)
		return;
	all[i].name = more->name;
	all[i].n += more->n;
}

/* Adds the numbers of one session's books; what they point to belongs to the session. */
static void add_books(struct fsc_summary *to, const struct fsc_summary *s)
{
	const size_t max = sizeof(to->lost) / sizeof(to->lost[0]);
	double cost = to->ns_per_hit * (double)to->seen + s->ns_per_hit * (double)s->seen;

	to->cost_known = s->cost_known && (to->cost_known || !to->places);
	to->seen += s->seen;
	to->kept += s->kept;
	if (to->seen)
		to->ns_per_hit = cost / (double)to->seen;
	else if (s->ns_per_hit > to->ns_per_hit)
		to->ns_per_hit = s->ns_per_hit;
	for (size_t i = 0; s->lost[i].name; i++)
		add_named(to->lost, max, &s->lost[i]);
	for (size_t i = 0; s->via[i].name; i++)
		add_named(to->via, max, &s->via[i]);
	to->missed += s->missed;
	to->unmatched += s->unmatched;
	to->functions += s->functions;
	to->attached += s->attached;
	to->places += s->places;
	to->shifted += s->shifted;
	to->returns_lost += s->returns_lost;
	to->stacks_lost += s->stacks_lost;
	to->timed = true;
}

/* Muted and detached functions are left out. */
static void subtract_silent(const struct batch *b, struct fsc_summary *s)
{
	for (size_t row = 0; row < b->targets.rows.n; row++) {
		bool silent = b->entry_of[row] < 0 || b->off[row];

		s->functions -= silent && s->functions;
		s->attached -= silent && s->attached;
		for (size_t i = 0; silent && i < fsc_targets_count(&b->targets); i++)
			s->places -= fsc_targets_at(&b->targets, i)->row == row && s->places;
	}
}

int fsc_hooks_close(struct fsc_hooks *h, struct batch *b, struct fsc_err *err)
{
	struct fsc_summary s;
	int rc;

	fsc_session_detach(b->session);
	rc = send_calls(h, b, true, err);
	if (!rc)
		rc = fsc_live_summary(b->live, 0, false, 0, &s, err);
	if (!rc)
		rc = read_batch(h, b, true, &h->closed, err);
	if (!rc) {
		subtract_silent(b, &s);
		add_books(&h->past, &s);
		/* They are no longer attached. */
		h->past.functions = h->past.attached = h->past.places = h->past.shifted = 0;
		memset(h->past.via, 0, sizeof(h->past.via));
	}
	fsc_hooks_free_batch(b);
	return rc;
}

static int add_refusals(struct fsc_vec *to, const struct fsc_refusal *refused, size_t n,
			struct fsc_err *err)
{
	for (size_t i = 0; i < n; i++) {
		struct fsc_refusal *r = fsc_vec_push(to);

		if (!r)
			return fsc_err_nomem(err);
		*r = refused[i];
	}
	return 0;
}

/* While running, calls that nothing else explains have not returned yet. */
static bool is_running(const struct fsc_hooks *h)
{
	for (size_t i = 0; i < h->batches.n; i++)
		if (!fsc_session_detached(batch_at(h, i)->session))
			return true;
	return false;
}

static void close_books(const struct fsc_hooks *h, struct fsc_summary *s)
{
	struct fsc_named rest = {FSC_UNRETURNED, s->seen - s->kept};

	if (!is_running(h)) {
		fsc_summary_balance(s);
		return;
	}
	for (size_t i = 0; s->lost[i].name; i++)
		rest.n -= s->lost[i].n;
	if ((int64_t)rest.n > 0)
		add_named(s->lost, sizeof(s->lost) / sizeof(s->lost[0]), &rest);
}

int fsc_hooks_summary(struct fsc_hooks *h, uint64_t kept, uint64_t cpu_ns, bool of_machine,
		      double duration_s, struct fsc_summary *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec partly = FSC_VEC_INIT(struct fsc_refusal);
	struct fsc_summary all = h->past;
	int rc = 0;

	h->refusals.n = 0;
	for (size_t i = 0; !rc && i < h->batches.n; i++) {
		struct fsc_summary s;

		rc = fsc_live_summary(batch_at(h, i)->live, 0, false, duration_s, &s, err);
		if (rc)
			break;
		subtract_silent(batch_at(h, i), &s);
		add_books(&all, &s);
		rc = add_refusals(&h->refusals, s.refused, s.n_refused, err);
		if (!rc && s.n_partly)
			rc = add_refusals(&partly, s.refused + s.n_refused, s.n_partly, err);
	}
	all.n_refused = h->refusals.n;
	if (!rc)
		rc = add_refusals(&h->refusals, partly.data, partly.n, err);
	all.n_partly = h->refusals.n - all.n_refused;
	all.kept = kept;
	close_books(h, &all);
	all.refused = h->refusals.data;
	all.duration_s = duration_s;
	all.share_known = all.cost_known && cpu_ns;
	all.share_of_machine = of_machine;
	if (all.share_known)
		all.percent = 100 * all.ns_per_hit * (double)all.seen / (double)cpu_ns;
	if (all.percent > 100)
		all.percent = 100;
	*ret = all;
	return rc;
}
