/* src/monitor/hooks*.c, as far as they go without a kernel: which entry of the configuration a
 * function belongs to, what another configuration keeps and what it ends, and processes that have
 * exited. Files are made by hand here and have no probes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
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
	assert_non_null(fsc_vec_push(&h->states));
	*f = (struct fsc_func){.name = strdup(name), .symbol = strdup(name)};
	return (uint32_t)h->funcs.n - 1;
}

/* A file with a function for each of the first n entries from `first` on, each at so many
 * places. */
static struct hooked *add_file(struct fsc_hooks *h, size_t first, size_t n, size_t places)
{
	struct hooked *f = calloc(1, sizeof(*f)), **slot = fsc_vec_push(&h->files);
	struct fsc_err err = {0};

	assert_non_null(f);
	assert_non_null(slot);
	*slot = f;
	fsc_targets_init(&f->targets);
	f->hooks = calloc(n, sizeof(*f->hooks));
	assert_non_null(f->hooks);
	for (size_t i = 0; i < n; i++) {
		const char *name = entry_at(h, first + i)->name;

		for (size_t k = 0; k < places; k++) {
			struct fsc_target t = {.site = FSC_SITE_KERNEL,
					       .addr = 0x1000 * (i + 1) + k};

			monitor_ok(
			    fsc_targets_add(&f->targets, &t, "uprobe", "lib.so", name, NULL, &err),
			    &err);
		}
		f->hooks[i].entry = (int32_t)(first + i);
		f->hooks[i].id = fsc_finder_id(h->finder, first + i);
		f->hooks[i].func = add_func(h, name);
	}
	assert_int_equal(f->targets.rows.n, n);
	return f;
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
	struct hooked *f;
	char missing[16] = "";

	(void)state;
	begin(&w, ABC, CD);
	fsc_hooks_missing(w.h, add_name, missing);
	assert_string_equal(missing, "abc");
	f = add_file(w.h, 0, 2, 3);
	assert_string_equal(fsc_hooks_entry(w.h, 1)->name, "b");
	assert_null(fsc_hooks_entry(w.h, 7));
	assert_int_equal(fsc_hooks_places(w.h, 0), 3);
	assert_int_equal(fsc_hooks_found(w.h, 0), 1);
	assert_int_equal(fsc_hooks_found(w.h, 2), 0);
	missing[0] = '\0';
	fsc_hooks_missing(w.h, add_name, missing);
	assert_string_equal(missing, "c");
	/* One that does not count any more is found nowhere. */
	f->hooks[0].entry = -1;
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
	add_file(w.h, 0, 2, 1);
	state_at(w.h, 0)->errors = FSC_ERRORS_CUDA;
	assert_string_equal(fsc_hooks_error(w.h, 0, 2), "cudaErrorMemoryAllocation");
	/* An int: what is above it in the register is not looked at. */
	assert_string_equal(fsc_hooks_error(w.h, 0, 0xff00000002), "cudaErrorMemoryAllocation");
	assert_null(fsc_hooks_error(w.h, 0, 0xff00000000));
	assert_null(fsc_hooks_error(w.h, 1, 2));
	end(&w);
}

/* ---- another configuration ---- */

static void a_file_stays_while_one_of_its_functions_does(void **state)
{
	struct world w;
	struct fsc_err err = {0};

	(void)state;
	begin(&w, ABC, CD);
	add_file(w.h, 0, 2, 1); /* a and b: neither is in the other one */
	add_file(w.h, 1, 2, 1); /* b and c */
	monitor_ok(fsc_hooks_try(w.h, &w.other, &err), &err);
	assert_true(fsc_hooks_will_end(w.h, hooked_at(w.h, 0)));
	assert_false(fsc_hooks_will_end(w.h, hooked_at(w.h, 1)));
	assert_ptr_equal(w.h->config, &w.other);
	add_file(w.h, 0, 1, 1); /* found for the one that is tried */
	fsc_hooks_abandon(w.h);
	assert_ptr_equal(w.h->config, &w.config);
	assert_int_equal(w.h->files.n, 2);
	assert_false(w.h->trying);
	assert_string_equal(fsc_hooks_entry(w.h, 0)->name, "a");
	end(&w);
}

/* The kernel limits links to processes given by number; other processes need other links. Those
 * given by name are only judged anew. */
