/* The page: the table of all metrics, and where each gets its values. */
#include "sink/prometheus.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "sink/exposition.h"
#include "sink/series.h"

struct page {
	struct fsc_exposition e;
	const struct fsc_snapshot *s;
	struct fsc_series_set set;
};

struct metric {
	struct fsc_family family;
	void (*fill)(struct page *p, const struct metric *m);
	size_t offset; /* of fill's number in the struct that it reads */
};

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "number_at() reads both");
static uint64_t number_at(const void *at, size_t offset)
{
	uint64_t v;

	memcpy(&v, (const char *)at + offset, sizeof(v));
	return v;
}

static void put_value(struct page *p, const char *label, const char *value, double v)
{
	fsc_exposition_value(&p->e, &(struct fsc_label){label, value}, label != NULL, v);
}

/* ---- of rows ---- */

enum { SERIES_LABELS = 16 };

struct series_labels {
	struct fsc_label l[SERIES_LABELS];
	size_t n;
	char pid[12];
};

static void add_label(struct series_labels *to, const char *name, const char *value)
{
	if (value && to->n < SERIES_LABELS)
		to->l[to->n++] = (struct fsc_label){name, value};
}

/* error: NULL: no such label. */
static void label_series(const struct fsc_series *e, const char *error, struct series_labels *ret)
{
	ret->n = 0;
	if (e->folded) {
		add_label(ret, "overflow", "true");
		return;
	}
	snprintf(ret->pid, sizeof(ret->pid), "%u", e->pid);
	add_label(ret, "group", e->group);
	add_label(ret, "function", e->function);
	add_label(ret, "binary", e->binary);
	for (size_t i = 0; i < e->n_labels; i++)
		add_label(ret, e->labels[i].name, e->labels[i].value);
	add_label(ret, "pid", e->has_pid ? ret->pid : NULL);
	add_label(ret, "comm", e->comm);
	add_label(ret, "error", error);
}

static void fill_durations(struct page *p, const struct metric *m)
{
	(void)m;
	for (size_t i = 0; i < p->set.series.n; i++) {
		const struct fsc_series *e = FSC_AT(struct fsc_series, &p->set.series, i);
		struct series_labels labels;
		struct fsc_spread d;

		label_series(e, NULL, &labels);
		fsc_series_spread(&p->set, e, &d);
		fsc_exposition_histogram(&p->e, labels.l, labels.n, &d);
	}
}

static void fill_errors(struct page *p, const struct metric *m)
{
	(void)m;
	for (size_t i = 0; i < p->set.errors.n; i++) {
		const struct fsc_series_error *sum =
		    FSC_AT(struct fsc_series_error, &p->set.errors, i);
		struct series_labels labels;

		label_series(fsc_series_of_error(&p->set, sum), sum->error, &labels);
		fsc_exposition_value(&p->e, labels.l, labels.n, (double)sum->n);
	}
}

static void fill_slow(struct page *p, const struct metric *m)
{
	(void)m;
	for (size_t i = 0; i < p->set.series.n; i++) {
		const struct fsc_series *e = FSC_AT(struct fsc_series, &p->set.series, i);
		struct series_labels labels;

		label_series(e, NULL, &labels);
		fsc_exposition_value(&p->e, labels.l, labels.n, (double)e->slow);
	}
}

/* ---- the books ---- */

static void fill_book(struct page *p, const struct metric *m)
{
	if (p->s->books)
		put_value(p, NULL, NULL, (double)number_at(p->s->books, m->offset));
}

static void fill_lost(struct page *p, const struct metric *m)
{
	const struct fsc_summary *b = p->s->books;

	(void)m;
	for (size_t i = 0; b && i < sizeof(b->lost) / sizeof(b->lost[0]) && b->lost[i].name; i++)
		if (strcmp(b->lost[i].name, FSC_UNRETURNED) &&
		    strcmp(b->lost[i].name, FSC_CALLS_PENDING))
			put_value(p, "reason", b->lost[i].name, (double)b->lost[i].n);
}

/* A gauge: calls in progress may still return. */
static void fill_unreturned(struct page *p, const struct metric *m)
{
	(void)m;
	if (p->s->books)
		put_value(p, NULL, NULL, (double)fsc_summary_lost(p->s->books, FSC_UNRETURNED));
}

