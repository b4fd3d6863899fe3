/* N calls of a function that does nothing, with an entry and an exit event of LTTng-UST (-DLTTNG),
 * or compiled for uftrace (-pg -mfentry). Prints the nanoseconds of a call; with the tracer off
 * that is the price of nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "peers.h"
#define ENTER() lttng_ust_tracepoint(bench, enter, 3)
#define LEAVE() lttng_ust_tracepoint(bench, leave, 3)
#else
#define ENTER() (void)0
#define LEAVE() (void)0
#endif

__attribute__((noinline)) static void call(void)
{
	ENTER();
	__asm__ volatile("" ::: "memory");
	LEAVE();
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	double start = now();

	for (long i = 0; i < n; i++)
		call();
	printf("%.2f\n", (now() - start) / (double)n);
	return 0;
}
