/* What the sessions of a monitor cost, and their books: one summary of all, those closed included.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/aside.h"
#include "base/cleanup.h"
#include "monitor/hooks_priv.h"

/* ---- cost ---- */

static void add_cost(struct fsc_hooks *h, struct hooked *f, struct fsc_hooks_cost *ret)
{
	for (uint32_t row = 0; row < f->targets.rows.n; row++) {
		struct hook *x = &f->hooks[row];
		uint64_t bystanders = fsc_session_row_bystanders(f->part, row);
		uint64_t hits = fsc_session_seen(f->part, row) + bystanders;
		double each = fsc_live_row_cost(f->live, row);
		double ns = (double)(hits - x->cost_hits) * each;

		h->bystanders_ns += (double)(bystanders - x->cost_bystanders) * each;
		x->cost_hits = hits;
		x->cost_bystanders = bystanders;
		x->cost_ns = ns;
		ret->ns += ns;
		if (x->entry < 0 || x->off || ns <= ret->costliest_ns)
			continue;
		ret->costliest_ns = ns;
		ret->costliest = FSC_AT(struct fsc_func, &h->funcs, x->func)->name;
	}
}

void fsc_hooks_cost(struct fsc_hooks *h, struct fsc_hooks_cost *ret)
{
	*ret = (struct fsc_hooks_cost){0};
	for (size_t i = 0; i < h->files.n; i++)
		add_cost(h, hooked_at(h, i), ret);
}

static int compare_shed(const void *a, const void *b)
{
	const struct fsc_hooks_shed *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

static int list_costly(const struct fsc_hooks *h, struct fsc_vec *ret, struct fsc_err *err)
{
	for (size_t i = 0; i < h->files.n; i++) {
		const struct hooked *f = hooked_at(h, i);

		for (uint32_t row = 0; row < f->targets.rows.n; row++) {
			const struct hook *x = &f->hooks[row];
			const struct fsc_hooks_shed s = {x->cost_ns, i, x->func, row};

			if (x->entry >= 0 && !x->off && x->cost_ns > 0 && fsc_vec_add(ret, &s, err))
				return -ENOMEM;
		}
	}
	if (ret->n)
		qsort(ret->data, ret->n, sizeof(struct fsc_hooks_shed), compare_shed);
	return 0;
}

struct selection {
	struct hooked *file;
	bool *rows;
};

static int select_job(void *arg, struct fsc_err *err)
{
	const struct selection *s = arg;

	return fsc_session_select(s->file->part, s->rows, err);
}

/* The rows of a file that are not off, while the loop goes on. */
static int select_rows(struct fsc_hooks *h, struct hooked *f, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) bool *rows = calloc(f->targets.rows.n + 1, sizeof(*rows));
	struct selection s = {f, rows};

	if (!rows)
		return fsc_err_nomem(err);
	for (size_t row = 0; row < f->targets.rows.n; row++)
		rows[row] = !f->hooks[row].off;
	return fsc_aside(select_job, &s, &h->meanwhile, err);
}

int fsc_hooks_shed(struct fsc_hooks *h, double most_ns, struct fsc_vec *ret, struct fsc_err *err)
{
	double left = 0;
	size_t n = 0;
	int rc = list_costly(h, ret, err);

	for (size_t i = 0; i < ret->n; i++)
		left += FSC_AT(struct fsc_hooks_shed, ret, i)->ns;
	for (; !rc && n < ret->n && left > most_ns; n++) {
		const struct fsc_hooks_shed *s = FSC_AT(struct fsc_hooks_shed, ret, n);

		left -= s->ns;
		hooked_at(h, s->file)->hooks[s->row].off = true;
	}
	ret->n = n;
	for (size_t i = 0; !rc && i < h->files.n; i++) {
		bool touched = false;

		for (size_t k = 0; k < n; k++)
			touched |= FSC_AT(struct fsc_hooks_shed, ret, k)->file == i;
		rc = touched ? select_rows(h, hooked_at(h, i), err) : 0;
	}
	return rc;
}

static int resume_rows(struct hooked *f, uint32_t func, struct fsc_err *err)
{
	int rc = 0;

	for (uint32_t row = 0; !rc && row < f->targets.rows.n; row++) {
		struct hook *x = &f->hooks[row];

		if (x->func != func || !x->off || x->entry < 0)
			continue;
		rc = fsc_session_resume(f->part, row, err);
		x->off = rc;
	}
	return rc;
}

