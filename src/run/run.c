/* The lifecycle: hold, open, attach, resume, wait, detach, report, close. */
#include "run/run.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "proc/cputime.h"

enum { CHILD_MS = 200 }; /* how long to wait for a command that got the same signal as us */

static const struct fsc_run_ops *ops_of(const struct fsc_run *r)
{
	return r->opts->ops;
}

double fsc_run_seconds(const struct fsc_run *r)
{
	return (double)((r->end_ns ? r->end_ns : fsc_clock_mono()) - r->start_ns) / 1e9;
}

uint64_t fsc_run_cpu(const struct fsc_run *r, struct fsc_processes *targets, uint64_t machine_start,
		     bool *ret_of_machine)
{
	*ret_of_machine = fsc_processes_all(targets);
	if (*ret_of_machine)
		return fsc_cputime_machine() - machine_start;
	return r->child.exited ? r->child.cpu_ns : fsc_processes_cpu(targets);
}

/* ---- what ends it ---- */

static int on_signal(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct fsc_run *r = arg;

	if (n == SIGHUP && ops_of(r)->reload)
		return ops_of(r)->reload(r, err);
	loop->stop = r->interrupted = true;
	return 0;
}

static int on_time_up(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	(void)n, (void)arg, (void)err;
	loop->stop = true;
	return 0;
}

static int on_child_exit(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct fsc_run *r = arg;

	(void)n;
	loop->stop = true;
	return fsc_child_reap(&r->child, err);
}

void fsc_run_all_exited(struct fsc_run *r, size_t n)
{
	fsc_log(FSC_LOG_NOTE, "%s exited", n == 1 ? "the process has" : "all processes have");
	r->loop.stop = true;
}

void fsc_run_fail(struct fsc_run *r, const struct fsc_err *why)
{
	if (!r->why.code)
		r->why = *why;
	r->loop.stop = true;
}

void fsc_run_rewritten(struct fsc_run *r, const char *file)
{
	struct fsc_err why = {0};

	fsc_err_set(&why, ESTALE,
		    "%s was written to after %.1f s, which ended the run: its probes were for what "
		    "the file had before",
		    file, fsc_run_seconds(r));
	fsc_run_fail(r, &why);
}

/* ---- timers ---- */

static int on_tick(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct fsc_run *r = arg;

	(void)loop, (void)n;
	return ops_of(r)->tick(r, err);
}

static int on_interval(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct fsc_run *r = arg;
	const struct fsc_output_opts *o = r->opts->out;

	(void)loop, (void)n;
	/* The last interval is reported at the end, not twice. */
	if (o->duration > 0 && fsc_run_seconds(r) > o->duration - o->interval / 100)
		return 0;
	return ops_of(r)->report(r, false, err);
}

int fsc_run_interval(struct fsc_run *r, double seconds, struct fsc_err *err)
{
	fsc_loop_cancel(&r->loop, on_interval, r);
	return seconds > 0 ? fsc_loop_timer(&r->loop, seconds, true, on_interval, r, err) : 0;
}

static int start_timers(struct fsc_run *r, struct fsc_err *err)
{
	const struct fsc_output_opts *o = r->opts->out;
	int rc = fsc_run_interval(r, o->interval, err);

	if (!rc && ops_of(r)->tick)
		rc = fsc_loop_timer(&r->loop, r->opts->tick_s, true, on_tick, r, err);
	if (!rc && o->duration > 0)
		rc = fsc_loop_timer(&r->loop, o->duration, false, on_time_up, r, err);
	return rc;
}

/* ---- the lifecycle ---- */

/* Nothing is attached yet, and a held command dies with us: until then a signal does what it does
 * to any program, however long finding the targets takes. One that asks for a reload waits. */
static int open_interruptibly(struct fsc_run *r, struct fsc_err *err)
{
	sigset_t mask = r->old_mask;
	int rc;

	if (ops_of(r)->reload)
		sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	rc = ops_of(r)->open(r, err);
	sigprocmask(SIG_BLOCK, &r->signals, NULL);
	return rc;
}

