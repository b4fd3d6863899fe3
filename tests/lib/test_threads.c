/* Threads: lanes are reused and none is shared, counts are exact whatever happens at once. Also
 * what runs at odd moments: signal handlers, thread ends, cancellation, a clean-up under way. Built
 * with address and thread sanitizers, too. */
#include <pthread.h>
#include <sched.h>

#include "reader.h"

#ifdef __SANITIZE_THREAD__
enum { SLOWER = 10 };
#else
enum { SLOWER = 1 };
#endif

enum { MANY = 200 };

static void start(void)
{
	CHECK(funcscope_caller_initialize(16, FS_LITE) == 1);
}

static pthread_t spawn(void *(*run)(void *), void *arg)
{
	pthread_attr_t small;
	pthread_t t;

	CHECK(!pthread_attr_init(&small));
	CHECK(!pthread_attr_setstacksize(&small, 512 << 10));
	CHECK(!pthread_create(&t, &small, run, arg));
	pthread_attr_destroy(&small);
	return t;
}

static void pair(uint32_t idx)
{
	FUNCSCOPE_ENTER(idx);
	FUNCSCOPE_EXIT(idx);
}

static void work(int n)
{
	for (int i = 0; i < n; i++) {
		FUNCSCOPE_SCOPE("work");
		FUNCSCOPE_ENTER(2);
		pair(3);
		FUNCSCOPE_EXIT(2);
	}
}

static void expect(uint64_t calls)
{
	EQUAL(sums_named("work").calls, calls);
	EQUAL(sums_of(2).calls, calls);
	EQUAL(sums_of(3).calls, calls);
	EQUAL(books().unmatched, 0);
	EQUAL(books().lost_calls, 0);
	EQUAL(books().lost_threads, 0);
}

static void nobody_is_busy(void)
{
	struct reader r;

	reader_open(&r, getpid());
	for (const struct funcscope_lane *l = NULL; (l = reader_next(&r, l));)
		EQUAL(l->busy, 0);
	reader_close(&r);
}

/* ---- one after the other, and all at once ---- */

static void *work_and_end(void *n)
{
	work((int)(intptr_t)n);
	return NULL;
}

static void in_turn(int threads)
{
	struct reader r;

	start();
	for (int i = 0; i < threads; i++)
		pthread_join(spawn(work_and_end, (void *)100), NULL);
	expect(100 * (uint64_t)threads);
	nobody_is_busy();
	reader_open(&r, getpid());
	EQUAL(r.region->lanes, 1);
	EQUAL(reader_next(&r, NULL)->owners, threads);
}

static void one_thread(void)
{
	in_turn(1);
}

static void eight_in_turn(void)
{
	in_turn(8);
}

static void two_hundred_in_turn(void)
{
	in_turn(MANY);
}

static pthread_barrier_t gate;

static void *work_together(void *n)
{
	work(1);
	pthread_barrier_wait(&gate);
	work((int)(intptr_t)n);
	pthread_barrier_wait(&gate);
	return NULL;
}

static void at_once(int threads)
{
	pthread_t t[MANY];
	struct reader r;

	start();
	pthread_barrier_init(&gate, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++)
		t[i] = spawn(work_together, (void *)100);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	expect(101 * (uint64_t)threads);
	nobody_is_busy();
	reader_open(&r, getpid());
	EQUAL(r.region->lanes, threads);
	CHECK(r.region->used <= r.size);
	EQUAL(reader_sums(&r, 2).lanes, threads);
	if (threads == MANY)
		CHECK(r.region->chunks >= 4);
	for (uint32_t i = 0; i < r.region->chunks; i++)
		EQUAL(r.region->chunk_size[i], reader_fd_size(r.fd[i]));
}

static void eight_at_once(void)
{
	at_once(8);
}

static void two_hundred_at_once(void)
{
	at_once(MANY);
}

/* ---- at full speed, with a reader ---- */

enum { FAST = 3000000 / SLOWER };
static int running;

static void *work_fast(void *unused)
{
	(void)unused;
	for (int i = 0; i < FAST; i++)
		pair(5);
	for (int i = 0; i < FAST; i++) {
		FUNCSCOPE_SCOPE("fast");
	}
	__atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void two_at_full_speed(void)
{
	uint64_t before = 0, now;
	pthread_t t[2];
	struct reader r;

	start();
	running = 2;
	for (int i = 0; i < 2; i++)
		t[i] = spawn(work_fast, NULL);
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE)) {
		reader_open(&r, getpid());
		now = reader_sums(&r, 5).calls;
		reader_close(&r);
		/* A call may be between its bucket and its place as the latest, in each lane. */
		CHECK(now + 2 >= before && now <= 2 * FAST + 2);
		before = now;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	EQUAL(sums_of(5).calls, 2 * FAST);
	EQUAL(sums_of(5).samples, 2 * FAST);
	EQUAL(sums_named("fast").calls, 2 * FAST);
}

