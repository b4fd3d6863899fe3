/* Processes that exit leave the table, once all that they did is known. */
#include "base/clock.h"
#include "proc/task.h"
#include "run/processes_priv.h"

/* The last entry takes its place. */
static void remove_process(struct fsc_processes *p, struct process *x)
{
	struct process *last = process_at(p, --p->all.n);

	*FSC_AT(struct process *, &p->all, x->place) = last;
	last->place = x->place;
	fsc_map_remove(&p->at, &x->pid, sizeof(x->pid));
	fsc_process_free(x);
}

static bool has_exited(const struct reading *r, struct process *x, bool all)
{
	bool exited = (x->ended == 2 || all) && fsc_task_has_exited(x->pid);

	if (x->ended == 1)
		x->ended = 2;
	/* Records of its name, its last calls and its exit may be pending: two readings from now
	 * they are not. */
	if (exited && !x->ended && r->p->mmaps) {
		x->ended = 1;
		return false;
	}
	return exited;
}

/* Records the exit of a process and reports it. */
static int report_exit(const struct reading *r, struct process *x, struct fsc_err *err)
{
	int rc = x->has_verdict ? 0 : fsc_process_decide(r, x, true, err);

	if (!rc)
		rc = fsc_process_remember_exited(r->p, x, err);
	if (rc)
		return rc;
	r->p->ended += x->wanted;
	r->p->cpu_past += x->wanted ? x->cpu_last - x->cpu_start : 0;
	return r->to->exited(r->to->arg, x->pid, err);
}

/* One that has exited leaves the table; *ret_gone says so. */
static int drop_if_exited(const struct reading *r, struct process *x, bool all, bool *ret_gone,
			  struct fsc_err *err)
{
	int rc = 0;

	*ret_gone = has_exited(r, x, all);
	if (!*ret_gone)
		return 0;
	rc = report_exit(r, x, err);
	if (!rc)
		remove_process(r->p, x);
	return rc;
}

/* Nobody has asked for it, so nobody need be told; nor is the kernel asked whether it has exited:
 * if another of its threads goes on, it is added again when that matters. */
static int keep_exited(struct fsc_processes *p, pid_t pid, struct fsc_err *err)
{
	struct kept_exited k = {pid, fsc_clock_mono() + KEPT_EXITED_NS};

	return fsc_vec_add(&p->kept, &k, err);
}

/* Those whose leader has exited. Callbacks may add processes. After a failure the rest is tried
 * again. */
int fsc_processes_remove_leaving(const struct reading *r, struct fsc_err *err)
{
	struct fsc_vec *leaving = &r->p->leaving;
	size_t kept = 0, i;
	int rc = 0;

	for (i = 0; !rc && i < leaving->n; i++) {
		pid_t pid = *FSC_AT(pid_t, leaving, i);
		struct process *x = fsc_processes_find(r->p, pid);
		bool gone = !x || !x->ended;

		if (!gone && has_no_state(x)) {
			rc = keep_exited(r->p, pid, err);
			gone = !rc;
		} else if (!gone) {
			rc = drop_if_exited(r, x, false, &gone, err);
		}
		if (!gone || rc)
			*FSC_AT(pid_t, leaving, kept++) = pid;
	}
	for (; i < leaving->n; i++)
		*FSC_AT(pid_t, leaving, kept++) = *FSC_AT(pid_t, leaving, i);
	leaving->n = kept;
	return rc;
}

/* Of one that has got state meanwhile, the exit is reported like others'. */
static int remove_one_kept(struct fsc_processes *p, pid_t pid, struct fsc_err *err)
{
	struct process *x = fsc_processes_find(p, pid);

	if (!x || !x->ended)
		return 0; /* the pid is used again */
	if (!has_no_state(x))
		return fsc_vec_add(&p->leaving, &pid, err);
	p->ended += fsc_process_is_named(p, x);
	remove_process(p, x);
	return 0;
}

int fsc_processes_remove_kept(struct fsc_processes *p, struct fsc_err *err)
{
	const uint64_t now = p->kept.n ? fsc_clock_mono() : 0;
	int rc = 0;

	while (!rc && p->first_kept < p->kept.n) {
		const struct kept_exited *k = FSC_AT(struct kept_exited, &p->kept, p->first_kept);

		if (k->until_ns > now)
			break;
		rc = remove_one_kept(p, k->pid, err);
		p->first_kept += !rc;
	}
	if (p->first_kept * 2 >= p->kept.n) {
		drop_first(&p->kept, p->first_kept);
		p->first_kept = 0;
	}
	return rc;
}

/* Checks all processes: the records of some exits may be lost. */
int fsc_processes_remove_exited(const struct reading *r, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < r->p->all.n;) {
		struct process *x = process_at(r->p, i);
		bool gone = false;

		if (!has_no_state(x))
			rc = drop_if_exited(r, x, true, &gone, err);
		else if (!x->ended && fsc_task_has_exited(x->pid))
			x->ended = 1;
		if (!rc && !gone && x->ended)
			rc = fsc_vec_add(&r->p->leaving, &x->pid, err);
		i += !gone;
	}
	return rc;
}
