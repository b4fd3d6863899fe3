/* What is written for known durations: counts, totals, extremes, buckets, raw samples, laps. Built
 * several times: as it is, with ordered clock reads, and without samples. */
#include "reader.h"
#include "clock.h"
#include "wire/hist.h"

static void start(int level)
{
	CHECK(funcscope_caller_initialize(8, level) == 1);
}

static void call(uint64_t ticks)
{
	FUNCSCOPE_ENTER(3);
	pass(ticks);
	FUNCSCOPE_EXIT(3);
}

static void expect(struct sums s, uint64_t calls, uint64_t total, uint64_t min, uint64_t max)
{
	EQUAL(s.calls, calls);
	EQUAL(s.total, total);
	EQUAL(s.min, min);
	EQUAL(s.max, max);
#ifdef FUNCSCOPE_NO_SAMPLES
	EQUAL(s.samples, 0);
#else
	EQUAL(s.samples, calls);
#endif
}

static void nothing_is_counted_before_a_call(void)
{
	struct funcscope_region b;

	start(FS_LITE);
	b = books();
	EQUAL(b.lanes, 0);
	EQUAL(b.names, 0);
	EQUAL(b.numbers, 8);
	EQUAL(sums_of(3).lanes, 0);
	EQUAL(sums_of(3).calls, 0);
}

static void an_open_entry_is_no_call(void)
{
	start(FS_LITE);
	FUNCSCOPE_ENTER(3);
	EQUAL(sums_of(3).calls, 0);
	EQUAL(sums_of(3).lanes, 1);
}

static void one_call(void)
{
	start(FS_LITE);
	call(17);
	expect(sums_of(3), 1, 17, 17, 17);
	EQUAL(sums_of(3).hist[17], 1);
	EQUAL(sums_of(2).calls, 0);
}

static void one_call_of_no_time(void)
{
	start(FS_LITE);
	call(0);
	expect(sums_of(3), 1, 0, 0, 0);
	EQUAL(sums_of(3).hist[0], 1);
}

static void two_calls(void)
{
	start(FS_LITE);
	call(40);
	call(5);
	expect(sums_of(3), 2, 45, 5, 40);
	EQUAL(sums_of(3).hist[40], 1);
	EQUAL(sums_of(3).hist[5], 1);
}

static void many_calls(void)
{
	start(FS_LITE);
	for (uint64_t i = 1; i <= 100000; i++)
		call(i);
	expect(sums_of(3), 100000, 100000ull * 100001 / 2, 1, 100000);
}

/* Every duration once, and the histogram compared bucket by bucket. */
static void buckets_are_right(void)
{
	static uint64_t wanted[FSC_HIST_BUCKETS];
	static const int64_t near[] = {-1, 0, 1};
	uint64_t n = 0;
	struct sums s;

	start(FS_LITE);
	for (uint64_t v = 0; v <= 70; v++, n++) {
		call(v);
		wanted[fsc_hist_bucket(v)]++;
	}
	for (int bit = 1; bit <= 62; bit++)
		for (int i = 0; i < 3; i++, n++) {
			uint64_t v = ((uint64_t)1 << bit) + (uint64_t)near[i];

			call(v);
			wanted[fsc_hist_bucket(v)]++;
		}
	s = sums_of(3);
	EQUAL(s.calls, n);
	for (uint32_t i = 0; i < FSC_HIST_BUCKETS; i++)
		if (s.hist[i] != wanted[i])
			check_fail(__FILE__, __LINE__, "bucket %u: %llu, not %llu", i,
				   (unsigned long long)s.hist[i], (unsigned long long)wanted[i]);
	EQUAL(s.min, 0);
	EQUAL(s.max, ((uint64_t)1 << 62) + 1);
	EQUAL(books().backwards, 0);
}

static void the_last_bucket_begins_at_2_to_the_38(void)
{
	const uint64_t top = (uint64_t)1 << 38;
	struct sums s;

	start(FS_LITE);
	call(top - 1);
	call(top);
	call((uint64_t)1 << 40);
	call(3);
	s = sums_of(3);
	expect(s, 4, top - 1 + top + ((uint64_t)1 << 40) + 3, 3, (uint64_t)1 << 40);
	EQUAL(s.hist[FUNCSCOPE_HIST_BUCKETS - 1], 2);
	EQUAL(s.hist[FUNCSCOPE_HIST_BUCKETS - 2], 1);
	EQUAL(s.hist[3], 1);
}

static void the_first_call_may_be_the_longest(void)
{
	start(FS_LITE);
	call((uint64_t)1 << 41);
	expect(sums_of(3), 1, (uint64_t)1 << 41, (uint64_t)1 << 41, (uint64_t)1 << 41);
	EQUAL(sums_of(3).hist[FUNCSCOPE_HIST_BUCKETS - 1], 1);
}

