/* src/gpu/events.c: records become events in the order in which calls ended, copies are held until
 * their stream is waited for, and a process that exits leaves nothing behind. */
#include "gpu_records.h"

static struct fsc_gpu_rec copy_on(uint64_t stream, uint64_t start, uint64_t end)
{
	struct fsc_gpu_rec r = gpu_record("cuMemcpyHtoDAsync_v2", start, end);

	r.stream = stream;
	r.bytes = 4096;
	r.addr = 0x7000;
	r.src = 0x1000;
	return r;
}

static struct fsc_gpu_rec launch_on(uint64_t stream, uint64_t start, uint64_t end)
{
	struct fsc_gpu_rec r = gpu_record("cuLaunchKernel", start, end);

	r.stream = stream;
	return r;
}

static struct fsc_gpu_rec sync_of(uint64_t stream, uint64_t start, uint64_t end)
{
	struct fsc_gpu_rec r = gpu_record("cuStreamSynchronize", start, end);

	r.stream = stream;
	return r;
}

static struct fsc_gpu_rec of_other(struct fsc_gpu_rec r)
{
	r.pid = r.tid = GPU_OTHER_PID;
	return r;
}

/* ---- order ---- */

static void events_come_in_the_order_of_their_ends(void **state)
{
	static const struct {
		uint64_t start, end;
	} taken[] = {{100, 1000}, {200, 250}, {300, 400}, {150, 250}, {10, 20}};
	static const uint64_t starts[] = {10, 200, 150, 300, 100};
	struct gpu_world w;

	(void)state;
	gpu_begin(&w);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		gpu_take(&w, gpu_record("cuMemsetD8_v2", taken[i].start, taken[i].end));
	assert_int_equal(w.told.n, 0);
	gpu_flush(&w);
	assert_int_equal(w.told.n, 5);
	/* Of two that ended together, the one that came first. */
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(gpu_told(&w, i)->time_ns, starts[i]);
	assert_int_equal(fsc_gpu_events_kept(w.events), 5);
	gpu_flush(&w);
	assert_int_equal(w.told.n, 5);
	gpu_end(&w);
}

/* A free that ends before the next allocation has the same address: whichever ring it came by. */
static void a_free_is_before_the_allocation_that_has_its_address(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_rec first = gpu_record("cuMemAlloc_v2", 10, 20);
	struct fsc_gpu_rec second = gpu_record("cuMemAlloc_v2", 50, 60);
	struct fsc_gpu_rec freed = gpu_record("cuMemFree_v2", 30, 40);

	(void)state;
	gpu_begin(&w);
	first.addr = second.addr = freed.addr = 0x5000;
	first.bytes = 100;
	second.bytes = 7;
	gpu_take(&w, second);
	gpu_take(&w, freed);
	gpu_take(&w, first);
	gpu_flush(&w);
	assert_int_equal(w.told.n, 3);
	assert_int_equal(gpu_told(&w, 1)->type, FSC_GPU_EV_FREE);
	assert_true(gpu_told(&w, 1)->known);
	assert_int_equal(gpu_told(&w, 1)->bytes, 100);
	assert_int_equal(fsc_gpu_books_of(w.books, GPU_PID)->live_bytes, 7);
	gpu_end(&w);
}

/* ---- what a record says ---- */

static void a_record_with_its_return_is_timed(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_rec r = gpu_record("cuMemsetD8_v2", 100, 350);

	(void)state;
	gpu_begin(&w);
	w.facts.inner_pid = 17;
	r.bytes = 64;
	r.via = gpu_call("cudaMemset");
	gpu_pass(&w, r);
	r.flags = 0;
	r.time_ns = 400;
	gpu_pass(&w, r);
	assert_int_equal(w.told.n, 2);
	assert_int_equal(gpu_told(&w, 0)->dur_ns, 250);
	assert_true(gpu_told(&w, 0)->timed);
	assert_false(gpu_told(&w, 1)->timed);
	assert_int_equal(gpu_told(&w, 0)->bytes, 64);
	assert_int_equal(gpu_told(&w, 0)->inner_pid, 17);
	assert_string_equal(gpu_told(&w, 0)->comm, "app");
	assert_string_equal(gpu_told(&w, 0)->via, "cudaMemset");
	assert_null(gpu_told(&w, 0)->library);
	assert_int_equal(gpu_told(&w, 0)->timing, FSC_GPU_COMPLETE);
	gpu_end(&w);
}