static int open_all(struct fsc_run *r, struct fsc_err *err)
{
	int rc = fsc_loop_init(&r->loop, err);

	if (!rc)
		rc = fsc_loop_signals(&r->loop, &r->signals, on_signal, r, err);
	if (!rc && r->opts->command)
		rc = fsc_child_start(&r->child, r->opts->command, &r->old_mask, err);
	if (!rc && r->opts->command)
		rc = fsc_loop_watch_fd(&r->loop, r->child.pidfd, on_child_exit, r, err);
	if (!rc)
		rc = open_interruptibly(r, err);
	/* Last, so that a run that cannot start leaves the file unchanged. */
	return rc ? rc : fsc_output_open(r->opts->out, r->opts->data, &r->sink, err);
}

static void announce_ready(struct fsc_run *r)
{
	unsigned fd = r->opts->out->ready_fd;

	if (ops_of(r)->ready)
		ops_of(r)->ready(r);
	if (fd && write((int)fd, "armed\n", 6) == 6)
		close((int)fd);
	if (ops_of(r)->started)
		ops_of(r)->started(r);
}

static int attach_and_wait(struct fsc_run *r, struct fsc_err *err)
{
	int rc = ops_of(r)->attach ? ops_of(r)->attach(r, err) : 0;

	if (rc)
		return rc;
	r->start_ns = fsc_clock_mono();
	if (r->opts->once)
		return 0;
	rc = start_timers(r, err);
	if (!rc)
		rc = fsc_child_release(&r->child, err);
	if (rc)
		return rc;
	announce_ready(r);
	return fsc_loop_run(&r->loop, err);
}

/* The probes are detached: from here on a signal may kill us, should the report block. Signals
 * already pending are discarded. */
static void allow_signals(const struct fsc_run *r)
{
	const struct timespec none = {0};

	while (sigtimedwait(&r->signals, NULL, &none) > 0)
		;
	sigprocmask(SIG_UNBLOCK, &r->signals, NULL);
}

static int finish_run(struct fsc_run *r, struct fsc_err *err)
{
	struct fsc_summary sum = {0};
	int rc;

	r->end_ns = fsc_clock_mono();
	rc = ops_of(r)->detach ? ops_of(r)->detach(r, err) : 0;
	allow_signals(r);
	if (!rc)
		rc = ops_of(r)->report(r, true, err);
	if (!rc && ops_of(r)->books) {
		rc = ops_of(r)->books(r, &sum, err);
		if (!rc)
			rc = fsc_sink_summary(&r->sink, &sum, err);
	}
	if (!rc)
		rc = fsc_output_close(r->opts->out->output, &r->sink, err);
	if (ops_of(r)->close)
		ops_of(r)->close(r);
	/* Ctrl-C goes to the command, too: it may be about to exit. */
	if (!rc && r->interrupted)
		rc = fsc_child_await(&r->child, CHILD_MS, err);
	fsc_child_log_exit(&r->child, r->opts->exit_code && !r->interrupted);
	if (rc || !r->opts->exit_code || r->interrupted || r->why.code || r->child.exited)
		return rc;
	rc = fsc_child_await(&r->child, -1, err);
	fsc_child_log_exit(&r->child, false);
	return rc;
}

/* The signals stay as they are: a second Ctrl-C while detaching must not fail a finished run. */
static void release_run(struct fsc_run *r)
{
	fsc_loop_release(&r->loop);
	fsc_child_drop(&r->child);
	fsc_output_close(r->opts->out->output, &r->sink, NULL);
}

int fsc_run(const struct fsc_run_opts *opts, struct fsc_err *err)
{
	struct fsc_run r = {.opts = opts,
			    .state = opts->state,
			    .sink = opts->sink,
			    .loop = {.epoll = -1},
			    .child = {.pidfd = -1}};
	int rc;

	if (opts->out->verbose)
		fsc_log_set_level(FSC_LOG_DEBUG);
	sigemptyset(&r.signals);
	sigaddset(&r.signals, SIGINT);
	sigaddset(&r.signals, SIGTERM);
	sigaddset(&r.signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &r.signals, &r.old_mask);
	rc = open_all(&r, err);
	if (!rc)
		rc = attach_and_wait(&r, err);
	if (!rc)
		rc = finish_run(&r, err);
	if (!rc && r.why.code) {
		*err = r.why;
		rc = -r.why.code;
	}
	if (!rc && opts->exit_code)
		rc = fsc_child_code(&r.child);
	release_run(&r);
	return rc;
}
