/* src/monitor/ledger.c: whatever was measured is in one row, of the process, of nobody, or of those
 * that are folded, and in one report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledgers.h"

/* ---- totals ---- */

static void a_total_is_of_those_that_run_and_those_that_ended(void **state)
{
	struct world w;
	struct fsc_tally t;
	struct fsc_err err = {0};

	(void)state;
	begin(&w);
	measured(&w.hooks.running, 0, 10, 3);
	measured(&w.hooks.running, 1, 10, 4);
	ok(fsc_tally_error(&w.hooks.running, 1, 10, 5, 2, &err), &err);
	ended(&w, 11, 5);
	collect(&w, 1000);
	ok(fsc_ledger_total(w.l, true, &t, &err), &err);
	assert_int_equal(t.calls.rows.n, 3);
	assert_int_equal(row_of(&t.calls, 0, 10)->slot->count, 3);
	assert_int_equal(row_of(&t.calls, 0, 11)->slot->count, 5);
	assert_string_equal(row_of(&t.calls, 0, 11)->key.comm, "app");
	assert_int_equal(t.calls.by, FSC_BY_PID | FSC_BY_COMM);
	assert_int_equal(t.errors.n, 1);
	assert_string_equal(FSC_AT(struct fsc_call_errors, &t.errors, 0)->name, "EIO");
	fsc_tally_release(&t);
	ok(fsc_ledger_total(w.l, false, &t, &err), &err);
	assert_int_equal(t.calls.rows.n, 2);
	assert_int_equal(row_of(&t.calls, 0, FSC_TALLY_NOBODY)->slot->count, 8);
	assert_int_equal(row_of(&t.calls, 1, FSC_TALLY_NOBODY)->slot->count, 4);
	assert_int_equal(t.calls.by, 0);
	fsc_tally_release(&t);
	end(&w);
}

static void time_stops_when_the_run_has_ended(void **state)
{
	struct world w;
	struct fsc_tally a, b;
	struct fsc_err err = {0};

	(void)state;
	begin(&w);
	fsc_ledger_end(w.l);
	ok(fsc_ledger_total(w.l, false, &a, &err), &err);
	ok(fsc_ledger_total(w.l, false, &b, &err), &err);
	assert_true(a.calls.seconds >= 0 && a.calls.seconds == b.calls.seconds);
	fsc_tally_release(&a);
	fsc_tally_release(&b);
	end(&w);
}

/* ---- processes that ended ---- */

static void the_name_is_that_of_the_process_when_it_ended(void **state)
{
	struct world w;
	struct fsc_tally t;
	struct fsc_err err = {0};

	(void)state;
	begin(&w);
	w.processes.comm = "first";
	ended(&w, 11, 5);
	w.processes.comm = "another"; /* the table has forgotten it */
	collect(&w, 1000);
	ok(fsc_ledger_total(w.l, true, &t, &err), &err);
	assert_string_equal(row_of(&t.calls, 0, 11)->key.comm, "first");
	fsc_tally_release(&t);
	end(&w);
}

static void after_a_while_their_calls_are_nobodys(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	ended(&w, 11, 5);
	collect(&w, 1000);
	assert_int_equal(calls_of(&w, 11), 5);
	collect(&w, 0);
	assert_int_equal(calls_of(&w, 11), 0);
	assert_int_equal(calls_of(&w, FSC_TALLY_NOBODY), 5);
	assert_int_equal(all_calls(&w), 5);
	end(&w);
}

static void only_so_many_are_shown_by_themselves(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	for (uint32_t pid = 1; pid <= 600; pid++)
		ended(&w, pid, 2);
	collect(&w, 1000);
	assert_int_equal(calls_of(&w, 88), 0);
	assert_int_equal(calls_of(&w, 89), 2);
	assert_int_equal(calls_of(&w, 600), 2);
	assert_int_equal(calls_of(&w, FSC_TALLY_NOBODY), 176);
	assert_int_equal(all_calls(&w), 1200);
	/* Places in the list have moved; they are still found. */
	ended(&w, 601, 1);
	collect(&w, 1000);
	assert_int_equal(calls_of(&w, 89), 0);
	assert_int_equal(calls_of(&w, 90), 2);
	assert_int_equal(calls_of(&w, 601), 1);
	assert_int_equal(all_calls(&w), 1201);
	end(&w);
}

