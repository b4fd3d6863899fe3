/* Starts a command, waits for it, and kills what it leaves running. */
#include "source/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sigchld.h"

void fsc_command_guard_begin(struct fsc_command_guard *g)
{
	sigemptyset(&g->set);
	sigaddset(&g->set, SIGINT);
	sigaddset(&g->set, SIGTERM);
	sigaddset(&g->set, SIGHUP);
	sigaddset(&g->set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &g->set, &g->old);
}

void fsc_command_guard_end(struct fsc_command_guard *g)
{
	const struct timespec none = {0};

	while (sigtimedwait(&g->set, NULL, &none) > 0)
		;
	sigprocmask(SIG_SETMASK, &g->old, NULL);
}

/* In the child. */
static void redirect_output(const struct fsc_command_opts *o)
{
	int null = open("/dev/null", O_RDWR), errors = STDERR_FILENO;

	if (o->errors)
		errors = open(o->errors, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
	if (null < 0 || errors < 0)
		_exit(126);
	dup2(null, STDIN_FILENO);
	dup2(o->errors ? null : errors, STDOUT_FILENO);
	dup2(errors, STDERR_FILENO);
	if (null > STDERR_FILENO)
		close(null);
	if (errors > STDERR_FILENO)
		close(errors);
}

static void exec_command(const struct fsc_command_opts *o, const struct fsc_command_guard *g)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	redirect_output(o);
	sigprocmask(SIG_SETMASK, &g->old, NULL);
	fsc_sigchld_give_back();
	if (!setenv(FSC_COMMAND_RECORD, o->record, 1) &&
	    !setenv(FSC_COMMAND_DIRECTORY, o->memory, 1))
		execl("/bin/sh", "sh", "-c", o->text, (char *)NULL);
	_exit(127);
}

/* Leaves it a zombie, so that its pid is not reused. */
static bool has_exited(pid_t pid)
{
	siginfo_t si = {0};

	return waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) || si.si_pid == pid;
}

/* True: a signal asked us to end. */
static bool wait_for_exit(pid_t pid, const struct fsc_command_guard *g, uint64_t *ret_ns)
{
	bool interrupted = false;

	while (!has_exited(pid)) {
		int sig = sigwaitinfo(&g->set, NULL);

		if (sig < 0 || sig == SIGCHLD)
			continue;
		interrupted = true;
		kill(-pid, SIGKILL);
	}
	*ret_ns = fsc_clock_mono();
	return interrupted;
}

static uint64_t cpu_time_ns(const struct rusage *ru)
{
	return ((uint64_t)ru->ru_utime.tv_sec + (uint64_t)ru->ru_stime.tv_sec) * 1000000000u +
	       ((uint64_t)ru->ru_utime.tv_usec + (uint64_t)ru->ru_stime.tv_usec) * 1000u;
}

int fsc_command_run(const struct fsc_command_opts *o, const struct fsc_command_guard *g,
		    struct fsc_command_end *ret, struct fsc_err *err)
{
	uint64_t start = fsc_clock_mono(), end;
	struct rusage ru = {0};
	pid_t pid = fork();
	bool interrupted;

	if (pid < 0)
		return fsc_err_sys(err, errno, "cannot start a process");
	if (!pid)
		exec_command(o, g);
	setpgid(pid, pid); /* also done in the child: whichever runs first */
	interrupted = wait_for_exit(pid, g, &end);
	kill(-pid, SIGKILL);
	while (wait4(pid, &ret->status, 0, &ru) < 0)
		if (errno != EINTR)
			return fsc_err_sys(err, errno, "cannot wait for '%s'", o->text);
	ret->wall_ns = end - start;
	ret->cpu_ns = cpu_time_ns(&ru);
	return interrupted ? fsc_err_set(err, EINTR, "interrupted while '%s' ran", o->text) : 0;
}
