/* funcscope attach: what instrumented programs measure of themselves. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "source/cputime.h"
#include "cmd/keys.h"
#include "cmd/output.h"
#include "cmd/scratch.h"
#include "cmd/timings.h"
#include "cmd/watched.h"
#include "source/processes.h"
#include "source/scopes.h"

/* Seconds between two looks for processes that are waited for, or that a command starts. */
#define LOOK 0.02

struct attach_opts {
	struct fsc_output_opts out;
	struct fsc_timings_opts show;
	struct fsc_vec by; /* const char * */
	bool once, all, wait, raw, tail;
	unsigned ready_fd; /* tests: written to when what comes counts */
};

static const struct fsc_opt attach_opts[] = {
    {0, "once", FSC_OPT_FLAG, offsetof(struct attach_opts, once), NULL,
     "report what was measured so far, and end", NULL},
    {0, "all", FSC_OPT_FLAG, offsetof(struct attach_opts, all), NULL,
     "also what was measured before we came", NULL},
    {0, "wait", FSC_OPT_FLAG, offsetof(struct attach_opts, wait), NULL,
     "wait for a process to appear", NULL},
    {'b', "by", FSC_OPT_LIST, offsetof(struct attach_opts, by), "KEYS",
     "also by: comm, pid, tid (comma between)", NULL},
    {0, "raw", FSC_OPT_FLAG, offsetof(struct attach_opts, raw), NULL,
     "leave in what an empty checkpoint reads", NULL},
    {0, "tail", FSC_OPT_FLAG, offsetof(struct attach_opts, tail), NULL,
     "the slowest of the latest calls, too", NULL},
    {0, "ready-fd", FSC_OPT_UINT, offsetof(struct attach_opts, ready_fd), "N", NULL, NULL},
    {0},
};

struct watch {
	pid_t pid;
	int pidfd;
	uint64_t cpu_start, cpu;
	bool ended;
};

struct attach {
	const struct attach_opts *o;
	char *const *operands;
	int n_operands;
	char *const *command;
	struct fsc_scopes *scopes;
	struct fsc_vec watches; /* struct watch */
	struct fsc_loop loop;
	sigset_t signals, old_mask;
	struct fsc_sink sink;
	struct fsc_latencies before;
	struct fsc_summary books_before;
	uint64_t start_ns, kept;
	struct fsc_scratch scratch; /* where a command's processes keep their memory */
	struct fsc_watched who;	    /* the command */
	bool files;		    /* there is nothing to wait for */
};

/* ---- whom ---- */

static int on_end(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err);

static int watch(struct attach *a, pid_t pid, struct fsc_err *err)
{
	struct watch *w = fsc_vec_push(&a->watches);

	if (!w)
		return fsc_err_nomem(err);
	*w = (struct watch){.pid = pid,
			    .pidfd = fsc_watched_open(pid),
			    .cpu_start = a->o->all ? 0 : fsc_cputime_process(pid)};
	if (w->pidfd < 0 && w->pidfd != -ESRCH)
		return fsc_err_sys(err, -w->pidfd, "cannot watch process %d", pid);
	if (w->pidfd < 0) {
		w->ended = true;
		fsc_scopes_ended(a->scopes, pid);
		return 0;
	}
	return fsc_loop_watch_fd(&a->loop, w->pidfd, on_end, a, err);
}

static int add_pid(struct attach *a, pid_t pid, struct fsc_err *err)
{
	bool added;
	int rc = fsc_scopes_add(a->scopes, pid, &added, err);

	return rc || !added ? rc : watch(a, pid, err);
}

static int add_named(pid_t pid, void *arg, struct fsc_err *err)
{
	struct attach *a = arg;
	int rc = add_pid(a, pid, err);

	/* Of several processes of a name some may carry the library, and some not. */
	return rc == -ENOENT || rc == -ESRCH ? 0 : rc;
}

static bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

/* A number is a process, a path a file or a directory of files, anything else the name of
 * processes. */
