/* funcscope time: how long do calls take. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/keys.h"
#include "cmd/run.h"
#include "cmd/slowest.h"

enum { SLOW_STACKS = 4096, MOST_KEPT = 10000 };

struct time_opts {
	struct fsc_keys keys;
	bool zeros, reverse, histogram, wide, self, off_cpu, raw;
	int sort, unit, calls_in;
	unsigned top, keep;
	const char *linear, *slow;
};

static const char *const sort_names[] = {"total", "count", "avg", "max", "p99", "name", NULL};
static const char *const unit_names[] = {"auto", "ns", "us", "ms", "s", NULL};
static const char *const calls_in_names[] = {"cookie", "storage", "hash", NULL};

static const struct fsc_opt time_opts[] = {
    {'n', "top", FSC_OPT_UINT, offsetof(struct time_opts, top), "N",
     "only the N rows that come first", NULL},
    {'s', "sort", FSC_OPT_CHOICE, offsetof(struct time_opts, sort), "KEY", "order of rows",
     sort_names},
    {0, "reverse", FSC_OPT_FLAG, offsetof(struct time_opts, reverse), NULL, "turn the order round",
     NULL},
    {'z', "zeros", FSC_OPT_FLAG, offsetof(struct time_opts, zeros), NULL,
     "show functions that were not called, too", NULL},
    {'H', "histogram", FSC_OPT_FLAG, offsetof(struct time_opts, histogram), NULL,
     "histograms of all rows, not only of one", NULL},
    {'w', "wide", FSC_OPT_FLAG, offsetof(struct time_opts, wide), NULL,
     "all columns: min, p99.9 and deviation, too", NULL},
    {0, "linear", FSC_OPT_STRING, offsetof(struct time_opts, linear), "MIN,MAX,STEP",
     "equal bins (0,10ms,500us)", NULL},
    {'u', "unit", FSC_OPT_CHOICE, offsetof(struct time_opts, unit), "UNIT", "of durations",
     unit_names},
    {0, "slow", FSC_OPT_STRING, offsetof(struct time_opts, slow), "TIME",
     "keep calls that take at least so long (10ms)", NULL},
    {0, "keep", FSC_OPT_UINT, offsetof(struct time_opts, keep), "N",
     "so many of the slowest calls of each function (10)", NULL},
    {0, "self", FSC_OPT_FLAG, offsetof(struct time_opts, self), NULL,
     "also the time without probed functions inside", NULL},
    {0, "off-cpu", FSC_OPT_FLAG, offsetof(struct time_opts, off_cpu), NULL,
     "also how long the thread was not running", NULL},
    {0, "raw", FSC_OPT_FLAG, offsetof(struct time_opts, raw), NULL,
     "also averages with the probes' cost left in", NULL},
    {0, "calls-in", FSC_OPT_CHOICE, offsetof(struct time_opts, calls_in), "PLACE", NULL,
     calls_in_names},
    {0},
};

struct time_state {
	struct fsc_latencies before; /* the last snapshot */
	struct fsc_latency_parts parts;
	bool zeros, reverse;
	enum fsc_latency_sort sort;
	unsigned top;
	struct fsc_slowest *slowest; /* NULL: not asked for */
};

static int start(void *state, const struct fsc_run_facts *facts, struct fsc_err *err)
{
	struct time_state *s = state;

	return s->slowest ? fsc_slowest_start(s->slowest, facts, err) : 0;
}

static int tick(void *state, struct fsc_sink *sink, bool *stop, struct fsc_err *err)
{
	struct time_state *s = state;

	(void)sink;
	(void)stop;
	return s->slowest ? fsc_slowest_read(s->slowest, false, err) : 0;
}

/* Reports what was timed since the last report. */
static int report(void *state, struct fsc_live *live, struct fsc_sink *sink, bool last,
		  struct fsc_err *err)
{
	struct time_state *s = state;
	struct fsc_latencies now, delta;
	int rc = fsc_live_latencies(live, s->zeros, &now, err);

	if (rc)
		return rc;
	rc = fsc_latencies_subtract(&now, &s->before, s->zeros, &delta, err);
	if (!rc) {
		delta.parts = s->parts;
		fsc_latencies_sort(&delta, s->sort, s->reverse, s->top);
		rc = fsc_sink_latency(sink, &delta, err);
		fsc_latencies_release(&delta);
	}
	fsc_latencies_release(&s->before);
	s->before = now;
	if (rc || !last || !s->slowest)
		return rc;
	rc = fsc_slowest_read(s->slowest, true, err);
	return rc ? rc : fsc_slowest_show(s->slowest, sink, err);
}

static const struct fsc_run_view view = {
    .doing = "timing", .data = FSC_DATA_LATENCIES, .start = start, .tick = tick, .report = report};