/* A number that comes again is another process's: it and what ended before it go to nobody. */
static void a_process_that_begins_inherits_nothing(void **state)
{
	struct world w;
	struct fsc_err err = {0};

	(void)state;
	begin(&w);
	ended(&w, 11, 5);
	ended(&w, 12, 6);
	ended(&w, 13, 7);
	collect(&w, 1000);
	ok(fsc_ledger_began(w.l, 12, &err), &err);
	measured(&w.hooks.running, 0, 12, 1);
	assert_int_equal(calls_of(&w, 11), 0);
	assert_int_equal(calls_of(&w, 12), 1);
	assert_int_equal(calls_of(&w, 13), 7);
	assert_int_equal(calls_of(&w, FSC_TALLY_NOBODY), 11);
	ok(fsc_ledger_began(w.l, 99, &err), &err); /* a new number moves nothing */
	assert_int_equal(calls_of(&w, 13), 7);
	end(&w);
}

static void a_number_that_ends_twice_is_the_later_process(void **state)
{
	struct world w;
	struct fsc_err err = {0};

	(void)state;
	begin(&w);
	ended(&w, 11, 5);
	collect(&w, 1000);
	ok(fsc_ledger_began(w.l, 11, &err), &err);
	ended(&w, 11, 2);
	collect(&w, 1000);
	assert_int_equal(calls_of(&w, 11), 2);
	assert_int_equal(calls_of(&w, FSC_TALLY_NOBODY), 5);
	end(&w);
}

/* What comes after a process was forgotten is not lost. */
static void numbers_that_come_late_are_nobodys(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	measured(&w.hooks.ended, 0, 50, 4); /* nobody has said that it ended */
	collect(&w, 1000);
	assert_int_equal(calls_of(&w, 50), 0);
	assert_int_equal(calls_of(&w, FSC_TALLY_NOBODY), 4);
	end(&w);
}

/* ---- reports ---- */

struct written {
	uint64_t calls, errors;
	size_t slow, processes;
	bool whole;
	int n;
	char order[80]; /* of the errors: function, code and calls */
};

static void on_report(struct fsc_sink *s, const struct fsc_report *r, struct fsc_buf *b)
{
	struct written *w = s->own;

	fsc_buf_putc(b, '\n');
	*w = (struct written){.calls = sum_of(r->calls),
			      .slow = r->n_slow,
			      .processes = r->processes,
			      .whole = r->whole,
			      .n = w->n + 1};
	for (size_t i = 0; i < r->n_errors; i++) {
		const struct fsc_call_errors *e = &r->errors[i];
		uint32_t func = FSC_AT(struct fsc_latency, &r->calls->rows, e->row)->key.func;
		size_t n = strlen(w->order);

		w->errors += e->n;
		snprintf(w->order + n, sizeof(w->order) - n, "%s %lld %llu; ",
			 r->calls->funcs[func].name, (long long)e->code, (unsigned long long)e->n);
	}
}

static const struct fsc_sink_ops capture = {.name = "capture", .report = on_report};

static void noted(struct world *w, uint32_t func, uint32_t pid, uint64_t ms);

static struct written report(struct world *w, bool apart, bool whole)
{
	struct written got = {0};
	struct fsc_sink sink = {.ops = &capture, .own = &got};
	struct fsc_err err = {0};

	sink.out = fopen("/dev/null", "w");
	assert_non_null(sink.out);
	ok(fsc_ledger_report(w->l, &sink, apart, whole, 10, &err), &err);
	fclose(sink.out);
	assert_int_equal(got.n, 1);
	return got;
}

static void a_call_is_in_one_report_of_a_stretch(void **state)
{
	struct world w;
	struct fsc_err err = {0};
	struct written r;

	(void)state;
	begin(&w);
	measured(&w.hooks.running, 0, 10, 3);
	ok(fsc_tally_error(&w.hooks.running, 0, 10, 5, 2, &err), &err);
	r = report(&w, true, false);
	assert_int_equal(r.calls, 3);
	assert_int_equal(r.errors, 2);
	assert_int_equal(r.processes, 3);
	assert_false(r.whole);
	measured(&w.hooks.running, 0, 10, 4);
	measured(&w.hooks.running, 1, 12, 1);
	ok(fsc_tally_error(&w.hooks.running, 0, 10, 5, 1, &err), &err);
	r = report(&w, true, true); /* of everything, and not a stretch */
	assert_int_equal(r.calls, 8);
	assert_int_equal(r.errors, 3);
	assert_int_equal(r.processes, 7);
	assert_true(r.whole);
	r = report(&w, true, false);
	assert_int_equal(r.calls, 5);
	assert_int_equal(r.errors, 1);
	assert_int_equal(report(&w, true, false).calls, 0);
	end(&w);
}

