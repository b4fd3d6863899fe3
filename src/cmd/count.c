/* funcscope count: how often is a function called, by what. */
#include "cmd/cmd.h"
#include "cmd/keys.h"
#include "cmd/measure.h"

struct count {
	struct fsc_keys keys;
	bool zeros, reverse;
	int sort;
	unsigned top;
	struct fsc_profile before; /* the last snapshot */
};

static const char *const sort_names[] = {"count", "name", NULL};

static const struct fsc_opt count_opts[] = {
    {'n', "top", FSC_OPT_UINT, offsetof(struct count, top), "N",
     "only the N rows with the most calls", NULL},
    {'s', "sort", FSC_OPT_CHOICE, offsetof(struct count, sort), "KEY", "order of rows", sort_names},
    {0, "reverse", FSC_OPT_FLAG, offsetof(struct count, reverse), NULL, "reverse the order", NULL},
    {'z', "zeros", FSC_OPT_FLAG, offsetof(struct count, zeros), NULL,
     "also show functions that were not called", NULL},
    {0},
};

/* Reports what was counted since the last report. */
static int report_counts(void *state, struct fsc_live *live, struct fsc_sink *sink, bool last,
			 struct fsc_err *err)
{
	struct count *s = state;
	struct fsc_profile now, delta;
	int rc = fsc_live_snapshot(live, s->zeros, &now, err);

	(void)last;
	if (rc)
		return rc;
	rc = fsc_profile_subtract(&now, &s->before, s->zeros, &delta, err);
	if (!rc) {
		fsc_profile_sort(&delta, (enum fsc_sort)s->sort, s->reverse, s->top);
		rc = fsc_sink_profile(sink, &delta, err);
		fsc_profile_release(&delta);
	}
	fsc_profile_release(&s->before);
	s->before = now;
	return rc;
}

static const struct fsc_measure_view view = {
    .command = "count", .doing = "counting", .data = FSC_DATA_COUNTS, .report = report_counts};

static int run_count(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct count s = {.keys = {.by = FSC_VEC_INIT(const char *), .max_keys = 65536}};
	struct fsc_measure_plan plan = FSC_MEASURE_PLAN(&view, &s, command);
	const struct fsc_opt_set own[] = {{fsc_keys_opts, &s.keys}, {count_opts, &s}, {NULL, NULL}};
	int rc = fsc_measure_parse(&plan, own, argc, argv, err);

	if (!rc)
		rc = fsc_keys_parse(&s.keys, &plan.session, err);
	if (!rc)
		rc = fsc_measure(&plan, err);
	fsc_profile_release(&s.before);
	fsc_vec_release(&s.keys.by);
	fsc_measure_plan_release(&plan);
	return rc;
}

const struct fsc_cmd fsc_cmd_count = {
    .name = "count",
    .summary = "count calls, by function, process, thread, CPU or cgroup",
    .operands = "PROBE... [-- COMMAND ARGS...]",
    .example = "funcscope count -d 5 'c:pthread_mutex_*' --by comm",
    .opts = (const struct fsc_opt *const[]){FSC_MEASURE_TABLES(fsc_table_formats), fsc_keys_opts,
					    count_opts, NULL},
    .run = run_count,
};
