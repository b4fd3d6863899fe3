/* Reports of a monitor for programs: timings, errors, slow calls, one object per line. */
#include "base/fmt.h"
#include "sink/sink.h"

static void put_error(const struct fsc_report *r, const struct fsc_call_errors *e,
		      struct fsc_buf *b)
{
	const struct fsc_count *key = &FSC_AT(struct fsc_latency, &r->calls->rows, e->row)->key;

	fsc_buf_printf(b, "{\"type\":\"errors\",\"time_ns\":%llu",
		       (unsigned long long)r->calls->time_ns);
	fsc_json_function(&r->calls->funcs[key->func], b);
	if (r->calls->by & FSC_BY_PID)
		fsc_buf_printf(b, ",\"pid\":%u", key->pid);
	fsc_buf_printf(b, ",\"code\":%lld", (long long)e->code);
	if (e->name) {
		fsc_buf_puts(b, ",\"error\":");
		fsc_fmt_json(b, e->name);
	}
	fsc_buf_printf(b, ",\"count\":%llu}\n", (unsigned long long)e->n);
}

void fsc_json_report(struct fsc_sink *s, const struct fsc_report *r, struct fsc_buf *b)
{
	fsc_buf_printf(b,
		       "{\"type\":\"report\",\"time_ns\":%llu,\"seconds\":%.3f,\"whole\":%s,"
		       "\"processes\":%zu}\n",
		       (unsigned long long)r->calls->time_ns, r->calls->seconds,
		       r->whole ? "true" : "false", r->processes);
	fsc_json_latency(s, r->calls, b);
	for (size_t i = 0; i < r->n_errors; i++)
		put_error(r, &r->errors[i], b);
	for (size_t i = 0; i < r->n_slow; i++)
		fsc_json_call(s, r->slow[i]->call, b);
}
