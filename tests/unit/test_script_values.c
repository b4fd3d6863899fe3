/* src/source/script_values.c, script_merge.c, script_names.c: bytes of every type become the values
 * that are printed, and what several CPUs have stored becomes one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.h"
#include "sink/script.h"
#include "source/script_priv.h"

static const char *const texts[] = {"%Y-%m-%d %H:%M:%S.%f", "100%% %f", "un*"};
static const struct fsc_plan plan = {
    .texts = texts, .n_texts = 3, .config = {.str_trunc_trailer = ".."}};
static struct fsc_readings r = {.plan = &plan};

static void expect(const struct fsc_value *v, const char *out)
{
	static const struct fsc_script_style plain;
	struct fsc_buf b = {0};

	fsc_script_value(&plain, v, &b);
	assert_string_equal(fsc_buf_str(&b), out);
	fsc_buf_release(&b);
}

static void expect_shown(const struct fsc_vtype *t, const void *bytes, const char *out)
{
	struct fsc_err err = {0};
	struct fsc_value v;

	assert_int_equal(fsc_readings_value(&r, t, bytes, &v, &err), 0);
	expect(&v, out);
}

static void integers_have_width_and_sign(void **state)
{
	static const int64_t minus = -5;

	(void)state;
	for (uint64_t size = 1; size <= 8; size *= 2)
		expect_shown(
		    &(struct fsc_vtype){.kind = FSC_V_INT, .size = size, .is_signed = true}, &minus,
		    "-5");
	expect_shown(&(struct fsc_vtype){.kind = FSC_V_INT, .size = 1}, &minus, "251");
	expect_shown(&(struct fsc_vtype){.kind = FSC_V_INT, .size = 8}, &minus,
		     "18446744073709551611");
	expect_shown(&(struct fsc_vtype){.kind = FSC_V_BOOL, .size = 1}, "\1", "true");
	expect_shown(&(struct fsc_vtype){.kind = FSC_V_POINTER, .size = 8}, &(uint64_t){4096},
		     "0x1000");
}

static void enumerators_have_names(void **state)
{
	static const struct fsc_venumerator names[] = {{"ONE", 1}, {"MINUS", -1}};
	const struct fsc_vtype t = {.kind = FSC_V_INT,
				    .size = 4,
				    .is_signed = true,
				    .enumerators = names,
				    .n_enumerators = 2};

	(void)state;
	expect_shown(&t, &(int32_t){1}, "ONE");
	expect_shown(&t, &(int32_t){-1}, "MINUS");
	expect_shown(&t, &(int32_t){7}, "7");
}

static void strings_that_were_cut_say_so(void **state)
{
	const struct fsc_vtype t = {.kind = FSC_V_STRING, .size = 4};

	(void)state;
	r.cut = 0;
	expect_shown(&t, "abc", "abc");
	assert_int_equal(r.cut, 0);
	expect_shown(&t, "abcdef", "abcd..");
	assert_int_equal(r.cut, 1);
}

static void buffers_keep_to_their_memory(void **state)
{
	const struct fsc_vtype t = {.kind = FSC_V_BUFFER, .size = 8};
	struct {
		struct fsc_v_buffer head;
		char bytes[4];
	} b = {{2}, "ab\1c"};

	(void)state;
	expect_shown(&t, &b, "ab");
	b.head.length = 1000;
	expect_shown(&t, &b, "ab\\x01c");
}

/* struct { int a; char b[4]; unsigned c : 3, d : 5; struct { short x[2]; } in; } */
static void records_have_members(void **state)
{
	static const struct fsc_vtype
	    i32 = {.kind = FSC_V_INT, .size = 4, .is_signed = true},
	    u32 = {.kind = FSC_V_INT, .size = 4},
	    i16 = {.kind = FSC_V_INT, .size = 2, .is_signed = true},
	    letter = {.kind = FSC_V_INT, .size = 1, .is_signed = true, .is_char = true},
	    name = {.kind = FSC_V_ARRAY, .size = 4, .to = &letter, .n = 4},
	    pair = {.kind = FSC_V_ARRAY, .size = 4, .to = &i16, .n = 2};
	static const struct fsc_vfield inner[] = {{.name = "x", .type = &pair}};
	static const struct fsc_vtype in = {
	    .kind = FSC_V_RECORD, .size = 4, .fields = inner, .n_fields = 1};
	static const struct fsc_vfield fields[] = {
	    {.name = "a", .type = &i32, .offset = 0},
	    {.name = "b", .type = &name, .offset = 4},
	    {.name = "c", .type = &u32, .offset = 8, .bit_shift = 0, .bits = 3},
	    {.name = "d", .type = &i32, .offset = 8, .bit_shift = 3, .bits = 5},
	    {.name = "in", .type = &in, .offset = 12},
	};
	const struct fsc_vtype record = {
	    .kind = FSC_V_RECORD, .size = 16, .fields = fields, .n_fields = 5};
	struct fsc_vtype tuple = record;
	const struct {
		int32_t a;
		char b[4];
		uint32_t bits;
		int16_t x[2];
	} bytes = {-1, "hey", 5 | (31u << 3) | 0xff00, {1, -2}};

	(void)state;
	expect_shown(&record, &bytes,
		     "{ .a = -1, .b = hey, .c = 5, .d = -1, .in = { .x = [1,-2] } }");
	tuple.kind = FSC_V_TUPLE;
	expect_shown(&tuple, &bytes, "(-1, hey, 5, -1, { .x = [1,-2] })");
}

