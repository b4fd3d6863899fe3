/* funcscope run: scripts in bpftrace's language. The text becomes a plan (lang/), which the kernel
 * carries out (engine/script.h); what it sends and stores is printed as bpftrace prints it. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/slurp.h"
#include "cmd/cmd.h"
#include "cmd/probes.h"
#include "cmd/run_events.h"
#include "cmd/run_shell.h"
#include "run/pids.h"
#include "run/run.h"
#include "world/machine.h"

/* Seconds between two readings of what processes have mapped. */
#define TICK 0.1

struct run_opts {
	const char *text, *command;
	struct fsc_vec pids; /* -p, const char * */
	struct fsc_vec ignored;
	struct fsc_output_opts out;
	int format, buffering;
	bool list, quiet, dump, is_unsafe, helper_errors, dry, no_warnings, tests, benches;
	bool percentiles;
};

static const char *const buffering_names[] = {"full", "line", "none", NULL};

static const struct fsc_opt run_opts[] = {
    {'e', "execute", FSC_OPT_STRING, offsetof(struct run_opts, text), "TEXT",
     "run this text instead of a file", NULL},
    {'c', "command", FSC_OPT_STRING, offsetof(struct run_opts, command), "COMMAND",
     "run a command, held until the probes are attached; end with it", NULL},
    {'p', "pid", FSC_OPT_LIST, offsetof(struct run_opts, pids), "PID",
     "only this process, where the probe can be limited; end with it", NULL},
    {'l', "list", FSC_OPT_FLAG, offsetof(struct run_opts, list), NULL,
     "list the probes that match; with -v also their arguments", NULL},
    {'f', "format", FSC_OPT_CHOICE, offsetof(struct run_opts, format), "FORMAT", "output",
     fsc_script_sink_names},
    {'B', "buffering", FSC_OPT_CHOICE, offsetof(struct run_opts, buffering), "MODE",
     "when output is written", buffering_names},
    {'q', "quiet", FSC_OPT_FLAG, offsetof(struct run_opts, quiet), NULL,
     "only what the script prints: no messages, no books", NULL},
    {0, "no-warnings", FSC_OPT_FLAG, offsetof(struct run_opts, no_warnings), NULL,
     "no warnings about the script", NULL},
    {0, "percentiles", FSC_OPT_FLAG, offsetof(struct run_opts, percentiles), NULL,
     "print p50, p90 and p99 under each histogram", NULL},
    {'k', "helper-errors", FSC_OPT_FLAG, offsetof(struct run_opts, helper_errors), NULL,
     "warn where a function of the kernel fails", NULL},
    {0, "unsafe", FSC_OPT_FLAG, offsetof(struct run_opts, is_unsafe), NULL,
     "allow what changes the system: system(), signal(), override()", NULL},
    {'d', "dump", FSC_OPT_FLAG, offsetof(struct run_opts, dump), NULL,
     "print the script's tree, maps and instructions, and exit", NULL},
    {0, "dry-run", FSC_OPT_FLAG, offsetof(struct run_opts, dry), NULL,
     "compile and load, attach nothing", NULL},
    {0, "test", FSC_OPT_FLAG, offsetof(struct run_opts, tests), NULL,
     "run the script's test: probes", NULL},
    {0, "bench", FSC_OPT_FLAG, offsetof(struct run_opts, benches), NULL,
     "run the script's bench: probes", NULL},
    /* Of bpftrace, without a meaning here: no headers are read, and files need no trigger. */
    {'I', "include-dir", FSC_OPT_LIST, offsetof(struct run_opts, ignored), "DIR", NULL, NULL},
    {0, "include", FSC_OPT_LIST, offsetof(struct run_opts, ignored), "FILE", NULL, NULL},
    {0},
};

struct script_run {
	const struct run_opts *o;
	char *text;
	size_t n_text;
	const char *name;		      /* of the text, for messages */
	struct fsc_vec params, named, config; /* const char * */
	struct fsc_vec pid_numbers;	      /* pid_t */
	struct fsc_pids pids;
	struct fsc_run *run;
	struct fsc_machine *machine;
	struct fsc_plan *plan;
	struct fsc_script *script;
	struct fsc_run_events events;
	sigset_t self; /* signals that the script has a probe for */
};

/* ---- the text and what it is given ---- */