static void a_failed_call_is_an_error_and_no_work(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_rec r = copy_on(1, 10, 20);

	(void)state;
	gpu_begin(&w);
	r.ret = 1;
	gpu_pass(&w, r);
	assert_int_equal(w.told.n, 1);
	assert_string_equal(gpu_told(&w, 0)->error, "CUDA_ERROR_INVALID_VALUE");
	assert_int_equal(fsc_gpu_events_pending(w.events), 0);
	assert_int_equal(fsc_gpu_books_of(w.books, GPU_PID)->copies, 0);
	assert_int_equal(fsc_gpu_books_of(w.books, GPU_PID)->errors, 1);
	r.ret = 123456;
	gpu_pass(&w, r);
	assert_string_equal(gpu_told(&w, 1)->error, "error 123456");
	gpu_end(&w);
}

/* What is only noted is an event where it failed. */
static void a_lookup_is_told_of_only_where_it_failed(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_rec r = gpu_record("cuModuleGetFunction", 10, 20);

	(void)state;
	gpu_begin(&w);
	r.addr = 0x77;
	gpu_take_named(&w, r, "_Z3addPf");
	gpu_flush(&w);
	assert_int_equal(w.told.n, 0);
	assert_int_equal(fsc_gpu_events_kept(w.events), 1);
	r.ret = 500;
	gpu_pass(&w, r);
	assert_int_equal(w.told.n, 1);
	assert_int_equal(gpu_told(&w, 0)->type, FSC_GPU_EV_OTHER);
	gpu_end(&w);
}

static void a_free_of_nothing_is_no_event(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_rec r = gpu_record("cuMemFree_v2", 10, 20);

	(void)state;
	gpu_begin(&w);
	gpu_pass(&w, r);
	assert_int_equal(w.told.n, 0);
	assert_int_equal(w.books->unseen_frees, 0);
	r.ret = 1; /* unless it failed */
	gpu_pass(&w, r);
	assert_int_equal(w.told.n, 1);
	gpu_end(&w);
}

static void the_device_is_the_contexts_or_the_threads(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_rec retain = gpu_record("cuDevicePrimaryCtxRetain", 10, 20);
	struct fsc_gpu_rec r = gpu_record("cuMemsetD8_v2", 30, 40);

	(void)state;
	gpu_begin_on(&w, -1);
	retain.addr = 0xc0; /* the context */
	retain.src = 3;	    /* of this device */
	gpu_pass(&w, retain);
	r.device = 1;
	gpu_pass(&w, r);
	r.context = 0xc0;
	gpu_pass(&w, r);
	gpu_pass(&w, of_other(r)); /* another's context of the same address */
	assert_int_equal(gpu_told(&w, 0)->device, 1);
	assert_int_equal(gpu_told(&w, 1)->device, 3);
	assert_int_equal(gpu_told(&w, 2)->device, 1);
	gpu_end(&w);
	gpu_begin_on(&w, 0); /* there is one only */
	gpu_pass(&w, retain);
	gpu_pass(&w, r);
	assert_int_equal(gpu_told(&w, 0)->device, 0);
	gpu_end(&w);
}

/* ---- copies that are held ---- */

static void a_copy_on_an_idle_stream_lasts_until_the_wait_for_it(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_begin(&w);
	gpu_pass(&w, launch_on(1, 10, 20));
	gpu_pass(&w, sync_of(1, 30, 100)); /* idle from now on */
	gpu_pass(&w, copy_on(1, 200, 210));
	assert_int_equal(w.told.n, 2);
	assert_int_equal(fsc_gpu_events_pending(w.events), 1);
	assert_int_equal(fsc_gpu_books_of(w.books, GPU_PID)->copies, 0);
	gpu_pass(&w, sync_of(1, 220, 900));
	assert_int_equal(w.told.n, 4);
	assert_int_equal(gpu_told(&w, 2)->type, FSC_GPU_EV_COPY);
	assert_int_equal(gpu_told(&w, 2)->timing, FSC_GPU_SYNCHRONISED);
	assert_int_equal(gpu_told(&w, 2)->dur_ns, 700);
	assert_int_equal(gpu_told(&w, 3)->type, FSC_GPU_EV_SYNC);
	assert_int_equal(fsc_gpu_events_pending(w.events), 0);
	assert_int_equal(fsc_gpu_books_of(w.books, GPU_PID)->copies, 1);
	gpu_end(&w);
}

