/* funcscope attach: what instrumented programs measure of themselves. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/keys.h"
#include "cmd/scratch.h"
#include "cmd/timings.h"
#include "proc/named.h"
#include "run/pids.h"
#include "run/run.h"
#include "source/scopes.h"

/* Seconds between two searches for processes that --wait names or the command starts. */
#define LOOK 0.02

struct attach_opts {
	struct fsc_output_opts out;
	struct fsc_timings_opts show;
	struct fsc_vec by; /* const char * */
	bool once, all, wait, raw, tail;
};

static const struct fsc_opt attach_opts[] = {
    {0, "once", FSC_OPT_FLAG, offsetof(struct attach_opts, once), NULL,
     "report what was measured so far, and exit", NULL},
    {0, "all", FSC_OPT_FLAG, offsetof(struct attach_opts, all), NULL,
     "include what was measured before attaching", NULL},
    {0, "wait", FSC_OPT_FLAG, offsetof(struct attach_opts, wait), NULL,
     "wait for a process to appear", NULL},
    {'b', "by", FSC_OPT_LIST, offsetof(struct attach_opts, by), "KEYS",
     "also group by: comm, pid, tid (comma-separated)", NULL},
    {0, "raw", FSC_OPT_FLAG, offsetof(struct attach_opts, raw), NULL,
     "do not subtract the cost of an empty checkpoint", NULL},
    {0, "tail", FSC_OPT_FLAG, offsetof(struct attach_opts, tail), NULL,
     "also show the slowest of the latest calls", NULL},
    {0},
};

struct attach {
	const struct attach_opts *o;
	char *const *operands;
	int n_operands;
	char *const *command;
	struct fsc_run *run;
	struct fsc_scopes *scopes;
	struct fsc_pids pids;
	struct fsc_latencies before;
	struct fsc_summary books_before;
	uint64_t kept;
	struct fsc_scratch scratch; /* where a command's processes keep their memory */
};

/* Files are read once: no process still writes to them. */
static bool names_files(const struct attach *a)
{
	for (int i = 0; i < a->n_operands; i++)
		if (strchr(a->operands[i], '/'))
			return true;
	return false;
}

/* ---- targets ---- */

/* The data of a process can be read after it has exited. */
static int watch_exit_of(struct attach *a, pid_t pid, struct fsc_err *err)
{
	int rc = fsc_pids_add(&a->pids, pid, err);

	if (rc == -ESRCH) {
		fsc_scopes_ended(a->scopes, pid);
		return 0;
	}
	if (!rc && a->o->all)
		FSC_AT(struct fsc_pid, &a->pids.all, a->pids.all.n - 1)->cpu_start = 0;
	return rc;
}

static int add_pid(struct attach *a, pid_t pid, struct fsc_err *err)
{
	bool added;
	int rc = fsc_scopes_add(a->scopes, pid, &added, err);

	return rc || !added ? rc : watch_exit_of(a, pid, err);
}

static int add_named(pid_t pid, void *arg, struct fsc_err *err)
{
	struct attach *a = arg;
	int rc = add_pid(a, pid, err);

	/* Not every process of that name needs to use the library. */
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
		if (!stat(text, &st) && S_ISDIR(st.st_mode))
			return fsc_scopes_add_directory(a->scopes, text, err);
		return fsc_scopes_add_file(a->scopes, text, err);
	}
	if (!is_number(text)) {
		rc = fsc_processes_named(text, add_named, a, err);
		if (rc || fsc_scopes_processes(a->scopes) > before)
			return rc;
		return fsc_err_set(err, ENOENT,
				   "no process named '%s' uses lib/funcscope; --wait waits for one",
				   text);
	}
	errno = 0;
	pid = strtoul(text, NULL, 10);
	if (errno || !pid || pid > 0x7fffffff)
		return fsc_err_usage(err, "'%s' is not a process ID", text);
	rc = add_pid(a, (pid_t)pid, err);
	/* An exited process can be read, but not a zombie, whose memory is gone. */
	zombie = rc ? fsc_pids_refuse_zombie((pid_t)pid, err) : 0;
	return zombie ? zombie : rc;
}

