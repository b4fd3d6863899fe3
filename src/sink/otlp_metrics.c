/* OTLP metrics: durations as exponential histograms, errors, slow calls and the books as sums, all
 * counted since the monitor began. */
#include "sink/otlp.h"

#include <string.h>

#include "sink/otlp_envelope.h"
#include "sink/series.h"

enum { CUMULATIVE = 2 };

#define FIELD(number, name) ((struct fsc_field){(number), (name)})

struct metric {
	const char *name, *unit, *what;
};

/* A metric that is open: its own mark, and that of the kind of data in it. */
struct open_metric {
	size_t metric, kind;
};

static struct open_metric open_metric(struct fsc_otlp *o, const struct metric *is,
				      struct fsc_field kind)
{
	struct open_metric at;

	at.metric = fsc_message_element(&o->m, fsc_otlp_item);
	o->m.ops->text(&o->m, FIELD(1, "name"), is->name);
	o->m.ops->text(&o->m, FIELD(2, "description"), is->what);
	o->m.ops->text(&o->m, FIELD(3, "unit"), is->unit);
	at.kind = fsc_message_open(&o->m, kind);
	o->m.ops->list(&o->m, FIELD(1, "dataPoints"));
	return at;
}

static struct open_metric open_sum(struct fsc_otlp *o, const struct metric *is)
{
	return open_metric(o, is, FIELD(7, "sum"));
}

static void close_metric(struct fsc_otlp *o, struct open_metric at, bool is_sum)
{
	o->m.ops->list_end(&o->m);
	o->m.ops->small(&o->m, FIELD(2, "aggregationTemporality"), CUMULATIVE);
	if (is_sum)
		o->m.ops->boolean(&o->m, FIELD(3, "isMonotonic"), true);
	fsc_message_close(&o->m, at.kind);
	fsc_message_close(&o->m, at.metric);
}

static size_t open_point(struct fsc_otlp *o)
{
	size_t mark = fsc_message_element(&o->m, FIELD(1, "dataPoints"));

	o->m.ops->fixed64(&o->m, FIELD(2, "startTimeUnixNano"), o->s->start_ns);
	o->m.ops->fixed64(&o->m, FIELD(3, "timeUnixNano"), o->s->time_ns);
	return mark;
}

/* A point of a sum; its attributes are written by then. */
static void close_sum_point(struct fsc_otlp *o, size_t mark, uint64_t n)
{
	o->m.ops->fixed64(&o->m, FIELD(6, "asInt"), n);
	fsc_message_close(&o->m, mark);
}

/* ---- of rows ---- */

static void put_series(struct fsc_otlp *o, uint32_t attributes, const struct fsc_series *e,
		       const char *error)
{
	fsc_otlp_attributes(o, attributes, "attributes");
	if (e->folded)
		fsc_otlp_bool(o, "otel.metric.overflow", true);
	fsc_otlp_text(o, "code.function.name", e->function);
	fsc_otlp_text(o, "funcscope.group", e->group);
	fsc_otlp_text(o, "funcscope.binary", e->binary);
	fsc_otlp_about(o, e->labels, e->n_labels);
	if (e->has_pid)
		fsc_otlp_int(o, "process.pid", e->pid);
	fsc_otlp_text(o, "process.executable.name", e->comm);
	fsc_otlp_text(o, "funcscope.error", error);
	fsc_otlp_attributes_end(o);
}

static void put_exemplar(struct fsc_otlp *o, const struct fsc_noted_call *c)
{
	size_t mark = fsc_message_element(&o->m, FIELD(11, "exemplars"));

	o->m.ops->fixed64(&o->m, FIELD(2, "timeUnixNano"), c->wall_ns);
	o->m.ops->real(&o->m, FIELD(3, "asDouble"), fsc_spread_seconds(c));
	fsc_otlp_attributes(o, 7, "filteredAttributes");
	fsc_otlp_int(o, "funcscope.call.id", (int64_t)c->id);
	fsc_otlp_int(o, "process.pid", c->call->pid);
	fsc_otlp_int(o, "thread.id", c->call->tid);
	fsc_otlp_attributes_end(o);
	fsc_message_close(&o->m, mark);
}

/* OTLP numbers a bucket by its lower bound, Prometheus by its upper one. */
static void put_buckets(struct fsc_otlp *o, const struct fsc_spread *d)
{
	size_t mark = fsc_message_open(&o->m, FIELD(8, "positive"));
	int n = d->last - d->first + 1;

	o->m.ops->sint32(&o->m, FIELD(1, "offset"), d->first - 1);
	o->m.ops->counts(&o->m, FIELD(2, "bucketCounts"), &d->native[d->first - FSC_SPREAD_LOW],
			 (size_t)n);
	fsc_message_close(&o->m, mark);
}

