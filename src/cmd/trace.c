/* funcscope trace: one line per call. */
#include "cmd/cmd.h"
#include "cmd/measure.h"
#include "cmd/tracing.h"
#include "source/calls.h"

enum { MOST_CHARS = 4000, TRACE_STACKS = 16384 };

struct trace_opts {
	bool kernel, user, ret, tree;
	unsigned max_events, sample, chars;
};

static const struct fsc_opt trace_opts[] = {
    {'K', "kernel", FSC_OPT_FLAG, offsetof(struct trace_opts, kernel), NULL,
     "also print the kernel's part of the stack", NULL},
    {'U', "user", FSC_OPT_FLAG, offsetof(struct trace_opts, user), NULL, "with the program's part",
     NULL},
    {0, "ret", FSC_OPT_FLAG, offsetof(struct trace_opts, ret), NULL,
     "entry and return in one line, with the duration", NULL},
    {0, "tree", FSC_OPT_FLAG, offsetof(struct trace_opts, tree), NULL,
     "calls inside calls, indented, with durations", NULL},
    {'M', "max-events", FSC_OPT_UINT, offsetof(struct trace_opts, max_events), "N",
     "stop after this many calls", NULL},
    {0, "sample", FSC_OPT_UINT, offsetof(struct trace_opts, sample), "N",
     "only one call in N of each probe", NULL},
    {'Z', "string-size", FSC_OPT_UINT, offsetof(struct trace_opts, chars), "N",
     "maximum length of strings (80)", NULL},
    {0},
};

struct trace_state {
	struct fsc_tracing tracing;
	struct fsc_call_opts calls;
	bool paired;
	unsigned max_events, chars;
	struct fsc_namer *namer;
	struct fsc_call_source *source;
	struct fsc_sink *sink; /* while calls are read */
	uint64_t shown;	       /* calls: a line, or two in a tree */
};

static int resolved(void *state, const struct fsc_targets *targets, struct fsc_session_opts *opts,
		    struct fsc_err *err)
{
	struct trace_state *s = state;

	return fsc_tracing_compile(&s->tracing, targets, s->paired, s->chars, opts, err);
}

static int start(void *state, const struct fsc_measure_facts *facts, struct fsc_err *err)
{
	struct trace_state *s = state;
	struct fsc_namer_opts names = {.pids = facts->pids, .n_pids = facts->n_pids};
	int rc = 0;

	s->calls.formats = s->tracing.formats;
	s->calls.returns = s->tracing.returns;
	if (s->calls.kernel_stack || s->calls.user_stack || s->tracing.symbols)
		rc = fsc_namer_new(&names, &s->namer, err);
	return rc ? rc : fsc_call_source_new(facts->live, s->namer, &s->calls, &s->source, err);
}

static bool full(const struct trace_state *s)
{
	return s->max_events && s->shown >= s->max_events;
}

static int show(const struct fsc_call *c, void *arg, struct fsc_err *err)
{
	struct trace_state *s = arg;

	if (full(s))
		return 0;
	/* In a tree the return of a call that was shown is a line, not another call. */
	s->shown += !(s->calls.shape == FSC_CALLS_TREE && c->event == FSC_CALL_RETURN);
	return fsc_sink_call(s->sink, c, err);
}

static int read_calls(struct trace_state *s, bool last, struct fsc_sink *sink, struct fsc_err *err)
{
	s->sink = sink;
	return fsc_call_source_read(s->source, last, show, s, err);
}

static int tick(void *state, struct fsc_sink *sink, bool *stop, struct fsc_err *err)
{
	int rc = read_calls(state, false, sink, err);

	*stop = full(state);
	return rc;
}

static int report(void *state, struct fsc_live *live, struct fsc_sink *sink, bool last,
		  struct fsc_err *err)
{
	(void)live;
	return read_calls(state, last, sink, err);
}

