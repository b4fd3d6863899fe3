/* libdw trusts the files it reads: a few changed bytes make it read past its memory. So it works in
 * a child process, which has a minute, is the first to be killed when memory runs out, and whose
 * death is an ordinary error here. A malicious file may take the child over, so it has no
 * privileges (confine.c): its input was opened before. The answer comes back through a pipe. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2 */
#endif
#include "base/contain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "base/slurp.h"

#define SECONDS_MAX 60

struct answer {
	int rc;
	size_t n;
	struct fsc_err err;
};

static bool write_all(int fd, const void *bytes, size_t n)
{
	const char *pos = bytes;

	while (n) {
		ssize_t put = write(fd, pos, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		pos += put;
		n -= (size_t)put;
	}
	return true;
}

/* Undoes the signal setup inherited from the program. */
static void become_expendable(void)
{
	static const int fatal[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGSEGV, SIGBUS, SIGABRT};
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	sigset_t all;

	if (fd >= 0 && !write_all(fd, "1000", 4))
		errno = 0; /* then it is an ordinary process to the kernel */
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		signal(fatal[i], SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	alarm(SECONDS_MAX);
}

static int take_answer(int fd, const char *what, struct fsc_vec *out, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *text = NULL;
	struct answer a;
	size_t n;
	int rc = fsc_slurp_fd(fd, what, &text, &n, err);

	if (rc)
		return rc;
	if (n >= sizeof(a))
		memcpy(&a, text, sizeof(a));
	if (n < sizeof(a) || (n - sizeof(a)) / out->size != a.n || (n - sizeof(a)) % out->size)
		return fsc_err_set(err, EBADMSG, "%s is damaged: reading it failed", what);
	for (size_t i = 0; i < a.n; i++)
		if (fsc_vec_add(out, text + sizeof(a) + i * out->size, err))
			return -ENOMEM;
	if (err && a.rc)
		*err = a.err;
	return a.rc;
}

static _Noreturn void answer_parent(int fd,
				    int (*fn)(void *arg, struct fsc_vec *out, struct fsc_err *err),
				    void *arg, struct fsc_vec *out)
{
	struct answer a = {0};

	become_expendable();
	fsc_confine();
	a.rc = fn(arg, out, &a.err);
	a.n = out->n;
	_exit(write_all(fd, &a, sizeof(a)) && write_all(fd, out->data, out->n * out->size) ? 0 : 1);
}

int fsc_contain(int (*fn)(void *arg, struct fsc_vec *out, struct fsc_err *err), void *arg,
		const char *what, struct fsc_vec *out, struct fsc_err *err)
{
	int ends[2], rc;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return fsc_err_sys(err, errno, "no pipe to read %s", what);
	pid = fork();
	if (!pid)
		answer_parent(ends[1], fn, arg, out);
	rc = pid < 0 ? fsc_err_sys(err, errno, "no process to read %s", what) : 0;
	close(ends[1]);
	if (!rc)
		rc = take_answer(ends[0], what, out, err);
	close(ends[0]); /* a child that still writes fails now and ends */
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return rc;
}