/* Whether the target may still appear. */
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

/* Recent calls may be older than the reported interval: leave those out. */
static void count_row(struct attach *a, struct fsc_latency *row)
{
	a->kept += row->slot->count;
	if (row->recent.n > row->slot->count)
		row->recent = (struct fsc_recent){0};
}

static int attach_report(struct fsc_run *r, bool last, struct fsc_err *err)
{
	struct attach *a = r->state;
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
		rc = fsc_sink_latency(&r->sink, &delta, err);
		fsc_latencies_release(&delta);
	}
	fsc_latencies_release(&a->before);
	a->before = now;
	return rc;
}

/* Counting starts here, unless earlier calls are asked for, too. */
static int set_baseline(struct attach *a, struct fsc_err *err)
{
	int rc;

	if (a->o->all || a->o->once || a->o->wait || a->command || names_files(a))
		return 0;
	rc = fsc_scopes_read(a->scopes, &a->before, err);
	if (!rc)
		fsc_scopes_books(a->scopes, &a->books_before);
	return rc;
}

static int attach_books(struct fsc_run *r, struct fsc_summary *sum, struct fsc_err *err)
{
	struct attach *a = r->state;
	uint64_t cpu = a->command ? fsc_child_cpu(&r->child) : fsc_pids_cpu(&a->pids);

	(void)err;
	*sum = (struct fsc_summary){.timed = true, .kept = a->kept};
	fsc_scopes_books(a->scopes, sum);
	sum->seen = sum->kept;
	for (size_t i = 0; sum->lost[i].name; i++) {
		sum->lost[i].n -= a->books_before.lost[i].n;
		sum->seen += sum->lost[i].n;
	}
	sum->unmatched -= a->books_before.unmatched;
	sum->duration_s = fsc_run_seconds(r);
	sum->cost_known = true;
	sum->ns_per_hit = fsc_scopes_clock(a->scopes)->pair_ns[sum->scopes.ordered];
	sum->share_known = cpu > 0 && !a->o->once;
	if (sum->share_known)
		sum->percent = 100 * sum->ns_per_hit * (double)sum->seen / (double)cpu;
	return 0;
}

/* ---- the run ---- */

static void note_exit(pid_t pid, void *arg)
{
	fsc_scopes_ended(((struct attach *)arg)->scopes, pid);
}

static int on_exit_of(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct attach *a = arg;

	(void)loop, (void)n, (void)err;
	if (!fsc_pids_take_exited(&a->pids, note_exit, a))
		fsc_run_all_exited(a->run, a->pids.all.n);
	return 0;
}

/* The command's processes put their memory into our directory, so that it can be read after they
 * exit. */
static int make_scratch(struct attach *a, struct fsc_err *err)
{
	int rc = fsc_scratch_make(&a->scratch, err);

	if (!rc && setenv("FUNCSCOPE_DIRECTORY", a->scratch.path, 1))
		rc = fsc_err_nomem(err);
	return rc;
}

static int attach_open(struct fsc_run *r, struct fsc_err *err)
{
	struct attach *a = r->state;
	int rc;

	a->run = r;
	fsc_pids_init(&a->pids, &r->loop, on_exit_of, a);
	if (a->command)
		return 0;
	rc = add_operands(a, err);
	/* If all of them have exited, nothing would wake the loop. */
	if (!rc && !a->pids.all.n && !a->o->wait)
		r->loop.stop = true;
	return rc ? rc : set_baseline(a, err);
}

static int attach_tick(struct fsc_run *r, struct fsc_err *err)
{
	struct attach *a = r->state;

	fsc_pids_cpu(&a->pids);
	if (a->command)
		return fsc_scopes_add_directory(a->scopes, a->scratch.path, err);
	return a->o->wait ? add_operands(a, err) : fsc_scopes_renew(a->scopes, err);
}

