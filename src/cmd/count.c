/* funcscope count: how often is a function called, by what. */
#include "cmd/cmd.h"
#include "cmd/keys.h"
#include "cmd/measure.h"

struct count_opts {
	struct fsc_keys keys;
	bool zeros, reverse;
	int sort;
	unsigned top;
};

static const char *const sort_names[] = {"count", "name", NULL};

static const struct fsc_opt count_opts[] = {
    {'n', "top", FSC_OPT_UINT, offsetof(struct count_opts, top), "N",
     "only the N rows with the most calls", NULL},
    {'s', "sort", FSC_OPT_CHOICE, offsetof(struct count_opts, sort), "KEY", "order of rows",
     sort_names},
    {0, "reverse", FSC_OPT_FLAG, offsetof(struct count_opts, reverse), NULL, "reverse the order",
     NULL},
    {'z', "zeros", FSC_OPT_FLAG, offsetof(struct count_opts, zeros), NULL,
     "also show functions that were not called", NULL},
    {0},
};

struct count_state {
	struct fsc_profile before; /* the last snapshot */
	bool zeros, reverse;
	enum fsc_sort sort;
	unsigned top;
};

/* Reports what was counted since the last report. */
static int report(void *state, struct fsc_live *live, struct fsc_sink *sink, bool last,
		  struct fsc_err *err)
{
	struct count_state *s = state;
	struct fsc_profile now, delta;
	int rc = fsc_live_snapshot(live, s->zeros, &now, err);

	(void)last;
	if (rc)
		return rc;
	rc = fsc_profile_subtract(&now, &s->before, s->zeros, &delta, err);
	if (!rc) {
		fsc_profile_sort(&delta, s->sort, s->reverse, s->top);
		rc = fsc_sink_profile(sink, &delta, err);
		fsc_profile_release(&delta);
	}
	fsc_profile_release(&s->before);
	s->before = now;
	return rc;
}

static const struct fsc_measure_view view = {
    .command = "count", .doing = "counting", .data = FSC_DATA_COUNTS, .report = report};

static int plan_and_run(int argc, char **argv, char **command, struct count_opts *co,
			struct fsc_probe_opts *po, struct fsc_measure_opts *ro, struct fsc_err *err)
{
	const struct fsc_opt_set sets[] = {
	    {fsc_probe_opts, po},	{fsc_measure_opts, ro}, {fsc_output_opts, &ro->out},
	    {fsc_keys_opts, &co->keys}, {count_opts, co},	{NULL, NULL}};
	struct count_state state = {0};
	struct fsc_measure_plan plan = {
	    .view = &view, .state = &state, .probe = po, .run = ro, .command = command};
	int rc = fsc_opt_parse(sets, argc, argv, &plan.n_probes, err);

	if (!rc)
		rc = fsc_keys_parse(&co->keys, &plan.session, err);
	if (rc)
		return rc;
	plan.probes = argv + 1;
	state.zeros = co->zeros;
	state.reverse = co->reverse;
	state.sort = (enum fsc_sort)co->sort;
	state.top = co->top;
	rc = fsc_measure(&plan, err);
	fsc_profile_release(&state.before);
	return rc;
}

static int run(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct count_opts co = {.keys = {.by = FSC_VEC_INIT(const char *), .max_keys = 65536}};
	struct fsc_probe_opts po = FSC_PROBE_OPTS_INIT;
	struct fsc_measure_opts ro = FSC_MEASURE_OPTS_INIT;
	int rc = plan_and_run(argc, argv, command, &co, &po, &ro, err);

	fsc_vec_release(&co.keys.by);
	fsc_probe_opts_release(&po);
	fsc_measure_opts_release(&ro);
	return rc;
}

const struct fsc_cmd fsc_cmd_count = {
    .name = "count",
    .summary = "count calls, by function, process, thread, CPU or cgroup",
    .operands = "PROBE... [-- COMMAND ARGS...]",
    .example = "funcscope count -d 5 'c:pthread_mutex_*' --by comm",
    .opts = (const struct fsc_opt *const[]){fsc_probe_opts, fsc_measure_opts, fsc_output_opts,
					    fsc_keys_opts, count_opts, NULL},
    .run = run,
};
