/* The table of formats, and what they share: writing out, the clock, the books in words. */
#include "sink/sink.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/fmt.h"

#define OPS(name)  &fsc_sink_##name,
#define NAME(name) #name,

const struct fsc_sink_ops *const fsc_sinks[] = {FSC_SINKS(OPS) NULL};
const char *const fsc_sink_names[] = {FSC_SINKS(NAME) NULL};
const char *const fsc_sink_table_names[] = {FSC_TABLE_SINKS(NAME) NULL};
const char *const fsc_sink_stack_names[] = {FSC_STACK_SINKS(NAME) NULL};

static int write_failed(const char *path, struct fsc_err *err)
{
	if (path)
		return fsc_err_sys(err, errno, "cannot write to '%s'", path);
	return fsc_err_sys(err, errno, "cannot write the output");
}

/* Waits until a write of at most PIPE_BUF bytes would not block. A run blocks the signals that end
 * it, which its loop takes; while nobody reads the output they are let through, and do what they do
 * to any program. */
static void await_room(FILE *to)
{
	enum { PATIENCE_MS = 1000 };
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
	struct pollfd p = {.fd = fileno(to), .events = POLLOUT};
	sigset_t pending, own;

	while (p.fd >= 0 && !poll(&p, 1, PATIENCE_MS)) {
		sigpending(&pending);
		sigemptyset(&own);
		for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
			if (sigismember(&pending, ending[i]))
				sigaddset(&own, ending[i]);
		sigprocmask(SIG_UNBLOCK, &own, NULL);
	}
}

static bool write_all(FILE *to, const char *text, size_t n)
{
	for (size_t at = 0, part; at < n; at += part) {
		part = n - at < PIPE_BUF ? n - at : PIPE_BUF;
		await_room(to);
		if (fwrite(text + at, 1, part, to) != part)
			return false;
	}
	return true;
}

static int flush_out(FILE *to, const char *path, struct fsc_err *err)
{
	await_room(to);
	return fflush(to) ? write_failed(path, err) : 0;
}

static int write_out(FILE *to, const char *path, struct fsc_buf *b, struct fsc_err *err)
{
	int rc = 0;

	if (fsc_buf_failed(b))
		rc = fsc_err_nomem(err);
	else if (!write_all(to, fsc_buf_str(b), b->n))
		rc = write_failed(path, err);
	fsc_buf_release(b);
	return rc;
}

static int print_to(FILE *to, const char *path, struct fsc_buf *b, struct fsc_err *err)
{
	int rc = write_out(to, path, b, err);

	return rc ? rc : flush_out(to, path, err);
}

int fsc_sink_print(FILE *to, struct fsc_buf *b, struct fsc_err *err)
{
	return print_to(to, NULL, b, err);
}

/* To the sink's own output. */
static int print_out(const struct fsc_sink *s, struct fsc_buf *b, struct fsc_err *err)
{
	return print_to(s->out, s->path, b, err);
}

static bool format_takes(const struct fsc_sink_ops *ops, enum fsc_data data)
{
	const bool has[] = {
	    [FSC_DATA_COUNTS] = ops->profile,
	    [FSC_DATA_LATENCIES] = ops->latency,
	    [FSC_DATA_STACKS] = ops->stacks,
	    [FSC_DATA_CALLS] = ops->call,
	    [FSC_DATA_DIFFS] = ops->diff,
	    [FSC_DATA_REPORTS] = ops->report,
	    [FSC_DATA_GPU] = ops->gpu_event || ops->gpu_report,
	};

	return has[data];
}

int fsc_sink_takes(const struct fsc_sink *s, enum fsc_data data, struct fsc_err *err)
{
	static const char *const names[] = {
	    [FSC_DATA_COUNTS] = "counts",     [FSC_DATA_LATENCIES] = "durations",
	    [FSC_DATA_STACKS] = "stacks",     [FSC_DATA_CALLS] = "single calls",
	    [FSC_DATA_DIFFS] = "comparisons", [FSC_DATA_REPORTS] = "reports",
	    [FSC_DATA_GPU] = "GPU data",
	};
	bool picture = s->ops->single && s->intervals;
	struct fsc_buf others = {0};

	if (format_takes(s->ops, data) && !picture)
		return 0;
	for (size_t i = 0; fsc_sinks[i]; i++)
		if (format_takes(fsc_sinks[i], data) && !(picture && fsc_sinks[i]->single))
			fsc_buf_printf(&others, "%s%s", others.n ? ", " : "", fsc_sinks[i]->name);
	fsc_err_usage(err, "-f %s cannot show %s", s->ops->name,
		      picture ? "intervals, because it is a single document" : names[data]);
	fsc_err_hint(err, "use one of: %s", fsc_buf_str(&others));
	fsc_buf_release(&others);
	return -EINVAL;
}

