/* Linked into the sanitized program alone (mk/test.mk), so that no report gets lost in the
 * end-to-end tests. Reports go to files that every test looks for when it ends (common.bash). A
 * child that reads files of strangers may write none (src/base/confine.c): its parent, which would
 * call the file damaged, reports for it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* No status that the program itself or a fixture ends with. */
#define REPORTED	    86
#define TEXT(x)		    #x
#define OPTION(name, value) name "=" TEXT(value)

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
void __sanitizer_report_error_summary(const char *summary);
pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);

/* Here and not in the environment, which some tests empty. */
const char *__asan_default_options(void)
{
	return OPTION("exitcode", REPORTED) ":detect_stack_use_after_return=1";
}

const char *__ubsan_default_options(void)
{
	return OPTION("exitcode", REPORTED) ":print_stacktrace=1";
}

/* It may write to no file at all: where stderr is one, the attempt to complain ends it. */
static int is_report(int status)
{
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGXFSZ;
	return WIFEXITED(status) && WEXITSTATUS(status) == REPORTED;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	int own = 0;
	pid_t ended = __real_waitpid(pid, &own, options);

	if (status)
		*status = own;
	if (ended > 0 && is_report(own)) {
		char text[96];

		snprintf(text, sizeof(text),
			 "sanitizer report in process %d, which may not write it", (int)ended);
		__sanitizer_report_error_summary(text);
		_exit(REPORTED);
	}
	return ended;
}
