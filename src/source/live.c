/* Reading a running session. Counts are never cleared in the kernel: an interval is the difference
 * of two snapshots, so that no hit falls between reading and clearing. */
#include "source/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "source/cgroups.h"

struct fsc_live {
	struct fsc_session *session;
	const struct fsc_targets *targets;
	struct fsc_func *funcs;
	uint32_t by;
	struct fsc_cgroups *cgroups;
	enum fsc_cost *cost_class; /* per row */
	struct fsc_costs costs;
	struct fsc_vec refusals; /* struct fsc_refusal */
};

static void fill_funcs(struct fsc_live *l)
{
	for (size_t i = 0; i < l->targets->rows.n; i++) {
		const struct fsc_target_row *r = fsc_targets_row(l->targets, i);

		l->funcs[i] = (struct fsc_func){
		    .kind = r->kind, .binary = r->binary, .name = r->name, .symbol = r->symbol};
	}
	for (size_t i = 0; i < fsc_targets_count(l->targets); i++) {
		const struct fsc_target *t = fsc_targets_at(l->targets, i);

		l->cost_class[t->row] = fsc_cost_of(l->session, t);
	}
}

int fsc_live_new(struct fsc_session *session, const struct fsc_targets *targets, uint32_t by,
		 struct fsc_live **ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_live_freep) struct fsc_live *l = calloc(1, sizeof(*l));

	if (!l)
		return fsc_err_nomem(err);
	l->session = session;
	l->targets = targets;
	l->by = by;
	l->refusals = FSC_VEC_INIT(struct fsc_refusal);
	l->funcs = calloc(targets->rows.n + 1, sizeof(*l->funcs));
	l->cost_class = calloc(targets->rows.n + 1, sizeof(*l->cost_class));
	l->cgroups = fsc_cgroups_new();
	if (!l->funcs || !l->cost_class || !l->cgroups)
		return fsc_err_nomem(err);
	fill_funcs(l);
	*ret = fsc_take(&l);
	return 0;
}

void fsc_live_free(struct fsc_live *l)
{
	if (!l)
		return;
	fsc_cgroups_free(l->cgroups);
	fsc_vec_release(&l->refusals);
	free(l->cost_class);
	free(l->funcs);
	free(l);
}

void fsc_live_freep(struct fsc_live **l)
{
	fsc_live_free(*l);
}

struct fsc_session *fsc_live_session(const struct fsc_live *l)
{
	return l->session;
}

const struct fsc_func *fsc_live_funcs(const struct fsc_live *l, size_t *ret_n)
{
	*ret_n = l->targets->rows.n;
	return l->funcs;
}

bool fsc_live_all_user(const struct fsc_live *l)
{
	for (size_t i = 0; i < fsc_targets_count(l->targets); i++)
		if (fsc_targets_at(l->targets, i)->site != FSC_SITE_USER)
			return false;
	return true;
}

void fsc_live_calibrate(struct fsc_live *l)
{
	bool used[FSC_COST_MAX] = {false};

	for (size_t i = 0; i < l->targets->rows.n; i++)
		used[l->cost_class[i]] = true;
	for (int c = 0; c < FSC_COST_MAX; c++) {
		struct fsc_err err = {0};

		if (!used[c] || l->costs.known[c])
			continue;
		l->costs.known[c] =
		    !fsc_calibrate(l->session, (enum fsc_cost)c, &l->costs.ns[c], &err);
		if (!l->costs.known[c])
			fsc_log(FSC_LOG_DEBUG, "%s", err.msg);
	}
}

const struct fsc_costs *fsc_live_costs(const struct fsc_live *l)
{
	return &l->costs;
}

void fsc_live_use_costs(struct fsc_live *l, const struct fsc_costs *known)
{
	l->costs = *known;
}

double fsc_live_row_cost(const struct fsc_live *l, uint32_t row)
{
	return l->costs.ns[l->cost_class[row]].outer;
}

void fsc_live_note_sampled(struct fsc_live *l, uint32_t row, const struct fsc_sampled *how)
{
	l->funcs[row].sampled = *how;
}

/* ---- snapshots ---- */

struct keyed {
	struct fsc_live *live;
	struct fsc_profile *out;
};

static void fill_key(struct fsc_live *l, const struct fsc_count_key *key, struct fsc_count *c)
{
	c->func = key->row;
	c->pid = key->pid;
	c->tid = key->tid;
	c->cpu = key->cpu;
	c->cgroup = key->cgroup;
	memcpy(c->comm, key->comm, FSC_COMM_LEN);
	if (key->cgroup)
		c->cgroup_path = fsc_cgroups_path(l->cgroups, key->cgroup);
}

