/* funcscope diff: did functions get faster or slower, and how certain is that. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "run/output.h"
#include "cmd/pairs.h"
#include "cmd/sides.h"
#include "model/compare.h"

struct diff_opts {
	struct fsc_vec before, after, commands; /* const char * */
	unsigned pairs, top;
	const char *confidence, *margin, *fail, *output;
	int format, sort;
	bool wide, verbose;
};

static const char *const sort_names[] = {"verdict", "change", "p", "name", NULL};

static const struct fsc_opt diff_opts[] = {
    {0, "before", FSC_OPT_LIST, offsetof(struct diff_opts, before), "FILE",
     "another 'before' recording; may be repeated", NULL},
    {0, "after", FSC_OPT_LIST, offsetof(struct diff_opts, after), "FILE",
     "another 'after' recording; may be repeated", NULL},
    {0, "run", FSC_OPT_LIST, offsetof(struct diff_opts, commands), "COMMAND",
     "run and compare two shell commands; give it twice", NULL},
    {0, "pairs", FSC_OPT_UINT, offsetof(struct diff_opts, pairs), "N",
     "with --run: number of pairs of runs (20)", NULL},
    {0, "confidence", FSC_OPT_STRING, offsetof(struct diff_opts, confidence), "PCT",
     "confidence of intervals and verdicts (95)", NULL},
    {0, "margin", FSC_OPT_STRING, offsetof(struct diff_opts, margin), "PCT",
     "ignore changes smaller than this (1)", NULL},
    {0, "fail-if-slower", FSC_OPT_STRING, offsetof(struct diff_opts, fail), "PCT",
     "exit with status 3 if anything is slower by more", NULL},
    {'n', "top", FSC_OPT_UINT, offsetof(struct diff_opts, top), "N", "only the first N functions",
     NULL},
    {'s', "sort", FSC_OPT_CHOICE, offsetof(struct diff_opts, sort), "KEY", "order of rows",
     sort_names},
    {'w', "wide", FSC_OPT_FLAG, offsetof(struct diff_opts, wide), NULL,
     "a row per statistic, with p-values and units", NULL},
    {'f', "format", FSC_OPT_CHOICE, offsetof(struct diff_opts, format), "FORMAT", "output",
     fsc_sink_stack_names},
    {'o', "output", FSC_OPT_STRING, offsetof(struct diff_opts, output), "FILE",
     "write the data to a file", NULL},
    {'v', "verbose", FSC_OPT_FLAG, offsetof(struct diff_opts, verbose), NULL,
     "with --run: show what the commands print, on stderr", NULL},
    {0},
};

/* The parsed options. */
struct plan {
	struct fsc_compare_opts compare;
	double fail; /* percent; infinite: never */
	struct fsc_sink sink;
};

/* ---- options ---- */

/* "2" or "2%". */
static int parse_percent(const char *name, const char *text, double low, double high, double *ret,
			 struct fsc_err *err)
{
	char *end;

	if (!text)
		return 0;
	*ret = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "%")) || !(*ret >= low && *ret <= high))
		return fsc_err_usage(err, "--%s takes a percentage from %g to %g, not '%s'", name,
				     low, high, text);
	return 0;
}

static int add_operands(struct diff_opts *o, char **argv, int n, struct fsc_err *err)
{
	struct fsc_vec *sides[] = {&o->before, &o->after};

	if (o->commands.n && (n || o->before.n || o->after.n))
		return fsc_err_usage(err, "--run and recordings cannot be combined");
	if (o->commands.n && o->commands.n != 2)
		return fsc_err_usage(err, "--run must be given twice, once for each command");
	if (o->commands.n)
		return 0;
	if (n > 2)
		return fsc_err_usage(err,
				     "more than two recordings: '%s'; --before and --after "
				     "add more of them to a side",
				     argv[2]);
	for (int i = 0; n == 2 && i < 2; i++) {
		int rc = fsc_vec_add(sides[i], &argv[i], err);

		if (rc)
			return rc;
	}
	if (n == 1 || !o->before.n || !o->after.n)
		return fsc_err_usage(err, "diff compares two sides; try: funcscope diff "
					  "BEFORE.json AFTER.json");
	return 0;
}

