/* src/monitor/hooks*.c, as far as they go without a kernel: which entry of the configuration a
 * function belongs to, what another configuration keeps and what it ends, and processes that have
 * exited. Sessions are made by hand here and have no programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "monitor/hooks_priv.h"
#include "monitors.h"
#include "slots.h"

struct world {
	struct fsc_snoop_config config, other;
	struct fsc_processes *processes;
	struct fsc_hooks *h;
};

/* Processes by name: they are judged, and nobody has this one. */
#define NAMED "\"targets\": {\"names\": [\"no-such-process\"]}"

static void begin(struct world *w, const char *text, const char *other)
{
	struct fsc_err err = {0};

	monitor_config(text, &w->config);
	monitor_config(other, &w->other);
	monitor_ok(fsc_processes_new(&w->config.targets, &w->processes, &err), &err);
	monitor_ok(fsc_hooks_new(&w->config, w->processes, &w->h, &err), &err);
}

static void end(struct world *w)
{
	fsc_hooks_free(w->h);
	fsc_processes_free(w->processes);
	fsc_snoop_config_release(&w->config);
	fsc_snoop_config_release(&w->other);
}

static uint32_t add_func(struct fsc_hooks *h, const char *name)
{
	struct fsc_func *f = fsc_vec_push(&h->funcs);

	assert_non_null(f);
	assert_non_null(fsc_vec_push(&h->rules));
	*f = (struct fsc_func){.name = strdup(name), .symbol = strdup(name)};
	return (uint32_t)h->funcs.n - 1;
}

/* A session with a function for each of the first n entries from `first` on, each at so many
 * places. */
static struct batch *add_session(struct fsc_hooks *h, size_t first, size_t n, size_t places)
{
	struct batch *b = calloc(1, sizeof(*b)), **slot = fsc_vec_push(&h->batches);
	struct fsc_err err = {0};

	assert_non_null(b);
	assert_non_null(slot);
	*slot = b;
	fsc_targets_init(&b->targets);
	b->func_of = calloc(n, sizeof(*b->func_of));
	b->id_of = calloc(n, sizeof(*b->id_of));
	b->entry_of = calloc(n, sizeof(*b->entry_of));
	b->off = calloc(n, sizeof(*b->off));
	b->cost_seen = calloc(n, sizeof(*b->cost_seen));
	for (size_t i = 0; i < n; i++) {
		const char *name = entry_at(h, first + i)->name;

		for (size_t k = 0; k < places; k++) {
			struct fsc_target t = {.site = FSC_SITE_KERNEL,
					       .addr = 0x1000 * (i + 1) + k};

			monitor_ok(
			    fsc_targets_add(&b->targets, &t, "uprobe", "lib.so", name, NULL, &err),
			    &err);
		}
		b->entry_of[i] = (int32_t)(first + i);
		b->id_of[i] = fsc_finder_id(h->finder, first + i);
		b->func_of[i] = add_func(h, name);
	}
	assert_int_equal(b->targets.rows.n, n);
	return b;
}

static void add_name(const struct fsc_snoop_func *f, void *arg)
{
	strcat(arg, f->name);
}

static const char ABC[] =
    "{" MONITOR_FUNCS(MONITOR_FUNC("a") MONITOR_FUNC("b") MONITOR_FUNC("c")) "," NAMED "}";
static const char CD[] = "{" MONITOR_FUNCS(MONITOR_FUNC("c") MONITOR_FUNC("d")) "," NAMED "}";

/* ---- functions and entries ---- */

static void a_function_has_the_entry_it_was_found_for(void **state)
{
	struct world w;
	struct batch *b;
	char missing[16] = "";

	(void)state;
	begin(&w, ABC, CD);
	fsc_hooks_missing(w.h, add_name, missing);
	assert_string_equal(missing, "abc");
	b = add_session(w.h, 0, 2, 3);
	assert_string_equal(fsc_hooks_entry(w.h, 1)->name, "b");
	assert_null(fsc_hooks_entry(w.h, 7));
	assert_int_equal(fsc_hooks_places(w.h, 0), 3);
	assert_int_equal(fsc_hooks_found(w.h, 0), 1);
	assert_int_equal(fsc_hooks_found(w.h, 2), 0);
	missing[0] = '\0';
	fsc_hooks_missing(w.h, add_name, missing);
	assert_string_equal(missing, "c");
	/* One that does not count any more is found nowhere. */
	b->entry_of[0] = -1;
	assert_null(fsc_hooks_entry(w.h, 0));
	assert_int_equal(fsc_hooks_places(w.h, 0), 0);
	missing[0] = '\0';
	fsc_hooks_missing(w.h, add_name, missing);
	assert_string_equal(missing, "ac");
	end(&w);
}

