/* src/sink/: what each format writes for hand-made timings, to the byte, and how tables are laid
 * out. Slots are made from values whose quantiles are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sink/sink.h"
#include "sink/table.h"
#include "slots.h"

/* ---- tables ---- */

static void row(struct fsc_table *t, const char *a, const char *b, const char *c)
{
	fsc_buf_puts(fsc_table_cell(t), a);
	fsc_buf_puts(fsc_table_cell(t), b);
	fsc_buf_puts(fsc_table_cell(t), c);
}

static void check_table(unsigned width, bool rows, const char *expected)
{
	struct fsc_table t = {0};
	struct fsc_buf b = {0};

	fsc_table_column(&t, "NAME", false, true);
	fsc_table_column(&t, "N", true, false);
	fsc_table_column(&t, "LAST", false, false);
	if (rows) {
		row(&t, "a_function_with_a_name_of_42_characters__", "7", "x");
		row(&t, "\xc3\xa4\xc3\xb6", "12345", "");
	}
	fsc_table_print(&t, width, &b);
	assert_string_equal(fsc_buf_str(&b), expected);
	assert_int_equal(t.n, 0); /* empty again */
	assert_int_equal(t.n_cells, 0);
	fsc_buf_release(&b);
}

static void tables(void **state)
{
	(void)state;
	check_table(0, false, "NAME  N  LAST\n");
	check_table(0, true,
		    "NAME                                           N  LAST\n"
		    "a_function_with_a_name_of_42_characters__      7  x\n"
		    "\xc3\xa4\xc3\xb6                                         12345  \n");
	check_table(40, true,
		    "NAME                             N  LAST\n"
		    "a_function_with_a_name_of_~      7  x\n"
		    "\xc3\xa4\xc3\xb6                           12345  \n");
	/* 20 columns are left of a name, however narrow the terminal. */
	check_table(10, true,
		    "NAME                      N  LAST\n"
		    "a_function_with_a_n~      7  x\n"
		    "\xc3\xa4\xc3\xb6                    12345  \n");
}

/* ---- a sink that writes to memory ---- */

struct written {
	struct fsc_sink sink;
	char *out;
	size_t n;
};

static void begin(struct written *w, const struct fsc_sink_ops *ops)
{
	*w = (struct written){.sink = {.ops = ops}};
	w->sink.out = open_memstream(&w->out, &w->n);
	assert_non_null(w->sink.out);
}

static void end(struct written *w, const char *expected)
{
	fclose(w->sink.out);
	assert_string_equal(w->out, expected);
	free(w->out);
}

/* ---- timings ---- */

static const struct fsc_func funcs[] = {
    {.kind = "uprobe", .binary = "/usr/bin/prog", .name = "work"},
    {.kind = "uprobe",
     .binary = "/usr/bin/prog",
     .name = "ns::rest(int, char)",
     .symbol = "_ZN2ns4restEic"},
};

static const struct fsc_func hostile[] = {
    {.kind = "uprobe", .binary = "/a\nb,\"c\"", .name = "f\x1b[2J", .symbol = "s\"\\"}};

static struct fsc_latencies latencies(const struct fsc_func *f, size_t n, uint32_t by)
{
	return (struct fsc_latencies){.funcs = f,
				      .n_funcs = n,
				      .by = by,
				      .time_ns = 1700000000123456789u,
				      .rows = FSC_VEC_INIT(struct fsc_latency)};
}

/* A line with these values; corrected by 1 us each, and with a fifth of it asleep. */
static struct fsc_latency *add(struct fsc_latencies *l, uint32_t func, const uint64_t *v, size_t n)
{
	struct fsc_latency *r = fsc_latencies_add(l);

	assert_non_null(r);
	r->key.func = func;
	r->floor_ns = 900.4;
	for (size_t i = 0; i < n; i++)
		keep(r->slot, v[i]);
	r->slot->raw_total = r->slot->total + 1000 * n;
	r->slot->self_total = r->slot->total / 2;
	r->slot->off_total = r->slot->total / 5;
	r->slot->slow = n - 1;
	return r;
}

