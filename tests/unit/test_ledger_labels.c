/* src/monitor/ledger_labels.c and labelsets.c: rows by the labels of processes are together what
 * rows by function are, whoever exits, whatever is folded, and memory has an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "ledgers.h"
#include "proc/cgroup_names.h"

enum { CONTAINER = 1, POD = 2, UNIT = 8 }; /* bits of labels */

/* ---- cgroups, made up ---- */

/* A process is in container PID / 10, and in unit PID % 10 if it has one; from GONE on it has
 * exited. */
enum { GONE = 900000 };
static int moved; /* added to each container */

bool fsc_cgroup_names_read(pid_t pid, struct fsc_cgroup_names *ret)
{
	*ret = (struct fsc_cgroup_names){0};
	if (pid >= GONE)
		return false;
	snprintf(ret->container, sizeof(ret->container), "c%d", (int)pid / 10 + moved);
	if (pid % 10)
		snprintf(ret->unit, sizeof(ret->unit), "%d.service", (int)pid % 10);
	return true;
}

static void use(struct world *w, unsigned labels, size_t most)
{
	const struct fsc_labelsets_opts o = {.labels = labels, .most = most};
	struct fsc_err err = {0};

	ok(fsc_ledger_use_labels(w->l, &o, &err), &err);
}

static void begin_with(struct world *w, unsigned labels, size_t most)
{
	moved = 0;
	begin(w);
	use(w, labels, most);
}

static void found(struct world *w, pid_t pid, bool called)
{
	struct fsc_err err = {0};

	ok(fsc_ledger_process(w->l, pid, called, &err), &err);
}

/* What is measured is of exited processes from now on. */
static void all_exit(struct world *w)
{
	struct fsc_err err = {0};

	ok(fsc_tally_merge(&w->hooks.ended, &w->hooks.running, true, &err), &err);
	fsc_tally_release(&w->hooks.running);
	fsc_tally_init(&w->hooks.running);
}

/* Calls in the rows whose first label has that value. */
static uint64_t labelled(const struct fsc_tally *t, const char *value)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->calls.rows.n; i++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &t->calls.rows, i);

		assert_true(row->n_labels > 0);
		n += strcmp(row->labels[0].value, value) ? 0 : row->slot->count;
	}
	return n;
}

static uint64_t calls_in(struct world *w, const char *value)
{
	struct fsc_tally t;
	struct fsc_err err = {0};
	uint64_t n;

	ok(fsc_ledger_total(w->l, false, &t, &err), &err);
	n = labelled(&t, value);
	fsc_tally_release(&t);
	return n;
}

static size_t rows_by_labels(struct world *w)
{
	struct fsc_tally t;
	struct fsc_err err = {0};
	size_t n;

	ok(fsc_ledger_total(w->l, false, &t, &err), &err);
	n = t.calls.rows.n;
	fsc_tally_release(&t);
	return n;
}

/* ---- rows ---- */

static void rows_are_split_by_labels_and_not_by_process(void **state)
{
	struct world w;
	struct fsc_tally t;
	const struct fsc_latency *row;
	struct fsc_err err = {0};

	(void)state;
	begin_with(&w, CONTAINER | UNIT, 100);
	measured(&w.hooks.running, 0, 10, 1);
	measured(&w.hooks.running, 0, 11, 2);
	measured(&w.hooks.running, 0, 20, 4);
	measured(&w.hooks.running, 1, 20, 8);
	measured(&w.hooks.running, 0, GONE, 16);
	ok(fsc_tally_error(&w.hooks.running, 0, 11, 5, 2, &err), &err);
	assert_int_equal(calls_in(&w, "c1"), 3);
	assert_int_equal(calls_in(&w, "c2"), 12);
	assert_int_equal(calls_in(&w, ""), 16);
	assert_int_equal(all_calls(&w), 31);
	assert_int_equal(rows_by_labels(&w), 5);
	/* By process, each has its labels. */
	ok(fsc_ledger_total(w.l, true, &t, &err), &err);
	assert_int_equal(t.calls.rows.n, 5);
	row = row_of(&t.calls, 0, 11);
	assert_int_equal(row->n_labels, 2);
	assert_string_equal(row->labels[0].name, "container");
	assert_string_equal(row->labels[0].value, "c1");
	assert_string_equal(row->labels[1].name, "unit");
	assert_string_equal(row->labels[1].value, "1.service");
	assert_string_equal(row_of(&t.calls, 0, GONE)->labels[1].value, "");
	fsc_tally_release(&t);
	end(&w);
}

