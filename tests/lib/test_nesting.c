/* Entries within entries, entries without exits, exits without entries, ways out of a block that
 * are not its end; names of every kind, and more of them than there is room for. */
#include <setjmp.h>

#include "reader.h"
#include "clock.h"

static void start(void)
{
	CHECK(funcscope_caller_initialize(128, FS_LITE) == 1);
}

static void pair(uint32_t idx, uint64_t ticks)
{
	FUNCSCOPE_ENTER(idx);
	pass(ticks);
	FUNCSCOPE_EXIT(idx);
}

static void expect(struct sums s, uint64_t calls, uint64_t total, uint64_t min, uint64_t max)
{
	EQUAL(s.calls, calls);
	EQUAL(s.total, total);
	EQUAL(s.min, min);
	EQUAL(s.max, max);
}

/* ---- recursion ---- */

/* So many entries, then so many exits, a tick between each two: the innermost call lasts 1 tick,
 * the next 3, the next 5... */
static void recurse(uint64_t depth)
{
	for (uint64_t i = 0; i < depth; i++) {
		pass(1);
		FUNCSCOPE_ENTER(1);
	}
	for (uint64_t i = 0; i < depth; i++) {
		pass(1);
		FUNCSCOPE_EXIT(1);
	}
}

static void recursion_of(uint64_t depth)
{
	start();
	recurse(depth);
	expect(sums_of(1), depth, depth * depth, 1, 2 * depth - 1);
	EQUAL(books().too_deep, 0);
	EQUAL(books().unmatched, 0);
	pair(1, 5); /* and it is closed */
	expect(sums_of(1), depth + 1, depth * depth + 5, 1, depth > 3 ? 2 * depth - 1 : 5);
}

static void recursion_of_1(void)
{
	recursion_of(1);
}

static void recursion_of_2(void)
{
	recursion_of(2);
}

static void recursion_of_50(void)
{
	recursion_of(50);
}

/* The outermost 65537 are measured right; those within are counted as too deep, and not as
 * unmatched. */
static void recursion_of_70000(void)
{
	const uint64_t depth = 70000, kept = 65537, lost = depth - kept;

	start();
	for (int round = 1; round <= 2; round++) {
		recurse(depth);
		EQUAL(sums_of(1).calls, kept * (uint64_t)round);
		EQUAL(books().too_deep, lost * (uint64_t)round);
		EQUAL(books().unmatched, 0);
		EQUAL(sums_of(1).total, (depth * depth - lost * lost) * (uint64_t)round);
		EQUAL(sums_of(1).min, 2 * lost + 1);
		EQUAL(sums_of(1).max, 2 * depth - 1);
	}
	pair(1, 5);
	EQUAL(sums_of(1).min, 5);
}

/* Another checkpoint is entered again while there is no room: it loses the inner one only. */
static void no_room_for_another(void)
{
	start();
	for (int i = 0; i < 65537; i++)
		FUNCSCOPE_ENTER(1);
	FUNCSCOPE_ENTER(2);
	pass(10);
	pair(2, 100);
	FUNCSCOPE_EXIT(2);
	expect(sums_of(2), 1, 110, 110, 110);
	EQUAL(books().too_deep, 1);
	for (int i = 0; i < 65537; i++)
		FUNCSCOPE_EXIT(1);
	EQUAL(sums_of(1).calls, 65537);
	EQUAL(books().unmatched, 0);
}

static void odd(int n);

static void even(int n)
{
	FUNCSCOPE_ENTER(10);
	pass(1);
	if (n)
		odd(n - 1);
	FUNCSCOPE_EXIT(10);
}

static void odd(int n)
{
	FUNCSCOPE_ENTER(11);
	pass(1);
	if (n)
		even(n - 1);
	FUNCSCOPE_EXIT(11);
}

static void mutual_recursion(void)
{
	start();
	even(99);
	/* 100, 98 ... 2 and 99, 97 ... 1 */
	expect(sums_of(10), 50, 2550, 2, 100);
	expect(sums_of(11), 50, 2500, 1, 99);
	EQUAL(books().unmatched, 0);
}

static uint64_t scoped(int n)
{
	FUNCSCOPE_SCOPE("scoped");
	pass(1);
	return n ? 1 + scoped(n - 1) : 1;
}

static void recursion_of_a_scope(void)
{
	start();
	EQUAL(scoped(999), 1000);
	expect(sums_named("scoped"), 1000, 1000 * 1001 / 2, 1, 1000);
}

static void different_ones_within_each_other(void)
{
	start();
	for (uint32_t i = 0; i < 128; i++) {
		FUNCSCOPE_ENTER(i);
		pass(1);
	}
	for (uint32_t i = 128; i-- > 0;)
		FUNCSCOPE_EXIT(i);
	for (uint32_t i = 0; i < 128; i++)
		expect(sums_of(i), 1, 128 - i, 128 - i, 128 - i);
}