static int add_key(const struct fsc_count_key *key, uint64_t count, void *arg)
{
	struct keyed *k = arg;
	struct fsc_count *c = fsc_vec_push(&k->out->counts);

	if (!c)
		return -1;
	fill_key(k->live, key, c);
	c->count = count;
	return 0;
}

static int add_functions(struct fsc_live *l, bool zeros, struct fsc_profile *out,
			 struct fsc_err *err)
{
	for (size_t i = 0; i < l->targets->rows.n; i++) {
		uint64_t n = fsc_session_seen(l->session, (uint32_t)i);
		struct fsc_count *c;

		if (!n && !zeros)
			continue;
		c = fsc_vec_push(&out->counts);
		if (!c)
			return fsc_err_nomem(err);
		c->func = (uint32_t)i;
		c->count = n;
	}
	return 0;
}

int fsc_live_snapshot(struct fsc_live *l, bool zeros, struct fsc_profile *ret, struct fsc_err *err)
{
	struct keyed k = {l, ret};
	int rc;

	*ret = (struct fsc_profile){
	    .funcs = l->funcs,
	    .n_funcs = l->targets->rows.n,
	    .by = l->by,
	    .counts = FSC_VEC_INIT(struct fsc_count),
	    .time_ns = fsc_clock_ns(CLOCK_REALTIME),
	};
	rc = l->by ? fsc_session_keys(l->session, add_key, &k, err)
		   : add_functions(l, zeros, ret, err);
	if (rc)
		fsc_profile_release(ret);
	return rc;
}

/* ---- timings ---- */

int fsc_live_arm(struct fsc_live *l, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < l->targets->rows.n; i++) {
		const struct fsc_cost_ns *c = &l->costs.ns[l->cost_class[i]];

		rc = fsc_session_set_cost(l->session, (uint32_t)i, c->inner, c->outer, err);
	}
	return rc;
}

struct timed {
	struct fsc_live *live;
	struct fsc_latencies *out;
};

static int add_slot(struct timed *t, const struct fsc_count_key *key, uint32_t slot)
{
	struct fsc_latency *row = fsc_latencies_add(t->out);

	if (!row)
		return -1;
	fill_key(t->live, key, &row->key);
	fsc_session_slot(t->live->session, slot, row->slot);
	row->floor_ns = t->live->costs.ns[t->live->cost_class[key->row]].inner;
	return 0;
}

static int add_slot_key(const struct fsc_count_key *key, uint32_t slot, void *arg)
{
	return add_slot(arg, key, slot);
}

static int add_slots(struct timed *t, bool zeros, struct fsc_err *err)
{
	for (uint32_t i = 0; i < t->live->targets->rows.n; i++) {
		struct fsc_count_key key = {.row = i};

		if (!zeros && !fsc_session_seen(t->live->session, i))
			continue;
		if (add_slot(t, &key, i + 1))
			return fsc_err_nomem(err);
	}
	return 0;
}

/* Of a monitor, what keys without a slot of their own have measured together. */
static int add_shared_slots(struct timed *t, struct fsc_err *err)
{
	for (uint32_t i = 0; i < t->live->targets->rows.n; i++) {
		struct fsc_count_key key = {.row = i};
		struct fsc_latency *row;

		if (add_slot(t, &key, i + 1))
			return fsc_err_nomem(err);
		row = FSC_AT(struct fsc_latency, &t->out->rows, t->out->rows.n - 1);
		if (row->slot->count)
			continue;
		free(row->slot);
		t->out->rows.n--;
	}
	return 0;
}

int fsc_live_latencies(struct fsc_live *l, bool zeros, struct fsc_latencies *ret,
		       struct fsc_err *err)
{
	struct timed t = {l, ret};
	int rc;

	*ret = (struct fsc_latencies){
	    .funcs = l->funcs,
	    .n_funcs = l->targets->rows.n,
	    .by = l->by,
	    .rows = FSC_VEC_INIT(struct fsc_latency),
	    .time_ns = fsc_clock_ns(CLOCK_REALTIME),
	};
	rc = l->by ? fsc_session_slots(l->session, add_slot_key, &t, err)
		   : add_slots(&t, zeros, err);
	if (!rc && l->by && fsc_session_monitors(l->session))
		rc = add_shared_slots(&t, err);
	if (rc)
		fsc_latencies_release(ret);
	return rc;
}

/* ---- the books ---- */