/* A report that could not be written is made up for by the next. */
static void what_could_not_be_written_is_in_the_next_report(void **state)
{
	struct fsc_sink full = {.ops = &capture, .out = fopen("/dev/full", "w")};
	struct written got = {0};
	struct fsc_err err = {0};
	struct world w;

	(void)state;
	assert_non_null(full.out);
	full.own = &got;
	setvbuf(full.out, NULL, _IONBF, 0);
	begin(&w);
	measured(&w.hooks.running, 0, 10, 3);
	noted(&w, 0, 10, 3);
	assert_int_equal(report(&w, true, false).calls, 3);
	measured(&w.hooks.running, 0, 10, 4);
	noted(&w, 0, 10, 3);
	assert_true(fsc_ledger_report(w.l, &full, true, false, 10, &err) < 0);
	measured(&w.hooks.running, 0, 10, 5);
	got = report(&w, true, false);
	assert_int_equal(got.calls, 9);
	assert_int_equal(got.slow, 1);
	assert_int_equal(report(&w, true, false).calls, 0);
	fclose(full.out);
	end(&w);
}

static void errors_are_ordered_by_calls_then_function_then_code(void **state)
{
	static const struct {
		uint32_t func;
		int64_t code;
		uint64_t n;
	} errors[] = {{1, 5, 2}, {0, 7, 2}, {1, -3, 2}, {0, 1, 1}, {1, 9, 8}, {0, -7, 2}};
	const size_t n = sizeof(errors) / sizeof(errors[0]);
	const char *order = "g 9 8; f -7 2; f 7 2; g -3 2; g 5 2; f 1 1; ";
	struct fsc_err err = {0};

	for (size_t first = 0; first < n; first++) {
		struct world w;

		begin(&w);
		measured(&w.hooks.running, 0, 10, 20);
		measured(&w.hooks.running, 1, 10, 20);
		for (size_t i = 0; i < n; i++) {
			const size_t k = (first + i) % n;

			ok(fsc_tally_error(&w.hooks.running, errors[k].func, 10, errors[k].code,
					   errors[k].n, &err),
			   &err);
		}
		assert_string_equal(report(&w, true, false).order, order);
		assert_string_equal(report(&w, false, true).order, order);
		end(&w);
	}
	(void)state;
}

/* A process whose calls become nobody's between two reports has made none. */
static void what_changes_hands_is_not_new(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	ended(&w, 11, 5);
	collect(&w, 1000);
	assert_int_equal(report(&w, true, false).calls, 5);
	collect(&w, 0);
	assert_int_equal(report(&w, true, false).calls, 0);
	assert_int_equal(calls_of(&w, FSC_TALLY_NOBODY), 5);
	end(&w);
}

static void noted(struct world *w, uint32_t func, uint32_t pid, uint64_t ms)
{
	const struct fsc_call c = {.func = &w->hooks.funcs[func],
				   .pid = pid,
				   .duration_ns = ms * 1000000,
				   .has_duration = true,
				   .slow = true};
	const struct fsc_noted_call *kept;
	struct fsc_err err = {0};

	ok(fsc_slow_add(w->slow, &c, func, 1e6, NULL, &kept, &err), &err);
}

static void a_slow_call_is_in_one_report_of_a_stretch(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	measured(&w.hooks.running, 0, 10, 3);
	noted(&w, 0, 10, 3);
	noted(&w, 0, 10, 4);
	assert_int_equal(report(&w, true, false).slow, 2);
	noted(&w, 0, 10, 5);
	assert_int_equal(report(&w, true, false).slow, 1);
	assert_int_equal(report(&w, true, false).slow, 0);
	assert_int_equal(report(&w, true, true).slow, 3);
	end(&w);
}

/* ---- snapshots ---- */

