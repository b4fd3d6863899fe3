/* The JSON of scripts: an object per line, {"type": ..., "data": ...}. Its spaces are part of what
 * readers have come to expect. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fmt.h"
#include "sink/script.h"

static const struct fsc_script_style plain;

/* Of the characters that need an escape, these have a short one here; and a NUL ends no text. */
static const char *json_escape(char c)
{
	return c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : "\\u0000";
}

static void json_part(const char *s, size_t n, struct fsc_buf *b)
{
	char *copy = strndup(s, n);
	struct fsc_buf part = {0};

	if (copy)
		fsc_fmt_json(&part, copy);
	if (part.n >= 2)
		fsc_buf_add(b, part.s + 1, part.n - 2);
	b->failed |= !copy || part.failed;
	fsc_buf_release(&part);
	free(copy);
}

static void json_string(const char *s, size_t n, struct fsc_buf *b)
{
	const char *end = s + n;

	fsc_buf_putc(b, '"');
	while (s < end) {
		const char *stop = s + strcspn(s, "\n\r\t");

		if (stop > s)
			json_part(s, (size_t)(stop - s), b);
		if (stop < end)
			fsc_buf_puts(b, json_escape(*stop));
		s = stop + 1;
	}
	fsc_buf_putc(b, '"');
}

/* Readers of JSON keep numbers as 64-bit floating point: others are strings. */
static void json_number(const struct fsc_value *v, struct fsc_buf *b)
{
	bool exact = v->kind == FSC_VALUE_INT
			 ? v->i != INT64_MAX && (int64_t)(double)v->i == v->i
			 : (double)v->u < 0x1p64 && (uint64_t)(double)v->u == v->u;

	if (!exact)
		fsc_buf_putc(b, '"');
	fsc_script_value(&plain, v, b);
	if (!exact)
		fsc_buf_putc(b, '"');
}

static void json_value(const struct fsc_value *v, struct fsc_buf *b);

static void json_uint(uint64_t u, struct fsc_buf *b)
{
	struct fsc_value v = fsc_value_uint(u);

	json_number(&v, b);
}

static void json_list(const struct fsc_value *v, struct fsc_buf *b)
{
	fsc_buf_putc(b, '[');
	for (size_t i = 0; i < v->list.n; i++) {
		if (i)
			fsc_buf_putc(b, ',');
		json_value(&v->list.at[i], b);
	}
	fsc_buf_putc(b, ']');
}

static void json_bytes(const struct fsc_value *v, struct fsc_buf *b)
{
	fsc_buf_putc(b, '[');
	for (size_t i = 0; i < v->text.n; i++)
		fsc_buf_printf(b, "%s%d", i ? "," : "", (signed char)v->text.s[i]);
	fsc_buf_putc(b, ']');
}

/* A key is its text without spaces. */
static void json_key(const struct fsc_value *key, struct fsc_buf *b)
{
	struct fsc_buf text = {0};
	size_t kept = 0;

	fsc_script_key(&plain, key, &text);
	for (size_t i = 0; i < text.n; i++)
		if (text.s[i] != ' ')
			text.s[kept++] = text.s[i];
	if (text.s)
		text.s[kept] = '\0';
	json_string(fsc_buf_str(&text), kept, b);
	b->failed |= text.failed;
	fsc_buf_release(&text);
}

static void json_members(const struct fsc_value *v, struct fsc_buf *b)
{
	fsc_buf_putc(b, '{');
	for (size_t i = 0; i < v->list.n; i++) {
		if (i)
			fsc_buf_puts(b, ", ");
		if (v->kind == FSC_VALUE_MAP)
			json_key(&v->list.keys[i], b);
		else
			fsc_fmt_json(b, v->list.names[i] ? v->list.names[i] : "");
		fsc_buf_puts(b, ": ");
		json_value(&v->list.at[i], b);
	}
	fsc_buf_putc(b, '}');
}

/* Both limits are in the bucket. */
static void json_hist(const struct fsc_value *v, struct fsc_buf *b)
{
	fsc_buf_putc(b, '[');
	for (size_t i = 0; i < v->hist.n; i++) {
		const struct fsc_bucket *bucket = &v->hist.at[i];
		uint64_t limit;

		fsc_buf_puts(b, i ? ",{" : "{");
		if (fsc_value_number(&bucket->min, &limit))
			fsc_buf_printf(b, "\"min\": %lld, ", (long long)limit);
		if (fsc_value_number(&bucket->max, &limit))
			fsc_buf_printf(b, "\"max\": %lld, ", (long long)(limit - 1));
		fsc_buf_printf(b, "\"count\": %llu}", (unsigned long long)bucket->count);
	}
	fsc_buf_putc(b, ']');
}

