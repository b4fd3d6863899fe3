/* src/gpu/memory.c and held.c: what is held, by whom and since when; frees that match nothing,
 * addresses that come again, memory by handles, and what was held when there was no more. */
#include "base/clock.h"
#include "gpu_records.h"

#define GB (1ull << 30)

static struct fsc_gpu_event alloc_of(uint64_t addr, uint64_t bytes, uint32_t mem)
{
	return (struct fsc_gpu_event){.type = FSC_GPU_EV_ALLOC,
				      .api = "cuMemAlloc_v2",
				      .time_ns = 1000,
				      .addr = addr,
				      .bytes = bytes,
				      .mem = mem};
}

static struct fsc_gpu_event free_of(uint64_t addr, uint32_t mem)
{
	return (struct fsc_gpu_event){
	    .type = FSC_GPU_EV_FREE, .time_ns = 2000, .addr = addr, .mem = mem};
}

static int begin(void **state)
{
	static struct gpu_world w;

	gpu_begin(&w);
	gpu_meet(&w, GPU_PID);
	gpu_meet(&w, GPU_OTHER_PID);
	*state = &w;
	return 0;
}

static int end(void **state)
{
	gpu_end(*state);
	return 0;
}

static const struct fsc_gpu_process_row *process(const struct gpu_world *w, uint32_t pid)
{
	return fsc_gpu_books_of(w->books, pid);
}

static const struct fsc_gpu_mem_row *row(const struct gpu_world *w, size_t i)
{
	assert_true(i < w->books->memory.n);
	return FSC_AT(struct fsc_gpu_mem_row, &w->books->memory, i);
}

static void what_is_held_is_what_was_not_given_back(void **state)
{
	struct gpu_world *w = *state;
	struct fsc_gpu_event e;

	gpu_add(w, alloc_of(0x1000, 100, FSC_GPU_MEM_DEVICE));
	gpu_add(w, alloc_of(0x2000, 50, FSC_GPU_MEM_DEVICE));
	e = gpu_add(w, free_of(0x1000, FSC_GPU_MEM_DEVICE));
	assert_true(e.known);
	assert_int_equal(e.bytes, 100);
	gpu_add(w, alloc_of(0x3000, 7, FSC_GPU_MEM_DEVICE));
	assert_int_equal(row(w, 0)->allocs, 3);
	assert_int_equal(row(w, 0)->frees, 1);
	assert_int_equal(row(w, 0)->bytes, 157);
	assert_int_equal(row(w, 0)->live, 2);
	assert_int_equal(row(w, 0)->live_bytes, 57);
	assert_int_equal(row(w, 0)->peak_bytes, 150);
	assert_int_equal(process(w, GPU_PID)->live_bytes, 57);
	assert_int_equal(process(w, GPU_PID)->peak_bytes, 150);
	assert_int_equal(w->books->n_allocs, 2);
}

static void a_second_free_is_of_nothing_that_is_known(void **state)
{
	struct gpu_world *w = *state;
	struct fsc_gpu_event e;

	gpu_add(w, alloc_of(0x1000, 100, FSC_GPU_MEM_DEVICE));
	gpu_add(w, free_of(0x1000, FSC_GPU_MEM_DEVICE));
	e = gpu_add(w, free_of(0x1000, FSC_GPU_MEM_DEVICE));
	assert_false(e.known);
	assert_int_equal(w->books->unseen_frees, 1);
	assert_int_equal(process(w, GPU_PID)->unknown_frees, 1);
	assert_int_equal(process(w, GPU_PID)->frees, 2);
	assert_int_equal(row(w, 0)->frees, 1);
	assert_int_equal(row(w, 0)->live_bytes, 0);
	e = gpu_add(w, free_of(0x1004, FSC_GPU_MEM_DEVICE)); /* inside, not the beginning */
	assert_false(e.known);
}

/* Addresses come again: after a free, without one that we have seen, and in another process. */
static void an_address_that_comes_again_is_new_memory(void **state)
{
	struct gpu_world *w = *state;
	struct fsc_gpu_event e;

	gpu_add(w, alloc_of(0x1000, 100, FSC_GPU_MEM_DEVICE));
	gpu_add(w, free_of(0x1000, FSC_GPU_MEM_DEVICE));
	gpu_add(w, alloc_of(0x1000, 30, FSC_GPU_MEM_DEVICE));
	assert_int_equal(row(w, 0)->live_bytes, 30);
	gpu_add(w, alloc_of(0x1000, 8, FSC_GPU_MEM_DEVICE)); /* the free was missed */
	assert_int_equal(row(w, 0)->live, 1);
	assert_int_equal(row(w, 0)->live_bytes, 8);
	assert_int_equal(process(w, GPU_PID)->live_bytes, 8);
	e = alloc_of(0x1000, 500, FSC_GPU_MEM_DEVICE);
	e.pid = GPU_OTHER_PID;
	gpu_add(w, e);
	e = gpu_add(w, free_of(0x1000, FSC_GPU_MEM_DEVICE));
	assert_int_equal(e.bytes, 8);
	assert_int_equal(process(w, GPU_OTHER_PID)->live_bytes, 500);
	assert_int_equal(process(w, GPU_PID)->live_bytes, 0);
}

