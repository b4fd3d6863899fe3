/* funcscope run: scripts in bpftrace's language. The options and what a script is given; the run is
 * in run_script.c. */
#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/slurp.h"
#include "cmd/cmd.h"
#include "cmd/probes.h"
#include "cmd/run_info.h"
#include "cmd/run_script.h"
#include "cmd/run_shell.h"
#include "world/machine.h"

struct run_opts {
	const char *text, *command, *mode, *filter;
	struct fsc_vec pids; /* -p, const char * */
	struct fsc_vec ignored;
	struct fsc_output_opts out;
	int format, buffering, debug;
	bool list, quiet, is_unsafe, helper_errors, dry, no_warnings, tests, benches;
	bool percentiles, by_file, info;
};

/* Of bpftrace's stages those that there are here; "off" is for an option that was not given. */
enum { DEBUG_OFF, DEBUG_ALL, DEBUG_TREE, DEBUG_CODE };
static const char *const debug_names[] = {"off", "all", "ast", "codegen", NULL};

static const char *const buffering_names[] = {"full", "line", "none", NULL};

static const struct fsc_opt run_opts[] = {
    {'e', "execute", FSC_OPT_STRING, offsetof(struct run_opts, text), "TEXT",
     "run this text instead of a file", NULL},
    {'c', "cmd", FSC_OPT_STRING, offsetof(struct run_opts, command), "COMMAND",
     "run a command, and end when it exits", NULL},
    {'p', "pid", FSC_OPT_LIST, offsetof(struct run_opts, pids), "PID",
     "this process; end when it exits", NULL},
    {'l', "list", FSC_OPT_FLAG, offsetof(struct run_opts, list), NULL,
     "list the probes that match (-v: arguments)", NULL},
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
    {'k', "warnings", FSC_OPT_FLAG, offsetof(struct run_opts, helper_errors), NULL,
     "warn where a function of the kernel fails", NULL},
    {0, "unsafe", FSC_OPT_FLAG, offsetof(struct run_opts, is_unsafe), NULL,
     "allow system(), signal() and override()", NULL},
    {'d', "debug", FSC_OPT_CHOICE, offsetof(struct run_opts, debug), "STAGE", "print the script as",
     debug_names},
    {0, "dry-run", FSC_OPT_FLAG, offsetof(struct run_opts, dry), NULL,
     "compile and load, attach nothing", NULL},
    {0, "info", FSC_OPT_FLAG, offsetof(struct run_opts, info), NULL,
     "say what this machine has for scripts", NULL},
    {0, "probe-filter", FSC_OPT_STRING, offsetof(struct run_opts, filter), "REGEX",
     "only the probes of the script whose names match", NULL},
    {0, "test", FSC_OPT_FLAG, offsetof(struct run_opts, tests), NULL,
     "run the script's test: probes", NULL},
    {0, "bench", FSC_OPT_FLAG, offsetof(struct run_opts, benches), NULL,
     "run the script's bench: probes", NULL},
    /* Of bpftrace, without a meaning here: no headers are read, semaphores are always counted by
     * file, and features are tried out. */
    {'I', "include-dir", FSC_OPT_LIST, offsetof(struct run_opts, ignored), "DIR", NULL, NULL},
    {0, "include", FSC_OPT_LIST, offsetof(struct run_opts, ignored), "FILE", NULL, NULL},
    {0, "no-feature", FSC_OPT_LIST, offsetof(struct run_opts, ignored), "FEATURE", NULL, NULL},
    {0, "debuginfo", FSC_OPT_LIST, offsetof(struct run_opts, ignored), "DIR", NULL, NULL},
    {0, "dwarf-pid", FSC_OPT_LIST, offsetof(struct run_opts, ignored), "PID", NULL, NULL},
    {0, "traceable-functions", FSC_OPT_LIST, offsetof(struct run_opts, ignored), "FILE", NULL,
     NULL},
    {0, "mode", FSC_OPT_STRING, offsetof(struct run_opts, mode), "MODE", NULL, NULL},
    {0, "verify-llvm-ir", FSC_OPT_FLAG, offsetof(struct run_opts, by_file), NULL, NULL, NULL},
    {0, "usdt-file-activation", FSC_OPT_FLAG, offsetof(struct run_opts, by_file), NULL, NULL, NULL},
    {0},
};

