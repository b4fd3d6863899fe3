/* The run of a monitor: many times a second it reads what processes did and the calls that the
 * kernel sent. */
#include "monitor/monitor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/session.h"
#include "monitor/monitor_priv.h"
#include "proc/cputime.h"
#include "proc/libs.h"

#define TICK	   0.02
#define COLLECT	   0.2	    /* seconds between collections of exited processes */
#define SCAN	   30.0	    /* between scans of /proc, if the kernel reports new processes */
#define SCAN_ALONE 1.0	    /* and if it does not */
#define SCAN_NS	   10000000 /* of a tick, for a part of a scan */
#define BUDGET	   1.0	    /* between checks of the probes' cost */
#define LAST	   3.0	    /* for each receiver at the end */

/* ---- what processes do ---- */

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

static struct fsc_processes_to process_callbacks(struct fsc_monitor *m)
{
	return (struct fsc_processes_to){.arg = m,
					 .matters = file_matters,
					 .file = on_file,
					 .judged = on_verdict,
					 .exited = on_exited,
					 .exec = on_exec,
					 .also = fsc_hooks_also(m->hooks)};
}

static int on_new_pid(pid_t pid, void *arg, struct fsc_err *err)
{
	struct fsc_monitor *m = arg;
	const struct fsc_processes_to to = process_callbacks(m);

	int rc = fsc_processes_add(m->processes, pid, &to, err);

	if (rc || fsc_hooks_verdict(m->hooks, pid) <= 0)
		return rc;
	return fsc_ledger_process(m->ledger, pid, true, err);
}

/* While something takes long: the page and the control socket are served, and nothing that the
 * kernel sends is lost. */
