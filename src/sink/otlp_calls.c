/* Single calls for OTLP: as log records, or as spans. */
#include "sink/otlp.h"

#include <string.h>
#include <sys/random.h>

#include "sink/noted.h"
#include "sink/otlp_envelope.h"

enum { SEVERITY_WARN = 13, SPAN_INTERNAL = 1, STATUS_ERROR = 2 };

#define FIELD(number, name) ((struct fsc_field){(number), (name)})

/* An attribute whose text is written by fn. */
static void put_words(struct fsc_otlp *o, const char *key, const struct fsc_call *c,
		      void (*fn)(const struct fsc_call *c, struct fsc_buf *b))
{
	struct fsc_buf words = {0};

	fn(c, &words);
	fsc_otlp_lines(o, key, &words);
	fsc_buf_release(&words);
}

static void put_call(struct fsc_otlp *o, uint32_t attributes, const struct fsc_noted_call *c)
{
	const struct fsc_func *f = c->call->func;

	fsc_otlp_attributes(o, attributes, "attributes");
	fsc_otlp_text(o, "code.function.name", f->name);
	fsc_otlp_text(o, "funcscope.group", f->group);
	fsc_otlp_text(o, "funcscope.binary", f->binary);
	fsc_otlp_int(o, "funcscope.call.id", (int64_t)c->id);
	fsc_otlp_int(o, "process.pid", c->call->pid);
	fsc_otlp_text(o, "process.executable.name", c->call->comm);
	fsc_otlp_int(o, "thread.id", c->call->tid);
	fsc_otlp_about(o, c->call->about, c->call->n_about);
	if (c->call->has_duration)
		fsc_otlp_int(o, "funcscope.duration_ns", (int64_t)c->call->duration_ns);
	if (c->threshold_ns > 0)
		fsc_otlp_int(o, "funcscope.threshold_ns", (int64_t)c->threshold_ns);
	put_words(o, "funcscope.args", c->call, fsc_noted_args);
	put_words(o, "funcscope.return", c->call, fsc_noted_return);
	fsc_otlp_text(o, "funcscope.error", c->error);
	put_words(o, "code.stacktrace", c->call, fsc_noted_stack);
	fsc_otlp_attributes_end(o);
}

/* ---- log records ---- */

static void put_body(struct fsc_otlp *o, const struct fsc_noted_call *c)
{
	size_t mark = fsc_message_open(&o->m, FIELD(5, "body"));
	struct fsc_buf words = {0};

	fsc_noted_sentence(c, &words);
	o->m.ops->text(&o->m, FIELD(1, "stringValue"), fsc_buf_str(&words));
	o->m.b->failed |= words.failed;
	fsc_buf_release(&words);
	fsc_message_close(&o->m, mark);
}

static void put_record(struct fsc_otlp *o, const struct fsc_noted_call *c)
{
	size_t mark = fsc_message_element(&o->m, fsc_otlp_item);

	o->m.ops->fixed64(&o->m, FIELD(1, "timeUnixNano"), c->wall_ns);
	o->m.ops->fixed64(&o->m, FIELD(11, "observedTimeUnixNano"), o->s->time_ns);
	o->m.ops->small(&o->m, FIELD(2, "severityNumber"), SEVERITY_WARN);
	o->m.ops->text(&o->m, FIELD(3, "severityText"), "WARN");
	put_body(o, c);
	put_call(o, 6, c);
	fsc_message_close(&o->m, mark);
}

void fsc_otlp_logs(const struct fsc_snapshot *s, const struct fsc_noted_call *calls, size_t n,
		   bool json, struct fsc_buf *b)
{
	static const struct fsc_otlp_signal signal = {"resourceLogs", "scopeLogs", "logRecords"};
	struct fsc_otlp o;

	fsc_otlp_begin(&o, &signal, s, json, b);
	for (size_t i = 0; i < n; i++)
		put_record(&o, &calls[i]);
	fsc_otlp_end(&o);
}

/* ---- spans ---- */

/* Random if possible, and never all zero, which receivers reject. */
static void new_id(const struct fsc_noted_call *c, unsigned char *ret, size_t n)
{
	const uint64_t own[] = {c->wall_ns | 1, c->id};

	if (getrandom(ret, n, GRND_NONBLOCK) != (ssize_t)n)
		memcpy(ret, own, n);
	ret[n - 1] |= 1;
}

static void put_status(struct fsc_otlp *o, const char *error)
{
	size_t mark = fsc_message_open(&o->m, FIELD(15, "status"));

	fsc_otlp_name(o, FIELD(2, "message"), error);
	o->m.ops->small(&o->m, FIELD(3, "code"), STATUS_ERROR);
	fsc_message_close(&o->m, mark);
}

static void put_span(struct fsc_otlp *o, const struct fsc_noted_call *c)
{
	size_t mark = fsc_message_element(&o->m, fsc_otlp_item);
	uint64_t lasted = c->call->has_duration ? c->call->duration_ns : 0;
	unsigned char trace[16], span[8];

	new_id(c, trace, sizeof(trace));
	new_id(c, span, sizeof(span));
	o->m.ops->bytes(&o->m, FIELD(1, "traceId"), trace, sizeof(trace));
	o->m.ops->bytes(&o->m, FIELD(2, "spanId"), span, sizeof(span));
	fsc_otlp_name(o, FIELD(5, "name"), c->call->func->name);
	o->m.ops->small(&o->m, FIELD(6, "kind"), SPAN_INTERNAL);
	o->m.ops->fixed64(&o->m, FIELD(7, "startTimeUnixNano"),
			  lasted < c->wall_ns ? c->wall_ns - lasted : 0);
	o->m.ops->fixed64(&o->m, FIELD(8, "endTimeUnixNano"), c->wall_ns);
	put_call(o, 9, c);
	if (c->error)
		put_status(o, c->error);
	fsc_message_close(&o->m, mark);
}

void fsc_otlp_spans(const struct fsc_snapshot *s, const struct fsc_noted_call *calls, size_t n,
		    bool json, struct fsc_buf *b)
{
	static const struct fsc_otlp_signal signal = {"resourceSpans", "scopeSpans", "spans"};
	struct fsc_otlp o;

	fsc_otlp_begin(&o, &signal, s, json, b);
	for (size_t i = 0; i < n; i++)
		put_span(&o, &calls[i]);
	fsc_otlp_end(&o);
}
