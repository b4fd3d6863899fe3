/* A library that has all of funcscope.c inside, in a program that knows nothing of it: it is
 * loaded, used by threads that were there before, and unloaded while they live. */
#include <pthread.h>

#include "reader.h"
#include "scoped.h"

static pthread_barrier_t gate;
static struct scoped scoped;

static void *older_than_the_library(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&gate); /* loaded */
	pthread_barrier_wait(&gate);
	scoped.work(10);
	pthread_barrier_wait(&gate); /* used */
	pthread_barrier_wait(&gate); /* unloaded */
	return NULL;
}

static void loaded_used_and_unloaded(void)
{
	pthread_t t[4];
	pid_t pid;

	pthread_barrier_init(&gate, NULL, 5);
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&t[i], NULL, older_than_the_library, NULL));
	pthread_barrier_wait(&gate);
	scoped = scoped_load("libscoped.so");
	CHECK(scoped.start() == 1);
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate);
	EQUAL(sums_named("in the library").calls, 40);
	EQUAL(books().lanes, 4);
	CHECK(scoped.clean_up() == 1);
	CHECK(!dlclose(scoped.lib));
	pthread_barrier_wait(&gate);
	for (int i = 0; i < 4; i++) /* their ends call nothing that is gone */
		pthread_join(t[i], NULL);
	pid = fork(); /* nor does that */
	if (!pid)
		exit(0);
	CHILD_IS_WELL(pid);
}

/* Each time reserves addresses anew, for which qemu-user takes a second. */
static void loaded_again_and_again(void)
{
	int times = getenv("CHECK_EMULATED") ? 4 : 20;

	for (int i = 0; i < times; i++) {
		struct scoped s = scoped_load("libscoped.so");

		CHECK(s.start() == 1);
		s.work(i);
		EQUAL(sums_of(1).calls, i);
		CHECK(s.clean_up() == 1);
		CHECK(!dlclose(s.lib));
	}
}

static const struct check_test tests[] = {
    TEST(loaded_used_and_unloaded),
    TEST(loaded_again_and_again),
};

CHECK_MAIN(tests)
