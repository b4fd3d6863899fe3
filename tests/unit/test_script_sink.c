/* src/sink/script*.c and src/model/value*.c: what a script prints, to the letter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lang/type.h"
#include "sink/script.h"

static const struct fsc_script_style plain, terminal = {.terminal = true};

static struct fsc_values arena;

static struct fsc_value text(const char *s)
{
	return fsc_value_text(&arena, s, strlen(s));
}

/* A tuple of up to three. */
static struct fsc_value tuple(size_t n, struct fsc_value a, struct fsc_value b, struct fsc_value c)
{
	struct fsc_value v = fsc_value_list(&arena, FSC_VALUE_TUPLE, n);
	const struct fsc_value parts[] = {a, b, c};

	for (size_t i = 0; i < n; i++)
		v.list.at[i] = parts[i];
	return v;
}

static void expect(struct fsc_buf *b, const char *out)
{
	assert_false(b->failed);
	assert_string_equal(fsc_buf_str(b), out);
	fsc_buf_release(b);
}

static void expect_format(const char *format, struct fsc_value v, const char *out)
{
	struct fsc_buf b = {0};

	fsc_script_format(&plain, format, strlen(format), &v, 1, &b);
	expect(&b, out);
}

static void expect_text(const char *name, struct fsc_value v, const char *out)
{
	struct fsc_buf b = {0};

	fsc_script_sink_text.map(&plain, name, &v, &b);
	expect(&b, out);
}

static void expect_json(const char *name, struct fsc_value v, const char *out)
{
	struct fsc_buf b = {0};

	fsc_script_sink_json.map(&plain, name, &v, &b);
	expect(&b, out);
}

static void numbers_are_formatted_as_in_c(void **state)
{
	(void)state;
	expect_format("%d", fsc_value_int(-5), "-5");
	expect_format("[%5d]", fsc_value_int(42), "[   42]");
	expect_format("[%-5d]", fsc_value_int(42), "[42   ]");
	expect_format("%05d", fsc_value_int(42), "00042");
	expect_format("%+d", fsc_value_int(42), "+42");
	expect_format("%llu", fsc_value_uint(UINT64_MAX), "18446744073709551615");
	expect_format("%x %%", fsc_value_uint(255), "ff %");
	expect_format("%#X", fsc_value_uint(255), "0XFF");
	expect_format("%x %%", fsc_value_uint(0x12345678abcdef), "78abcdef %");
	expect_format("%d", fsc_value_uint(0x12345678abcdef), "2024525295");
	expect_format("%lx", fsc_value_uint(0x12345678abcdef), "12345678abcdef");
	expect_format("%jx", fsc_value_uint(0x12345678abcdef), "12345678abcdef");
	expect_format("%zd", fsc_value_int(INT64_MIN), "-9223372036854775808");
	expect_format("%hhd", fsc_value_uint(300), "44");
	expect_format("%hu", fsc_value_int(-1), "65535");
	expect_format("%o", fsc_value_uint(8), "10");
	expect_format("%c", fsc_value_uint('A'), "A");
	expect_format("%p", fsc_value_uint(4096), "0x1000");
	expect_format("[%5d]", fsc_value_bool(true), "[    1]");
	expect_format("%.4d", fsc_value_int(7), "0007");
	expect_format("%d", fsc_value_symbol(&arena, "TWO", 2), "2");
	expect_format("%99999d", fsc_value_symbol(&arena, "TWO", 2) /* the width is cut */, ({
			      static char wide[4097];
			      memset(wide, ' ', 4095);
			      wide[4095] = '2';
			      wide;
		      }));
}

static void allocation_flags_have_names(void **state)
{
	(void)state;
	expect_format("%gr", fsc_value_uint(1), "GFP_DMA");
	expect_format("%gr", fsc_value_uint(0xcc0), "GFP_KERNEL");
	expect_format("%gr", fsc_value_uint(0x820 | 0x2), "GFP_ATOMIC|__GFP_HIGHMEM");
	expect_format("%gr", fsc_value_uint(0x40 | 0x1ull << 40), "__GFP_IO|0x10000000000");
	expect_format("%gr", fsc_value_uint(0), "0");
	expect_format("[%9gr]", fsc_value_uint(1), "[  GFP_DMA]");
}