static void an_error_has_the_name_that_its_function_means(void **state)
{
	struct world w;

	(void)state;
	begin(&w, ABC, CD);
	add_session(w.h, 0, 2, 1);
	*FSC_AT(enum fsc_error_rule, &w.h->rules, 0) = FSC_ERRORS_CUDA;
	assert_string_equal(fsc_hooks_error(w.h, 0, 2), "cudaErrorMemoryAllocation");
	/* An int: what is above it in the register is not looked at. */
	assert_string_equal(fsc_hooks_error(w.h, 0, 0xff00000002), "cudaErrorMemoryAllocation");
	assert_null(fsc_hooks_error(w.h, 0, 0xff00000000));
	assert_null(fsc_hooks_error(w.h, 1, 2));
	end(&w);
}

/* ---- another configuration ---- */

static void a_session_stays_while_one_of_its_functions_does(void **state)
{
	struct world w;
	struct fsc_err err = {0};

	(void)state;
	begin(&w, ABC, CD);
	add_session(w.h, 0, 2, 1); /* a and b: neither is in the other one */
	add_session(w.h, 1, 2, 1); /* b and c */
	monitor_ok(fsc_hooks_try(w.h, &w.other, false, &err), &err);
	assert_int_equal(w.h->was.stay, 1);
	assert_int_equal(w.h->batches.n, 0); /* of the one that is tried */
	assert_ptr_equal(w.h->config, &w.other);
	fsc_hooks_abandon(w.h);
	assert_ptr_equal(w.h->config, &w.config);
	assert_int_equal(w.h->batches.n, 2);
	assert_int_equal(w.h->was.stay, 0);
	assert_false(w.h->trying);
	assert_string_equal(fsc_hooks_entry(w.h, 0)->name, "a");
	end(&w);
}

static void with_other_processes_no_session_stays(void **state)
{
	struct world w;
	struct fsc_err err = {0};

	(void)state;
	begin(&w, ABC, ABC);
	add_session(w.h, 0, 3, 1);
	monitor_ok(fsc_hooks_try(w.h, &w.other, true, &err), &err);
	assert_int_equal(w.h->was.stay, 0);
	fsc_hooks_abandon(w.h);
	monitor_ok(fsc_hooks_try(w.h, &w.other, false, &err), &err);
	assert_int_equal(w.h->was.stay, 1);
	end(&w); /* in the middle of it */
}

/* An entry is the same one wherever it stands in the file; with another library it is another. */
static void an_entry_is_known_by_what_it_says(void **state)
{
	static const char moved[] =
	    "{" MONITOR_FUNCS(MONITOR_FUNC("x") MONITOR_FUNC("y") MONITOR_FUNC("a")) "," NAMED "}";
	static const char elsewhere[] = "{" MONITOR_FUNCS(
	    "\"a\": {\"symbol\": \"a\", \"library\": \"/another/lib.so\"}") "," NAMED "}";
	struct world w;
	struct fsc_snoop_config third;
	struct fsc_err err = {0};

	(void)state;
	begin(&w, ABC, moved);
	monitor_config(elsewhere, &third);
	add_session(w.h, 0, 1, 1);
	monitor_ok(fsc_hooks_try(w.h, &w.other, false, &err), &err);
	assert_int_equal(w.h->was.stay, 1);
	fsc_hooks_abandon(w.h);
	monitor_ok(fsc_hooks_try(w.h, &third, false, &err), &err);
	assert_int_equal(w.h->was.stay, 0);
	fsc_hooks_abandon(w.h);
	end(&w);
	fsc_snoop_config_release(&third);
}

/* Where nothing is found, a configuration is taken over all the same. */
static void a_configuration_is_in_force_once_committed(void **state)
{
	struct world w;
	struct fsc_err err = {0};
	char missing[16] = "";

	(void)state;
	begin(&w, ABC, CD);
	monitor_ok(fsc_hooks_try(w.h, &w.other, false, &err), &err);
	monitor_ok(fsc_hooks_libraries(w.h, &err), &err);
	monitor_ok(fsc_hooks_attach(w.h, &err), &err);
	fsc_hooks_commit(w.h);
	assert_ptr_equal(w.h->config, &w.other);
	assert_false(w.h->trying);
	fsc_hooks_missing(w.h, add_name, missing);
	assert_string_equal(missing, "cd");
	end(&w);
}

/* ---- processes ---- */

static const struct retired *retired_at(const struct world *w, size_t i)
{
	assert_true(i < w->h->retired.n);
	return FSC_AT(struct retired, &w->h->retired, i);
}

static void what_is_noted_first_counts_but_for_the_end(void **state)
{
	struct world w;
	struct fsc_err err = {0};

	(void)state;
	begin(&w, ABC, CD);
	monitor_ok(fsc_hooks_set_verdict(w.h, 10, true, &err), &err);
	assert_int_equal(w.h->retired.n, 0);
	monitor_ok(fsc_hooks_set_verdict(w.h, 11, false, &err), &err);
	assert_false(retired_at(&w, 0)->wanted);
	assert_true(retired_at(&w, 0)->alive);
	monitor_ok(fsc_hooks_exited(w.h, 11, true, &err), &err);
	assert_int_equal(w.h->retired.n, 1);
	assert_false(retired_at(&w, 0)->wanted);
	assert_false(retired_at(&w, 0)->alive);
	monitor_ok(fsc_hooks_exited(w.h, 10, true, &err), &err);
	assert_true(retired_at(&w, 1)->wanted);
	end(&w);
}

