/* src/base/timeline.h: records of several buffers in the order of time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/timeline.h"

struct seen {
	char text[64];
	const char *fails_at;
};

static int note(void *record, size_t size, void *arg, struct fsc_err *err)
{
	struct seen *s = arg;

	assert_int_equal((uintptr_t)record % 8, 0);
	assert_int_equal(strlen(record) + 1, size);
	strcat(s->text, record);
	return s->fails_at && !strcmp(record, s->fails_at) ? fsc_err_set(err, EIO, "no") : 0;
}

static void add(struct fsc_timeline *t, uint64_t time_ns, const char *text)
{
	assert_int_equal(fsc_timeline_add(t, time_ns, text, strlen(text) + 1, NULL), 0);
}

static void expect(struct fsc_timeline *t, uint64_t until_ns, const char *text)
{
	struct seen s = {0};

	assert_int_equal(fsc_timeline_take(t, until_ns, note, &s, NULL), 0);
	assert_string_equal(s.text, text);
}

static void in_order_of_time(void **state)
{
	struct fsc_timeline t;

	(void)state;
	fsc_timeline_init(&t);
	expect(&t, UINT64_MAX, "");
	add(&t, 30, "c");
	add(&t, 10, "a");
	add(&t, 20, "bbbbbbbbb"); /* longer than its alignment */
	expect(&t, UINT64_MAX, "abbbbbbbbbc");
	expect(&t, UINT64_MAX, "");
	fsc_timeline_release(&t);
}

/* Records of one time keep their order, also those that were left for later. */
static void equal_times(void **state)
{
	struct fsc_timeline t;

	(void)state;
	fsc_timeline_init(&t);
	add(&t, 5, "0");
	for (char c = 'a'; c <= 'j'; c++)
		add(&t, 10, (char[]){c, '\0'});
	expect(&t, 9, "0");
	expect(&t, 9, "");
	add(&t, 10, "k");
	add(&t, 7, "1");
	assert_int_equal(t.records.n, 12);
	assert_string_equal(fsc_timeline_at(&t, 0), "a");
	expect(&t, 10, "1abcdefghijk");
	fsc_timeline_release(&t);
}

/* A failure takes the record with it, and leaves the others. */
static void failures(void **state)
{
	struct seen s = {.fails_at = "b"};
	struct fsc_timeline t;

	(void)state;
	fsc_timeline_init(&t);
	add(&t, 3, "c");
	add(&t, 1, "a");
	add(&t, 2, "b");
	assert_int_equal(fsc_timeline_take(&t, UINT64_MAX, note, &s, NULL), -EIO);
	assert_string_equal(s.text, "ab");
	expect(&t, UINT64_MAX, "c");
	fsc_timeline_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(in_order_of_time),
	    cmocka_unit_test(equal_times),
	    cmocka_unit_test(failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