/* Each value is the least, the greatest, or alone in its bucket, so that quantiles are exact. */
static struct fsc_latencies two_lines(void)
{
	static const uint64_t work[] = {1007, 1007, 1007, 2031}, rest[] = {5, 5, 29};
	struct fsc_latencies l = latencies(funcs, 2, 0);

	add(&l, 0, work, 4);
	add(&l, 1, rest, 3);
	return l;
}

static void write_latency(struct written *w, struct fsc_latencies l)
{
	struct fsc_err err = {0};

	if (fsc_sink_latency(&w->sink, &l, &err))
		fail_msg("%s", err.msg);
	fsc_latencies_release(&l);
}

#define STAR "* at the noise floor: shorter than the 900 ns that the probes themselves take\n"

static void text_wide(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	w.sink.wide = true;
	write_latency(&w, two_lines());
	end(&w,
	    "FUNCTION               CALLS     TOTAL      MIN      AVG      P50      P90      P99"
	    "    P99.9      MAX   STDDEV\n"
	    "work                       4   5.05 us  1.01 us  1.26 us  1.01 us  2.03 us  2.03 us"
	    "  2.03 us  2.03 us   512 ns\n"
	    "ns::rest(int, char) *      3  <2.70 us  <900 ns  <900 ns  <900 ns  <900 ns  <900 ns"
	    "  <900 ns  <900 ns  13.9 ns\n" STAR);
}

/* Floors differ by row: the range is named. What is above its floor, but mostly probes, says so. */
static void text_marks(void **state)
{
	static const uint64_t v[] = {1000, 1100};
	struct fsc_latencies l = two_lines();
	struct fsc_latency *r = add(&l, 0, v, 2);
	struct written w;

	(void)state;
	r->floor_ns = 2000;
	r->slot->raw_total = 9000;
	r = add(&l, 0, v, 2);
	r->slot->raw_total = 9000;
	begin(&w, &fsc_sink_text);
	write_latency(&w, l);
	end(&w,
	    "FUNCTION               CALLS     TOTAL       AVG       P50       P90       P99       "
	    "MAX\n"
	    "work                       4   5.05 us   1.26 us   1.01 us   2.03 us   2.03 us   2.03 "
	    "us\n"
	    "ns::rest(int, char) *      3  <2.70 us   <900 ns   <900 ns   <900 ns   <900 ns   <900 "
	    "ns\n"
	    "work *                     2  <4.00 us  <2.00 us  <2.00 us  <2.00 us  <2.00 us  <2.00 "
	    "us\n"
	    "work !                     2   2.10 us   1.05 us   1.00 us   1.10 us   1.10 us   1.10 "
	    "us\n"
	    "* at the noise floor: shorter than the 900 ns to 2.00 us that the probes themselves "
	    "take\n"
	    "! mostly probes: more was subtracted for them than is left, so it is uncertain; see "
	    "--raw\n");
}

/* Without MIN, P99.9 and STDDEV, but with all that was asked for. */
static void text_narrow_with_parts(void **state)
{
	struct fsc_latencies l = two_lines();
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	w.sink.unit = FSC_UNIT_US;
	l.parts =
	    (struct fsc_latency_parts){.self = true, .off_cpu = true, .slow = true, .raw = true};
	write_latency(&w, l);
	end(&w,
	    "times in us\n"
	    "FUNCTION               CALLS   TOTAL    SELF  ON-CPU  OFF-CPU     AVG  RAW-AVG     P50"
	    "     P90     P99     MAX  SLOW\n"
	    "work                       4   5.052  <3.602   4.042    1.010   1.263    2.263   1.007"
	    "   2.031   2.031   2.031     3\n"
	    "ns::rest(int, char) *      3  <2.701  <2.701  <2.701    0.007  <0.900    1.013  <0.900"
	    "  <0.900  <0.900  <0.900     2\n" STAR);
}

