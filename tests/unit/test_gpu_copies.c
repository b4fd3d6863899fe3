/* src/gpu/copies.c: which way a copy goes, from which memory of the host, how fast, and which one
 * waited although it was asynchronous. */
#include <sys/mman.h>
#include <unistd.h>

#include "gpu_records.h"

static void begin(struct gpu_world *w)
{
	gpu_begin(w);
	gpu_meet(w, GPU_PID);
	gpu_meet(w, GPU_OTHER_PID);
}

static void hold(struct gpu_world *w, uint64_t addr, uint64_t bytes, uint32_t mem)
{
	gpu_add(w, (struct fsc_gpu_event){
		       .type = FSC_GPU_EV_ALLOC, .addr = addr, .bytes = bytes, .mem = mem});
}

static struct fsc_gpu_event copy_of(uint32_t dir, uint64_t to, uint64_t from, uint64_t bytes)
{
	return (struct fsc_gpu_event){
	    .type = FSC_GPU_EV_COPY, .dir = dir, .addr = to, .src = from, .bytes = bytes};
}

static const struct fsc_gpu_copy_row *row(const struct gpu_world *w, uint32_t dir,
					  enum fsc_gpu_host host, bool async)
{
	return &w->books->copies[dir][host][async];
}

static void copies_are_summed_by_direction_and_kind(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_event e = copy_of(FSC_GPU_D2D, 0x1000, 0x2000, 100);
	struct fsc_gpu_report r;

	(void)state;
	begin(&w);
	gpu_add(&w, e);
	e.bytes = 5000;
	gpu_add(&w, e);
	e.async = true;
	gpu_add(&w, e);
	assert_int_equal(row(&w, FSC_GPU_D2D, FSC_GPU_HOST_NONE, false)->copies, 2);
	assert_int_equal(row(&w, FSC_GPU_D2D, FSC_GPU_HOST_NONE, false)->bytes, 5100);
	assert_int_equal(row(&w, FSC_GPU_D2D, FSC_GPU_HOST_NONE, false)->sized[0], 1);
	assert_int_equal(row(&w, FSC_GPU_D2D, FSC_GPU_HOST_NONE, false)->sized[1], 1);
	assert_int_equal(row(&w, FSC_GPU_D2D, FSC_GPU_HOST_NONE, true)->copies, 1);
	assert_int_equal(fsc_gpu_books_of(w.books, GPU_PID)->copies, 3);
	r = gpu_report(&w, 0, 0);
	assert_int_equal(r.n_copies, 2);
	gpu_end(&w);
}

/* ---- memory of the host ---- */

static enum fsc_gpu_host host_of(struct gpu_world *w, uint32_t pid, uint32_t dir, uint64_t addr)
{
	struct fsc_gpu_event e =
	    copy_of(dir, dir == FSC_GPU_H2D ? 0x10 : addr, dir == FSC_GPU_H2D ? addr : 0x10, 64);

	e.pid = pid;
	return gpu_add(w, e).host;
}

static void memory_is_pinned_from_its_pinning_to_its_end(void **state)
{
	struct gpu_world w;

	(void)state;
	begin(&w);
	hold(&w, 0x7000, 0x1000, FSC_GPU_MEM_PINNED);
	hold(&w, 0x9000, 0x1000, FSC_GPU_MEM_REGISTERED);
	hold(&w, 0xb000, 0x1000, FSC_GPU_MEM_DEVICE);
	assert_int_equal(host_of(&w, GPU_PID, FSC_GPU_H2D, 0x7000), FSC_GPU_HOST_PINNED);
	assert_int_equal(host_of(&w, GPU_PID, FSC_GPU_D2H, 0x7fff), FSC_GPU_HOST_PINNED);
	assert_int_equal(host_of(&w, GPU_PID, FSC_GPU_D2H, 0x9800), FSC_GPU_HOST_PINNED);
	assert_int_equal(host_of(&w, GPU_PID, FSC_GPU_H2D, 0x8000), FSC_GPU_HOST_PAGEABLE);
	assert_int_equal(host_of(&w, GPU_PID, FSC_GPU_H2D, 0xb000), FSC_GPU_HOST_PAGEABLE);
	assert_int_equal(host_of(&w, GPU_OTHER_PID, FSC_GPU_H2D, 0x7000), FSC_GPU_HOST_PAGEABLE);
	assert_int_equal(host_of(&w, GPU_PID, FSC_GPU_D2D, 0x7000), FSC_GPU_HOST_NONE);
	gpu_add(&w, (struct fsc_gpu_event){
			.type = FSC_GPU_EV_FREE, .addr = 0x7800, .mem = FSC_GPU_MEM_PINNED});
	assert_int_equal(host_of(&w, GPU_PID, FSC_GPU_H2D, 0x7800), FSC_GPU_HOST_PINNED);
	gpu_add(&w, (struct fsc_gpu_event){
			.type = FSC_GPU_EV_FREE, .addr = 0x7000, .mem = FSC_GPU_MEM_PINNED});
	assert_int_equal(host_of(&w, GPU_PID, FSC_GPU_H2D, 0x7000), FSC_GPU_HOST_PAGEABLE);
	gpu_end(&w);
}