/* Crosswise, both entered twice: entries are found again that are not the latest put aside. */
static void crosswise(void)
{
	start();
	FUNCSCOPE_ENTER(1);
	pass(1);
	FUNCSCOPE_ENTER(2);
	pass(1);
	FUNCSCOPE_ENTER(1);
	pass(1);
	FUNCSCOPE_ENTER(2);
	pass(1);
	FUNCSCOPE_EXIT(1); /* 2 */
	FUNCSCOPE_EXIT(1); /* 4 */
	pass(1);
	FUNCSCOPE_EXIT(2); /* 2 */
	FUNCSCOPE_EXIT(2); /* 4 */
	expect(sums_of(1), 2, 6, 2, 4);
	expect(sums_of(2), 2, 6, 2, 4);
}

/* ---- not in pairs ---- */

static void an_entry_without_an_exit(void)
{
	start();
	FUNCSCOPE_ENTER(1);
	pass(1000);
	pair(1, 5);
	pair(1, 6);
	expect(sums_of(1), 2, 11, 5, 6);
	EQUAL(books().unmatched, 0);
}

static void an_exit_without_an_entry(void)
{
	start();
	FUNCSCOPE_EXIT(1); /* of a thread that has not come by yet */
	EQUAL(books().unmatched, 1);
	pair(1, 5);
	FUNCSCOPE_EXIT(1); /* one too many */
	EQUAL(books().unmatched, 2);
	FUNCSCOPE_EXIT(2); /* of one never entered */
	EQUAL(books().unmatched, 3);
	expect(sums_of(1), 1, 5, 5, 5);
	EQUAL(sums_of(2).calls, 0);
}

static void numbers_that_are_none(void)
{
	uint8_t byte = 255;
	int minus = -1;

	start();
	FUNCSCOPE_ENTER(128);
	FUNCSCOPE_EXIT(128);
	FUNCSCOPE_ENTER(byte);
	FUNCSCOPE_EXIT(byte);
	FUNCSCOPE_ENTER(minus);
	FUNCSCOPE_EXIT(minus);
	FUNCSCOPE_ENTER(4000000000u);
	FUNCSCOPE_EXIT(4000000000u);
	EQUAL(books().unmatched, 4);
	for (uint32_t i = 0; i < books().cells; i++)
		EQUAL(sums_of(i).calls, 0);
	pair(127, 3);
	expect(sums_of(127), 1, 3, 3, 3);
}

static void fewer_numbers_than_used(void)
{
	CHECK(funcscope_caller_initialize(1, FS_LITE) == 1);
	pair(0, 1);
	pair(1, 1);
	pair(0, 1);
	EQUAL(sums_of(0).calls, 2);
	EQUAL(books().unmatched, 1);
	EQUAL(sums_of(1).calls, 0); /* the first name's */
}

static void nothing_happens_without_memory(void)
{
	FUNCSCOPE_LAPS(t);

	pair(1, 5);
	{
		FUNCSCOPE_SCOPE("early");
	}
	FUNCSCOPE_LAP(t, "early lap");
	FUNCSCOPE_EXIT(7);
	EQUAL(funcscope_server_poll_and_send_fd(), 0);
	EQUAL(funcscope_caller_cleanup(), 0);
	/* and the same places work later */
	start();
	for (int i = 0; i < 3; i++) {
		FUNCSCOPE_SCOPE("later");
		pass(2);
	}
	EQUAL(sums_named("later").total, 6);
}

static void places_used_too_early_work_later(void)
{
	for (int i = 0; i < 4; i++) {
		if (i == 2)
			start();
		FUNCSCOPE_SCOPE("place");
		pass(2);
	}
	expect(sums_named("place"), 2, 4, 2, 2);
}

/* ---- ways out of a block ---- */

static jmp_buf away;

__attribute__((noinline)) static void jump(int n)
{
	FUNCSCOPE_SCOPE("left by longjmp");
	pass(1);
	if (n)
		longjmp(away, 1);
}

static void longjmp_out_of_a_scope(void)
{
	volatile int left = 0;

	start();
	if (setjmp(away))
		left++;
	if (left < 3)
		jump(1);
	jump(0);
	EQUAL(left, 3);
	expect(sums_named("left by longjmp"), 1, 1, 1, 1);
}

static int early(int n)
{
	FUNCSCOPE_SCOPE("early return");
	pass(1);
	if (n)
		return n;
	pass(10);
	return 0;
}

