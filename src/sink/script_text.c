/* The text format of scripts. Tables of maps are lines of "@name[key]: value". */
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "sink/script.h"

enum { BAR = 52 };

/* A text from outside on a terminal: new lines and tabs are the text's own. */
static void text_add_safely(const struct fsc_value *v, struct fsc_buf *b)
{
	const char *s = v->text.s, *end = s + v->text.n;

	while (s < end) {
		const char *stop = s + strcspn(s, "\n\t");
		char kept = *stop;

		if (stop > s) {
			char *part = strndup(s, (size_t)(stop - s));

			if (!part) {
				b->failed = true;
				return;
			}
			fsc_fmt_term(b, part);
			free(part);
		}
		if (stop >= end)
			return;
		if (kept)
			fsc_buf_putc(b, kept);
		else
			fsc_buf_puts(b, "\\x00");
		s = stop + 1;
	}
}

static void text_bytes(const struct fsc_value *v, struct fsc_buf *b)
{
	for (size_t i = 0; i < v->text.n; i++) {
		unsigned char c = (unsigned char)v->text.s[i];

		if (c >= 32 && c <= 126)
			fsc_buf_putc(b, (char)c);
		else
			fsc_buf_printf(b, "\\x%02x", c);
	}
}

static void text_list(const struct fsc_script_style *s, const struct fsc_value *v, const char *open,
		      const char *between, const char *close, struct fsc_buf *b)
{
	fsc_buf_puts(b, open);
	for (size_t i = 0; i < v->list.n; i++) {
		if (i)
			fsc_buf_puts(b, between);
		fsc_script_value(s, &v->list.at[i], b);
	}
	fsc_buf_puts(b, close);
}

static void text_record(const struct fsc_script_style *s, const struct fsc_value *v,
			struct fsc_buf *b)
{
	if (!v->list.n) {
		fsc_buf_puts(b, "{}");
		return;
	}
	fsc_buf_puts(b, "{ ");
	for (size_t i = 0; i < v->list.n; i++) {
		const char *name = v->list.names[i];

		fsc_buf_printf(b, "%s.%s = ", i ? ", " : "", name ? name : "");
		fsc_script_value(s, &v->list.at[i], b);
	}
	fsc_buf_puts(b, " }");
}

/* Numbers without a unit that follow each other are one number. */
static bool is_one_number(const struct fsc_bucket *bucket)
{
	return (bucket->min.kind == FSC_VALUE_INT || bucket->min.kind == FSC_VALUE_UINT) &&
	       bucket->min.kind == bucket->max.kind && bucket->min.u + 1 == bucket->max.u;
}

static void text_limits(const struct fsc_bucket *bucket, struct fsc_buf *b)
{
	static const struct fsc_script_style plain;

	if (!bucket->min.kind) {
		fsc_buf_puts(b, "(..., ");
	} else {
		fsc_buf_putc(b, '[');
		fsc_script_value(&plain, &bucket->min, b);
		if (is_one_number(bucket)) {
			fsc_buf_putc(b, ']');
			return;
		}
		fsc_buf_puts(b, ", ");
	}
	if (!bucket->max.kind)
		fsc_buf_puts(b, "...");
	else
		fsc_script_value(&plain, &bucket->max, b);
	fsc_buf_putc(b, ')');
}

static void text_hist(const struct fsc_value *v, struct fsc_buf *b)
{
	uint64_t most = 1;

	for (size_t i = 0; i < v->hist.n; i++)
		if (v->hist.at[i].count > most)
			most = v->hist.at[i].count;
	for (size_t i = 0; i < v->hist.n; i++) {
		const struct fsc_bucket *bucket = &v->hist.at[i];
		size_t bar = (size_t)((float)bucket->count / (float)most * BAR), begun = b->n;

		text_limits(bucket, b);
		if (b->n - begun < 16)
			fsc_buf_pad(b, ' ', 16 - (b->n - begun));
		fsc_buf_printf(b, "%8llu |", (unsigned long long)bucket->count);
		fsc_buf_pad(b, '@', bar);
		fsc_buf_pad(b, ' ', BAR - bar);
		fsc_buf_puts(b, "|\n");
	}
}