/* A range that is pinned where another one lay takes its place. */
static void a_new_range_takes_the_place_of_those_it_overlaps(void **state)
{
	struct gpu_world w;

	(void)state;
	begin(&w);
	hold(&w, 0x1000, 0x1000, FSC_GPU_MEM_PINNED);
	hold(&w, 0x2000, 0x1000, FSC_GPU_MEM_PINNED);
	assert_int_equal(w.books->n_hosts, 2);
	hold(&w, 0x1800, 0x1000, FSC_GPU_MEM_REGISTERED);
	assert_int_equal(w.books->n_hosts, 1);
	assert_int_equal(host_of(&w, GPU_PID, FSC_GPU_H2D, 0x1800), FSC_GPU_HOST_PINNED);
	assert_int_equal(host_of(&w, GPU_PID, FSC_GPU_H2D, 0x1000), FSC_GPU_HOST_PAGEABLE);
	gpu_end(&w);
}

/* There is room for so many ranges: an exit gives its own back. */
static void an_exit_makes_room_for_the_ranges_of_others(void **state)
{
	struct gpu_world w;

	(void)state;
	begin(&w);
	for (uint64_t i = 1; i <= 100; i++)
		hold(&w, i * 0x1000, 0x1000, FSC_GPU_MEM_PINNED);
	assert_int_equal(w.books->n_hosts, 100);
	fsc_gpu_books_ended(w.books, GPU_PID);
	assert_int_equal(w.books->n_hosts, 0);
	gpu_meet(&w, GPU_PID);
	assert_int_equal(host_of(&w, GPU_PID, FSC_GPU_H2D, 0x1000), FSC_GPU_HOST_PAGEABLE);
	gpu_end(&w);
}

/* What a process has pinned before we came is looked for among its mappings; this test is such a
 * process. */
static void memory_of_an_older_process_is_looked_at(void **state)
{
	struct gpu_world w;
	char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint32_t self = (uint32_t)getpid();
	int local = 0;

	(void)state;
	assert_ptr_not_equal(shared, MAP_FAILED);
	begin(&w);
	w.facts.before = true;
	gpu_meet(&w, self);
	/* The driver's memory looks like this. */
	assert_int_equal(host_of(&w, self, FSC_GPU_H2D, (uintptr_t)shared), FSC_GPU_HOST_PINNED);
	assert_int_equal(host_of(&w, self, FSC_GPU_H2D, (uintptr_t)&local), FSC_GPU_HOST_PAGEABLE);
	assert_int_equal(w.books->n_hosts, 2); /* asked once each */
	assert_int_equal(host_of(&w, self, FSC_GPU_H2D, (uintptr_t)shared), FSC_GPU_HOST_PINNED);
	assert_int_equal(w.books->n_hosts, 2);
	gpu_meet(&w, GPU_PID); /* gone already */
	assert_int_equal(host_of(&w, GPU_PID, FSC_GPU_H2D, 0x1000), FSC_GPU_HOST_UNKNOWN);
	munmap(shared, 4096);
	gpu_end(&w);
}

static void a_pageable_asynchronous_copy_waits(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_event e = copy_of(FSC_GPU_H2D, 0x10, 0x5000, 64);

	(void)state;
	begin(&w);
	hold(&w, 0x7000, 0x1000, FSC_GPU_MEM_PINNED);
	gpu_add(&w, e);
	e.async = true;
	gpu_add(&w, e);
	e.src = 0x7000;
	gpu_add(&w, e);
	assert_int_equal(w.books->pageable_async, 1);
	assert_int_equal(row(&w, FSC_GPU_H2D, FSC_GPU_HOST_PAGEABLE, true)->syncs, 1);
	assert_int_equal(row(&w, FSC_GPU_H2D, FSC_GPU_HOST_PAGEABLE, false)->syncs, 0);
	assert_int_equal(row(&w, FSC_GPU_H2D, FSC_GPU_HOST_PINNED, true)->syncs, 0);
	gpu_end(&w);
}

/* ---- direction ---- */