/* Many threads meet a place for the first time together: it is one checkpoint. */
static void *first_time(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&gate);
	for (int i = 0; i < 50; i++) {
		FUNCSCOPE_SCOPE("met by all");
	}
	return NULL;
}

static void a_place_met_by_all_at_once(void)
{
	pthread_t t[16];

	start();
	pthread_barrier_init(&gate, NULL, 16);
	for (int i = 0; i < 16; i++)
		t[i] = spawn(first_time, NULL);
	for (int i = 0; i < 16; i++)
		pthread_join(t[i], NULL);
	EQUAL(books().names, 1);
	EQUAL(sums_named("met by all").calls, 16 * 50);
}

/* ---- the end of a thread ---- */

static void *enter_and_end(void *unused)
{
	(void)unused;
	FUNCSCOPE_ENTER(4);
	FUNCSCOPE_ENTER(4);
	return NULL;
}

static void *exit_only(void *unused)
{
	(void)unused;
	pair(5); /* has the lane now */
	FUNCSCOPE_EXIT(4);
	pair(4);
	return NULL;
}

static void what_one_leaves_open_is_closed_for_the_next(void)
{
	start();
	pthread_join(spawn(enter_and_end, NULL), NULL);
	pthread_join(spawn(exit_only, NULL), NULL);
	EQUAL(books().lanes, 1);
	EQUAL(books().unmatched, 1);
	EQUAL(sums_of(4).calls, 1);
}

static pthread_key_t keys[2];

/* Comes back for every round of destructors that there may be. */
static void at_the_end(void *rounds)
{
	intptr_t n = (intptr_t)rounds;

	pair(6);
	{
		FUNCSCOPE_SCOPE("at the end");
	}
	if (n > 1)
		pthread_setspecific(keys[0], (void *)(n - 1));
}

static void at_the_end_too(void *rounds_left)
{
	intptr_t n = (intptr_t)rounds_left;

	pair(7);
	if (n > 1)
		pthread_setspecific(keys[1], (void *)(n - 1));
}

static void *end_with_keys(void *n)
{
	pthread_setspecific(keys[0], n);
	pthread_setspecific(keys[1], n);
	pair(5);
	return NULL;
}

/* A key made before the library's own, and one made after it: their destructors run in that order.
 */
static void end_threads(intptr_t n, int threads)
{
	CHECK(!pthread_key_create(&keys[0], at_the_end));
	start();
	CHECK(!pthread_key_create(&keys[1], at_the_end_too));
	for (int i = 0; i < threads; i++)
		pthread_join(spawn(end_with_keys, (void *)n), NULL);
	nobody_is_busy();
	EQUAL(sums_of(5).calls, threads);
	EQUAL(books().lanes, 1);
	EQUAL(sums_of(6).calls + sums_of(7).calls + sums_named("at the end").calls +
		  books().lost_calls,
	      3 * n * threads);
}

static void checkpoints_in_key_destructors(void)
{
	end_threads(1, 20);
	EQUAL(sums_of(6).calls, 20);
	EQUAL(sums_of(7).calls, 20);
	EQUAL(sums_named("at the end").calls, 20);
	EQUAL(books().lost_calls, 0);
}

/* In the last round nobody would take the lane back: what comes then is lost, and counted. */
static void checkpoints_in_every_round_of_destructors(void)
{
#ifdef __SANITIZE_THREAD__
	SKIP("the sanitizer ends its part of a thread one round earlier");
#endif
	end_threads(PTHREAD_DESTRUCTOR_ITERATIONS, 20);
	CHECK(books().lost_calls <= 20);
}

static void *rely_on_destructors(void *unused)
{
	(void)unused;
	pthread_exit(NULL);
	return NULL;
}

static void *only_at_the_end(void *unused)
{
	(void)unused;
	pthread_setspecific(keys[1], (void *)1);
	return rely_on_destructors(NULL);
}

static void first_checkpoint_in_a_destructor(void)
{
	start();
	CHECK(!pthread_key_create(&keys[1], at_the_end_too));
	for (int i = 0; i < 20; i++)
		pthread_join(spawn(only_at_the_end, NULL), NULL);
	EQUAL(sums_of(7).calls, 20);
	EQUAL(books().lanes, 1);
	nobody_is_busy();
}

/* ---- cancellation ---- */

static void *cancelled(void *unused)
{
	(void)unused;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate); /* by now it is asked to end */
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	work(1); /* the first time: descriptors are opened and closed */
	pthread_testcancel();
	return &gate;
}