static void a_row_outlives_its_processes(void **state)
{
	struct world w;
	struct fsc_tally t;
	struct fsc_err err = {0};

	(void)state;
	begin_with(&w, CONTAINER, 100);
	ended(&w, 10, 5);
	ended(&w, 11, 6);
	collect(&w, 1000);
	assert_int_equal(calls_of(&w, 10), 5);
	assert_int_equal(calls_in(&w, "c1"), 11);
	collect(&w, 0);
	assert_int_equal(calls_of(&w, 10), 0);
	assert_int_equal(calls_in(&w, "c1"), 11);
	measured(&w.hooks.running, 0, 12, 1);
	assert_int_equal(calls_in(&w, "c1"), 12);
	assert_int_equal(rows_by_labels(&w), 1);
	/* By process it is one of no process, with labels. */
	ok(fsc_ledger_total(w.l, true, &t, &err), &err);
	assert_int_equal(t.calls.rows.n, 2);
	assert_int_equal(labelled(&t, "c1"), 12);
	assert_int_equal(fsc_tally_pid(FSC_AT(struct fsc_latency, &t.calls.rows, 0)->key.pid), 0);
	fsc_tally_release(&t);
	end(&w);
}

static void labels_stay_from_the_first_call_on(void **state)
{
	struct fsc_err err = {0};
	struct world w;

	(void)state;
	begin_with(&w, CONTAINER, 100);
	found(&w, 10, false);
	found(&w, 20, false);
	moved = 5;
	ok(fsc_ledger_exec(w.l, 10, &err), &err);
	moved = 7;
	found(&w, 10, true);
	moved = 9;
	found(&w, 10, true);
	ok(fsc_ledger_exec(w.l, 10, &err), &err);
	measured(&w.hooks.running, 0, 10, 1);
	measured(&w.hooks.running, 0, 20, 2);
	assert_int_equal(calls_in(&w, "c8"), 1);
	assert_int_equal(calls_in(&w, "c11"), 2);
	moved = 0;
	assert_int_equal(calls_in(&w, "c8"), 1);
	assert_int_equal(calls_in(&w, "c11"), 2);
	end(&w);
}

/* A number that comes again is another process's. */
static void a_process_that_begins_has_its_own_labels(void **state)
{
	struct fsc_err err = {0};
	struct world w;

	(void)state;
	begin_with(&w, CONTAINER, 100);
	ended(&w, 10, 5);
	collect(&w, 1000);
	moved = 1;
	ok(fsc_ledger_began(w.l, 10, &err), &err);
	found(&w, 10, false);
	measured(&w.hooks.running, 0, 10, 3);
	assert_int_equal(calls_in(&w, "c1"), 5);
	assert_int_equal(calls_in(&w, "c2"), 3);
	end(&w);
}

/* Only processes that call functions take places. */
static void processes_without_calls_take_no_place(void **state)
{
	struct world w;

	(void)state;
	begin_with(&w, CONTAINER, 2);
	for (pid_t pid = 10; pid < 1000; pid += 10)
		found(&w, pid, false);
	measured(&w.hooks.running, 0, 990, 3);
	measured(&w.hooks.running, 0, 980, 4);
	assert_int_equal(calls_in(&w, "c99"), 3);
	assert_int_equal(calls_in(&w, "c98"), 4);
	measured(&w.hooks.running, 0, 970, 5);
	assert_int_equal(calls_in(&w, "other"), 5);
	assert_int_equal(all_calls(&w), 12);
	end(&w);
}

/* ---- limits ---- */

struct shown {
	uint64_t calls, other, folded;
	size_t rows;
};

static struct shown view_of(struct world *w, bool apart, size_t cap)
{
	struct fsc_ledger_view v;
	struct fsc_err err = {0};
	struct shown s = {0};

	ok(fsc_ledger_view(w->l, apart, cap, &v, &err), &err);
	for (size_t i = 0; i < v.total.calls.rows.n; i++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &v.total.calls.rows, i);

		s.calls += row->slot->count;
		s.folded += row->folded ? row->slot->count : 0;
		s.rows += !row->folded;
		if (!row->folded && !strcmp(row->labels[0].value, "other"))
			s.other += row->slot->count;
	}
	fsc_ledger_view_release(&v);
	return s;
}

/* A container runs for a while, with a process of one that runs on. What is shown of all others
 * never decreases, nothing is lost, and there are never more rows than the limits allow. */