static int add_operand(struct attach *a, const char *text, struct fsc_err *err)
{
	struct stat st;
	unsigned long pid;
	size_t before = fsc_scopes_processes(a->scopes);
	int rc, zombie;

	if (strchr(text, '/')) {
		a->files = true;
		if (!stat(text, &st) && S_ISDIR(st.st_mode))
			return fsc_scopes_add_directory(a->scopes, text, err);
		return fsc_scopes_add_file(a->scopes, text, err);
	}
	if (!is_number(text)) {
		rc = fsc_processes_named(text, add_named, a, err);
		if (rc || fsc_scopes_processes(a->scopes) > before)
			return rc;
		return fsc_err_set(
		    err, ENOENT,
		    "no process named '%s' carries lib/funcscope; --wait waits for one", text);
	}
	errno = 0;
	pid = strtoul(text, NULL, 10);
	if (errno || !pid || pid > 0x7fffffff)
		return fsc_err_usage(err, "'%s' is no process number", text);
	rc = add_pid(a, (pid_t)pid, err);
	/* What it measured may outlive it, but not in a process without memory. */
	zombie = rc ? fsc_watched_refuse_zombie((pid_t)pid, err) : 0;
	return zombie ? zombie : rc;
}

/* Whether it may still come. */
static bool worth_waiting(int rc)
{
	return rc == -ENOENT || rc == -ESRCH || rc == -EBADMSG;
}

static int add_operands(struct attach *a, struct fsc_err *err)
{
	int rc = 0;

	for (int i = 0; !rc && i < a->n_operands; i++) {
		rc = add_operand(a, a->operands[i], err);
		if (a->o->wait && worth_waiting(rc))
			rc = 0;
	}
	return rc;
}

/* ---- reports ---- */

/* The latest calls may be from before the stretch that is reported: then they are none of it. */
static void count_row(struct attach *a, struct fsc_latency *row)
{
	a->kept += row->slot->count;
	if (row->recent.n > row->slot->count)
		row->recent = (struct fsc_recent){0};
}

static int report(struct attach *a, bool last, struct fsc_err *err)
{
	struct fsc_latencies now, delta;
	int rc = fsc_scopes_read(a->scopes, &now, err);

	(void)last;
	if (rc)
		return rc;
	rc = fsc_latencies_subtract(&now, &a->before, false, &delta, err);
	if (!rc) {
		for (size_t i = 0; i < delta.rows.n; i++)
			count_row(a, FSC_AT(struct fsc_latency, &delta.rows, i));
		delta.parts.recent = a->o->tail;
		if (a->before.time_ns)
			delta.seconds = (double)(now.time_ns - a->before.time_ns) / 1e9;
		else
			delta.seconds = fsc_scopes_seconds(a->scopes);
		fsc_timings_sort(&a->o->show, &delta);
		rc = fsc_sink_latency(&a->sink, &delta, err);
		fsc_latencies_release(&delta);
	}
	fsc_latencies_release(&a->before);
	a->before = now;
	return rc;
}

/* From here on it counts, unless what came before is wanted, too. */
static int set_baseline(struct attach *a, struct fsc_err *err)
{
	int rc;

	if (a->o->all || a->o->once || a->o->wait || a->command || a->files)
		return 0;
	rc = fsc_scopes_read(a->scopes, &a->before, err);
	if (!rc)
		fsc_scopes_books(a->scopes, &a->books_before);
	return rc;
}

static uint64_t cpu_used(struct attach *a)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < a->watches.n; i++) {
		struct watch *w = FSC_AT(struct watch, &a->watches, i);
		uint64_t now = w->ended ? 0 : fsc_cputime_process(w->pid);

		if (now > w->cpu_start)
			w->cpu = now - w->cpu_start;
		sum += w->cpu;
	}
	return sum;
}

static int close_books(struct attach *a, struct fsc_err *err)
{
	struct fsc_summary sum = {.timed = true, .kept = a->kept};
	uint64_t cpu = a->command ? a->who.child_cpu_ns : cpu_used(a);

	fsc_scopes_books(a->scopes, &sum);
	sum.seen = sum.kept;
	for (size_t i = 0; sum.lost[i].name; i++) {
		sum.lost[i].n -= a->books_before.lost[i].n;
		sum.seen += sum.lost[i].n;
	}
	sum.unmatched -= a->books_before.unmatched;
	sum.duration_s = (double)(fsc_clock_mono() - a->start_ns) / 1e9;
	sum.cost_known = true;
	sum.ns_per_hit = fsc_scopes_clock(a->scopes)->pair_ns[sum.scopes.ordered];
	sum.share_known = cpu > 0 && !a->o->once;
	if (sum.share_known)
		sum.percent = 100 * sum.ns_per_hit * (double)sum.seen / (double)cpu;
	return fsc_sink_summary(&a->sink, &sum, err);
}

