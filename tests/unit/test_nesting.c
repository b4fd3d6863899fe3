/* Timed calls inside timed calls (bpf/time.bpf.h), whatever is said about the cost of the probes: a
 * call takes at least as long as those that it makes. Needs root; skipped otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "engine/session_priv.h"
#include "probe/uprobe.h"

enum { OUTER = 20, EACH = 10, FAR_TOO_MUCH = 100000000 };

void fsc_test_outer(void);
void fsc_test_middle(void);
void fsc_test_inner(void);

__attribute__((noinline)) void fsc_test_inner(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) void fsc_test_middle(void)
{
	for (int i = 0; i < EACH; i++)
		fsc_test_inner();
	__asm__ volatile("");
}

__attribute__((noinline)) void fsc_test_outer(void)
{
	fsc_test_middle();
	fsc_test_middle();
	__asm__ volatile("");
}

static const char *const names[] = {"fsc_test_outer", "fsc_test_middle", "fsc_test_inner"};

static uint32_t row_of(const struct fsc_targets *t, const char *name)
{
	for (uint32_t i = 0; i < t->rows.n; i++)
		if (!strcmp(fsc_targets_row(t, i)->name, name))
			return i;
	fail_msg("no row %s", name);
	return 0;
}

/* The sums of the three, outer first, where a call of each is said to cost so much. */
static void measure(struct fsc_session_opts o, double inner_ns, double outer_ns,
		    struct fsc_slot ret[3])
{
	struct fsc_libs_file file = {"/proc/self/exe", "/proc/self/exe", ""};
	const struct fsc_scope scope = {.pairs = true};
	const pid_t self = getpid();
	struct fsc_targets targets;
	struct fsc_session *s;
	struct fsc_err err = {0};

	fsc_targets_init(&targets);
	for (int i = 0; i < 3; i++) {
		struct fsc_wanted wanted = {.function = names[i]};

		assert_int_equal(fsc_uprobe_search(&file, &wanted, 1, &scope, &targets, &err), 0);
	}
	o.mode = FSC_MODE_TIME;
	o.pids = &self;
	o.n_pids = 1;
	if (fsc_session_open(&targets, &o, &s, &err))
		fail_msg("%s", err.msg);
	for (uint32_t i = 0; i < targets.rows.n; i++)
		assert_int_equal(fsc_session_set_cost(s, i, inner_ns, outer_ns, &err), 0);
	if (fsc_session_attach(s, &err))
		fail_msg("%s", err.msg);
	fsc_session_count(s, true);
	for (int i = 0; i < OUTER; i++)
		fsc_test_outer();
	fsc_session_count(s, false);
	fsc_session_detach(s);
	for (int i = 0; i < 3; i++)
		fsc_session_slot(s, row_of(&targets, names[i]) + 1, &ret[i]);
	assert_int_equal(fsc_session_open_calls(s), 0);
	fsc_session_free(s);
	fsc_targets_release(&targets);
}

static const struct fsc_session_opts ways[] = {
    {.keep = FSC_KEEP_COOKIE},	 {.keep = FSC_KEEP_STORAGE},
    {.keep = FSC_KEEP_HASH},	 {.self = true},
    {.raw = true, .self = true}, {.via = FSC_VIA_SINGLE},
};

static bool may_load(void)
{
	return !geteuid() && !fsc_session_possible(NULL);
}

static void check_nesting(const struct fsc_slot got[3])
{
	assert_int_equal(got[0].count, OUTER);
	assert_int_equal(got[1].count, 2 * OUTER);
	assert_int_equal(got[2].count, 2 * OUTER * EACH);
	assert_true(got[2].total > 0);
	assert_true(got[1].total >= got[2].total);
	assert_true(got[0].total >= got[1].total);
	assert_true(got[0].max >= got[1].max && got[1].max >= got[2].max);
}

/* What the probes cost beside the calls is far overestimated: nothing seems to be left for callers.
 */
static void callers_take_as_long_as_what_they_call(void **state)
{
	struct fsc_slot got[3];

	(void)state;
	if (!may_load())
		skip();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		measure(ways[i], 0, FAR_TOO_MUCH, got);
		check_nesting(got);
		if (ways[i].self)
			assert_int_equal(got[0].self_total + got[1].self_total + got[2].self_total,
					 got[0].total);
	}
}

/* Inside of each call there is less than is subtracted: what is too much is not passed on to the
 * callers, who spent all that time. */
static void what_was_not_there_is_not_taken_from_callers(void **state)
{
	struct fsc_slot got[3];

	(void)state;
	if (!may_load())
		skip();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		measure(ways[i], 0, 0, got);
		check_nesting(got);
		measure(ways[i], FAR_TOO_MUCH, FAR_TOO_MUCH, got);
		assert_int_equal(got[2].total, 0);
		assert_int_equal(got[2].floored, got[2].count);
		assert_int_equal(got[0].total, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(callers_take_as_long_as_what_they_call),
	    cmocka_unit_test(what_was_not_there_is_not_taken_from_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