static void only_other_links_end_all_files(void **state)
{
	static const char by_number[] = "{" MONITOR_FUNCS(MONITOR_FUNC("a") MONITOR_FUNC(
	    "b") MONITOR_FUNC("c")) ", \"targets\": {\"pids\": [1]}}";
	static const char renamed[] = "{" MONITOR_FUNCS(MONITOR_FUNC("a") MONITOR_FUNC(
	    "b") MONITOR_FUNC("c")) ", \"targets\": {\"names\": [\"another\"]}}";
	struct world w;
	struct fsc_snoop_config third;
	struct fsc_err err = {0};

	(void)state;
	begin(&w, ABC, by_number);
	monitor_config(renamed, &third);
	add_file(w.h, 0, 3, 1);
	monitor_ok(fsc_hooks_try(w.h, &w.other, &err), &err);
	assert_true(fsc_hooks_will_end(w.h, hooked_at(w.h, 0)));
	fsc_hooks_abandon(w.h);
	monitor_ok(fsc_hooks_try(w.h, &third, &err), &err);
	assert_false(fsc_hooks_will_end(w.h, hooked_at(w.h, 0)));
	end(&w); /* in the middle of it */
	fsc_snoop_config_release(&third);
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
	add_file(w.h, 0, 1, 1);
	monitor_ok(fsc_hooks_try(w.h, &w.other, &err), &err);
	assert_false(fsc_hooks_will_end(w.h, hooked_at(w.h, 0)));
	fsc_hooks_abandon(w.h);
	monitor_ok(fsc_hooks_try(w.h, &third, &err), &err);
	assert_true(fsc_hooks_will_end(w.h, hooked_at(w.h, 0)));
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
	monitor_ok(fsc_hooks_try(w.h, &w.other, &err), &err);
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

static void what_is_noted_first_counts_but_for_the_exit(void **state)
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
	monitor_ok(fsc_hooks_exited(w.h, 11, &err), &err);
	assert_int_equal(w.h->retired.n, 1);
	assert_false(retired_at(&w, 0)->wanted);
	assert_false(retired_at(&w, 0)->alive);
	monitor_ok(fsc_hooks_exited(w.h, 10, &err), &err);
	assert_true(retired_at(&w, 1)->wanted);
	end(&w);
}

/* What was counted of a target is not taken back when it is none any more. */
static void a_target_that_is_none_any_more_keeps_its_numbers(void **state)
{
	struct world w;
	struct fsc_err err = {0};

	(void)state;
	begin(&w, ABC, CD);
	assert_int_equal(fsc_hooks_verdict(w.h, 10), -1);
	monitor_ok(fsc_hooks_set_verdict(w.h, 10, true, &err), &err);
	assert_int_equal(fsc_hooks_verdict(w.h, 10), 1);
	monitor_ok(fsc_hooks_set_verdict(w.h, 10, false, &err), &err);
	assert_int_equal(fsc_hooks_verdict(w.h, 10), 0);
	assert_true(retired_at(&w, 0)->wanted);
	assert_true(retired_at(&w, 0)->alive);
	/* Its second verdict of that kind has nothing more to free. */
	monitor_ok(fsc_hooks_set_verdict(w.h, 10, false, &err), &err);
	assert_int_equal(w.h->retired.n, 1);
	end(&w);
}

/* Verdicts by other targets are in force with them, and never if they are given up. */
static void verdicts_wait_for_their_configuration(void **state)
{
	struct world w;
	struct fsc_err err = {0};

	(void)state;
	begin(&w, ABC, CD);
	monitor_ok(fsc_hooks_set_verdict(w.h, 10, true, &err), &err);
	monitor_ok(fsc_hooks_set_verdict(w.h, 11, true, &err), &err);
	monitor_ok(fsc_hooks_try(w.h, &w.other, &err), &err);
	monitor_ok(fsc_hooks_set_verdict(w.h, 10, false, &err), &err);
	assert_int_equal(fsc_hooks_verdict(w.h, 10), 1);
	fsc_hooks_abandon(w.h);
	assert_int_equal(fsc_hooks_verdict(w.h, 10), 1);
	assert_int_equal(w.h->retired.n, 0);
	monitor_ok(fsc_hooks_try(w.h, &w.other, &err), &err);
	monitor_ok(fsc_hooks_set_verdict(w.h, 10, false, &err), &err);
	monitor_ok(fsc_hooks_set_verdict(w.h, 11, false, &err), &err);
	/* It exits as what it was. */
	monitor_ok(fsc_hooks_exited(w.h, 11, &err), &err);
	fsc_hooks_commit(w.h);
	assert_int_equal(fsc_hooks_verdict(w.h, 10), 0);
	assert_int_equal(w.h->retired.n, 2);
	assert_int_equal(retired_at(&w, 0)->pid, 11);
	assert_true(retired_at(&w, 0)->wanted);
	assert_false(retired_at(&w, 0)->alive);
	assert_true(retired_at(&w, 1)->wanted);
	end(&w);
}