static void returns_from_within_a_scope(void)
{
	start();
	CHECK(early(1) == 1);
	CHECK(early(0) == 0);
	expect(sums_named("early return"), 2, 12, 1, 11);
}

static void goto_break_and_continue(void)
{
	start();
	{
		FUNCSCOPE_SCOPE("goto");
		pass(3);
		goto out;
	}
out:
	for (int i = 0; i < 10; i++) {
		FUNCSCOPE_SCOPE("loop");
		pass(1);
		if (i % 2)
			continue;
		if (i == 8)
			break;
	}
	EQUAL(sums_named("goto").calls, 1);
	EQUAL(sums_named("loop").calls, 9);
}

/* ---- names ---- */

static void use(struct funcscope_site_ *site)
{
	struct funcscope_open_ open;

	funcscope_scope_begin_(&open, site);
	pass(1);
	funcscope_scope_end_(&open);
}

static void one_name_at_two_lines(void)
{
	uint32_t first, second;
	struct reader r;

	start();
	for (int i = 0; i < 3; i++) {
		{
			FUNCSCOPE_SCOPE("twice");
			first = __LINE__ - 1;
		}
		if (i) {
			FUNCSCOPE_SCOPE("twice");
			second = __LINE__ - 1;
		}
	}
	reader_open(&r, getpid());
	EQUAL(r.region->names, 2);
	EQUAL(reader_sums(&r, reader_find_name(&r, "twice", first)).calls, 3);
	EQUAL(reader_sums(&r, reader_find_name(&r, "twice", second)).calls, 2);
}

static void several_on_one_line(void)
{
	start();
	{
		/* clang-format off */
		FUNCSCOPE_SCOPE("left"); FUNCSCOPE_SCOPE("right");
		/* clang-format on */
		pass(3);
	}
	expect(sums_named("left"), 1, 3, 3, 3);
	expect(sums_named("right"), 1, 3, 3, 3);
}

static void copies_of_a_place_are_one(void)
{
	static struct funcscope_site_ copies[3] = {{"copy", "file.h", 7, FUNCSCOPE_KIND_SCOPE, 0},
						   {"copy", "file.h", 7, FUNCSCOPE_KIND_SCOPE, 0},
						   {"copy", "file.h", 7, FUNCSCOPE_KIND_LAP, 0}};
	struct reader r;

	start();
	for (int i = 0; i < 3; i++)
		use(&copies[i]);
	reader_open(&r, getpid());
	EQUAL(r.region->names, 2);
	EQUAL(reader_sums(&r, 128).calls, 2);
	EQUAL(reader_sums(&r, 129).calls, 1);
}

static void names_of_every_kind(void)
{
	static char longest[1001], deep[1001];
	static struct funcscope_site_ sites[] = {
	    {"", "a.c", 1, FUNCSCOPE_KIND_SCOPE, 0},
	    {"\033[31m\a\n\t\x7f\x80\xff", "b.c", 2, FUNCSCOPE_KIND_SCOPE, 0},
	    {longest, deep, 3, FUNCSCOPE_KIND_SCOPE, 0},
	};
	struct reader r;

	memset(longest, 'x', 1000);
	memset(deep, '/', 1000);
	memcpy(deep + 990, "/the-end.c", 10);
	start();
	for (int i = 0; i < 3; i++)
		use(&sites[i]);
	reader_open(&r, getpid());
	EQUAL(r.region->names, 3);
	EQUAL_STRING(reader_record(&r, 128)->name, "");
	EQUAL_STRING(reader_record(&r, 129)->name, sites[1].name);
	EQUAL(strlen(reader_record(&r, 130)->name), FUNCSCOPE_NAME_LEN - 1);
	EQUAL(strlen(reader_record(&r, 130)->file), FUNCSCOPE_FILE_LEN - 1);
	EQUAL_STRING(reader_record(&r, 130)->file + FUNCSCOPE_FILE_LEN - 11, "/the-end.c");
	for (uint32_t i = 128; i < 131; i++)
		EQUAL(reader_sums(&r, i).calls, 1);
}

static void numbers_get_names(void)
{
	char text[1001];
	struct reader r;

	memset(text, 'y', 1000);
	text[1000] = '\0';
	funcscope_name(4, "before");
	start();
	funcscope_name(3, "three");
	funcscope_name(3, "drei");
	funcscope_name(127, text);
	funcscope_name(128, "none");
	funcscope_name(UINT32_MAX, "none");
	funcscope_name(5, NULL);
	reader_open(&r, getpid());
	EQUAL_STRING(reader_record(&r, 3)->name, "drei");
	EQUAL_STRING(reader_record(&r, 4)->name, "before");
	EQUAL_STRING(reader_record(&r, 5)->name, "5");
	EQUAL(strlen(reader_record(&r, 127)->name), FUNCSCOPE_NAME_LEN - 1);
	EQUAL(reader_record(&r, 128)->kind, 0);
}

