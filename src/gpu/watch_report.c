/* Reports of `gpu` and its footer: events seen, kept and lost, and the cost. */
#include "gpu/watch_priv.h"

static void add_loss(struct fsc_summary *s, size_t *n, const char *name, uint64_t lost)
{
	if (lost)
		s->lost[(*n)++] = (struct fsc_named){.name = name, .n = lost};
}

static void fill_cost(struct fsc_gpu_watching *w, struct fsc_summary *s)
{
	double ns = 0;
	uint64_t cpu_ns;
	bool of_machine;

	for (uint32_t i = 1; i < fsc_gpu_n_rows; i++)
		ns += (double)fsc_gpu_session_hits(w->session, i) *
		      (w->calls[i].flags & FSC_GPU_ENTRY ? w->entry_ns : w->both_ns);
	s->cost_known = w->cost_known;
	/* Per operation, including the calls it is nested in. */
	s->ns_per_hit = s->seen ? ns / (double)s->seen : w->entry_ns;
	cpu_ns = fsc_run_cpu(w->run, w->processes, w->cpu_start, &of_machine);
	s->share_known = w->cost_known && cpu_ns;
	s->percent = cpu_ns ? ns / (double)cpu_ns * 100 : 0;
	s->share_of_machine = of_machine;
}

void fsc_gpu_fill_books(struct fsc_gpu_watching *w, struct fsc_summary *s)
{
	const struct fsc_vec *refused = fsc_gpu_hooks_refused(w->hooks);
	uint64_t lost_stacks;
	size_t n = 0;

	*s = (struct fsc_summary){0};
	for (uint32_t i = 1; i < fsc_gpu_n_rows; i++)
		s->seen += fsc_gpu_session_seen(w->session, i);
	s->seen -= w->unwanted;
	s->kept = fsc_gpu_events_kept(w->events);
	add_loss(s, &n, "ring_full", fsc_gpu_session_loss(w->session, FSC_LOSS_RING_FULL));
	add_loss(s, &n, "too_deep", fsc_gpu_session_loss(w->session, FSC_LOSS_TOO_DEEP));
	add_loss(s, &n, "no_thread", fsc_gpu_session_loss(w->session, FSC_LOSS_NO_THREAD));
	add_loss(s, &n, "damaged", fsc_gpu_session_damaged(w->session));
	if (w->run->end_ns)
		fsc_summary_balance(s);
	s->missed = fsc_gpu_session_missed(w->session);
	s->unmatched = fsc_gpu_session_loss(w->session, FSC_LOSS_UNMATCHED);
	s->attached = s->places = fsc_gpu_hooks_places(w->hooks);
	s->functions = s->attached + refused->n;
	s->refused = refused->data;
	s->n_refused = refused->n;
	fsc_gpu_stacks_books(w->stacks, &lost_stacks, &s->frames, &s->unknown_frames);
	s->frames_known = w->opts->stacks;
	s->stacks_lost = lost_stacks + fsc_gpu_session_loss(w->session, FSC_LOSS_COPIES_FULL);
	s->via[0] = (struct fsc_named){fsc_gpu_session_rung(w->session), s->places};
	s->duration_s = fsc_run_seconds(w->run);
	fill_cost(w, s);
}

static int make_report(struct fsc_gpu_watching *w, bool last, size_t top,
		       struct fsc_gpu_report *ret, struct fsc_err *err)
{
	const struct fsc_gpu_report_opts o = {
	    .leak_age_s = w->opts->leak_age_s, .top = top, .last = last};
	int rc = fsc_gpu_books_report(w->books, &o, ret, err);

	if (rc)
		return rc;
	ret->pending_copies = fsc_gpu_events_pending(w->events);
	ret->verdicts_full = fsc_gpu_session_full(w->session, FSC_GPU_FULL_VERDICTS);
	ret->python_full = fsc_gpu_session_full(w->session, FSC_GPU_FULL_PYTHON);
	ret->lost = fsc_gpu_session_loss(w->session, FSC_LOSS_RING_FULL) +
		    fsc_gpu_session_loss(w->session, FSC_LOSS_TOO_DEEP) +
		    fsc_gpu_session_loss(w->session, FSC_LOSS_NO_THREAD);
	ret->coverage = fsc_gpu_hooks_coverage(w->hooks, &ret->n_coverage);
	return rc;
}

int fsc_gpu_write_report(struct fsc_gpu_watching *w, bool last, struct fsc_err *err)
{
	struct fsc_gpu_report r;
	int rc;

	if (w->flames)
		return last ? fsc_gpu_flames_show(w->flames, &w->run->sink, err) : 0;
	rc = make_report(w, last, w->opts->top, &r, err);
	return rc ? rc : fsc_sink_gpu_report(&w->run->sink, &r, err);
}

int fsc_gpu_on_page(struct fsc_gpu_report *r, struct fsc_summary *books, void *arg,
		    struct fsc_err *err)
{
	struct fsc_gpu_watching *w = arg;

	fsc_gpu_fill_books(w, books);
	return make_report(w, false, 0, r, err);
}