static int make_plan(const struct diff_opts *o, struct plan *p, struct fsc_err *err)
{
	int rc;

	*p = (struct plan){.compare = {.confidence = 95, .margin = 1, .paired = o->commands.n},
			   .fail = INFINITY,
			   .sink = {.ops = fsc_sinks[o->format], .wide = o->wide}};
	rc = parse_percent("confidence", o->confidence, 50, 99.9999, &p->compare.confidence, err);
	if (!rc)
		rc = parse_percent("margin", o->margin, 0, 1000, &p->compare.margin, err);
	if (!rc)
		rc = parse_percent("fail-if-slower", o->fail, 0, 1e6, &p->fail, err);
	if (!rc && (!o->pairs || o->pairs > FSC_PAIRS_MOST))
		rc = fsc_err_usage(err, "--pairs takes 1 to %d", FSC_PAIRS_MOST);
	return rc ? rc : fsc_sink_takes(&p->sink, FSC_DATA_DIFFS, err);
}

/* ---- result ---- */

static bool has_regressed(const struct fsc_diff *d, double fail)
{
	return d->verdict == FSC_SLOWER && d->change > fail;
}

static bool any_regressed(const struct fsc_diff_row *r, double fail)
{
	for (size_t i = 0; i < r->n_stats; i++)
		if (has_regressed(&r->stat[i], fail))
			return true;
	return false;
}

static void add_regression(const struct fsc_diff_row *r, double fail, struct fsc_buf *b)
{
	const char *between = " (";

	fsc_buf_printf(b, "%s%s", b->n ? ", " : "", r->function);
	for (size_t i = 0; i < r->n_stats; i++) {
		if (!has_regressed(&r->stat[i], fail))
			continue;
		fsc_buf_printf(b, "%s%s %+.1f%%", between, fsc_stat_names[i], r->stat[i].change);
		between = ", ";
	}
	fsc_buf_putc(b, ')');
}

/* Lists the functions that are slower by more than allowed. */
static void list_regressions(const struct fsc_comparison *c, double fail, struct fsc_buf *b)
{
	enum { NAMED = 8 };
	size_t n = 0;

	for (size_t i = 0; i < c->rows.n; i++) {
		const struct fsc_diff_row *r = FSC_AT(struct fsc_diff_row, &c->rows, i);

		if (any_regressed(r, fail) && n++ < NAMED)
			add_regression(r, fail, b);
	}
	if (n > NAMED)
		fsc_buf_printf(b, " and %zu more", n - NAMED);
}

/* A regression found on a machine that cannot be trusted must not fail a pipeline. */
static int exit_status(const struct fsc_buf *regressions, const struct fsc_comparison *c,
		       double fail, struct fsc_err *err)
{
	if (fsc_buf_failed(regressions))
		return fsc_err_nomem(err);
	if (!regressions->n)
		return 0;
	fsc_log(c->check.unfit ? FSC_LOG_WARN : FSC_LOG_NOTE, "slower by more than %g%%%s: %s",
		fail, c->check.unfit ? ", but this machine cannot be trusted" : "", regressions->s);
	return c->check.unfit ? 0 : FSC_EXIT_REGRESSION;
}

static int nothing_common(const struct fsc_comparison *c, struct fsc_err *err)
{
	const struct fsc_recorded *a = *FSC_AT(const struct fsc_recorded *, &c->only_before, 0);
	const struct fsc_recorded *b = *FSC_AT(const struct fsc_recorded *, &c->only_after, 0);

	return fsc_err_set(
	    err, ENOENT,
	    "no function is on both sides; 'before' has %s:%s (of %zu), 'after' has %s:%s (of %zu)",
	    a->binary, a->function, c->only_before.n, b->binary, b->function, c->only_after.n);
}

static int print_comparison(const struct fsc_comparison *c, const char *path, struct fsc_sink *sink,
			    struct fsc_err *err)
{
	int rc = fsc_output_to(path, sink, err);