static void clocks_that_go_backwards_are_counted(void)
{
	start(FS_LITE);
	call(10);
	call((uint64_t)-5);
	call((uint64_t)-1000000);
	call(20);
	expect(sums_of(3), 4, 30, 0, 20);
	EQUAL(sums_of(3).hist[0], 2);
	EQUAL(books().backwards, 2);
}

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* The same arithmetic as that of the tool and of its kernel programs. */
static void bucket_arithmetic_is_the_tools(void)
{
	uint64_t x = 88172645463325252ull;

	EQUAL(FUNCSCOPE_HIST_BUCKETS, FSC_HIST_BUCKETS);
	EQUAL(FUNCSCOPE_HIST_TOP, FSC_HIST_TOP);
	for (int i = 0; i < 1000000; i++) {
		uint64_t v = next_random(&x) >> (26 + next_random(&x) % 38);

		if (funcscope_bucket_(v) != fsc_hist_bucket(v))
			check_fail(__FILE__, __LINE__, "%llu: bucket %u, not %u",
				   (unsigned long long)v, funcscope_bucket_(v), fsc_hist_bucket(v));
	}
}

/* ---- raw samples ---- */

static const struct funcscope_cell *only_cell(const struct reader *r, uint32_t n)
{
	const struct funcscope_lane *l = reader_next(r, NULL);

	CHECK(l && !reader_next(r, l));
	CHECK(reader_cell(l, n));
	return reader_cell(l, n);
}

#ifndef FUNCSCOPE_NO_SAMPLES
/* After n calls of 1, 2, 3... ticks the ring has the newest, each with the low bits of its number.
 */
static void ring_after(int level, uint64_t depth, uint64_t n)
{
	const struct funcscope_cell *c;
	const uint64_t *ring;
	struct reader r;

	start(level);
	for (uint64_t i = 0; i < n; i++)
		call(i % 100000 + 1);
	reader_open(&r, getpid());
	c = only_cell(&r, 3);
	EQUAL(c->samples, n);
	EQUAL(c->ring_mask, depth - 1);
	ring = reader_ring(c);
	for (uint64_t i = n > depth ? n - depth : 0; i < n; i++)
		EQUAL(ring[i % depth], (i % 100000 + 1) | i << FUNCSCOPE_SAMPLE_BITS);
	for (uint64_t i = n; i < depth; i++)
		EQUAL(ring[i], 0);
}

static void ring_of_lite(void)
{
	ring_after(FS_LITE, 256, 1000);
}

static void ring_of_normal(void)
{
	ring_after(FS_NORMAL, 1024, 1000);
}

static void ring_of_deep(void)
{
	ring_after(FS_DEEP, 4096, 5000);
}

static void ring_of_full(void)
{
	ring_after(FS_FULL, 16384, 20000);
}

static void sample_numbers_wrap(void)
{
	ring_after(FS_LITE, 256, 140000);
}

static void samples_of_long_calls(void)
{
	const struct funcscope_cell *c;
	struct reader r;

	start(FS_LITE);
	call((uint64_t)1 << 39);
	call((uint64_t)1 << 60);
	call(7);
	reader_open(&r, getpid());
	c = only_cell(&r, 3);
	EQUAL(c->samples, 3);
	EQUAL(reader_ring(c)[0], (uint64_t)1 << 39);
	EQUAL(reader_ring(c)[1], (((uint64_t)1 << 48) - 1) | (uint64_t)1 << 48);
	EQUAL(reader_ring(c)[2], 7 | (uint64_t)2 << 48);
}
#endif

static void no_ring_where_none_is_wanted(void)
{
	struct funcscope_options o = {.numbers = 8, .level = FS_FULL, .flags = FUNCSCOPE_RAW_OFF};
	struct reader r;

	CHECK(funcscope_caller_initialize_with(&o) == 1);
	for (int i = 0; i < 1000; i++)
		call(9);
	reader_open(&r, getpid());
	EQUAL(only_cell(&r, 3)->ring, 0);
	EQUAL(only_cell(&r, 3)->samples, 0);
	EQUAL(reader_sums(&r, 3).calls, 1000);
}

/* ---- scopes and laps ---- */

static void scopes_by_name(void)
{
	start(FS_LITE);
	for (int i = 0; i < 10; i++) {
		FUNCSCOPE_SCOPE("outer");
		pass(100);
		{
			FUNCSCOPE_SCOPE("inner");
			pass(10);
		}
		pass(1);
	}
	expect(sums_named("outer"), 10, 1110, 111, 111);
	expect(sums_named("inner"), 10, 100, 10, 10);
}

static void laps_one_after_the_other(void)
{
	start(FS_LITE);
	for (int i = 0; i < 5; i++) {
		FUNCSCOPE_LAPS(t);
		pass(3);
		FUNCSCOPE_LAP(t, "read");
		pass(70);
		FUNCSCOPE_LAP(t, "send");
		pass(1000);
		FUNCSCOPE_RESTART(t);
		pass(11);
		FUNCSCOPE_LAP(t, "wait");
	}
	expect(sums_named("read"), 5, 15, 3, 3);
	expect(sums_named("send"), 5, 350, 70, 70);
	expect(sums_named("wait"), 5, 55, 11, 11);
}