static void texts_are_padded_and_cut(void **state)
{
	(void)state;
	expect_format("[%10s]", text("hi"), "[        hi]");
	expect_format("[%-10s]", text("hi"), "[hi        ]");
	expect_format("[%.3s]", text("hello"), "[hel]");
	expect_format("[%10s]", tuple(2, fsc_value_int(1), fsc_value_int(2), text("")),
		      "[    (1, 2)]");
	expect_format("%s", fsc_value_symbol(&arena, "TWO", 2), "TWO");
	expect_format("[%5s]", fsc_value_bool(true), "[ true]");
	expect_format("%d", text("no number"), "no number");
	expect_format("%s", (struct fsc_value){0}, "null");
}

static void bytes_have_three_forms(void **state)
{
	(void)state;
	expect_format("%r", fsc_value_bytes(&arena, "ab\001\0", 4), "ab\\x01\\x00");
	expect_format("%rx", fsc_value_bytes(&arena, "ab\001\0", 4), "\\x61\\x62\\x01\\x00");
	expect_format("%rh", fsc_value_bytes(&arena, "ab\001\0", 4), "61 62 01 00");
	expect_format("[%8r]", fsc_value_bytes(&arena, "ab", 2), "[      ab]");
}

static void what_is_no_conversion_stays(void **state)
{
	struct fsc_buf b = {0};
	const struct fsc_value one = fsc_value_int(1);

	(void)state;
	expect_format("100%", one, "100%");
	expect_format("%y %d", one, "%y 1");
	expect_format("a%", one, "a%");
	fsc_script_format(&plain, "%d %d\n", 6, &one, 1, &b);
	expect(&b, "1 \n");
	fsc_script_format(&plain, "a\0%d", 4, &one, 1, &b);
	assert_int_equal(b.n, 3);
	assert_memory_equal(b.s,
			    "a\0"
			    "1",
			    3);
	fsc_buf_release(&b);
}

static void a_terminal_is_not_commanded(void **state)
{
	struct fsc_value v = text("a\x1b[2Jb\n\tc");
	struct fsc_buf b = {0};

	(void)state;
	fsc_script_value(&terminal, &v, &b);
	expect(&b, "a\\x1b[2Jb\n\tc");
	fsc_script_value(&plain, &v, &b);
	expect(&b, "a\x1b[2Jb\n\tc");
	v = fsc_value_text(&arena, "a\0b", 3);
	fsc_script_value(&terminal, &v, &b);
	expect(&b, "a\\x00b");
}

static struct fsc_value map(size_t n)
{
	return fsc_value_list(&arena, FSC_VALUE_MAP, n);
}

static void maps_are_lines(void **state)
{
	struct fsc_value v = map(2);

	(void)state;
	v.list.keys[0] = tuple(2, fsc_value_int(1), text("x y"), text(""));
	v.list.at[0] = fsc_value_uint(5);
	v.list.keys[1] = tuple(2, tuple(2, fsc_value_int(1), fsc_value_int(2), text("")),
			       fsc_value_int(3), text(""));
	v.list.at[1] = tuple(2, fsc_value_int(4), text("e"), text(""));
	expect_text("@a", v, "@a[1, x y]: 5\n@a[(1, 2), 3]: (4, e)\n");
	expect_json(
	    "@a", v,
	    "{\"type\": \"map\", \"data\": {\"@a\": {\"1,xy\": 5, \"(1,2),3\": [4,\"e\"]}}}\n");
	expect_text("@", fsc_value_int(-1), "@: -1\n");
	expect_json("@", fsc_value_int(-1), "{\"type\": \"map\", \"data\": {\"@\": -1}}\n");
	expect_text("@", map(0), "");
	expect_json("@", map(0), "{\"type\": \"map\", \"data\": {\"@\": {}}}\n");
}