static int attach_detach(struct fsc_run *r, struct fsc_err *err)
{
	struct attach *a = r->state;
	int rc = a->command ? fsc_scopes_add_directory(a->scopes, a->scratch.path, err)
			    : fsc_scopes_renew(a->scopes, err);

	if (rc || fsc_scopes_processes(a->scopes))
		return rc;
	if (a->command)
		return fsc_err_set(
		    err, ENOENT,
		    "'%s' left no instrumentation memory: it does not use lib/funcscope, or "
		    "has not called funcscope_caller_initialize()",
		    a->command[0]);
	return fsc_err_set(err, ENOENT,
			   "nothing to read: found no process that uses lib/funcscope, and no file "
			   "left by one");
}

static const struct fsc_run_ops ops = {.open = attach_open,
				       .tick = attach_tick,
				       .report = attach_report,
				       .detach = attach_detach,
				       .books = attach_books};

static void release_attach(struct attach *a)
{
	fsc_pids_release(&a->pids);
	fsc_latencies_release(&a->before);
	fsc_scopes_free(a->scopes);
	fsc_scratch_remove(&a->scratch);
}

static int parse_by(const struct attach_opts *o, uint32_t *ret, struct fsc_err *err)
{
	struct fsc_session_opts so = {0};
	int rc = fsc_keys_parse(&(struct fsc_keys){.by = o->by, .max_keys = 1}, &so, err);

	*ret = so.by;
	if (!rc && so.by & ~(uint32_t)(FSC_BY_COMM | FSC_BY_PID | FSC_BY_TID))
		return fsc_err_usage(err, "attach supports only comm, pid and tid for --by");
	return rc;
}

static int check_attach_opts(const struct attach *a, struct fsc_err *err)
{
	if (!a->n_operands && !a->command)
		return fsc_err_usage(err, "no process given; try: funcscope attach PID, or a "
					  "program's name, or -- COMMAND");
	if (a->n_operands && a->command)
		return fsc_err_usage(err, "a process and a command cannot be combined");
	if (a->o->once && (a->o->out.interval > 0 || a->o->out.duration > 0 || a->o->wait))
		return fsc_err_usage(err, "--once cannot be combined with -i, -d or --wait");
	if (a->command && (a->o->once || a->o->wait))
		return fsc_err_usage(err, "--once and --wait need a process, not a command");
	return 0;
}

static int parse_and_run(int argc, char **argv, struct attach *a, struct attach_opts *o,
			 struct fsc_err *err)
{
	const struct fsc_opt_set sets[] = {FSC_OUTPUT_SETS(fsc_table_formats, &o->out),
					   {fsc_timings_opts, &o->show},
					   {attach_opts, o},
					   {NULL, NULL}};
	struct fsc_run_opts ro = {.ops = &ops,
				  .state = a,
				  .out = &o->out,
				  .data = FSC_DATA_LATENCIES,
				  .command = a->command,
				  .tick_s = LOOK};
	uint32_t by = 0;
	int rc = fsc_opt_parse(sets, argc, argv, &a->n_operands, err);

	a->operands = argv + 1;
	if (!rc)
		rc = check_attach_opts(a, err);
	if (!rc)
		rc = fsc_timings_apply(&o->show, &ro.sink, err);
	if (!rc)
		rc = parse_by(o, &by, err);
	if (!rc)
		rc = fsc_scopes_new(by, o->raw, &a->scopes, err);
	if (!rc && a->command)
		rc = make_scratch(a, err);
	ro.once = o->once || names_files(a);
	return rc ? rc : fsc_run(&ro, err);
}

static int run_attach(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct attach_opts o = {.by = FSC_VEC_INIT(const char *)};
	struct attach a = {.o = &o, .command = command};
	int rc = parse_and_run(argc, argv, &a, &o, err);

	release_attach(&a);
	fsc_vec_release(&o.by);
	return rc;
}

const struct fsc_cmd fsc_cmd_attach = {
    .name = "attach",
    .summary = "read the timings of programs that use lib/funcscope",
    .operands = "PID|NAME|FILE... | -- COMMAND ARGS...",
    .example = "funcscope attach -i 1 proxy",
    .opts = (const struct fsc_opt *const[]){FSC_OUTPUT_TABLES(fsc_table_formats), fsc_timings_opts,
					    attach_opts, NULL},
    .run = run_attach,
};
