/* What a checkpoint costs, against two bare reads of the clock in the same run: rounds of each in
 * turn, and the tenth percentile of the rounds, so that whatever else runs on the machine falls
 * out.
 *
 * usage: scopes [THREADS] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "funcscope.h"

enum { CALLS = 2000, ROUNDS = 2000, WAYS = 4 };

static const char *const names[WAYS] = {"bare", "enter_exit", "scope", "lap"};

struct timing {
	pthread_t thread;
	double ns[WAYS][ROUNDS];
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

#ifdef FUNCSCOPE_ORDERED
#define BEGIN funcscope_begin_ordered_
#define END   funcscope_end_ordered_
#else
#define BEGIN funcscope_rdtsc
#define END   funcscope_rdtsc
#endif

static void bare(void)
{
	for (int i = 0; i < CALLS; i++) {
		uint64_t ticks = BEGIN();

		ticks = END() - ticks;
		__asm__ volatile("" ::"r"(ticks));
	}
}

static void enter_exit(void)
{
	for (int i = 0; i < CALLS; i++) {
		FUNCSCOPE_ENTER(3);
		FUNCSCOPE_EXIT(3);
	}
}

static void scope(void)
{
	for (int i = 0; i < CALLS; i++) {
		FUNCSCOPE_SCOPE("scope");
	}
}

/* Two laps, as two clock reads are what the others have. */
static void lap(void)
{
	FUNCSCOPE_LAPS(t);

	for (int i = 0; i < CALLS; i++) {
		FUNCSCOPE_LAP(t, "one");
		FUNCSCOPE_LAP(t, "two");
	}
}

static void *run(void *arg)
{
	static void (*const ways[WAYS])(void) = {bare, enter_exit, scope, lap};
	struct timing *t = arg;

	for (int r = 0; r < ROUNDS; r++)
		for (int w = 0; w < WAYS; w++) {
			double start = now();

			ways[w]();
			t->ns[w][r] = (now() - start) / CALLS;
		}
	return NULL;
}

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	struct timing *t = calloc((size_t)threads, sizeof(*t));

	if (!t || threads < 1 || !funcscope_caller_initialize(8, FS_NORMAL))
		return 1;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&t[i].thread, NULL, run, &t[i]))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(t[i].thread, NULL);
	for (int w = 0; w < WAYS; w++) {
		double ns = 0;

		for (int i = 0; i < threads; i++) {
			qsort(t[i].ns[w], ROUNDS, sizeof(double), rising);
			ns += t[i].ns[w][ROUNDS / 10] / threads;
		}
		printf("%s %.2f\n", names[w], ns);
	}
	free(t);
	return !funcscope_caller_cleanup();
}