static void json_numbers_survive_readers(void **state)
{
	(void)state;
	expect_json("@", fsc_value_uint(UINT64_MAX),
		    "{\"type\": \"map\", \"data\": {\"@\": \"18446744073709551615\"}}\n");
	expect_json("@", fsc_value_int(INT64_MAX),
		    "{\"type\": \"map\", \"data\": {\"@\": \"9223372036854775807\"}}\n");
	expect_json("@", fsc_value_int(INT64_MIN),
		    "{\"type\": \"map\", \"data\": {\"@\": -9223372036854775808}}\n");
	expect_json("@", fsc_value_uint((1ull << 53) + 1),
		    "{\"type\": \"map\", \"data\": {\"@\": \"9007199254740993\"}}\n");
	expect_json("@", fsc_value_symbol(&arena, "0x10", 16),
		    "{\"type\": \"map\", \"data\": {\"@\": 16}}\n");
	expect_json("@", fsc_value_bytes(&arena, "a\xff", 2),
		    "{\"type\": \"map\", \"data\": {\"@\": [97,-1]}}\n");
	expect_json("@", text("q\"\\\n"),
		    "{\"type\": \"map\", \"data\": {\"@\": \"q\\\"\\\\\\n\"}}\n");
	expect_json("@", fsc_value_text(&arena, "a\0b\0", 4),
		    "{\"type\": \"map\", \"data\": {\"@\": \"a\\u0000b\\u0000\"}}\n");
}

static void records_have_names(void **state)
{
	struct fsc_value v = fsc_value_list(&arena, FSC_VALUE_RECORD, 2);

	(void)state;
	v.list.names[0] = "count";
	v.list.names[1] = "average";
	v.list.at[0] = fsc_value_uint(2);
	v.list.at[1] = fsc_value_int(-2);
	v.stats = true;
	expect_text("@st", v, "@st: { .count = 2, .average = -2 }\n");
	expect_json(
	    "@st", v,
	    "{\"type\": \"stats\", \"data\": {\"@st\": {\"count\": 2, \"average\": -2}}}\n");
	expect_text("@", fsc_value_list(&arena, FSC_VALUE_RECORD, 0), "@: {}\n");
}

#define FULL "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"
#define NONE "                                                    "

static void histograms_have_bars(void **state)
{
	uint64_t counts[80] = {0};
	static const int64_t values[] = {5, -1, 0, 2000};
	struct fsc_value v;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		counts[fsc_v_hist_bucket(values[i], 0)]++;
	v = fsc_value_hist(&arena, counts, fsc_v_hist_buckets(0), 0);
	expect_text("@h", v,
		    "@h:\n"
		    "(..., 0)               1 |" FULL "|\n"
		    "[0]                    1 |" FULL "|\n"
		    "[1]                    0 |" NONE "|\n"
		    "[2, 4)                 0 |" NONE "|\n"
		    "[4, 8)                 1 |" FULL "|\n"
		    "[8, 16)                0 |" NONE "|\n"
		    "[16, 32)               0 |" NONE "|\n"
		    "[32, 64)               0 |" NONE "|\n"
		    "[64, 128)              0 |" NONE "|\n"
		    "[128, 256)             0 |" NONE "|\n"
		    "[256, 512)             0 |" NONE "|\n"
		    "[512, 1K)              0 |" NONE "|\n"
		    "[1K, 2K)               1 |" FULL "|\n\n");
	memset(counts, 0, sizeof(counts));
	counts[fsc_v_hist_bucket(2, 0)] = 4;
	counts[fsc_v_hist_bucket(0, 0)] = 1;
	v = fsc_value_hist(&arena, counts, fsc_v_hist_buckets(0), 0);
	expect_json(
	    "@h", v,
	    "{\"type\": \"hist\", \"data\": {\"@h\": [{\"min\": 0, \"max\": 0, \"count\": 1},"
	    "{\"min\": 1, \"max\": 1, \"count\": 0},{\"min\": 2, \"max\": 3, \"count\": 4}]}}\n");
	expect_text("@none", fsc_value_hist(&arena, counts, 0, 0), "@none:\n\n");
}