static void numbers_get_names(void **state)
{
	struct fsc_v_inet inet = {AF_INET, {127, 0, 0, 1}};
	const struct fsc_vtype t_inet = {.kind = FSC_V_INET, .size = sizeof(inet)};
	const struct fsc_vtype t_errno = {.kind = FSC_V_STRERROR, .size = 8};
	const struct fsc_vtype t_call = {.kind = FSC_V_SYSCALL, .size = 8};
	const struct fsc_vtype t_user = {.kind = FSC_V_USERNAME, .size = 8};

	(void)state;
	expect_shown(&t_inet, &inet, "127.0.0.1");
	inet = (struct fsc_v_inet){AF_INET6, {[15] = 1}};
	expect_shown(&t_inet, &inet, "::1");
	inet.family = 12345;
	expect_shown(&t_inet, &inet, "");
	expect_shown(&(struct fsc_vtype){.kind = FSC_V_MAC, .size = 6}, "\x18\xc0\x4d\x08\x2e\xbb",
		     "18:C0:4D:08:2E:BB");
	expect_shown(&t_errno, &(int64_t){ENOENT}, "No such file or directory");
	expect_shown(&t_errno, &(int64_t){-ENOENT}, "No such file or directory");
	expect_shown(&t_errno, &(int64_t){INT64_MIN}, "Unknown error");
	expect_shown(&t_call, &(int64_t){SYS_openat}, "openat");
	expect_shown(&t_call, &(int64_t){99999}, "Unknown syscall");
	expect_shown(&t_user, &(uint64_t){0}, "root");
	expect_shown(&t_user, &(uint64_t){0}, "root"); /* remembered */
	expect_shown(&t_user, &(uint64_t){4000000000}, "4000000000");
}

static void times_are_those_of_their_clocks(void **state)
{
	const struct fsc_vtype t = {.kind = FSC_V_TIMESTAMP,
				    .size = sizeof(struct fsc_v_timestamp)};
	struct fsc_v_timestamp time = {.ns = 1500000, .clock = FSC_CLOCK_BOOT};
	const uint64_t HOUR_NS = 3600000000000;
	uint64_t now;

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	r.wall_minus[FSC_CLOCK_BOOT] = 1000000000000000000;
	expect_shown(&t, &time, "2001-09-09 01:46:40.001500");
	time.format = 1;
	expect_shown(&t, &time, "100% 001500");
	time.format = 99;
	expect_shown(&t, &time, "");
	fsc_readings_clocks(&r);
	now = fsc_clock_ns(CLOCK_REALTIME);
	for (int c = FSC_CLOCK_BOOT; c <= FSC_CLOCK_TAI; c++) {
		const clockid_t ids[] = {CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_TAI};
		uint64_t wall = fsc_clock_ns(ids[c]) + (uint64_t)r.wall_minus[c];

		assert_true(wall + HOUR_NS > now && wall < now + HOUR_NS);
	}
}

static void merge(const struct fsc_vtype *t, const void *bytes, size_t stride, unsigned n,
		  uint64_t div, const char *out)
{
	const struct fsc_parts parts = {bytes, stride, n};
	struct fsc_value v;

	fsc_readings_merge(&r, t, &parts, div, &v);
	expect(&v, out);
}

static void parts_of_cpus_are_one(void **state)
{
	const uint64_t counts[] = {3, 4, 0};
	const struct fsc_v_avg avgs[] = {{(uint64_t)-5, 1}, {0, 0}, {(uint64_t)-4, 2}};
	const struct fsc_v_extreme extremes[] = {{(uint64_t)-3, 1}, {100, 0}, {7, 1}};
	struct fsc_vtype t = {.kind = FSC_V_COUNT, .size = 8};

	(void)state;
	merge(&t, counts, 8, 3, 1, "7");
	merge(&t, counts, 8, 3, 2, "3");
	t.kind = FSC_V_SUM;
	t.is_signed = true;
	merge(&t, (const int64_t[]){-9, 2}, 8, 2, 2, "-3");
	t.kind = FSC_V_AVG;
	merge(&t, avgs, sizeof(avgs[0]), 3, 1, "-3");
	t.kind = FSC_V_STATS;
	merge(&t, avgs, sizeof(avgs[0]), 3, 1, "{ .count = 3, .average = -3, .total = -9 }");
	t.kind = FSC_V_MIN;
	merge(&t, extremes, sizeof(extremes[0]), 3, 1, "-3");
	t.kind = FSC_V_MAX;
	merge(&t, extremes, sizeof(extremes[0]), 3, 1, "7");
	t.is_signed = false;
	merge(&t, extremes, sizeof(extremes[0]), 3, 1, "18446744073709551613");
	merge(&t, &extremes[1], sizeof(extremes[0]), 1, 1, "0");
	t.kind = FSC_V_AVG;
	merge(&t, &avgs[1], sizeof(avgs[0]), 1, 1, "0");
}

