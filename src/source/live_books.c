/* The books of a session: everything seen was kept, or lost for a named reason. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "source/live_priv.h"

static int add_refusal(struct fsc_live *l, const char *function, const char *why)
{
	struct fsc_refusal *r = fsc_vec_push(&l->refusals);

	if (!r)
		return -1;
	*r = (struct fsc_refusal){function, why};
	return 0;
}

static const char *refusal_text(int code)
{
	return code == EMFILE ? "out of file descriptors (ulimit -n)" : fsc_err_text(code);
}

/* Per row: its attached places, and whether a refusal is already listed. */
struct row_places {
	size_t left;
	bool listed;
	bool attached; /* of a function's first row: any of its rows is */
};

/* NULL: out of memory. Caller frees. */
static struct row_places *count_places(const struct fsc_live *l)
{
	const struct fsc_vec *refused = fsc_session_refused(l->session);
	struct row_places *rows = calloc(l->targets->rows.n + 1, sizeof(*rows));

	if (!rows)
		return NULL;
	for (size_t i = 0; i < fsc_targets_count(l->targets); i++)
		rows[fsc_targets_at(l->targets, i)->row].left++;
	for (size_t i = 0; i < refused->n; i++) {
		const struct fsc_refused *r = FSC_AT(struct fsc_refused, refused, i);

		rows[fsc_targets_at(l->targets, r->target)->row].left--;
	}
	return rows;
}

/* A function is listed once, however many of its places were refused. partly: only some of them. */
static int add_refusals(struct fsc_live *l, struct row_places *rows, bool partly)
{
	const struct fsc_vec *refused = fsc_session_refused(l->session);
	int rc = 0;

	for (size_t i = 0; !rc && i < refused->n; i++) {
		const struct fsc_refused *r = FSC_AT(struct fsc_refused, refused, i);
		uint32_t row = fsc_targets_at(l->targets, r->target)->row;

		if (rows[row].listed || (rows[row].left > 0) != partly)
			continue;
		rows[row].listed = true;
		rc = add_refusal(l, l->funcs[row].name, r->why ? r->why : refusal_text(r->code));
	}
	return rc;
}

/* Functions without a probe first, then those with probes on some of their places. */
static int list_refusals(struct fsc_live *l, struct row_places *rows, struct fsc_summary *s,
			 struct fsc_err *err)
{
	int rc;

	l->refusals.n = 0;
	rc = add_refusals(l, rows, false);
	for (size_t i = 0; !rc && i < l->targets->skipped.n; i++) {
		const struct fsc_skipped *k = FSC_AT(struct fsc_skipped, &l->targets->skipped, i);

		rc = add_refusal(l, k->name, k->why);
	}
	s->n_refused = l->refusals.n;
	if (!rc)
		rc = add_refusals(l, rows, true);
	s->n_partly = l->refusals.n - s->n_refused;
	s->refused = l->refusals.data;
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
	const struct fsc_session_opts *o = fsc_session_options(l->session);
	struct fsc_profile all;
	uint64_t kept;

	if (o->mode == FSC_MODE_TRACE)
		return fsc_session_records(l->session);
	if (o->mode == FSC_MODE_TIME)
		return count_timed(l, err);
	if (o->mode == FSC_MODE_STACK)
		return count_stacks(l, err) + fsc_session_records(l->session);
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
	/* Hits that a predicate or --sample left out cost as much. */
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

/* Functions, of which a trace has several rows if several have one name. */
static size_t count_attached(const struct fsc_live *l, struct row_places *rows)
{
	size_t n = 0;

	for (size_t row = 0; row < l->targets->rows.n; row++) {
		bool *attached = &rows[fsc_targets_row(l->targets, row)->first].attached;

		n += rows[row].left > 0 && !*attached;
		*attached |= rows[row].left > 0;
	}
	return n;
}

enum {
	COUNT = 1 << FSC_MODE_COUNT,
	TIME = 1 << FSC_MODE_TIME,
	STACK = 1 << FSC_MODE_STACK,
	TRACE = 1 << FSC_MODE_TRACE
};

/* Seen but not kept, by name. For paired calls, calls that have not returned are added later: still
 * running at the end, left by longjmp() or an exception, or deeper than the kernel keeps returns.
 */
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
	    {FSC_LOSS_STACK_BUSY, "stack_busy", STACK},
	    {FSC_LOSS_STACK_COLLIDED, "stack_collided", STACK},
	    {FSC_LOSS_RING_FULL, "ring_full", TRACE},
	    {FSC_LOSS_COPIES_FULL, "ring_full", STACK},
	    {FSC_LOSS_UNREADABLE, "unreadable", TRACE},
	    {FSC_LOSS_TOO_DEEP, "too_deep", TIME | STACK | TRACE},
	    {FSC_LOSS_NO_THREAD, "no_thread", TIME | STACK | TRACE},
	};
	unsigned mode = 1u << fsc_session_options(l->session)->mode;
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