static uint32_t dir_of(struct gpu_world *w, uint64_t to, uint64_t from)
{
	return gpu_add(w, copy_of(FSC_GPU_DIR_UNKNOWN, to, from, 64)).dir;
}

static void addresses_say_which_way_a_copy_goes(void **state)
{
	struct gpu_world w;

	(void)state;
	begin(&w);
	hold(&w, 0x1000, 0x1000, FSC_GPU_MEM_DEVICE);
	hold(&w, 0x3000, 0x1000, FSC_GPU_MEM_POOL);
	hold(&w, 0x5000, 0x1000, FSC_GPU_MEM_PINNED);
	assert_int_equal(dir_of(&w, 0x1000, 0x5fff), FSC_GPU_H2D);
	assert_int_equal(dir_of(&w, 0x5000, 0x1fff), FSC_GPU_D2H);
	assert_int_equal(dir_of(&w, 0x1000, 0x3000), FSC_GPU_D2D);
	/* A process that was watched from its beginning: what was never allocated is the host's. */
	assert_int_equal(dir_of(&w, 0x1000, 0x99000), FSC_GPU_H2D);
	assert_int_equal(dir_of(&w, 0x99000, 0x1000), FSC_GPU_D2H);
	assert_int_equal(dir_of(&w, 0x99000, 0x5000), FSC_GPU_H2H);
	/* Of neither anything is known. */
	assert_int_equal(dir_of(&w, 0x98000, 0x99000), FSC_GPU_DIR_UNKNOWN);
	assert_int_equal(dir_of(&w, 0, 0x1000), FSC_GPU_DIR_UNKNOWN);
	/* What is said is believed. */
	assert_int_equal(gpu_add(&w, copy_of(FSC_GPU_D2H, 0x1000, 0x3000, 4)).dir, FSC_GPU_D2H);
	gpu_end(&w);
}

/* What an older process has allocated before is not known. */
static void of_an_older_process_both_ends_must_be_known(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_begin(&w);
	w.facts.before = true;
	gpu_meet(&w, GPU_PID);
	hold(&w, 0x1000, 0x1000, FSC_GPU_MEM_DEVICE);
	hold(&w, 0x3000, 0x1000, FSC_GPU_MEM_DEVICE);
	assert_int_equal(dir_of(&w, 0x1000, 0x99000), FSC_GPU_DIR_UNKNOWN);
	assert_int_equal(dir_of(&w, 0x1000, 0x3000), FSC_GPU_D2D);
	gpu_end(&w);
}

/* ---- speed ---- */

static void only_a_copy_whose_time_is_known_has_a_speed(void **state)
{
	struct gpu_world w;
	struct fsc_gpu_event e = copy_of(FSC_GPU_D2D, 0x1000, 0x2000, 8192000);
	const struct fsc_gpu_copy_row *r;

	(void)state;
	begin(&w);
	e.dur_ns = 1000000; /* 2^13 MB/s */
	gpu_add(&w, e);
	e.timed = true;
	e.timing = FSC_GPU_ENQUEUE;
	gpu_add(&w, e);
	r = row(&w, FSC_GPU_D2D, FSC_GPU_HOST_NONE, false);
	assert_int_equal(r->timed_ns, 0);
	e.timing = FSC_GPU_COMPLETE;
	gpu_add(&w, e);
	e.timing = FSC_GPU_SYNCHRONISED;
	e.dur_ns *= 4;
	gpu_add(&w, e);
	assert_int_equal(r->timed_bytes, 16384000);
	assert_int_equal(r->timed_ns, 5000000);
	assert_int_equal(r->speeds[3][13], 1);
	assert_int_equal(r->speeds[3][11], 1);
	e.dur_ns = 1; /* beyond the last class: in it */
	gpu_add(&w, e);
	assert_int_equal(r->speeds[3][FSC_GPU_SPEEDS - 1], 1);
	gpu_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(copies_are_summed_by_direction_and_kind),
	    cmocka_unit_test(memory_is_pinned_from_its_pinning_to_its_end),
	    cmocka_unit_test(a_new_range_takes_the_place_of_those_it_overlaps),
	    cmocka_unit_test(an_exit_makes_room_for_the_ranges_of_others),
	    cmocka_unit_test(memory_of_an_older_process_is_looked_at),
	    cmocka_unit_test(a_pageable_asynchronous_copy_waits),
	    cmocka_unit_test(addresses_say_which_way_a_copy_goes),
	    cmocka_unit_test(of_an_older_process_both_ends_must_be_known),
	    cmocka_unit_test(only_a_copy_whose_time_is_known_has_a_speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
