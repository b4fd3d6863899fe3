/* Starts a program again and again, so many times a second, and prints what another process used
 * meanwhile: the starts a second that were reached, and that process's CPU time in % of a core.
 * With a rate of 0 it only waits.
 *
 * usage: starts PID RATE SECONDS PROGRAM [ARGUMENT]... */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#define NS 1000000000ll

static long long clock_ns(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return t.tv_sec * NS + t.tv_nsec;
}

/* Several run at a time: a start is not delayed by the one before. */
static void reap(int flags)
{
	while (waitpid(-1, NULL, flags) > 0)
		;
}

static void sleep_until(long long ns)
{
	const struct timespec t = {ns / NS, ns % NS};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

int main(int argc, char **argv)
{
	extern char **environ;
	long long begun = clock_ns(CLOCK_MONOTONIC), used, took, n;
	clockid_t cpu;

	if (argc < 5 || clock_getcpuclockid(atoi(argv[1]), &cpu)) {
		fprintf(stderr, "usage: starts PID RATE SECONDS PROGRAM [ARGUMENT]...\n");
		return 2;
	}
	used = clock_ns(cpu);
	for (n = 0; clock_ns(CLOCK_MONOTONIC) - begun < atoll(argv[3]) * NS; n++) {
		pid_t pid;

		if (atoi(argv[2]) && posix_spawn(&pid, argv[4], NULL, NULL, argv + 4, environ)) {
			fprintf(stderr, "starts: cannot start %s\n", argv[4]);
			return 1;
		}
		reap(WNOHANG);
		sleep_until(atoi(argv[2]) ? begun + (n + 1) * NS / atoll(argv[2])
					  : begun + atoll(argv[3]) * NS);
	}
	used = clock_ns(cpu) - used;
	took = clock_ns(CLOCK_MONOTONIC) - begun;
	reap(0);
	printf("%.1f %.3f\n", (double)n * NS / (double)took, 100 * (double)used / (double)took);
	return 0;
}
