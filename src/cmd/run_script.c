/* The run of a script. Its text becomes a plan (lang/), which the kernel carries out
 * (engine/script.h); what it sends and stores is printed as bpftrace prints it. */
#include "cmd/run_script.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/run_tests.h"
#include "run/pids.h"
#include "run/run.h"
#include "run/writes.h"
#include "world/machine.h"

/* Seconds between two readings of what processes have mapped. */
#define TICK 0.1

struct script_run {
	const struct fsc_run_script *o;
	struct fsc_vec pid_numbers; /* pid_t: of -p, or the command */
	struct fsc_pids pids;
	struct fsc_run *run;
	struct fsc_machine *machine;
	struct fsc_plan *plan;
	struct fsc_script *script;
	struct fsc_run_events events;
	struct fsc_writes writes; /* to files with probes */
	bool warned_full;
	sigset_t self; /* signals that the script has a probe for */
};

/* ---- compiling ---- */

static int compile(struct script_run *s, struct fsc_err *err)
{
	const struct fsc_vec *pids = &s->o->pids;
	const struct fsc_lang_opts opts = {
	    .source_name = s->o->name,
	    .params = s->o->params.data,
	    .n_params = s->o->params.n,
	    .named = s->o->named.data,
	    .n_named = s->o->named.n,
	    .config = s->o->config.data,
	    .n_config = s->o->config.n,
	    .unsafe = s->o->is_unsafe,
	    .helper_errors = s->o->helper_errors,
	    .pid = pids->n ? *FSC_AT(pid_t, pids, 0) : 0,
	    .has_cpid = s->o->command != NULL,
	    .tests = s->o->tests,
	    .benches = s->o->benches,
	    .warnings = !s->o->no_warnings,
	};
	struct fsc_diags diags;
	struct fsc_buf b = {0};
	int rc;

	fsc_diags_init(&diags);
	rc = fsc_lang_compile(s->o->text, s->o->n_text, &opts, fsc_machine_world(s->machine),
			      &s->plan, &diags, err);
	fsc_diags_format(&diags, s->o->name, s->o->text, s->o->n_text, &b);
	if (diags.list.n)
		fsc_sink_print(stderr, &b, NULL);
	fsc_buf_release(&b);
	if (rc && diags.list.n && err) {
		snprintf(err->msg, sizeof(err->msg), "the script is not run");
		err->hint[0] = '\0';
	}
	fsc_diags_release(&diags);
	return rc;
}

static int open_machine(struct script_run *s, const char *program, struct fsc_err *err)
{
	const struct fsc_machine_opts opts = {
	    .pids = s->o->pids.data,
	    .n_pids = s->o->pids.n,
	    .command = program,
	    .unsafe = s->o->is_unsafe,
	};

	return fsc_machine_new(&opts, &s->machine, err);
}

static void log_skipped(void *arg, const char *name, const char *why)
{
	(void)arg;
	fsc_log(FSC_LOG_WARN, "%s is not probed: %s", name, why);
}

/* ---- the run ---- */

/* Once: afterwards the books count them. */
static void warn_full(struct script_run *s)
{
	if (s->warned_full || s->o->no_warnings || !fsc_script_loss(s->script, FSC_PLOSS_MAP))
		return;
	s->warned_full = true;
	fsc_log(FSC_LOG_WARN, "%s", fsc_run_map_full);
}

static int on_events(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct script_run *s = arg;
	int rc = fsc_run_events_drain(&s->events, false, err);

	(void)n;
	if (s->events.stop)
		loop->stop = true;
	warn_full(s);
	return rc;
}

static int on_self(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct script_run *s = arg;
	int rc = fsc_script_run(s->script, FSC_POINT_SELF, n, err);

	return rc ? rc : on_events(loop, 0, s, err);
}

static int on_exit_of(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct script_run *s = arg;

	(void)loop, (void)n, (void)err;
	if (!fsc_pids_take_exited(&s->pids, NULL, NULL))
		fsc_run_all_exited(s->run, s->pids.all.n);
	return 0;
}

