/* One run: start the command held, resolve, load, attach, let go, wait, detach, report. Everything
 * it acquires is in struct run and released in one place. */
#include "cmd/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "cmd/budget.h"
#include "cmd/warn.h"
#include "cmd/watched.h"
#include "engine/features.h"
#include "engine/session.h"
#include "sink/sink.h"
#include "source/cgroups.h"
#include "source/live.h"
#include "proc/libs.h"

/* Seconds between two looks at the CPU time. */
#define TICK	    0.1
#define BUDGET_TICK 0.005
#define VIEW_TICK   0.02

enum { CHILD_MS = 200 }; /* to wait for a command that got the signal that ended us */

struct run {
	const struct fsc_run_plan *plan;
	const struct fsc_run_opts *o;
	sigset_t signals, old_mask;
	struct fsc_watched who;
	struct fsc_vec pidfds; /* int */
	struct fsc_targets targets;
	struct fsc_session *session;
	struct fsc_live *live;
	struct fsc_loop loop;
	struct fsc_sink sink;
	double max_overhead; /* percent; 0: none */
	struct fsc_budget *budget;
	uint64_t start_ns;
	bool follow;	  /* children, too */
	bool interrupted; /* a signal ended it */
};

/* ---- preparation ---- */

/* A command that cannot fork needs no probes in other processes. But if the kernel can limit only
 * single probes to a process, not a link of many (Linux 6.6 to 6.9), the link goes to all. */
static bool follows(const struct run *r, const char *command)
{
	if (!command || r->o->follow || r->o->no_follow)
		return command ? !r->o->no_follow : r->o->follow;
	return (fsc_feature_uprobe_multi_quick(false) && !fsc_feature_uprobe_multi_quick(true)) ||
	       fsc_libs_may_fork(command);
}

/* Whether programs will be probed that nobody named: all of them, or whatever a command starts. */
static bool meets_strangers(const struct run *r)
{
	return r->follow || (!r->plan->command && !r->who.owners.n);
}

static int resolve(struct run *r, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep)
	char *path = r->plan->command ? fsc_libs_which(r->plan->command[0]) : NULL;

	struct fsc_scope scope;

	r->follow = follows(r, path);
	scope = (struct fsc_scope){
	    .pids = r->who.owners.data,
	    .n_pids = r->who.owners.n,
	    .command = path,
	    .pairs = r->plan->session.mode == FSC_MODE_TIME || r->plan->session.weigh ||
		     r->plan->session.pairs,
	    .strangers = meets_strangers(r),
	    .returns = (enum fsc_returns)r->o->returns,
	};

	return fsc_probes_resolve(r->plan->probes, r->plan->n_probes, r->plan->probe, &scope,
				  &r->targets, err);
}

static uint64_t budget_cpu(void *arg)
{
	struct run *r = arg;

	return fsc_watched_cpu(&r->who);
}

static int make_budget(struct run *r, struct fsc_err *err)
{
	struct fsc_budget_of of = {.session = r->session,
				   .live = r->live,
				   .n_rows = r->targets.rows.n,
				   .cpu_ns = budget_cpu,
				   .arg = r};

	return fsc_budget_new(r->max_overhead, &of, &r->budget, err);
}

static int open_session(struct run *r, struct fsc_err *err)
{
	struct fsc_session_opts so = r->plan->session;
	int rc = 0;

	so.pids = r->who.pids.data;
	so.n_pids = r->who.pids.n;
	so.follow = r->follow;
	so.follow_if_may = r->plan->command && !r->o->follow;
	so.tids = r->who.tids.data;
	so.n_tids = r->who.tids.n;
	/* Of a thread, its process: the kernel keeps probes to processes. */
	if (so.n_tids) {
		so.pids = r->who.owners.data;
		so.n_pids = r->who.owners.n;
	}
	so.comm = r->o->comm;
	so.via = (enum fsc_via)r->o->via;
	so.fast_uprobes = r->o->fast_uprobes;
	so.per_row = r->max_overhead > 0;
	if (r->plan->view->resolved)
		rc = r->plan->view->resolved(r->plan->state, &r->targets, &so, err);

	if (!rc && r->o->cgroup)
		rc = fsc_cgroup_find(r->o->cgroup, &so.cgroup_id, &so.cgroup_level, err);
	if (!rc)
		rc = fsc_session_open(&r->targets, &so, &r->session, err);
	if (!rc)
		rc = fsc_live_new(r->session, &r->targets, so.by, &r->live, err);
	if (!rc)
		rc = make_budget(r, err);
	if (!rc && r->plan->view->start)
		rc = r->plan->view->start(r->plan->state,
					  &(struct fsc_run_facts){.session = r->session,
								  .live = r->live,
								  .targets = &r->targets,
								  .pids = r->who.pids.data,
								  .n_pids = r->who.pids.n},
					  err);
	return rc;
}