/* The script, and what it is given. */
struct given {
	struct fsc_run_script script;
	char *text;
	regex_t filter; /* compiled if script.filter is set */
};

/* ---- the text and what it is given ---- */

static int read_script(struct given *g, const char *path, struct fsc_err *err)
{
	bool standard = !strcmp(path, "-");
	size_t *n = &g->script.n_text;

	g->script.name = standard ? "stdin" : path;
	if (standard)
		return fsc_slurp_fd(STDIN_FILENO, "stdin", &g->text, n, err);
	if (!fsc_slurp(AT_FDCWD, path, &g->text, n, err))
		return 0;
	return fsc_err_sys(err, err->code, "failed to open file '%s'", path);
}

/* "--name=value" is for getopt(), anything else is $1 and on. */
static int add_param(struct given *g, const char *text, struct fsc_err *err)
{
	const char *named = !strncmp(text, "--", 2) && text[2] ? text + 2 : NULL;

	return named ? fsc_vec_add(&g->script.named, &named, err)
		     : fsc_vec_add(&g->script.params, &text, err);
}

/* The environment's BPFTRACE_MAX_STRLEN=200 is max_strlen=200 of the script's config. */
static int add_config(struct given *g, const char *variable, struct fsc_err *err)
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
		if (!text || fsc_vec_add(&g->script.config, &text, err)) {
			free(text);
			return fsc_err_nomem(err);
		}
		for (size_t k = 0; k < n; k++)
			text[k] = (char)tolower((unsigned char)text[k]);
	}
	return 0;
}

static int read_environment(struct given *g, struct fsc_err *err)
{
	int rc = 0;

	for (char **e = environ; !rc && *e; e++)
		if (!strncmp(*e, "BPFTRACE_", 9))
			rc = add_config(g, *e, err);
	return rc;
}

static int read_operands(struct given *g, const struct run_opts *o, char **operands, int n,
			 char **after, struct fsc_err *err)
{
	int rc = 0, first = 0;

	if (!o->text && !n)
		return fsc_err_usage(err, "no script given; try: funcscope run FILE, or -e TEXT");
	if (o->text) {
		g->text = strdup(o->text);
		g->script.n_text = strlen(o->text);
		g->script.name = "stdin";
		rc = g->text ? 0 : fsc_err_nomem(err);
	} else {
		rc = read_script(g, operands[first++], err);
	}
	g->script.text = g->text;
	for (int i = first; !rc && i < n; i++)
		rc = add_param(g, operands[i], err);
	for (char **a = after; !rc && a && *a; a++)
		rc = add_param(g, *a, err);
	return rc;
}

/* ---- the command ---- */

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static int list_probes(const struct given *g, const char *pattern, struct fsc_err *err)
{
	const struct fsc_machine_opts opts = {.pids = g->script.pids.data,
					      .n_pids = g->script.pids.n};
	FSC_AUTO(fsc_machine_freep) struct fsc_machine *machine = NULL;
	struct fsc_buf b = {0};
	int rc = fsc_machine_new(&opts, &machine, err);
	size_t n = pattern ? strlen(pattern) : 0;

	if (n > 3 && !strcmp(pattern + n - 3, ".bt"))
		fsc_log(FSC_LOG_WARN,
			"It appears that '%s' is a filename but the file does not exist. Treating "
			"'%s' as a search pattern.",
			pattern, pattern);
	if (!rc)
		rc = fsc_machine_list(machine, pattern, g->script.out.verbose, &b, err);
	if (!rc)
		return fsc_sink_print(stdout, &b, err);
	fsc_buf_release(&b);
	return rc;
}

static int check_options(const struct run_opts *o, struct fsc_err *err)
{
	if (o->command && o->pids.n)
		return fsc_err_usage(err, "-c and -p cannot be combined");
	if (o->quiet && o->out.verbose)
		return fsc_err_usage(err, "-q and -v cannot be combined");
	return 0;
}

static struct given new_given(void)
{
	return (struct given){.script = {.params = FSC_VEC_INIT(const char *),
					 .named = FSC_VEC_INIT(const char *),
					 .config = FSC_VEC_INIT(char *),
					 .pids = FSC_VEC_INIT(pid_t)}};
}