/* Likewise: they are counted, or lost, once it is known whose they are. */
static void fill_pending(struct page *p, const struct metric *m)
{
	(void)m;
	if (p->s->books)
		put_value(p, NULL, NULL, (double)fsc_summary_lost(p->s->books, FSC_CALLS_PENDING));
}

static void fill_bystanders(struct page *p, const struct metric *m)
{
	(void)m;
	if (p->s->books && p->s->books->bystanders.known)
		put_value(p, NULL, NULL, (double)p->s->books->bystanders.hits);
}

static void fill_bystander_cost(struct page *p, const struct metric *m)
{
	(void)m;
	if (p->s->books && p->s->books->bystanders.known)
		put_value(p, NULL, NULL, p->s->books->bystanders.ns / 1e9);
}

static void fill_cost(struct page *p, const struct metric *m)
{
	(void)m;
	if (p->s->books && p->s->books->cost_known)
		put_value(p, NULL, NULL, p->s->books->ns_per_hit / 1e9);
}

static void fill_overhead(struct page *p, const struct metric *m)
{
	(void)m;
	if (p->s->books && p->s->books->share_known)
		put_value(p, NULL, NULL, p->s->books->percent / 100);
}

/* ---- the monitor itself ---- */

static void fill_number(struct page *p, const struct metric *m)
{
	put_value(p, NULL, NULL, (double)number_at(p->s, m->offset));
}

static void fill_functions(struct page *p, const struct metric *m)
{
	size_t detached = 0;

	(void)m;
	put_value(p, "state", "attached", (double)p->s->functions);
	put_value(p, "state", "refused", (double)p->s->refused);
	for (size_t i = 0; i < p->s->n_detached; i++)
		detached += p->s->detached[i].detached;
	if (p->s->n_detached)
		put_value(p, "state", "detached", (double)detached);
}

/* Names from the target are made safe, as those of series are. */
static void fill_detached(struct page *p, const struct metric *m)
{
	struct fsc_buf names = {0};

	(void)m;
	for (size_t i = 0; i < p->s->n_detached && i < p->s->series_cap; i++) {
		const struct fsc_func *f = p->s->detached[i].func;
		const char *const texts[] = {f->group, f->name, f->binary};
		size_t at[3];
		struct fsc_label l[3];

		fsc_buf_clear(&names);
		for (size_t k = 0; k < 3; k++) {
			at[k] = names.n;
			fsc_fmt_term(&names, texts[k] ? texts[k] : "");
			fsc_buf_putc(&names, '\0');
		}
		if (fsc_buf_failed(&names))
			break;
		l[0] = (struct fsc_label){"group", names.s + at[0]};
		l[1] = (struct fsc_label){"function", names.s + at[1]};
		l[2] = (struct fsc_label){"binary", names.s + at[2]};
		fsc_exposition_value(&p->e, l + !f->group, 3 - !f->group,
				     p->s->detached[i].detached);
	}
	fsc_buf_release(&names);
}

static void fill_folded(struct page *p, const struct metric *m)
{
	(void)m;
	put_value(p, NULL, NULL, (double)p->set.folded);
}

static void fill_labels(struct page *p, const struct metric *m)
{
	if (p->s->labelled)
		fill_number(p, m);
}

static void fill_reloads(struct page *p, const struct metric *m)
{
	(void)m;
	put_value(p, "result", "ok", (double)p->s->reloads);
	put_value(p, "result", "failed", (double)p->s->failed_reloads);
}

static void fill_skipped(struct page *p, const struct metric *m)
{
	(void)m;
	for (size_t i = 0; i < p->s->n_skipped; i++)
		if (p->s->skipped[i].n)
			put_value(p, "step", p->s->skipped[i].name, (double)p->s->skipped[i].n);
}

static void fill_reports(struct page *p, const struct metric *m)
{
	(void)m;
	if (p->s->reports_dropped)
		put_value(p, NULL, NULL, (double)p->s->reports_dropped);
}

static void fill_config_ok(struct page *p, const struct metric *m)
{
	(void)m;
	put_value(p, NULL, NULL, p->s->config_ok);
}

static void fill_cpu(struct page *p, const struct metric *m)
{
	(void)m;
	put_value(p, NULL, NULL, p->s->own_cpu_s);
}

static void fill_start(struct page *p, const struct metric *m)
{
	(void)m;
	put_value(p, NULL, NULL, (double)p->s->start_ns / 1e9);
}

static void fill_build(struct page *p, const struct metric *m)
{
	(void)m;
	put_value(p, "version", FSC_VERSION, 1);
}