static void put_spread(struct fsc_otlp *o, const struct fsc_spread *d)
{
	o->m.ops->fixed64(&o->m, FIELD(4, "count"), d->count);
	o->m.ops->real(&o->m, FIELD(5, "sum"), fsc_spread_sum(d));
	o->m.ops->sint32(&o->m, FIELD(6, "scale"), FSC_SPREAD_SCHEMA);
	o->m.ops->fixed64(&o->m, FIELD(7, "zeroCount"), d->zero);
	if (d->first <= d->last)
		put_buckets(o, d);
	o->m.ops->list(&o->m, FIELD(11, "exemplars"));
	for (unsigned i = 0; i <= FSC_SPREAD_BOUNDS; i++)
		if (d->noted[i])
			put_exemplar(o, d->noted[i]);
	o->m.ops->list_end(&o->m);
	if (!d->count)
		return;
	o->m.ops->real(&o->m, FIELD(12, "min"), d->min);
	o->m.ops->real(&o->m, FIELD(13, "max"), d->max);
}

static void put_durations(struct fsc_otlp *o, const struct fsc_series_set *t)
{
	static const struct metric is = {"funcscope.call.duration", "s", "How long calls took."};
	struct open_metric at = open_metric(o, &is, FIELD(10, "exponentialHistogram"));

	for (size_t i = 0; i < t->series.n; i++) {
		const struct fsc_series *e = FSC_AT(struct fsc_series, &t->series, i);
		size_t mark = open_point(o);
		struct fsc_spread d;

		fsc_series_spread(t, e, &d);
		put_series(o, 1, e, NULL);
		put_spread(o, &d);
		fsc_message_close(&o->m, mark);
	}
	close_metric(o, at, false);
}

static void put_errors(struct fsc_otlp *o, const struct fsc_series_set *t)
{
	static const struct metric is = {"funcscope.call.errors", "{call}",
					 "Calls that returned an error."};
	struct open_metric at = open_sum(o, &is);

	for (size_t i = 0; i < t->errors.n; i++) {
		const struct fsc_series_error *sum = FSC_AT(struct fsc_series_error, &t->errors, i);
		size_t mark = open_point(o);

		put_series(o, 7, fsc_series_of_error(t, sum), sum->error);
		close_sum_point(o, mark, sum->n);
	}
	close_metric(o, at, true);
}

static void put_slow(struct fsc_otlp *o, const struct fsc_series_set *t)
{
	static const struct metric is = {"funcscope.call.slow", "{call}",
					 "Calls that took longer than the threshold."};
	struct open_metric at = open_sum(o, &is);

	for (size_t i = 0; i < t->series.n; i++) {
		const struct fsc_series *e = FSC_AT(struct fsc_series, &t->series, i);
		size_t mark = open_point(o);

		put_series(o, 7, e, NULL);
		close_sum_point(o, mark, e->slow);
	}
	close_metric(o, at, true);
}

/* ---- the books ---- */

static void put_lost(struct fsc_otlp *o, const struct fsc_summary *books)
{
	static const struct metric is = {"funcscope.calls.lost", "{call}",
					 "Calls that were seen and not measured."};
	struct open_metric at = open_sum(o, &is);

	for (size_t i = 0; i < sizeof(books->lost) / sizeof(books->lost[0]); i++) {
		size_t mark;

		if (!books->lost[i].name)
			break;
		if (!strcmp(books->lost[i].name, FSC_UNRETURNED) ||
		    !strcmp(books->lost[i].name, FSC_CALLS_PENDING))
			continue; /* they may still return, and be kept */
		mark = open_point(o);
		fsc_otlp_attributes(o, 7, "attributes");
		fsc_otlp_text(o, "funcscope.reason", books->lost[i].name);
		fsc_otlp_attributes_end(o);
		close_sum_point(o, mark, books->lost[i].n);
	}
	close_metric(o, at, true);
}

static void put_books(struct fsc_otlp *o, const struct fsc_summary *books)
{
	const struct {
		struct metric is;
		uint64_t n;
	} sums[] = {
	    {{"funcscope.calls.seen", "{call}", "Calls that probes saw."}, books->seen},
	    {{"funcscope.calls.kept", "{call}", "Calls that were measured."}, books->kept},
	    {{"funcscope.returns.unmatched", "{return}",
	      "Returns of calls that began before the probes were attached."},
	     books->unmatched},
	    {{"funcscope.hits.missed", "{hit}", "Probe hits that the kernel did not deliver."},
	     books->missed},
	    {{"funcscope.records.lost", "{record}",
	      "Records of single calls for which there was no room."},
	     books->returns_lost},
	    {{"funcscope.stacks.lost", "{stack}",
	      "Stacks of single calls that could not be taken."},
	     books->stacks_lost},
	};

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		struct open_metric at = open_sum(o, &sums[i].is);

		close_sum_point(o, open_point(o), sums[i].n);
		close_metric(o, at, true);
	}
	if (books->lost[0].name)
		put_lost(o, books);
}

void fsc_otlp_metrics(const struct fsc_snapshot *s, bool json, struct fsc_buf *b)
{
	static const struct fsc_otlp_signal signal = {"resourceMetrics", "scopeMetrics", "metrics"};
	struct fsc_series_set set;
	struct fsc_otlp o;

	if (!fsc_series_build(s, &set))
		b->failed = true;
	fsc_otlp_begin(&o, &signal, s, json, b);
	if (set.series.n && !fsc_buf_failed(b)) {
		put_durations(&o, &set);
		put_slow(&o, &set);
	}
	if (set.errors.n && !fsc_buf_failed(b))
		put_errors(&o, &set);
	if (s->books)
		put_books(&o, s->books);
	fsc_otlp_end(&o);
	fsc_series_release(&set);
}