static void a_copy_behind_other_work_has_no_time_of_its_own(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_begin(&w);
	gpu_pass(&w, launch_on(1, 1, 2));
	gpu_pass(&w, sync_of(1, 3, 4));
	gpu_pass(&w, launch_on(1, 10, 20)); /* not idle any more */
	gpu_pass(&w, copy_on(1, 30, 40));
	gpu_pass(&w, sync_of(1, 50, 900));
	assert_int_equal(gpu_told(&w, 3)->type, FSC_GPU_EV_COPY);
	assert_int_equal(gpu_told(&w, 3)->timing, FSC_GPU_ENQUEUE);
	assert_int_equal(gpu_told(&w, 3)->dur_ns, 10);
	gpu_end(&w);
}

static void more_work_on_the_stream_lets_a_copy_go_first(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_begin(&w);
	gpu_pass(&w, launch_on(1, 1, 2));
	gpu_pass(&w, sync_of(1, 3, 4));
	gpu_pass(&w, copy_on(1, 10, 20));
	gpu_pass(&w, copy_on(1, 30, 40)); /* not idle any more */
	assert_int_equal(w.told.n, 3);
	assert_int_equal(gpu_told(&w, 2)->time_ns, 10);
	assert_int_equal(gpu_told(&w, 2)->timing, FSC_GPU_ENQUEUE);
	gpu_pass(&w, sync_of(1, 50, 60));
	assert_int_equal(gpu_told(&w, 3)->time_ns, 30);
	assert_int_equal(gpu_told(&w, 3)->timing, FSC_GPU_ENQUEUE);
	gpu_end(&w);
}

/* pending_after RECORD: how many copies, on two streams of a process and one of another, it leaves.
 */
static uint64_t pending_after(struct fsc_gpu_rec r)
{
	struct gpu_world w;
	uint64_t n;

	gpu_begin(&w);
	gpu_pass(&w, copy_on(1, 10, 20));
	gpu_pass(&w, copy_on(2, 10, 20));
	gpu_pass(&w, of_other(copy_on(1, 10, 20)));
	assert_int_equal(fsc_gpu_events_pending(w.events), 3);
	gpu_pass(&w, r);
	n = fsc_gpu_events_pending(w.events);
	gpu_end(&w);
	return n;
}

static void a_wait_is_for_what_it_says(void **state)
{
	struct fsc_gpu_rec failed = sync_of(1, 30, 40);

	(void)state;
	failed.ret = 700;
	assert_int_equal(pending_after(sync_of(1, 30, 40)), 2);
	assert_int_equal(pending_after(sync_of(3, 30, 40)), 3);
	assert_int_equal(pending_after(sync_of(0, 30, 40)), 1); /* of the default stream: all */
	assert_int_equal(pending_after(gpu_record("cuCtxSynchronize", 30, 40)), 1);
	assert_int_equal(pending_after(gpu_record("cuEventSynchronize", 30, 40)), 3);
	assert_int_equal(pending_after(failed), 3);
}

static void a_captured_copy_is_not_run_and_not_waited_for(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_rec r = copy_on(1, 30, 40);

	(void)state;
	gpu_begin(&w);
	gpu_pass(&w, launch_on(1, 1, 2));
	gpu_pass(&w, sync_of(1, 3, 4));
	r.flags |= FSC_GPU_REC_CAPTURED;
	gpu_pass(&w, r);
	assert_int_equal(fsc_gpu_events_pending(w.events), 0);
	assert_int_equal(gpu_told(&w, 2)->type, FSC_GPU_EV_COPY);
	assert_int_equal(gpu_told(&w, 2)->timing, FSC_GPU_ENQUEUE);
	gpu_end(&w);
}

/* Streams beyond the limit are not followed; those that are stay so. */
static void the_limit_of_streams_leaves_the_known_ones_alone(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_begin(&w);
	gpu_pass(&w, launch_on(1, 1, 2));
	for (uint64_t i = 2; i <= 65536; i++)
		gpu_take(&w, launch_on(i, 3, 4));
	gpu_flush(&w);
	gpu_pass(&w, sync_of(1, 5, 6));
	w.told.n = 0;
	gpu_pass(&w, copy_on(70000, 10, 20));
	assert_int_equal(w.told.n, 1);
	gpu_pass(&w, copy_on(1, 10, 20));
	assert_int_equal(fsc_gpu_events_pending(w.events), 1);
	gpu_pass(&w, sync_of(1, 30, 40));
	assert_int_equal(gpu_told(&w, 1)->timing, FSC_GPU_SYNCHRONISED);
	gpu_end(&w);
}

/* ---- processes ---- */