/* Each bucket is as wide as the arithmetic that fills it says. */
static void limits_are_those_of_the_buckets(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits <= 5; bits++) {
		unsigned n = fsc_v_hist_buckets(bits);
		uint64_t *counts = calloc(n, sizeof(*counts));
		struct fsc_value v;

		assert_non_null(counts);
		for (unsigned i = 0; i < n; i++)
			counts[i] = i + 1;
		v = fsc_value_hist(&arena, counts, n, bits);
		assert_int_equal(v.hist.n, n);
		for (unsigned i = 1; i < n; i++) {
			uint64_t low;

			assert_true(fsc_value_number(&v.hist.at[i].min, &low));
			assert_int_equal(low, fsc_v_hist_low(i, bits));
			assert_int_equal(v.hist.at[i].count, i + 1);
		}
		free(counts);
		fsc_values_reset(&arena);
	}
}

static void linear_histograms_end_where_told(void **state)
{
	uint64_t counts[12] = {1, 1, [11] = 1};
	struct fsc_value v = fsc_value_lhist(&arena, counts, 12, 0, 100, 10);

	(void)state;
	expect_json(
	    "@l", v,
	    "{\"type\": \"hist\", \"data\": {\"@l\": [{\"max\": -1, \"count\": 1},"
	    "{\"min\": 0, \"max\": 9, \"count\": 1},{\"min\": 10, \"max\": 19, \"count\": 0},"
	    "{\"min\": 20, \"max\": 29, \"count\": 0},{\"min\": 30, \"max\": 39, \"count\": 0},"
	    "{\"min\": 40, \"max\": 49, \"count\": 0},{\"min\": 50, \"max\": 59, \"count\": 0},"
	    "{\"min\": 60, \"max\": 69, \"count\": 0},{\"min\": 70, \"max\": 79, \"count\": 0},"
	    "{\"min\": 80, \"max\": 89, \"count\": 0},{\"min\": 90, \"max\": 99, \"count\": 0},"
	    "{\"min\": 100, \"count\": 1}]}}\n");
	memset(counts, 0, sizeof(counts));
	counts[5] = 1;
	v = fsc_value_lhist(&arena, counts, 12, 0, 10240, 1024);
	expect_text("@l", v, "@l:\n[4K, 5K)               1 |" FULL "|\n\n");
	memset(counts, 0, sizeof(counts));
	counts[11] = 1;
	v = fsc_value_lhist(&arena, counts, 12, 0, 10, 1);
	expect_text("@l", v, "@l:\n[10, ...)              1 |" FULL "|\n\n");
	counts[3] = 2;
	v = fsc_value_lhist(&arena, counts, 4, 0, 10, 1);
	expect_text("@l", v, "@l:\n[2]                    2 |" FULL "|\n\n");
}

static void percentiles_are_limits(void **state)
{
	static const struct fsc_script_style asked = {.percentiles = true};
	uint64_t counts[80] = {0};
	struct fsc_buf b = {0};
	struct fsc_value v;

	(void)state;
	counts[fsc_v_hist_bucket(1, 0)] = 50;
	counts[fsc_v_hist_bucket(5, 0)] = 40;
	counts[fsc_v_hist_bucket(2000, 0)] = 10;
	v = fsc_value_hist(&arena, counts, fsc_v_hist_buckets(0), 0);
	fsc_script_value(&asked, &v, &b);
	assert_non_null(strstr(fsc_buf_str(&b), "|\np50 1, p90 < 8, p99 < 2K\n"));
	fsc_buf_release(&b);
}

