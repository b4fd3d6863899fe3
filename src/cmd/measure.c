/* The run of count, time, stack and trace: find targets and places, open a session, account for its
 * cost, and report through the command's view. */
#include "cmd/measure.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/budget.h"
#include "cmd/warn.h"
#include "engine/features.h"
#include "engine/inodes.h"
#include "proc/cgroups.h"
#include "proc/cputime.h"
#include "proc/libs.h"
#include "run/pids.h"
#include "run/run.h"
#include "run/writes.h"

/* Seconds between two readings of the CPU time, between two ticks of the view, and between two
 * calibrations, which take 0.1 to 3 ms of our own time for each class of places. */
#define TICK	    0.1
#define BUDGET_TICK 0.005
#define VIEW_TICK   0.02
#define CALIBRATION 1.0

enum { LEAVE_MS = 500 }; /* how long the end waits for probes to come off */

struct measure {
	const struct fsc_measure_plan *plan;
	const struct fsc_measure_opts *o;
	struct fsc_run *run;
	struct fsc_vec pids, tids; /* pid_t: whose calls count; none: all */
	struct fsc_pids owners;	   /* of -p and -t: short names mean their files */
	struct fsc_targets targets;
	struct fsc_session *session;
	struct fsc_live *live;
	double max_overhead; /* percent; 0: none */
	struct fsc_budget *budget;
	uint64_t machine_cpu;	  /* ns, at the start */
	uint64_t cpu;		  /* ns used, set when the probes are detached */
	bool follow;		  /* children, too */
	bool all_exited;	  /* owners */
	uint64_t followed_ns;	  /* when those that are followed were last looked through */
	struct fsc_writes writes; /* to the probed files */
};

/* ---- targets ---- */

static int add_owner(struct measure *m, pid_t task, bool process, struct fsc_err *err)
{
	pid_t owner = fsc_pids_owner(task);
	int rc;

	if (!owner)
		return fsc_err_set(err, ESRCH, "no process or thread %d is running; see: ps -eL",
				   task);
	if (process && owner != task)
		return fsc_err_usage(err,
				     "%d is a thread of process %d; give -p %d for all of it, or "
				     "-t %d for the thread",
				     task, owner, owner, task);
	rc = fsc_pids_refuse_zombie(owner, err);
	return rc ? rc : fsc_pids_add(&m->owners, owner, err);
}

static int find_tasks(struct measure *m, struct fsc_err *err)
{
	int rc = fsc_probes_pids(&m->plan->probe.pids, &m->pids, err);

	if (!rc)
		rc = fsc_probes_pids(&m->o->tids, &m->tids, err);
	for (size_t i = 0; !rc && i < m->pids.n; i++)
		rc = add_owner(m, *FSC_AT(pid_t, &m->pids, i), true, err);
	for (size_t i = 0; !rc && i < m->tids.n; i++)
		rc = add_owner(m, *FSC_AT(pid_t, &m->tids, i), false, err);
	/* The process of each thread: the kernel limits probes to processes. */
	for (size_t i = 0; !rc && m->tids.n && i < m->owners.all.n; i++)
		rc = fsc_vec_add(&m->pids, &FSC_AT(struct fsc_pid, &m->owners.all, i)->pid, err);
	if (!rc && m->plan->command)
		rc = fsc_vec_add(&m->pids, &m->run->child.pid, err);
	return rc;
}

/* CPU time, in ns, that the targets have used since the start. */
static uint64_t cpu_used(void *arg)
{
	struct measure *m = arg;

	if (m->plan->command)
		return fsc_child_cpu(&m->run->child);
	return m->owners.all.n ? fsc_pids_cpu(&m->owners) : fsc_cputime_machine() - m->machine_cpu;
}

static int on_exit_of(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct measure *m = arg;

	(void)loop, (void)n, (void)err;
	m->all_exited = !fsc_pids_take_exited(&m->owners, NULL, NULL);
	if (m->all_exited && !m->o->follow)
		fsc_run_all_exited(m->run, m->owners.all.n);
	return 0;
}

/* Children have no descriptor that would wake us. Their table is looked through once a second, and
 * at each tick once only they are left. */
static void check_followed(struct measure *m)
{
	const uint64_t now = fsc_clock_mono();

	if (!m->follow || (!m->all_exited && now - m->followed_ns < 1000000000))
		return;
	m->followed_ns = now;
	if (!fsc_session_forget_exited_tasks(m->session) && m->owners.all.n)
		fsc_run_all_exited(m->run, m->owners.all.n);
}

/* ---- places ---- */

