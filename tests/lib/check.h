/* What the tests of the instrumentation library share: a program is a list of tests, each runs in a
 * process of its own, since what is tested is the state of a process. Prints TAP. No library is
 * needed, so that the same programs run for another architecture under qemu-user.
 *
 *	program [WORD]     only tests whose name has the word in it
 *	CHECK_TAG          stands before the names: which build this is
 *	CHECK_EMULATED     this is qemu-user
 */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHECK_SKIPPED = 77, CHECK_AT_MOST_S = 300 };

struct check_test {
	const char *name;
	void (*run)(void);
};

__attribute__((noreturn, format(printf, 3, 4))) static inline void
check_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# %s:%d: ", file, line);
	vprintf(fmt, ap);
	printf("\n");
	fflush(stdout);
	va_end(ap);
	_exit(1);
}

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what))                                                                       \
			check_fail(__FILE__, __LINE__, "%s (errno: %s)", #what, strerror(errno));  \
	} while (0)

#define EQUAL(got, wanted)                                                                         \
	do {                                                                                       \
		unsigned long long got_ = (unsigned long long)(got);                               \
		unsigned long long wanted_ = (unsigned long long)(wanted);                         \
		if (got_ != wanted_)                                                               \
			check_fail(__FILE__, __LINE__, "%s: %llu, not %llu (%s)", #got, got_,      \
				   wanted_, #wanted);                                              \
	} while (0)

#define EQUAL_STRING(got, wanted)                                                                  \
	do {                                                                                       \
		const char *got_ = (got), *wanted_ = (wanted);                                     \
		if (strcmp(got_, wanted_))                                                         \
			check_fail(__FILE__, __LINE__, "%s: '%s', not '%s'", #got, got_, wanted_); \
	} while (0)

/* The call gives `wrong`, and errno says why. */
#define FAILS(call, wrong, why)                                                                    \
	do {                                                                                       \
		errno = 0;                                                                         \
		if ((call) != (wrong) || errno != (why))                                           \
			check_fail(__FILE__, __LINE__, "%s: errno %d (%s), not %s", #call, errno,  \
				   strerror(errno), #why);                                         \
	} while (0)

static char *check_reason; /* shared with the process of a test: why it was skipped */
enum { CHECK_REASON_LEN = 256 };

#define SKIP(...)                                                                                  \
	do {                                                                                       \
		snprintf(check_reason, CHECK_REASON_LEN, __VA_ARGS__);                             \
		exit(CHECK_SKIPPED);                                                               \
	} while (0)

/* Not under qemu-user, which has limits of its own. */
#define NEED_PROCESSOR()                                                                           \
	do {                                                                                       \
		if (getenv("CHECK_EMULATED"))                                                      \
			SKIP("not under emulation");                                               \
	} while (0)

#define NEED_ROOT()                                                                                \
	do {                                                                                       \
		if (geteuid())                                                                     \
			SKIP("needs root");                                                        \
	} while (0)

/* A process that the test started ends well. */
static inline void check_child(pid_t pid, int line)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		check_fail(__FILE__, line, "child %d ended with status %#x", (int)pid,
			   (unsigned)status);
}
#define CHILD_IS_WELL(pid) check_child(pid, __LINE__)

static volatile pid_t check_running; /* and its children: they are one process group */

/* What hangs has failed. Not by the test's own alarm: it may hang with all signals blocked. */
static inline void check_give_up(int sig)
{
	(void)sig;
	kill(-check_running, SIGKILL);
}

static inline int check_run(const struct check_test *t)
{
	struct sigaction on_alarm = {.sa_handler = check_give_up};
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		t->run();
		fflush(stdout);
		exit(0);
	}
	if (pid < 0)
		return -1;
	setpgid(pid, pid);
	check_running = pid;
	sigaction(SIGALRM, &on_alarm, NULL);
	alarm(CHECK_AT_MOST_S);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	alarm(0);
	kill(-pid, SIGKILL); /* what it left behind */
	return status;
}

static inline int check_one(const struct check_test *t, int number)
{
	const char *tag = getenv("CHECK_TAG");
	int status = check_run(t);

	if (WIFEXITED(status) && WEXITSTATUS(status) == CHECK_SKIPPED) {
		printf("ok %d - %s%s # skip %s\n", number, tag ? tag : "", t->name, check_reason);
		return 0;
	}
	if (status)
		printf("# ended with status %#x\n", (unsigned)status);
	printf("%s %d - %s%s\n", status ? "not ok" : "ok", number, tag ? tag : "", t->name);
	return status != 0;
}

static inline int check_all(const struct check_test *tests, size_t n, int argc, char **argv)
{
	int failed = 0, ran = 0;

	check_reason =
	    mmap(NULL, CHECK_REASON_LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (check_reason == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < n; i++)
		if (argc < 2 || strstr(tests[i].name, argv[1]))
			failed += check_one(&tests[i], ++ran);
	printf("1..%d\n", ran);
	return failed != 0;
}

#define CHECK_MAIN(tests)                                                                          \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return check_all(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);             \
	}
#define TEST(name)                                                                                 \
	{                                                                                          \
#name, name                                                                        \
	}

#endif