static void a_process_is_asked_about_once_in_its_life(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_begin(&w);
	gpu_pass(&w, launch_on(1, 10, 20));
	gpu_pass(&w, launch_on(1, 30, 40));
	assert_int_equal(w.asked, 1);
	gpu_pass(&w, of_other(launch_on(1, 30, 40)));
	assert_int_equal(w.asked, 2);
	fsc_gpu_books_ended(w.books, GPU_PID);
	gpu_pass(&w, launch_on(1, 50, 60)); /* the number has come again */
	assert_int_equal(w.asked, 3);
	assert_int_equal(gpu_report(&w, 0, 0).n_processes, 3);
	gpu_end(&w);
}

static void an_exit_with_copies_pending_tells_of_them_and_forgets(void **state)
{
	struct gpu_world w;
	struct fsc_err err = {0};

	(void)state;
	gpu_begin(&w);
	gpu_pass(&w, launch_on(1, 1, 2));
	gpu_pass(&w, of_other(launch_on(3, 1, 2)));
	gpu_pass(&w, of_other(launch_on(2, 1, 2)));
	gpu_pass(&w, of_other(sync_of(2, 3, 4)));
	w.told.n = 0;
	gpu_pass(&w, copy_on(1, 10, 20));
	gpu_pass(&w, of_other(copy_on(2, 10, 20)));
	gpu_ok(fsc_gpu_events_settle(w.events, GPU_PID, &err), &err);
	assert_int_equal(w.told.n, 1);
	assert_int_equal(gpu_told(&w, 0)->pid, GPU_PID);
	assert_int_equal(gpu_told(&w, 0)->timing, FSC_GPU_ENQUEUE);
	fsc_gpu_books_ended(w.books, GPU_PID);
	fsc_gpu_events_forget(w.events, GPU_PID);
	assert_int_equal(fsc_gpu_events_pending(w.events), 1);
	/* The other's streams have moved up, and are found. */
	gpu_pass(&w, of_other(sync_of(2, 30, 110)));
	assert_int_equal(gpu_told(&w, 1)->timing, FSC_GPU_SYNCHRONISED);
	assert_int_equal(gpu_told(&w, 1)->dur_ns, 100);
	gpu_pass(&w, of_other(copy_on(2, 200, 210)));
	gpu_pass(&w, of_other(sync_of(2, 300, 310)));
	assert_int_equal(gpu_told(&w, 3)->timing, FSC_GPU_SYNCHRONISED);
	/* A stream of the next process with this number is another one: nobody has waited for it.
	 */
	gpu_pass(&w, copy_on(1, 400, 410));
	gpu_pass(&w, sync_of(1, 420, 500));
	assert_int_equal(gpu_told(&w, 5)->timing, FSC_GPU_ENQUEUE);
	gpu_end(&w);
}

static void settling_for_all_leaves_none(void **state)
{
	struct gpu_world w;
	struct fsc_err err = {0};

	(void)state;
	gpu_begin(&w);
	gpu_pass(&w, copy_on(1, 10, 20));
	gpu_pass(&w, of_other(copy_on(1, 10, 20)));
	gpu_ok(fsc_gpu_events_settle(w.events, 0, &err), &err);
	assert_int_equal(fsc_gpu_events_pending(w.events), 0);
	assert_int_equal(w.told.n, 2);
	gpu_ok(fsc_gpu_events_settle(w.events, 0, &err), &err);
	assert_int_equal(w.told.n, 2);
	gpu_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(events_come_in_the_order_of_their_ends),
	    cmocka_unit_test(a_free_is_before_the_allocation_that_has_its_address),
	    cmocka_unit_test(a_record_with_its_return_is_timed),
	    cmocka_unit_test(a_failed_call_is_an_error_and_no_work),
	    cmocka_unit_test(a_lookup_is_told_of_only_where_it_failed),
	    cmocka_unit_test(a_free_of_nothing_is_no_event),
	    cmocka_unit_test(the_device_is_the_contexts_or_the_threads),
	    cmocka_unit_test(a_copy_on_an_idle_stream_lasts_until_the_wait_for_it),
	    cmocka_unit_test(a_copy_behind_other_work_has_no_time_of_its_own),
	    cmocka_unit_test(more_work_on_the_stream_lets_a_copy_go_first),
	    cmocka_unit_test(a_wait_is_for_what_it_says),
	    cmocka_unit_test(a_captured_copy_is_not_run_and_not_waited_for),
	    cmocka_unit_test(the_limit_of_streams_leaves_the_known_ones_alone),
	    cmocka_unit_test(a_process_is_asked_about_once_in_its_life),
	    cmocka_unit_test(an_exit_with_copies_pending_tells_of_them_and_forgets),
	    cmocka_unit_test(settling_for_all_leaves_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