static void restart_containers(bool apart, size_t cap, double keep_s)
{
	enum { RESTARTS = 1500, MOST = 16 };
	struct shown before = {0};
	struct fsc_err err = {0};
	struct world w;

	begin_with(&w, CONTAINER, MOST);
	w.keep_rows = 40;
	for (uint32_t i = 1; i <= RESTARTS; i++) {
		const uint32_t pid = 100 + 10 * i;
		struct shown now;

		found(&w, (pid_t)pid, false);
		measured(&w.hooks.running, i % 2, pid, 3);
		now = view_of(&w, apart, cap);
		assert_true(now.rows <= cap);
		assert_int_equal(now.calls, 3 * i);
		assert_true(now.other >= before.other && now.folded >= before.folded);
		ok(fsc_ledger_ended(w.l, (pid_t)pid, &err), &err);
		all_exit(&w);
		collect(&w, keep_s);
		before = view_of(&w, apart, cap);
		assert_true(before.rows <= cap);
		assert_int_equal(before.calls, 3 * i);
		assert_true(before.other >= now.other && before.folded >= now.folded);
		assert_true(rows_by_labels(&w) <= 2 * (MOST + 2));
		assert_int_equal(all_calls(&w), 3 * i);
	}
	assert_true(before.other + before.folded >= 3 * (RESTARTS - MOST));
	end(&w);
}

static void containers_that_restart_stay_below_the_limits(void **state)
{
	(void)state;
	restart_containers(false, 1000, 0);
	restart_containers(false, 10, 0);
	restart_containers(true, 10, 0);
	restart_containers(false, 10, 1000);
	restart_containers(true, 1000, 1000);
}

/* The one that had a process last is folded last; one that has a process never. */
static void the_oldest_are_folded_first(void **state)
{
	struct world w;

	(void)state;
	begin_with(&w, CONTAINER, 4);
	measured(&w.hooks.running, 0, 10, 1);
	found(&w, 10, true);
	for (uint32_t pid = 20; pid <= 40; pid += 10) {
		found(&w, (pid_t)pid, true);
		ended(&w, pid, pid);
	}
	collect(&w, 1000);
	collect(&w, 0);
	assert_int_equal(calls_in(&w, "other"), 20);
	ended(&w, 31, 1000); /* runs again, and is the newest then */
	collect(&w, 0);
	ended(&w, 50, 50);
	collect(&w, 0);
	assert_int_equal(calls_in(&w, "c1"), 1);
	assert_int_equal(calls_in(&w, "c3"), 1030);
	assert_int_equal(calls_in(&w, "c4"), 0);
	assert_int_equal(calls_in(&w, "c5"), 50);
	assert_int_equal(calls_in(&w, "other"), 60);
	end(&w);
}

/* Nobody need wait for the next collection: neither who calls, nor who is first seen in a reading.
 */
static void an_idle_set_makes_room_at_once(void **state)
{
	struct world w;

	(void)state;
	begin_with(&w, CONTAINER, 4);
	measured(&w.hooks.running, 0, 10, 1);
	found(&w, 10, true);
	for (uint32_t pid = 20; pid <= 30; pid += 10)
		ended(&w, pid, pid);
	collect(&w, 0);
	measured(&w.hooks.running, 0, 40, 40);
	assert_int_equal(calls_in(&w, "c4"), 40);
	found(&w, 50, true);
	measured(&w.hooks.running, 0, 50, 50);
	assert_int_equal(calls_in(&w, "other"), 20);
	measured(&w.hooks.running, 0, 60, 60);
	measured(&w.hooks.running, 0, 70, 70); /* when all of them have a process */
	assert_int_equal(calls_in(&w, "other"), 20 + 30 + 70);
	assert_int_equal(calls_in(&w, "c5"), 50);
	assert_int_equal(calls_in(&w, "c6"), 60);
	end(&w);
}

static void rows_of_labels_do_not_fill_memory(void **state)
{
	struct world w;

	(void)state;
	begin_with(&w, CONTAINER, 1000);
	w.keep_rows = 30;
	for (uint32_t pid = 10; pid <= 1000; pid += 10) {
		ended(&w, pid, 1);
		measured(&w.hooks.ended, 1, pid, 1);
	}
	collect(&w, 0);
	assert_true(rows_by_labels(&w) <= 30 + 2);
	assert_int_equal(calls_in(&w, "c100"), 2);
	assert_int_equal(calls_in(&w, "c1"), 0);
	assert_int_equal(all_calls(&w), 200);
	end(&w);
}

/* ---- reports ---- */

static void on_report(struct fsc_sink *s, const struct fsc_report *r, struct fsc_buf *b)
{
	fsc_buf_putc(b, '\n');
	*(uint64_t *)s->own = sum_of(r->calls);
}

static const struct fsc_sink_ops capture = {.name = "capture", .report = on_report};

static uint64_t report(struct world *w, bool apart)
{
	uint64_t calls = 0;
	struct fsc_sink sink = {.ops = &capture, .own = &calls};
	struct fsc_err err = {0};

	sink.out = fopen("/dev/null", "w");
	assert_non_null(sink.out);
	ok(fsc_ledger_report(w->l, &sink, apart, false, 10, &err), &err);
	fclose(sink.out);
	return calls;
}

