/* Time series as text: a line for each interval with its value between the least and the most. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sink/script.h"

enum {
	WIDTH = 53,
	LEAST_AT = 21, /* columns for the least value; the most is at the right */
};

/* As numbers that both signed and unsigned values fit. */
typedef __int128 wide;

static wide series_number(const struct fsc_value *v)
{
	return v->kind == FSC_VALUE_UINT ? (wide)v->u : (wide)v->i;
}

unsigned fsc_script_digits(uint64_t interval_ns)
{
	static const struct {
		uint64_t unit;
		unsigned digits;
	} units[] = {{1000000000, 0}, {1000000, 3}, {1000, 6}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (interval_ns && interval_ns % units[i].unit == 0)
			return units[i].digits;
	return 9;
}

/* The least and the most, with room on both sides where they are the same. */
static void series_range(const struct fsc_value *v, wide *least, wide *most)
{
	bool any = false;

	*least = *most = 0;
	for (size_t i = 0; i < v->series.n; i++) {
		const struct fsc_value *at = &v->series.at[i].value;

		if (!at->kind)
			continue;
		if (!any || series_number(at) < *least)
			*least = series_number(at);
		if (!any || series_number(at) > *most)
			*most = series_number(at);
		any = true;
	}
	if (*least == *most) {
		bool is_unsigned = v->series.n && v->series.at[0].value.kind == FSC_VALUE_UINT;

		*least -= *least > (is_unsigned ? 0 : (wide)INT64_MIN);
		*most += *most < (is_unsigned ? (wide)UINT64_MAX : (wide)INT64_MAX);
	}
}

static void print_wide(char *text, size_t size, wide n)
{
	if (n < 0)
		snprintf(text, size, "%lld", (long long)n);
	else
		snprintf(text, size, "%llu", (unsigned long long)n);
}

static void series_scale(wide least, wide most, size_t indent, struct fsc_buf *b)
{
	char low[32], high[32];

	print_wide(low, sizeof(low), least);
	print_wide(high, sizeof(high), most);
	fsc_buf_pad(b, ' ', indent);
	fsc_buf_printf(b, "%-*s%*s\n", LEAST_AT, low, WIDTH - LEAST_AT, high);
}

static void series_time(uint64_t wall_ns, unsigned digits, struct fsc_buf *b)
{
	static const uint64_t units[] = {1000000000, 1000000, 1000, 1};
	time_t t = (time_t)(wall_ns / 1000000000);
	char text[16] = "";
	struct tm tm;

	if (localtime_r(&t, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	fsc_buf_puts(b, text);
	if (digits)
		fsc_buf_printf(b, ".%0*llu", (int)digits,
			       (unsigned long long)(wall_ns % 1000000000 / units[digits / 3]));
}

static void series_line(const struct fsc_value *v, wide least, wide most, int zero,
			struct fsc_buf *b)
{
	char line[WIDTH + 1];
	int at;

	memset(line, ' ', WIDTH);
	line[WIDTH] = '\0';
	line[0] = line[WIDTH - 1] = '|';
	if (zero > 0)
		line[zero] = '.';
	if (!v->kind) {
		fsc_buf_printf(b, "%s -\n", line);
		return;
	}
	at = most > least ? (int)((float)(WIDTH - 1) * (float)(series_number(v) - least) /
				  (float)(most - least))
			  : WIDTH / 2;
	line[at < 0 ? 0 : at >= WIDTH ? WIDTH - 1 : at] = '*';
	fsc_buf_printf(b, "%s ", line);
	fsc_script_value(&(struct fsc_script_style){0}, v, b);
	fsc_buf_putc(b, '\n');
}

void fsc_script_series(const struct fsc_value *v, struct fsc_buf *b)
{
	static const char *const heads[] = {"hh:mm:ss", "hh:mm:ss.ms", "hh:mm:ss.us",
					    "hh:mm:ss.ns"};
	unsigned digits = fsc_script_digits(v->series.n > 1 ? v->series.interval_ns : 0);
	size_t indent = strlen("hh:mm:ss ") + (digits ? digits + 1 : 0);
	char rule[WIDTH + 1];
	int zero = 0;
	wide least, most;

	if (!v->series.n) {
		fsc_buf_puts(b, "<no data>");
		return;
	}
	series_range(v, &least, &most);
	if (least < 0 && most > 0)
		zero = (int)((float)WIDTH * (float)-least / (float)(most - least));
	memset(rule, '_', WIDTH);
	rule[WIDTH] = '\0';
	series_scale(least, most, indent, b);
	rule[0] = rule[WIDTH - 1] = '|';
	fsc_buf_printf(b, "%-*s%s\n", (int)indent, heads[digits / 3], rule);
	for (size_t i = 0; i < v->series.n; i++) {
		series_time(v->series.at[i].wall_ns, digits, b);
		fsc_buf_putc(b, ' ');
		series_line(&v->series.at[i].value, least, most, zero, b);
	}
	fsc_buf_pad(b, ' ', indent);
	rule[0] = rule[WIDTH - 1] = 'v';
	fsc_buf_printf(b, "%s\n", rule);
	series_scale(least, most, indent, b);
}