static void serve_meanwhile(void *arg)
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
	const struct fsc_processes_to to = process_callbacks(m);
	bool done = false;
	int rc = 0;

	m->scanning = false;
	fsc_processes_scan_anew(m->processes);
	while (!rc && !done) {
		rc = fsc_processes_scan_part(m->processes, SCAN_NS, &to, &done, err);
		if (!rc && !done && m->run->start_ns)
			serve_meanwhile(m);
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

/* ---- reports ---- */

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

static int make_view(bool apart, size_t cap, struct fsc_ledger_view *ret, void *arg,
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

/* ---- the loop ---- */

static int monitor_reload(struct fsc_run *r, struct fsc_err *err)
{
	(void)err;
	fsc_monitor_reload_and_log(r->state);
	fsc_monitor_reopen(r->state);
	return 0;
}

/* The file itself, written or moved there; or the link of a mounted ConfigMap ("..data"). */
static bool is_of_config(const struct fsc_monitor *m, const struct inotify_event *e)
{
	if (!e->len)
		return false;
	return !strcmp(e->name, fsc_str_base(m->opts->path)) ||
	       (e->mask & IN_MOVED_TO && !strncmp(e->name, "..", 2));
}

static int on_directory(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct fsc_monitor *m = arg;
	_Alignas(struct inotify_event) char events[4096];
	bool config = false;
	ssize_t size;

	(void)loop, (void)n, (void)err;
	while ((size = read(m->inotify, events, sizeof(events))) > 0)
		for (ssize_t at = 0; at < size;) {
			const struct inotify_event *e = (const void *)(events + at);

			config |= is_of_config(m, e);
			at += (ssize_t)(sizeof(*e) + e->len);
		}
	if (config && fsc_monitor_file_changed(m))
		fsc_monitor_reload_and_log(m);
	return 0;
}

static int collect_exited(struct fsc_monitor *m, struct fsc_err *err)
{
	int rc = fsc_ledger_collect(m->ledger, m->config->keep_ended_s,
				    m->config->max_processes_rows, on_new_pid, m, err);

	return fsc_monitor_spare(m, FSC_STEP_COLLECT, rc, err);
}

/* collect: also adds what exited processes have measured. */
static int read_events(struct fsc_monitor *m, bool collect, bool last, struct fsc_err *err)
{
	const struct fsc_processes_to to = process_callbacks(m);
	int rc = fsc_processes_read(m->processes, last, &to, err);

	if (!rc)
		rc = fsc_hooks_attach(m->hooks, err);
	if (!rc)
		rc = fsc_hooks_reserve(m->hooks, err);
	if (!rc)
		rc = fsc_hooks_calls(m->hooks, last, err);
	rc = fsc_monitor_spare(m, FSC_STEP_EVENTS, rc, err);
	return !rc && (collect || last || fsc_hooks_urgent(m->hooks)) ? collect_exited(m, err) : rc;
}

int fsc_monitor_collect(struct fsc_monitor *m, struct fsc_err *err)
{
	return read_events(m, true, false, err);
}

static int on_collect(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct fsc_monitor *m = arg;

	(void)loop, (void)n;
	fsc_processes_cpu(m->processes);
	return fsc_monitor_collect(m, err);
}

static int on_scan(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct fsc_monitor *m = arg;

	(void)loop, (void)n;
	m->rescan = false;
	m->scanning = true;
	fsc_processes_replay(m->processes);
	fsc_hooks_scan_begins(m->hooks);
	return fsc_monitor_spare(m, FSC_STEP_SCAN, fsc_hooks_libraries(m->hooks, err), err);
}

/* Thousands of processes take long: the page and the control socket have their turns in between. */
static int scan_part(struct fsc_monitor *m, struct fsc_err *err)
{
	const struct fsc_processes_to to = process_callbacks(m);
	bool done = true;
	int rc = m->scanning ? fsc_processes_scan_part(m->processes, SCAN_NS, &to, &done, err) : 0;

	m->scanned |= m->scanning && done;
	m->scanning = !done;
	return rc;
}

static void forget_func(uint32_t func, void *arg)
{
	fsc_throttle_forget(&((struct fsc_monitor *)arg)->throttle, func);
}

/* After the files that the scan has found were searched. */
static int close_unmapped(struct fsc_monitor *m, struct fsc_err *err)
{
	int rc;

	if (m->scanned && !m->rescan)
		fsc_hooks_scan_ended(m->hooks);
	m->scanned = false;
	rc = fsc_hooks_close_unmapped(m->hooks, err);
	return rc ? rc : fsc_ledger_fold(m->ledger, forget_func, m, err);
}

/* Once a second: what may have been overlooked is looked at again. */
static int rescan_if_needed(struct fsc_loop *loop, struct fsc_monitor *m, struct fsc_err *err)
{
	return m->rescan ? on_scan(loop, 0, m, err) : 0;
}

static int on_budget(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	(void)n;
	fsc_monitor_budget(arg);
	return rescan_if_needed(loop, arg, err);
}

static int monitor_tick(struct fsc_run *r, struct fsc_err *err)
{
	struct fsc_monitor *m = r->state;
	int rc = fsc_monitor_spare(m, FSC_STEP_SCAN, scan_part(m, err), err);

	if (!rc)
		rc = read_events(m, false, false, err);
	if (!rc)
		rc = fsc_monitor_spare(m, FSC_STEP_SCAN, close_unmapped(m, err), err);
	if (!rc && fsc_processes_all_exited(m->processes))
		fsc_run_all_exited(r, fsc_processes_count(m->processes, true));
	if (!rc)
		rc = fsc_monitor_spare(m, FSC_STEP_SEND, fsc_forward_tick(m->forward, err), err);
	fsc_forward_serve(m->forward);
	if (!rc && m->control)
		rc = fsc_monitor_spare(m, FSC_STEP_CLIENT, fsc_control_run(m->control, err), err);
	return rc;
}

static int monitor_report(struct fsc_run *r, bool last, struct fsc_err *err)
{
	struct fsc_monitor *m = r->state;
	const struct fsc_snoop_report *o = &m->config->report;
	int64_t mark = fsc_output_mark(&r->sink);
	int rc = last ? 0 : read_events(m, false, false, err);

	if (rc)
		return rc;
	rc = fsc_ledger_report(m->ledger, &r->sink, o->by_process, last, o->top, err);
	if (last)
		return rc;
	return fsc_monitor_wrote(m, mark, fsc_monitor_spare(m, FSC_STEP_REPORT, rc, err), err);
}

static int on_page(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	(void)loop, (void)n, (void)err;
	fsc_forward_serve(((struct fsc_monitor *)arg)->forward);
	return 0;
}

/* ---- the beginning and the end ---- */

static int watch_file(struct fsc_monitor *m, struct fsc_err *err)
{
	char *slash, dir[4096];

	if (!m->opts->path)
		return 0;
	snprintf(dir, sizeof(dir), "%s", m->opts->path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	fsc_monitor_note_file(m);
	m->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (m->inotify < 0 ||
	    inotify_add_watch(m->inotify, slash ? dir : ".", IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
		fsc_log(FSC_LOG_WARN,
			"changes to %s will not be noticed (%s); send SIGHUP after a change",
			m->opts->path, strerror(errno));
		return 0;
	}
	return fsc_loop_watch_fd(&m->run->loop, m->inotify, on_directory, m, err);
}

static int open_control(struct fsc_monitor *m, struct fsc_err *err)
{
	char path[128];
	int rc;

	if (m->opts->no_control)
		return 0;
	rc = fsc_control_new(fsc_monitor_answer, m, &m->control, err);
	if (!rc && !m->config->control)
		rc = fsc_control_default(path, sizeof(path), err);
	if (!rc)
		rc = fsc_control_listen(m->control, m->config->control ? m->config->control : path,
					err);
	if (!rc && m->config->stream)
		rc = fsc_control_listen(m->control, m->config->stream, err);
	return rc;
}

/* Calls are matched by process: a thread id would never match. */
int fsc_monitor_check_pids(const struct fsc_snoop_config *c, struct fsc_err *err)
{
	for (size_t i = 0; i < c->targets.pids.n; i++) {
		pid_t pid = *FSC_AT(pid_t, &c->targets.pids, i), owner = fsc_pids_owner(pid);

		if (owner && owner != pid)
			return fsc_err_set(err, EINVAL,
					   "%s: %d in the pids of targets (or of -p) is a thread "
					   "of process %d; write %d, which covers all its threads",
					   c->path, (int)pid, (int)owner, (int)owner);
	}
	return 0;
}

static int add_sources(struct fsc_monitor *m, struct fsc_err *err)
{
	struct fsc_loop *loop = &m->run->loop;
	double scan = fsc_processes_has_events(m->processes) ? SCAN : SCAN_ALONE;
	int rc = fsc_loop_timer(loop, COLLECT, true, on_collect, m, err);

	if (!rc)
		rc = fsc_loop_timer(loop, scan, true, on_scan, m, err);
	if (!rc)
		rc = fsc_loop_timer(loop, BUDGET, true, on_budget, m, err);
	if (!rc && fsc_forward_fd(m->forward) >= 0)
		rc = fsc_loop_watch_fd(loop, fsc_forward_fd(m->forward), on_page, m, err);
	return rc ? rc : watch_file(m, err);
}

static int monitor_open(struct fsc_run *r, struct fsc_err *err)
{
	struct fsc_monitor *m = r->state;
	int rc = fsc_session_possible(err);

	m->run = r;
	if (!rc)
		rc = fsc_monitor_check_pids(m->config, err);
	if (!rc)
		rc = fsc_slow_new(m->config->keep_slowest, m->config->keep_latest, &m->slow, err);
	if (!rc)
		rc = fsc_processes_new(&m->config->targets, &m->processes, err);
	if (!rc)
		rc = fsc_hooks_new(m->config, m->processes, &m->hooks, err);
	if (!rc)
		fsc_hooks_on_call(m->hooks, fsc_monitor_call, m);
	if (!rc)
		rc = fsc_ledger_new(m->hooks, m->processes, m->slow, &m->ledger, err);
	if (!rc)
		rc = fsc_monitor_labels(m, err);
	if (!rc)
		rc = open_control(m, err);
	if (!rc)
		rc = fsc_forward_new(m->config, m->slow, make_view, m, &m->forward, err);
	return rc ? rc : add_sources(m, err);
}

/* The command's files are searched before it maps them. */
static int note_command(struct fsc_monitor *m, struct fsc_err *err)
{
	const struct fsc_child *child = &m->run->child;
	FSC_AUTO(fsc_freep) char *path = child->name ? fsc_libs_which(child->name) : NULL;
	int rc = path ? fsc_hooks_program(m->hooks, path, err) : 0;

	return rc || !child->name ? rc : fsc_processes_command(m->processes, child->pid, err);
}

static int monitor_attach(struct fsc_run *r, struct fsc_err *err)
{
	struct fsc_monitor *m = r->state;
	int rc = note_command(m, err);

	if (!rc)
		rc = fsc_hooks_prepare(m->hooks, err);
	if (!rc)
		rc = fsc_monitor_scan(m, err);
	if (rc)
		return rc;
	fsc_hooks_meanwhile(m->hooks, &(struct fsc_meanwhile){serve_meanwhile, m});
	fsc_ledger_begin(m->ledger);
	m->warn_ns = fsc_clock_mono();
	m->cpu_start = fsc_cputime_machine();
	m->warn_budget = fsc_monitor_most_warnings(m);
	return 0;
}

static void append_missing(const struct fsc_snoop_func *f, void *arg)
{
	struct fsc_buf *b = arg;

	fsc_buf_printf(b, "%s%s", b->n ? ", " : "", f->name);
}

static void monitor_ready(struct fsc_run *r)
{
	const struct fsc_monitor *m = r->state;
	struct fsc_buf missing = {0};
	size_t n;

	fsc_hooks_funcs(m->hooks, &n);
	fsc_hooks_missing(m->hooks, append_missing, &missing);
	fsc_log(FSC_LOG_NOTE, "watching %zu function%s of %s", n, n == 1 ? "" : "s",
		m->config->path);
	if (missing.n)
		fsc_log(FSC_LOG_NOTE,
			"not found so far, will be looked for in files that processes map later: "
			"%.200s%s",
			fsc_buf_str(&missing), missing.n > 200 ? "..." : "");
	fsc_buf_release(&missing);
}

/* Detaches first, so that the last report is final; then closes the control socket. */
static int monitor_detach(struct fsc_run *r, struct fsc_err *err)
{
	struct fsc_monitor *m = r->state;
	int rc;

	fsc_ledger_end(m->ledger);
	fsc_hooks_meanwhile(m->hooks, &(struct fsc_meanwhile){0});
	rc = read_events(m, false, false, err);
	fsc_hooks_detach(m->hooks);
	if (!rc)
		rc = read_events(m, true, true, err);
	m->events_dropped = m->control ? fsc_control_dropped(m->control) : 0;
	m->clients_refused = m->control ? fsc_control_refused(m->control) : 0;
	fsc_control_free(m->control);
	m->control = NULL;
	return rc;
}

static int monitor_books(struct fsc_run *r, struct fsc_summary *ret, struct fsc_err *err)
{
	return fsc_monitor_books(r->state, ret, err);
}

static void monitor_close(struct fsc_run *r)
{
	struct fsc_monitor *m = r->state;

	fsc_forward_stop(m->forward, LAST);
	fsc_monitor_log_end(m);
}

static const struct fsc_run_ops ops = {.open = monitor_open,
				       .attach = monitor_attach,
				       .ready = monitor_ready,
				       .tick = monitor_tick,
				       .report = monitor_report,
				       .detach = monitor_detach,
				       .books = monitor_books,
				       .close = monitor_close,
				       .reload = monitor_reload};

static void monitor_release(struct fsc_monitor *m)
{
	fsc_forward_free(m->forward);
	fsc_control_free(m->control);
	fsc_ledger_free(m->ledger);
	fsc_hooks_free(m->hooks);
	fsc_processes_free(m->processes);
	fsc_slow_free(m->slow);
	if (m->inotify >= 0)
		close(m->inotify);
	fsc_buf_release(&m->line);
	fsc_throttle_release(&m->throttle);
	fsc_vec_release(&m->detached);
	free(m->to);
	fsc_snoop_config_release(m->config);
	free(m->config);
}

double fsc_monitor_interval(const struct fsc_monitor *m)
{
	return m->opts->out->interval > 0 ? m->opts->out->interval : m->config->report.every_s;
}

int fsc_monitor_run(struct fsc_snoop_config *config, const struct fsc_monitor_opts *opts,
		    struct fsc_err *err)
{
	const struct fsc_vec *words = &config->targets.command;
	struct fsc_monitor m = {.opts = opts,
				.config = config,
				.inotify = -1,
				.config_ok = true,
				.throttle = FSC_THROTTLE_INIT,
				.detached = FSC_VEC_INIT(struct fsc_detached)};
	FSC_AUTO(fsc_freep) char **argv = calloc(words->n + 1, sizeof(*argv));
	const struct fsc_run_opts ro = {.ops = &ops,
					.state = &m,
					.out = &m.out,
					.data = FSC_DATA_REPORTS,
					.command = words->n ? argv : NULL,
					.tick_s = TICK};
	int rc;

	for (size_t i = 0; argv && i < words->n; i++)
		argv[i] = *FSC_AT(char *, words, i);
	m.out = *opts->out;
	m.out.interval = fsc_monitor_interval(&m);
	m.to = config->report.to ? strdup(config->report.to) : NULL;
	if (!m.out.output)
		m.out.output = m.to;
	rc = argv && (m.to || !config->report.to) ? fsc_run(&ro, err) : fsc_err_nomem(err);
	monitor_release(&m);
	return rc;
}
