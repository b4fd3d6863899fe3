/* src/monitor/slow.h: which slow calls are kept, in which order they are listed, and which are
 * passed on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "monitor/slow.h"

static const struct fsc_func funcs[] = {{.name = "aa"}, {.name = "bb"}, {.name = "cc"}};

static struct fsc_slow *make(unsigned slowest, unsigned latest)
{
	struct fsc_slow *s = NULL;

	assert_int_equal(fsc_slow_new(slowest, latest, &s, NULL), 0);
	assert_non_null(s);
	return s;
}

static const struct fsc_noted_call *add(struct fsc_slow *s, uint32_t func, uint64_t ms)
{
	char one[] = "leaf", two[] = "main", three[] = "pod";
	const char *frames[] = {one, two};
	const struct fsc_label about = {"pod", three};
	const struct fsc_call c = {.func = &funcs[func],
				   .duration_ns = ms * 1000000,
				   .has_duration = true,
				   .slow = true,
				   .time_ns = 1000 + ms,
				   .kernel_stack = frames,
				   .user_stack = frames + 1,
				   .n_kernel = 1,
				   .n_user = 1,
				   .about = &about,
				   .n_about = 1};
	const struct fsc_noted_call *noted = NULL;

	assert_int_equal(fsc_slow_add(s, &c, func, 1e6, "EIO", &noted, NULL), 0);
	assert_non_null(noted);
	memset(one, 'x', 4); /* it keeps a copy */
	memset(two, 'x', 4);
	memset(three, 'x', 3);
	return noted;
}

/* The list is these durations, ended by 0. */
static void expect(struct fsc_slow *s, int64_t func, const uint64_t *ms)
{
	struct fsc_vec all = FSC_VEC_INIT(const struct fsc_noted_call *);
	size_t n = 0;

	assert_int_equal(fsc_slow_list(s, funcs, func, &all, NULL), 0);
	for (; ms[n]; n++) {
		assert_true(n < all.n);
		assert_int_equal(
		    (*FSC_AT(const struct fsc_noted_call *, &all, n))->call->duration_ns,
		    ms[n] * 1000000);
	}
	assert_int_equal(all.n, n);
	fsc_vec_release(&all);
}

#define EXPECT(s, func, ...) expect(s, func, (const uint64_t[]){__VA_ARGS__, 0})

static void the_slowest_and_the_latest_are_kept(void **state)
{
	static const uint64_t ms[] = {5, 90, 3, 80, 70, 1, 2, 4};
	struct fsc_slow *s = make(3, 2);

	(void)state;
	for (size_t i = 0; i < sizeof(ms) / sizeof(ms[0]); i++)
		add(s, 0, ms[i]);
	EXPECT(s, 0, 90, 80, 70, 4, 2);
	assert_int_equal(fsc_slow_count(s), 8);
	fsc_slow_free(s);
}

static void one_that_is_both_is_listed_once(void **state)
{
	struct fsc_slow *s = make(2, 2);

	(void)state;
	add(s, 0, 10);
	EXPECT(s, 0, 10);
	add(s, 0, 20);
	add(s, 0, 30);
	EXPECT(s, 0, 30, 20);
	fsc_slow_free(s);
}

static void functions_are_kept_apart_and_listed_together(void **state)
{
	struct fsc_slow *s = make(1, 0);

	(void)state;
	add(s, 2, 10);
	add(s, 2, 5);
	add(s, 0, 7);
	EXPECT(s, -1, 10, 7);
	EXPECT(s, 0, 7);
	EXPECT(s, 2, 10);
	expect(s, 1, (const uint64_t[]){0});
	fsc_slow_free(s);
}

static void a_kept_call_is_whole(void **state)
{
	struct fsc_vec all = FSC_VEC_INIT(const struct fsc_noted_call *);
	struct fsc_slow *s = make(10, 10);
	const struct fsc_noted_call *c = add(s, 1, 12);

	(void)state;
	assert_int_equal(c->id, 1);
	assert_int_equal(fsc_slow_func(c), 1);
	assert_int_equal(add(s, 0, 1)->id, 2);
	assert_int_equal(fsc_slow_list(s, funcs, 1, &all, NULL), 0);
	c = *FSC_AT(const struct fsc_noted_call *, &all, 0);
	assert_string_equal(c->call->func->name, "bb");
	assert_string_equal(c->error, "EIO");
	assert_float_equal(c->threshold_ns, 1e6, 0);
	assert_int_equal(c->wall_ns, 1012);
	assert_int_equal(c->call->n_kernel, 1);
	assert_string_equal(c->call->kernel_stack[0], "leaf");
	assert_string_equal(c->call->user_stack[0], "main");
	assert_int_equal(c->call->n_about, 1);
	assert_string_equal(c->call->about[0].value, "pod");
	fsc_vec_release(&all);
	fsc_slow_free(s);
}

