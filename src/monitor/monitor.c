/* The run of a monitor: many times a second it reads what processes did and the calls that the
 * kernel sent. */
#include "monitor/monitor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
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
#define COLLECT	   0.2	/* seconds between collections of exited processes */
#define SCAN	   30.0 /* between scans of /proc, if the kernel reports new processes */
#define SCAN_ALONE 1.0	/* and if it does not */
#define BUDGET	   1.0	/* between checks of the probes' cost */
#define LAST	   3.0	/* for each receiver at the end */

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
				    m->config->max_processes_rows, fsc_monitor_new_pid, m, err);

	return fsc_monitor_spare(m, FSC_STEP_COLLECT, rc, err);
}

/* collect: also adds what exited processes have measured. */
static int read_events(struct fsc_monitor *m, bool collect, bool last, struct fsc_err *err)
{
	const struct fsc_processes_to to = fsc_monitor_callbacks(m);
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
	m->rescan |= fsc_hooks_rewritten(m->hooks);
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
	int rc = fsc_monitor_spare(m, FSC_STEP_SCAN, fsc_monitor_scan_part(m, err), err);

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

static int on_writes(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	(void)loop, (void)n, (void)err;
	fsc_hooks_check_writes(((struct fsc_monitor *)arg)->hooks);
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
	if (!rc && fsc_hooks_writes_fd(m->hooks) >= 0)
		rc = fsc_loop_watch_fd(loop, fsc_hooks_writes_fd(m->hooks), on_writes, m, err);
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
		rc = fsc_forward_new(m->config, m->slow, fsc_monitor_view, m, &m->forward, err);
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
	fsc_hooks_meanwhile(m->hooks, &(struct fsc_meanwhile){fsc_monitor_meanwhile, m});
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