enum { PLACES = 3000 };
static struct funcscope_site_ places[PLACES];
static char place_names[PLACES][16];

static void make_places(void)
{
	for (uint32_t i = 0; i < PLACES; i++) {
		snprintf(place_names[i], sizeof(place_names[i]), "place %u", i);
		places[i] = (struct funcscope_site_){place_names[i], "places.c", i,
						     FUNCSCOPE_KIND_SCOPE, 0};
	}
}

static void more_names_than_room(void)
{
	struct funcscope_options o = {.numbers = 2, .names = 5, .level = FS_LITE};
	struct funcscope_region b;

	make_places();
	CHECK(funcscope_caller_initialize_with(&o) == 1);
	for (int round = 0; round < 4; round++)
		for (int i = 0; i < 8; i++)
			use(&places[i]);
	b = books();
	EQUAL(b.names, 5);
	EQUAL(b.lost_names, 3);
	EQUAL(b.lost_calls, 3 * 4);
	for (uint32_t i = 2; i < 7; i++)
		EQUAL(sums_of(i).calls, 4);
}

/* What found no room is not lost for ever. */
static void room_for_names_after_a_new_beginning(void)
{
	struct funcscope_options o = {.numbers = 2, .names = 5, .level = FS_LITE};

	make_places();
	CHECK(funcscope_caller_initialize_with(&o) == 1);
	for (int i = 0; i < 8; i++)
		use(&places[i]);
	CHECK(funcscope_caller_cleanup() == 1);
	o.names = 8;
	CHECK(funcscope_caller_initialize_with(&o) == 1);
	EQUAL(books().lost_names, 0);
	use(&places[7]);
	EQUAL(sums_named("place 7").calls, 1);
	CHECK(funcscope_caller_cleanup() == 1);
	o.names = 3;
	CHECK(funcscope_caller_initialize_with(&o) == 1);
	EQUAL(books().lost_names, 5);
	EQUAL(books().names, 3);
	use(&places[7]);
	use(&places[0]);
	EQUAL(books().lost_calls, 1);
	EQUAL(sums_named("place 0").calls, 1);
}

static void thousands_of_names(void)
{
	struct funcscope_options o = {.names = PLACES, .level = FS_LITE};
	struct reader r;

	make_places();
	CHECK(funcscope_caller_initialize_with(&o) == 1);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < PLACES; i++)
			use(&places[i]);
	reader_open(&r, getpid());
	CHECK(r.region->chunks > 1);
	EQUAL(r.region->names, PLACES);
	EQUAL(r.region->lost_calls, 0);
	for (uint32_t i = 0; i < PLACES; i++) {
		EQUAL_STRING(reader_record(&r, i)->name, place_names[i]);
		EQUAL(reader_sums(&r, i).calls, 2);
	}
}

static void counts_begin_anew_after_a_clean_up(void)
{
	for (int i = 1; i <= 3; i++) {
		start();
		funcscope_name(1, "one");
		for (int n = 0; n < i; n++) {
			FUNCSCOPE_SCOPE("again");
			pair(1, 5);
		}
		EQUAL(sums_of(1).calls, i);
		EQUAL(sums_named("again").calls, i);
		CHECK(funcscope_caller_cleanup() == 1);
		CHECK(funcscope_caller_cleanup() == 0);
		pair(1, 5);
	}
}

static const struct check_test tests[] = {
    TEST(recursion_of_1),
    TEST(recursion_of_2),
    TEST(recursion_of_50),
    TEST(recursion_of_70000),
    TEST(no_room_for_another),
    TEST(mutual_recursion),
    TEST(recursion_of_a_scope),
    TEST(different_ones_within_each_other),
    TEST(crosswise),
    TEST(an_entry_without_an_exit),
    TEST(an_exit_without_an_entry),
    TEST(numbers_that_are_none),
    TEST(fewer_numbers_than_used),
    TEST(nothing_happens_without_memory),
    TEST(places_used_too_early_work_later),
    TEST(longjmp_out_of_a_scope),
    TEST(returns_from_within_a_scope),
    TEST(goto_break_and_continue),
    TEST(one_name_at_two_lines),
    TEST(several_on_one_line),
    TEST(copies_of_a_place_are_one),
    TEST(names_of_every_kind),
    TEST(numbers_get_names),
    TEST(more_names_than_room),
    TEST(room_for_names_after_a_new_beginning),
    TEST(thousands_of_names),
    TEST(counts_begin_anew_after_a_clean_up),
};

CHECK_MAIN(tests)
