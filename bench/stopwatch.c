/* Times a tracer from outside: from its start to the line that says its probes are on, and from
 * SIGINT to its end; prints both in milliseconds and the peak of its memory in kB.
 *
 *   stopwatch MARK COMMAND ARGS...     MARK is looked for in what the command writes to stdout,
 * stderr or descriptor 3
 *
 * With the variable STOPWATCH_THEN a shell command is run between the two, and its output printed
 * too. A tracer that has not ended STOPWATCH_LIMIT seconds (60) after SIGINT is killed and not
 * waited for: some take minutes to go. Then "-" is printed for what was not measured. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int wait_for_mark(FILE *f, const char *mark)
{
	char line[4096];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, mark))
			return 0;
	return -1;
}

/* Keeps reading, so that the tracer never waits for us. */
static void drain(FILE *f)
{
	char line[4096];

	if (fork())
		return;
	close(1); /* whoever waits for our output must not wait for the tracer's end */
	while (fgets(line, sizeof(line), f))
		;
	_exit(0);
}

/* Whether it ended in time. */
static int ends_in_time(pid_t pid, double limit_ms, struct rusage *ru)
{
	double since = now_ms();
	int status;

	while (!wait4(pid, &status, WNOHANG, ru)) {
		if (now_ms() - since > limit_ms)
			return 0;
		usleep(200);
	}
	return 1;
}

int main(int argc, char **argv)
{
	const char *then = getenv("STOPWATCH_THEN"), *limit = getenv("STOPWATCH_LIMIT");
	struct rusage ru;
	double start, armed, stop;
	int out[2], status;
	FILE *from;
	pid_t pid;

	if (argc < 3 || pipe(out))
		return 2;
	start = now_ms();
	pid = fork();
	if (!pid) {
		dup2(out[1], 1);
		dup2(out[1], 2);
		dup2(out[1], 3);
		if (out[1] != 3)
			close(out[1]);
		if (out[0] != 3)
			close(out[0]);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	close(out[1]);
	from = fdopen(out[0], "r");
	if (wait_for_mark(from, argv[1])) {
		waitpid(pid, &status, 0);
		fprintf(stderr, "stopwatch: %s ended before it was armed\n", argv[2]);
		return 1;
	}
	armed = now_ms();
	drain(from);
	if (then && system(then))
		return 1;
	stop = now_ms();
	kill(pid, SIGINT);
	if (!ends_in_time(pid, (limit ? atof(limit) : 60) * 1e3, &ru)) {
		kill(pid, SIGKILL);
		printf("%.3f - -\n", armed - start);
		return 0;
	}
	printf("%.3f %.3f %ld\n", armed - start, now_ms() - stop, ru.ru_maxrss);
	return 0;
}