static void give_options(struct given *g, const struct run_opts *o)
{
	struct fsc_run_script *s = &g->script;

	s->out = o->out;
	s->sink = fsc_script_sinks[o->format];
	s->style.percentiles = o->percentiles;
	s->flush = o->buffering != 0;
	s->quiet = o->quiet;
	s->is_unsafe = o->is_unsafe;
	s->helper_errors = o->helper_errors;
	s->no_warnings = o->no_warnings || o->quiet;
	s->tests = o->tests || (o->mode && !strcmp(o->mode, "test"));
	s->benches = o->benches || (o->mode && !strcmp(o->mode, "bench"));
}

static void release_given(struct given *g)
{
	fsc_vec_release(&g->script.params);
	fsc_vec_release(&g->script.named);
	fsc_vec_release_owned(&g->script.config);
	fsc_vec_release(&g->script.pids);
	if (g->script.filter)
		regfree(&g->filter);
	free(g->script.command);
	free(g->text);
}

static int compile_filter(struct given *g, const char *text, struct fsc_err *err)
{
	if (!text)
		return 0;
	if (regcomp(&g->filter, text, REG_EXTENDED | REG_NOSUB))
		return fsc_err_usage(err, "Invalid --probe-filter regex: '%s'", text);
	g->script.filter = &g->filter;
	return 0;
}

static int run_given(struct given *g, const struct run_opts *o, char **operands, int n,
		     char **after, struct fsc_err *err)
{
	int rc = fsc_probes_pids(&o->pids, &g->script.pids, err);

	if (!rc)
		rc = compile_filter(g, o->filter, err);
	if (!rc && o->list && !o->text && !(n && is_file(operands[0])))
		return list_probes(g, n ? operands[0] : NULL, err);
	if (!rc && o->command)
		rc = fsc_run_split(o->command, &g->script.command, err);
	if (!rc)
		rc = read_operands(g, o, operands, n, after, err);
	if (!rc)
		rc = read_environment(g, err);
	if (rc)
		return rc;
	if (o->list)
		return fsc_run_script_check(&g->script, FSC_RUN_LIST, err);
	if (o->debug != DEBUG_OFF)
		return fsc_run_script_check(&g->script,
					    o->debug == DEBUG_TREE   ? FSC_RUN_DUMP_TREE
					    : o->debug == DEBUG_CODE ? FSC_RUN_DUMP_CODE
								     : FSC_RUN_DUMP,
					    err);
	if (o->dry)
		return fsc_run_script_check(&g->script, FSC_RUN_LOAD, err);
	return fsc_run_script(&g->script, err);
}

static bool is_option(const struct fsc_opt *opts, const char *name, size_t n)
{
	for (; opts->name; opts++)
		if (strlen(opts->name) == n && !strncmp(opts->name, name, n))
			return true;
	return false;
}

/* Whether it is "--name=value" with a name that is none of ours: for the script's getopt(). */
static bool is_named(const char *text)
{
	const char *equals = strchr(text, '=');
	size_t n = equals ? (size_t)(equals - text) : 0;

	return n > 2 && !strncmp(text, "--", 2) && !is_option(run_opts, text + 2, n - 2) &&
	       !is_option(fsc_output_where_opts, text + 2, n - 2);
}

/* Takes those out of argv. */
static int take_named(struct given *g, int *argc, char **argv, struct fsc_err *err)
{
	int kept = 1, rc = 0;

	for (int i = 1; !rc && i < *argc; i++)
		if (is_named(argv[i]))
			rc = add_param(g, argv[i], err);
		else
			argv[kept++] = argv[i];
	*argc = kept;
	return rc;
}

static int cmd_run(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct run_opts o = {.pids = FSC_VEC_INIT(const char *),
			     .ignored = FSC_VEC_INIT(const char *)};
	const struct fsc_opt_set sets[] = {
	    {run_opts, &o}, {fsc_output_where_opts, &o.out}, {NULL, NULL}};
	struct given g = new_given();
	int n = 0, rc = take_named(&g, &argc, argv, err);

	if (!rc)
		rc = fsc_opt_parse(sets, argc, argv, &n, err);
	if (!rc)
		rc = check_options(&o, err);
	give_options(&g, &o);
	if (o.quiet)
		fsc_log_set_level(FSC_LOG_ERROR);
	if (!rc && o.info)
		rc = fsc_run_info(err);
	else if (!rc)
		rc = run_given(&g, &o, argv + 1, n, command, err);
	release_given(&g);
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