static void a_view_folds_what_has_no_room(void **state)
{
	struct world w;
	struct fsc_ledger_view v;
	struct fsc_err err = {0};
	size_t folded = 0;

	(void)state;
	begin(&w);
	for (uint32_t pid = 1; pid <= 5; pid++)
		measured(&w.hooks.running, 0, pid, pid);
	noted(&w, 0, 2, 9);
	noted(&w, 0, 77, 9); /* of a process without a row */
	ok(fsc_ledger_view(w.l, true, 2, &v, &err), &err);
	for (size_t i = 0; i < v.total.calls.rows.n; i++)
		folded += FSC_AT(struct fsc_latency, &v.total.calls.rows, i)->folded;
	assert_int_equal(v.total.calls.rows.n, 5);
	assert_int_equal(folded, 3);
	assert_int_equal(sum_of(&v.total.calls), 15);
	assert_int_equal(v.snapshot.series_cap, 2);
	assert_int_equal(v.snapshot.n_noted, 1);
	assert_int_equal(
	    FSC_AT(struct fsc_latency, &v.total.calls.rows, v.snapshot.noted[0].row)->key.pid, 2);
	fsc_ledger_view_release(&v);
	/* By function alone every row is nobody's; functions beyond the cap are folded. */
	measured(&w.hooks.running, 1, 1, 1);
	ok(fsc_ledger_view(w.l, false, 1, &v, &err), &err);
	assert_int_equal(v.total.calls.rows.n, 2);
	assert_false(row_of(&v.total.calls, 0, FSC_TALLY_NOBODY)->folded);
	assert_true(row_of(&v.total.calls, 1, FSC_TALLY_NOBODY)->folded);
	assert_int_equal(v.snapshot.n_noted, 2);
	fsc_ledger_view_release(&v);
	end(&w);
}

/* ---- limits ---- */

/* What is not shown by itself: calls and errors. */
struct sums {
	uint64_t calls, errors, folded_calls, folded_errors;
	size_t rows, error_rows;
};

static struct sums view_of(struct world *w, size_t cap)
{
	struct fsc_ledger_view v;
	struct fsc_err err = {0};
	struct sums s = {0};

	ok(fsc_ledger_view(w->l, true, cap, &v, &err), &err);
	for (size_t i = 0; i < v.total.calls.rows.n; i++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &v.total.calls.rows, i);

		s.calls += row->slot->count;
		s.folded_calls += row->folded ? row->slot->count : 0;
		s.rows += !row->folded;
	}
	for (size_t i = 0; i < v.snapshot.n_errors; i++) {
		const struct fsc_call_errors *e = &v.snapshot.errors[i];

		s.errors += e->n;
		s.folded_errors += e->folded ? e->n : 0;
		s.error_rows += !e->folded;
	}
	fsc_ledger_view_release(&v);
	return s;
}

static size_t rows_in_memory(struct world *w)
{
	struct fsc_tally t;
	struct fsc_err err = {0};
	size_t n;

	ok(fsc_ledger_total(w->l, true, &t, &err), &err);
	n = t.calls.rows.n;
	fsc_tally_release(&t);
	return n;
}

/* A process begins with one function, goes on with another, fails in its own way, and ends. */
static void live_and_die(struct world *w, uint32_t pid, size_t cap)
{
	struct fsc_err err = {0};

	measured(&w->hooks.running, 0, pid, 1);
	assert_true(view_of(w, cap).rows <= cap);
	measured(&w->hooks.running, 1, pid, 2);
	ok(fsc_tally_error(&w->hooks.running, 1, pid, (int64_t)(pid % 7), 1, &err), &err);
	assert_true(view_of(w, cap).rows <= cap);
	ok(fsc_ledger_ended(w->l, (pid_t)pid, &err), &err);
	ok(fsc_tally_merge(&w->hooks.ended, &w->hooks.running, true, &err), &err);
	fsc_tally_release(&w->hooks.running);
	fsc_tally_init(&w->hooks.running);
	collect(w, 1000);
}

/* At every view no more rows than the cap are shown, no call and no error is lost, the sum of those
 * that are not shown never decreases, and memory has an end. */
static void thousands_of_processes_stay_below_the_cap(void **state)
{
	enum { PROCESSES = 2000, CAP = 20 };
	struct sums before = {0};
	struct world w;

	(void)state;
	begin(&w);
	w.keep_rows = 30;
	for (uint32_t pid = 1; pid <= PROCESSES; pid++) {
		struct sums now;

		live_and_die(&w, pid, CAP);
		now = view_of(&w, CAP);
		assert_true(now.rows <= CAP && now.error_rows <= CAP);
		assert_int_equal(now.calls, 3 * pid);
		assert_int_equal(now.errors, pid);
		assert_true(now.folded_calls >= before.folded_calls);
		assert_true(now.folded_errors >= before.folded_errors);
		assert_true(rows_in_memory(&w) <= w.keep_rows + 2 * 2);
		before = now;
	}
	assert_true(before.folded_calls && before.folded_errors);
	end(&w);
}

