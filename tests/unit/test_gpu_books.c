/* src/gpu/books.c and report.c: sums by kernel, wait and failure, processes and graphs, and the
 * tables made of them. */
#include "gpu_records.h"

static void begin(struct gpu_world *w)
{
	gpu_begin(w);
	gpu_meet(w, GPU_PID);
	gpu_meet(w, GPU_OTHER_PID);
}

static struct fsc_gpu_event launch_of(const char *kernel)
{
	return (struct fsc_gpu_event){.type = FSC_GPU_EV_LAUNCH, .kernel = kernel};
}

/* ---- kernels ---- */

static void launches_are_summed_by_kernel_and_place(void **state)
{
	static const char add[] = "add", sub[] = "sub", lib[] = "libcublas.so";
	struct gpu_world w;
	struct fsc_gpu_event e = launch_of(add);
	struct fsc_gpu_report r;

	(void)state;
	begin(&w);
	gpu_add(&w, launch_of(sub));
	for (uint32_t i = 1; i <= 3; i++) {
		e.grid[0] = i;
		gpu_add(&w, e);
	}
	e.owner = lib;
	gpu_add(&w, e);
	gpu_add(&w, e);
	gpu_add(&w, launch_of(NULL));
	r = gpu_report(&w, 0, 0);
	assert_int_equal(r.launches, 7);
	assert_int_equal(r.unnamed, 1);
	assert_int_equal(r.n_kernels, 4);
	assert_ptr_equal(r.kernels[0].kernel, add); /* most launches first */
	assert_null(r.kernels[0].owner);
	assert_int_equal(r.kernels[0].launches, 3);
	assert_int_equal(r.kernels[0].grid[0], 3);
	assert_ptr_equal(r.kernels[1].owner, lib);
	assert_int_equal(r.kernels[1].launches, 2);
	assert_int_equal(fsc_gpu_books_of(w.books, GPU_PID)->launches, 7);
	assert_int_equal(fsc_gpu_books_of(w.books, GPU_OTHER_PID)->launches, 0);
	gpu_end(&w);
}

static void a_table_is_cut_and_says_by_how_much(void **state)
{
	static const char *const names[] = {"a", "b", "c", "d", "e"};
	struct gpu_world w;
	struct fsc_gpu_report r;

	(void)state;
	begin(&w);
	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k <= i; k++)
			gpu_add(&w, launch_of(names[i]));
	r = gpu_report(&w, 0, 2);
	assert_int_equal(r.n_kernels, 2);
	assert_int_equal(r.kernels_left_out, 3);
	assert_ptr_equal(r.kernels[0].kernel, names[4]);
	assert_ptr_equal(r.kernels[1].kernel, names[3]);
	assert_int_equal(r.launches, 15);
	assert_int_equal(gpu_report(&w, 0, 0).kernels_left_out, 0);
	gpu_end(&w);
}

/* Beyond the limit the last row takes all; sums stay right. */
static void a_full_table_loses_no_launch(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_report r;
	uint64_t sum = 0;

	(void)state;
	begin(&w);
	for (uintptr_t i = 1; i <= FSC_GPU_MOST_ROWS + 10; i++)
		gpu_add(&w, launch_of((const char *)i)); /* only compared here */
	r = gpu_report(&w, 0, 0);
	assert_int_equal(r.n_kernels, FSC_GPU_MOST_ROWS);
	for (size_t i = 0; i < r.n_kernels; i++)
		sum += r.kernels[i].launches;
	assert_int_equal(sum, FSC_GPU_MOST_ROWS + 10);
	assert_int_equal(r.kernels[0].launches, 11);
	gpu_end(&w);
}

/* ---- graphs ---- */

static void a_graph_launches_what_was_captured(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_event captured = launch_of("k"), graph = launch_of(NULL), run;
	struct fsc_err err = {0};

	(void)state;
	begin(&w);
	captured.captured = true;
	captured.stream = 5;
	run = captured;
	run.captured = false;
	graph.launch = FSC_GPU_GRAPH_LAUNCH;
	graph.addr = 0xe0;
	gpu_add(&w, captured); /* before this capture: not part of it */
	gpu_ok(fsc_gpu_books_graph(w.books, GPU_PID, FSC_GPU_CAPTURE, 0, 5, &err), &err);
	gpu_add(&w, captured);
	gpu_add(&w, captured);
	gpu_add(&w, run);
	gpu_ok(fsc_gpu_books_graph(w.books, GPU_PID, FSC_GPU_CAPTURED, 0x60, 5, &err), &err);
	gpu_ok(fsc_gpu_books_graph(w.books, GPU_PID, FSC_GPU_INSTANTIATE, 0xe0, 0x60, &err), &err);
	assert_int_equal(gpu_add(&w, graph).graph_kernels, 2);
	assert_int_equal(gpu_add(&w, graph).graph_kernels, 2);
	graph.pid = GPU_OTHER_PID; /* a handle of another process */
	assert_int_equal(gpu_add(&w, graph).graph_kernels, 0);
	assert_int_equal(w.books->graphs, 3);
	assert_int_equal(w.books->captured, 3);
	assert_int_equal(w.books->unnamed, 0);
	gpu_end(&w);
}

/* ---- waits and failures ---- */

