/* src/model/tally.h: sums by function and process, and errors by their codes, as they are added,
 * merged and moved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "model/tally.h"
#include "slots.h"

static void add(struct fsc_tally *t, uint32_t func, uint32_t pid, uint64_t ns, unsigned n)
{
	struct fsc_slot *s = slot_of(NULL, 0);

	while (n--)
		keep(s, ns);
	assert_int_equal(fsc_tally_add(t, func, pid, s, NULL), 0);
	free(s);
}

/* The row of a function and process; NULL: there is none. Never makes one. */
static const struct fsc_latency *row(const struct fsc_tally *t, uint32_t func, uint32_t pid)
{
	for (size_t i = 0; i < t->calls.rows.n; i++) {
		const struct fsc_latency *l = FSC_AT(struct fsc_latency, &t->calls.rows, i);

		if (l->key.func == func && l->key.pid == pid)
			return l;
	}
	return NULL;
}

static uint64_t calls(const struct fsc_tally *t, uint32_t func, uint32_t pid)
{
	const struct fsc_latency *l = row(t, func, pid);

	return l ? l->slot->count : 0;
}

static uint64_t all_calls(const struct fsc_tally *t)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->calls.rows.n; i++)
		n += FSC_AT(struct fsc_latency, &t->calls.rows, i)->slot->count;
	return n;
}

static uint64_t all_errors(const struct fsc_tally *t)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->errors.n; i++)
		n += FSC_AT(struct fsc_call_errors, &t->errors, i)->n;
	return n;
}

static void rows_are_made_once(void **state)
{
	struct fsc_tally t;
	struct fsc_latency *l;

	(void)state;
	fsc_tally_init(&t);
	l = fsc_tally_row(&t, 3, 42);
	assert_non_null(l);
	assert_int_equal(l->key.func, 3);
	assert_int_equal(l->key.pid, 42);
	assert_int_equal(l->slot->count, 0);
	assert_ptr_equal(fsc_tally_row(&t, 3, 42), l);
	assert_ptr_not_equal(fsc_tally_row(&t, 3, 43), NULL);
	assert_ptr_not_equal(fsc_tally_row(&t, 42, 3), NULL);
	assert_int_equal(t.calls.rows.n, 3);
	fsc_tally_release(&t);
}

static void what_is_added_is_summed(void **state)
{
	struct fsc_tally t;

	(void)state;
	fsc_tally_init(&t);
	add(&t, 0, 7, 100, 3);
	add(&t, 0, 7, 5000, 2);
	add(&t, 0, 8, 1, 1);
	add(&t, 1, 7, 1, 4);
	assert_int_equal(calls(&t, 0, 7), 5);
	assert_int_equal(row(&t, 0, 7)->slot->total, 10300);
	assert_int_equal(row(&t, 0, 7)->slot->max, 5000);
	assert_int_equal(fsc_slot_min(row(&t, 0, 7)->slot), 100);
	assert_int_equal(calls(&t, 0, 8), 1);
	assert_int_equal(calls(&t, 1, 7), 4);
	assert_int_equal(all_calls(&t), 10);
	fsc_tally_release(&t);
}

static void errors_are_told_apart(void **state)
{
	struct fsc_tally t;

	(void)state;
	fsc_tally_init(&t);
	assert_int_equal(fsc_tally_error(&t, 0, 7, 100, 3, NULL), 0);
	assert_int_equal(fsc_tally_error(&t, 0, 7, 100, 2, NULL), 0);
	assert_int_equal(fsc_tally_error(&t, 0, 7, -1, 1, NULL), 0);
	assert_int_equal(fsc_tally_error(&t, 0, 8, 100, 1, NULL), 0);
	assert_int_equal(fsc_tally_error(&t, 1, 7, 1ll << 40, 9, NULL), 0);
	assert_int_equal(fsc_tally_errors_of(&t, 0, 7, 100), 5);
	assert_int_equal(fsc_tally_errors_of(&t, 0, 7, -1), 1);
	assert_int_equal(fsc_tally_errors_of(&t, 0, 8, 100), 1);
	assert_int_equal(fsc_tally_errors_of(&t, 1, 7, 1ll << 40), 9);
	assert_int_equal(fsc_tally_errors_of(&t, 1, 7, 100), 0);
	assert_int_equal(fsc_tally_errors_of(&t, 2, 7, 100), 0);
	assert_int_equal(t.errors.n, 4);
	assert_int_equal(t.calls.rows.n, 3);
	fsc_tally_release(&t);
}

static void merging_apart_keeps_processes(void **state)
{
	struct fsc_tally a, b;

	(void)state;
	fsc_tally_init(&a);
	fsc_tally_init(&b);
	add(&a, 0, 7, 10, 1);
	add(&b, 0, 7, 20, 2);
	add(&b, 0, 8, 30, 3);
	fsc_tally_error(&b, 0, 8, 5, 2, NULL);
	strcpy(fsc_tally_row(&b, 0, 8)->key.comm, "eight");
	fsc_tally_row(&b, 0, 8)->floor_ns = 12;
	assert_int_equal(fsc_tally_merge(&a, &b, true, NULL), 0);
	assert_int_equal(calls(&a, 0, 7), 3);
	assert_int_equal(calls(&a, 0, 8), 3);
	assert_string_equal(row(&a, 0, 8)->key.comm, "eight");
	assert_float_equal(row(&a, 0, 8)->floor_ns, 12, 0);
	assert_int_equal(fsc_tally_errors_of(&a, 0, 8, 5), 2);
	assert_int_equal(all_calls(&b), 5); /* as it was */
	fsc_tally_release(&a);
	fsc_tally_release(&b);
}