static int watch_pids(struct script_run *s, struct fsc_err *err)
{
	int rc = 0;

	fsc_pids_init(&s->pids, &s->run->loop, on_exit_of, s);
	for (size_t i = 0; !rc && i < s->o->pids.n; i++) {
		const pid_t *pid = FSC_AT(pid_t, &s->o->pids, i);

		rc = fsc_vec_add(&s->pid_numbers, pid, err);
		if (!rc)
			rc = fsc_pids_add(&s->pids, *pid, err);
	}
	return rc;
}

/* Those that a probe of the script is for do not end the run. */
static int watch_signals(struct script_run *s, struct fsc_err *err)
{
	bool any = false;

	sigemptyset(&s->self);
	for (int n = 1; n < NSIG; n++)
		if (fsc_script_has(s->script, FSC_POINT_SELF, n) && !sigaddset(&s->self, n))
			any = true;
	if (!any)
		return 0;
	sigprocmask(SIG_BLOCK, &s->self, NULL);
	return fsc_loop_signals(&s->run->loop, &s->self, on_self, s, err);
}

static int load_plan(struct script_run *s, struct fsc_err *err)
{
	const struct fsc_script_opts opts = {.n_cpus = fsc_machine_world(s->machine)->n_cpus,
					     .filter = s->o->filter,
					     .cpid = s->run->child.pid};
	int rc = fsc_script_load(s->plan, &opts, &s->script, err);

	if (!rc)
		rc = fsc_readings_new(s->script, s->pid_numbers.data, s->pid_numbers.n,
				      &s->events.readings, err);
	s->events.script = s->script;
	s->events.plan = s->plan;
	s->events.mask = &s->run->old_mask;
	return rc;
}

static int run_open(struct fsc_run *r, struct fsc_err *err)
{
	struct script_run *s = r->state;
	int rc;

	s->run = r;
	if (r->child.pid)
		rc = fsc_vec_add(&s->pid_numbers, &r->child.pid, err);
	else
		rc = watch_pids(s, err);
	if (!rc)
		rc = open_machine(s, r->opts->command ? r->opts->command[0] : NULL, err);
	if (!rc)
		rc = compile(s, err);
	if (!rc)
		rc = load_plan(s, err);
	if (rc)
		return rc;
	if (!s->o->quiet)
		fsc_machine_skipped(s->machine, log_skipped, NULL);
	rc = watch_signals(s, err);
	if (!rc && fsc_script_packets_fd(s->script) >= 0)
		rc = fsc_loop_watch_fd(&r->loop, fsc_script_packets_fd(s->script), on_events, s,
				       err);
	return rc ? rc
		  : fsc_loop_watch_fd(&r->loop, fsc_script_events_fd(s->script), on_events, s, err);
}

static void on_rewritten(const void *tag, void *arg)
{
	fsc_run_rewritten(((struct script_run *)arg)->run, fsc_script_path(tag));
}

static int on_writes(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct script_run *s = arg;

	(void)loop, (void)n, (void)err;
	fsc_writes_read(&s->writes, on_rewritten, s);
	return 0;
}

/* Probes must not stay on a file that is rewritten: see run/writes.h. */
static int watch_files(struct script_run *s, struct fsc_err *err)
{
	fsc_writes_open(&s->writes);
	for (size_t i = 0; i < s->plan->n_progs; i++) {
		const struct fsc_plan_prog *p = &s->plan->progs[i];

		for (size_t k = 0; p->in_user && k < p->n_points; k++)
			fsc_writes_watch(&s->writes, fsc_script_path(p->points[k]), p->points[k]);
	}
	return s->writes.fd < 0 ? 0
				: fsc_loop_watch_fd(&s->run->loop, s->writes.fd, on_writes, s, err);
}

static int run_attach(struct fsc_run *r, struct fsc_err *err)
{
	struct script_run *s = r->state;
	int rc;

	s->events.out = r->sink.out;
	s->events.style.terminal = r->sink.out == stdout && isatty(STDOUT_FILENO);
	rc = fsc_script_run(s->script, FSC_POINT_BEGIN, 0, err);
	if (!rc)
		rc = watch_files(s, err);
	return rc ? rc : fsc_script_attach(s->script, err);
}

/* bpftrace's own tests wait for a line, and compare all that is printed: then only what was lost is
 * said. */
static bool is_tested(void)
{
	return getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED");
}