static void series_are_drawn(void **state)
{
	struct fsc_moment at[3] = {
	    {.wall_ns = 1763492722100000000, .value = fsc_value_int(-1)},
	    {.wall_ns = 1763492722200000000},
	    {.wall_ns = 1763492722300000000, .value = fsc_value_int(20)},
	};
	struct fsc_value v = {.kind = FSC_VALUE_SERIES,
			      .series = {.at = at, .n = 3, .interval_ns = 100000000}};

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	expect_text("@t", v,
		    "@t:\n"
		    "             -1                                                 20\n"
		    "hh:mm:ss.ms  |___________________________________________________|\n"
		    "19:05:22.100 * .                                                 | -1\n"
		    "19:05:22.200 | .                                                 | -\n"
		    "19:05:22.300 | .                                                 * 20\n"
		    "             v___________________________________________________v\n"
		    "             -1                                                 20\n\n");
	v.series.n = 1;
	at[0].value = fsc_value_uint(5);
	expect_text("@t", v,
		    "@t:\n"
		    "                   4                                                   6\n"
		    "hh:mm:ss.ns        |___________________________________________________|\n"
		    "19:05:22.100000000 |                         *                         | 5\n"
		    "                   v___________________________________________________v\n"
		    "                   4                                                   6\n\n");
	expect_json("@t", v,
		    "{\"type\": \"tseries\", \"data\": {\"@t\": [{\"interval_start\":\"2025-11-18 "
		    "19:05:22.100000000\",\"value\":5}]}}\n");
	assert_int_equal(fsc_script_digits(1000000000), 0);
	assert_int_equal(fsc_script_digits(1500000), 6);
	assert_int_equal(fsc_script_digits(7), 9);
}

static void notes_show_their_place(void **state)
{
	const struct fsc_script_note n = {.level = FSC_SCRIPT_ERROR,
					  .type = "errorf",
					  .text = "bad 5",
					  .file = "stdin",
					  .line = 1,
					  .column = 9,
					  .column_end = 20};
	struct fsc_script_note helper = {.type = "helper_error",
					 .text = "gone",
					 .file = "stdin",
					 .line = 1,
					 .column = 3,
					 .column_end = 6,
					 .source = "a bcd e",
					 .helper = "map_delete_elem",
					 .code = -2};
	struct fsc_buf b = {0};

	(void)state;
	fsc_script_sink_text.note(&n, &b);
	expect(&b, "stdin:1:9-20: ERROR: bad 5\n");
	fsc_script_sink_json.note(&n, &b);
	expect(&b,
	       "{\"type\": \"errorf\", \"msg\": \"bad 5\", \"filename\": \"stdin\", \"line\": 1, "
	       "\"col\": 9}\n");
	fsc_script_sink_text.note(&helper, &b);
	expect(&b, "stdin:1:3-6: WARNING: gone\nAdditional Info - helper: map_delete_elem, "
		   "retcode: -2\na bcd e\n  ~~~\n");
	fsc_script_sink_text.attached(1, &b);
	fsc_script_sink_text.attached(2, &b);
	expect(&b, "Attached 1 probe\nAttached 2 probes\n");
}

static int release_arena(void **state)
{
	(void)state;
	fsc_values_release(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_are_formatted_as_in_c),
	    cmocka_unit_test(allocation_flags_have_names),
	    cmocka_unit_test(texts_are_padded_and_cut),
	    cmocka_unit_test(bytes_have_three_forms),
	    cmocka_unit_test(what_is_no_conversion_stays),
	    cmocka_unit_test(a_terminal_is_not_commanded),
	    cmocka_unit_test(maps_are_lines),
	    cmocka_unit_test(json_numbers_survive_readers),
	    cmocka_unit_test(records_have_names),
	    cmocka_unit_test(histograms_have_bars),
	    cmocka_unit_test(limits_are_those_of_the_buckets),
	    cmocka_unit_test(linear_histograms_end_where_told),
	    cmocka_unit_test(percentiles_are_limits),
	    cmocka_unit_test(series_are_drawn),
	    cmocka_unit_test(notes_show_their_place),
	};

	return cmocka_run_group_tests(tests, NULL, release_arena);
}