int fsc_sink_profile(struct fsc_sink *s, const struct fsc_profile *p, struct fsc_err *err)
{
	struct fsc_buf b = {0};

	s->ops->profile(s, p, &b);
	return print_out(s, &b, err);
}

int fsc_sink_latency(struct fsc_sink *s, const struct fsc_latencies *l, struct fsc_err *err)
{
	struct fsc_buf b = {0};

	s->ops->latency(s, l, &b);
	return print_out(s, &b, err);
}

int fsc_sink_report(struct fsc_sink *s, const struct fsc_report *r, struct fsc_err *err)
{
	struct fsc_buf b = {0};

	s->ops->report(s, r, &b);
	return print_out(s, &b, err);
}

int fsc_sink_stacks(struct fsc_sink *s, const struct fsc_stacks *t, struct fsc_err *err)
{
	struct fsc_buf b = {0};

	s->ops->stacks(s, t, &b);
	return print_out(s, &b, err);
}

int fsc_sink_call(struct fsc_sink *s, const struct fsc_call *c, struct fsc_err *err)
{
	struct fsc_buf b = {0};

	s->ops->call(s, c, &b);
	return print_out(s, &b, err);
}

int fsc_sink_diff(struct fsc_sink *s, const struct fsc_comparison *c, struct fsc_err *err)
{
	struct fsc_buf b = {0};
	int rc;

	s->ops->diff(s, c, &b);
	rc = print_out(s, &b, err);
	if (rc || !s->ops->summary_aside)
		return rc;
	fsc_text_diff_summary(c, &b);
	return fsc_sink_print(s->side, &b, err);
}

int fsc_sink_gpu_event(struct fsc_sink *s, const struct fsc_gpu_event *e, struct fsc_err *err)
{
	struct fsc_buf b = {0};
	int rc = 0;

	if (!s->ops->gpu_event)
		return 0;
	s->ops->gpu_event(s, e, &b);
	/* Writes of at most PIPE_BUF are not interleaved with other writers' lines. */
	if (s->unwritten + b.n > PIPE_BUF)
		rc = fsc_sink_flush(s, err);
	s->unwritten += b.n;
	if (!rc)
		return write_out(s->out, s->path, &b, err);
	fsc_buf_release(&b);
	return rc;
}

int fsc_sink_flush(struct fsc_sink *s, struct fsc_err *err)
{
	s->unwritten = 0;
	return flush_out(s->out, s->path, err);
}

int fsc_sink_gpu_report(struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_err *err)
{
	struct fsc_buf b = {0};

	if (!s->ops->gpu_report)
		return 0;
	s->ops->gpu_report(s, r, &b);
	return print_out(s, &b, err);
}

int fsc_sink_summary(struct fsc_sink *s, const struct fsc_summary *sum, struct fsc_err *err)
{
	struct fsc_buf b = {0};

	if (s->ops->summary)
		s->ops->summary(s, sum, &b);
	else
		fsc_sink_books(sum, &b);
	return s->ops->summary_aside ? fsc_sink_print(s->side, &b, err) : print_out(s, &b, err);
}

void fsc_sink_release(struct fsc_sink *s)
{
	if (s->own && s->ops->release)
		s->ops->release(s);
	s->own = NULL;
}

void fsc_sink_clock(uint64_t wall_ns, struct fsc_buf *b)
{
	time_t sec = (time_t)(wall_ns / 1000000000u);
	struct tm tm;
	char text[16];

	localtime_r(&sec, &tm);
	strftime(text, sizeof(text), "%H:%M:%S", &tm);
	fsc_buf_printf(b, "%s.%03u", text, (unsigned)(wall_ns / 1000000u % 1000u));
}

/* The first refused function and the others with the same reason, a few by name. */
static void add_reason(const struct fsc_refusal *refused, size_t n_refused, const char *how,
		       struct fsc_buf *b)
{
	enum { SHOWN = 8 };
	const char *why = refused[0].why;
	size_t n = 0;

	fsc_buf_printf(b, "%s, ", how);
	fsc_fmt_term(b, why);
	fsc_buf_puts(b, ": ");
	for (size_t i = 0; i < n_refused; i++) {
		if (strcmp(refused[i].why, why) || n++ >= SHOWN)
			continue;
		fsc_buf_puts(b, n > 1 ? ", " : "");
		fsc_fmt_term(b, refused[i].function);
	}
	if (n > SHOWN)
		fsc_buf_printf(b, " and %zu more (-f json names all)", n - SHOWN);
	fsc_buf_putc(b, '\n');
}

static bool seen_before(const struct fsc_refusal *refused, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(refused[k].why, refused[i].why))
			return true;
	return false;
}

