/* funcscope gpu: what CUDA programs do. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "run/output.h"
#include "cmd/probes.h"
#include "gpu/watch.h"
#include "run/pids.h"

struct gpu_opts {
	struct fsc_vec pids;  /* const char * */
	struct fsc_vec comms; /* const char * */
	bool stacks, no_stacks, dwarf, python, args, tensors, launch_errors, no_libraries, no_trial,
	    exit_code;
	unsigned sample, top;
	const char *leak_age;
	struct fsc_server_opts page;
	int flames;
};

static const char *const weights[] = {"launches", "bytes", NULL};

static const struct fsc_opt gpu_opts[] = {
    {'p', "pid", FSC_OPT_LIST, offsetof(struct gpu_opts, pids), "PID",
     "only this process; may be repeated, or 1,2,3", NULL},
    {0, "comm", FSC_OPT_LIST, offsetof(struct gpu_opts, comms), "NAME",
     "only processes with this name (a glob)", NULL},
    {0, "stacks", FSC_OPT_FLAG, offsetof(struct gpu_opts, stacks), NULL,
     "also record stacks of launches and copies", NULL},
    {0, "sample", FSC_OPT_UINT, offsetof(struct gpu_opts, sample), "N",
     "with --stacks: only one launch in N", NULL},
    {0, "no-stacks", FSC_OPT_FLAG, offsetof(struct gpu_opts, no_stacks), NULL,
     "do not record any stacks", NULL},
    {0, "dwarf", FSC_OPT_FLAG, offsetof(struct gpu_opts, dwarf), NULL,
     "unwind stacks by DWARF, not by frame pointers", NULL},
    {0, "python", FSC_OPT_FLAG, offsetof(struct gpu_opts, python), NULL,
     "add Python source lines to stacks", NULL},
    {0, "args", FSC_OPT_FLAG, offsetof(struct gpu_opts, args), NULL,
     "arguments of kernels; implies --launch-errors", NULL},
    {0, "tensors", FSC_OPT_FLAG, offsetof(struct gpu_opts, tensors), NULL,
     "allocations from PyTorch's own allocator", NULL},
    {0, "launch-errors", FSC_OPT_FLAG, offsetof(struct gpu_opts, launch_errors), NULL,
     "also record failed launches (costs more)", NULL},
    {0, "no-libraries", FSC_OPT_FLAG, offsetof(struct gpu_opts, no_libraries), NULL,
     "do not record calls of cuBLAS, cuDNN or NCCL", NULL},
    {0, "leak-age", FSC_OPT_STRING, offsetof(struct gpu_opts, leak_age), "TIME",
     "memory held longer than this is a leak (60s)", NULL},
    {'n', "top", FSC_OPT_UINT, offsetof(struct gpu_opts, top), "N",
     "rows per table (20 in text; 0: all)", NULL},
    {0, "flames", FSC_OPT_CHOICE, offsetof(struct gpu_opts, flames), "WHAT", "weight stacks by",
     weights},
    {0, "listen", FSC_OPT_STRING, offsetof(struct gpu_opts, page.listen), "ADDR",
     "serve metrics to Prometheus", NULL},
    {0, "listen-group", FSC_OPT_STRING, offsetof(struct gpu_opts, page.group), "NAME",
     "with --listen unix:PATH: the socket's group", NULL},
    {0, "listen-cert", FSC_OPT_STRING, offsetof(struct gpu_opts, page.cert_file), "FILE",
     "with --listen: TLS with this certificate (PEM)", NULL},
    {0, "listen-key", FSC_OPT_STRING, offsetof(struct gpu_opts, page.key_file), "FILE",
     "the certificate's key", NULL},
    {0, "listen-client-ca", FSC_OPT_STRING, offsetof(struct gpu_opts, page.client_ca_file), "FILE",
     "clients need a certificate that this one signed", NULL},
    {0, "listen-token", FSC_OPT_STRING, offsetof(struct gpu_opts, page.token_file), "FILE",
     "clients need the token in this file", NULL},
    {0, "no-trial", FSC_OPT_FLAG, offsetof(struct gpu_opts, no_trial), NULL,
     "do not load the driver to find kernel names", NULL},
    {0, "exit-code", FSC_OPT_FLAG, offsetof(struct gpu_opts, exit_code), NULL,
     "exit as COMMAND did", NULL},
    {0},
};

static uint32_t stacks_of(const struct gpu_opts *g)
{
	if (g->no_stacks)
		return 0;
	return FSC_GPU_STACKS_REST |
	       (g->stacks ? FSC_GPU_STACKS_COPIES | FSC_GPU_STACKS_LAUNCHES : 0);
}

/* A flame graph, or the lines one is made of. */
static bool shows_flames(const struct fsc_output_opts *out)
{
	const struct fsc_sink_ops *ops = fsc_sinks[out->format];

	return ops->stacks && !ops->profile;
}

static int check_page(const struct fsc_server_opts *p, struct fsc_err *err)
{
	if (!p->listen && (p->cert_file || p->key_file || p->client_ca_file || p->token_file))
		return fsc_err_usage(err, "the options --listen-... need --listen ADDR");
	if (!p->cert_file != !p->key_file || (p->client_ca_file && !p->cert_file))
		return fsc_err_usage(err, "TLS needs both --listen-cert and --listen-key");
	if (p->group && (!p->listen || strncmp(p->listen, "unix:", 5) != 0))
		return fsc_err_usage(err, "--listen-group needs --listen unix:PATH");
	return 0;
}

