/* Finding tasks, and what they use. */
#include "cmd/watched.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "source/cputime.h"
#include "cmd/probes.h"

void fsc_watched_init(struct fsc_watched *w, char *const *command)
{
	*w = (struct fsc_watched){
	    .pids = FSC_VEC_INIT(pid_t),
	    .tids = FSC_VEC_INIT(pid_t),
	    .owners = FSC_VEC_INIT(pid_t),
	    .owners_cpu = FSC_VEC_INIT(uint64_t),
	    .command = command,
	    .child = {.pidfd = -1},
	};
}

void fsc_watched_release(struct fsc_watched *w)
{
	fsc_child_drop(&w->child);
	fsc_vec_release(&w->pids);
	fsc_vec_release(&w->tids);
	fsc_vec_release(&w->owners);
	fsc_vec_release(&w->owners_cpu);
}

/* The process a thread belongs to. */
static int thread_owner(pid_t tid, pid_t *ret, struct fsc_err *err)
{
	char path[64], line[128];
	FSC_AUTO(fsc_fclosep) FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", ret) == 1)
			return 0;
	return fsc_err_set(err, ESRCH, "no process or thread %d is running; see: ps -eL", tid);
}

static int push_pid(struct fsc_vec *v, pid_t pid, struct fsc_err *err)
{
	pid_t *slot = fsc_vec_push(v);

	if (!slot)
		return fsc_err_nomem(err);
	*slot = pid;
	return 0;
}

static int add_owner(struct fsc_watched *w, pid_t task, bool process, struct fsc_err *err)
{
	pid_t owner = 0;
	int rc = thread_owner(task, &owner, err);

	if (rc)
		return rc;
	if (process && owner != task)
		return fsc_err_usage(err,
				     "%d is a thread of process %d; give -p %d for all of it, or "
				     "-t %d for the thread",
				     task, owner, owner, task);
	/* Of several threads, one is enough to probe it and to count its time. */
	for (size_t i = 0; i < w->owners.n; i++)
		if (*FSC_AT(pid_t, &w->owners, i) == owner)
			return 0;
	if (!fsc_vec_push(&w->owners_cpu))
		return fsc_err_nomem(err);
	return push_pid(&w->owners, owner, err);
}

int fsc_watched_open(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

bool fsc_watched_ended(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

int fsc_watched_refuse_zombie(pid_t pid, struct fsc_err *err)
{
	FSC_AUTO(fsc_closep) int fd = fsc_watched_open(pid);

	if (fd < 0 || !fsc_watched_ended(fd))
		return 0;
	return fsc_err_set(err, ESRCH,
			   "process %d has ended (a zombie: its parent has not asked for its exit "
			   "status)",
			   pid);
}

int fsc_watched_find(struct fsc_watched *w, const struct fsc_vec *pids, const struct fsc_vec *tids,
		     const sigset_t *mask, struct fsc_err *err)
{
	int rc = fsc_probes_pids(pids, &w->pids, err);

	if (!rc)
		rc = fsc_probes_pids(tids, &w->tids, err);
	for (size_t i = 0; !rc && i < w->pids.n; i++)
		rc = add_owner(w, *FSC_AT(pid_t, &w->pids, i), true, err);
	for (size_t i = 0; !rc && i < w->tids.n; i++)
		rc = add_owner(w, *FSC_AT(pid_t, &w->tids, i), false, err);
	for (size_t i = 0; !rc && i < w->owners.n; i++)
		rc = fsc_watched_refuse_zombie(*FSC_AT(pid_t, &w->owners, i), err);
	if (!rc && w->command)
		rc = fsc_child_start(w->command, mask, &w->child, err);
	if (!rc && w->command)
		rc = push_pid(&w->pids, w->child.pid, err);
	return rc;
}

/* Of one that has ended, what it had used when it was last seen. */
static uint64_t cpu_now(struct fsc_watched *w)
{
	uint64_t sum = 0;

	if (!w->owners.n)
		return fsc_cputime_machine();
	for (size_t i = 0; i < w->owners.n; i++) {
		uint64_t now = fsc_cputime_process(*FSC_AT(pid_t, &w->owners, i));
		uint64_t *last = FSC_AT(uint64_t, &w->owners_cpu, i);

		if (now > *last)
			*last = now;
		sum += *last;
	}
	return sum;
}

uint64_t fsc_watched_cpu(struct fsc_watched *w)
{
	uint64_t now;

	if (w->command)
		return w->child_ended ? w->child_cpu_ns : fsc_cputime_process(w->child.pid);
	now = cpu_now(w);
	if (now > w->cpu_last)
		w->cpu_last = now;
	return w->cpu_last > w->cpu_start ? w->cpu_last - w->cpu_start : 0;
}

int fsc_watched_await(struct fsc_watched *w, int ms, struct fsc_err *err)
{
	struct pollfd p = {.fd = w->child.pidfd, .events = POLLIN};

	if (!w->command || w->child_ended || poll(&p, 1, ms) <= 0)
		return 0;
	return fsc_watched_child_ended(w, err);
}

void fsc_watched_tell_child(const struct fsc_watched *w)
{
	if (!w->command)
		return;
	if (!w->child_ended)
		fsc_log(FSC_LOG_NOTE, "process %d goes on without probes", w->child.pid);
	else if (WIFSIGNALED(w->child_status))
		fsc_log(FSC_LOG_NOTE, "'%s' was ended by signal %d (%s)", w->command[0],
			WTERMSIG(w->child_status), strsignal(WTERMSIG(w->child_status)));
	else if (WEXITSTATUS(w->child_status))
		fsc_log(FSC_LOG_NOTE, "'%s' exited with status %d", w->command[0],
			WEXITSTATUS(w->child_status));
}

void fsc_watched_start(struct fsc_watched *w)
{
	w->cpu_start = w->cpu_last = cpu_now(w);
}

bool fsc_watched_all(const struct fsc_watched *w)
{
	return !w->owners.n && !w->command;
}

int fsc_watched_child_ended(struct fsc_watched *w, struct fsc_err *err)
{
	w->child_ended = true;
	return fsc_child_wait(&w->child, &w->child_status, &w->child_cpu_ns, err);
}