static void add_refused(const struct fsc_refusal *refused, size_t n, const char *how,
			struct fsc_buf *b)
{
	for (size_t i = 0; i < n; i++)
		if (!seen_before(refused, i))
			add_reason(refused + i, n - i, how, b);
}

enum { DEMOTED_SHOWN = 10 }; /* with a line each */

static void add_demoted(const struct fsc_func *f, struct fsc_buf *b)
{
	const struct fsc_sampled *s = &f->sampled;

	fsc_buf_puts(b, "demoted: ");
	fsc_fmt_term(b, f->name);
	fsc_buf_printf(b,
		       " after %.3g s; then seen in %u window%s, in all for %.3g%% of the CPU time",
		       s->since_s, s->windows, s->windows == 1 ? "" : "s", s->armed_percent);
	if (s->estimated)
		fsc_buf_printf(b, "; calls in all: %.0f to %.0f", floor(s->low), ceil(s->high));
	fsc_buf_putc(b, '\n');
}

/* Functions that were taken off to stay within the budget. */
static void add_sampled(const struct fsc_summary *sum, struct fsc_buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < sum->n_funcs; i++) {
		if (!sum->funcs[i].sampled.demoted)
			continue;
		if (n++ < DEMOTED_SHOWN)
			add_demoted(&sum->funcs[i], b);
	}
	if (n > DEMOTED_SHOWN)
		fsc_buf_printf(b, "demoted: %zu more, which json lists\n", n - DEMOTED_SHOWN);
	if (n)
		fsc_buf_printf(b,
			       "budget: %zu function%s demoted, with figures from part of the time "
			       "(sampled); the others are complete\n",
			       n, n == 1 ? " was" : "s were");
}

/* Functions whose records were dropped, where each probe has its own ring. */
static void add_records_lost(const struct fsc_summary *sum, struct fsc_buf *b)
{
	for (size_t i = 0; i < sum->n_funcs; i++) {
		if (!sum->funcs[i].records_lost)
			continue;
		fsc_buf_printf(b, "records lost: %llu of ",
			       (unsigned long long)sum->funcs[i].records_lost);
		fsc_fmt_term(b, sum->funcs[i].name);
		fsc_buf_putc(b, '\n');
	}
}

/* Functions whose counts contain the rounds of a loop. */
static void add_looped(const struct fsc_summary *sum, struct fsc_buf *b)
{
	enum { SHOWN = 8 };
	size_t n = 0;

	for (size_t i = 0; i < sum->n_funcs; i++) {
		if (!sum->funcs[i].looped || n++ >= SHOWN)
			continue;
		fsc_buf_puts(b, n == 1 ? "jumped to from inside: " : ", ");
		fsc_fmt_term(b, sum->funcs[i].name);
	}
	if (n > SHOWN)
		fsc_buf_printf(b, " and %zu more (-f json names all)", n - SHOWN);
	if (n)
		fsc_buf_puts(b, ": each round of a loop that begins at the first instruction "
				"counts as a call\n");
}

static void add_cost(const struct fsc_summary *sum, struct fsc_buf *b)
{
	if (!sum->cost_known) {
		fsc_buf_puts(b, "cost: could not be measured\n");
		return;
	}
	fsc_buf_puts(b, "cost: ");
	fsc_fmt_ns(b, sum->ns_per_hit);
	fsc_buf_puts(b, " per hit, ");
	/* Calls that a predicate or --sample left out were hits, too. */
	fsc_fmt_ns(b, sum->ns_per_hit * (double)(sum->seen + sum->filtered + sum->sampled_out));
	fsc_buf_puts(b, " in all");
	if (sum->share_known)
		fsc_buf_printf(b, ": %.*f%% of the %s's CPU time", sum->percent < 10 ? 2 : 0,
			       sum->percent, sum->share_of_machine ? "machine" : "target");
	fsc_buf_putc(b, '\n');
}

/* A uprobe fires in every process that maps the file; those that are not targets pay, too. */
static void add_bystanders(const struct fsc_summary *sum, struct fsc_buf *b)
{
	const struct fsc_bystanders *by = &sum->bystanders;

	if (!by->hits)
		return;
	fsc_buf_printf(b, "bystanders: %llu hit%s by ", (unsigned long long)by->hits,
		       by->hits == 1 ? "" : "s");
	if (by->processes)
		fsc_buf_printf(b, "%s%zu process%s not watched", by->more ? "more than " : "",
			       by->processes, by->processes == 1 ? "" : "es");
	if (by->partly)
		fsc_buf_printf(b, "%sother threads of the process%s watched",
			       by->processes ? " and " : "", by->partly == 1 ? "" : "es");
	if (sum->cost_known) {
		fsc_buf_puts(b, ", about ");
		fsc_fmt_ns(b, sum->ns_per_hit * (double)by->hits);
		fsc_buf_puts(b, " of their time");
	}
	fsc_buf_putc(b, '\n');
}