/* A command that cannot fork needs no probes in other processes. But if the kernel can limit only
 * single probes to a process, not a link of many (Linux 6.6 to 6.9), the link goes to all. */
static bool follows_children(const struct measure *m, const char *command)
{
	if (!command || m->o->follow || m->o->no_follow)
		return command ? !m->o->no_follow : m->o->follow;
	return (fsc_feature_uprobe_multi_quick(false) && !fsc_feature_uprobe_multi_quick(true)) ||
	       fsc_libs_may_fork(command);
}

/* A file that several containers share is one target. */
static int resolve_probes(struct measure *m, const struct fsc_scope *scope, struct fsc_err *err)
{
	struct fsc_inodes *inodes = NULL;
	int rc = fsc_inodes_new(&inodes, err);

	if (rc)
		return rc;
	m->targets.inode_of = fsc_inodes_number;
	m->targets.inode_arg = inodes;
	rc = fsc_probes_resolve(m->plan->probes, m->plan->n_probes, &m->plan->probe, scope,
				&m->targets, err);
	m->targets.inode_of = NULL;
	fsc_inodes_free(inodes);
	return rc;
}

static void on_rewritten(const void *tag, void *arg)
{
	const struct fsc_target_file *f = tag;
	struct measure *m = arg;

	fsc_run_rewritten(m->run, f->name);
}

static int on_writes(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct measure *m = arg;

	(void)loop, (void)n, (void)err;
	fsc_writes_read(&m->writes, on_rewritten, m);
	return 0;
}

/* From now on the list of files stays as it is. */
static int watch_files(struct measure *m, struct fsc_err *err)
{
	if (!m->targets.files.n)
		return 0;
	fsc_writes_open(&m->writes);
	for (size_t i = 0; i < m->targets.files.n; i++) {
		const struct fsc_target_file *f =
		    FSC_AT(struct fsc_target_file, &m->targets.files, i);

		fsc_writes_watch(&m->writes, f->path, f);
	}
	return m->writes.fd < 0 ? 0
				: fsc_loop_watch_fd(&m->run->loop, m->writes.fd, on_writes, m, err);
}

/* fentry is a rung for kernel functions: alone, user functions would silently get another one. */
static int check_via(const struct measure *m, struct fsc_err *err)
{
	if (m->o->via != FSC_VIA_FENTRY || !fsc_targets_count(&m->targets))
		return 0;
	for (size_t i = 0; i < fsc_targets_count(&m->targets); i++)
		if (fsc_targets_at(&m->targets, i)->site != FSC_SITE_USER)
			return 0;
	return fsc_err_usage(err, "--via fentry is for kernel functions; leave it out, or give "
				  "--via multi or single for user functions");
}

static int resolve_targets(struct measure *m, struct fsc_err *err)
{
	const struct fsc_session_opts *so = &m->plan->session;
	FSC_AUTO(fsc_freep)
	char *path = m->plan->command ? fsc_libs_which(m->plan->command[0]) : NULL;
	struct fsc_scope scope = {
	    /* The command is held and has not mapped its libraries yet: use its path. */
	    .pids = m->plan->command ? NULL : m->pids.data,
	    .n_pids = m->plan->command ? 0 : m->pids.n,
	    .command = path,
	    .pairs = so->mode == FSC_MODE_TIME || so->weigh || so->pairs,
	    .returns = (enum fsc_returns)m->o->returns,
	    .unwinds = so->copy_stacks,
	};
	int rc;

	m->follow = follows_children(m, path);
	/* Programs not named by the user: all of them, what a command starts, or what else maps the
	 * files. */
	scope.strangers = !fsc_session_limits(m->pids.n, m->follow);
	rc = resolve_probes(m, &scope, err);
	return rc ? rc : check_via(m, err);
}

/* ---- the session ---- */

static int start_view(struct measure *m, struct fsc_err *err)
{
	const struct fsc_measure_facts facts = {.session = m->session,
						.live = m->live,
						.targets = &m->targets,
						.pids = m->tids.n ? NULL : m->pids.data,
						.n_pids = m->tids.n ? 0 : m->pids.n};

	return m->plan->view->start ? m->plan->view->start(m->plan->state, &facts, err) : 0;
}