static struct fsc_latencies one_line(void)
{
	static const uint64_t v[] = {5, 6, 9, 30};
	struct fsc_latencies l = latencies(funcs, 1, 0);

	add(&l, 0, v, 4)->floor_ns = 0;
	return l;
}

#define ONE_HEAD                                                                                   \
	"times in ns\n"                                                                            \
	"FUNCTION  CALLS  TOTAL  AVG  P50  P90  P99  MAX\n"                                        \
	"work          4     50   12    6   30   30   30\n"                                        \
	"min 5, p99.9 30, standard deviation 12\n"                                                 \
	"\n"                                                                                       \
	"FROM"

static void text_histogram_of_a_single_line(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	w.sink.width = 80;
	w.sink.unit = FSC_UNIT_NS;
	write_latency(&w, one_line());
	end(&w, ONE_HEAD "  TO  CALLS  \n"
			 "   4   8      2  |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
			 "   8  16      1  |@@@@@@@@@@@@@@@@@@@@                    |\n"
			 "  16  32      1  |@@@@@@@@@@@@@@@@@@@@                    |\n");
}

static void text_histogram_of_equal_bins(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	w.sink.width = 80;
	w.sink.unit = FSC_UNIT_NS;
	w.sink.linear_min = 6;
	w.sink.linear_max = 16;
	w.sink.linear_step = 5;
	write_latency(&w, one_line());
	end(&w, ONE_HEAD "   TO  CALLS  \n"
			 "   0    6      1  |@@@@@@@@@@@@@@@@@@@@                    |\n"
			 "   6   11      2  |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
			 "  11   16      0  |                                        |\n"
			 "  16  inf      1  |@@@@@@@@@@@@@@@@@@@@                    |\n");
}

/* Of several lines only where asked for, and then each says whose it is. */
static void text_histograms_of_all_lines(void **state)
{
	static const uint64_t v[] = {3};
	struct fsc_latencies l = latencies(hostile, 1, FSC_BY_COMM | FSC_BY_PID | FSC_BY_TID);
	struct fsc_latency *r;
	struct written w;

	(void)state;
	for (uint32_t i = 1; i <= 2; i++) {
		r = add(&l, 0, v, i == 1);
		r->key.pid = i;
		r->key.tid = 10 * i;
		r->floor_ns = 0;
		memcpy(r->key.comm, "a\r\nb", 5);
	}
	begin(&w, &fsc_sink_text);
	w.sink.width = 80;
	w.sink.unit = FSC_UNIT_NS;
	w.sink.histograms = true;
	write_latency(&w, l);
	end(&w, "times in ns\n"
		"COMM        PID  TID  FUNCTION  CALLS  TOTAL  AVG  P50  P90  P99  MAX\n"
		"a\\x0d\\x0ab    1   10  f\\x1b[2J      1      3    3    3    3    3    3\n"
		"a\\x0d\\x0ab    2   20  f\\x1b[2J      0      -    -    -    -    -    -\n"
		"\n"
		"f\\x1b[2J, a\\x0d\\x0ab, process 1, thread 10:\n"
		"FROM  TO  CALLS  \n"
		"   2   4      1  |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n");
}