/* "; what N" unless it is 0. */
static void add_event(struct fsc_buf *b, const char *what, uint64_t n)
{
	if (n)
		fsc_buf_printf(b, "; %s %llu", what, (unsigned long long)n);
}

/* The books of instrumented processes. */
static void add_scopes(const struct fsc_summary *sum, struct fsc_buf *b)
{
	const struct fsc_scope_books *p = &sum->scopes;

	add_event(b, "exits without entry", sum->unmatched);
	add_event(b, "entered but not left", p->left_open);
	if (p->open_name) {
		fsc_buf_puts(b, " (");
		fsc_fmt_term(b, p->open_name);
		fsc_buf_putc(b, ')');
	}
	add_event(b, "clock went backwards", p->backwards);
	add_event(b, "threads without memory", p->lost_threads);
	add_event(b, "checkpoints without memory", p->lost_names);
	add_event(b, "checkpoints out of reach", p->unseen);
	add_event(b, "read while written", p->torn);
	add_event(b, "raw samples overwritten", p->lapped);
	fsc_buf_printf(b, "\n%zu checkpoint%s, %llu thread%s, %zu process%s\nclock: %s, grade %c",
		       sum->functions, sum->functions == 1 ? "" : "s",
		       (unsigned long long)p->threads, p->threads == 1 ? "" : "s", p->processes,
		       p->processes == 1 ? "" : "es", p->clock, p->grade);
	if (p->why)
		fsc_buf_printf(b, " (%s)", p->why);
	fsc_buf_printf(b, ", %sa tick is %.3f ns, a step ", p->ordered ? "read in order, " : "",
		       p->tick_ns);
	fsc_fmt_ns(b, p->step_ns);
	fsc_buf_puts(b, "; an empty checkpoint reads ");
	fsc_fmt_ns(b, p->empty_ns);
	fsc_buf_puts(b, p->raw ? ", left in\n" : ", taken out\n");
}

/* The books of probes. */
static void add_probes(const struct fsc_summary *sum, struct fsc_buf *b)
{
	fsc_buf_printf(b, "; missed by the kernel %llu", (unsigned long long)sum->missed);
	add_event(b, "returns without entry", sum->unmatched);
	add_event(b, "children not followed", sum->unfollowed);
	if (sum->frames_known)
		fsc_buf_printf(b, "; frames without a name %llu of %llu",
			       (unsigned long long)sum->unknown_frames,
			       (unsigned long long)sum->frames);
	add_event(b, "stacks cut off", sum->truncated);
	add_event(b, "records of returns lost", sum->returns_lost);
	add_event(b, "threads without off-CPU time", sum->unwatched);
	add_event(b, "stacks lost", sum->stacks_lost);
	add_event(b, "shown out of order", sum->late);
	add_event(b, "filtered out", sum->filtered);
	add_event(b, "sampled out", sum->sampled_out);
	fsc_buf_printf(b, "\n%zu function%s: %zu attached", sum->functions,
		       sum->functions == 1 ? "" : "s", sum->attached);
	if (sum->places != sum->attached)
		fsc_buf_printf(b, " at %zu places", sum->places);
	for (size_t i = 0; sum->via[i].name; i++)
		fsc_buf_printf(b, "%s%s", i ? ", " : " by ", sum->via[i].name);
	fsc_buf_printf(b, ", %zu refused", sum->n_refused);
	fsc_buf_putc(b, '\n');
	if (sum->shifted)
		fsc_buf_printf(b,
			       "%zu moved past a 5-byte nop: a probe on it can kill forked "
			       "children (--fast-uprobes keeps it there, which is cheaper)\n",
			       sum->shifted);
	add_refused(sum->refused, sum->n_refused, "refused", b);
	if (sum->n_partly)
		add_refused(sum->refused + sum->n_refused, sum->n_partly,
			    "refused at some of its places", b);
	add_sampled(sum, b);
	add_records_lost(sum, b);
	add_looped(sum, b);
}

void fsc_sink_books(const struct fsc_summary *sum, struct fsc_buf *b)
{
	fsc_buf_printf(b, "seen %llu = kept %llu", (unsigned long long)sum->seen,
		       (unsigned long long)sum->kept);
	for (const struct fsc_named *l = sum->lost; l->name; l++)
		if (l->n)
			fsc_buf_printf(b, " + %s %llu", l->name, (unsigned long long)l->n);
	if (sum->scopes.known)
		add_scopes(sum, b);
	else
		add_probes(sum, b);
	add_cost(sum, b);
	add_bystanders(sum, b);
}
