/* Records from the rings: processed once their process is known to be a target. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "gpu/watch_priv.h"

int fsc_gpu_on_event(void *arg, const struct fsc_gpu_event *e, uint32_t stack, struct fsc_err *err)
{
	struct fsc_gpu_watching *w = arg;
	int rc = w->flames ? fsc_gpu_flames_add(w->flames, e, stack, err) : 0;

	return rc ? rc : fsc_sink_gpu_event(&w->run->sink, e, err);
}

struct record_arg {
	struct fsc_gpu_watching *w;
	struct fsc_err *err;
};

/* The verdict may need process events that have not been read yet. */
static int hold_record(struct fsc_gpu_watching *w, const void *rec, size_t size,
		       struct fsc_err *err)
{
	uint64_t n = size;

	fsc_buf_add(&w->held, (const char *)&n, sizeof(n));
	fsc_buf_add(&w->held, rec, size);
	fsc_buf_pad(&w->held, 0, -w->held.n & 7); /* aligned as the ring's are */
	return fsc_buf_failed(&w->held) ? fsc_err_nomem(err) : 0;
}

static int take_record(struct fsc_gpu_watching *w, const void *rec, size_t size,
		       struct fsc_err *err)
{
	const struct fsc_gpu_rec *r = rec;
	int rc = 0;

	if (r->flags & FSC_GPU_REC_STACK)
		rc = fsc_gpu_stacks_prefetch(w->stacks, r, (const void *)(r + 1), err);
	return rc ? rc : fsc_gpu_events_take(w->events, rec, size, err);
}

static int on_record(const void *rec, size_t size, void *arg)
{
	struct record_arg *t = arg;
	struct fsc_gpu_watching *w = t->w;
	pid_t pid = (pid_t)((const struct fsc_gpu_rec *)rec)->pid;
	const struct fsc_processes_to to = fsc_gpu_process_callbacks(w);
	int rc, verdict;

	if (fsc_processes_all(w->processes))
		return take_record(w, rec, size, t->err);
	verdict = fsc_processes_verdict(w->processes, pid);
	if (verdict < 0) {
		rc = fsc_processes_add(w->processes, pid, &to, t->err);
		if (rc)
			return rc;
		verdict = fsc_processes_verdict(w->processes, pid);
	}
	if (verdict < 0 && !w->no_doubts)
		return hold_record(w, rec, size, t->err);
	if (verdict)
		return take_record(w, rec, size, t->err);
	w->unwanted++;
	return 0;
}

/* Processes of held records may have a verdict by now. */
static int take_held(struct fsc_gpu_watching *w, struct fsc_err *err)
{
	struct record_arg t = {.w = w, .err = err};
	FSC_AUTO(fsc_buf_release) struct fsc_buf held = w->held;
	int rc = 0;

	w->held = (struct fsc_buf){0};
	for (size_t at = 0; !rc && at < held.n;) {
		uint64_t n = *(const uint64_t *)(const void *)(held.s + at);

		at += sizeof(n);
		rc = on_record(held.s + at, n, &t);
		at += (n + 7) & ~7ull;
	}
	return rc;
}

int fsc_gpu_drain(struct fsc_gpu_watching *w, uint64_t until_ns, struct fsc_err *err)
{
	struct record_arg t = {.w = w, .err = err};
	int rc = take_held(w, err);

	if (!rc)
		rc = fsc_gpu_session_drain(w->session, on_record, &t, err);
	/* After the calls, so that all that their processes had mapped is known. */
	if (!rc)
		rc = fsc_namer_tick(w->namer, NULL, err);
	if (!rc && w->copies)
		rc = fsc_copies_unwind(w->copies, true, err);
	if (!rc)
		rc = fsc_gpu_events_flush(w->events, until_ns, err);
	return rc ? rc : fsc_sink_flush(&w->run->sink, err);
}

/* A call on one CPU may be read before an earlier one on another: only what is older than this is
 * complete. */
uint64_t fsc_gpu_complete_ns(void)
{
	return fsc_clock_mono() - 2000000;
}