int fsc_hooks_resume(struct fsc_hooks *h, uint32_t func, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < h->files.n; i++)
		rc = resume_rows(hooked_at(h, i), func, err);
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

/* Adds the numbers of one file's books; what they point to belongs to the file. */
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
static void subtract_silent(const struct hooked *f, struct fsc_summary *s)
{
	for (size_t row = 0; row < f->targets.rows.n; row++) {
		bool silent = f->hooks[row].entry < 0 || f->hooks[row].off;

		s->functions -= silent && s->functions;
		s->attached -= silent && s->attached;
		for (size_t i = 0; silent && i < fsc_targets_count(&f->targets); i++)
			s->places -= fsc_targets_at(&f->targets, i)->row == row && s->places;
	}
}

int fsc_hooks_close_file(struct fsc_hooks *h, struct hooked *f, struct fsc_err *err)
{
	struct fsc_summary s;
	int rc;

	fsc_session_detach(f->part);
	rc = fsc_hooks_send_calls(h, false, err);
	if (!rc)
		rc = fsc_hooks_read_closed(h, f, err);
	if (!rc)
		rc = fsc_live_summary(f->live, 0, false, 0, &s, err);
	if (!rc) {
		subtract_silent(f, &s);
		add_books(&h->past, &s);
		/* They are no longer attached. */
		h->past.functions = h->past.attached = h->past.places = h->past.shifted = 0;
		memset(h->past.via, 0, sizeof(h->past.via));
	}
	fsc_hooks_note_closed(h, f);
	fsc_hooks_free_file(h, f);
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
	return h->session && !fsc_session_detached(h->session);
}

static void close_books(const struct fsc_hooks *h, struct fsc_summary *s)
{
	const size_t max = sizeof(s->lost) / sizeof(s->lost[0]);
	struct fsc_named rest = {FSC_UNRETURNED, s->seen - s->kept};
	const struct fsc_named apart[] = {{FSC_CALLS_PENDING, h->pending},
					  {"not_target", h->not_target}};

	for (size_t i = 0; i < 2; i++)
		if (apart[i].n)
			add_named(s->lost, max, &apart[i]);
	if (!is_running(h)) {
		fsc_summary_balance(s);
		return;
	}
	for (size_t i = 0; s->lost[i].name; i++)
		rest.n -= s->lost[i].n;
	if ((int64_t)rest.n > 0)
		add_named(s->lost, max, &rest);
}

/* While a thread attaches its probes, no more of a file is known than what has been seen. */
static int read_summary(struct fsc_live *live, const struct hooked *f, struct fsc_summary *ret,
			struct fsc_err *err)
{
	if (!f || !f->attaching)
		return fsc_live_summary(live, 0, false, 0, ret, err);
	*ret = (struct fsc_summary){.cost_known = true, .ns_per_hit = fsc_live_row_cost(live, 0)};
	for (uint32_t row = 0; row < f->targets.rows.n; row++)
		ret->seen += fsc_session_seen(f->part, row);
	return 0;
}

/* Adds the books of a file, and those of the session, which has none of its own functions. */
static int add_summary(struct fsc_hooks *h, struct fsc_live *live, const struct hooked *f,
		       struct fsc_summary *all, struct fsc_vec *partly, struct fsc_err *err)
{
	struct fsc_summary s;
	int rc = read_summary(live, f, &s, err);

	if (rc)
		return rc;
	if (f)
		subtract_silent(f, &s);
	else
		all->bystanders = s.bystanders;
	all->bystanders.ns = h->bystanders_ns;
	all->bystanders.known &= !fsc_filter_passes_all(&h->config->targets);
	add_books(all, &s);
	rc = add_refusals(&h->refusals, s.refused, s.n_refused, err);
	return rc ? rc : add_refusals(partly, s.refused + s.n_refused, s.n_partly, err);
}

int fsc_hooks_summary(struct fsc_hooks *h, uint64_t kept, uint64_t cpu_ns, bool of_machine,
		      double duration_s, struct fsc_summary *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec partly = FSC_VEC_INIT(struct fsc_refusal);
	struct fsc_summary all = h->past;
	int rc;

	h->refusals.n = 0;
	rc = h->live ? add_summary(h, h->live, NULL, &all, &partly, err) : 0;
	all.cost_known = true;
	for (size_t i = 0; !rc && i < h->files.n; i++)
		rc = add_summary(h, hooked_at(h, i)->live, hooked_at(h, i), &all, &partly, err);
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