/* What is below the floor is one bin. */
static void text_histogram_from_the_floor_on(void **state)
{
	struct fsc_latencies l = one_line();
	struct written w;

	(void)state;
	FSC_AT(struct fsc_latency, &l.rows, 0)->floor_ns = 17;
	begin(&w, &fsc_sink_text);
	w.sink.width = 80;
	w.sink.unit = FSC_UNIT_NS;
	write_latency(&w, l);
	end(&w, "times in ns\n"
		"FUNCTION  CALLS  TOTAL  AVG  P50  P90  P99  MAX\n"
		"work *        4    <68  <17  <17   30   30   30\n"
		"min <17, p99.9 30, standard deviation 12\n"
		"* at the noise floor: shorter than the 17.0 ns that the probes themselves take\n"
		"\n"
		"FROM  TO  CALLS  \n"
		"   0  16      3  |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		"  16  32      1  |@@@@@@@@@@@@@@                          |\n");
}

static void json_plain(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_json);
	write_latency(&w, two_lines());
	end(&w,
	    "{\"type\":\"latency\",\"kind\":\"uprobe\",\"binary\":\"/usr/bin/prog\","
	    "\"function\":\"work\",\"count\":4,\"total_ns\":5052,\"min_ns\":1007,\"avg_ns\":1263,"
	    "\"p50_ns\":1007,\"p90_ns\":2031,\"p99_ns\":2031,\"p999_ns\":2031,\"max_ns\":2031,"
	    "\"stddev_ns\":512,\"floor_ns\":900,\"at_floor\":false,\"mostly_probes\":false,"
	    "\"buckets\":[[992,1008,3],[2016,2048,1]]}\n"
	    "{\"type\":\"latency\",\"kind\":\"uprobe\",\"binary\":\"/usr/bin/prog\","
	    "\"function\":\"ns::rest(int, char)\",\"symbol\":\"_ZN2ns4restEic\",\"count\":3,"
	    "\"total_ns\":null,\"min_ns\":null,\"avg_ns\":null,\"p50_ns\":null,\"p90_ns\":null,"
	    "\"p99_ns\":null,\"p999_ns\":null,\"max_ns\":null,\"stddev_ns\":14,\"floor_ns\":900,"
	    "\"at_floor\":true,"
	    "\"mostly_probes\":true,"
	    "\"buckets\":[[5,6,2],[29,30,1]]}\n");
}

/* With all parts, keys and the time; a call beyond the last bucket, and a name that bites. */
static void json_of_everything(void **state)
{
	static const uint64_t v[] = {1ull << 40};
	struct fsc_latencies l = latencies(hostile, 1, FSC_BY_COMM | FSC_BY_PID | FSC_BY_CPU);
	struct fsc_latency *r = add(&l, 0, v, 1);
	struct written w;

	(void)state;
	l.parts =
	    (struct fsc_latency_parts){.self = true, .off_cpu = true, .slow = true, .raw = true};
	memcpy(r->key.comm, "a\"b", 4);
	r->key.pid = 77;
	r->key.cpu = 3;
	begin(&w, &fsc_sink_json);
	w.sink.intervals = true;
	write_latency(&w, l);
	end(&w, "{\"type\":\"latency\",\"time_ns\":1700000000123456789,\"kind\":\"uprobe\","
		"\"binary\":\"/a\\u000ab,\\\"c\\\"\",\"function\":\"f\\u001b[2J\","
		"\"symbol\":\"s\\\"\\\\\",\"comm\":\"a\\\"b\",\"pid\":77,\"cpu\":3,\"count\":1,"
		"\"total_ns\":1099511627776,\"min_ns\":1099511627776,\"avg_ns\":1099511627776,"
		"\"p50_ns\":1099511627776,\"p90_ns\":1099511627776,\"p99_ns\":1099511627776,"
		"\"p999_ns\":1099511627776,\"max_ns\":1099511627776,\"stddev_ns\":0,\"slow\":0,"
		"\"self_total_ns\":549755813888,\"self_avg_ns\":549755813888,"
		"\"on_cpu_ns\":879609302221,\"off_cpu_ns\":219902325555,"
		"\"raw_total_ns\":1099511628776,\"raw_avg_ns\":1099511628776,\"floor_ns\":900,"
		"\"at_floor\":false,\"mostly_probes\":false,\"buckets\":[[274877906944,"
		"1099511627777,1]]}\n");
}