static void what_is_folded_or_relabelled_is_not_new(void **state)
{
	struct world w;

	(void)state;
	for (int apart = 0; apart < 2; apart++) {
		begin_with(&w, CONTAINER, 2);
		measured(&w.hooks.running, 0, 10, 1);
		for (uint32_t pid = 20; pid <= 60; pid += 10) {
			found(&w, (pid_t)pid, true);
			ended(&w, pid, pid);
			assert_true(view_of(&w, apart, 2).rows <= 2);
			collect(&w, 1000);
			assert_int_equal(report(&w, apart), pid + (pid == 20));
			collect(&w, 0);
			assert_int_equal(report(&w, apart), 0);
		}
		use(&w, CONTAINER | POD, 2);
		assert_int_equal(report(&w, apart), 0);
		measured(&w.hooks.running, 0, 10, 7);
		assert_int_equal(report(&w, apart), 7);
		use(&w, 0, 2);
		measured(&w.hooks.running, 0, 10, 8);
		assert_int_equal(report(&w, apart), 8);
		measured(&w.hooks.running, 0, 10, 9);
		assert_int_equal(report(&w, !apart), 9);
		assert_int_equal(report(&w, !apart), 0);
		end(&w);
	}
}

static void other_labels_lose_nothing(void **state)
{
	struct world w;

	(void)state;
	begin_with(&w, CONTAINER, 100);
	measured(&w.hooks.running, 0, 11, 1);
	ended(&w, 21, 2);
	ended(&w, 31, 4);
	collect(&w, 0);
	assert_int_equal(calls_in(&w, "c2"), 2);
	use(&w, UNIT, 100);
	assert_int_equal(calls_in(&w, "1.service"), 1);
	assert_int_equal(calls_in(&w, ""), 6);
	use(&w, 0, 100);
	assert_int_equal(all_calls(&w), 7);
	assert_int_equal(rows_by_labels(&w), 1);
	use(&w, CONTAINER, 100);
	found(&w, 11, false);
	assert_int_equal(calls_in(&w, "c1"), 1);
	assert_int_equal(calls_in(&w, ""), 6);
	end(&w);
}

/* ---- fields ---- */

static void fields_are_of_single_processes(void **state)
{
	const struct fsc_labelsets_opts o = {.fields = 7, .most = 10};
	struct fsc_label about[FSC_LABELS + FSC_PROCESS_FIELDS];
	const uint32_t self = (uint32_t)getpid();
	const struct fsc_latency *row;
	struct fsc_err err = {0};
	struct fsc_tally t;
	struct world w;

	(void)state;
	begin(&w);
	ok(fsc_ledger_use_labels(w.l, &o, &err), &err);
	measured(&w.hooks.running, 0, self, 1);
	measured(&w.hooks.running, 0, 0x7ffffff0, 2);
	ok(fsc_ledger_total(w.l, true, &t, &err), &err);
	row = row_of(&t.calls, 0, self);
	assert_int_equal(row->n_labels, 0);
	assert_int_equal(row->n_fields, 3);
	assert_string_equal(row->fields[0].name, "started");
	assert_int_equal(strlen(row->fields[0].value), strlen("2026-11-15T12:07:46.246Z"));
	assert_int_equal(row->fields[1].value[0], '/');
	assert_non_null(strstr(row->fields[2].value, "test_ledger_labels"));
	assert_int_equal(row_of(&t.calls, 0, 0x7ffffff0)->n_fields, 0);
	fsc_tally_release(&t);
	ok(fsc_ledger_total(w.l, false, &t, &err), &err);
	assert_int_equal(t.calls.rows.n, 1);
	assert_int_equal(row_of(&t.calls, 0, FSC_TALLY_NOBODY)->n_fields, 0);
	fsc_tally_release(&t);
	assert_int_equal(fsc_ledger_about(w.l, (pid_t)self, about), 3);
	assert_string_equal(about[2].name, "cmdline");
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_are_split_by_labels_and_not_by_process),
	    cmocka_unit_test(a_row_outlives_its_processes),
	    cmocka_unit_test(labels_stay_from_the_first_call_on),
	    cmocka_unit_test(a_process_that_begins_has_its_own_labels),
	    cmocka_unit_test(processes_without_calls_take_no_place),
	    cmocka_unit_test(containers_that_restart_stay_below_the_limits),
	    cmocka_unit_test(the_oldest_are_folded_first),
	    cmocka_unit_test(an_idle_set_makes_room_at_once),
	    cmocka_unit_test(rows_of_labels_do_not_fill_memory),
	    cmocka_unit_test(what_is_folded_or_relabelled_is_not_new),
	    cmocka_unit_test(other_labels_lose_nothing),
	    cmocka_unit_test(fields_are_of_single_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