static void the_kind_of_a_free_is_that_of_the_allocation(void **state)
{
	struct gpu_world *w = *state;
	struct fsc_gpu_event e;

	gpu_add(w, alloc_of(0x1000, 100, FSC_GPU_MEM_MANAGED));
	e = gpu_add(w, free_of(0x1000, FSC_GPU_MEM_DEVICE)); /* cuMemFree is for both */
	assert_true(e.known);
	assert_int_equal(e.mem, FSC_GPU_MEM_MANAGED);
}

/* The host's memory is no memory of the device. */
static void pinned_memory_is_not_held_on_the_device(void **state)
{
	struct gpu_world *w = *state;

	gpu_add(w, alloc_of(0x1000, 100, FSC_GPU_MEM_PINNED));
	gpu_add(w, alloc_of(0x9000, 100, FSC_GPU_MEM_REGISTERED));
	assert_int_equal(process(w, GPU_PID)->live_bytes, 0);
	assert_int_equal(row(w, 0)->live_bytes, 100);
	assert_int_equal(row(w, 1)->live_bytes, 100);
	gpu_add(w, free_of(0x1000, FSC_GPU_MEM_PINNED));
	assert_int_equal(row(w, 0)->live_bytes, 0);
	assert_int_equal(process(w, GPU_PID)->live_bytes, 0);
}

/* ---- handles ---- */

static void memory_of_a_handle_is_there_until_its_last_mapping_goes(void **state)
{
	struct gpu_world *w = *state;
	struct fsc_err err = {0};
	uint32_t mem;

	gpu_add(w, alloc_of(5, 4096, FSC_GPU_MEM_VMM));
	gpu_add(w, alloc_of(5, 10, FSC_GPU_MEM_DEVICE)); /* an address is no handle */
	gpu_ok(fsc_gpu_books_map(w->books, GPU_PID, 0x10000, 4096, 5, &err), &err);
	gpu_ok(fsc_gpu_books_map(w->books, GPU_PID, 0x20000, 4096, 5, &err), &err);
	gpu_ok(fsc_gpu_books_map(w->books, GPU_PID, 0x30000, 4096, 6, &err),
	       &err); /* no such handle */
	assert_true(fsc_gpu_memory_has(w->books, GPU_PID, 0x10fff, &mem));
	assert_int_equal(mem, FSC_GPU_MEM_VMM);
	assert_false(fsc_gpu_memory_has(w->books, GPU_PID, 0x11000, &mem));
	assert_false(fsc_gpu_memory_has(w->books, GPU_PID, 0x30000, &mem));
	assert_false(fsc_gpu_memory_has(w->books, GPU_OTHER_PID, 0x10000, &mem));
	assert_true(gpu_add(w, free_of(5, FSC_GPU_MEM_VMM)).known);
	assert_int_equal(process(w, GPU_PID)->live_bytes, 4106);
	fsc_gpu_books_unmap(w->books, GPU_PID, 0x10000, 4096);
	assert_int_equal(process(w, GPU_PID)->live_bytes, 4106);
	fsc_gpu_books_unmap(w->books, GPU_PID, 0x20000, 4096);
	assert_int_equal(process(w, GPU_PID)->live_bytes, 10);
}

/* One unmap may take several mappings; memory whose handle is still held stays. */
static void a_range_that_is_unmapped_takes_all_in_it(void **state)
{
	struct gpu_world *w = *state;
	struct fsc_err err = {0};

	gpu_add(w, alloc_of(5, 4096, FSC_GPU_MEM_VMM));
	gpu_add(w, alloc_of(6, 4096, FSC_GPU_MEM_VMM));
	gpu_ok(fsc_gpu_books_map(w->books, GPU_PID, 0x10000, 4096, 5, &err), &err);
	gpu_ok(fsc_gpu_books_map(w->books, GPU_PID, 0x11000, 4096, 6, &err), &err);
	gpu_add(w, free_of(5, FSC_GPU_MEM_VMM));
	fsc_gpu_books_unmap(w->books, GPU_PID, 0x10000, 8192);
	assert_int_equal(process(w, GPU_PID)->live_bytes, 4096);
	gpu_add(w, free_of(6, FSC_GPU_MEM_VMM));
	assert_int_equal(process(w, GPU_PID)->live_bytes, 0);
}

