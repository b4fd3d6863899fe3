/* Prometheus' protocol buffers (io.prometheus.client), each family preceded by its length: the one
 * format with native histograms. Histograms carry their classic buckets, too, for older
 * readers. */
#include "sink/exposition.h"

#include <math.h>

#include "sink/protobuf.h"

/* The numbers of the fields, message by message. */
enum { FAMILY_NAME = 1, FAMILY_HELP, FAMILY_TYPE, FAMILY_METRIC, FAMILY_UNIT };
enum { METRIC_LABEL = 1, METRIC_GAUGE, METRIC_COUNTER, METRIC_HISTOGRAM = 7 };
enum { LABEL_NAME = 1, LABEL_VALUE };
enum { NUMBER_VALUE = 1, COUNTER_CREATED = 3 };
enum { HISTOGRAM_COUNT = 1, HISTOGRAM_SUM, HISTOGRAM_BUCKET };
enum { HISTOGRAM_SCHEMA = 5, HISTOGRAM_ZERO_THRESHOLD, HISTOGRAM_ZERO_COUNT };
enum { HISTOGRAM_SPAN = 12, HISTOGRAM_DELTA, HISTOGRAM_CREATED = 15, HISTOGRAM_EXEMPLAR };
enum { BUCKET_COUNT = 1, BUCKET_BOUND, BUCKET_EXEMPLAR };
enum { SPAN_OFFSET = 1, SPAN_LENGTH };
enum { EXEMPLAR_LABEL = 1, EXEMPLAR_VALUE, EXEMPLAR_TIME };
enum { TIME_SECONDS = 1, TIME_NANOS };

/* Only durations of exactly 0 are in the zero bucket; readers require a width greater than 0. */
#define ZERO_THRESHOLD 0x1p-128
/* Up to this many empty buckets are written rather than a new span. */
enum { GAP = 2 };

static void add_label_pair(struct fsc_buf *b, uint32_t field, const char *name, const char *value)
{
	size_t mark = fsc_pb_begin(b, field);

	fsc_pb_text(b, LABEL_NAME, name);
	fsc_pb_text(b, LABEL_VALUE, value);
	fsc_pb_end(b, mark);
}

static void pb_label(struct fsc_exposition *e, const char *name, const char *value)
{
	add_label_pair(&e->labels, METRIC_LABEL, name, value);
}

static void pb_begin_family(struct fsc_exposition *e)
{
	static const unsigned types[] = {[FSC_COUNTER] = 0, [FSC_GAUGE] = 1, [FSC_HISTOGRAM] = 4};
	const struct fsc_family *f = e->family;

	e->mark = e->b->n;
	fsc_pb_text(e->b, FAMILY_NAME, f->name);
	fsc_pb_text(e->b, FAMILY_HELP, f->help);
	fsc_pb_uint(e->b, FAMILY_TYPE, types[f->type]);
	if (f->unit)
		fsc_pb_text(e->b, FAMILY_UNIT, f->unit);
}

static void pb_end_family(struct fsc_exposition *e)
{
	fsc_pb_end(e->b, e->mark);
}

static void add_timestamp(struct fsc_buf *b, uint32_t field, uint64_t ns)
{
	size_t mark = fsc_pb_begin(b, field);

	fsc_pb_uint(b, TIME_SECONDS, ns / 1000000000);
	fsc_pb_uint(b, TIME_NANOS, ns % 1000000000);
	fsc_pb_end(b, mark);
}

static void pb_value(struct fsc_exposition *e, double v)
{
	bool counts = e->family->type == FSC_COUNTER;
	size_t metric = fsc_pb_begin(e->b, FAMILY_METRIC), inside;

	fsc_buf_add(e->b, fsc_buf_str(&e->labels), e->labels.n);
	inside = fsc_pb_begin(e->b, counts ? METRIC_COUNTER : METRIC_GAUGE);
	fsc_pb_double(e->b, NUMBER_VALUE, v);
	if (counts)
		add_timestamp(e->b, COUNTER_CREATED, e->s->start_ns);
	fsc_pb_end(e->b, inside);
	fsc_pb_end(e->b, metric);
}

/* ---- histograms ---- */

