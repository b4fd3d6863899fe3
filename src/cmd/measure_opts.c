/* Options of all measuring commands, and which of them conflict. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cmd/measure.h"
#include "sink/sink.h"

static const char *const returns_names[] = {"best", "trampoline", "instructions", NULL};
static const char *const via_names[] = {"best", "multi", "fentry", "single", NULL};

const struct fsc_opt fsc_measure_opts[] = {
    {'t', "tid", FSC_OPT_LIST, offsetof(struct fsc_measure_opts, tids), "TID",
     "only this thread; may be repeated", NULL},
    {0, "comm", FSC_OPT_STRING, offsetof(struct fsc_measure_opts, comm), "NAME",
     "only tasks with this name", NULL},
    {0, "cgroup", FSC_OPT_STRING, offsetof(struct fsc_measure_opts, cgroup), "PATH",
     "only tasks in this cgroup or below", NULL},
    {0, "follow", FSC_OPT_FLAG, offsetof(struct fsc_measure_opts, follow), NULL,
     "with -p: also the children it forks", NULL},
    {0, "no-follow", FSC_OPT_FLAG, offsetof(struct fsc_measure_opts, no_follow), NULL,
     "with -- COMMAND: not the children that it forks", NULL},
    {0, "exit-code", FSC_OPT_FLAG, offsetof(struct fsc_measure_opts, exit_code), NULL,
     "exit as COMMAND did", NULL},
    {0, "via", FSC_OPT_CHOICE, offsetof(struct fsc_measure_opts, via), "RUNG", "how to attach",
     via_names},
    {0, "max-overhead", FSC_OPT_STRING, offsetof(struct fsc_measure_opts, max_overhead), "PCT",
     "throttle functions that cost more CPU time", NULL},
    {0, "cost", FSC_OPT_FLAG, offsetof(struct fsc_measure_opts, cost), NULL,
     "also what the probes of each function cost", NULL},
    {0, "returns", FSC_OPT_CHOICE, offsetof(struct fsc_measure_opts, returns), "HOW",
     "catch returns by", returns_names},
    {0, "fast-uprobes", FSC_OPT_FLAG, offsetof(struct fsc_measure_opts, fast_uprobes), NULL,
     "probe 5-byte nops although forked children may die", NULL},
    {0},
};

int fsc_measure_parse(struct fsc_measure_plan *plan, const struct fsc_opt_set *own, int argc,
		      char **argv, struct fsc_err *err)
{
	enum { SHARED = 5, MOST_OWN = 3 };
	const struct fsc_opt *formats =
	    plan->view->data == FSC_DATA_STACKS ? fsc_stack_formats : fsc_table_formats;
	struct fsc_opt_set sets[SHARED + MOST_OWN + 1] = {
	    {fsc_probe_opts, &plan->probe},
	    {fsc_measure_opts, &plan->run},
	    FSC_OUTPUT_SETS(formats, &plan->run.out),
	};

	for (int i = 0; i < MOST_OWN && own[i].opts; i++)
		sets[SHARED + i] = own[i];
	plan->probes = argv + 1;
	return fsc_opt_parse(sets, argc, argv, &plan->n_probes, err);
}

void fsc_measure_plan_release(struct fsc_measure_plan *plan)
{
	fsc_probe_opts_release(&plan->probe);
	fsc_vec_release(&plan->run.tids);
}

int fsc_measure_check(const struct fsc_measure_plan *plan, struct fsc_err *err)
{
	const struct fsc_measure_opts *o = &plan->run;

	if (!plan->n_probes)
		return fsc_err_usage(err, "no probe given; try: funcscope %s 'vfs_*' or c:malloc",
				     plan->view->command);
	if (plan->command && plan->probe.pids.n)
		return fsc_err_usage(err, "-p and a command cannot be combined");
	if (plan->command && o->tids.n)
		return fsc_err_usage(err, "-t and a command cannot be combined");
	if (plan->probe.pids.n && o->tids.n)
		return fsc_err_usage(err, "-p and -t cannot be combined");
	if (o->follow && !plan->probe.pids.n && !plan->command)
		return fsc_err_usage(err, "--follow needs -p PID or a command to follow");
	if (o->follow && o->no_follow)
		return fsc_err_usage(err, "--follow and --no-follow cannot be combined");
	if (o->exit_code && !plan->command)
		return fsc_err_usage(err, "--exit-code needs a command whose status is passed on");
	if (o->cost && plan->view->data == FSC_DATA_CALLS)
		return fsc_err_usage(err,
				     "--cost is for functions, of which %s has a line per "
				     "call; the footer says what all of them cost",
				     plan->view->command);
	if (o->comm && !o->comm[0])
		return fsc_err_usage(err, "--comm needs a name");
	if (o->cgroup && !o->cgroup[0])
		return fsc_err_usage(err, "--cgroup needs a path");
	if (o->comm && strpbrk(o->comm, "*?["))
		fsc_log(FSC_LOG_WARN, "--comm takes a name, not a pattern: '%s' is meant literally",
			o->comm);
	if (o->comm && strlen(o->comm) >= FSC_COMM_LEN)
		return fsc_err_usage(err,
				     "--comm '%s' is longer than the %d bytes the kernel keeps of "
				     "a task's name",
				     o->comm, FSC_COMM_LEN - 1);
	return 0;
}

int fsc_measure_budget(const struct fsc_measure_opts *o, double *ret, struct fsc_err *err)
{
	const char *text = o->max_overhead;
	char *end;

	if (!text)
		return 0;
	*ret = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "%")) || !(*ret > 0 && *ret <= 100))
		return fsc_err_usage(
		    err, "--max-overhead takes a percentage above 0 and up to 100, not '%s'", text);
	return 0;
}
