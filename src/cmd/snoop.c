/* funcscope snoop: a monitor of configured functions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fmt.h"
#include "cmd/cmd.h"
#include "run/output.h"
#include "cmd/probes.h"
#include "monitor/forward.h"
#include "monitor/monitor.h"
#include "monitor/presets.h"
#include "run/pids.h"

struct snoop_opts {
	const char *config, *check;
	struct fsc_vec presets; /* const char * */
	struct fsc_vec pids;	/* const char * */
	struct fsc_vec numbers; /* pid_t: the same */
	bool no_socket, dwarf;
};

static const struct fsc_opt snoop_opts[] = {
    {'c', "config", FSC_OPT_STRING, offsetof(struct snoop_opts, config), "FILE",
     "what to watch, and where to send it", NULL},
    {0, "check", FSC_OPT_STRING, offsetof(struct snoop_opts, check), "FILE",
     "check a configuration, and do nothing else", NULL},
    {0, "preset", FSC_OPT_LIST, offsetof(struct snoop_opts, presets), "NAME",
     "watch a predefined set: cuda, cublas, libc ...", NULL},
    {'p', "pid", FSC_OPT_LIST, offsetof(struct snoop_opts, pids), "PID",
     "only this process; may be repeated, or 1,2,3", NULL},
    {0, "dwarf", FSC_OPT_FLAG, offsetof(struct snoop_opts, dwarf), NULL,
     "unwind stacks by DWARF, not by frame pointers", NULL},
    {0, "no-socket", FSC_OPT_FLAG, offsetof(struct snoop_opts, no_socket), NULL,
     "do not listen for requests (funcscope ctl)", NULL},
    {0},
};

static bool is_preset(const char *name)
{
	for (const struct fsc_preset *p = fsc_presets; p->name; p++)
		if (!strcmp(p->name, name))
			return true;
	return false;
}

static int check_presets(const struct fsc_vec *names, struct fsc_err *err)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf all = {0};

	for (const struct fsc_preset *p = fsc_presets; p->name; p++)
		fsc_buf_printf(&all, "%s%s",
			       p == fsc_presets ? ""
			       : p[1].name	? ", "
						: " and ",
			       p->name);
	for (size_t i = 0; i < names->n; i++) {
		const char *name = *FSC_AT(const char *, names, i);

		if (!is_preset(name))
			return fsc_err_usage(err, "there is no preset '%s'; there are %s", name,
					     fsc_buf_str(&all));
	}
	return 0;
}

/* Presets alone are a configuration, too. */
static int from_presets(const struct fsc_vec *names, struct fsc_snoop_config *ret,
			struct fsc_err *err)
{
	struct fsc_buf b = {0};
	int rc = check_presets(names, err);

	if (rc)
		return rc;
	fsc_buf_puts(&b, "{\"presets\": [");
	for (size_t i = 0; i < names->n; i++) {
		fsc_buf_puts(&b, i ? ", " : "");
		fsc_fmt_json(&b, *FSC_AT(const char *, names, i));
	}
	fsc_buf_puts(&b, "]}");
	rc = fsc_buf_failed(&b) ? fsc_err_nomem(err)
				: fsc_snoop_config_parse(b.s, b.n, "--preset", ret, err);
	fsc_buf_release(&b);
	return rc;
}

static int need_functions(const struct fsc_snoop_config *c, struct fsc_err *err)
{
	if (c->funcs.n)
		return 0;
	return fsc_err_set(err, EINVAL,
			   "%s names no function to watch; add a group, as in "
			   "\"cuda_func_sym\": {\"malloc\": \"cudaMalloc\"}",
			   c->path);
}

static int check_config(const char *path, struct fsc_err *err)
{
	struct fsc_snoop_config c = {0};
	struct fsc_buf b = {0};
	int rc = fsc_snoop_config_read(path, &c, err);

	if (!rc)
		rc = fsc_forward_check(&c, err);
	if (!rc)
		rc = need_functions(&c, err);
	if (!rc)
		fsc_buf_printf(&b, "%s is valid: %zu function%s\n", path, c.funcs.n,
			       c.funcs.n == 1 ? "" : "s");
	if (!rc)
		rc = fsc_sink_print(stdout, &b, err);
	fsc_snoop_config_release(&c);
	return rc;
}