/* ---- running ---- */

static int on_signal(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct run *r = arg;

	(void)n;
	(void)err;
	loop->stop = r->interrupted = true;
	return 0;
}

static int on_time_up(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	(void)n;
	(void)arg;
	(void)err;
	loop->stop = true;
	return 0;
}

static int on_child_end(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct run *r = arg;

	(void)n;
	loop->stop = true;
	return fsc_watched_child_ended(&r->who, err);
}

/* Takes out the processes that have ended: their descriptors stay readable for ever. */
static void drop_ended(struct run *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->pidfds.n; i++) {
		int fd = *FSC_AT(int, &r->pidfds, i);

		if (!fsc_watched_ended(fd)) {
			*FSC_AT(int, &r->pidfds, kept++) = fd;
			continue;
		}
		fsc_loop_unwatch_fd(&r->loop, fd);
		close(fd);
	}
	r->pidfds.n = kept;
}

static int on_pid_end(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct run *r = arg;

	(void)n;
	(void)err;
	drop_ended(r);
	if (r->pidfds.n || r->o->follow)
		return 0;
	fsc_log(FSC_LOG_NOTE, "%s ended",
		r->who.owners.n == 1 ? "the process has" : "all processes have");
	loop->stop = true;
	return 0;
}

static int report(struct run *r, bool last, struct fsc_err *err)
{
	return r->plan->view->report(r->plan->state, r->live, &r->sink, last, err);
}

static int on_interval(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct run *r = arg;
	double ran = (double)(fsc_clock_mono() - r->start_ns) / 1e9;

	(void)loop;
	(void)n;
	fsc_watched_cpu(&r->who);
	/* The last stretch is reported at the end, not twice. */
	if (r->o->out.duration > 0 && ran > r->o->out.duration - r->o->out.interval / 100)
		return 0;
	return report(r, false, err);
}

/* Keeps the last CPU time of processes that may be gone when we ask. */
static int on_tick(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct run *r = arg;

	(void)loop;
	(void)n;
	return fsc_budget_tick(r->budget, err);
}

static int on_view_tick(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct run *r = arg;
	bool stop = false;
	int rc = r->plan->view->tick(r->plan->state, &r->sink, &stop, err);

	(void)n;
	loop->stop |= stop;
	return rc;
}

/* The view looks regularly, and when a ring of records fills up. */
static int watch_records(struct run *r, struct fsc_err *err)
{
	int fd = fsc_session_events_fd(r->session), rc;

	if (!r->plan->view->tick)
		return 0;
	rc = fsc_loop_timer(&r->loop, VIEW_TICK, true, on_view_tick, r, err);
	if (!rc && fd >= 0)
		rc = fsc_loop_watch_fd(&r->loop, fd, on_view_tick, r, err);
	return rc;
}

static int watch_pid(struct run *r, pid_t pid, struct fsc_err *err)
{
	int fd = fsc_watched_open(pid), *slot;

	if (fd == -ESRCH)
		return 0; /* it has ended meanwhile */
	if (fd < 0)
		return fsc_err_sys(err, -fd, "cannot watch process %d", pid);
	slot = fsc_vec_push(&r->pidfds);
	if (!slot) {
		close(fd);
		return fsc_err_nomem(err);
	}
	*slot = fd;
	return fsc_loop_watch_fd(&r->loop, fd, on_pid_end, r, err);
}