/* "MIN,MAX,STEP" */
static int parse_linear(const char *text, struct fsc_sink *sink, struct fsc_err *err)
{
	enum { MOST_BINS = 10000 };
	double *to[] = {&sink->linear_min, &sink->linear_max, &sink->linear_step};
	const char *p = text;

	for (size_t i = 0; i < 3; i++) {
		size_t n = strcspn(p, ",");

		if (!fsc_str_duration(p, n, to[i]) || (i < 2) != (p[n] == ','))
			return fsc_err_usage(
			    err, "--linear takes MIN,MAX,STEP, as in 0,10ms,500us, not '%s'", text);
		p += n + 1;
	}
	if (sink->linear_max <= sink->linear_min || sink->linear_step <= 0 ||
	    (sink->linear_max - sink->linear_min) / sink->linear_step > MOST_BINS)
		return fsc_err_usage(err, "--linear '%s' makes no bins, or more than %d", text,
				     MOST_BINS);
	return 0;
}

static int parse_slow(const char *text, uint64_t *ret, struct fsc_err *err)
{
	double ns;

	if (!fsc_str_duration(text, strlen(text), &ns) || ns < 1)
		return fsc_err_usage(err, "--slow takes a time with its unit, as in 10ms, not '%s'",
				     text);
	*ret = (uint64_t)ns;
	return 0;
}

static int plan_time(const struct time_opts *to, struct fsc_run_plan *plan,
		     struct time_state *state, struct fsc_err *err)
{
	int rc = fsc_keys_parse(&to->keys, &plan->session, err);

	if (!rc && to->linear)
		rc = parse_linear(to->linear, &plan->sink, err);
	if (!rc && to->slow)
		rc = parse_slow(to->slow, &plan->session.slow_ns, err);
	plan->session.mode = FSC_MODE_TIME;
	if (!to->keep || to->keep > MOST_KEPT)
		return fsc_err_usage(err, "--keep takes 1 to %d", MOST_KEPT);
	if (to->slow) {
		plan->session.n_rings = 1;
		plan->session.stacks = FSC_STACKS_USER | FSC_STACKS_KERNEL;
		plan->session.max_stacks = SLOW_STACKS;
	}
	plan->session.keep = (enum fsc_keep)to->calls_in;
	plan->session.self = to->self;
	plan->session.raw = to->raw;
	plan->session.off_cpu = to->off_cpu;
	plan->sink.histograms = to->histogram || to->linear;
	plan->sink.wide = to->wide;
	plan->sink.unit = (enum fsc_unit)to->unit;
	*state = (struct time_state){
	    .parts = {.self = to->self, .off_cpu = to->off_cpu, .slow = to->slow, .raw = to->raw},
	    .zeros = to->zeros,
	    .reverse = to->reverse,
	    .sort = (enum fsc_latency_sort)to->sort,
	    .top = to->top,
	};
	return rc;
}

static int plan_and_run(int argc, char **argv, char **command, struct time_opts *to,
			struct fsc_probe_opts *po, struct fsc_run_opts *ro, struct fsc_err *err)
{
	const struct fsc_opt_set sets[] = {{fsc_probe_opts, po},
					   {fsc_run_opts, ro},
					   {fsc_keys_opts, &to->keys},
					   {time_opts, to},
					   {NULL, NULL}};
	struct time_state state;
	struct fsc_run_plan plan = {
	    .view = &view, .state = &state, .probe = po, .run = ro, .command = command};
	int rc = fsc_opt_parse(sets, argc, argv, &plan.n_probes, err);

	plan.probes = argv + 1;
	if (!rc)
		rc = plan_time(to, &plan, &state, err);
	if (rc)
		return rc;
	if (to->slow)
		rc = fsc_slowest_new(to->keep, &state.slowest, err);
	if (!rc)
		rc = fsc_run(&plan, err);
	fsc_latencies_release(&state.before);
	fsc_slowest_free(state.slowest);
	return rc;
}

static int run(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct time_opts to = {.keys = {.by = FSC_VEC_INIT(const char *), .max_keys = 1024},
			       .keep = 10};
	struct fsc_probe_opts po = FSC_PROBE_OPTS_INIT;
	struct fsc_run_opts ro = FSC_RUN_OPTS_INIT;
	int rc = plan_and_run(argc, argv, command, &to, &po, &ro, err);

	fsc_vec_release(&to.keys.by);
	fsc_probe_opts_release(&po);
	fsc_run_opts_release(&ro);
	return rc;
}

const struct fsc_cmd fsc_cmd_time = {
    .name = "time",
    .summary = "time calls: average, percentiles, histogram, slow calls",
    .operands = "PROBE... [-- COMMAND ARGS...]",
    .example = "funcscope time -d 5 c:malloc --by comm",
    .opts = (const struct fsc_opt *const[]){fsc_probe_opts, fsc_run_opts, fsc_keys_opts, time_opts,
					    NULL},
    .run = run,
};