static void csv_plain(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_csv);
	write_latency(&w, two_lines());
	write_latency(&w, latencies(funcs, 2, 0)); /* the header comes once */
	end(&w, "kind,binary,function,count,total_ns,min_ns,avg_ns,max_ns,stddev_ns,p50_ns,p90_ns,"
		"p99_ns,p999_ns,self_total_ns,off_cpu_ns,slow,floor_ns\n"
		"uprobe,/usr/bin/prog,work,4,5052,1007,1263,2031,512,1007,2031,2031,2031,2526,1010,"
		"3,900\n"
		"uprobe,/usr/bin/prog,\"ns::rest(int, char)\",3,,,,,14,,,,,19,7,2,"
		"900\n");
}

static void a_line_without_calls(void **state)
{
	struct fsc_latencies l = latencies(funcs, 1, 0);
	struct written w;

	(void)state;
	assert_non_null(fsc_latencies_add(&l));
	begin(&w, &fsc_sink_json);
	write_latency(&w, l);
	end(&w, "{\"type\":\"latency\",\"kind\":\"uprobe\",\"binary\":\"/usr/bin/prog\","
		"\"function\":\"work\",\"count\":0,\"total_ns\":0,\"min_ns\":0,\"avg_ns\":0,"
		"\"p50_ns\":0,\"p90_ns\":0,\"p99_ns\":0,\"p999_ns\":0,\"max_ns\":0,\"stddev_ns\":0,"
		"\"floor_ns\":0,\"at_floor\":false,\"mostly_probes\":false,\"buckets\":[]}\n");
}

static void timed_books(void **state)
{
	static const struct fsc_summary sum = {.seen = 10,
					       .kept = 7,
					       .lost = {{"too_deep", 2}, {"unreturned", 1}},
					       .timed = true,
					       .unmatched = 4,
					       .functions = 1,
					       .attached = 1,
					       .places = 1,
					       .via = {{"uprobe.session", 1}}};
	struct fsc_err err = {0};
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	assert_int_equal(fsc_sink_summary(&w.sink, &sum, &err), 0);
	end(&w, "\nseen 10 = kept 7 + too_deep 2 + unreturned 1; missed by the kernel 0; returns "
		"without entry 4\n"
		"1 function: 1 attached by uprobe.session, 0 refused\n"
		"cost: could not be measured\n");
	begin(&w, &fsc_sink_json);
	assert_int_equal(fsc_sink_summary(&w.sink, &sum, &err), 0);
	fflush(w.sink.out);
	assert_non_null(strstr(w.out, ",\"missed\":0,\"unmatched_returns\":4,\"unfollowed\":0,"));
	fclose(w.sink.out);
	free(w.out);
}

static void a_full_disk_is_an_error(void **state)
{
	(void)state;
	for (const struct fsc_sink_ops *const *ops = fsc_sinks; *ops; ops++) {
		struct fsc_latencies l = two_lines();
		struct fsc_sink s = {.ops = *ops};
		struct fsc_err err = {0};

		if (!s.ops->latency) {
			fsc_latencies_release(&l);
			continue;
		}
		s.out = fopen("/dev/full", "w");
		assert_non_null(s.out);
		assert_int_equal(fsc_sink_latency(&s, &l, &err), -ENOSPC);
		assert_non_null(strstr(err.msg, "cannot write"));
		fsc_latencies_release(&l);
		fclose(s.out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tables),
	    cmocka_unit_test(text_wide),
	    cmocka_unit_test(text_marks),
	    cmocka_unit_test(text_narrow_with_parts),
	    cmocka_unit_test(text_histogram_of_a_single_line),
	    cmocka_unit_test(text_histogram_of_equal_bins),
	    cmocka_unit_test(text_histograms_of_all_lines),
	    cmocka_unit_test(text_histogram_from_the_floor_on),
	    cmocka_unit_test(json_plain),
	    cmocka_unit_test(json_of_everything),
	    cmocka_unit_test(csv_plain),
	    cmocka_unit_test(a_line_without_calls),
	    cmocka_unit_test(timed_books),
	    cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