static int add_refusal(struct fsc_live *l, const char *function, const char *why)
{
	struct fsc_refusal *r = fsc_vec_push(&l->refusals);

	if (!r)
		return -1;
	*r = (struct fsc_refusal){function, why};
	return 0;
}

static int list_refusals(struct fsc_live *l, struct fsc_summary *s, struct fsc_err *err)
{
	const struct fsc_vec *refused = fsc_session_refused(l->session);
	int rc = 0;

	l->refusals.n = 0;
	for (size_t i = 0; !rc && i < refused->n; i++) {
		const struct fsc_refused *r = FSC_AT(struct fsc_refused, refused, i);
		const struct fsc_target *t = fsc_targets_at(l->targets, r->target);

		rc = add_refusal(l, l->funcs[t->row].name, fsc_err_text(r->code));
	}
	for (size_t i = 0; !rc && i < l->targets->skipped.n; i++) {
		const struct fsc_skipped *k = FSC_AT(struct fsc_skipped, &l->targets->skipped, i);

		rc = add_refusal(l, k->name, k->why);
	}
	s->refused = l->refusals.data;
	s->n_refused = l->refusals.n;
	return rc ? fsc_err_nomem(err) : 0;
}

static uint64_t count_timed(struct fsc_live *l, struct fsc_err *err)
{
	struct fsc_latencies all;
	uint64_t n = 0;

	if (fsc_live_latencies(l, false, &all, err))
		return 0;
	for (size_t i = 0; i < all.rows.n; i++)
		n += FSC_AT(struct fsc_latency, &all.rows, i)->slot->count;
	fsc_latencies_release(&all);
	return n;
}

static int add_calls(const struct fsc_stack_key *key, const struct fsc_stack_sums *sums, void *arg)
{
	uint64_t *n = arg;

	(void)key;
	*n += sums->calls;
	return 0;
}

static uint64_t count_stacks(struct fsc_live *l, struct fsc_err *err)
{
	uint64_t n = 0;

	fsc_session_stacks(l->session, add_calls, &n, err);
	return n;
}

static uint64_t count_kept(struct fsc_live *l, uint64_t seen, struct fsc_err *err)
{
	struct fsc_profile all;
	uint64_t kept;

	if (fsc_session_mode(l->session) == FSC_MODE_TIME)
		return count_timed(l, err);
	if (fsc_session_mode(l->session) == FSC_MODE_STACK)
		return count_stacks(l, err);
	if (!l->by || fsc_live_snapshot(l, false, &all, err))
		return seen;
	kept = fsc_profile_total(&all);
	fsc_profile_release(&all);
	return kept;
}

static void add_cost(const struct fsc_live *l, uint64_t cpu_ns, bool of_machine,
		     struct fsc_summary *s)
{
	double total = 0;

	s->cost_known = l->targets->rows.n > 0;
	for (size_t i = 0; i < l->targets->rows.n; i++) {
		enum fsc_cost c = l->cost_class[i];

		s->cost_known &= l->costs.known[c];
		total += l->costs.ns[c].outer * (double)fsc_session_seen(l->session, (uint32_t)i);
	}
	if (!s->cost_known)
		return;
	s->ns_per_hit = s->seen ? total / (double)s->seen : l->costs.ns[l->cost_class[0]].outer;
	/* Hits that a predicate or --sample left out were hits. */
	total += s->ns_per_hit * (double)(s->filtered + s->sampled_out);
	s->share_known = cpu_ns > 0;
	s->share_of_machine = of_machine;
	if (s->share_known)
		s->percent = 100 * total / (double)cpu_ns;
	if (s->percent > 100)
		s->percent = 100;
}

static void add_rungs(const struct fsc_live *l, struct fsc_summary *s)
{
	size_t n = 0;

	for (int r = 0; r < FSC_RUNG_MAX; r++) {
		size_t places = fsc_session_on_rung(l->session, (enum fsc_rung)r);

		s->places += places;
		if (places)
			s->via[n++] = (struct fsc_named){fsc_rung_names[r], places};
	}
}

/* Functions that stand on at least one place. */
static size_t count_attached(const struct fsc_live *l)
{
	const struct fsc_vec *refused = fsc_session_refused(l->session);
	size_t n = 0;

	for (size_t row = 0; row < l->targets->rows.n; row++) {
		size_t places = 0;

		for (size_t i = 0; refused->n && i < fsc_targets_count(l->targets); i++)
			places += fsc_targets_at(l->targets, i)->row == row;
		for (size_t i = 0; i < refused->n; i++) {
			const struct fsc_refused *r = FSC_AT(struct fsc_refused, refused, i);

			places -= fsc_targets_at(l->targets, r->target)->row == row && places;
		}
		n += !refused->n || places;
	}
	return n;
}