/* Of files that are closed: when a process exits, its numbers there go the way of its others. */
static void numbers_of_closed_files_outlive_their_process(void **state)
{
	static const uint64_t v[] = {100, 200, 300};
	struct fsc_slot *slot = slot_of(v, 3);
	struct world w;
	struct fsc_tally to, ended;
	struct fsc_err err = {0};
	uint32_t row;

	(void)state;
	begin(&w, ABC, CD);
	monitor_ok(fsc_hooks_set_verdict(w.h, 10, true, &err), &err);
	monitor_ok(fsc_tally_add(&w.h->closed, 0, 10, slot, &err), &err);
	monitor_ok(fsc_tally_add(&w.h->closed, 0, 11, slot, &err), &err);
	monitor_ok(fsc_hooks_exited(w.h, 10, &err), &err);
	fsc_tally_init(&ended);
	fsc_tally_init(&to);
	monitor_ok(fsc_hooks_collect(w.h, NULL, NULL, &ended, &err), &err);
	assert_int_equal(w.h->retired.n, 0);
	monitor_ok(fsc_hooks_read(w.h, &to, &err), &err);
	assert_false(fsc_tally_find(&to, 0, 10, &row));
	assert_true(fsc_tally_find(&to, 0, 11, &row));
	assert_true(fsc_tally_find(&ended, 0, 10, &row));
	assert_int_equal(FSC_AT(struct fsc_latency, &ended.calls.rows, row)->slot->count, 3);
	assert_false(fsc_tally_find(&ended, 0, 11, &row));
	fsc_tally_release(&to);
	fsc_tally_release(&ended);
	free(slot);
	end(&w);
}

static void fold_nothing(const struct fsc_tally_part *p, uint32_t *func, uint32_t *pid, void *arg)
{
	(void)p, (void)func, (void)pid, (void)arg;
}

static uint32_t number_of(struct fsc_hooks *h, const char *name, const char *binary)
{
	const struct fsc_func names = {
	    .kind = "uprobe", .group = "g", .name = name, .symbol = name, .binary = binary};
	struct fsc_err err = {0};
	uint32_t func;

	monitor_ok(fsc_hooks_number_of(h, &names, &func, &err), &err);
	return func;
}

/* Beyond a number of functions without a file the oldest are summed up by name, and their numbers
 * are used again; their count stays bounded. */
static void functions_without_a_file_are_bounded(void **state)
{
	enum { MOST = 16, N = 500 };
	struct world w;
	struct fsc_err err = {0};
	size_t folded = 0;

	(void)state;
	begin(&w, "{\"custom_sym\": {\"f\": \"f\"}}", "{\"custom_sym\": {\"f\": \"f\"}}");
	for (int i = 0; i < N; i++) {
		struct fsc_vec folds = FSC_VEC_INIT(struct fsc_fold);
		char binary[32];
		uint32_t func;

		snprintf(binary, sizeof(binary), "/bin/%d", i);
		func = number_of(w.h, "f", binary);
		state_at(w.h, func)->closed = ++w.h->closings;
		monitor_ok(fsc_hooks_to_fold(w.h, MOST, &folds, &err), &err);
		for (size_t k = 0; k < folds.n; k++) {
			const struct fsc_fold *f = FSC_AT(struct fsc_fold, &folds, k);

			assert_int_equal(f->to, number_of(w.h, "f", ""));
			assert_int_not_equal(f->func, func);
		}
		folded += folds.n;
		if (folds.n)
			monitor_ok(fsc_hooks_fold(w.h, &folds, fold_nothing, NULL, &err), &err);
		fsc_vec_release(&folds);
		assert_int_equal(number_of(w.h, "f", binary), func);
	}
	assert_true(folded >= N - MOST);
	assert_true(w.h->funcs.n <= MOST + 3);
	assert_true(w.h->func_at.n <= MOST + 2);
	end(&w);
}

/* The names that a pattern matches may be others in every file. */
static void names_of_past_functions_are_bounded(void **state)
{
	enum { MOST = 16, N = 500 };
	struct world w;
	struct fsc_err err = {0};

	(void)state;
	begin(&w, "{\"custom_sym\": {\"f\": \"f\"}}", "{\"custom_sym\": {\"f\": \"f\"}}");
	for (int i = 0; i < N; i++) {
		struct fsc_vec folds = FSC_VEC_INIT(struct fsc_fold);
		char name[32];

		snprintf(name, sizeof(name), "f%d", i);
		state_at(w.h, number_of(w.h, name, "/bin/x"))->closed = ++w.h->closings;
		monitor_ok(fsc_hooks_to_fold(w.h, MOST, &folds, &err), &err);
		if (folds.n)
			monitor_ok(fsc_hooks_fold(w.h, &folds, fold_nothing, NULL, &err), &err);
		fsc_vec_release(&folds);
	}
	assert_true(w.h->funcs.n <= 2 * MOST + 4);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(functions_without_a_file_are_bounded),
	    cmocka_unit_test(names_of_past_functions_are_bounded),
	    cmocka_unit_test(a_function_has_the_entry_it_was_found_for),
	    cmocka_unit_test(an_error_has_the_name_that_its_function_means),
	    cmocka_unit_test(a_file_stays_while_one_of_its_functions_does),
	    cmocka_unit_test(only_other_links_end_all_files),
	    cmocka_unit_test(an_entry_is_known_by_what_it_says),
	    cmocka_unit_test(a_configuration_is_in_force_once_committed),
	    cmocka_unit_test(what_is_noted_first_counts_but_for_the_exit),
	    cmocka_unit_test(a_target_that_is_none_any_more_keeps_its_numbers),
	    cmocka_unit_test(verdicts_wait_for_their_configuration),
	    cmocka_unit_test(numbers_of_closed_files_outlive_their_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