static uint64_t count_seen(const struct fsc_live *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->targets->rows.n; i++)
		n += fsc_session_seen(l->session, (uint32_t)i);
	return n;
}

/* Seen calls that have not returned. Once the probes are detached they are counted independently;
 * until then they are the remainder. */
static uint64_t count_unreturned(const struct fsc_live *l, const struct fsc_summary *s,
				 uint64_t lost)
{
	if (fsc_session_detached(l->session))
		return fsc_session_open_calls(l->session);
	if (l->kept_elsewhere)
		return 0;
	return s->seen > s->kept + lost ? s->seen - s->kept - lost : 0;
}

static void close_books(struct fsc_live *l, struct fsc_summary *s, struct fsc_err *err)
{
	uint64_t lost = add_losses(l, s);
	enum fsc_mode mode = fsc_session_options(l->session)->mode;
	size_t n = 0;

	s->kept = l->kept_elsewhere ? 0 : count_kept(l, s->seen, err);
	/* Read after kept: while calls go on, what was kept was seen by now. */
	s->seen = count_seen(l);
	s->timed = fsc_session_pairs(l->session);
	s->unmatched = fsc_session_loss(l->session, FSC_LOSS_UNMATCHED);
	s->unwatched = fsc_session_loss(l->session, FSC_LOSS_UNWATCHED);
	for (uint32_t i = 0; i < l->targets->rows.n; i++)
		l->funcs[i].records_lost = fsc_session_row_lost(l->session, i);
	s->returns_lost = fsc_session_loss(l->session, FSC_LOSS_RETURN_FULL);
	if (mode != FSC_MODE_STACK)
		s->stacks_lost = fsc_session_loss(l->session, FSC_LOSS_STACK_FULL) +
				 fsc_session_loss(l->session, FSC_LOSS_STACK_COLLIDED) +
				 fsc_session_loss(l->session, FSC_LOSS_COPIES_FULL) +
				 fsc_session_loss(l->session, FSC_LOSS_STACK_BUSY);
	s->filtered = fsc_session_loss(l->session, FSC_LOSS_FILTERED);
	s->sampled_out = fsc_session_loss(l->session, FSC_LOSS_SAMPLED_OUT);
	while (s->lost[n].name)
		n++;
	if (fsc_session_pairs(l->session) && mode != FSC_MODE_TRACE)
		s->lost[n] = (struct fsc_named){FSC_UNRETURNED, count_unreturned(l, s, lost)};
	if (fsc_session_detached(l->session) && !l->kept_elsewhere)
		fsc_summary_balance(s);
}

void fsc_live_keep_elsewhere(struct fsc_live *l)
{
	l->kept_elsewhere = true;
}

static void add_bystanders(const struct fsc_live *l, struct fsc_bystanders *ret)
{
	struct fsc_bystander_hits by;

	ret->known = fsc_session_bystanders(l->session, &by);
	ret->hits = by.hits;
	ret->processes = by.processes;
	ret->partly = by.partly;
	ret->more = by.processes + by.partly >= FSC_MOST_BYSTANDERS;
}

int fsc_live_summary(struct fsc_live *l, uint64_t cpu_ns, bool of_machine, double duration_s,
		     struct fsc_summary *ret, struct fsc_err *err)
{
	struct fsc_summary s = {
	    .duration_s = duration_s, .funcs = l->funcs, .n_funcs = l->targets->rows.n};
	FSC_AUTO(fsc_freep) struct row_places *rows = count_places(l);
	int rc = rows ? list_refusals(l, rows, &s, err) : fsc_err_nomem(err);

	if (!rows || rc)
		return rc;
	s.seen = count_seen(l);
	close_books(l, &s, err);
	add_bystanders(l, &s.bystanders);
	s.unfollowed = fsc_session_loss(l->session, FSC_LOSS_UNFOLLOWED);
	s.missed = fsc_session_missed(l->session);
	s.shifted = fsc_session_shifted(l->session);
	s.attached = count_attached(l, rows);
	s.functions = s.attached + s.n_refused;
	add_rungs(l, &s);
	add_cost(l, cpu_ns, of_machine, &s);
	*ret = s;
	return 0;
}