static int open_session(struct measure *m, struct fsc_err *err)
{
	const struct fsc_measure_view *view = m->plan->view;
	struct fsc_session_opts so = m->plan->session;
	struct fsc_budget_of of = {.n_rows = m->targets.rows.n, .cpu_ns = cpu_used, .arg = m};
	int rc = 0;

	so.pids = m->pids.data;
	so.n_pids = m->pids.n;
	so.follow = m->follow;
	so.follow_if_may = m->plan->command && !m->o->follow;
	so.tids = m->tids.data;
	so.n_tids = m->tids.n;
	so.comm = m->o->comm;
	so.via = (enum fsc_via)m->o->via;
	so.fast_uprobes = m->o->fast_uprobes;
	so.per_row = m->max_overhead > 0;
	if (view->resolved)
		rc = view->resolved(m->plan->state, &m->targets, &so, err);
	if (!rc && m->o->cgroup)
		rc = fsc_cgroup_find(m->o->cgroup, &so.cgroup_id, &so.cgroup_level, err);
	if (!rc)
		rc = fsc_session_open(&m->targets, &so, &m->session, err);
	if (!rc)
		rc = fsc_live_new(m->session, &m->targets, so.by, &m->live, err);
	of.session = m->session;
	of.live = m->live;
	if (!rc)
		rc = fsc_budget_new(m->max_overhead, &of, &m->budget, err);
	return rc ? rc : start_view(m, err);
}

/* The cost of the probes is needed before durations and the budget are computed. For user functions
 * it is known before attaching; for others it depends on how they are attached. */
static int calibrate_probes(struct measure *m, bool attached, struct fsc_err *err)
{
	bool timed = m->plan->session.mode == FSC_MODE_TIME;

	/* Nor may it delay the first copies of stacks, by which later ones become unnecessary. */
	if (!timed && !m->max_overhead && !m->plan->session.copy_stacks)
		return 0;
	if (!attached && !fsc_live_all_user(m->live))
		return 0;
	fsc_live_calibrate(m->live);
	return timed ? fsc_live_arm(m->live, err) : 0;
}

/* For -v: what was found, and how it was attached. */
static void log_attached(const struct measure *m, uint64_t start_ns)
{
	for (size_t i = 0; i < m->targets.files.n; i++)
		fsc_log(FSC_LOG_DEBUG, "file %s",
			FSC_AT(struct fsc_target_file, &m->targets.files, i)->name);
	for (int i = 0; i < FSC_RUNG_MAX; i++)
		if (fsc_session_on_rung(m->session, (enum fsc_rung)i))
			fsc_log(FSC_LOG_DEBUG, "%zu places by %s",
				fsc_session_on_rung(m->session, (enum fsc_rung)i),
				fsc_rung_names[i]);
	fsc_log(FSC_LOG_DEBUG, "attached in %.1f ms", (double)(fsc_clock_mono() - start_ns) / 1e6);
}

static int on_view_tick(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct measure *m = arg;
	bool stop = false;
	int rc = m->plan->view->tick(m->plan->state, &m->run->sink, &stop, err);

	(void)n;
	loop->stop |= stop;
	return rc;
}

/* The view reads at each tick, and when a ring of records fills up. */
static int watch_records(struct measure *m, struct fsc_err *err)
{
	int fd = fsc_session_events_fd(m->session), rc;

	if (!m->plan->view->tick)
		return 0;
	rc = fsc_loop_timer(&m->run->loop, VIEW_TICK, true, on_view_tick, m, err);
	if (!rc && fd >= 0)
		rc = fsc_loop_watch_fd(&m->run->loop, fd, on_view_tick, m, err);
	return rc;
}

/* ---- the run ---- */

static int measure_open(struct fsc_run *r, struct fsc_err *err)
{
	struct measure *m = r->state;
	int rc;

	m->run = r;
	fsc_pids_init(&m->owners, &r->loop, on_exit_of, m);
	rc = find_tasks(m, err);
	if (!rc)
		rc = resolve_targets(m, err);
	if (!rc)
		rc = watch_files(m, err);
	if (!rc)
		rc = open_session(m, err);
	if (rc)
		return rc;
	fsc_warn_fast(&m->targets, m->o->fast_uprobes);
	fsc_warn_throws(&m->targets, fsc_session_pairs(m->session));
	/* A trace is written call by call; other commands do next to nothing meanwhile. */
	if (m->plan->session.mode == FSC_MODE_TRACE && (m->follow || !m->pids.n))
		fsc_warn_own(&m->targets);
	return 0;
}

static int measure_attach(struct fsc_run *r, struct fsc_err *err)
{
	struct measure *m = r->state;
	uint64_t start_ns = fsc_clock_mono();
	int rc = calibrate_probes(m, false, err);

	if (!rc)
		rc = fsc_session_attach(m->session, err);
	if (!rc)
		rc = watch_records(m, err);
	if (!rc)
		rc = calibrate_probes(m, true, err);
	if (rc)
		return rc;
	log_attached(m, start_ns);
	m->machine_cpu = fsc_cputime_machine();
	fsc_pids_start(&m->owners, m->follow);
	fsc_session_count(m->session, true);
	return 0;
}