static int watch_pids(struct run *r, struct fsc_err *err)
{
	int rc = fsc_loop_timer(&r->loop, r->max_overhead > 0 ? BUDGET_TICK : TICK, true, on_tick,
				r, err);

	for (size_t i = 0; !rc && i < r->who.owners.n; i++)
		rc = watch_pid(r, *FSC_AT(pid_t, &r->who.owners, i), err);
	/* All may have ended while probes went on: then nothing will wake the loop. */
	if (!rc && r->who.owners.n && !r->pidfds.n)
		rc = on_pid_end(&r->loop, 0, r, err);
	return rc;
}

static int prepare_loop(struct run *r, struct fsc_err *err)
{
	int rc = fsc_loop_init(&r->loop, err);

	if (!rc)
		rc = fsc_loop_signals(&r->loop, &r->signals, on_signal, r, err);
	if (!rc && r->who.child.pid)
		rc = fsc_loop_watch_fd(&r->loop, r->who.child.pidfd, on_child_end, r, err);
	if (!rc)
		rc = watch_pids(r, err);
	if (!rc)
		rc = watch_records(r, err);
	return rc;
}

static int start_timers(struct run *r, struct fsc_err *err)
{
	int rc = 0;

	if (r->o->out.interval > 0)
		rc = fsc_loop_timer(&r->loop, r->o->out.interval, true, on_interval, r, err);
	if (!rc && r->o->out.duration > 0)
		rc = fsc_loop_timer(&r->loop, r->o->out.duration, false, on_time_up, r, err);
	return rc;
}

static void tell_ready(const struct run *r)
{
	if (r->o->ready_fd && write((int)r->o->ready_fd, "armed\n", 6) == 6)
		close((int)r->o->ready_fd);
	if (isatty(STDERR_FILENO) && !r->o->out.duration && !r->plan->command)
		fsc_log(FSC_LOG_NOTE, "%s %zu function%s; Ctrl-C ends", r->plan->view->doing,
			r->targets.rows.n, r->targets.rows.n == 1 ? "" : "s");
}

/* For -v: what was found, and how it was attached. */
static void tell_attached(const struct run *r, uint64_t start_ns)
{
	for (size_t i = 0; i < r->targets.files.n; i++)
		fsc_log(FSC_LOG_DEBUG, "file %s",
			FSC_AT(struct fsc_target_file, &r->targets.files, i)->name);
	for (int i = 0; i < FSC_RUNG_MAX; i++)
		if (fsc_session_on_rung(r->session, (enum fsc_rung)i))
			fsc_log(FSC_LOG_DEBUG, "%zu places by %s",
				fsc_session_on_rung(r->session, (enum fsc_rung)i),
				fsc_rung_names[i]);
	fsc_log(FSC_LOG_DEBUG, "attached in %.1f ms", (double)(fsc_clock_mono() - start_ns) / 1e6);
}

/* What the probes cost must be known before a duration is, and before anybody keeps a budget. For
 * user functions that is known before they are attached; for the others it depends on how. */
static int arm_timing(struct run *r, bool attached, struct fsc_err *err)
{
	bool timed = r->plan->session.mode == FSC_MODE_TIME;

	if (!timed && !r->max_overhead)
		return 0;
	if (!attached && !fsc_live_all_user(r->live))
		return 0;
	fsc_live_calibrate(r->live);
	return timed ? fsc_live_arm(r->live, err) : 0;
}

static int arm_and_wait(struct run *r, struct fsc_err *err)
{
	uint64_t start_ns = fsc_clock_mono();
	int rc = fsc_output_open(&r->o->out, r->plan->view->data, &r->sink, err);

	if (!rc)
		rc = arm_timing(r, false, err);
	if (!rc)
		rc = fsc_session_attach(r->session, err);
	if (!rc)
		rc = prepare_loop(r, err);
	if (!rc)
		rc = arm_timing(r, true, err);
	if (rc)
		return rc;
	tell_attached(r, start_ns);
	r->start_ns = fsc_clock_mono();
	fsc_watched_start(&r->who);
	rc = start_timers(r, err);
	if (!rc)
		rc = fsc_child_release(&r->who.child, err);
	if (rc)
		return rc;
	tell_ready(r);
	fsc_live_calibrate(r->live);
	return fsc_loop_run(&r->loop, err);
}