static void waits_are_summed_by_call_longest_first(void **state)
{
	static const char ctx[] = "cuCtxSynchronize", stream[] = "cuStreamSynchronize";
	struct gpu_world w;
	struct fsc_gpu_event e = {.type = FSC_GPU_EV_SYNC, .api = stream, .dur_ns = 10};
	struct fsc_gpu_report r;

	(void)state;
	begin(&w);
	gpu_add(&w, e);
	e.dur_ns = 30;
	gpu_add(&w, e);
	e.dur_ns = 20;
	gpu_add(&w, e);
	e.api = ctx;
	e.dur_ns = 100;
	gpu_add(&w, e);
	r = gpu_report(&w, 0, 0);
	assert_int_equal(r.n_syncs, 2);
	assert_ptr_equal(r.syncs[0].api, ctx);
	assert_int_equal(r.syncs[1].calls, 3);
	assert_int_equal(r.syncs[1].ns, 60);
	assert_int_equal(r.syncs[1].max_ns, 30);
	assert_int_equal(fsc_gpu_books_of(w.books, GPU_PID)->syncs, 4);
	assert_int_equal(fsc_gpu_books_of(w.books, GPU_PID)->sync_ns, 160);
	gpu_end(&w);
}

static void failures_are_summed_by_call_and_code_and_are_nothing_else(void **state)
{
	static const char api[] = "cuLaunchKernel";
	struct gpu_world w;
	struct fsc_gpu_event e = launch_of("k");
	struct fsc_gpu_report r;

	(void)state;
	begin(&w);
	e.api = api;
	e.error = "CUDA_ERROR_INVALID_VALUE";
	e.ret = 1;
	gpu_add(&w, e);
	e.ret = 700;
	gpu_add(&w, e);
	gpu_add(&w, e);
	r = gpu_report(&w, 0, 0);
	assert_int_equal(r.n_errors, 2);
	assert_int_equal(r.errors[0].code, 700);
	assert_int_equal(r.errors[0].n, 2);
	assert_int_equal(r.errors[1].code, 1);
	assert_int_equal(r.launches, 0);
	assert_int_equal(fsc_gpu_books_of(w.books, GPU_PID)->errors, 3);
	gpu_end(&w);
}

static void memsets_are_counted_with_their_bytes(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_event e = {.type = FSC_GPU_EV_MEMSET, .bytes = 100};

	(void)state;
	begin(&w);
	gpu_add(&w, e);
	gpu_add(&w, e);
	assert_int_equal(gpu_report(&w, 0, 0).memsets, 2);
	assert_int_equal(gpu_report(&w, 0, 0).memset_bytes, 200);
	gpu_end(&w);
}

/* ---- processes ---- */

static void a_pid_that_comes_again_is_another_process(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_event e = launch_of("k");
	struct fsc_gpu_report r;

	(void)state;
	gpu_begin(&w);
	assert_false(fsc_gpu_books_knows(w.books, GPU_PID));
	w.facts.inner_pid = 3;
	gpu_meet(&w, GPU_PID);
	assert_true(fsc_gpu_books_knows(w.books, GPU_PID));
	assert_int_equal(fsc_gpu_books_inner(w.books, GPU_PID), 3);
	e.time_ns = 100;
	e.dur_ns = 20;
	gpu_add(&w, e);
	assert_int_equal(fsc_gpu_books_of(w.books, GPU_PID)->last_ns, 120);
	fsc_gpu_books_ended(w.books, GPU_PID);
	assert_false(fsc_gpu_books_knows(w.books, GPU_PID));
	w.facts.inner_pid = 4;
	gpu_meet(&w, GPU_PID);
	assert_int_equal(fsc_gpu_books_inner(w.books, GPU_PID), 4);
	gpu_add(&w, e);
	gpu_add(&w, e);
	r = gpu_report(&w, 0, 0);
	assert_int_equal(r.n_processes, 2);
	assert_int_equal(r.processes[0].launches, 2); /* most active first */
	assert_false(r.processes[0].ended);
	assert_int_equal(r.processes[1].launches, 1);
	assert_true(r.processes[1].ended);
	gpu_end(&w);
}

/* The kernel may not have told of an exit yet. */
static void a_look_finds_who_has_exited(void **state)
{
	struct gpu_world w;

	(void)state;
	begin(&w);
	gpu_meet(&w, 1);
	fsc_gpu_books_find_exited(w.books);
	assert_true(fsc_gpu_books_knows(w.books, 1));
	assert_false(fsc_gpu_books_knows(w.books, GPU_PID));
	gpu_end(&w);
}

/* An event of a process nobody has told of is summed, and does no harm. */
static void an_event_of_an_unknown_process_counts(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_event e = launch_of("k");

	(void)state;
	gpu_begin(&w);
	gpu_add(&w, e);
	e.type = FSC_GPU_EV_SYNC;
	gpu_add(&w, e);
	assert_int_equal(gpu_report(&w, 0, 0).launches, 1);
	assert_int_equal(gpu_report(&w, 0, 0).n_processes, 0);
	gpu_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(launches_are_summed_by_kernel_and_place),
	    cmocka_unit_test(a_table_is_cut_and_says_by_how_much),
	    cmocka_unit_test(a_full_table_loses_no_launch),
	    cmocka_unit_test(a_graph_launches_what_was_captured),
	    cmocka_unit_test(waits_are_summed_by_call_longest_first),
	    cmocka_unit_test(failures_are_summed_by_call_and_code_and_are_nothing_else),
	    cmocka_unit_test(memsets_are_counted_with_their_bytes),
	    cmocka_unit_test(a_pid_that_comes_again_is_another_process),
	    cmocka_unit_test(a_look_finds_who_has_exited),
	    cmocka_unit_test(an_event_of_an_unknown_process_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
