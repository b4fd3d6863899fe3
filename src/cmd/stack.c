/* funcscope stack: who calls it. */
#include "cmd/cmd.h"
#include "cmd/measure.h"
#include "source/stacks.h"

enum { MOST_STACKS = 1 << 22 };

struct stack_opts {
	bool kernel, user, per_process, offsets, dwarf, no_inlines;
	int weight, view;
	unsigned depth, max_stacks, top;
};

static const char *const weight_names[] = {"calls", "time", NULL};
static const char *const view_names[] = {"list", "top-down", "bottom-up", NULL};

static const struct fsc_opt stack_opts[] = {
    {'K', "kernel", FSC_OPT_FLAG, offsetof(struct stack_opts, kernel), NULL,
     "only the kernel's part of the stack", NULL},
    {'U', "user", FSC_OPT_FLAG, offsetof(struct stack_opts, user), NULL, "only the program's part",
     NULL},
    {'P', "per-process", FSC_OPT_FLAG, offsetof(struct stack_opts, per_process), NULL,
     "separate processes", NULL},
    {0, "weight", FSC_OPT_CHOICE, offsetof(struct stack_opts, weight), "WHAT", "weight by",
     weight_names},
    {0, "view", FSC_OPT_CHOICE, offsetof(struct stack_opts, view), "HOW", "in text", view_names},
    {0, "offsets", FSC_OPT_FLAG, offsetof(struct stack_opts, offsets), NULL,
     "distinguish and show offsets in functions", NULL},
    {0, "dwarf", FSC_OPT_FLAG, offsetof(struct stack_opts, dwarf), NULL,
     "unwind by DWARF, if there are no frame pointers", NULL},
    {0, "no-inlines", FSC_OPT_FLAG, offsetof(struct stack_opts, no_inlines), NULL,
     "do not look for inlined functions", NULL},
    {0, "depth", FSC_OPT_UINT, offsetof(struct stack_opts, depth), "N",
     "maximum number of frames of each part (127)", NULL},
    {0, "max-stacks", FSC_OPT_UINT, offsetof(struct stack_opts, max_stacks), "N",
     "maximum number of different stacks (16384)", NULL},
    {'n', "top", FSC_OPT_UINT, offsetof(struct stack_opts, top), "N", "only the N heaviest stacks",
     NULL},
    {0},
};

struct stack_state {
	struct fsc_stack_opts opts;
	bool inlines;
	unsigned top;
	struct fsc_namer *namer;
	struct fsc_stack_source *source;
	struct fsc_stacks before; /* the last snapshot */
};

static int start(void *state, const struct fsc_measure_facts *facts, struct fsc_err *err)
{
	struct stack_state *s = state;
	struct fsc_namer_opts opts = {
	    .pids = facts->pids, .n_pids = facts->n_pids, .inlined = s->inlines};
	int rc = fsc_namer_new(&opts, &s->namer, err);

	return rc ? rc : fsc_stack_source_new(facts->live, s->namer, &s->opts, &s->source, err);
}

static int tick(void *state, struct fsc_sink *sink, bool *stop, struct fsc_err *err)
{
	struct stack_state *s = state;

	(void)sink;
	(void)stop;
	return fsc_stack_source_tick(s->source, err);
}

/* Reports what came since the last report. */
static int report(void *state, struct fsc_live *live, struct fsc_sink *sink, bool last,
		  struct fsc_err *err)
{
	struct stack_state *s = state;
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
	struct stack_state *s = state;

	fsc_stack_source_books(s->source, sum);
}

static const struct fsc_measure_view view = {
    .command = "stack",
    .doing = "taking stacks of",
    .data = FSC_DATA_STACKS,
    .start = start,
    .tick = tick,
    .report = report,
    .books = add_books,
};

static int plan_stack(const struct stack_opts *so, struct fsc_measure_plan *plan,
		      struct stack_state *state, struct fsc_err *err)
{
	bool time = so->weight == 1;

	if (!so->max_stacks || so->max_stacks > MOST_STACKS)
		return fsc_err_usage(err, "--max-stacks takes 1 to %d", MOST_STACKS);
	if (!so->depth || so->depth > FSC_STACK_DEPTH)
		return fsc_err_usage(err, "--depth takes 1 to %d", FSC_STACK_DEPTH);
	if (so->dwarf && time)
		return fsc_err_usage(err, "--dwarf and --weight time cannot be combined");
	if (so->dwarf && so->kernel && !so->user)
		return fsc_err_usage(
		    err, "--dwarf is for the program's part of the stack; leave out -K");
	plan->session.mode = FSC_MODE_STACK;
	plan->session.stacks = (so->kernel || !so->user ? FSC_STACKS_KERNEL : 0) |
			       (so->user || !so->kernel ? FSC_STACKS_USER : 0);
	plan->session.by = so->per_process ? FSC_BY_COMM : 0;
	plan->session.max_stacks = so->max_stacks;
	plan->session.weigh = time;
	plan->session.copy_stacks = so->dwarf;
	plan->session.n_rings = so->dwarf;
	plan->sink.view = (enum fsc_stack_view)so->view;
	state->opts = (struct fsc_stack_opts){.per_process = so->per_process,
					      .by_time = time,
					      .offsets = so->offsets,
					      .depth = so->depth,
					      .copies = so->dwarf};
	state->inlines = !so->no_inlines;
	state->top = so->top;
	return 0;
}

static int plan_and_run(int argc, char **argv, char **command, struct stack_opts *so,
			struct fsc_probe_opts *po, struct fsc_measure_opts *ro, struct fsc_err *err)
{
	const struct fsc_opt_set sets[] = {{fsc_probe_opts, po},
					   {fsc_measure_opts, ro},
					   {fsc_output_stack_opts, &ro->out},
					   {stack_opts, so},
					   {NULL, NULL}};
	struct stack_state state = {0};
	struct fsc_measure_plan plan = {
	    .view = &view, .state = &state, .probe = po, .run = ro, .command = command};
	int rc = fsc_opt_parse(sets, argc, argv, &plan.n_probes, err);

	plan.probes = argv + 1;
	fsc_stacks_init(&state.before, NULL, 0);
	if (!rc)
		rc = plan_stack(so, &plan, &state, err);
	if (!rc)
		rc = fsc_measure(&plan, err);
	fsc_stacks_release(&state.before);
	fsc_stack_source_free(state.source);
	fsc_namer_free(state.namer);
	return rc;
}

static int run(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct stack_opts so = {.max_stacks = 16384, .depth = FSC_STACK_DEPTH};
	struct fsc_probe_opts po = FSC_PROBE_OPTS_INIT;
	struct fsc_measure_opts ro = FSC_MEASURE_OPTS_INIT;
	int rc = plan_and_run(argc, argv, command, &so, &po, &ro, err);

	fsc_probe_opts_release(&po);
	fsc_measure_opts_release(&ro);
	return rc;
}

const struct fsc_cmd fsc_cmd_stack = {
    .name = "stack",
    .summary = "count the stacks that lead to a function, or weight them by time",
    .operands = "PROBE... [-- COMMAND ARGS...]",
    .example = "funcscope stack -d 5 -U c:malloc -f flamegraph -o malloc.svg",
    .opts = (const struct fsc_opt *const[]){fsc_probe_opts, fsc_measure_opts, fsc_output_stack_opts,
					    stack_opts, NULL},
    .run = run,
};