enum {
	COUNT = 1 << FSC_MODE_COUNT,
	TIME = 1 << FSC_MODE_TIME,
	STACK = 1 << FSC_MODE_STACK,
	TRACE = 1 << FSC_MODE_TRACE
};

/* What was seen and not kept, by name. Of paired calls, those that nothing else explains have not
 * returned: they were still running at the end, were left by longjmp() or an exception, or lie
 * deeper than the kernel keeps returns. */
static uint64_t add_losses(const struct fsc_live *l, struct fsc_summary *s)
{
	static const struct {
		enum fsc_loss which;
		const char *name;
		unsigned modes;
	} all[] = {
	    {FSC_LOSS_KEYS_FULL, "keys_full", COUNT | TIME | STACK},
	    {FSC_LOSS_KEYS_BUSY, "keys_busy", COUNT},
	    {FSC_LOSS_STACK_FULL, "stack_full", STACK},
	    {FSC_LOSS_STACK_COLLIDED, "stack_collided", STACK},
	    {FSC_LOSS_RING_FULL, "ring_full", STACK | TRACE},
	    {FSC_LOSS_UNREADABLE, "unreadable", TRACE},
	    {FSC_LOSS_TOO_DEEP, "too_deep", TIME | STACK | TRACE},
	    {FSC_LOSS_NO_THREAD, "no_thread", TIME | STACK | TRACE},
	};
	unsigned mode = 1u << fsc_session_mode(l->session);
	uint64_t sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!(mode & all[i].modes))
			continue;
		s->lost[n] =
		    (struct fsc_named){all[i].name, fsc_session_loss(l->session, all[i].which)};
		sum += s->lost[n++].n;
	}
	return sum;
}

static void close_books(struct fsc_live *l, struct fsc_summary *s, struct fsc_err *err)
{
	uint64_t lost = add_losses(l, s), rest;
	enum fsc_mode mode = fsc_session_mode(l->session);
	size_t n = 0;

	if (mode == FSC_MODE_TRACE || (mode == FSC_MODE_STACK && !fsc_session_pairs(l->session)))
		s->kept = s->seen - (lost < s->seen ? lost : s->seen);
	else
		s->kept = count_kept(l, s->seen, err);
	s->timed = fsc_session_pairs(l->session);
	s->unmatched = fsc_session_loss(l->session, FSC_LOSS_UNMATCHED);
	s->unwatched = fsc_session_loss(l->session, FSC_LOSS_UNWATCHED);
	for (uint32_t i = 0; i < l->targets->rows.n; i++)
		l->funcs[i].records_lost = fsc_session_row_lost(l->session, i);
	s->returns_lost = fsc_session_loss(l->session, FSC_LOSS_RETURN_FULL);
	if (mode != FSC_MODE_STACK)
		s->stacks_lost = fsc_session_loss(l->session, FSC_LOSS_STACK_FULL) +
				 fsc_session_loss(l->session, FSC_LOSS_STACK_COLLIDED);
	s->filtered = fsc_session_loss(l->session, FSC_LOSS_FILTERED);
	s->sampled_out = fsc_session_loss(l->session, FSC_LOSS_SAMPLED_OUT);
	if (mode == FSC_MODE_TRACE || !fsc_session_pairs(l->session))
		return;
	rest = s->seen - s->kept;
	while (s->lost[n].name)
		n++;
	s->lost[n] = (struct fsc_named){"unreturned", rest - (lost < rest ? lost : rest)};
}

int fsc_live_summary(struct fsc_live *l, uint64_t cpu_ns, bool of_machine, double duration_s,
		     struct fsc_summary *ret, struct fsc_err *err)
{
	struct fsc_summary s = {.functions = l->targets->rows.n + l->targets->skipped.n,
				.duration_s = duration_s,
				.funcs = l->funcs,
				.n_funcs = l->targets->rows.n};
	int rc = list_refusals(l, &s, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < l->targets->rows.n; i++)
		s.seen += fsc_session_seen(l->session, (uint32_t)i);
	close_books(l, &s, err);
	s.unfollowed = fsc_session_loss(l->session, FSC_LOSS_UNFOLLOWED);
	s.missed = fsc_session_missed(l->session);
	s.shifted = fsc_session_shifted(l->session);
	s.attached = count_attached(l);
	add_rungs(l, &s);
	add_cost(l, cpu_ns, of_machine, &s);
	*ret = s;
	return 0;
}