/* ---- the loop ---- */

static int on_stop(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	(void)n;
	(void)arg;
	(void)err;
	loop->stop = true;
	return 0;
}

static int on_command_end(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct attach *a = arg;

	(void)n;
	loop->stop = true;
	return fsc_watched_child_ended(&a->who, err);
}

static int on_end(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct attach *a = arg;
	bool left = a->o->wait && !a->watches.n;

	(void)n;
	(void)err;
	for (size_t i = 0; i < a->watches.n; i++) {
		struct watch *w = FSC_AT(struct watch, &a->watches, i);

		if (!w->ended && fsc_watched_ended(w->pidfd)) {
			w->ended = true;
			fsc_loop_unwatch_fd(loop, w->pidfd);
			fsc_scopes_ended(a->scopes, w->pid);
		}
		left |= !w->ended;
	}
	if (left)
		return 0;
	fsc_log(FSC_LOG_NOTE, "%s ended",
		a->watches.n == 1 ? "the process has" : "all processes have");
	loop->stop = true;
	return 0;
}

static int on_interval(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct attach *a = arg;
	double ran = (double)(fsc_clock_mono() - a->start_ns) / 1e9;

	(void)loop;
	(void)n;
	cpu_used(a);
	/* The last stretch is reported at the end, not twice. */
	if (a->o->out.duration > 0 && ran > a->o->out.duration - a->o->out.interval / 100)
		return 0;
	return report(a, false, err);
}

static int on_look(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct attach *a = arg;

	(void)loop;
	(void)n;
	cpu_used(a);
	if (a->command)
		return fsc_scopes_add_directory(a->scopes, a->scratch.path, err);
	return a->o->wait ? add_operands(a, err) : fsc_scopes_renew(a->scopes, err);
}

static int run_loop(struct attach *a, struct fsc_err *err)
{
	const struct fsc_output_opts *o = &a->o->out;
	int rc = fsc_loop_signals(&a->loop, &a->signals, on_stop, a, err);

	if (!rc && a->command)
		rc = fsc_loop_watch_fd(&a->loop, a->who.child.pidfd, on_command_end, a, err);
	if (!rc)
		rc = fsc_loop_timer(&a->loop, LOOK, true, on_look, a, err);
	if (!rc && o->interval > 0)
		rc = fsc_loop_timer(&a->loop, o->interval, true, on_interval, a, err);
	if (!rc && o->duration > 0)
		rc = fsc_loop_timer(&a->loop, o->duration, false, on_stop, a, err);
	if (!rc && a->command)
		rc = fsc_child_release(&a->who.child, err);
	if (a->o->ready_fd && write((int)a->o->ready_fd, "armed\n", 6) == 6)
		close((int)a->o->ready_fd);
	return rc ? rc : fsc_loop_run(&a->loop, err);
}

/* ---- the run ---- */

/* The command's processes keep their memory in files of ours: it is there when they have ended. */
static int start_command(struct attach *a, struct fsc_err *err)
{
	const struct fsc_vec none = FSC_VEC_INIT(const char *);
	int rc = fsc_scratch_make(&a->scratch, err);

	if (rc)
		return rc;
	if (setenv("FUNCSCOPE_DIRECTORY", a->scratch.path, 1))
		return fsc_err_nomem(err);
	return fsc_watched_find(&a->who, &none, &none, &a->old_mask, err);
}

static int end_command(struct attach *a, struct fsc_err *err)
{
	int rc = fsc_scopes_add_directory(a->scopes, a->scratch.path, err);

	fsc_watched_tell_child(&a->who);
	if (rc || fsc_scopes_processes(a->scopes))
		return rc;
	return fsc_err_set(err, ENOENT,
			   "'%s' left no instrumentation memory: it carries no lib/funcscope, or "
			   "has not called funcscope_caller_initialize()",
			   a->command[0]);
}