static int check_gpu_opts(struct gpu_opts *g, const struct fsc_output_opts *out,
			  struct fsc_gpu_watch_opts *wo, struct fsc_err *err)
{
	double age_ns = 60e9;
	int rc;

	if (g->leak_age && !fsc_str_duration(g->leak_age, strlen(g->leak_age), &age_ns))
		return fsc_err_usage(err, "--leak-age takes a time, as in 30s or 5m, not '%s'",
				     g->leak_age);
	if (g->no_stacks && g->dwarf)
		return fsc_err_usage(err, "--no-stacks and --dwarf cannot be combined");
	if (g->no_stacks && (g->stacks || g->python))
		return fsc_err_usage(err, "--no-stacks and %s cannot be combined",
				     g->stacks ? "--stacks" : "--python");
	if (g->flames >= 0 && !shows_flames(out))
		return fsc_err_usage(err, "--flames needs -f folded or -f flamegraph");
	if (g->sample && !g->stacks && !shows_flames(out))
		return fsc_err_usage(err, "--sample needs --stacks");
	rc = check_page(&g->page, err);
	if (rc)
		return rc;
	if (out->interval > 0 && out->interval < 0.1)
		return fsc_err_usage(err, "-i takes 0.1 seconds or more");
	wo->leak_age_s = age_ns / 1e9;
	wo->stacks = stacks_of(g);
	wo->dwarf = g->dwarf;
	wo->sample = g->sample;
	wo->python = g->python;
	wo->args = g->args;
	/* Text is cut for people; programs get all rows. */
	wo->top = g->top != UINT_MAX ? g->top : fsc_sinks[out->format] == &fsc_sink_text ? 20 : 0;
	wo->page = g->page;
	wo->out = out;
	if (shows_flames(out)) {
		wo->weigh = g->flames == 1 ? FSC_GPU_WEIGH_BYTES : FSC_GPU_WEIGH_LAUNCHES;
		wo->stacks |= FSC_GPU_STACKS_LAUNCHES;
	}
	wo->hooks = (struct fsc_gpu_hooks_opts){.launch_errors = g->launch_errors || g->args,
						.no_libraries = g->no_libraries,
						.tensors = g->tensors,
						.no_trial = g->no_trial};
	return 0;
}

/* Calls are matched by process: a thread id would match nothing. */
static int check_pids(const struct fsc_vec *pids, struct fsc_err *err)
{
	for (size_t i = 0; i < pids->n; i++) {
		pid_t pid = *FSC_AT(pid_t, pids, i), owner = fsc_pids_owner(pid);
		int rc;

		if (owner && owner != pid)
			return fsc_err_usage(err,
					     "%d is a thread of process %d; give -p %d, which "
					     "covers all its threads",
					     (int)pid, (int)owner, (int)owner);
		rc = fsc_pids_refuse_zombie(pid, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int plan_and_run(int argc, char **argv, char **command, struct gpu_opts *g,
			struct fsc_gpu_watch_opts *wo, struct fsc_err *err)
{
	struct fsc_output_opts out = {0};
	const struct fsc_opt_set sets[] = {
	    {gpu_opts, g}, FSC_OUTPUT_SETS(fsc_gpu_formats, &out), {NULL, NULL}};
	int n, rc = fsc_opt_parse(sets, argc, argv, &n, err);

	if (!rc && n)
		rc = fsc_err_usage(
		    err, "gpu takes no probes, but got '%s'; see: funcscope help gpu", argv[1]);
	if (!rc)
		rc = check_gpu_opts(g, &out, wo, err);
	if (!rc)
		rc = fsc_probes_pids(&g->pids, &wo->targets.pids, err);
	if (!rc)
		rc = check_pids(&wo->targets.pids, err);
	for (size_t i = 0; !rc && i < g->comms.n; i++)
		rc = fsc_vec_add(&wo->targets.names, FSC_AT(const char *, &g->comms, i), err);
	for (char **word = command; !rc && word && *word; word++)
		rc = fsc_vec_add(&wo->targets.command, word, err);
	wo->command = command;
	wo->exit_code = g->exit_code;
	if (!rc && g->exit_code && !command)
		rc = fsc_err_usage(err, "--exit-code needs a command whose status is passed on");
	return rc ? rc : fsc_gpu_watch(wo, err);
}

static int run_gpu(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct gpu_opts g = {.pids = FSC_VEC_INIT(const char *),
			     .comms = FSC_VEC_INIT(const char *),
			     .top = UINT_MAX,
			     .flames = -1};
	struct fsc_gpu_watch_opts wo = {.targets = {.pids = FSC_VEC_INIT(pid_t),
						    .names = FSC_VEC_INIT(char *),
						    .cgroups = FSC_VEC_INIT(char *),
						    .command = FSC_VEC_INIT(char *)}};
	int rc = plan_and_run(argc, argv, command, &g, &wo, err);

	fsc_vec_release(&g.pids);
	fsc_vec_release(&g.comms);
	fsc_vec_release(&wo.targets.pids);
	fsc_vec_release(&wo.targets.names);
	fsc_vec_release(&wo.targets.cgroups);
	fsc_vec_release(&wo.targets.command);
	return rc;
}

const struct fsc_cmd fsc_cmd_gpu = {
    .name = "gpu",
    .summary = "watch CUDA programs: launches, memory, leaks, copies, waits, failures",
    .operands = "[-- COMMAND ARGS...]",
    .example = "funcscope gpu -p 1234 -d 10",
    .opts = (const struct fsc_opt *const[]){gpu_opts, FSC_OUTPUT_TABLES(fsc_gpu_formats), NULL},
    .run = run_gpu,
};
