/* funcscope time: how long do calls take. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/keys.h"
#include "cmd/measure.h"
#include "cmd/slowest.h"
#include "cmd/timings.h"

enum { SLOW_STACKS = 4096, MOST_KEPT = 10000 };

struct timing {
	struct fsc_keys keys;
	struct fsc_timings_opts show;
	bool zeros, self, off_cpu, raw, kernel, user, dwarf;
	int calls_in;
	unsigned keep;
	const char *slow;
	struct fsc_latencies before; /* the last snapshot */
	struct fsc_slowest *slowest; /* NULL: not asked for */
};

static const char *const calls_in_names[] = {"cookie", "storage", "hash", NULL};

static const struct fsc_opt time_opts[] = {
    {'z', "zeros", FSC_OPT_FLAG, offsetof(struct timing, zeros), NULL,
     "also show functions that were not called", NULL},
    {0, "slow", FSC_OPT_STRING, offsetof(struct timing, slow), "TIME",
     "keep calls that take at least this long (10ms)", NULL},
    {'K', "kernel", FSC_OPT_FLAG, offsetof(struct timing, kernel), NULL,
     "with --slow: only the kernel's part of the stack", NULL},
    {'U', "user", FSC_OPT_FLAG, offsetof(struct timing, user), NULL,
     "with --slow: only the program's part", NULL},
    {0, "dwarf", FSC_OPT_FLAG, offsetof(struct timing, dwarf), NULL,
     "with --slow: unwind by DWARF, not by frame pointers", NULL},
    {0, "keep", FSC_OPT_UINT, offsetof(struct timing, keep), "N",
     "number of slow calls to keep per function (10)", NULL},
    {0, "self", FSC_OPT_FLAG, offsetof(struct timing, self), NULL,
     "also the time without nested probed functions", NULL},
    {0, "off-cpu", FSC_OPT_FLAG, offsetof(struct timing, off_cpu), NULL,
     "also how long the thread was not running", NULL},
    {0, "raw", FSC_OPT_FLAG, offsetof(struct timing, raw), NULL,
     "also averages that include the probes' cost", NULL},
    {0, "calls-in", FSC_OPT_CHOICE, offsetof(struct timing, calls_in), "PLACE", NULL,
     calls_in_names},
    {0},
};

static int start_slowest(void *state, const struct fsc_measure_facts *facts, struct fsc_err *err)
{
	struct timing *s = state;

	return s->slowest ? fsc_slowest_start(s->slowest, facts, err) : 0;
}

static int read_slowest(void *state, struct fsc_sink *sink, bool *stop, struct fsc_err *err)
{
	struct timing *s = state;

	(void)sink;
	(void)stop;
	return s->slowest ? fsc_slowest_read(s->slowest, false, err) : 0;
}

/* Reports what was timed since the last report. */
static int report_latencies(void *state, struct fsc_live *live, struct fsc_sink *sink, bool last,
			    struct fsc_err *err)
{
	struct timing *s = state;
	struct fsc_latencies now, delta;
	int rc = fsc_live_latencies(live, s->zeros, &now, err);

	if (rc)
		return rc;
	rc = fsc_latencies_subtract(&now, &s->before, s->zeros, &delta, err);
	if (!rc) {
		delta.parts = (struct fsc_latency_parts){
		    .self = s->self, .off_cpu = s->off_cpu, .slow = s->slow, .raw = s->raw};
		fsc_timings_sort(&s->show, &delta);
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

static const struct fsc_measure_view view = {.command = "time",
					     .doing = "timing",
					     .data = FSC_DATA_LATENCIES,
					     .start = start_slowest,
					     .tick = read_slowest,
					     .report = report_latencies};

static int parse_slow(const char *text, uint64_t *ret, struct fsc_err *err)
{
	double ns;
	bool ok = fsc_str_duration(text, strlen(text), &ns);

	if (!ok && ns >= FSC_STR_LONGEST_NS)
		return fsc_err_usage(err, "--slow %s is out of range: a time up to 9000000000s",
				     text);
	if (!ok || ns < 1)
		return fsc_err_usage(err, "--slow takes a time with its unit, as in 10ms, not '%s'",
				     text);
	*ret = (uint64_t)ns;
	return 0;
}

/* Of slow calls: both parts of the stack, unless one is asked for. */
static unsigned slow_stacks(const struct timing *s)
{
	if (s->kernel == s->user)
		return FSC_STACKS_KERNEL | FSC_STACKS_USER;
	return s->kernel ? FSC_STACKS_KERNEL : FSC_STACKS_USER;
}

static int plan_time(const struct timing *s, struct fsc_measure_plan *plan, struct fsc_err *err)
{
	int rc = fsc_keys_parse(&s->keys, &plan->session, err);

	if (!rc)
		rc = fsc_timings_apply(&s->show, &plan->sink, err);
	if (!rc && s->slow)
		rc = parse_slow(s->slow, &plan->session.slow_ns, err);
	plan->session.mode = FSC_MODE_TIME;
	if (!s->keep || s->keep > MOST_KEPT)
		return fsc_err_usage(err, "--keep takes 1 to %d", MOST_KEPT);
	if (!s->slow && (s->kernel || s->user))
		return fsc_err_usage(
		    err,
		    "-K and -U select the stack to show for slow calls; they need --slow TIME");
	if (s->dwarf && (!s->slow || !(slow_stacks(s) & FSC_STACKS_USER)))
		return fsc_err_usage(err, "--dwarf is for the program's part of the stack of slow "
					  "calls: it needs --slow TIME, and not -K alone");
	plan->session.copy_stacks = s->dwarf;
	if (s->slow) {
		plan->session.n_rings = 1;
		plan->session.stacks = slow_stacks(s);
		plan->session.max_stacks = SLOW_STACKS;
	}
	plan->session.keep = (enum fsc_keep)s->calls_in;
	plan->session.self = s->self;
	plan->session.raw = s->raw;
	plan->session.off_cpu = s->off_cpu;
	return rc;
}

static int run_time(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct timing s = {.keys = {.by = FSC_VEC_INIT(const char *), .max_keys = 1024},
			   .keep = 10};
	struct fsc_measure_plan plan = FSC_MEASURE_PLAN(&view, &s, command);
	const struct fsc_opt_set own[] = {
	    {fsc_keys_opts, &s.keys}, {fsc_timings_opts, &s.show}, {time_opts, &s}, {NULL, NULL}};
	int rc = fsc_measure_parse(&plan, own, argc, argv, err);

	if (!rc)
		rc = plan_time(&s, &plan, err);
	if (!rc && s.slow)
		rc = fsc_slowest_new(s.keep, slow_stacks(&s), s.dwarf, &s.slowest, err);
	if (!rc)
		rc = fsc_measure(&plan, err);
	fsc_latencies_release(&s.before);
	fsc_slowest_free(s.slowest);
	fsc_vec_release(&s.keys.by);
	fsc_measure_plan_release(&plan);
	return rc;
}

const struct fsc_cmd fsc_cmd_time = {
    .name = "time",
    .summary = "time calls: average, percentiles, histogram, slow calls",
    .operands = "PROBE... [-- COMMAND ARGS...]",
    .example = "funcscope time -d 5 c:malloc --by comm",
    .opts = (const struct fsc_opt *const[]){FSC_MEASURE_TABLES(fsc_table_formats), fsc_keys_opts,
					    fsc_timings_opts, time_opts, NULL},
    .run = run_time,
};
