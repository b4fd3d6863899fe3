/* funcscope trace: one line per call. */
#include "cmd/cmd.h"
#include "cmd/measure.h"
#include "cmd/tracing.h"
#include "source/calls.h"

enum { MOST_CHARS = 4000, TRACE_STACKS = 16384 };

struct trace {
	bool kernel, user, ret, tree, dwarf;
	unsigned max_events, sample, chars;
	struct fsc_tracing tracing;
	struct fsc_call_opts calls;
	struct fsc_namer *namer;
	struct fsc_call_source *source;
	struct fsc_sink *sink; /* while calls are read */
	uint64_t shown;	       /* calls: a line, or two in a tree */
};

static const struct fsc_opt trace_opts[] = {
    {'K', "kernel", FSC_OPT_FLAG, offsetof(struct trace, kernel), NULL,
     "also print the kernel's part of the stack", NULL},
    {'U', "user", FSC_OPT_FLAG, offsetof(struct trace, user), NULL, "with the program's part",
     NULL},
    {0, "dwarf", FSC_OPT_FLAG, offsetof(struct trace, dwarf), NULL,
     "with -U: unwind by DWARF, not by frame pointers", NULL},
    {0, "ret", FSC_OPT_FLAG, offsetof(struct trace, ret), NULL,
     "entry and return in one line, with the duration", NULL},
    {0, "tree", FSC_OPT_FLAG, offsetof(struct trace, tree), NULL,
     "calls inside calls, indented, with durations", NULL},
    {'M', "max-events", FSC_OPT_UINT, offsetof(struct trace, max_events), "N",
     "stop after this many calls", NULL},
    {0, "sample", FSC_OPT_UINT, offsetof(struct trace, sample), "N",
     "only one call in N of each probe", NULL},
    {'Z', "string-size", FSC_OPT_UINT, offsetof(struct trace, chars), "N",
     "maximum length of strings (80)", NULL},
    {0},
};

/* Entry and return are probed together. */
static bool is_paired(const struct trace *s)
{
	return s->ret || s->tree || s->tracing.waits;
}

static int compile_specs(void *state, const struct fsc_targets *targets,
			 struct fsc_session_opts *opts, struct fsc_err *err)
{
	struct trace *s = state;

	int rc = fsc_tracing_compile(&s->tracing, targets, is_paired(s), s->chars, opts, err);

	/* Where only the format asks for the return, it says where that is to stand. */
	for (size_t i = 0; !rc && i < s->tracing.n_rows && !s->ret && !s->tree; i++)
		s->tracing.formats[i].bare = s->tracing.formats[i].custom;
	return rc;
}

static int start_calls(void *state, const struct fsc_measure_facts *facts, struct fsc_err *err)
{
	struct trace *s = state;
	struct fsc_namer_opts names = {.pids = facts->pids, .n_pids = facts->n_pids};
	int rc = 0;

	s->calls.formats = s->tracing.formats;
	s->calls.returns = s->tracing.returns;
	if (s->calls.kernel_stack || s->calls.user_stack || s->tracing.symbols)
		rc = fsc_namer_new(&names, &s->namer, err);
	return rc ? rc : fsc_call_source_new(facts->live, s->namer, &s->calls, &s->source, err);
}

static bool is_full(const struct trace *s)
{
	return s->max_events && s->shown >= s->max_events;
}

static int show_call(const struct fsc_call *c, void *arg, struct fsc_err *err)
{
	struct trace *s = arg;

	if (is_full(s))
		return 0;
	/* In a tree the return of a call that was shown is a line, not another call. */
	s->shown += !(s->calls.shape == FSC_CALLS_TREE && c->event == FSC_CALL_RETURN);
	return fsc_sink_call(s->sink, c, err);
}

static int read_calls(struct trace *s, bool last, struct fsc_sink *sink, struct fsc_err *err)
{
	s->sink = sink;
	return fsc_call_source_read(s->source, last, show_call, s, err);
}

static int show_calls(void *state, struct fsc_sink *sink, bool *stop, struct fsc_err *err)
{
	int rc = read_calls(state, false, sink, err);

	*stop = is_full(state);
	return rc;
}

static int report_calls(void *state, struct fsc_live *live, struct fsc_sink *sink, bool last,
			struct fsc_err *err)
{
	(void)live;
	return read_calls(state, last, sink, err);
}

/* What was seen and is not among the lines is lost by name, or came after -M was full. */
static void add_books(void *state, struct fsc_summary *sum)
{
	struct trace *s = state;
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
    .resolved = compile_specs,
    .start = start_calls,
    .tick = show_calls,
    .report = report_calls,
    .books = add_books,
};

static int plan_trace(struct trace *s, struct fsc_measure_plan *plan, struct fsc_err *err)
{
	int rc = fsc_tracing_parse(plan->probes, plan->n_probes, &s->tracing, err);

	if (rc)
		return rc;
	if (!s->chars || s->chars > MOST_CHARS)
		return fsc_err_usage(err, "--string-size takes 1 to %d", MOST_CHARS);
	if (s->dwarf && !s->user)
		return fsc_err_usage(err, "--dwarf is for the program's part of the stack: it "
					  "needs -U");
	s->calls.shape = s->tree	? FSC_CALLS_TREE
			 : is_paired(s) ? FSC_CALLS_JOINED
					: FSC_CALLS_SINGLE;
	s->calls.own_frame = true;
	s->calls.kernel_stack = s->kernel;
	s->calls.user_stack = s->user;
	s->calls.copies = plan->session.copy_stacks = s->dwarf;
	plan->probes = s->tracing.probes;
	plan->session.mode = FSC_MODE_TRACE;
	plan->session.pairs = is_paired(s);
	plan->session.sample = s->sample;
	plan->session.stacks =
	    (s->kernel ? FSC_STACKS_KERNEL : 0) | (s->user ? FSC_STACKS_USER : 0);
	plan->session.max_stacks = TRACE_STACKS;
	plan->apart = true;
	return 0;
}

static int run_trace(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct trace s = {.chars = 80};
	struct fsc_measure_plan plan = FSC_MEASURE_PLAN(&view, &s, command);
	const struct fsc_opt_set own[] = {{trace_opts, &s}, {NULL, NULL}};
	int rc = fsc_measure_parse(&plan, own, argc, argv, err);

	if (!rc)
		rc = plan_trace(&s, &plan, err);
	if (!rc)
		rc = fsc_measure(&plan, err);
	fsc_call_source_free(s.source);
	fsc_namer_free(s.namer);
	fsc_tracing_release(&s.tracing);
	fsc_measure_plan_release(&plan);
	return rc;
}

const struct fsc_cmd fsc_cmd_trace = {
    .name = "trace",
    .summary = "one line per call: arguments, return value, duration, stack",
    .operands = "'PROBE [(IF)] [\"FORMAT\", EXPR...]'... [-- COMMAND ARGS...]",
    .example = "funcscope trace 'c:write (arg1 == 1) \"%d bytes\", arg3' -M 10",
    .opts =
	(const struct fsc_opt *const[]){FSC_MEASURE_TABLES(fsc_table_formats), trace_opts, NULL},
    .run = run_trace,
};
