/* What a monitor does about processes: those that come, map files and exit, and scans of all. */
#include "monitor/monitor_priv.h"

#define SCAN_NS 10000000 /* of a tick, for a part of a scan */

/* ---- what they do ---- */

static int on_file(void *arg, pid_t pid, const char *path, struct fsc_err *err)
{
	return fsc_hooks_file(((struct fsc_monitor *)arg)->hooks, pid, path, err);
}

static bool file_matters(void *arg, dev_t dev, ino_t ino, const char *path, bool program)
{
	return fsc_hooks_matters(((struct fsc_monitor *)arg)->hooks, dev, ino, path, program);
}

static int on_verdict(void *arg, pid_t pid, bool wanted, struct fsc_err *err)
{
	struct fsc_monitor *m = arg;
	int rc = fsc_ledger_began(m->ledger, pid, err);

	if (!rc && wanted)
		rc = fsc_ledger_process(m->ledger, pid, false, err);
	return rc ? rc : fsc_hooks_set_verdict(m->hooks, pid, wanted, err);
}

static int on_exited(void *arg, pid_t pid, struct fsc_err *err)
{
	struct fsc_monitor *m = arg;
	int rc = fsc_hooks_exited(m->hooks, pid, err);

	if (!rc && fsc_processes_wanted(m->processes, pid))
		return fsc_ledger_ended(m->ledger, pid, err);
	if (!rc)
		fsc_ledger_forget(m->ledger, pid);
	return rc;
}

static int on_exec(void *arg, pid_t pid, struct fsc_err *err)
{
	struct fsc_monitor *m = arg;

	fsc_hooks_exec(m->hooks, pid);
	return fsc_ledger_exec(m->ledger, pid, err);
}

struct fsc_processes_to fsc_monitor_callbacks(struct fsc_monitor *m)
{
	return (struct fsc_processes_to){.arg = m,
					 .matters = file_matters,
					 .file = on_file,
					 .judged = on_verdict,
					 .exited = on_exited,
					 .exec = on_exec,
					 .also = fsc_hooks_also(m->hooks)};
}

int fsc_monitor_new_pid(pid_t pid, void *arg, struct fsc_err *err)
{
	struct fsc_monitor *m = arg;
	const struct fsc_processes_to to = fsc_monitor_callbacks(m);
	int rc = fsc_processes_add(m->processes, pid, &to, err);

	if (rc || fsc_hooks_verdict(m->hooks, pid) <= 0)
		return rc;
	return fsc_ledger_process(m->ledger, pid, true, err);
}

/* ---- scans ---- */

void fsc_monitor_meanwhile(void *arg)
{
	struct fsc_monitor *m = arg;
	struct fsc_err err = {0};
	bool was = m->busy;
	int rc = fsc_processes_pull(m->processes, &err);

	m->busy = true;
	if (!rc)
		rc = fsc_hooks_calls(m->hooks, false, &err);
	if (rc)
		fsc_monitor_spare(m, FSC_STEP_EVENTS, rc, &err);
	fsc_forward_serve(m->forward);
	if (m->control)
		fsc_monitor_spare(m, FSC_STEP_CLIENT, fsc_control_run(m->control, &err), &err);
	m->busy = was;
}

static int scan_all(struct fsc_monitor *m, struct fsc_err *err)
{
	const struct fsc_processes_to to = fsc_monitor_callbacks(m);
	bool done = false;
	int rc = 0;

	m->scanning = false;
	fsc_processes_scan_anew(m->processes);
	while (!rc && !done) {
		rc = fsc_processes_scan_part(m->processes, SCAN_NS, &to, &done, err);
		if (!rc && !done && m->run->start_ns)
			fsc_monitor_meanwhile(m);
	}
	return rc;
}

int fsc_monitor_scan(struct fsc_monitor *m, struct fsc_err *err)
{
	int rc;

	fsc_hooks_scan_begins(m->hooks);
	rc = fsc_hooks_libraries(m->hooks, err);
	if (!rc)
		rc = scan_all(m, err);
	if (!rc)
		rc = fsc_hooks_attach(m->hooks, err);
	m->scanned = !rc;
	return rc;
}

/* Thousands of processes take long: the page and the control socket have their turns in between. */
int fsc_monitor_scan_part(struct fsc_monitor *m, struct fsc_err *err)
{
	const struct fsc_processes_to to = fsc_monitor_callbacks(m);
	bool done = true;
	int rc = m->scanning ? fsc_processes_scan_part(m->processes, SCAN_NS, &to, &done, err) : 0;

	m->scanned |= m->scanning && done;
	m->scanning = !done;
	return rc;
}

/* ---- labels ---- */

static int label_process(pid_t pid, bool wanted, void *arg, struct fsc_err *err)
{
	return wanted ? fsc_ledger_process(((struct fsc_monitor *)arg)->ledger, pid, false, err)
		      : 0;
}

int fsc_monitor_labels(struct fsc_monitor *m, struct fsc_err *err)
{
	const struct fsc_labelsets_opts o = {.labels = m->config->process_labels,
					     .fields = m->config->process_fields,
					     .most = m->config->max_label_sets};
	int rc = fsc_ledger_use_labels(m->ledger, &o, err);

	return rc ? rc : fsc_processes_each(m->processes, label_process, m, err);
}