static void merging_together_makes_them_nobodys(void **state)
{
	struct fsc_tally a, b;

	(void)state;
	fsc_tally_init(&a);
	fsc_tally_init(&b);
	add(&b, 0, 7, 20, 2);
	add(&b, 0, 8, 30, 3);
	add(&b, 1, 8, 30, 4);
	fsc_tally_error(&b, 0, 7, 5, 1, NULL);
	fsc_tally_error(&b, 0, 8, 5, 2, NULL);
	assert_int_equal(fsc_tally_merge(&a, &b, false, NULL), 0);
	assert_int_equal(a.calls.rows.n, 2);
	assert_int_equal(calls(&a, 0, FSC_TALLY_NOBODY), 5);
	assert_int_equal(calls(&a, 1, FSC_TALLY_NOBODY), 4);
	assert_int_equal(fsc_tally_errors_of(&a, 0, FSC_TALLY_NOBODY, 5), 3);
	assert_string_equal(row(&a, 0, FSC_TALLY_NOBODY)->key.comm, "");
	fsc_tally_release(&a);
	fsc_tally_release(&b);
}

static bool odd_ones_to_nobody(const struct fsc_tally_part *p, uint32_t *to, void *arg)
{
	(void)arg;
	*to = FSC_TALLY_NOBODY;
	return p->pid % 2;
}

static bool all_folded(const struct fsc_tally_part *p, uint32_t *to, void *arg)
{
	(void)p, (void)arg;
	*to = FSC_TALLY_FOLDED;
	return true;
}

static void moving_loses_nothing(void **state)
{
	static const struct fsc_func funcs[] = {{.name = "a"}, {.name = "b"}};
	struct fsc_tally t;

	(void)state;
	fsc_tally_init(&t);
	t.calls.funcs = funcs;
	t.calls.n_funcs = 2;
	t.calls.by = FSC_BY_PID;
	for (uint32_t pid = 1; pid <= 100; pid++) {
		add(&t, pid % 3 ? 0 : 1, pid, pid, 2);
		fsc_tally_error(&t, pid % 3 ? 0 : 1, pid, pid % 5, 1, NULL);
	}
	assert_int_equal(fsc_tally_move_parts(&t, odd_ones_to_nobody, NULL, NULL), 0);
	assert_int_equal(all_calls(&t), 200);
	assert_int_equal(all_errors(&t), 100);
	assert_int_equal(t.calls.rows.n, 52);
	assert_null(row(&t, 0, 1));
	assert_int_equal(calls(&t, 0, 2), 2);
	assert_ptr_equal(t.calls.funcs, funcs);
	assert_int_equal(t.calls.n_funcs, 2);
	assert_int_equal(t.calls.by, FSC_BY_PID);
	assert_false(row(&t, 0, 2)->folded);
	assert_int_equal(fsc_tally_move_parts(&t, all_folded, NULL, NULL), 0);
	assert_int_equal(t.calls.rows.n, 2);
	assert_true(row(&t, 0, FSC_TALLY_FOLDED)->folded);
	assert_int_equal(all_calls(&t), 200);
	assert_int_equal(all_errors(&t), 100);
	fsc_tally_release(&t);
}

static bool is_eight(uint32_t pid, void *arg)
{
	(void)arg;
	return pid == 8;
}

static void taking_leaves_the_others(void **state)
{
	struct fsc_tally a, b;

	(void)state;
	fsc_tally_init(&a);
	fsc_tally_init(&b);
	add(&a, 0, 8, 20, 1);
	add(&b, 0, 7, 20, 2);
	add(&b, 0, 8, 30, 3);
	add(&b, 1, 8, 30, 4);
	fsc_tally_error(&b, 0, 7, 5, 1, NULL);
	fsc_tally_error(&b, 0, 8, 5, 2, NULL);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(fsc_tally_take(&a, &b, is_eight, NULL, NULL), 0);
		assert_int_equal(calls(&a, 0, 8), 4);
		assert_int_equal(calls(&a, 1, 8), 4);
		assert_int_equal(fsc_tally_errors_of(&a, 0, 8, 5), 2);
		assert_int_equal(a.calls.rows.n, 2);
		assert_int_equal(b.calls.rows.n, 1);
		assert_int_equal(calls(&b, 0, 7), 2);
		assert_int_equal(all_errors(&b), 1);
	}
	fsc_tally_release(&a);
	fsc_tally_release(&b);
}

static void nothing_is_nothing(void **state)
{
	struct fsc_tally a, b;

	(void)state;
	fsc_tally_init(&a);
	fsc_tally_init(&b);
	assert_int_equal(fsc_tally_merge(&a, &b, true, NULL), 0);
	assert_int_equal(fsc_tally_move_parts(&a, all_folded, NULL, NULL), 0);
	assert_int_equal(a.calls.rows.n, 0);
	assert_int_equal(fsc_tally_errors_of(&a, 0, 0, 0), 0);
	fsc_tally_release(&a);
	fsc_tally_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_are_made_once),
	    cmocka_unit_test(what_is_added_is_summed),
	    cmocka_unit_test(errors_are_told_apart),
	    cmocka_unit_test(merging_apart_keeps_processes),
	    cmocka_unit_test(merging_together_makes_them_nobodys),
	    cmocka_unit_test(moving_loses_nothing),
	    cmocka_unit_test(taking_leaves_the_others),
	    cmocka_unit_test(nothing_is_nothing),
	};

	return cmocka_run_group_tests_name("tally", tests, NULL, NULL);
}