/* A clean-up closes descriptors, too; the thread ends afterwards, not within it. */
static void *cancelled_in_clean_up(void *unused)
{
	(void)unused;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cancel(pthread_self());
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	EQUAL(funcscope_server_poll_and_send_fd(), 0);
	CHECK(funcscope_caller_cleanup() == 1);
	pthread_testcancel();
	return &gate;
}

static void cancellation_waits_until_the_library_is_done(void)
{
	void *result = NULL;
	pthread_t t;

	start();
	pthread_barrier_init(&gate, NULL, 2);
	t = spawn(cancelled, NULL);
	pthread_barrier_wait(&gate);
	CHECK(!pthread_cancel(t));
	pthread_barrier_wait(&gate);
	CHECK(!pthread_join(t, &result));
	CHECK(result == PTHREAD_CANCELED);
	expect(1);
	CHECK(!pthread_join(spawn(cancelled_in_clean_up, NULL), &result));
	CHECK(result == PTHREAD_CANCELED);
	start(); /* hangs if it took the lock along */
}

/* ---- signal handlers ---- */

enum { SIGNALS = 1500 / SLOWER, SITES = 400 };
static int handled, finished;
static struct funcscope_site_ handler_sites[SITES];
static char handler_names[SITES][24];

/* Numbers and places of its own; new places now and then, so that it registers them. */
static void on_signal(int sig)
{
	int n = __atomic_load_n(&handled, __ATOMIC_RELAXED), keep = errno;
	struct funcscope_open_ open;

	(void)sig;
	funcscope_scope_begin_(&open, &handler_sites[n % SITES]);
	FUNCSCOPE_ENTER(8);
	pair(8);
	pair(9);
	FUNCSCOPE_EXIT(8);
	funcscope_scope_end_(&open);
	errno = keep;
	__atomic_store_n(&handled, n + 1, __ATOMIC_RELEASE);
}

static void prepare_handler(void)
{
	struct sigaction sa = {.sa_handler = on_signal};

	for (uint32_t i = 0; i < SITES; i++) {
		snprintf(handler_names[i], sizeof(handler_names[i]), "handler %u", i);
		handler_sites[i] = (struct funcscope_site_){handler_names[i], "handler.c", i,
							    FUNCSCOPE_KIND_SCOPE, 0};
	}
	CHECK(!sigaction(SIGUSR1, &sa, NULL));
}

/* One signal after the other: each waits for the handler of the one before. */
static void send_signals(pthread_t to, int n)
{
	for (int i = 0; i < n; i++) {
		int before = __atomic_load_n(&handled, __ATOMIC_ACQUIRE);

		CHECK(!pthread_kill(to, SIGUSR1));
		while (__atomic_load_n(&handled, __ATOMIC_ACQUIRE) == before)
			sched_yield();
	}
}

static uint64_t rounds;

static void *hot(void *unused)
{
	(void)unused;
	for (rounds = 0; !__atomic_load_n(&finished, __ATOMIC_ACQUIRE); rounds++) {
		FUNCSCOPE_ENTER(10);
		pair(10); /* entered again: entries are put aside */
		pair(11);
		FUNCSCOPE_EXIT(10);
		FUNCSCOPE_SCOPE("hot");
	}
	return NULL;
}

static void expect_handled(uint64_t n)
{
	uint64_t calls = 0;
	struct reader r;

	reader_open(&r, getpid());
	EQUAL(r.region->unmatched, 0);
	EQUAL(r.region->lost_calls, 0);
	EQUAL(reader_sums(&r, 8).calls, 2 * n);
	EQUAL(reader_sums(&r, 9).calls, n);
	for (uint32_t i = 0; i < SITES && i < n; i++)
		calls += reader_sums(&r, reader_find_name(&r, handler_names[i], 0)).calls;
	EQUAL(calls, n);
	reader_close(&r);
}