static void run_ready(struct fsc_run *r)
{
	struct script_run *s = r->state;
	struct fsc_buf b = {0};

	if (!s->o->quiet) {
		s->events.sink->attached(fsc_script_attached(s->script), &b);
		fsc_sink_print(s->events.sink->notes_aside ? stderr : s->events.out, &b, NULL);
	}
	if (is_tested()) {
		b = (struct fsc_buf){0};
		fsc_buf_puts(&b, "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n");
		fsc_sink_print(stdout, &b, NULL);
	}
}

/* Whether there is nothing to wait for once BEGIN and the iterators have run. */
static bool ends_by_itself(const struct fsc_plan *p)
{
	for (size_t i = 0; i < p->n_progs; i++)
		if (p->progs[i].kind != FSC_POINT_BEGIN && p->progs[i].kind != FSC_POINT_END &&
		    p->progs[i].kind != FSC_POINT_ITER)
			return false;
	return true;
}

static int run_by_ourselves(struct script_run *s, struct fsc_err *err)
{
	size_t failed = 0;
	int rc = fsc_script_iterate(s->script, err);

	if (!rc && (s->o->tests || s->o->benches))
		rc = fsc_run_events_drain(&s->events, true, err);
	if (!rc && s->o->tests)
		rc = fsc_run_tests(&s->events, &failed, err);
	if (!rc && s->o->benches)
		rc = fsc_run_benches(&s->events, err);
	if (failed)
		s->events.exit_code = 1;
	return rc;
}

static void run_started(struct fsc_run *r)
{
	struct script_run *s = r->state;
	struct fsc_err err = {0};

	if (run_by_ourselves(s, &err)) {
		fsc_log_err(&err);
		s->events.exit_code = 1;
	}
	if ((ends_by_itself(s->plan) && !r->child.pid) || s->o->tests || s->o->benches)
		r->loop.stop = true;
}

static int run_tick(struct fsc_run *r, struct fsc_err *err)
{
	return on_events(&r->loop, 0, r->state, err);
}

static int run_detach(struct fsc_run *r, struct fsc_err *err)
{
	struct script_run *s = r->state;
	int rc;

	s->events.interrupted = r->interrupted;
	fsc_writes_read(&s->writes, on_rewritten, s);
	fsc_script_detach(s->script);
	rc = fsc_run_events_drain(&s->events, true, err);
	warn_full(s);
	if (!rc)
		rc = fsc_script_run(s->script, FSC_POINT_END, 0, err);
	return rc ? rc : fsc_run_events_drain(&s->events, true, err);
}

static int run_report(struct fsc_run *r, bool last, struct fsc_err *err)
{
	struct script_run *s = r->state;
	struct fsc_buf b = {0};
	int rc = 0;

	(void)last;
	if (!s->events.sink->notes_aside && fsc_script_loss(s->script, FSC_PLOSS_RING))
		s->events.sink->lost(fsc_script_loss(s->script, FSC_PLOSS_RING), &b);
	if (s->events.sink->end)
		s->events.sink->end(&b);
	rc = fsc_run_events_write(&s->events, s->events.out, &b, err);
	if (!rc && s->plan->config.print_maps_on_exit)
		rc = fsc_run_events_maps(&s->events, err);
	if (!rc)
		rc = fsc_pcaps_close(&s->events.pcaps, err);
	if (!rc && fflush(s->events.out))
		rc = fsc_err_sys(err, errno, "cannot write the script's output");
	return rc;
}

static bool any_lost(const struct fsc_script_books *books)
{
	for (int i = 0; i < FSC_PLOSS_MAX; i++)
		if (books->lost[i].n)
			return true;
	return books->missed || books->refused;
}

/* A script that ends before the command of -c takes it along, as bpftrace does: whoever waits for
 * our output would wait for the command's otherwise. */
static void end_command(struct fsc_child *c)
{
	enum { PATIENCE_MS = 1000 };

	if (!c->pid || c->held || c->exited)
		return;
	kill(c->pid, SIGTERM);
	fsc_child_await(c, PATIENCE_MS, NULL);
}