static void many_that_end_at_once_do_not_fill_memory(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	for (uint32_t pid = 1; pid <= 500; pid++) {
		ended(&w, pid, 1);
		measured(&w.hooks.ended, 1, pid, 1);
	}
	collect(&w, 1000); /* 1000 rows, and fewer than 512 processes */
	assert_int_equal(rows_in_memory(&w), w.keep_rows + 2);
	assert_int_equal(calls_of(&w, 200), 0);
	assert_int_equal(calls_of(&w, 201), 1);
	assert_int_equal(all_calls(&w), 1000);
	end(&w);
}

static void count_folded(uint32_t func, void *arg)
{
	*(uint32_t *)arg += func;
}

/* What functions of past files have counted is counted by the function that stands for them. */
static void functions_of_past_files_are_summed_up(void **state)
{
	struct world w;
	struct fsc_err err = {0};
	uint32_t folded = 0;

	(void)state;
	begin(&w);
	measured(&w.hooks.ended, 0, 11, 3);
	measured(&w.hooks.ended, 1, 11, 20);
	measured(&w.hooks.ended, 1, 12, 400);
	ended(&w, 11, 0);
	collect(&w, 60);
	assert_int_equal(all_calls(&w), 423);
	ok(fsc_ledger_fold(w.l, count_folded, &folded, &err), &err);
	assert_int_equal(folded, 0);
	w.hooks.fold = true;
	ok(fsc_ledger_fold(w.l, count_folded, &folded, &err), &err);
	assert_int_equal(folded, 1);
	assert_int_equal(all_calls(&w), 423);
	assert_int_equal(calls_of(&w, 11), 23);
	assert_int_equal(calls_of(&w, FSC_TALLY_NOBODY), 400);
	end(&w);
}

/* The folded row of a page never decreases. */
static void what_a_page_has_folded_stays_folded(void **state)
{
	struct world w;
	struct fsc_ledger_view v;
	struct fsc_err err = {0};
	uint32_t folded = 0;

	(void)state;
	begin(&w);
	measured(&w.hooks.ended, 0, 11, 3);
	measured(&w.hooks.ended, 1, 11, 20);
	collect(&w, 0);
	for (int i = 0; i < 2; i++) {
		uint64_t in_folded = 0;

		ok(fsc_ledger_view(w.l, false, 1, &v, &err), &err);
		for (size_t k = 0; k < v.total.calls.rows.n; k++) {
			const struct fsc_latency *row =
			    FSC_AT(struct fsc_latency, &v.total.calls.rows, k);

			in_folded += row->folded ? row->slot->count : 0;
		}
		assert_int_equal(in_folded, 20);
		fsc_ledger_view_release(&v);
		w.hooks.fold = true;
		ok(fsc_ledger_fold(w.l, count_folded, &folded, &err), &err);
	}
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(functions_of_past_files_are_summed_up),
	    cmocka_unit_test(what_a_page_has_folded_stays_folded),
	    cmocka_unit_test(a_total_is_of_those_that_run_and_those_that_ended),
	    cmocka_unit_test(time_stops_when_the_run_has_ended),
	    cmocka_unit_test(the_name_is_that_of_the_process_when_it_ended),
	    cmocka_unit_test(after_a_while_their_calls_are_nobodys),
	    cmocka_unit_test(only_so_many_are_shown_by_themselves),
	    cmocka_unit_test(a_process_that_begins_inherits_nothing),
	    cmocka_unit_test(a_number_that_ends_twice_is_the_later_process),
	    cmocka_unit_test(numbers_that_come_late_are_nobodys),
	    cmocka_unit_test(a_call_is_in_one_report_of_a_stretch),
	    cmocka_unit_test(what_could_not_be_written_is_in_the_next_report),
	    cmocka_unit_test(errors_are_ordered_by_calls_then_function_then_code),
	    cmocka_unit_test(what_changes_hands_is_not_new),
	    cmocka_unit_test(a_slow_call_is_in_one_report_of_a_stretch),
	    cmocka_unit_test(a_view_folds_what_has_no_room),
	    cmocka_unit_test(thousands_of_processes_stay_below_the_cap),
	    cmocka_unit_test(many_that_end_at_once_do_not_fill_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