static int read_script(struct script_run *s, const char *path, struct fsc_err *err)
{
	if (!strcmp(path, "-")) {
		s->name = "stdin";
		return fsc_slurp_fd(STDIN_FILENO, "stdin", &s->text, &s->n_text, err);
	}
	s->name = path;
	if (!fsc_slurp(AT_FDCWD, path, &s->text, &s->n_text, err))
		return 0;
	return fsc_err_sys(err, err->code, "cannot read the script '%s'", path);
}

/* "--name=value" is for getopt(), anything else is $1 and on. */
static int add_param(struct script_run *s, const char *text, struct fsc_err *err)
{
	const char *named = !strncmp(text, "--", 2) && text[2] ? text + 2 : NULL;

	return named ? fsc_vec_add(&s->named, &named, err) : fsc_vec_add(&s->params, &text, err);
}

/* The environment's BPFTRACE_MAX_STRLEN=200 is max_strlen=200 of the script's config. */
static int add_config(struct script_run *s, const char *variable, struct fsc_err *err)
{
	static const char prefix[] = "BPFTRACE_";
	static const char *const names[] = {
	    "cache_user_symbols", "cpp_demangle",	"lazy_symbolication", "license",
	    "log_size",		  "max_bpf_progs",	"max_cat_bytes",      "max_map_keys",
	    "max_probes",	  "max_strlen",		"missing_probes",     "on_stack_limit",
	    "perf_rb_pages",	  "print_maps_on_exit", "show_debug_info",    "stack_mode",
	    "str_trunc_trailer",
	};
	const char *name = variable + strlen(prefix);
	size_t n = strcspn(name, "=");
	char *text;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i]) != n || strncasecmp(names[i], name, n))
			continue;
		text = strdup(name);
		if (!text || fsc_vec_add(&s->config, &text, err)) {
			free(text);
			return fsc_err_nomem(err);
		}
		for (size_t k = 0; k < n; k++)
			text[k] = (char)tolower((unsigned char)text[k]);
	}
	return 0;
}

static int read_environment(struct script_run *s, struct fsc_err *err)
{
	int rc = 0;

	for (char **e = environ; !rc && *e; e++)
		if (!strncmp(*e, "BPFTRACE_", 9))
			rc = add_config(s, *e, err);
	return rc;
}

static int read_operands(struct script_run *s, char **operands, int n, char **after,
			 struct fsc_err *err)
{
	int rc = 0, first = 0;

	if (!s->o->text && !n)
		return fsc_err_usage(err, "no script given; try: funcscope run FILE, or -e TEXT");
	if (s->o->text) {
		s->text = strdup(s->o->text);
		s->n_text = strlen(s->o->text);
		s->name = "stdin";
		rc = s->text ? 0 : fsc_err_nomem(err);
	} else {
		rc = read_script(s, operands[first++], err);
	}
	for (int i = first; !rc && i < n; i++)
		rc = add_param(s, operands[i], err);
	for (char **a = after; !rc && a && *a; a++)
		rc = add_param(s, *a, err);
	return rc;
}

/* ---- compiling ---- */