/* Verdicts by other targets are taken back with them; ends are not. */
static void abandoned_targets_leave_no_verdict(void **state)
{
	struct world w;
	struct fsc_err err = {0};

	(void)state;
	begin(&w, ABC, CD);
	monitor_ok(fsc_hooks_set_verdict(w.h, 10, false, &err), &err); /* before */
	monitor_ok(fsc_hooks_try(w.h, &w.other, true, &err), &err);
	monitor_ok(fsc_hooks_set_verdict(w.h, 20, false, &err), &err);
	monitor_ok(fsc_hooks_set_verdict(w.h, 21, false, &err), &err);
	monitor_ok(fsc_hooks_set_verdict(w.h, 22, false, &err), &err);
	monitor_ok(fsc_hooks_exited(w.h, 21, false, &err), &err);
	assert_int_equal(w.h->retired.n, 4);
	fsc_hooks_abandon(w.h);
	assert_int_equal(w.h->retired.n, 2);
	assert_int_equal(retired_at(&w, 0)->pid, 10);
	assert_int_equal(retired_at(&w, 1)->pid, 21);
	assert_true(retired_at(&w, 1)->wanted);
	/* They are found where they are now. */
	monitor_ok(fsc_hooks_exited(w.h, 10, false, &err), &err);
	monitor_ok(fsc_hooks_set_verdict(w.h, 22, false, &err), &err);
	monitor_ok(fsc_hooks_exited(w.h, 21, true, &err), &err);
	assert_int_equal(w.h->retired.n, 3);
	assert_false(retired_at(&w, 0)->alive);
	assert_int_equal(retired_at(&w, 2)->pid, 22);
	assert_true(retired_at(&w, 2)->alive);
	end(&w);
}

/* Processes by number have probes to themselves: there is nobody to be judged. */
static void processes_by_number_are_not_judged(void **state)
{
	static const char by_number[] =
	    "{" MONITOR_FUNCS(MONITOR_FUNC("a")) ", \"targets\": {\"pids\": [1]}}";
	struct world w;
	struct fsc_err err = {0};

	(void)state;
	begin(&w, by_number, by_number);
	monitor_ok(fsc_hooks_set_verdict(w.h, 11, false, &err), &err);
	assert_int_equal(w.h->retired.n, 0);
	end(&w);
}

/* Of sessions that are no more: a process's numbers outlive it as nobody's. */
static void numbers_of_closed_sessions_outlive_their_process(void **state)
{
	static const uint64_t v[] = {100, 200, 300};
	struct fsc_slot *slot = slot_of(v, 3);
	struct world w;
	struct fsc_tally to, ended;
	struct fsc_err err = {0};
	uint32_t row;

	(void)state;
	begin(&w, ABC, CD);
	monitor_ok(fsc_tally_add(&w.h->closed, 0, 10, slot, &err), &err);
	monitor_ok(fsc_tally_add(&w.h->closed, 0, 11, slot, &err), &err);
	monitor_ok(fsc_hooks_exited(w.h, 10, true, &err), &err);
	fsc_tally_init(&ended);
	fsc_tally_init(&to);
	monitor_ok(fsc_hooks_collect(w.h, NULL, NULL, &ended, &err), &err);
	assert_int_equal(w.h->retired.n, 0);
	monitor_ok(fsc_hooks_read(w.h, &to, &err), &err);
	assert_false(fsc_tally_find(&to, 0, 10, &row));
	assert_true(fsc_tally_find(&to, 0, 11, &row));
	assert_true(fsc_tally_find(&to, 0, FSC_TALLY_NOBODY, &row));
	assert_int_equal(FSC_AT(struct fsc_latency, &to.calls.rows, row)->slot->count, 3);
	fsc_tally_release(&to);
	fsc_tally_release(&ended);
	free(slot);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_function_has_the_entry_it_was_found_for),
	    cmocka_unit_test(an_error_has_the_name_that_its_function_means),
	    cmocka_unit_test(a_session_stays_while_one_of_its_functions_does),
	    cmocka_unit_test(with_other_processes_no_session_stays),
	    cmocka_unit_test(an_entry_is_known_by_what_it_says),
	    cmocka_unit_test(a_configuration_is_in_force_once_committed),
	    cmocka_unit_test(what_is_noted_first_counts_but_for_the_end),
	    cmocka_unit_test(abandoned_targets_leave_no_verdict),
	    cmocka_unit_test(processes_by_number_are_not_judged),
	    cmocka_unit_test(numbers_of_closed_sessions_outlive_their_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