static void measure_ready(struct fsc_run *r)
{
	struct measure *m = r->state;

	if (isatty(STDERR_FILENO) && !m->o->out.duration && !m->plan->command)
		fsc_log(FSC_LOG_NOTE, "%s %zu function%s; press Ctrl-C to stop",
			m->plan->view->doing, m->targets.rows.n, m->targets.rows.n == 1 ? "" : "s");
}

static int on_calibration(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct measure *m = arg;

	(void)loop, (void)n;
	return fsc_live_recalibrate(m->live, err);
}

/* A machine that is busy at the start may be less so later. */
static void measure_started(struct fsc_run *r)
{
	struct measure *m = r->state;
	struct fsc_err why = {0};

	fsc_live_calibrate(m->live);
	if (fsc_loop_timer(&r->loop, CALIBRATION, true, on_calibration, m, &why))
		fsc_log(FSC_LOG_DEBUG, "%s", why.msg);
}

/* Also notes the CPU time of processes that may have exited at the end. */
static int measure_tick(struct fsc_run *r, struct fsc_err *err)
{
	struct measure *m = r->state;

	check_followed(m);
	return fsc_budget_tick(m->budget, err);
}

static int measure_report(struct fsc_run *r, bool last, struct fsc_err *err)
{
	struct measure *m = r->state;

	cpu_used(m);
	fsc_budget_report(m->budget);
	return m->plan->view->report(m->plan->state, m->live, &r->sink, last, err);
}

static int measure_detach(struct fsc_run *r, struct fsc_err *err)
{
	struct measure *m = r->state;

	(void)err;
	fsc_writes_read(&m->writes, on_rewritten, m);
	fsc_session_count(m->session, false);
	m->cpu = cpu_used(m);
	fsc_session_leave(m->session, LEAVE_MS);
	fsc_live_log_costs(m->live);
	fsc_budget_report(m->budget);
	return 0;
}

static int measure_books(struct fsc_run *r, struct fsc_summary *ret, struct fsc_err *err)
{
	struct measure *m = r->state;
	const struct fsc_measure_view *view = m->plan->view;
	bool of_machine = !m->owners.all.n && !m->plan->command;
	int rc = fsc_live_summary(m->live, m->cpu, of_machine, fsc_run_seconds(r), ret, err);

	if (rc)
		return rc;
	if (view->books)
		view->books(m->plan->state, ret);
	/* The books are in the file. */
	if (r->sink.out != stdout)
		fsc_warn_lost(ret);
	return 0;
}

static const struct fsc_run_ops ops = {.open = measure_open,
				       .attach = measure_attach,
				       .ready = measure_ready,
				       .started = measure_started,
				       .tick = measure_tick,
				       .report = measure_report,
				       .detach = measure_detach,
				       .books = measure_books};

static void release_measure(struct measure *m)
{
	fsc_budget_free(m->budget);
	fsc_live_free(m->live);
	fsc_session_free(m->session);
	fsc_targets_release(&m->targets);
	fsc_pids_release(&m->owners);
	fsc_writes_close(&m->writes);
	fsc_vec_release(&m->pids);
	fsc_vec_release(&m->tids);
}

int fsc_measure(const struct fsc_measure_plan *plan, struct fsc_err *err)
{
	struct measure m = {.plan = plan,
			    .o = &plan->run,
			    .writes = {.fd = -1},
			    .pids = FSC_VEC_INIT(pid_t),
			    .tids = FSC_VEC_INIT(pid_t)};
	struct fsc_run_opts ro = {.ops = &ops,
				  .state = &m,
				  .out = &plan->run.out,
				  .data = plan->view->data,
				  .sink = plan->sink,
				  .command = plan->command,
				  .exit_code = plan->run.exit_code,
				  .tick_s = TICK};
	int rc = fsc_measure_check(plan, err);

	if (!rc)
		rc = fsc_measure_budget(m.o, &m.max_overhead, err);
	if (rc)
		return rc;
	ro.sink.cost = m.o->cost;
	if (m.max_overhead > 0)
		ro.tick_s = BUDGET_TICK;
	fsc_targets_init(&m.targets);
	m.targets.apart = plan->apart;
	rc = fsc_run(&ro, err);
	release_measure(&m);
	return rc;
}