static int compile(struct script_run *s, struct fsc_err *err)
{
	const struct fsc_vec *pids = &s->pid_numbers;
	const struct fsc_lang_opts opts = {
	    .source_name = s->name,
	    .params = s->params.data,
	    .n_params = s->params.n,
	    .named = s->named.data,
	    .n_named = s->named.n,
	    .config = s->config.data,
	    .n_config = s->config.n,
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
	rc = fsc_lang_compile(s->text, s->n_text, &opts, fsc_machine_world(s->machine), &s->plan,
			      &diags, err);
	fsc_diags_format(&diags, s->name, s->text, s->n_text, &b);
	if (diags.list.n)
		fsc_sink_print(stderr, &b, NULL);
	fsc_buf_release(&b);
	if (rc && diags.list.n && err)
		snprintf(err->msg, sizeof(err->msg), "the script is not run");
	fsc_diags_release(&diags);
	return rc;
}

static int open_machine(struct script_run *s, const char *program, struct fsc_err *err)
{
	const struct fsc_machine_opts opts = {
	    .pids = s->pid_numbers.data,
	    .n_pids = s->pid_numbers.n,
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

static int on_events(struct fsc_loop *loop, int n, void *arg, struct fsc_err *err)
{
	struct script_run *s = arg;
	int rc = fsc_run_events_drain(&s->events, err);

	(void)n;
	if (s->events.stop)
		loop->stop = true;
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
	for (size_t i = 0; !rc && i < s->pid_numbers.n; i++)
		rc = fsc_pids_add(&s->pids, *FSC_AT(pid_t, &s->pid_numbers, i), err);
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
					     .cpid = s->run->child.pid};
	int rc = fsc_script_load(s->plan, &opts, &s->script, err);

	if (!rc)
		rc = fsc_readings_new(s->script, &s->events.readings, err);
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
	return rc ? rc
		  : fsc_loop_watch_fd(&r->loop, fsc_script_events_fd(s->script), on_events, s, err);
}

static int run_attach(struct fsc_run *r, struct fsc_err *err)
{
	struct script_run *s = r->state;
	int rc;

	s->events.out = r->sink.out;
	s->events.style.terminal = r->sink.out == stdout && isatty(STDOUT_FILENO);
	rc = fsc_script_run(s->script, FSC_POINT_BEGIN, 0, err);
	if (!rc)
		rc = fsc_script_attach(s->script, err);
	if (!rc && s->o->tests)
		rc = fsc_script_run(s->script, FSC_POINT_TEST, 0, err);
	if (!rc && s->o->benches)
		rc = fsc_script_run(s->script, FSC_POINT_BENCH, 0, err);
	return rc;
}

static void run_ready(struct fsc_run *r)
{
	struct script_run *s = r->state;
	struct fsc_buf b = {0};

	if (!s->o->quiet) {
		s->events.sink->attached(fsc_script_attached(s->script), &b);
		fsc_sink_print(s->events.sink->notes_aside ? stderr : s->events.out, &b, NULL);
	}
	/* bpftrace's own tests wait for this line. */
	if (getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED")) {
		b = (struct fsc_buf){0};
		fsc_buf_puts(&b, "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n");
		fsc_sink_print(stdout, &b, NULL);
	}
}

/* Whether there is nothing to wait for once the iterators have been read. */
static bool only_iterates(const struct fsc_plan *p)
{
	bool iterates = false;

	for (size_t i = 0; i < p->n_progs; i++) {
		if (p->progs[i].kind == FSC_POINT_ITER)
			iterates = true;
		else if (p->progs[i].kind != FSC_POINT_BEGIN && p->progs[i].kind != FSC_POINT_END)
			return false;
	}
	return iterates;
}

static void run_started(struct fsc_run *r)
{
	struct script_run *s = r->state;
	struct fsc_err err = {0};

	if (fsc_script_iterate(s->script, &err))
		fsc_log_err(&err);
	if (only_iterates(s->plan) || s->o->tests || s->o->benches)
		r->loop.stop = true;
}

static int run_tick(struct fsc_run *r, struct fsc_err *err)
{
	return on_events(&r->loop, 0, r->state, err);
}

static int run_detach(struct fsc_run *r, struct fsc_err *err)
{
	struct script_run *s = r->state;
	int rc = fsc_run_events_drain(&s->events, err);

	fsc_script_detach(s->script);
	if (!rc)
		rc = fsc_script_run(s->script, FSC_POINT_END, 0, err);
	return rc ? rc : fsc_run_events_drain(&s->events, err);
}

static int run_report(struct fsc_run *r, bool last, struct fsc_err *err)
{
	struct script_run *s = r->state;
	struct fsc_buf b = {0};
	int rc = 0;

	(void)last;
	if (s->events.sink->end)
		s->events.sink->end(&b);
	rc = fsc_run_events_write(&s->events, s->events.out, &b, err);
	if (!rc && s->plan->config.print_maps_on_exit)
		rc = fsc_run_events_maps(&s->events, err);
	if (!rc && fflush(s->events.out))
		rc = fsc_err_sys(err, errno, "cannot write the script's output");
	return rc;
}

/* On stderr, as scripts' output is for others to parse. */
static void run_close(struct fsc_run *r)
{
	struct script_run *s = r->state;
	struct fsc_script_books books = {
	    .kept = fsc_script_records(s->script),
	    .missed = fsc_script_missed(s->script),
	    .cut = fsc_readings_cut(s->events.readings),
	    .attached = fsc_script_attached(s->script),
	    .refused = fsc_script_refused(s->script)->n,
	};
	struct fsc_buf b = {0};

	if (s->o->quiet)
		return;
	for (int i = 0; i < FSC_PLOSS_MAX; i++)
		books.lost[i] =
		    (struct fsc_script_loss){fsc_plan_loss_names[i], fsc_script_loss(s->script, i)};
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

/* ---- without attaching ---- */

static int list_probes(struct script_run *s, const char *pattern, struct fsc_err *err)
{
	struct fsc_buf b = {0};
	int rc = open_machine(s, NULL, err);

	if (!rc)
		rc = fsc_machine_list(s->machine, pattern, s->o->out.verbose, &b, err);
	if (!rc)
		return fsc_sink_print(stdout, &b, err);
	fsc_buf_release(&b);
	return rc;
}

static int dump_plan(struct script_run *s, struct fsc_err *err)
{
	struct fsc_buf b = {0};
	int rc = fsc_lang_dump_tree(s->text, s->n_text, &b, err);

	if (!rc) {
		fsc_buf_putc(&b, '\n');
		fsc_plan_dump(s->plan, &b);
		return fsc_sink_print(stdout, &b, err);
	}
	fsc_buf_release(&b);
	return rc;
}

static int only_compile(struct script_run *s, char *const *command, struct fsc_err *err)
{
	struct fsc_run r = {0};
	int rc = open_machine(s, command ? command[0] : NULL, err);

	s->run = &r;
	if (!rc)
		rc = compile(s, err);
	if (!rc && s->o->dump)
		return dump_plan(s, err);
	return rc ? rc : load_plan(s, err);
}

/* ---- the command ---- */

static int run_script(struct script_run *s, char **command, struct fsc_err *err)
{
	const struct fsc_run_opts opts = {.ops = &ops,
					  .state = s,
					  .out = &s->o->out,
					  .data = FSC_DATA_COUNTS,
					  .command = command,
					  .tick_s = TICK};
	int rc;

	if (s->o->dump || s->o->dry)
		return only_compile(s, command, err);
	rc = fsc_run(&opts, err);
	return rc ? rc : s->events.exit_code;
}

static void release_script(struct script_run *s)
{
	fsc_readings_free(s->events.readings);
	fsc_script_free(s->script);
	fsc_plan_free(s->plan);
	fsc_machine_free(s->machine);
	fsc_pids_release(&s->pids);
	fsc_vec_release(&s->pid_numbers);
	fsc_vec_release(&s->params);
	fsc_vec_release(&s->named);
	fsc_vec_release_owned(&s->config);
	free(s->text);
}

static int check_options(const struct run_opts *o, struct fsc_err *err)
{
	if (o->command && o->pids.n)
		return fsc_err_usage(err, "-c and -p cannot be combined");
	if (o->quiet && o->out.verbose)
		return fsc_err_usage(err, "-q and -v cannot be combined");
	return 0;
}

static int run_parsed(struct run_opts *o, char **operands, int n, char **after, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char **command = NULL;
	struct script_run s = {
	    .o = o,
	    .params = FSC_VEC_INIT(const char *),
	    .named = FSC_VEC_INIT(const char *),
	    .config = FSC_VEC_INIT(char *),
	    .pid_numbers = FSC_VEC_INIT(pid_t),
	    .events = {.sink = fsc_script_sinks[o->format],
		       .style = {.percentiles = o->percentiles},
		       .flush = o->buffering != 0},
	};
	int rc = check_options(o, err);

	if (o->quiet)
		fsc_log_set_level(FSC_LOG_ERROR);
	if (!rc)
		rc = fsc_probes_pids(&o->pids, &s.pid_numbers, err);
	if (!rc && o->list) {
		rc = list_probes(&s, n ? operands[0] : NULL, err);
	} else {
		if (!rc && o->command)
			rc = fsc_run_split(o->command, &command, err);
		if (!rc)
			rc = read_operands(&s, operands, n, after, err);
		if (!rc)
			rc = read_environment(&s, err);
		if (!rc)
			rc = run_script(&s, command, err);
	}
	release_script(&s);
	return rc;
}

static int cmd_run(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct run_opts o = {.pids = FSC_VEC_INIT(const char *),
			     .ignored = FSC_VEC_INIT(const char *)};
	const struct fsc_opt_set sets[] = {
	    {run_opts, &o}, {fsc_output_where_opts, &o.out}, {NULL, NULL}};
	int n = 0, rc = fsc_opt_parse(sets, argc, argv, &n, err);

	if (!rc)
		rc = run_parsed(&o, argv + 1, n, command, err);
	fsc_vec_release(&o.pids);
	fsc_vec_release(&o.ignored);
	return rc;
}

static const struct fsc_opt *const opts[] = {run_opts, fsc_output_where_opts, NULL};

const struct fsc_cmd fsc_cmd_run = {
    .name = "run",
    .summary = "run a script in bpftrace's language",
    .operands = "FILE | -e TEXT [PARAMETER...] [-- PARAMETER...]",
    .example = "funcscope run -e 'uprobe:/bin/bash:readline { @[comm] = count(); }'",
    .opts = opts,
    .run = cmd_run,
};