/* ---- leaks ---- */

static void leaks_are_what_is_held_long_enough_by_stack(void **state)
{
	struct gpu_world *w = *state;
	struct fsc_gpu_event e = alloc_of(0x1000, 100, FSC_GPU_MEM_DEVICE);
	struct fsc_gpu_report r;
	uint64_t now = fsc_clock_mono();
	/* Of the time since the machine was booted, which may be less than the ages here. */
	uint64_t unit = now / 2048;
	double unit_s = (double)unit / 1e9;

	w->facts = (struct fsc_gpu_process_facts){0};
	e.time_ns = now - 1000 * unit;
	gpu_add_on(w, e, 0);
	e.addr = 0x2000;
	e.time_ns = now - 500 * unit;
	gpu_add_on(w, e, 0);
	e.addr = 0x3000;
	e.bytes = 7;
	e.time_ns = now;
	gpu_add_on(w, e, 0);
	r = gpu_report(w, 400 * unit_s, 0);
	assert_int_equal(r.n_leaks, 1);
	assert_int_equal(r.leaks[0].allocs, 2);
	assert_int_equal(r.leaks[0].bytes, 200);
	assert_true(r.leaks[0].oldest_s >= 999 * unit_s && r.leaks[0].newest_s >= 499 * unit_s);
	assert_true(r.leaks[0].newest_s < r.leaks[0].oldest_s);
	assert_true(r.leaks[0].growth * unit_s > 0.39 && r.leaks[0].growth * unit_s < 0.41);
	assert_int_equal(gpu_report(w, 600 * unit_s, 0).leaks[0].allocs, 1);
	assert_int_equal(gpu_report(w, 0, 0).leaks[0].allocs, 3);
	assert_int_equal(gpu_report(w, 2000 * unit_s, 0).n_leaks, 0);
	assert_false(r.leaks[0].ended);
	fsc_gpu_books_ended(w->books,
			    GPU_PID); /* then nobody can give it back, however young it is */
	r = gpu_report(w, 2000 * unit_s, 0);
	assert_int_equal(r.n_leaks, 1);
	assert_int_equal(r.leaks[0].bytes, 207);
	assert_true(r.leaks[0].ended);
}

/* The next process with the number holds nothing of the one before. */
static void a_process_number_that_comes_again_holds_nothing(void **state)
{
	struct gpu_world *w = *state;
	struct fsc_gpu_event other = alloc_of(0x1000, 5, FSC_GPU_MEM_DEVICE);
	struct fsc_gpu_report r;

	gpu_add(w, alloc_of(0x1000, 100, FSC_GPU_MEM_DEVICE));
	other.pid = GPU_OTHER_PID;
	gpu_add(w, other);
	fsc_gpu_books_ended(w->books, GPU_PID);
	gpu_meet(w, GPU_PID);
	assert_int_equal(process(w, GPU_PID)->live_bytes, 0);
	assert_false(gpu_add(w, free_of(0x1000, FSC_GPU_MEM_DEVICE)).known);
	gpu_add(w, alloc_of(0x1000, 3, FSC_GPU_MEM_DEVICE));
	r = gpu_report(w, 0, 0);
	assert_int_equal(r.n_leaks, 3); /* largest first */
	assert_int_equal(r.leaks[0].bytes, 100);
	assert_true(r.leaks[0].ended);
	assert_int_equal(r.leaks[2].bytes, 3);
	assert_false(r.leaks[2].ended);
	assert_int_equal(r.n_memory, 3);
	for (size_t i = 0; i < r.n_memory; i++)
		assert_int_equal(r.memory[i].ended, r.memory[i].live_bytes == 100);
}

/* Beyond what can be remembered, what is not is said. */
static void too_many_to_remember_are_counted(void **state)
{
	struct gpu_world *w = *state;

	w->books->n_allocs = FSC_GPU_MOST_ALLOCS - 1;
	gpu_add(w, alloc_of(0x1000, 100, FSC_GPU_MEM_DEVICE));
	gpu_add(w, alloc_of(0x2000, 100, FSC_GPU_MEM_DEVICE));
	assert_int_equal(w->books->lost, 1);
	assert_int_equal(row(w, 0)->allocs, 2);
	assert_int_equal(row(w, 0)->live_bytes, 100);
	assert_int_equal(gpu_report(w, 0, 0).n_findings, 1);
}

/* ---- out of memory ---- */

static struct fsc_gpu_event refused(uint64_t bytes)
{
	struct fsc_gpu_event e = alloc_of(0, bytes, FSC_GPU_MEM_DEVICE);