/* The probes are off: from here on a signal may end us at once, should the report block. Those that
 * came with the one that ended the run do not count. */
static void allow_signals(const struct run *r)
{
	const struct timespec none = {0};

	while (sigtimedwait(&r->signals, NULL, &none) > 0)
		;
	sigprocmask(SIG_UNBLOCK, &r->signals, NULL);
}

static int finish(struct run *r, struct fsc_err *err)
{
	double duration = (double)(fsc_clock_mono() - r->start_ns) / 1e9;
	struct fsc_summary sum;
	uint64_t cpu = fsc_watched_cpu(&r->who);
	int rc;

	fsc_session_detach(r->session);
	allow_signals(r);
	fsc_budget_tell(r->budget);
	rc = report(r, true, err);
	if (!rc)
		rc = fsc_live_summary(r->live, cpu, fsc_watched_all(&r->who), duration, &sum, err);
	if (!rc && r->plan->view->books)
		r->plan->view->books(r->plan->state, &sum);
	if (!rc && r->plan->view->data == FSC_DATA_STACKS && r->sink.out != stdout)
		fsc_warn_lost(&sum);
	if (!rc)
		rc = fsc_sink_summary(&r->sink, &sum, err);
	if (!rc)
		rc = fsc_output_close(r->o->out.output, &r->sink, err);
	/* Ctrl-C goes to the command, too: it may be about to end. */
	if (!rc && r->interrupted)
		rc = fsc_watched_await(&r->who, CHILD_MS, err);
	fsc_watched_tell_child(&r->who);
	return rc;
}

static void release(struct run *r)
{
	fsc_loop_release(&r->loop);
	for (size_t i = 0; i < r->pidfds.n; i++)
		close(*FSC_AT(int, &r->pidfds, i));
	fsc_budget_free(r->budget);
	fsc_live_free(r->live);
	fsc_session_free(r->session);
	fsc_targets_release(&r->targets);
	fsc_watched_release(&r->who);
	fsc_vec_release(&r->pidfds);
	fsc_output_close(r->o->out.output, &r->sink, NULL);
	/* The signals stay blocked: a second Ctrl-C while probes come off must not make a failure
	 * of a finished run. */
}

static int run(struct run *r, struct fsc_err *err)
{
	int rc = fsc_run_check(r->plan, err);

	if (!rc)
		rc = fsc_run_budget(r->o, &r->max_overhead, err);
	if (!rc)
		rc = fsc_watched_find(&r->who, &r->plan->probe->pids, &r->o->tids, &r->old_mask,
				      err);
	if (!rc)
		rc = resolve(r, err);
	if (!rc)
		rc = open_session(r, err);
	if (rc)
		return rc;
	fsc_warn_fast(&r->targets, r->o->fast_uprobes);
	fsc_warn_throws(&r->targets, fsc_session_pairs(r->session));
	rc = arm_and_wait(r, err);
	return rc ? rc : finish(r, err);
}

int fsc_run(const struct fsc_run_plan *plan, struct fsc_err *err)
{
	struct run r = {
	    .plan = plan,
	    .o = plan->run,
	    .sink = plan->sink,
	    .loop = {.epoll = -1},
	    .pidfds = FSC_VEC_INIT(int),
	};
	int rc;

	if (r.o->out.verbose)
		fsc_log_set_level(FSC_LOG_DEBUG);
	fsc_watched_init(&r.who, plan->command);
	fsc_targets_init(&r.targets);
	r.targets.apart = plan->apart;
	sigemptyset(&r.signals);
	sigaddset(&r.signals, SIGINT);
	sigaddset(&r.signals, SIGTERM);
	sigaddset(&r.signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &r.signals, &r.old_mask);
	rc = run(&r, err);
	release(&r);
	return rc;
}
