/* Holding a program at exec by ptrace. None of our code runs in the child once the probes are
 * attached, so none of our calls is counted. */
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sigchld.h"

static void exec_child(char *const *argv, const sigset_t *mask, int report)
{
	int code = 0;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) {
		code = -errno; /* negative: not the program's fault */
	} else {
		raise(SIGSTOP);
		sigprocmask(SIG_SETMASK, mask, NULL);
		fsc_sigchld_give_back();
		execvp(argv[0], argv);
		code = errno;
	}
	_exit(write(report, &code, sizeof(code)) == sizeof(code) ? 127 : 126);
}

static int wait_for(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Drives the child from its first stop to the stop at exec; *ret_status is what it did last. */
static int drive_to_exec(pid_t pid, int *ret_status)
{
	int status, sig = 0;

	*ret_status = 0;
	if (wait_for(pid, &status) || !WIFSTOPPED(status))
		return -ECHILD;
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL))
		return -errno;
	for (;;) {
		if (ptrace(PTRACE_CONT, pid, NULL, (void *)(long)sig))
			return -errno;
		if (wait_for(pid, &status))
			return -ECHILD;
		*ret_status = status;
		if (!WIFSTOPPED(status))
			return -ECHILD;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			return 0;
		sig = WSTOPSIG(status);
	}
}

static int explain_failure(const char *name, int rc, int status, int report, struct fsc_err *err)
{
	int code = 0;
	bool told = read(report, &code, sizeof(code)) == sizeof(code);

	if (!told && WIFSIGNALED(status))
		return fsc_err_set(err, ENOEXEC,
				   "the kernel killed '%s' by signal %d (%s) while starting it; "
				   "is the file damaged?",
				   name, WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (!told || code < 0)
		return fsc_err_sys(
		    err, code ? -code : -rc,
		    "cannot hold '%s' before its first instruction (is funcscope itself "
		    "being traced?)",
		    name);
	fsc_err_sys(err, code, "cannot run '%s'", name);
	if (code == ENOENT && !strchr(name, '/'))
		return fsc_err_hint(err, "it is not in PATH");
	return -code;
}

int fsc_child_start(struct fsc_child *c, char *const *argv, const sigset_t *mask,
		    struct fsc_err *err)
{
	int report[2], rc, status;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC))
		return fsc_err_sys(err, errno, "cannot make a pipe");
	pid = fork();
	if (pid < 0) {
		rc = fsc_err_sys(err, errno, "cannot start a process");
		close(report[0]);
		close(report[1]);
		return rc;
	}
	if (!pid)
		exec_child(argv, mask, report[1]);
	close(report[1]);
	rc = drive_to_exec(pid, &status);
	if (rc) {
		rc = explain_failure(argv[0], rc, status, report[0], err);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(report[0]);
		return rc;
	}
	close(report[0]);
	*c = (struct fsc_child){.name = strdup(argv[0]),
				.pid = pid,
				.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
				.held = true,
				.family = FSC_FAMILY_INIT};
	if (c->pidfd >= 0 && c->name && !fsc_family_add(&c->family, pid))
		return 0;
	rc = c->name && c->pidfd < 0 ? fsc_err_sys(err, errno, "cannot watch process %d", pid)
				     : fsc_err_nomem(err);
	fsc_child_drop(c);
	return rc;
}

int fsc_child_release(struct fsc_child *c, struct fsc_err *err)
{
	if (!c->held)
		return 0;
	if (ptrace(PTRACE_DETACH, c->pid, NULL, NULL))
		return fsc_err_sys(err, errno, "cannot resume process %d", c->pid);
	c->held = false;
	return 0;
}

int fsc_child_reap(struct fsc_child *c, struct fsc_err *err)
{
	struct rusage ru;
	uint64_t used;

	while (wait4(c->pid, &c->status, 0, &ru) < 0)
		if (errno != EINTR)
			return fsc_err_sys(err, errno, "cannot wait for process %d", c->pid);
	c->pid = 0;
	c->exited = true;
	used = (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000u;
	if (used > c->cpu_ns)
		c->cpu_ns = used;
	return 0;
}

int fsc_child_await(struct fsc_child *c, int ms, struct fsc_err *err)
{
	struct pollfd p = {.fd = c->pidfd, .events = POLLIN};

	if (!c->name || c->exited || poll(&p, 1, ms) <= 0)
		return 0;
	return fsc_child_reap(c, err);
}

uint64_t fsc_child_cpu(struct fsc_child *c)
{
	uint64_t now = c->exited || !c->pid ? 0 : fsc_family_cpu(&c->family);

	if (now > c->cpu_ns)
		c->cpu_ns = now;
	return c->cpu_ns;
}

int fsc_child_code(const struct fsc_child *c)
{
	if (!c->exited)
		return 0;
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

void fsc_child_log_exit(const struct fsc_child *c, bool waiting)
{
	if (!c->name)
		return;
	if (!c->exited)
		fsc_log(FSC_LOG_NOTE, "'%s' (process %d) continues without probes%s", c->name,
			c->pid, waiting ? "; its exit status is waited for" : "");
	else if (WIFSIGNALED(c->status))
		fsc_log(FSC_LOG_NOTE, "'%s' was killed by signal %d (%s)", c->name,
			WTERMSIG(c->status), strsignal(WTERMSIG(c->status)));
	else if (WEXITSTATUS(c->status))
		fsc_log(FSC_LOG_NOTE, "'%s' exited with status %d", c->name,
			WEXITSTATUS(c->status));
}

void fsc_child_drop(struct fsc_child *c)
{
	if (c->pid && c->held) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	if (c->pidfd > 0)
		close(c->pidfd);
	if (c->name)
		fsc_family_release(&c->family);
	free(c->name);
	*c = (struct fsc_child){.pidfd = -1};
}