/* Where in its bucket a value lies is not known: the bucket's upper limit is what it was below. */
static void text_percentiles(const struct fsc_value *v, struct fsc_buf *b)
{
	static const struct fsc_script_style plain;
	static const unsigned percents[] = {50, 90, 99};
	uint64_t all = 0;

	for (size_t i = 0; i < v->hist.n; i++)
		all += v->hist.at[i].count;
	for (size_t p = 0; all && p < sizeof(percents) / sizeof(percents[0]); p++) {
		uint64_t rank = (uint64_t)((__uint128_t)all * percents[p] / 100), below = 0;
		size_t i = 0;

		rank += (__uint128_t)all * percents[p] % 100 != 0;
		while (i + 1 < v->hist.n && below + v->hist.at[i].count < rank)
			below += v->hist.at[i++].count;
		fsc_buf_printf(b, "%sp%u ", p ? ", " : "", percents[p]);
		if (is_one_number(&v->hist.at[i])) {
			fsc_script_value(&plain, &v->hist.at[i].min, b);
		} else if (v->hist.at[i].max.kind) {
			fsc_buf_puts(b, "< ");
			fsc_script_value(&plain, &v->hist.at[i].max, b);
		} else {
			fsc_buf_puts(b, ">= ");
			fsc_script_value(&plain, &v->hist.at[i].min, b);
		}
	}
	if (all)
		fsc_buf_putc(b, '\n');
}

static void text_map_lines(const struct fsc_script_style *s, const char *name,
			   const struct fsc_value *v, struct fsc_buf *b);

void fsc_script_value(const struct fsc_script_style *s, const struct fsc_value *v,
		      struct fsc_buf *b)
{
	switch (v->kind) {
	case FSC_VALUE_NONE:
		fsc_buf_puts(b, "null");
		break;
	case FSC_VALUE_INT:
		fsc_buf_printf(b, "%lld", (long long)v->i);
		break;
	case FSC_VALUE_UINT:
		fsc_buf_printf(b, "%llu", (unsigned long long)v->u);
		break;
	case FSC_VALUE_BOOL:
		fsc_buf_puts(b, v->b ? "true" : "false");
		break;
	case FSC_VALUE_TEXT:
		if (s->terminal)
			text_add_safely(v, b);
		else
			fsc_buf_add(b, v->text.s, v->text.n);
		break;
	case FSC_VALUE_SYMBOL:
		fsc_buf_add(b, v->text.s, v->text.n);
		break;
	case FSC_VALUE_BYTES:
		text_bytes(v, b);
		break;
	case FSC_VALUE_ARRAY:
		text_list(s, v, "[", ",", "]", b);
		break;
	case FSC_VALUE_TUPLE:
		text_list(s, v, "(", ", ", ")", b);
		break;
	case FSC_VALUE_RECORD:
		text_record(s, v, b);
		break;
	case FSC_VALUE_HIST:
		text_hist(v, b);
		if (s->percentiles)
			text_percentiles(v, b);
		break;
	case FSC_VALUE_SERIES:
		fsc_script_series(v, b);
		break;
	case FSC_VALUE_MAP:
		text_map_lines(s, "", v, b);
		break;
	}
}

void fsc_script_key(const struct fsc_script_style *s, const struct fsc_value *v, struct fsc_buf *b)
{
	if (v->kind == FSC_VALUE_TUPLE)
		text_list(s, v, "", ", ", "", b);
	else
		fsc_script_value(s, v, b);
}

static bool is_block(const struct fsc_value *v)
{
	return v->kind == FSC_VALUE_HIST || v->kind == FSC_VALUE_SERIES;
}