	if (!rc)
		rc = fsc_sink_diff(sink, c, err);
	if (!rc)
		return fsc_output_close(path, sink, err);
	fsc_output_close(path, sink, NULL);
	return rc;
}

static int show_comparison(struct fsc_comparison *c, const struct diff_opts *o, struct plan *p,
			   struct fsc_err *err)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf regressions = {0};
	int rc;

	if (c->unit == FSC_REPLICATE_BLOCK)
		fsc_log(FSC_LOG_NOTE, "one run per side says nothing about differences between "
				      "runs (memory layout, ASLR); record several per side");
	list_regressions(c, p->fail, &regressions); /* before top leaves any out */
	fsc_comparison_sort(c, (enum fsc_compare_sort)o->sort, o->top);
	rc = print_comparison(c, o->output, &p->sink, err);
	return rc ? rc : exit_status(&regressions, c, p->fail, err);
}

static int compare_files(const struct diff_opts *o, const struct plan *p, struct fsc_vec *before,
			 struct fsc_vec *after, struct fsc_comparison *ret, struct fsc_err *err)
{
	int rc = fsc_side_read(&o->before, before, err);

	if (!rc)
		rc = fsc_side_read(&o->after, after, err);
	return rc ? rc : fsc_compare(before, after, &p->compare, ret, err);
}

static int compare_commands(const struct diff_opts *o, const struct plan *p, struct fsc_vec *before,
			    struct fsc_vec *after, struct fsc_comparison *ret, struct fsc_err *err)
{
	const struct fsc_pairs_opts po = {.commands = {*FSC_AT(const char *, &o->commands, 0),
						       *FSC_AT(const char *, &o->commands, 1)},
					  .pairs = o->pairs,
					  .verbose = o->verbose,
					  .compare = p->compare};

	return fsc_pairs_run(&po, before, after, ret, err);
}

static int compare_sides(const struct diff_opts *o, struct plan *p, struct fsc_vec *before,
			 struct fsc_vec *after, struct fsc_err *err)
{
	struct fsc_comparison c;
	int rc = o->commands.n ? compare_commands(o, p, before, after, &c, err)
			       : compare_files(o, p, before, after, &c, err);

	if (rc)
		return rc;
	rc = c.rows.n ? show_comparison(&c, o, p, err) : nothing_common(&c, err);
	fsc_comparison_release(&c);
	return rc;
}

static int parse_and_compare(int argc, char **argv, struct diff_opts *o, struct fsc_err *err)
{
	const struct fsc_opt_set sets[] = {{diff_opts, o}, {NULL, NULL}};
	struct fsc_vec before = FSC_VEC_INIT(struct fsc_recording);
	struct fsc_vec after = FSC_VEC_INIT(struct fsc_recording);
	struct plan p;
	int n, rc = fsc_opt_parse(sets, argc, argv, &n, err);

	if (!rc)
		rc = add_operands(o, argv + 1, n, err);
	if (!rc)
		rc = make_plan(o, &p, err);
	if (!rc)
		rc = compare_sides(o, &p, &before, &after, err);
	fsc_side_release(&before);
	fsc_side_release(&after);
	return rc;
}

static int run_diff(int argc, char **argv, char **command, struct fsc_err *err)
{
	struct diff_opts o = {.before = FSC_VEC_INIT(const char *),
			      .after = FSC_VEC_INIT(const char *),
			      .commands = FSC_VEC_INIT(const char *),
			      .pairs = 20};
	int rc = command ? fsc_err_usage(err, "diff takes its commands by --run, not after '--'")
			 : parse_and_compare(argc, argv, &o, err);

	fsc_vec_release(&o.before);
	fsc_vec_release(&o.after);
	fsc_vec_release(&o.commands);
	return rc;
}

const struct fsc_cmd fsc_cmd_diff = {
    .name = "diff",
    .summary = "compare recordings or commands: faster, slower, how sure",
    .operands = "BEFORE AFTER | --run A --run B",
    .example = "funcscope diff before.json after.json",
    .opts = (const struct fsc_opt *const[]){diff_opts, NULL},
    .run = run_diff,
};