static int read_config(struct snoop_opts *so, char **command, struct fsc_snoop_config *c,
		       struct fsc_err *err)
{
	size_t n = 0;
	int rc;

	if (so->config && so->presets.n)
		return fsc_err_usage(err, "-c and --preset cannot be combined; name presets in the "
					  "file, as in \"presets\": [\"cuda\"]");
	if (!so->config && !so->presets.n)
		return fsc_err_usage(err, "snoop takes a configuration with -c FILE, or --preset "
					  "NAME; see examples/snoop");
	rc = so->config ? fsc_snoop_config_read(so->config, c, err)
			: from_presets(&so->presets, c, err);
	if (!rc)
		rc = need_functions(c, err);
	if (!rc)
		rc = fsc_probes_pids(&so->pids, &so->numbers, err);
	for (size_t i = 0; !rc && i < so->numbers.n; i++)
		rc = fsc_pids_refuse_zombie(*FSC_AT(pid_t, &so->numbers, i), err);
	if (!rc)
		rc = fsc_snoop_config_pids(c, so->numbers.data, so->numbers.n, err);
	while (command && command[n])
		n++;
	if (rc || !n)
		return rc;
	if (c->targets.command.n)
		return fsc_err_usage(
		    err, "%s already names a command; leave out the one after '--'", c->path);
	return fsc_snoop_config_command(c, command, n, err);
}

static int run_monitor(struct fsc_snoop_config *c, const struct snoop_opts *so,
		       struct fsc_output_opts *out, struct fsc_err *err)
{
	const struct fsc_monitor_opts mo = {.path = so->config,
					    .out = out,
					    .pids = so->numbers.data,
					    .n_pids = so->numbers.n,
					    .dwarf = so->dwarf,
					    .no_control = so->no_socket};

	c->dwarf |= so->dwarf;

	if (out->format < 0)
		out->format = c->report.json ? 1 : 0; /* as in the list of formats */
	return fsc_monitor_run(c, &mo, err);
}

static int plan_and_run(int argc, char **argv, char **command, struct snoop_opts *so,
			struct fsc_err *err)
{
	struct fsc_output_opts out = {.format = -1};
	const struct fsc_opt_set sets[] = {
	    {snoop_opts, so}, FSC_OUTPUT_SETS(fsc_report_formats, &out), {NULL, NULL}};
	struct fsc_snoop_config *c;
	int n, rc = fsc_opt_parse(sets, argc, argv, &n, err);

	if (!rc && n)
		rc = fsc_err_usage(err,
				   "snoop takes its functions from a file, not '%s'; use -c "
				   "FILE",
				   argv[1]);
	if (!rc && out.interval > 0 && out.interval < 0.1)
		rc = fsc_err_usage(err, "-i takes 0.1 seconds or more");
	if (rc)
		return rc;
	if (so->check)
		return check_config(so->check, err);
	c = calloc(1, sizeof(*c));
	if (!c)
		return fsc_err_nomem(err);
	rc = read_config(so, command, c, err);
	if (!rc)
		return run_monitor(c, so, &out, err); /* which takes it over */
	fsc_snoop_config_release(c);
	free(c);
	return rc;
}

static int run_snoop(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct snoop_opts so = {.presets = FSC_VEC_INIT(const char *),
				.pids = FSC_VEC_INIT(const char *),
				.numbers = FSC_VEC_INIT(pid_t)};
	int rc = plan_and_run(argc, argv, command, &so, err);

	fsc_vec_release(&so.presets);
	fsc_vec_release(&so.pids);
	fsc_vec_release(&so.numbers);
	return rc;
}

const struct fsc_cmd fsc_cmd_snoop = {
    .name = "snoop",
    .summary = "monitor configured functions: statistics, slow calls, errors",
    .operands = "-c FILE [-- COMMAND ARGS...]",
    .example = "funcscope snoop -c examples/snoop/training.json",
    .opts =
	(const struct fsc_opt *const[]){snoop_opts, FSC_OUTPUT_TABLES(fsc_report_formats), NULL},
    .run = run_snoop,
};
