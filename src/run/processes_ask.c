/* Queries on the table of processes. */
#include "run/processes_priv.h"
#include "proc/cputime.h"

const char *fsc_processes_comm(const struct fsc_processes *p, pid_t pid)
{
	const struct process *x = fsc_processes_find(p, pid);

	return x ? x->comm : "";
}

uint64_t fsc_processes_cpu(struct fsc_processes *p)
{
	uint64_t sum = p->cpu_past;

	if (fsc_processes_all(p))
		return sum;
	for (size_t i = 0; i < p->all.n; i++) {
		struct process *x = process_at(p, i);
		uint64_t now = x->has_verdict && x->wanted ? fsc_cputime_process(x->pid) : 0;

		if (now > x->cpu_last)
			x->cpu_last = now;
		sum += x->has_verdict && x->wanted ? x->cpu_last - x->cpu_start : 0;
	}
	return sum;
}

size_t fsc_processes_count(const struct fsc_processes *p, bool ever)
{
	size_t n = ever ? p->ended : 0;

	for (size_t i = 0; i < p->all.n; i++) {
		const struct process *x = process_at(p, i);

		n += x->has_verdict ? x->wanted : fsc_processes_all(p) && !x->ended;
	}
	return n;
}

bool fsc_processes_all_exited(const struct fsc_processes *p)
{
	return fsc_filter_only_pids(p->targets) && fsc_processes_count(p, true) &&
	       !fsc_processes_count(p, false);
}

int fsc_processes_each(const struct fsc_processes *p,
		       int (*fn)(pid_t pid, bool wanted, void *arg, struct fsc_err *err), void *arg,
		       struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < p->all.n; i++) {
		const struct process *x = process_at(p, i);

		if (x->has_verdict)
			rc = fn(x->pid, x->wanted, arg, err);
	}
	return rc;
}