static void add_exemplar(struct fsc_exposition *e, uint32_t field, const struct fsc_noted_call *c)
{
	const struct {
		const char *name;
		uint64_t v;
	} labels[] = {{"call_id", c->id}, {"pid", c->call->pid}, {"tid", c->call->tid}};
	size_t mark = fsc_pb_begin(e->b, field);

	for (size_t i = 0; i < 3; i++) {
		fsc_buf_clear(&e->scratch);
		fsc_buf_printf(&e->scratch, "%llu", (unsigned long long)labels[i].v);
		add_label_pair(e->b, EXEMPLAR_LABEL, labels[i].name, fsc_buf_str(&e->scratch));
		e->b->failed |= e->scratch.failed;
	}
	fsc_pb_double(e->b, EXEMPLAR_VALUE, fsc_spread_seconds(c));
	add_timestamp(e->b, EXEMPLAR_TIME, c->wall_ns);
	fsc_pb_end(e->b, mark);
}

static void classic_buckets(struct fsc_exposition *e, const struct fsc_spread *d)
{
	uint64_t below = 0;

	for (unsigned i = 0; i <= FSC_SPREAD_BOUNDS; i++) {
		size_t mark = fsc_pb_begin(e->b, HISTOGRAM_BUCKET);

		below += d->classic[i];
		fsc_pb_uint(e->b, BUCKET_COUNT, below);
		fsc_pb_double(e->b, BUCKET_BOUND, fsc_spread_bound(i));
		if (d->noted[i])
			add_exemplar(e, BUCKET_EXEMPLAR, d->noted[i]);
		fsc_pb_end(e->b, mark);
	}
}

static uint64_t native_count(const struct fsc_spread *d, int i)
{
	return d->native[i - FSC_SPREAD_LOW];
}

/* The next run of buckets from *at on, short gaps included: [*at, returned); empty at the end. */
static int next_span(const struct fsc_spread *d, int *at)
{
	int end;

	while (*at <= d->last && !native_count(d, *at))
		(*at)++;
	end = *at;
	for (int i = *at; i <= d->last && i <= end + GAP; i++)
		if (native_count(d, i))
			end = i + 1;
	return end;
}

static void add_span(struct fsc_buf *b, int offset, int length)
{
	size_t mark = fsc_pb_begin(b, HISTOGRAM_SPAN);

	fsc_pb_sint(b, SPAN_OFFSET, offset);
	fsc_pb_uint(b, SPAN_LENGTH, (uint64_t)length);
	fsc_pb_end(b, mark);
}

/* The first offset is the index itself, the others count from the end of the span before. A
 * histogram without calls needs an empty span to be recognised as a native one. */
static void native_spans(struct fsc_buf *b, const struct fsc_spread *d)
{
	int at = d->first, end, before = 0;

	if (d->first > d->last)
		add_span(b, 0, 0);
	while ((end = next_span(d, &at)) > at) {
		add_span(b, at - before, end - at);
		at = before = end;
	}
}

static void native_counts(struct fsc_buf *b, const struct fsc_spread *d)
{
	size_t mark = fsc_pb_begin(b, HISTOGRAM_DELTA);
	uint64_t before = 0;
	int at = d->first, end;

	while ((end = next_span(d, &at)) > at)
		for (; at < end; at++) {
			fsc_pb_varint(b, fsc_pb_zigzag((int64_t)(native_count(d, at) - before)));
			before = native_count(d, at);
		}
	fsc_pb_end(b, mark);
}

static void pb_histogram(struct fsc_exposition *e, const struct fsc_spread *d)
{
	struct fsc_buf *b = e->b;
	size_t metric = fsc_pb_begin(b, FAMILY_METRIC), inside;

	fsc_buf_add(b, fsc_buf_str(&e->labels), e->labels.n);
	inside = fsc_pb_begin(b, METRIC_HISTOGRAM);
	fsc_pb_uint(b, HISTOGRAM_COUNT, d->count);
	fsc_pb_double(b, HISTOGRAM_SUM, fsc_spread_sum(d));
	classic_buckets(e, d);
	fsc_pb_sint(b, HISTOGRAM_SCHEMA, FSC_SPREAD_SCHEMA);
	fsc_pb_double(b, HISTOGRAM_ZERO_THRESHOLD, ZERO_THRESHOLD);
	fsc_pb_uint(b, HISTOGRAM_ZERO_COUNT, d->zero);
	native_spans(b, d);
	if (d->first <= d->last)
		native_counts(b, d);
	add_timestamp(b, HISTOGRAM_CREATED, e->s->start_ns);
	for (unsigned i = 0; i <= FSC_SPREAD_BOUNDS; i++)
		if (d->noted[i])
			add_exemplar(e, HISTOGRAM_EXEMPLAR, d->noted[i]);
	fsc_pb_end(b, inside);
	fsc_pb_end(b, metric);
}

const struct fsc_exposition_ops fsc_exposition_protobuf = {
    .label = pb_label,
    .begin = pb_begin_family,
    .value = pb_value,
    .histogram = pb_histogram,
    .end = pb_end_family,
};