/* ---- receivers ---- */

/* Receivers of the same name are shown once, at the first, with their sums. */
static bool is_shown(const struct fsc_snapshot *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(s->receivers[k].name, s->receivers[i].name))
			return false;
	return true;
}

static uint64_t receiver_sum(const struct fsc_snapshot *s, size_t i, size_t offset)
{
	uint64_t sum = 0;

	for (size_t k = i; k < s->n_receivers; k++)
		if (!strcmp(s->receivers[k].name, s->receivers[i].name))
			sum += number_at(&s->receivers[k], offset);
	return sum;
}

static void fill_receivers(struct page *p, const struct metric *m)
{
	for (size_t i = 0; i < p->s->n_receivers; i++)
		if (is_shown(p->s, i))
			put_value(p, "receiver", p->s->receivers[i].name,
				  (double)receiver_sum(p->s, i, m->offset));
}

static void fill_dropped(struct page *p, const struct metric *m)
{
	static const struct {
		const char *reason;
		size_t offset;
	} reasons[] = {{"full", offsetof(struct fsc_receiver_state, dropped_full)},
		       {"refused", offsetof(struct fsc_receiver_state, dropped_refused)},
		       {"rejected", offsetof(struct fsc_receiver_state, rejected)}};

	(void)m;
	for (size_t i = 0; i < p->s->n_receivers; i++)
		for (size_t k = 0; k < 3 && is_shown(p->s, i); k++) {
			const struct fsc_label l[] = {{"receiver", p->s->receivers[i].name},
						      {"reason", reasons[k].reason}};

			fsc_exposition_value(&p->e, l, 2,
					     (double)receiver_sum(p->s, i, reasons[k].offset));
		}
}

static void fill_up(struct page *p, const struct metric *m)
{
	(void)m;
	for (size_t i = 0; i < p->s->n_receivers; i++) {
		bool up = true;

		for (size_t k = i; k < p->s->n_receivers; k++)
			up &= p->s->receivers[k].up || p->s->receivers[k].removed ||
			      strcmp(p->s->receivers[k].name, p->s->receivers[i].name) != 0;
		if (is_shown(p->s, i) && !p->s->receivers[i].removed)
			put_value(p, "receiver", p->s->receivers[i].name, up);
	}
}

/* ---- the page ---- */

#define BOOK(field)	fill_book, offsetof(struct fsc_summary, field)
#define SNAPSHOT(field) fill_number, offsetof(struct fsc_snapshot, field)
#define RECEIVER(field) fill_receivers, offsetof(struct fsc_receiver_state, field)