static void histograms_are_sums(void **state)
{
	struct fsc_vtype t = {.kind = FSC_V_HIST, .n = fsc_v_hist_buckets(0)};
	uint64_t *counts = calloc(2 * t.n, sizeof(*counts));
	const struct fsc_parts parts = {counts, t.n * sizeof(*counts), 2};
	struct fsc_value v;

	(void)state;
	assert_non_null(counts);
	counts[fsc_v_hist_bucket(5, 0)] = 2;
	counts[t.n + fsc_v_hist_bucket(7, 0)] = 3;
	fsc_readings_merge(&r, &t, &parts, 1, &v);
	assert_int_equal(v.hist.n, 1);
	assert_int_equal(v.hist.at[0].count, 5);
	assert_true(fsc_readings_rank(&t, &parts) == 5);
	fsc_readings_merge(&r, &t, &parts, 2, &v);
	assert_int_equal(v.hist.at[0].count, 2);
	free(counts);
}

static void expect_series(enum fsc_v_ts_agg agg, const struct fsc_v_tslot *slots, uint64_t a,
			  uint64_t b)
{
	const struct fsc_vtype t = {.kind = FSC_V_TSERIES,
				    .is_signed = true,
				    .n = 4,
				    .tseries = {.interval_ns = 1000, .agg = agg}};
	const struct fsc_parts parts = {slots, 4 * sizeof(*slots), 2};
	uint64_t last = fsc_readings_last_epoch(&t, &parts);
	struct fsc_value v = fsc_readings_series(&r, &t, &parts, last);

	assert_int_equal(last, 10);
	assert_int_equal(v.series.n, 3);
	assert_int_equal(v.series.at[0].value.u, a);
	assert_int_equal(v.series.at[1].value.kind, FSC_VALUE_NONE);
	assert_int_equal(v.series.at[2].value.u, b);
	assert_int_equal(v.series.at[2].wall_ns - v.series.at[0].wall_ns, 2000);
	/* Ended later than this one did. */
	v = fsc_readings_series(&r, &t, &parts, 12);
	assert_int_equal(v.series.n, 3);
	assert_int_equal(v.series.at[1].value.kind, FSC_VALUE_NONE);
}

/* Intervals 8 and 10 of two CPUs; 3 and 6 are too old. */
static void series_are_merged_by_interval(void **state)
{
	static const struct fsc_v_tslot slots[8] = {
	    [0] = {8, 5, 1, 100},    [2] = {10, 9, 3, 300},    [3] = {3, 77, 1, 10},
	    [4 + 0] = {8, 7, 1, 90}, [4 + 2] = {6, 66, 1, 50}, [4 + 3] = {0, 0, 0, 0},
	};

	(void)state;
	expect_series(FSC_TS_LAST, slots, 5, 9);
	expect_series(FSC_TS_MAX, slots, 7, 9);
	expect_series(FSC_TS_MIN, slots, 5, 9);
	expect_series(FSC_TS_SUM, slots, 12, 9);
	expect_series(FSC_TS_AVG, slots, 6, 3);
}

static void cgroups_are_paths(void **state)
{
	char *text = fsc_readings_find_cgroup(UINT64_MAX, NULL);

	(void)state;
	assert_string_equal(text, "");
	free(text);
}

static int release(void **state)
{
	(void)state;
	fsc_values_release(&r.arena);
	fsc_map_release(&r.users);
	fsc_map_release(&r.cgroups);
	fsc_vec_release_owned(&r.named);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(integers_have_width_and_sign),
	    cmocka_unit_test(enumerators_have_names),
	    cmocka_unit_test(strings_that_were_cut_say_so),
	    cmocka_unit_test(buffers_keep_to_their_memory),
	    cmocka_unit_test(records_have_members),
	    cmocka_unit_test(numbers_get_names),
	    cmocka_unit_test(times_are_those_of_their_clocks),
	    cmocka_unit_test(parts_of_cpus_are_one),
	    cmocka_unit_test(histograms_are_sums),
	    cmocka_unit_test(series_are_merged_by_interval),
	    cmocka_unit_test(cgroups_are_paths),
	};

	r.named = FSC_VEC_INIT(char *);
	return cmocka_run_group_tests(tests, NULL, release);
}
