/* What a monitor shows of itself and of what it has measured: one reading for all who ask. */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "monitor/monitor_priv.h"

int fsc_monitor_books(struct fsc_monitor *m, struct fsc_summary *ret, struct fsc_err *err)
{
	bool of_machine;
	uint64_t cpu = fsc_run_cpu(m->run, m->processes, m->cpu_start, &of_machine);

	return fsc_hooks_summary(m->hooks, fsc_ledger_kept(m->ledger), cpu, of_machine,
				 fsc_run_seconds(m->run), ret, err);
}

/* Resident memory, from /proc. */
static uint64_t own_memory(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (f && fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static double own_cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int fsc_monitor_view(bool apart, size_t cap, struct fsc_ledger_view *ret, void *arg,
		     struct fsc_err *err)
{
	struct fsc_monitor *m = arg;
	struct fsc_snapshot *s = &ret->snapshot;
	int rc = fsc_ledger_view(m->ledger, apart, cap, ret, err);

	if (rc)
		return rc;
	rc = fsc_monitor_books(m, &ret->books, err);
	if (!rc)
		rc = fsc_monitor_throttled(m, s, err);
	if (rc) {
		fsc_ledger_view_release(ret);
		return rc;
	}
	s->labels = m->config->labels.data;
	s->n_labels = m->config->labels.n;
	s->functions = ret->books.attached;
	s->refused = ret->books.n_refused;
	fsc_monitor_shortages(m, s);
	s->reloads = m->reloads;
	s->failed_reloads = m->failed_reloads;
	s->config_ok = m->config_ok && !(m->opts->path && access(m->opts->path, R_OK));
	s->own_cpu_s = own_cpu_s();
	s->own_memory = own_memory();
	if (m->forward)
		s->receivers = fsc_forward_receivers(m->forward, &s->n_receivers);
	return 0;
}