static void nothing_is_kept_where_none_is_wanted(void **state)
{
	struct fsc_slow *s = make(0, 0);

	(void)state;
	for (uint64_t i = 1; i <= 50; i++)
		add(s, 0, i);
	expect(s, -1, (const uint64_t[]){0});
	assert_int_equal(fsc_slow_count(s), 50);
	fsc_slow_free(s);
}

/* Fewer from now on: the next calls bring it down. */
static void limits_can_change(void **state)
{
	struct fsc_slow *s = make(5, 5);

	(void)state;
	for (uint64_t i = 1; i <= 20; i++)
		add(s, 0, i);
	fsc_slow_limit(s, 2, 1);
	add(s, 0, 3);
	EXPECT(s, 0, 20, 19, 3);
	fsc_slow_limit(s, 3, 0);
	add(s, 0, 50);
	EXPECT(s, 0, 50, 20, 19);
	fsc_slow_limit(s, 0, 0);
	add(s, 0, 60);
	expect(s, 0, (const uint64_t[]){0});
	fsc_slow_free(s);
}

static void those_since_come_once_and_in_order(void **state)
{
	struct fsc_vec got = FSC_VEC_INIT(const struct fsc_noted_call *);
	struct fsc_slow *s = make(1, 0);
	uint64_t since = 0, missed = 7;

	(void)state;
	assert_int_equal(fsc_slow_since(s, funcs, &since, &got, &missed, NULL), 0);
	assert_int_equal(got.n + missed + since, 0);
	for (uint64_t i = 1; i <= 5; i++)
		add(s, i % 2, i);
	assert_int_equal(fsc_slow_since(s, funcs, &since, &got, &missed, NULL), 0);
	assert_int_equal(got.n, 5);
	assert_int_equal(missed, 0);
	for (size_t i = 0; i < got.n; i++) {
		const struct fsc_noted_call *c = *FSC_AT(const struct fsc_noted_call *, &got, i);

		assert_int_equal(c->id, i + 1);
		assert_ptr_equal(c->call->func, &funcs[(i + 1) % 2]);
	}
	got.n = 0;
	add(s, 0, 6);
	assert_int_equal(fsc_slow_since(s, funcs, &since, &got, &missed, NULL), 0);
	assert_int_equal(got.n, 1);
	got.n = 0;
	assert_int_equal(fsc_slow_since(s, funcs, &since, &got, &missed, NULL), 0);
	assert_int_equal(got.n, 0);
	fsc_vec_release(&got);
	fsc_slow_free(s);
}

static void those_that_were_too_many_are_counted(void **state)
{
	struct fsc_vec got = FSC_VEC_INIT(const struct fsc_noted_call *);
	struct fsc_slow *s = make(2, 2);
	uint64_t since = 0, missed = 0;

	(void)state;
	for (uint64_t i = 1; i <= 5000; i++)
		add(s, 0, i);
	assert_int_equal(fsc_slow_since(s, funcs, &since, &got, &missed, NULL), 0);
	assert_true(got.n > 0 && got.n < 5000);
	assert_int_equal(got.n + missed, 5000);
	assert_int_equal((*FSC_AT(const struct fsc_noted_call *, &got, got.n - 1))->id, 5000);
	assert_int_equal(since, 5000);
	fsc_vec_release(&got);
	fsc_slow_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_slowest_and_the_latest_are_kept),
	    cmocka_unit_test(one_that_is_both_is_listed_once),
	    cmocka_unit_test(functions_are_kept_apart_and_listed_together),
	    cmocka_unit_test(a_kept_call_is_whole),
	    cmocka_unit_test(nothing_is_kept_where_none_is_wanted),
	    cmocka_unit_test(limits_can_change),
	    cmocka_unit_test(those_since_come_once_and_in_order),
	    cmocka_unit_test(those_that_were_too_many_are_counted),
	};

	return cmocka_run_group_tests_name("slow", tests, NULL, NULL);
}
