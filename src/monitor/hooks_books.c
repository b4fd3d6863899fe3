/* What the sessions of a monitor cost, and their books: one summary of all, those closed included.
 */
#include <string.h>

#include "base/cleanup.h"
#include "monitor/hooks_priv.h"

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
		ret->func = b->func_of[row];
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

static int resume_rows(struct batch *b, uint32_t func, struct fsc_err *err)
{
	int rc = 0;

	for (uint32_t row = 0; !rc && row < b->targets.rows.n; row++) {
		if (b->func_of[row] != func || !b->off[row] || b->entry_of[row] < 0)
			continue;
		rc = fsc_session_resume(b->session, row, err);
		b->off[row] = rc;
	}
	return rc;
}

int fsc_hooks_resume(struct fsc_hooks *h, uint32_t func, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < h->batches.n; i++)
		rc = resume_rows(batch_at(h, i), func, err);
	return rc;
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
	rc = fsc_hooks_send_calls(h, b, true, err);
	if (!rc)
		rc = fsc_live_summary(b->live, 0, false, 0, &s, err);
	if (!rc)
		rc = fsc_hooks_read_batch(h, b, true, &h->closed, err);
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