/* After a histogram there is an empty line. */
static void text_map_lines(const struct fsc_script_style *s, const char *name,
			   const struct fsc_value *v, struct fsc_buf *b)
{
	for (size_t i = 0; i < v->list.n; i++) {
		fsc_buf_printf(b, "%s[", name);
		fsc_script_key(s, &v->list.keys[i], b);
		fsc_buf_puts(b, is_block(&v->list.at[i]) ? "]:\n" : "]: ");
		fsc_script_value(s, &v->list.at[i], b);
		fsc_buf_putc(b, '\n');
	}
}

static void script_text_map(const struct fsc_script_style *s, const char *name,
			    const struct fsc_value *v, struct fsc_buf *b)
{
	if (v->kind == FSC_VALUE_MAP) {
		text_map_lines(s, name, v, b);
		return;
	}
	fsc_buf_printf(b, "%s:%s", name, is_block(v) ? "\n" : " ");
	fsc_script_value(s, v, b);
	fsc_buf_putc(b, '\n');
}

static void script_text_value(const struct fsc_script_style *s, const struct fsc_value *v,
			      struct fsc_buf *b)
{
	fsc_script_value(s, v, b);
	fsc_buf_putc(b, '\n');
}

static void script_text_text(enum fsc_script_text what, const char *s, size_t n, struct fsc_buf *b)
{
	fsc_buf_add(b, s, n);
	if (what == FSC_SCRIPT_JOIN || what == FSC_SCRIPT_SYSTEM)
		fsc_buf_putc(b, '\n');
}

static void script_text_note(const struct fsc_script_note *n, struct fsc_buf *b)
{
	if (n->line)
		fsc_buf_printf(b, "%s:%u:%u-%u: ", n->file, n->line, n->column, n->column_end);
	fsc_buf_puts(b, n->level == FSC_SCRIPT_ERROR ? "ERROR: " : "WARNING: ");
	fsc_buf_puts(b, n->text);
	if (n->helper)
		fsc_buf_printf(b, "\nAdditional Info - helper: %s, retcode: %d", n->helper,
			       n->code);
	fsc_buf_putc(b, '\n');
	if (!n->source || !n->line)
		return;
	fsc_buf_printf(b, "%s\n", n->source);
	fsc_buf_pad(b, ' ', n->column - 1);
	fsc_buf_pad(b, '~', n->column_end > n->column ? n->column_end - n->column : 1);
	fsc_buf_putc(b, '\n');
}

static void script_text_attached(size_t n, struct fsc_buf *b)
{
	fsc_buf_printf(b, "Attached %zu probe%s\n", n, n == 1 ? "" : "s");
}

static void script_text_bench(const char *name, uint64_t ns, uint64_t runs, bool first,
			      struct fsc_buf *b)
{
	if (first) {
		fsc_buf_printf(b, "%-41s%-15s%s\n", "Benchmark", "Time(ns)", "Iterations");
		fsc_buf_pad(b, '-', 66);
		fsc_buf_putc(b, '\n');
	}
	fsc_buf_printf(b, "%-41s%-15llu%llu\n", name, (unsigned long long)ns,
		       (unsigned long long)runs);
}

static void script_text_lost(uint64_t n, struct fsc_buf *b)
{
	fsc_buf_printf(b, "Lost %llu events\n", (unsigned long long)n);
}

static void script_text_end(struct fsc_buf *b)
{
	fsc_buf_puts(b, "\n\n");
}

const struct fsc_script_sink fsc_script_sink_text = {
    .name = "text",
    .notes_aside = true,
    .map = script_text_map,
    .value = script_text_value,
    .text = script_text_text,
    .note = script_text_note,
    .attached = script_text_attached,
    .bench = script_text_bench,
    .lost = script_text_lost,
    .end = script_text_end,
};

const struct fsc_script_sink *const fsc_script_sinks[] = {&fsc_script_sink_text,
							  &fsc_script_sink_json, NULL};
const char *const fsc_script_sink_names[] = {"text", "json", NULL};