/* On stderr, as scripts' output is for others to parse. */
static void run_close(struct fsc_run *r)
{
	struct script_run *s = r->state;
	struct fsc_script_books books = {
	    .kept = fsc_script_records(s->script),
	    .missed = fsc_script_missed(s->script),
	    .cut = fsc_readings_cut(s->events.readings),
	    .not_run = s->events.not_run,
	    .attached = fsc_script_attached(s->script),
	    .refused = fsc_script_refused(s->script)->n,
	};
	struct fsc_buf b = {0};

	for (int i = 0; i < FSC_PLOSS_MAX; i++)
		books.lost[i] =
		    (struct fsc_script_loss){fsc_plan_loss_names[i], fsc_script_loss(s->script, i)};
	end_command(&r->child);
	if (s->o->quiet || (is_tested() && !any_lost(&books)))
		return;
	fsc_script_books(&books, &b);
	fsc_sink_print(stderr, &b, NULL);
}

static const struct fsc_run_ops ops = {.open = run_open,
				       .attach = run_attach,
				       .ready = run_ready,
				       .started = run_started,
				       .tick = run_tick,
				       .report = run_report,
				       .detach = run_detach,
				       .close = run_close};

/* ---- both ways to use it ---- */

static int dump_plan(struct script_run *s, enum fsc_run_check how, struct fsc_err *err)
{
	struct fsc_buf b = {0};
	int rc = 0;

	if (how != FSC_RUN_DUMP_CODE)
		rc = fsc_lang_dump_tree(s->o->text, s->o->n_text, &b, err);
	if (!rc && how != FSC_RUN_DUMP_TREE)
		fsc_plan_dump(s->plan, &b);
	if (!rc)
		return fsc_sink_print(stdout, &b, err);
	fsc_buf_release(&b);
	return rc;
}

static struct script_run new_run(const struct fsc_run_script *o)
{
	struct script_run s = {
	    .o = o,
	    .writes = {.fd = -1},
	    .pid_numbers = FSC_VEC_INIT(pid_t),
	    .events = {.sink = o->sink, .style = o->style, .flush = o->flush},
	};

	fsc_pcaps_init(&s.events.pcaps);
	return s;
}

static void release_run(struct script_run *s)
{
	fsc_pcaps_close(&s->events.pcaps, NULL);
	fsc_writes_close(&s->writes);
	fsc_readings_free(s->events.readings);
	fsc_script_free(s->script);
	fsc_plan_free(s->plan);
	fsc_machine_free(s->machine);
	fsc_pids_release(&s->pids);
	fsc_vec_release(&s->pid_numbers);
}

/* As listings have them: without how often a timer or an event counts. */
static int list_plan(const struct script_run *s, struct fsc_err *err)
{
	struct fsc_buf b = {0};

	for (size_t i = 0; i < s->plan->n_progs; i++) {
		const struct fsc_plan_prog *p = &s->plan->progs[i];

		for (size_t k = 0; k < p->n_points; k++) {
			const struct fsc_point *pt = p->points[k];
			const char *number = strrchr(pt->name, ':');
			size_t n = strlen(pt->name);

			if (number && (pt->period || pt->frequency))
				n = (size_t)(number - pt->name) + 1;
			fsc_buf_add(&b, pt->name, n);
			fsc_buf_putc(&b, '\n');
		}
	}
	return fsc_sink_print(stdout, &b, err);
}

int fsc_run_script_check(const struct fsc_run_script *o, enum fsc_run_check how,
			 struct fsc_err *err)
{
	struct script_run s = new_run(o);
	struct fsc_run r = {0};
	int rc = open_machine(&s, o->command ? o->command[0] : NULL, err);

	s.run = &r;
	if (!rc)
		rc = compile(&s, err);
	if (!rc)
		rc = how == FSC_RUN_LIST   ? list_plan(&s, err)
		     : how == FSC_RUN_LOAD ? load_plan(&s, err)
					   : dump_plan(&s, how, err);
	release_run(&s);
	return rc;
}

int fsc_run_script(const struct fsc_run_script *o, struct fsc_err *err)
{
	struct script_run s = new_run(o);
	const struct fsc_run_opts opts = {.ops = &ops,
					  .state = &s,
					  .out = &o->out,
					  .data = FSC_DATA_COUNTS,
					  .command = o->command,
					  .tick_s = TICK};
	int rc = fsc_run(&opts, err);

	if (!rc)
		rc = s.events.exit_code;
	release_run(&s);
	return rc;
}
