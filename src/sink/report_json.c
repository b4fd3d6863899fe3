/* Reports of a monitor for programs: timings, errors, slow calls, one object per line. */
#include "base/json.h"
#include "model/tally.h"
#include "sink/sink.h"

static void put_error(const struct fsc_report *r, const struct fsc_call_errors *e,
		      struct fsc_buf *b)
{
	const struct fsc_latency *row = FSC_AT(struct fsc_latency, &r->calls->rows, e->row);
	const struct fsc_count *key = &row->key;

	fsc_json_line(b, "errors");
	fsc_json_uint(b, "time_ns", r->calls->time_ns);
	fsc_json_function(&r->calls->funcs[key->func], b);
	if (r->calls->by & FSC_BY_PID)
		fsc_json_uint(b, "pid", fsc_tally_pid(key->pid));
	fsc_json_about(row->labels, row->n_labels, b);
	fsc_json_int(b, "code", e->code);
	fsc_json_string_if(b, "error", e->name);
	fsc_json_uint(b, "count", e->n);
	fsc_json_line_end(b);
}

void fsc_json_report(struct fsc_sink *s, const struct fsc_report *r, struct fsc_buf *b)
{
	fsc_json_line(b, "report");
	fsc_json_uint(b, "time_ns", r->calls->time_ns);
	fsc_json_real(b, "seconds", r->calls->seconds, 3);
	fsc_json_bool(b, "whole", r->whole);
	fsc_json_uint(b, "processes", r->processes);
	fsc_json_line_end(b);
	fsc_json_latency(s, r->calls, b);
	for (size_t i = 0; i < r->n_errors; i++)
		put_error(r, &r->errors[i], b);
	for (size_t i = 0; i < r->n_slow; i++)
		fsc_json_call(s, r->slow[i]->call, b);
}
