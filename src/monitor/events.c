/* Calls that the kernel sent: kept, logged, and sent to subscribers. */
#include "base/clock.h"
#include "base/log.h"
#include "monitor/monitor_priv.h"

/* Warnings are rate-limited by a budget that refills with time. It holds a line at least: half a
 * line a second is one every two seconds. */
double fsc_monitor_most_warnings(const struct fsc_monitor *m)
{
	double most = m->config->warnings_per_s;

	return most > 0 && most < 1 ? 1 : most;
}

static bool may_warn(struct fsc_monitor *m)
{
	uint64_t now = fsc_clock_mono();
	double most = fsc_monitor_most_warnings(m);

	m->warn_budget += (double)(now - m->warn_ns) / 1e9 * m->config->warnings_per_s;
	m->warn_ns = now;
	if (m->warn_budget > most)
		m->warn_budget = most;
	if (m->warn_budget < 1) {
		m->unwarned++;
		return false;
	}
	m->warn_budget -= 1;
	return true;
}

static void warn_slow(struct fsc_monitor *m, const struct fsc_noted_call *c)
{
	const struct fsc_call *call = c->call;
	struct fsc_buf b = {0};

	if (!may_warn(m))
		return;
	fsc_buf_printf(&b, "%s took ", call->func->name);
	fsc_fmt_ns(&b, (double)call->duration_ns);
	fsc_buf_printf(&b, " in %s, process %u, thread %u; %s", call->comm, call->pid, call->tid,
		       "slow from ");
	fsc_fmt_ns(&b, c->threshold_ns);
	if (c->error)
		fsc_buf_printf(&b, "; it returned %s", c->error);
	if (m->unwarned)
		fsc_buf_printf(&b, " (%llu more before it)", (unsigned long long)m->unwarned);
	m->unwarned = 0;
	if (!fsc_buf_failed(&b))
		fsc_log(FSC_LOG_WARN, "%s", fsc_buf_str(&b));
	fsc_buf_release(&b);
}

int fsc_monitor_call(const struct fsc_call *c, uint32_t func, void *arg, struct fsc_err *err)
{
	struct fsc_monitor *m = arg;
	const struct fsc_snoop_func *entry = fsc_hooks_entry(m->hooks, func);
	const struct fsc_noted_call *noted = NULL;
	struct fsc_label about[FSC_LABELS + FSC_PROCESS_FIELDS];
	struct fsc_call call = *c;
	size_t n;
	int rc;

	/* It may have been sent before the process was known not to be a target. */
	if (!fsc_hooks_verdict(m->hooks, (pid_t)c->pid))
		return 0;
	call.func = &fsc_hooks_funcs(m->hooks, &n)[func];
	call.cookie = func + 1;
	rc = fsc_ledger_process(m->ledger, (pid_t)c->pid, true, err);
	call.about = about;
	call.n_about = fsc_ledger_about(m->ledger, (pid_t)c->pid, about);
	if (!rc && c->slow)
		rc = fsc_slow_add(m->slow, &call, func, entry ? entry->slow_ns : 0,
				  fsc_hooks_error(m->hooks, func, c->ret), &noted, err);
	rc = fsc_monitor_spare(m, FSC_STEP_SLOW, rc, err);
	if (rc)
		return rc;
	if (noted)
		warn_slow(m, noted);
	if (m->control &&
	    (fsc_control_wants(m->control, "slow") || fsc_control_wants(m->control, "call"))) {
		struct fsc_sink sink = {0};

		fsc_buf_clear(&m->line);
		fsc_json_call(&sink, &call, &m->line);
		if (!fsc_buf_failed(&m->line))
			fsc_control_call(m->control, &call, &m->line);
	}
	return 0;
}