/* What the first lap costs is not part of the next: the clock is read again, then only. */
static void a_first_lap_is_not_charged_to_the_next(void)
{
	uint64_t reads[3];

	start(FS_LITE);
	FUNCSCOPE_LAPS(t);
	for (int i = 0; i < 3; i++) {
		reads[i] = fake_reads;
		FUNCSCOPE_LAP(t, "lap");
		reads[i] = fake_reads - reads[i];
	}
	EQUAL(reads[0], 2);
	EQUAL(reads[1], 1);
	EQUAL(reads[2], 1);
}

static void records_say_where(void)
{
	const struct funcscope_site_record *rec;
	struct reader r;
	uint32_t line;

	start(FS_LITE);
	{
		FUNCSCOPE_SCOPE("here");
		line = __LINE__ - 1;
	}
	reader_open(&r, getpid());
	rec = reader_record(&r, reader_find_name(&r, "here", 0));
	EQUAL(rec->line, line);
	EQUAL(rec->kind, FUNCSCOPE_KIND_SCOPE);
	CHECK(strstr(rec->file, "test_counts.c"));
	rec = reader_record(&r, 7);
	EQUAL_STRING(rec->name, "7");
	EQUAL(rec->kind, FUNCSCOPE_KIND_NUMBER);
}

static void the_head_says_what_this_is(void)
{
	struct funcscope_region b;
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	CHECK(n > 0);
	exe[n] = '\0';
	start(FS_DEEP);
	b = books();
	EQUAL(b.level, FS_DEEP);
	EQUAL(b.cells, 8 + 512);
	EQUAL(b.exited, 0);
	CHECK(b.start_ns && b.start_ticks);
	CHECK(strlen(exe) >= strlen(b.program));
	EQUAL_STRING(b.program, exe + strlen(exe) - strlen(b.program));
#ifdef __aarch64__
	EQUAL(b.clock, FUNCSCOPE_CLOCK_CNTVCT);
	CHECK(b.tick_hz);
#else
	EQUAL(b.clock, FUNCSCOPE_CLOCK_TSC);
#endif
}

static void cells_say_how_the_clock_was_read(void)
{
	struct reader r;

	start(FS_LITE);
	call(1);
	{
		FUNCSCOPE_SCOPE("named");
	}
	reader_open(&r, getpid());
#ifdef FUNCSCOPE_ORDERED
	EQUAL(only_cell(&r, 3)->flags, FUNCSCOPE_CELL_ORDERED);
	EQUAL(only_cell(&r, 8)->flags, FUNCSCOPE_CELL_ORDERED);
#else
	EQUAL(only_cell(&r, 3)->flags, 0);
	EQUAL(only_cell(&r, 8)->flags, 0);
#endif
}

static void cells_have_a_cache_line_each(void)
{
	struct reader r;

	start(FS_LITE);
	call(1);
	reader_open(&r, getpid());
	EQUAL((uintptr_t)only_cell(&r, 3) % 64, 0);
}

/* The clocks themselves, which the other tests do not ask. */
static void clocks_go_on(void)
{
	uint64_t before = funcscope_rdtsc(), between = funcscope_begin_ordered_();

	CHECK(before);
	while (funcscope_rdtsc() == before)
		;
	CHECK(funcscope_end_ordered_() - between < (uint64_t)1 << 62);
}

static const struct check_test tests[] = {TEST(nothing_is_counted_before_a_call),
					  TEST(an_open_entry_is_no_call),
					  TEST(one_call),
					  TEST(one_call_of_no_time),
					  TEST(two_calls),
					  TEST(many_calls),
					  TEST(buckets_are_right),
					  TEST(the_last_bucket_begins_at_2_to_the_38),
					  TEST(the_first_call_may_be_the_longest),
					  TEST(clocks_that_go_backwards_are_counted),
					  TEST(bucket_arithmetic_is_the_tools),
#ifndef FUNCSCOPE_NO_SAMPLES
					  TEST(ring_of_lite),
					  TEST(ring_of_normal),
					  TEST(ring_of_deep),
					  TEST(ring_of_full),
					  TEST(sample_numbers_wrap),
					  TEST(samples_of_long_calls),
#endif
					  TEST(no_ring_where_none_is_wanted),
					  TEST(scopes_by_name),
					  TEST(laps_one_after_the_other),
					  TEST(a_first_lap_is_not_charged_to_the_next),
					  TEST(records_say_where),
					  TEST(the_head_says_what_this_is),
					  TEST(cells_say_how_the_clock_was_read),
					  TEST(cells_have_a_cache_line_each),
					  TEST(clocks_go_on)};

CHECK_MAIN(tests)