static void a_handler_interrupts_the_short_way(void)
{
	pthread_t t;

	start();
	prepare_handler();
	t = spawn(hot, NULL);
	send_signals(t, SIGNALS);
	__atomic_store_n(&finished, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	expect_handled(SIGNALS);
	EQUAL(sums_of(10).calls, 2 * rounds);
	EQUAL(sums_of(11).calls, rounds);
	EQUAL(sums_named("hot").calls, rounds);
}

/* Every round a thread that meets everything for the first time, and a clean-up's worth of memory.
 */
static void *cold(void *unused)
{
	(void)unused;
	for (uint32_t i = 10; i < 16; i++)
		pair(i);
	return NULL;
}

static void *cold_threads(void *unused)
{
	static struct funcscope_site_ sites[100];
	static char names[100][16];
	sigset_t usr1;

	(void)unused;
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	for (rounds = 0; !__atomic_load_n(&finished, __ATOMIC_ACQUIRE); rounds++) {
		if (rounds < 100) {
			snprintf(names[rounds], sizeof(names[rounds]), "cold %d", (int)rounds);
			sites[rounds] = (struct funcscope_site_){names[rounds], "cold.c", 0,
								 FUNCSCOPE_KIND_SCOPE, 0};
			funcscope_ended_(funcscope_site_id_(&sites[rounds]), 1);
		}
		pthread_join(spawn(cold, NULL), NULL);
		funcscope_name(3, "again and again");
		(void)funcscope_server_poll_and_send_fd();
	}
	return NULL;
}

static void a_handler_interrupts_the_long_way(void)
{
	struct funcscope_options o = {.numbers = 16, .names = 600, .level = FS_LITE};
	pthread_t t;

	CHECK(funcscope_caller_initialize_with(&o) == 1);
	prepare_handler();
	t = spawn(cold_threads, NULL);
	send_signals(t, SIGNALS);
	__atomic_store_n(&finished, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	expect_handled(SIGNALS);
	EQUAL(sums_of(10).calls, rounds);
	EQUAL(sums_of(15).calls, rounds);
}

static void the_signal_mask_stays(void)
{
	sigset_t want, got;

	sigemptyset(&want);
	sigaddset(&want, SIGUSR2);
	CHECK(!pthread_sigmask(SIG_SETMASK, &want, NULL));
	start();
	work(1);
	(void)funcscope_server_poll_and_send_fd();
	CHECK(funcscope_caller_cleanup() == 1);
	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &got));
	for (int i = 1; i < 32; i++)
		EQUAL(sigismember(&got, i), i == SIGUSR2);
}

static void errno_stays(void)
{
	start();
	errno = 4711;
	work(1);
	FUNCSCOPE_EXIT(15);
	FUNCSCOPE_ENTER(200);
	FUNCSCOPE_LAPS(t);
	FUNCSCOPE_LAP(t, "lap");
	funcscope_name(1, "one");
	EQUAL(errno, 4711);
}

/* ---- a clean-up while others are inside ---- */

enum { INSIDE = 4, ERAS = 60 / (SLOWER > 1 ? 4 : 1) };
static int era;	  /* odd: there is memory, and calls are counted */
static int ready; /* threads that have seen it */

static void wait_for(int *what, int least)
{
	while (__atomic_load_n(what, __ATOMIC_ACQUIRE) < least)
		sched_yield();
}

/* Between the eras it goes on without a pause, so that clean-up and beginning meet it anywhere. */
static void *work_through_eras(void *unused)
{
	(void)unused;
	for (int e = 1; e < 2 * ERAS; e += 2) {
		while (__atomic_load_n(&era, __ATOMIC_ACQUIRE) < e) {
			FUNCSCOPE_SCOPE("meanwhile");
			FUNCSCOPE_ENTER(1);
			pair(1);
			FUNCSCOPE_EXIT(1);
		}
		work(100);
		__atomic_fetch_add(&ready, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* In each era every thread makes a known number of calls, in the memory of that era. */
static void cleaned_up_while_threads_are_inside(void)
{
	pthread_t t[INSIDE];

	for (int i = 0; i < INSIDE; i++)
		t[i] = spawn(work_through_eras, NULL);
	for (int e = 1; e < 2 * ERAS; e += 2) {
		start();
		__atomic_store_n(&era, e, __ATOMIC_RELEASE);
		wait_for(&ready, (e + 1) / 2 * INSIDE);
		EQUAL(sums_named("work").calls, 100 * INSIDE);
		EQUAL(sums_of(2).calls, 100 * INSIDE);
		EQUAL(books().lost_calls, 0);
		CHECK(funcscope_caller_cleanup() == 1);
	}
	for (int i = 0; i < INSIDE; i++)
		pthread_join(t[i], NULL);
}

static const struct check_test tests[] = {
    TEST(one_thread),
    TEST(eight_in_turn),
    TEST(two_hundred_in_turn),
    TEST(eight_at_once),
    TEST(two_hundred_at_once),
    TEST(two_at_full_speed),
    TEST(a_place_met_by_all_at_once),
    TEST(what_one_leaves_open_is_closed_for_the_next),
    TEST(checkpoints_in_key_destructors),
    TEST(checkpoints_in_every_round_of_destructors),
    TEST(first_checkpoint_in_a_destructor),
    TEST(cancellation_waits_until_the_library_is_done),
    TEST(a_handler_interrupts_the_short_way),
    TEST(a_handler_interrupts_the_long_way),
    TEST(the_signal_mask_stays),
    TEST(errno_stays),
    TEST(cleaned_up_while_threads_are_inside),
};

CHECK_MAIN(tests)
