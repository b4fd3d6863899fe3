/* funcscope count: how often is a function called, by what. */
#include <string.h>

#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/run.h"

enum { MOST_KEYS = 1 << 24 };

struct count_opts {
	struct fsc_vec by; /* const char * */
	bool zeros, reverse;
	int sort;
	unsigned top, max_keys;
};

static const char *const sort_names[] = {"count", "name", NULL};

static const struct fsc_opt count_opts[] = {
    {'b', "by", FSC_OPT_LIST, offsetof(struct count_opts, by), "KEYS",
     "also by: comm, pid, tid, cpu, cgroup (comma between)", NULL},
    {'n', "top", FSC_OPT_UINT, offsetof(struct count_opts, top), "N",
     "only the N rows with most calls", NULL},
    {'s', "sort", FSC_OPT_CHOICE, offsetof(struct count_opts, sort), "KEY", "order of rows",
     sort_names},
    {0, "reverse", FSC_OPT_FLAG, offsetof(struct count_opts, reverse), NULL, "turn the order round",
     NULL},
    {'z', "zeros", FSC_OPT_FLAG, offsetof(struct count_opts, zeros), NULL,
     "show functions that were not called, too", NULL},
    {0, "max-keys", FSC_OPT_UINT, offsetof(struct count_opts, max_keys), "N",
     "room for so many different keys (65536)", NULL},
    {0},
};

static const struct {
	const char *name;
	uint32_t bit;
} keys[] = {
    {"function", 0},	 {"comm", FSC_BY_COMM}, {"pid", FSC_BY_PID},
    {"tid", FSC_BY_TID}, {"cpu", FSC_BY_CPU},	{"cgroup", FSC_BY_CGROUP},
};

static int parse_key(const char *text, size_t n, void *arg, struct fsc_err *err)
{
	uint32_t *by = arg;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strlen(keys[i].name) == n && !strncmp(keys[i].name, text, n)) {
			*by |= keys[i].bit;
			return 0;
		}
	return fsc_err_usage(err, "--by takes function, comm, pid, tid, cpu or cgroup, not '%.*s'",
			     (int)n, text);
}

static int plan_and_run(int argc, char **argv, char **command, struct count_opts *co,
			struct fsc_probe_opts *po, struct fsc_run_opts *ro, struct fsc_err *err)
{
	const struct fsc_opt_set sets[] = {
	    {fsc_probe_opts, po}, {fsc_run_opts, ro}, {count_opts, co}, {NULL, NULL}};
	struct fsc_run_plan plan = {.probe = po, .run = ro, .command = command};
	int rc = fsc_opt_parse(sets, argc, argv, &plan.n_probes, err);

	if (!rc)
		rc = fsc_str_each(&co->by, parse_key, &plan.by, err);
	if (rc)
		return rc;
	if (!co->max_keys || co->max_keys > MOST_KEYS)
		return fsc_err_usage(err, "--max-keys takes 1 to %d", MOST_KEYS);
	plan.probes = argv + 1;
	plan.max_keys = co->max_keys;
	plan.zeros = co->zeros;
	plan.reverse = co->reverse;
	plan.sort = (enum fsc_sort)co->sort;
	plan.top = co->top;
	return fsc_run(&plan, err);
}

static int run(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct count_opts co = {.by = FSC_VEC_INIT(const char *), .max_keys = 65536};
	struct fsc_probe_opts po = FSC_PROBE_OPTS_INIT;
	struct fsc_run_opts ro = FSC_RUN_OPTS_INIT;
	int rc = plan_and_run(argc, argv, command, &co, &po, &ro, err);

	fsc_vec_release(&co.by);
	fsc_probe_opts_release(&po);
	fsc_run_opts_release(&ro);
	return rc;
}

const struct fsc_cmd fsc_cmd_count = {
    .name = "count",
    .summary = "count calls, by function, process, thread, CPU or cgroup",
    .operands = "PROBE... [-- COMMAND ARGS...]",
    .example = "funcscope count -d 5 'c:pthread_mutex_*' --by comm",
    .opts = (const struct fsc_opt *const[]){fsc_probe_opts, fsc_run_opts, count_opts, NULL},
    .run = run,
};