/* What was seen and is not among the lines is lost by name, or came after -M was full. */
static void add_books(void *state, struct fsc_summary *sum)
{
	struct trace_state *s = state;
	uint64_t lost = 0;
	size_t n = 0;

	for (; sum->lost[n].name; n++)
		lost += sum->lost[n].n;
	sum->kept = s->shown;
	sum->lost[n] = (struct fsc_named){
	    "not_shown", sum->seen > s->shown + lost ? sum->seen - s->shown - lost : 0};
	sum->late = fsc_call_source_late(s->source);
}

static const struct fsc_measure_view view = {
    .command = "trace",
    .doing = "tracing",
    .data = FSC_DATA_CALLS,
    .resolved = resolved,
    .start = start,
    .tick = tick,
    .report = report,
    .books = add_books,
};

static int plan_trace(const struct trace_opts *to, struct fsc_measure_plan *plan,
		      struct trace_state *state, struct fsc_err *err)
{
	if (!to->chars || to->chars > MOST_CHARS)
		return fsc_err_usage(err, "--string-size takes 1 to %d", MOST_CHARS);
	state->paired = to->ret || to->tree || state->tracing.waits;
	state->calls.shape = to->tree	     ? FSC_CALLS_TREE
			     : state->paired ? FSC_CALLS_JOINED
					     : FSC_CALLS_SINGLE;
	state->calls.own_frame = true;
	state->calls.kernel_stack = to->kernel;
	state->calls.user_stack = to->user;
	state->max_events = to->max_events;
	state->chars = to->chars;
	plan->session.mode = FSC_MODE_TRACE;
	plan->session.pairs = state->paired;
	plan->session.sample = to->sample;
	plan->session.stacks =
	    (to->kernel ? FSC_STACKS_KERNEL : 0) | (to->user ? FSC_STACKS_USER : 0);
	plan->session.max_stacks = TRACE_STACKS;
	plan->apart = true;
	return 0;
}

static int plan_and_run(int argc, char **argv, char **command, struct trace_opts *to,
			struct fsc_probe_opts *po, struct fsc_measure_opts *ro, struct fsc_err *err)
{
	const struct fsc_opt_set sets[] = {{fsc_probe_opts, po},
					   {fsc_measure_opts, ro},
					   {fsc_output_opts, &ro->out},
					   {trace_opts, to},
					   {NULL, NULL}};
	struct trace_state state = {0};
	struct fsc_measure_plan plan = {
	    .view = &view, .state = &state, .probe = po, .run = ro, .command = command};
	int rc = fsc_opt_parse(sets, argc, argv, &plan.n_probes, err);

	if (!rc)
		rc = fsc_tracing_parse(argv + 1, plan.n_probes, &state.tracing, err);
	if (!rc)
		rc = plan_trace(to, &plan, &state, err);
	plan.probes = state.tracing.probes;
	if (!rc)
		rc = fsc_measure(&plan, err);
	fsc_call_source_free(state.source);
	fsc_namer_free(state.namer);
	fsc_tracing_release(&state.tracing);
	return rc;
}

static int run(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct trace_opts to = {.chars = 80};
	struct fsc_probe_opts po = FSC_PROBE_OPTS_INIT;
	struct fsc_measure_opts ro = FSC_MEASURE_OPTS_INIT;
	int rc = plan_and_run(argc, argv, command, &to, &po, &ro, err);

	fsc_probe_opts_release(&po);
	fsc_measure_opts_release(&ro);
	return rc;
}

const struct fsc_cmd fsc_cmd_trace = {
    .name = "trace",
    .summary = "one line per call: arguments, return value, duration, stack",
    .operands = "'PROBE [(IF)] [\"FORMAT\", EXPR...]'... [-- COMMAND ARGS...]",
    .example = "funcscope trace 'c:write (arg1 == 1) \"%d bytes\", arg3' -M 10",
    .opts = (const struct fsc_opt *const[]){fsc_probe_opts, fsc_measure_opts, fsc_output_opts,
					    trace_opts, NULL},
    .run = run,
};