	e.error = "CUDA_ERROR_OUT_OF_MEMORY";
	e.ret = 2;
	e.time_ns = 5000;
	return e;
}

static void out_of_memory_names_who_holds_it(void **state)
{
	struct gpu_world *w = *state;
	struct fsc_gpu_event other = alloc_of(0x1000, 77, FSC_GPU_MEM_DEVICE);
	struct fsc_gpu_report r;

	for (uint64_t i = 1; i <= 10; i++)
		gpu_add(w, alloc_of(0x1000 * i, i, FSC_GPU_MEM_DEVICE));
	other.pid = GPU_OTHER_PID;
	gpu_add(w, other);
	gpu_add(w, refused(GB));
	r = gpu_report(w, 0, 0);
	assert_int_equal(r.n_ooms, 1);
	assert_int_equal(r.ooms[0].live_bytes, 55);
	assert_int_equal(r.ooms[0].n_holders, 1);
	assert_int_equal(r.ooms[0].holders[0].bytes, 55);
	/* The last ones of this process, newest first. */
	assert_int_equal(r.ooms[0].n_last, FSC_GPU_LAST - 1);
	assert_int_equal(r.ooms[0].last[0].bytes, 10);
	assert_int_equal(r.ooms[0].last[1].bytes, 9);
	assert_int_equal(row(w, 0)->failed, 1);
	assert_int_equal(row(w, 0)->allocs, 10);
	assert_false(r.ooms[0].retried);
}

/* Nothing else that fails is out of memory. */
static void another_failure_is_no_lack_of_memory(void **state)
{
	struct gpu_world *w = *state;
	struct fsc_gpu_event e = refused(GB);

	e.ret = 1;
	gpu_add(w, e);
	assert_int_equal(gpu_report(w, 0, 0).n_ooms, 0);
	assert_int_equal(row(w, 0)->failed, 1);
}

static void a_retry_is_the_same_size_after_a_free_and_soon(void **state)
{
	struct gpu_world *w = *state;
	struct fsc_gpu_event late = alloc_of(0x9000, GB, FSC_GPU_MEM_DEVICE);

	gpu_add(w, alloc_of(0x1000, 10, FSC_GPU_MEM_DEVICE));
	gpu_add(w, refused(GB));
	late.time_ns = 6000;
	gpu_add(w, late); /* nothing was given back before */
	assert_int_equal(w->books->retries, 0);
	gpu_add(w, refused(GB));
	gpu_add(w, free_of(0x1000, FSC_GPU_MEM_DEVICE));
	late.bytes = GB - 1; /* of another size */
	gpu_add(w, late);
	assert_int_equal(w->books->retries, 0);
	late.bytes = GB;
	late.time_ns = 2000000000;
	gpu_add(w, late); /* too late */
	assert_int_equal(w->books->retries, 0);
	late.time_ns = 7000;
	gpu_add(w, late);
	assert_int_equal(w->books->retries, 2); /* both failures meant it */
	assert_true(gpu_report(w, 0, 0).ooms[1].retried);
}

static void pytorch_says_what_it_had(void **state)
{
	struct gpu_world *w = *state;
	struct fsc_gpu_event t = {.type = FSC_GPU_EV_TENSOR,
				  .time_ns = 6000,
				  .bytes = GB,
				  .allocated = 11,
				  .reserved = 22};
	struct fsc_gpu_report r;

	gpu_add(w, refused(GB));
	t.pid = GPU_OTHER_PID;
	gpu_add(w, t);
	assert_int_equal(gpu_report(w, 0, 0).ooms[0].reserved, 0);
	t.pid = GPU_PID;
	gpu_add(w, t);
	r = gpu_report(w, 0, 0);
	assert_int_equal(r.ooms[0].allocated, 11);
	assert_int_equal(r.ooms[0].reserved, 22);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(what_is_held_is_what_was_not_given_back),
	    TEST(a_second_free_is_of_nothing_that_is_known),
	    TEST(an_address_that_comes_again_is_new_memory),
	    TEST(the_kind_of_a_free_is_that_of_the_allocation),
	    TEST(pinned_memory_is_not_held_on_the_device),
	    TEST(memory_of_a_handle_is_there_until_its_last_mapping_goes),
	    TEST(a_range_that_is_unmapped_takes_all_in_it),
	    TEST(leaks_are_what_is_held_long_enough_by_stack),
	    TEST(a_process_number_that_comes_again_holds_nothing),
	    TEST(too_many_to_remember_are_counted),
	    TEST(out_of_memory_names_who_holds_it),
	    TEST(another_failure_is_no_lack_of_memory),
	    TEST(a_retry_is_the_same_size_after_a_free_and_soon),
	    TEST(pytorch_says_what_it_had),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