static const struct metric metrics[] = {
    {{"funcscope_call_duration_seconds", "seconds", "How long calls took.", FSC_HISTOGRAM},
     fill_durations,
     0},
    {{"funcscope_call_errors_total", NULL, "Calls that returned an error.", FSC_COUNTER},
     fill_errors,
     0},
    {{"funcscope_slow_calls_total", NULL, "Calls that took longer than the threshold.",
      FSC_COUNTER},
     fill_slow,
     0},
    {{"funcscope_calls_seen_total", NULL, "Calls that probes saw: those kept and those lost.",
      FSC_COUNTER},
     BOOK(seen)},
    {{"funcscope_calls_kept_total", NULL, "Calls that were measured.", FSC_COUNTER}, BOOK(kept)},
    {{"funcscope_calls_lost_total", NULL, "Calls that were seen and not measured.", FSC_COUNTER},
     fill_lost,
     0},
    {{"funcscope_calls_unreturned", NULL,
      "Calls that have not returned, or were left by longjmp() or an exception.", FSC_GAUGE},
     fill_unreturned,
     0},
    {{"funcscope_calls_pending", NULL,
      "Calls of processes of which it is not known yet whether they are targets.", FSC_GAUGE},
     fill_pending,
     0},
    {{"funcscope_bystander_hits_total", NULL,
      "Probe hits by processes that are not targets: each costs them funcscope_probe_cost_seconds.",
      FSC_COUNTER},
     fill_bystanders,
     0},
    {{"funcscope_bystander_seconds_total", NULL,
      "CPU time that probe hits have cost processes that are not targets, by the measured cost of "
      "a hit.",
      FSC_COUNTER},
     fill_bystander_cost,
     0},
    {{"funcscope_returns_unmatched_total", NULL,
      "Returns of calls that began before the probes were attached.", FSC_COUNTER},
     BOOK(unmatched)},
    {{"funcscope_hits_missed_total", NULL, "Probe hits that the kernel did not deliver.",
      FSC_COUNTER},
     BOOK(missed)},
    {{"funcscope_records_lost_total", NULL,
      "Records of single calls for which there was no room; their durations are kept.",
      FSC_COUNTER},
     BOOK(returns_lost)},
    {{"funcscope_stacks_lost_total", NULL, "Stacks of single calls that could not be taken.",
      FSC_COUNTER},
     BOOK(stacks_lost)},
    {{"funcscope_probe_cost_seconds", "seconds", "What one hit of a probe costs the target.",
      FSC_GAUGE},
     fill_cost,
     0},
    {{"funcscope_overhead_ratio", "ratio", "Share of CPU time that the probes take.", FSC_GAUGE},
     fill_overhead,
     0},
    {{"funcscope_functions", NULL, "Functions that were requested, by state.", FSC_GAUGE},
     fill_functions,
     0},
    {{"funcscope_function_detached", NULL,
      "Whether a function is not watched because of max_overhead.", FSC_GAUGE},
     fill_detached,
     0},
    {{"funcscope_processes", NULL, "Processes that are watched.", FSC_GAUGE}, SNAPSHOT(processes)},
    {{"funcscope_config_reloads_total", NULL, "Attempts to reload the configuration.", FSC_COUNTER},
     fill_reloads,
     0},
    {{"funcscope_config_ok", NULL, "Whether the configuration on disk is the one in force.",
      FSC_GAUGE},
     fill_config_ok,
     0},
    {{"funcscope_reports_dropped_total", NULL, "Reports that could not be written.", FSC_COUNTER},
     fill_reports,
     0},
    {{"funcscope_memory_short_total", NULL, "What was left out for lack of memory.", FSC_COUNTER},
     fill_skipped,
     0},
    {{"funcscope_own_cpu_seconds_total", "seconds", "CPU time of the monitor itself.", FSC_COUNTER},
     fill_cpu,
     0},
    {{"funcscope_own_memory_bytes", "bytes", "Memory of the monitor itself.", FSC_GAUGE},
     SNAPSHOT(own_memory)},
    {{"funcscope_series_folded", NULL, "Rows beyond the limit, which are shown as one sum.",
      FSC_GAUGE},
     fill_folded,
     0},
    {{"funcscope_label_sets", NULL, "Different sets of labels of processes.", FSC_GAUGE},
     fill_labels,
     offsetof(struct fsc_snapshot, label_sets)},
    {{"funcscope_label_sets_folded_total", NULL,
      "Sets of labels that became \"other\", and processes that count as it from the start.",
      FSC_COUNTER},
     fill_labels,
     offsetof(struct fsc_snapshot, label_sets_folded)},
    {{"funcscope_start_time_seconds", "seconds", "When the monitor began, since 1970.", FSC_GAUGE},
     fill_start,
     0},
    {{"funcscope_forward_sent_total", NULL, "Messages that a receiver accepted.", FSC_COUNTER},
     RECEIVER(sent)},
    {{"funcscope_forward_retries_total", NULL, "Attempts to send a message again.", FSC_COUNTER},
     RECEIVER(retried)},
    {{"funcscope_forward_dropped_total", NULL,
      "Messages dropped (full, refused) and records not accepted (rejected).", FSC_COUNTER},
     fill_dropped,
     0},
    {{"funcscope_forward_queued", NULL, "Messages that wait to be sent.", FSC_GAUGE},
     RECEIVER(queued)},
    {{"funcscope_forward_up", NULL, "Whether the last attempt to send succeeded.", FSC_GAUGE},
     fill_up,
     0},
    {{"funcscope_build_info", NULL, "The version of the monitor.", FSC_GAUGE}, fill_build, 0},
};

void fsc_prometheus_write(const struct fsc_snapshot *s, enum fsc_prometheus_format f,
			  struct fsc_buf *b)
{
	struct page p = {.s = s, .e = {.ops = fsc_exposition_formats[f], .s = s, .b = b}};

	if (!fsc_series_build(s, &p.set))
		b->failed = true;
	for (size_t i = 0; !fsc_buf_failed(b) && i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		fsc_exposition_begin(&p.e, &metrics[i].family);
		metrics[i].fill(&p, &metrics[i]);
		fsc_exposition_end(&p.e);
	}
	fsc_exposition_finish(&p.e);
	fsc_series_release(&p.set);
}
