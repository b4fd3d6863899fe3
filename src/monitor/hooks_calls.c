/* The calls that the sessions of a monitor send one by one: their stacks' names, and their errors.
 */
#include "base/clock.h"
#include "monitor/hooks_priv.h"

enum {
	NAMER_LIFE_S = 600,	/* then the namer is replaced */
	NAMED_PROCESSES = 2048, /* of the machine; those that exited first are dropped first */
};

void fsc_hooks_on_call(struct fsc_hooks *h, fsc_hooks_call_fn fn, void *arg)
{
	h->on_call = fn;
	h->on_call_arg = arg;
}

static int send_call(const struct fsc_call *c, void *arg, struct fsc_err *err)
{
	const struct fsc_hooks *h = arg;
	size_t n;
	uint32_t row = (uint32_t)(c->func - fsc_live_funcs(h->live, &n));
	const struct hooked *f = h->hooked_at[row];

	if (!f)
		return 0;
	return h->on_call(c, f->hooks[row - fsc_session_first_row(f->part)].func, h->on_call_arg,
			  err);
}

int fsc_hooks_send_calls(struct fsc_hooks *h, bool last, struct fsc_err *err)
{
	return h->on_call && h->calls ? fsc_call_source_read(h->calls, last, send_call, h, err) : 0;
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
					    .external_events =
						fsc_processes_has_events(h->processes)};
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
	if (!rc && h->calls)
		fsc_call_source_rename(h->calls, h->namer);
	return rc;
}

int fsc_hooks_calls(struct fsc_hooks *h, bool last, struct fsc_err *err)
{
	int rc;

	/* Entries of two configurations are in force: which one a call belongs to is known then. */
	if (h->trying)
		return 0;
	rc = renew_namer(h, err);
	/* What was not found before may be there now. */
	if (!rc && h->namer)
		rc = fsc_namer_resolve(h->namer, err);
	return rc ? rc : fsc_hooks_send_calls(h, last, err);
}

/* ---- errors ---- */

const char *fsc_hooks_error_name(const struct fsc_hooks *h, uint32_t func, int64_t code)
{
	return fsc_error_name(state_at(h, func)->errors, code);
}

const char *fsc_hooks_error(const struct fsc_hooks *h, uint32_t func, uint64_t ret)
{
	return (uint32_t)ret ? fsc_hooks_error_name(h, func, (int32_t)ret) : NULL;
}
