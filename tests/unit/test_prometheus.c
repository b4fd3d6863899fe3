/* src/sink/prometheus.h: which format a scraper gets, and pages in all three that keep what the
 * formats demand: one line for each set of labels, buckets that add up, names that break nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "pb_read.h"
#include "sink/prometheus.h"
#include "snapshots.h"

#define TEXT FSC_PROMETHEUS_TEXT
#define OPEN FSC_PROMETHEUS_OPENMETRICS
#define PB   FSC_PROMETHEUS_PROTOBUF

#define PROTO                                                                                      \
	"application/"                                                                             \
	"vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

/* ---- negotiation ---- */

static void formats(void **state)
{
	static const struct {
		const char *accept;
		int want;
	} cases[] = {
	    {NULL, TEXT},
	    {"", TEXT},
	    {"*/*", TEXT},
	    {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", TEXT},
	    {PROTO ";q=0.7,application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5",
	     OPEN},
	    {PROTO
	     ",application/openmetrics-text;version=1.0.0;q=0.8,"
	     "application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,"
	     "*/*;q=0.1",
	     PB},
	    {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
	     "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
	     OPEN},
	    {"text/plain,application/openmetrics-text", OPEN},
	    {"application/openmetrics-text;q=0.3,text/plain;q=0.4", TEXT},
	    {"APPLICATION/OpenMetrics-Text ; Version=\"1.0.0\" ; Q=1", OPEN},
	    {"application/openmetrics-text;version=2.0.0,text/plain;q=0.1", TEXT},
	    {"application/openmetrics-text;version=0.0.1", TEXT},
	    {"application/vnd.google.protobuf", TEXT},
	    {"application/"
	     "vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
	     TEXT},
	    {"text/plain;q=0,*/*", OPEN},
	    {"text/plain;q=0,application/openmetrics-text;q=0," PROTO ";q=0", TEXT},
	    {"application/*", OPEN},
	    {"application/*;q=0.5,text/*;q=0.6", TEXT},
	    {"*/*;q=0.9," PROTO ";q=0.1", TEXT},
	    {"text/plain;q=nan,application/openmetrics-text;q=0.1", OPEN},
	    {"application/openmetrics-text;q=1e9,text/plain;q=0.1", TEXT},
	    {"application/openmetrics-text;q=,text/plain;q=0.1", TEXT},
	    {",,;;,=,\",;q=\"\\", TEXT},
	    {"\"unclosed,application/openmetrics-text", TEXT},
	    {"x;a=\"b\\\",c\",application/openmetrics-text", OPEN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if ((int)fsc_prometheus_choose(cases[i].accept) != cases[i].want)
			fail_msg("'%s' gets %d", cases[i].accept,
				 fsc_prometheus_choose(cases[i].accept));
}

static void types(void **state)
{
	(void)state;
	assert_string_equal(fsc_prometheus_type(TEXT), "text/plain; version=0.0.4; charset=utf-8");
	assert_string_equal(fsc_prometheus_type(OPEN),
			    "application/openmetrics-text; version=1.0.0; charset=utf-8");
	assert_string_equal(fsc_prometheus_type(PB),
			    "application/vnd.google.protobuf; "
			    "proto=io.prometheus.client.MetricFamily; encoding=delimited");
	for (int f = TEXT; f <= PB; f++)
		assert_int_equal(fsc_prometheus_choose(fsc_prometheus_type(f)), f);
}

/* ---- reading pages ---- */

static struct fsc_buf page_of(const struct fsc_snapshot *s, int format)
{
	struct fsc_buf b = {0};

	fsc_prometheus_write(s, format, &b);
	assert_false(fsc_buf_failed(&b));
	return b;
}

static void has_line(const struct fsc_buf *page, const char *line)
{
	const char *at = fsc_buf_str(page);
	size_t n = strlen(line);

	for (; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		if (!strncmp(at, line, n) && at[n] == '\n')
			return;
	fail_msg("no line '%s' in:\n%s", line, fsc_buf_str(page));
}

static size_t lines_with(const struct fsc_buf *page, const char *what)
{
	size_t n = 0;

	for (const char *at = fsc_buf_str(page); (at = strstr(at, what)); at++)
		n++;
	return n;
}

/* What every page keeps: no series twice, no control bytes, buckets ascend to the count. */
static void check_text(const struct fsc_buf *page)
{
	struct fsc_map seen = {0};
	FSC_AUTO(fsc_freep) char *copy = strdup(fsc_buf_str(page));
	unsigned long long below = 0, last = 0;
	char *rest = copy, *line;

	while ((line = strsep(&rest, "\n")) && rest) {
		char *exemplar = strstr(line, " # {"), *value;
		bool is_new;

		for (char *p = line; *p; p++)
			assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
		if (*line == '#')
			continue;
		if (exemplar)
			*exemplar = '\0';
		value = strrchr(line, ' ');
		assert_non_null(value);
		*value++ = '\0';
		assert_non_null(fsc_map_put(&seen, line, strlen(line), &is_new));
		if (!is_new)
			fail_msg("twice: %s", line);
		if (strstr(line, "le=\"1e-06\""))
			below = 0;
		if (strstr(line, ",le=\"") || strstr(line, "{le=\"")) {
			last = strtoull(value, NULL, 10);
			assert_true(last >= below);
			below = last;
		}
		if (strstr(line, "_seconds_count"))
			assert_true(last == strtoull(value, NULL, 10));
	}
	fsc_map_release(&seen);
}

/* ---- text ---- */

static void a_page_of_text(void **state)
{
	struct fsc_latencies l = snap_latencies(0);
	struct fsc_snapshot s = snapshot(&l);
	struct fsc_buf page;

	(void)state;
	s.n_labels = 1;
	page = page_of(&s, TEXT);
	check_text(&page);
	has_line(&page, "# TYPE funcscope_call_duration_seconds histogram");
	has_line(&page, "funcscope_call_duration_seconds_bucket{group=\"app\",function=\"work\","
			"binary=\"/usr/bin/prog\",dc=\"north\",le=\"1e-06\"} 100");
	has_line(&page, "funcscope_call_duration_seconds_sum{group=\"app\",function=\"work\","
			"binary=\"/usr/bin/prog\",dc=\"north\"} 0.0651");
	has_line(&page, "funcscope_call_duration_seconds_count{function=\"vfs_read\","
			"binary=\"kernel\",dc=\"north\"} 0");
	has_line(&page, "# TYPE funcscope_call_errors_total counter");
	has_line(&page, "funcscope_call_errors_total{group=\"app\",function=\"work\","
			"binary=\"/usr/bin/prog\",error=\"EINVAL\",dc=\"north\"} 3");
	has_line(&page, "funcscope_call_errors_total{group=\"app\",function=\"work\","
			"binary=\"/usr/bin/prog\",error=\"-5\",dc=\"north\"} 2");
	has_line(&page, "funcscope_slow_calls_total{group=\"app\",function=\"work\","
			"binary=\"/usr/bin/prog\",dc=\"north\"} 2");
	has_line(&page, "funcscope_calls_lost_total{reason=\"too deep\",dc=\"north\"} 3");
	has_line(&page, "funcscope_probe_cost_seconds{dc=\"north\"} 8.125e-07");
	has_line(&page, "funcscope_overhead_ratio{dc=\"north\"} 0.0125");
	has_line(&page, "funcscope_forward_dropped_total{receiver=\"otlp\",reason=\"rejected\","
			"dc=\"north\"} 4");
	has_line(&page, "funcscope_forward_up{receiver=\"alertmanager\",dc=\"north\"} 0");
	has_line(&page, "funcscope_start_time_seconds{dc=\"north\"} 1700000000");
	has_line(&page, "funcscope_build_info{version=\"" FSC_VERSION "\",dc=\"north\"} 1");
	assert_int_equal(lines_with(&page, " # {"), 0);
	assert_int_equal(lines_with(&page, "# EOF"), 0);
	fsc_buf_release(&page);
	fsc_latencies_release(&l);
}

static void hostile_names(void **state)
{
	struct fsc_latencies l = snap_latencies(FSC_BY_PID);
	struct fsc_snapshot s = snapshot(&l);

	(void)state;
	for (int f = TEXT; f <= OPEN; f++) {
		struct fsc_buf page = page_of(&s, f);

		check_text(&page);
		has_line(&page, "funcscope_slow_calls_total{group=\"g\\\\\xc3\xb6\","
				"function=\"f\\\\x1b[2J\\\"\\\\\\\\xff\\\\x0a{}<img>\","
				"binary=\"/tmp/a\\\\x0ab,\\\"c\\\"\",pid=\"7\","
				"comm=\"e\\\"\\\\x0avil\\\\xff\",dc=\"north\","
				"rack=\"r\\\"1\\\\\\\\x0a\"} 1");
		fsc_buf_release(&page);
	}
	fsc_latencies_release(&l);
}

static void nothing_at_all(void **state)
{
	const struct fsc_snapshot s = {0};
	struct fsc_latencies l = {.rows = FSC_VEC_INIT(struct fsc_latency)};

	(void)state;
	for (int f = TEXT; f <= OPEN; f++) {
		struct fsc_buf page = page_of(&s, f);

		check_text(&page);
		has_line(&page, "funcscope_processes 0");
		has_line(&page, "funcscope_config_ok 0");
		assert_int_equal(lines_with(&page, "funcscope_call_duration"), 0);
		assert_int_equal(lines_with(&page, "calls_seen"), 0);
		fsc_buf_release(&page);
	}
	for (int f = TEXT; f <= PB; f++) {
		struct fsc_snapshot empty = {.calls = &l};
		struct fsc_buf page = page_of(&empty, f);

		assert_true(page.n > 0);
		fsc_buf_release(&page);
	}
}

/* Functions 0 and 3 have the same labels; of the folded rows nothing is left but their sums. */
static void rows_become_series(void **state)
{
	struct fsc_latencies l = snap_latencies(0);
	struct fsc_snapshot s = snapshot(&l);
	const struct fsc_call_errors errors[] = {{.row = 0, .code = 1, .name = "E", .n = 1},
						 {.row = 3, .code = 1, .name = "E", .n = 2},
						 {.row = 4, .code = 1, .name = "E", .n = 4},
						 {.row = 5, .code = 2, .name = "F", .n = 8},
						 {.row = 99, .code = 2, .n = 16}};
	struct fsc_buf page;

	(void)state;
	keep(snap_row(&l, 3, 9, "x")->slot, 5000);
	for (int i = 0; i < 2; i++) {
		struct fsc_latency *row = snap_row(&l, (uint32_t)i, 50, "y");

		row->folded = true;
		row->slot->slow = 3;
		keep(row->slot, 2000);
	}
	s.errors = errors;
	s.n_errors = 5;
	s.n_labels = 1;
	page = page_of(&s, TEXT);
	check_text(&page);
	has_line(&page, "funcscope_call_duration_seconds_count{group=\"app\",function=\"work\","
			"binary=\"/usr/bin/prog\",dc=\"north\"} 113");
	has_line(&page, "funcscope_call_errors_total{group=\"app\",function=\"work\","
			"binary=\"/usr/bin/prog\",error=\"E\",dc=\"north\"} 3");
	has_line(&page, "funcscope_call_duration_seconds_count{overflow=\"true\",dc=\"north\"} 2");
	has_line(&page, "funcscope_slow_calls_total{overflow=\"true\",dc=\"north\"} 6");
	has_line(&page, "funcscope_call_errors_total{overflow=\"true\",dc=\"north\"} 12");
	has_line(&page, "funcscope_series_folded{dc=\"north\"} 2");
	assert_int_equal(lines_with(&page, "_seconds_count{"), 4);
	fsc_buf_release(&page);
	fsc_latencies_release(&l);
}

/* Names that differ only in bytes that cannot be sent as they are. */
static void names_that_look_the_same(void **state)
{
	const struct fsc_func funcs[] = {{.binary = "b", .name = "f\n"},
					 {.binary = "b", .name = "f\\x0a", .group = ""}};
	struct fsc_latencies l = {
	    .funcs = funcs, .n_funcs = 2, .rows = FSC_VEC_INIT(struct fsc_latency)};
	struct fsc_snapshot s = {.calls = &l};
	struct fsc_buf page;

	(void)state;
	keep(snap_row(&l, 0, 0, "")->slot, 1);
	keep(snap_row(&l, 1, 0, "")->slot, 1);
	page = page_of(&s, TEXT);
	check_text(&page);
	has_line(&page, "funcscope_call_duration_seconds_count{function=\"f\\\\x0a\","
			"binary=\"b\"} 2");
	fsc_buf_release(&page);
	fsc_latencies_release(&l);
}

static void labels_of_processes(void **state)
{
	static const struct fsc_label constant[] = {{"dc", "north"}, {"unit", "mine"}};
	struct fsc_latencies l = snap_labelled();
	struct fsc_snapshot s = {.calls = &l,
				 .labels = constant,
				 .n_labels = 2,
				 .labelled = true,
				 .label_sets = 2,
				 .label_sets_folded = 7};
	const char *names = "funcscope_call_duration_seconds_count{group=\"app\","
			    "function=\"work\",binary=\"/usr/bin/prog\",";

	(void)state;
	for (int by = 0; by < 2; by++) {
		struct fsc_buf page, line = {0};
		const char *pid = by ? "pid=\"0\",comm=\"\"," : "";

		l.by = by ? FSC_BY_PID | FSC_BY_COMM : 0;
		page = page_of(&s, TEXT);
		check_text(&page);
		fsc_buf_printf(&line,
			       "%scontainer=\"4f1b0a3c5d7e\",unit=\"we\\\"i\\\\rd\\\\x0a.service\","
			       "%sdc=\"north\"} 1",
			       names, pid);
		has_line(&page, fsc_buf_str(&line));
		fsc_buf_clear(&line);
		fsc_buf_printf(&line, "%scontainer=\"\",unit=\"a.service\",%sdc=\"north\"} 5",
			       names, pid);
		has_line(&page, fsc_buf_str(&line));
		assert_int_equal(lines_with(&page, "_count{"), 2);
		has_line(&page, "funcscope_label_sets{dc=\"north\",unit=\"mine\"} 2");
		has_line(&page, "funcscope_label_sets_folded_total{dc=\"north\",unit=\"mine\"} 7");
		fsc_buf_release(&line);
		fsc_buf_release(&page);
	}
	fsc_latencies_release(&l);
}

static void constant_labels_that_do_not_fit(void **state)
{
	const struct fsc_label labels[] = {
	    {"function", "x"}, {"le", "1"},  {"a b", "1"}, {"", "1"},	 {"ok", "first"},
	    {"ok", "second"},  {"9a", "1"},  {"__x", "1"}, {"a\"", "1"}, {"version", "9"},
	    {NULL, "1"},       {"n1", NULL}, {"n2", ""},
	};
	struct fsc_latencies l = snap_latencies(0);
	struct fsc_snapshot s = snapshot(&l);
	struct fsc_buf page;

	(void)state;
	s.labels = labels;
	s.n_labels = sizeof(labels) / sizeof(labels[0]);
	page = page_of(&s, TEXT);
	check_text(&page);
	has_line(&page, "funcscope_slow_calls_total{function=\"vfs_read\",binary=\"kernel\","
			"ok=\"first\",version=\"9\",n2=\"\"} 0");
	has_line(&page, "funcscope_build_info{version=\"" FSC_VERSION
			"\",function=\"x\",ok=\"first\",n2=\"\"} 1");
	fsc_buf_release(&page);
	fsc_latencies_release(&l);
}

static void receivers_of_one_name(void **state)
{
	const struct fsc_receiver_state receivers[] = {
	    {.name = "otlp", .sent = 1, .up = true}, {.name = "b"}, {.name = "otlp", .sent = 2}};
	const struct fsc_snapshot s = {.receivers = receivers, .n_receivers = 3};
	struct fsc_buf page = page_of(&s, TEXT);

	(void)state;
	check_text(&page);
	has_line(&page, "funcscope_forward_sent_total{receiver=\"otlp\"} 3");
	has_line(&page, "funcscope_forward_up{receiver=\"otlp\"} 0");
	fsc_buf_release(&page);
}

/* Its counters stay; it is neither up nor down. */
static void a_removed_receiver(void **state)
{
	const struct fsc_receiver_state receivers[] = {
	    {.name = "otlp", .sent = 4, .removed = true}};
	const struct fsc_snapshot s = {.receivers = receivers, .n_receivers = 1};
	struct fsc_buf page = page_of(&s, TEXT);

	(void)state;
	has_line(&page, "funcscope_forward_sent_total{receiver=\"otlp\"} 4");
	assert_int_equal(lines_with(&page, "funcscope_forward_up{"), 0);
	fsc_buf_release(&page);
}

static void detached_functions(void **state)
{
	static const struct fsc_func funcs[] = {{.name = "a\n\x1b", .group = "g", .binary = "/b"},
						{.name = "vfs_read", .binary = "kernel"}};
	const struct fsc_detached detached[] = {{&funcs[0], true}, {&funcs[1], false}};
	const struct fsc_snapshot s = {.detached = detached, .n_detached = 2, .series_cap = 10};
	struct fsc_buf page = page_of(&s, TEXT);

	(void)state;
	check_text(&page);
	has_line(&page, "funcscope_functions{state=\"detached\"} 1");
	has_line(&page, "funcscope_function_detached{group=\"g\",function=\"a\\\\x0a\\\\x1b\","
			"binary=\"/b\"} 1");
	has_line(&page, "funcscope_function_detached{function=\"vfs_read\",binary=\"kernel\"} 0");
	fsc_buf_release(&page);
}

/* Errors beyond the limit are one series, with those of folded rows. */
static void folded_errors(void **state)
{
	struct fsc_latencies l = snap_latencies(FSC_BY_PID);
	const struct fsc_call_errors errors[] = {{.row = 0, .code = 1, .n = 1},
						 {.row = 0, .code = 2, .n = 20, .folded = true},
						 {.row = 0, .code = 3, .n = 300, .folded = true},
						 {.row = 1, .code = 3, .n = 4000}};
	struct fsc_snapshot s = {.calls = &l, .errors = errors, .n_errors = 4};
	struct fsc_buf page;

	(void)state;
	FSC_AT(struct fsc_latency, &l.rows, 1)->folded = true;
	page = page_of(&s, TEXT);
	check_text(&page);
	has_line(&page, "funcscope_call_errors_total{overflow=\"true\"} 4320");
	assert_int_equal(lines_with(&page, "funcscope_call_errors_total{"), 2);
	has_line(&page, "funcscope_series_folded 3");
	fsc_buf_release(&page);
	fsc_latencies_release(&l);
}

static void what_is_not_known_is_left_out(void **state)
{
	struct fsc_summary books = snap_books;
	const struct fsc_snapshot s = {.books = &books};
	struct fsc_buf page;

	(void)state;
	books.cost_known = books.share_known = false;
	for (size_t i = 0; i < 12; i++) /* as many as there can be: none ends the list */
		books.lost[i] = (struct fsc_named){&"abcdefghijkl"[i], i};
	page = page_of(&s, TEXT);
	check_text(&page);
	assert_int_equal(lines_with(&page, "probe_cost"), 0);
	assert_int_equal(lines_with(&page, "overhead"), 0);
	assert_int_equal(lines_with(&page, "calls_lost_total{"), 12);
	fsc_buf_release(&page);
}

static void many_rows(void **state)
{
	struct fsc_latencies l = snap_latencies(FSC_BY_PID);
	struct fsc_snapshot s = snapshot(&l);
	struct fsc_buf page;

	(void)state;
	for (uint32_t i = 0; i < 1500; i++)
		keep(snap_row(&l, i % 3, 1000 + i, "many")->slot, 1ull << i % 40);
	page = page_of(&s, OPEN);
	check_text(&page);
	assert_int_equal(lines_with(&page, "_seconds_count{"), 1503);
	fsc_buf_release(&page);
	fsc_latencies_release(&l);
}

/* ---- OpenMetrics ---- */

static void openmetrics(void **state)
{
	struct fsc_latencies l = snap_latencies(0);
	struct fsc_snapshot s = snapshot(&l);
	struct fsc_buf page;

	(void)state;
	s.n_labels = 0;
	page = page_of(&s, OPEN);
	check_text(&page);
	has_line(&page, "# TYPE funcscope_call_errors counter");
	has_line(&page, "# UNIT funcscope_own_cpu_seconds seconds");
	has_line(&page, "funcscope_own_cpu_seconds_total 0.25");
	/* the later of two in one bucket */
	has_line(&page, "funcscope_call_duration_seconds_bucket{group=\"app\",function=\"work\","
			"binary=\"/usr/bin/prog\",le=\"0.065536\"} 112 # {call_id=\"6\",pid=\"42\","
			"tid=\"43\"} 0.025 1700000059.500");
	has_line(&page, "funcscope_call_duration_seconds_created{function=\"vfs_read\","
			"binary=\"kernel\"} 1700000000.000");
	assert_int_equal(lines_with(&page, " # {"), 2);
	assert_int_equal(lines_with(&page, "# EOF\n"), 1);
	assert_string_equal(page.s + page.n - 6, "# EOF\n");
	fsc_buf_release(&page);
	fsc_latencies_release(&l);
}

/* ---- protocol buffers ---- */

/* Counts behind the spans: all of them, as the spans say how many, and none negative. */
static uint64_t native_count(struct pb histogram)
{
	struct pb deltas = {0};
	struct pb_field f;
	uint64_t n = pb_get(histogram, 7).v, buckets = 0, given = 0;
	int64_t at = 0;

	for (size_t i = 0; pb_find(histogram, 12, i, &f); i++)
		buckets += pb_get(f.inside, 2).v;
	if (pb_find(histogram, 13, 0, &f))
		deltas = f.inside;
	for (; deltas.at < deltas.end; given++) {
		at += pb_unzigzag(pb_varint(&deltas));
		assert_true(at >= 0);
		n += (uint64_t)at;
	}
	assert_true(given == buckets);
	return n;
}

static void check_histogram(struct pb h)
{
	uint64_t count = pb_get(h, 1).v, below = 0;
	struct pb_field bucket;
	size_t n = 0;

	for (; pb_find(h, 3, n, &bucket); n++) {
		assert_true(pb_get(bucket.inside, 1).v >= below);
		below = pb_get(bucket.inside, 1).v;
	}
	assert_int_equal(n, 14);
	assert_true(below == count);
	assert_int_equal(pb_unzigzag(pb_get(h, 5).v), 3);
	assert_true(pb_double(h, 6) > 0);
	assert_true(pb_count(h, 12) > 0);
	assert_true(native_count(h) == count);
	assert_int_equal(pb_get(pb_get(h, 15).inside, 1).v, 1700000000);
}

static void protobuf(void **state)
{
	struct fsc_latencies l = snap_latencies(FSC_BY_PID);
	struct fsc_snapshot s = snapshot(&l);
	struct fsc_buf page;
	struct pb all, family;
	struct pb_field metric, f;
	size_t families = 1;

	(void)state;
	for (unsigned i = 0; i < 64; i += 5) /* with gaps, short and long ones */
		keep(FSC_AT(struct fsc_latency, &l.rows, 1)->slot, 3ull << i);
	page = page_of(&s, PB);
	all = pb_of(page.s, page.n);
	family = pb_delimited(&all);
	assert_true(pb_is(pb_get(family, 1).inside, "funcscope_call_duration_seconds"));
	assert_int_equal(pb_get(family, 3).v, 4);
	assert_int_equal(pb_count(family, 4), 3);
	for (size_t i = 0; pb_find(family, 4, i, &metric); i++)
		check_histogram(pb_get(metric.inside, 7).inside);
	metric = pb_get(family, 4);
	assert_int_equal(pb_count(metric.inside, 1), 7);
	assert_true(pb_find(metric.inside, 1, 3, &f) && pb_is(pb_get(f.inside, 1).inside, "pid"));
	assert_int_equal(pb_count(pb_get(metric.inside, 7).inside, 16), 1);
	for (; all.at < all.end; families++) {
		family = pb_delimited(&all);
		assert_true(pb_count(family, 4) > 0);
	}
	assert_int_equal(families, 28);
	fsc_buf_release(&page);
	fsc_latencies_release(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(formats),
	    cmocka_unit_test(types),
	    cmocka_unit_test(a_page_of_text),
	    cmocka_unit_test(hostile_names),
	    cmocka_unit_test(nothing_at_all),
	    cmocka_unit_test(rows_become_series),
	    cmocka_unit_test(names_that_look_the_same),
	    cmocka_unit_test(labels_of_processes),
	    cmocka_unit_test(constant_labels_that_do_not_fit),
	    cmocka_unit_test(receivers_of_one_name),
	    cmocka_unit_test(a_removed_receiver),
	    cmocka_unit_test(detached_functions),
	    cmocka_unit_test(folded_errors),
	    cmocka_unit_test(what_is_not_known_is_left_out),
	    cmocka_unit_test(many_rows),
	    cmocka_unit_test(openmetrics),
	    cmocka_unit_test(protobuf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
