/* Runs the embedded program src/trial/driver_trial.c on a library, in a child that can do no
 * harm: from memory, without the user's preloads, with a deadline. A library that others could have
 * written is untrusted code, and we may be root: it runs as nobody in its own namespaces, which end
 * when their first process is killed. */
#include "gpu/trial_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

#define NOBODY 65534
/* A longer answer is not from our program. */
#define ANSWER_MAX 4096
/* A killed process exits late if it is inside the driver's kernel part. */
#define REAP_MS 4000
/* The exit status if exec failed: this plus errno. */
#define NOT_STARTED 128

/* Everything the child needs, prepared before fork(): afterwards only system calls are safe. */
struct start {
	int program, out, null, lib, dir;
	bool apart;
	char *argv[4];
	char **env; /* owned; the strings are not */
	char lib_path[32], dir_path[32];
};

static void start_release(struct start *s)
{
	fsc_closep(&s->program);
	fsc_closep(&s->out);
	fsc_closep(&s->null);
	free(s->env);
}

/* ---- before the fork ---- */

/* Variables that load code into the trial or change its result. */
static bool is_left_out(const char *variable)
{
	static const char *const names[] = {
	    "LD_PRELOAD=",
	    "LD_AUDIT=",
	    "LD_DEBUG_OUTPUT=",
	    "CUDA_INJECTION64_PATH=",
	    "NVTX_INJECTION64_PATH=",
	    "CUDA_CACHE_DISABLE=",
	    "CUDA_MPS_PIPE_DIRECTORY=",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(variable, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Without a cache of compiled kernels, and without MPS, where the trial would wait behind
 * others. */
static char **make_environment(bool apart)
{
	static char no_cache[] = "CUDA_CACHE_DISABLE=1";
	static char no_mps[] = "CUDA_MPS_PIPE_DIRECTORY=/dev/null";
	size_t n = 0, kept = 0;
	char **env;

	while (environ && environ[n])
		n++;
	env = calloc(n + 3, sizeof(*env));
	if (!env)
		return NULL;
	env[kept++] = no_cache;
	env[kept++] = no_mps;
	for (size_t i = 0; !apart && i < n; i++)
		if (!is_left_out(environ[i]))
			env[kept++] = environ[i];
	return env;
}

/* The program as a memfd, or a negative errno. */
static int make_program(void)
{
	FSC_AUTO(fsc_closep)
	int fd = memfd_create("funcscope-driver-trial", MFD_CLOEXEC | MFD_EXEC);

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = memfd_create("funcscope-driver-trial", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (size_t at = 0; at < fsc_driver_trial_size;) {
		ssize_t n = write(fd, fsc_driver_trial + at, fsc_driver_trial_size - at);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			at += (size_t)n;
	}
	return fsc_take_fd(&fd);
}

static int prepare_child(const struct fsc_driver_file *lib, struct start *s, int *ret_in,
			 struct fsc_err *err)
{
	int ends[2];

	s->apart = !lib->trusted;
	s->lib = lib->fd;
	s->dir = lib->dir_fd;
	snprintf(s->lib_path, sizeof(s->lib_path), "/proc/self/fd/%d", s->lib);
	snprintf(s->dir_path, sizeof(s->dir_path), "/proc/self/fd/%d", s->dir);
	s->argv[0] = (char *)"funcscope-driver-trial";
	s->argv[1] = s->lib_path;
	s->argv[2] = s->dir >= 0 ? s->dir_path : NULL;
	s->env = make_environment(s->apart);
	if (!s->env)
		return fsc_err_nomem(err);
	s->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (s->null < 0)
		return fsc_err_sys(err, errno, "cannot open '/dev/null'");
	if (pipe2(ends, O_CLOEXEC))
		return fsc_err_sys(err, errno, "cannot make a pipe");
	*ret_in = ends[0];
	s->out = ends[1];
	return 0;
}

/* ---- in the child ---- */

static _Noreturn void give_up(void)
{
	_exit(NOT_STARTED + (errno & 127));
}

/* Raw system calls: libc's wrappers would look for the parent's threads. */
static void drop_privileges(void)
{
	if (syscall(SYS_setgroups, 0, NULL) || syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY) ||
	    syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		give_up();
}

static void set_descriptors(const struct start *s)
{
	if (dup2(s->out, STDOUT_FILENO) < 0 || dup2(s->null, STDIN_FILENO) < 0 ||
	    dup2(s->null, STDERR_FILENO) < 0)
		give_up();
	/* Our own are close-on-exec; inherited ones may not be. */
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	fcntl(s->lib, F_SETFD, 0);
	if (s->dir >= 0)
		fcntl(s->dir, F_SETFD, 0);
}

static _Noreturn void exec_trial(const struct start *s)
{
	const struct rlimit none = {0, 0};
	sigset_t mask;

	setrlimit(RLIMIT_CORE, &none);
	set_descriptors(s);
	if (s->apart)
		drop_privileges();
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* cleared when privileges are dropped, so set after */
	sigemptyset(&mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	fexecve(s->program, s->argv, s->env);
	give_up();
}

/* ---- in the parent ---- */

static pid_t start_child(const struct start *s)
{
	unsigned long flags = SIGCHLD | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC;
	pid_t pid = s->apart ? (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL) : fork();

	if (!pid)
		exec_trial(s);
	return pid;
}

/* True: end of file, or the answer is too long; false: timeout. */
static bool read_answer(int fd, uint64_t end_ns, char text[ANSWER_MAX])
{
	size_t used = 0;

	while (used < ANSWER_MAX - 1) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		uint64_t now = fsc_clock_mono();
		ssize_t n;

		if (now >= end_ns)
			return false;
		if (poll(&p, 1, (int)((end_ns - now) / 1000000) + 1) <= 0)
			continue;
		n = read(fd, text + used, ANSWER_MAX - 1 - used);
		if (!n || (n < 0 && errno != EINTR))
			return true;
		if (n > 0)
			used += (size_t)n;
		text[used] = '\0';
	}
	return true;
}

/* Its status; -1: it does not exit and is abandoned. */
static int reap_child(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	int status;

	kill(pid, SIGKILL); /* no effect on one that has exited */
	for (int ms = 0; ms < REAP_MS; ms += 5) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return status;
		if (got < 0 && errno != EINTR)
			return -1;
		nanosleep(&pause, NULL);
	}
	return -1;
}

/* The text may come from the library: one printable line. */
static void set_reason(struct fsc_gpu_names *ret, const char *text)
{
	snprintf(ret->why, sizeof(ret->why), "%s", text);
	for (char *p = ret->why; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = '?';
}

/* The first number, which is the smallest; -1 if invalid. */
static int parse_offset(const char *text)
{
	char *end;
	long at = strtol(text, &end, 10);

	if (end == text || (*end && *end != ' '))
		return -1;
	return at >= 0 && at < FSC_TRIAL_OBJECT_MAX && at % 8 == 0 ? (int)at : -1;
}

/* Reads the complete lines; true: both objects were examined. */
static bool parse_answer(char *text, struct fsc_gpu_names *ret)
{
	bool function = false, kernel = false;

	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (!strncmp(line, "function ", 9)) {
			ret->function_offset = parse_offset(line + 9);
			function = true;
		} else if (!strncmp(line, "kernel ", 7)) {
			ret->kernel_offset = parse_offset(line + 7);
			kernel = true;
		} else if (!strncmp(line, "error ", 6)) {
			set_reason(ret, line + 6);
		} else if (!strncmp(line, "note ", 5)) {
			set_reason(ret, line + 5);
		}
	}
	return function && kernel;
}

/* Why there is no answer, by the child's status. */
static void explain_status(int status, struct fsc_gpu_names *ret)
{
	size_t n = sizeof(ret->why);

	if (status < 0)
		snprintf(ret->why, n, "the trial did not finish");
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		snprintf(ret->why, n, "the trial was killed"); /* by the OOM killer or by us */
	else if (WIFSIGNALED(status))
		snprintf(ret->why, n, "the driver crashed (signal %d)", WTERMSIG(status));
	else if (WEXITSTATUS(status) > NOT_STARTED)
		snprintf(ret->why, n, "the trial cannot be started: %s",
			 fsc_err_text(WEXITSTATUS(status) - NOT_STARTED));
	else if (WEXITSTATUS(status))
		snprintf(ret->why, n, "the trial exited with status %d; it needs glibc 2.34",
			 WEXITSTATUS(status));
	else
		snprintf(ret->why, n, "the trial gave no answer");
}

/* Why an offset is unknown. */
static void explain_offsets(bool whole, bool in_time, int timeout_ms, int status,
			    struct fsc_gpu_names *ret)
{
	size_t n = sizeof(ret->why);

	if (ret->function_offset >= 0 && ret->kernel_offset >= 0)
		ret->why[0] = '\0';
	else if (ret->why[0])
		return; /* the trial gave a reason */
	else if (whole)
		snprintf(ret->why, n, "no pointer to the name in the first %d bytes of a %s",
			 FSC_TRIAL_OBJECT_MAX,
			 ret->function_offset < 0 ? "CUfunction" : "CUkernel");
	else if (!in_time)
		snprintf(ret->why, n, "the driver did not answer within %g s", timeout_ms / 1000.0);
	else
		explain_status(status, ret);
}

static int run_child(const struct fsc_driver_file *lib, struct start *s, int timeout_ms,
		     struct fsc_gpu_names *ret, bool *ret_final, struct fsc_err *err)
{
	uint64_t end_ns = fsc_clock_mono() + (uint64_t)timeout_ms * 1000000u;
	FSC_AUTO(fsc_closep) int in = -1;
	char answer[ANSWER_MAX] = "";
	bool in_time, whole;
	pid_t pid;
	int rc = prepare_child(lib, s, &in, err);

	if (rc)
		return rc;
	pid = start_child(s);
	if (pid < 0 && s->apart) {
		set_reason(
		    ret,
		    "the library belongs to another user, and cannot be isolated for a trial here");
		return 0;
	}
	if (pid < 0)
		return fsc_err_sys(err, errno, "cannot start a process");
	close(fsc_take_fd(&s->out)); /* or there would be no end of file */
	in_time = read_answer(in, end_ns, answer);
	rc = reap_child(pid);
	whole = parse_answer(answer, ret);
	explain_offsets(whole, in_time, timeout_ms, rc, ret);
	*ret_final = whole && ret->function_offset >= 0;
	return 0;
}

int fsc_trial_run(const struct fsc_driver_file *lib, int timeout_ms, struct fsc_gpu_names *ret,
		  bool *ret_final, struct fsc_err *err)
{
	FSC_AUTO(start_release) struct start s = {.program = -1, .out = -1, .null = -1};

	*ret_final = false;
	if (!lib->trusted && geteuid()) {
		set_reason(ret,
			   "the library belongs to another user, and only root can try it safely");
		return 0;
	}
	s.program = make_program();
	if (s.program == -EACCES) {
		set_reason(ret, "this machine does not run programs from memory (vm.memfd_noexec)");
		return 0;
	}
	if (s.program < 0)
		return fsc_err_sys(err, -s.program, "no memory file for the driver's trial");
	return run_child(lib, &s, timeout_ms, ret, ret_final, err);
}
