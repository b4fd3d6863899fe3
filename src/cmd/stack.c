/* funcscope stack: who calls it. */
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/measure.h"
#include "source/stacks.h"

enum { MOST_STACKS = 1 << 22 };

struct stack {
	bool kernel, user, per_process, offsets, dwarf, no_inlines;
	int weight, view;
	unsigned depth, max_stacks, top, sample;
	struct fsc_namer *namer;
	struct fsc_stack_source *source;
	struct fsc_stacks before; /* the last snapshot */
};

static const char *const weight_names[] = {"calls", "time", NULL};
static const char *const view_names[] = {"list", "top-down", "bottom-up", NULL};

static const struct fsc_opt stack_opts[] = {
    {'K', "kernel", FSC_OPT_FLAG, offsetof(struct stack, kernel), NULL,
     "only the kernel's part of the stack", NULL},
    {'U', "user", FSC_OPT_FLAG, offsetof(struct stack, user), NULL, "only the program's part",
     NULL},
    {'P', "per-process", FSC_OPT_FLAG, offsetof(struct stack, per_process), NULL,
     "separate processes", NULL},
    {0, "weight", FSC_OPT_CHOICE, offsetof(struct stack, weight), "WHAT", "weight by",
     weight_names},
    {0, "view", FSC_OPT_CHOICE, offsetof(struct stack, view), "HOW", "in text", view_names},
    {0, "offsets", FSC_OPT_FLAG, offsetof(struct stack, offsets), NULL,
     "distinguish and show offsets in functions", NULL},
    {0, "dwarf", FSC_OPT_FLAG, offsetof(struct stack, dwarf), NULL,
     "unwind by DWARF, if there are no frame pointers", NULL},
    {0, "no-inlines", FSC_OPT_FLAG, offsetof(struct stack, no_inlines), NULL,
     "do not look for inlined functions", NULL},
    {0, "depth", FSC_OPT_UINT, offsetof(struct stack, depth), "N",
     "maximum number of frames of each part (127)", NULL},
    {0, "max-stacks", FSC_OPT_UINT, offsetof(struct stack, max_stacks), "N",
     "maximum number of different stacks (16384)", NULL},
    {0, "sample", FSC_OPT_UINT, offsetof(struct stack, sample), "N",
     "one hit in N of each function; counts are estimates", NULL},
    {'n', "top", FSC_OPT_UINT, offsetof(struct stack, top), "N", "only the N heaviest stacks",
     NULL},
    {0},
};

static bool takes_user(const struct stack *s)
{
	return s->user || !s->kernel;
}

static int start_stacks(void *state, const struct fsc_measure_facts *facts, struct fsc_err *err)
{
	struct stack *s = state;
	const struct fsc_namer_opts names = {
	    .pids = facts->pids, .n_pids = facts->n_pids, .inlined = !s->no_inlines};
	const struct fsc_stack_opts opts = {.per_process = s->per_process,
					    .by_time = s->weight == 1,
					    .offsets = s->offsets,
					    .depth = s->depth,
					    .copies = s->dwarf && takes_user(s),
					    .one_in = s->sample};
	int rc = fsc_namer_new(&names, &s->namer, err);

	return rc ? rc : fsc_stack_source_new(facts->live, s->namer, &opts, &s->source, err);
}

static int tick_stacks(void *state, struct fsc_sink *sink, bool *stop, struct fsc_err *err)
{
	struct stack *s = state;

	(void)sink;
	(void)stop;
	return fsc_stack_source_tick(s->source, err);
}

/* Reports what came since the last report. */
static int report_stacks(void *state, struct fsc_live *live, struct fsc_sink *sink, bool last,
			 struct fsc_err *err)
{
	struct stack *s = state;
	struct fsc_stacks now, delta;
	int rc = fsc_stack_source_read(s->source, &now, err);

	(void)live;
	(void)last;
	if (rc)
		return rc;
	rc = fsc_stacks_subtract(&now, &s->before, &delta, err);
	if (!rc) {
		fsc_stacks_sort(&delta, s->top);
		rc = fsc_sink_stacks(sink, &delta, err);
		fsc_stacks_release(&delta);
	}
	fsc_stacks_release(&s->before);
	s->before = now;
	return rc;
}

static void add_books(void *state, struct fsc_summary *sum)
{
	struct stack *s = state;

	fsc_stack_source_books(s->source, sum);
	if (s->sample > 1)
		fsc_log(FSC_LOG_NOTE,
			"one hit in %u was looked at and stands for all of them: a count of C is "
			"off by about the root of %u * C",
			s->sample, s->sample);
}

static const struct fsc_measure_view view = {
    .command = "stack",
    .doing = "taking stacks of",
    .data = FSC_DATA_STACKS,
    .start = start_stacks,
    .tick = tick_stacks,
    .report = report_stacks,
    .books = add_books,
};

static int plan_stack(const struct stack *s, struct fsc_measure_plan *plan, struct fsc_err *err)
{
	bool time = s->weight == 1;

	if (!s->max_stacks || s->max_stacks > MOST_STACKS)
		return fsc_err_usage(err, "--max-stacks takes 1 to %d", MOST_STACKS);
	if (!s->depth || s->depth > FSC_STACK_DEPTH)
		return fsc_err_usage(err, "--depth takes 1 to %d", FSC_STACK_DEPTH);
	if (s->dwarf && s->kernel && !s->user)
		return fsc_err_usage(
		    err, "--dwarf is for the program's part of the stack; leave out -K");
	plan->session.mode = FSC_MODE_STACK;
	plan->session.stacks =
	    (s->kernel || !s->user ? FSC_STACKS_KERNEL : 0) | (takes_user(s) ? FSC_STACKS_USER : 0);
	plan->session.by = s->per_process ? FSC_BY_COMM : 0;
	plan->session.max_stacks = s->max_stacks;
	plan->session.weigh = time;
	plan->session.copy_stacks = s->dwarf;
	plan->session.sample = s->sample;
	plan->sink.view = (enum fsc_stack_view)s->view;
	return 0;
}

static int run_stack(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct stack s = {.max_stacks = 16384, .depth = FSC_STACK_DEPTH};
	struct fsc_measure_plan plan = FSC_MEASURE_PLAN(&view, &s, command);
	const struct fsc_opt_set own[] = {{stack_opts, &s}, {NULL, NULL}};
	int rc = fsc_measure_parse(&plan, own, argc, argv, err);

	fsc_stacks_init(&s.before, NULL, 0);
	if (!rc)
		rc = plan_stack(&s, &plan, err);
	if (!rc)
		rc = fsc_measure(&plan, err);
	fsc_stacks_release(&s.before);
	fsc_stack_source_free(s.source);
	fsc_namer_free(s.namer);
	fsc_measure_plan_release(&plan);
	return rc;
}

const struct fsc_cmd fsc_cmd_stack = {
    .name = "stack",
    .summary = "count the stacks that lead to a function, or weight them by time",
    .operands = "PROBE... [-- COMMAND ARGS...]",
    .example = "funcscope stack -d 5 -U c:malloc -f flamegraph -o malloc.svg",
    .opts =
	(const struct fsc_opt *const[]){FSC_MEASURE_TABLES(fsc_stack_formats), stack_opts, NULL},
    .run = run_stack,
};