static int run_attach(struct attach *a, struct fsc_err *err)
{
	int rc = fsc_output_open(&a->o->out, FSC_DATA_LATENCIES, &a->sink, err);

	if (!rc)
		rc = fsc_loop_init(&a->loop, err);
	if (!rc)
		rc = a->command ? start_command(a, err) : add_operands(a, err);
	if (!rc)
		rc = set_baseline(a, err);
	a->start_ns = fsc_clock_mono();
	if (!rc && !a->o->once && !a->files)
		rc = run_loop(a, err);
	if (!rc && a->command)
		rc = end_command(a, err);
	if (!rc && !fsc_scopes_processes(a->scopes))
		rc = fsc_err_set(err, ENOENT,
				 "nothing to read: no process that carries "
				 "lib/funcscope, and no file of one, was found");
	if (!rc && !a->command)
		rc = fsc_scopes_renew(a->scopes, err);
	if (!rc)
		rc = report(a, true, err);
	if (!rc)
		rc = close_books(a, err);
	return rc ? rc : fsc_output_close(a->o->out.output, &a->sink, err);
}

static void release(struct attach *a)
{
	fsc_loop_release(&a->loop);
	for (size_t i = 0; i < a->watches.n; i++)
		if (FSC_AT(struct watch, &a->watches, i)->pidfd >= 0)
			close(FSC_AT(struct watch, &a->watches, i)->pidfd);
	fsc_vec_release(&a->watches);
	fsc_latencies_release(&a->before);
	fsc_scopes_free(a->scopes);
	fsc_watched_release(&a->who);
	fsc_scratch_remove(&a->scratch);
	fsc_output_close(a->o->out.output, &a->sink, NULL);
}

static int parse_by(const struct attach_opts *o, uint32_t *ret, struct fsc_err *err)
{
	struct fsc_session_opts so = {0};
	int rc = fsc_keys_parse(&(struct fsc_keys){.by = o->by, .max_keys = 1}, &so, err);

	*ret = so.by;
	if (!rc && so.by & ~(uint32_t)(FSC_BY_COMM | FSC_BY_PID | FSC_BY_TID))
		return fsc_err_usage(err, "attach knows comm, pid and tid as keys for --by");
	return rc;
}

static int check(const struct attach *a, struct fsc_err *err)
{
	if (!a->n_operands && !a->command)
		return fsc_err_usage(err, "no process given; try: funcscope attach PID, or a "
					  "program's name, or -- COMMAND");
	if (a->n_operands && a->command)
		return fsc_err_usage(err, "a process and a command exclude each other");
	if (a->o->once && (a->o->out.interval > 0 || a->o->out.duration > 0 || a->o->wait))
		return fsc_err_usage(err, "--once excludes -i, -d and --wait");
	if (a->command && (a->o->once || a->o->wait))
		return fsc_err_usage(err, "--once and --wait need a process, not a command");
	return 0;
}

static int parse_and_run(int argc, char **argv, struct attach *a, struct attach_opts *o,
			 struct fsc_err *err)
{
	const struct fsc_opt_set sets[] = {{fsc_output_opts, &o->out},
					   {fsc_timings_opts, &o->show},
					   {attach_opts, o},
					   {NULL, NULL}};
	uint32_t by = 0;
	int rc = fsc_opt_parse(sets, argc, argv, &a->n_operands, err);

	a->operands = argv + 1;
	if (!rc)
		rc = check(a, err);
	if (!rc)
		rc = fsc_timings_apply(&o->show, &a->sink, err);
	if (!rc)
		rc = parse_by(o, &by, err);
	if (!rc)
		rc = fsc_scopes_new(by, o->raw, &a->scopes, err);
	return rc ? rc : run_attach(a, err);
}

static int run(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct attach_opts o = {.by = FSC_VEC_INIT(const char *)};
	struct attach a = {.o = &o,
			   .command = command,
			   .watches = FSC_VEC_INIT(struct watch),
			   .loop = {.epoll = -1}};
	int rc;

	fsc_watched_init(&a.who, command);
	sigemptyset(&a.signals);
	sigaddset(&a.signals, SIGINT);
	sigaddset(&a.signals, SIGTERM);
	sigaddset(&a.signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &a.signals, &a.old_mask);
	rc = parse_and_run(argc, argv, &a, &o, err);
	release(&a);
	fsc_vec_release(&o.by);
	return rc;
}

const struct fsc_cmd fsc_cmd_attach = {
    .name = "attach",
    .summary = "read the timings of programs that carry lib/funcscope",
    .operands = "PID|NAME|FILE... | -- COMMAND ARGS...",
    .example = "funcscope attach -i 1 proxy",
    .opts = (const struct fsc_opt *const[]){fsc_output_opts, fsc_timings_opts, attach_opts, NULL},
    .run = run,
};