static void json_moment(uint64_t wall_ns, struct fsc_buf *b)
{
	time_t t = (time_t)(wall_ns / 1000000000);
	char text[32] = "";
	struct tm tm;

	if (localtime_r(&t, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	fsc_buf_printf(b, "\"%s.%09llu\"", text, (unsigned long long)(wall_ns % 1000000000));
}

static void json_series(const struct fsc_value *v, struct fsc_buf *b)
{
	fsc_buf_putc(b, '[');
	for (size_t i = 0; i < v->series.n; i++) {
		fsc_buf_puts(b, i ? ",{\"interval_start\":" : "{\"interval_start\":");
		json_moment(v->series.at[i].wall_ns, b);
		fsc_buf_puts(b, ",\"value\":");
		json_value(&v->series.at[i].value, b);
		fsc_buf_putc(b, '}');
	}
	fsc_buf_putc(b, ']');
}

static void json_value(const struct fsc_value *v, struct fsc_buf *b)
{
	switch (v->kind) {
	case FSC_VALUE_INT:
	case FSC_VALUE_UINT:
		json_number(v, b);
		break;
	case FSC_VALUE_NONE:
	case FSC_VALUE_BOOL:
		fsc_script_value(&plain, v, b);
		break;
	case FSC_VALUE_TEXT:
		json_string(v->text.s, v->text.n, b);
		break;
	case FSC_VALUE_SYMBOL:
		json_uint(v->text.number, b);
		break;
	case FSC_VALUE_BYTES:
		json_bytes(v, b);
		break;
	case FSC_VALUE_ARRAY:
	case FSC_VALUE_TUPLE:
		json_list(v, b);
		break;
	case FSC_VALUE_RECORD:
	case FSC_VALUE_MAP:
		json_members(v, b);
		break;
	case FSC_VALUE_HIST:
		json_hist(v, b);
		break;
	case FSC_VALUE_SERIES:
		json_series(v, b);
		break;
	}
}

/* What kind of map it is: that of its first value. */
static const char *json_map_type(const struct fsc_value *v)
{
	const struct fsc_value *of = v->kind == FSC_VALUE_MAP && v->list.n ? v->list.at : v;

	return of->stats		      ? "stats"
	       : of->kind == FSC_VALUE_SERIES ? "tseries"
	       : of->kind == FSC_VALUE_HIST   ? "hist"
					      : "map";
}

static void script_json_map(const struct fsc_script_style *s, const char *name,
			    const struct fsc_value *v, struct fsc_buf *b)
{
	(void)s;
	fsc_buf_printf(b, "{\"type\": \"%s\", \"data\": {", json_map_type(v));
	fsc_fmt_json(b, name);
	fsc_buf_puts(b, ": ");
	json_value(v, b);
	fsc_buf_puts(b, "}}\n");
}

static void script_json_value(const struct fsc_script_style *s, const struct fsc_value *v,
			      struct fsc_buf *b)
{
	(void)s;
	fsc_buf_puts(b, "{\"type\": \"value\", \"data\": ");
	json_value(v, b);
	fsc_buf_puts(b, "}\n");
}

static void script_json_text(enum fsc_script_text what, const char *s, size_t n, struct fsc_buf *b)
{
	static const char *const types[FSC_SCRIPT_TEXTS] = {[FSC_SCRIPT_PRINTF] = "printf",
							    [FSC_SCRIPT_TIME] = "time",
							    [FSC_SCRIPT_CAT] = "cat",
							    [FSC_SCRIPT_JOIN] = "join",
							    [FSC_SCRIPT_SYSTEM] = "syscall"};

	fsc_buf_printf(b, "{\"type\": \"%s\", \"data\": ", types[what]);
	json_string(s, n, b);
	fsc_buf_puts(b, "}\n");
}

static void script_json_note(const struct fsc_script_note *n, struct fsc_buf *b)
{
	fsc_buf_printf(b, "{\"type\": \"%s\", \"msg\": ", n->type);
	json_string(n->text, strlen(n->text), b);
	if (n->helper) {
		fsc_buf_puts(b, ", \"helper\": ");
		fsc_fmt_json(b, n->helper);
		fsc_buf_printf(b, ", \"retcode\": %d", n->code);
	}
	if (n->line) {
		fsc_buf_puts(b, ", \"filename\": ");
		fsc_fmt_json(b, n->file);
		fsc_buf_printf(b, ", \"line\": %u, \"col\": %u", n->line, n->column);
	}
	fsc_buf_puts(b, "}\n");
}

static void script_json_attached(size_t n, struct fsc_buf *b)
{
	fsc_buf_printf(
	    b, "{\"type\": \"attached_probes\", \"count\": %zu, \"data\": {\"probes\": %zu}}\n", n,
	    n);
}

static void script_json_bench(const char *name, uint64_t ns, uint64_t runs, bool first,
			      struct fsc_buf *b)
{
	(void)first;
	fsc_buf_puts(b, "{\"type\": \"benchmark_result\", \"data\": {");
	fsc_fmt_json(b, name);
	fsc_buf_printf(b, ": {\"average\": %llu, \"iters\": %llu}}}\n", (unsigned long long)ns,
		       (unsigned long long)runs);
}

static void script_json_lost(uint64_t n, struct fsc_buf *b)
{
	fsc_buf_printf(
	    b, "{\"type\": \"lost_events\", \"count\": %llu, \"data\": {\"events\": %llu}}\n",
	    (unsigned long long)n, (unsigned long long)n);
}

const struct fsc_script_sink fsc_script_sink_json = {
    .name = "json",
    .map = script_json_map,
    .value = script_json_value,
    .text = script_json_text,
    .note = script_json_note,
    .attached = script_json_attached,
    .bench = script_json_bench,
    .lost = script_json_lost,
};
