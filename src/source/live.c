/* Reading a running session. Counts are never cleared in the kernel: an interval is the difference
 * of two snapshots, so that no hit is lost between reading and clearing. */
#include "source/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "source/live_priv.h"

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
		l->funcs[t->row].looped |= fsc_session_on_loop(l->session, t);
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
	l->funcs = calloc(fsc_session_rows(session) + 1, sizeof(*l->funcs));
	l->cost_class = calloc(targets->rows.n + 1, sizeof(*l->cost_class));
	l->cgroups = by & FSC_BY_CGROUP ? fsc_cgroups_new() : NULL;
	if (!l->funcs || !l->cost_class || (by & FSC_BY_CGROUP && !l->cgroups))
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
	*ret_n = fsc_session_rows(l->session);
	return l->funcs;
}

void fsc_live_set_func(struct fsc_live *l, uint32_t row, const struct fsc_func *func)
{
	l->funcs[row] = *func;
}

bool fsc_live_all_user(const struct fsc_live *l)
{
	for (size_t i = 0; i < fsc_targets_count(l->targets); i++)
		if (fsc_targets_at(l->targets, i)->site != FSC_SITE_USER)
			return false;
	return true;
}

static void log_cost(const struct fsc_live *l, int what)
{
	const struct fsc_cost_ns *ns = &l->costs.ns[what];

	fsc_log(FSC_LOG_DEBUG,
		"a hit of %s costs %.0f ns (%.0f to %.0f in %u calibrations), and seems to last "
		"%.0f",
		fsc_cost_name((enum fsc_cost)what), ns->outer, ns->outer, ns->most, ns->n,
		ns->inner);
}

static void fill_costs(struct fsc_live *l)
{
	for (uint32_t i = 0; i < l->targets->rows.n; i++)
		l->funcs[i].hit_ns = fsc_live_row_cost(l, i);
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
		else
			log_cost(l, c);
	}
	fill_costs(l);
}

int fsc_live_recalibrate(struct fsc_live *l, struct fsc_err *err)
{
	bool less = false;

	for (int c = 0; c < FSC_COST_MAX; c++)
		if (l->costs.known[c])
			less |= fsc_calibrate_again(l->session, (enum fsc_cost)c, &l->costs.ns[c]);
	if (less)
		fill_costs(l);
	if (!less || fsc_session_options(l->session)->mode != FSC_MODE_TIME)
		return 0;
	return fsc_live_arm(l, err);
}

void fsc_live_log_costs(const struct fsc_live *l)
{
	for (int c = 0; c < FSC_COST_MAX; c++)
		if (l->costs.known[c])
			log_cost(l, c);
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

double fsc_live_row_floor(const struct fsc_live *l, uint32_t row)
{
	return l->costs.ns[l->cost_class[row]].inner;
}

void fsc_live_note_sampled(struct fsc_live *l, uint32_t row, const struct fsc_sampled *how)
{
	l->funcs[row].sampled = *how;
}

/* ---- snapshots ---- */

struct counting {
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
	struct counting *k = arg;
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
	struct counting k = {l, ret};
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

struct timing {
	struct fsc_live *live;
	struct fsc_latencies *out;
};

static int add_slot(const struct fsc_count_key *key, uint32_t slot, void *arg)
{
	struct timing *t = arg;
	struct fsc_latency *row = fsc_latencies_add(t->out);

	if (!row)
		return -1;
	fill_key(t->live, key, &row->key);
	fsc_session_slot(t->live->session, slot, row->slot);
	row->floor_ns = fsc_live_row_floor(t->live, key->row);
	row->hit_ns = fsc_live_row_cost(t->live, key->row);
	return 0;
}

static int add_function_slots(struct timing *t, bool zeros, struct fsc_err *err)
{
	for (uint32_t i = 0; i < t->live->targets->rows.n; i++) {
		struct fsc_count_key key = {.row = i};

		if ((zeros || fsc_session_seen(t->live->session, i)) && add_slot(&key, i + 1, t))
			return fsc_err_nomem(err);
	}
	return 0;
}

int fsc_live_latencies(struct fsc_live *l, bool zeros, struct fsc_latencies *ret,
		       struct fsc_err *err)
{
	struct timing t = {l, ret};
	int rc;

	*ret = (struct fsc_latencies){
	    .funcs = l->funcs,
	    .n_funcs = l->targets->rows.n,
	    .by = l->by,
	    .rows = FSC_VEC_INIT(struct fsc_latency),
	    .time_ns = fsc_clock_ns(CLOCK_REALTIME),
	};
	rc = l->by ? fsc_session_slots(l->session, add_slot, &t, err)
		   : add_function_slots(&t, zeros, err);
	if (rc)
		fsc_latencies_release(ret);
	return rc;
}
