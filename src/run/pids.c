#include "run/pids.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/cputime.h"
#include "proc/task.h"

static struct fsc_pid *pid_at(const struct fsc_pids *p, size_t i)
{
	return FSC_AT(struct fsc_pid, &p->all, i);
}

void fsc_pids_init(struct fsc_pids *p, struct fsc_loop *loop, fsc_loop_fn fn, void *arg)
{
	*p = (struct fsc_pids){.all = FSC_VEC_INIT(struct fsc_pid),
			       .loop = loop,
			       .fn = fn,
			       .arg = arg,
			       .family = FSC_FAMILY_INIT};
}

void fsc_pids_release(struct fsc_pids *p)
{
	for (size_t i = 0; i < p->all.n; i++)
		if (pid_at(p, i)->fd >= 0)
			close(pid_at(p, i)->fd);
	fsc_family_release(&p->family);
	fsc_vec_release(&p->all);
}

pid_t fsc_pids_owner(pid_t task)
{
	return fsc_task_status(task, "Tgid:");
}

/* Readable when the process exits, even before its parent reaps it. Unlike kill(pid, 0) it needs no
 * permission. */
static int open_pid(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

static bool has_exited(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

int fsc_pids_refuse_zombie(pid_t pid, struct fsc_err *err)
{
	FSC_AUTO(fsc_closep) int fd = open_pid(pid);

	if (fd >= 0 && has_exited(fd))
		return fsc_err_set(
		    err, ESRCH,
		    "process %d has exited (a zombie: its parent has not waited for it)", pid);
	if (!fsc_task_is_zombie(pid))
		return 0;
	fsc_err_set(err, ESRCH,
		    "the main thread of process %d has exited, and without it the kernel can "
		    "neither show what the process maps nor limit probes to it",
		    pid);
	return fsc_err_hint(err, "name the program's file, and give --comm instead of -p");
}

int fsc_pids_add(struct fsc_pids *p, pid_t pid, struct fsc_err *err)
{
	uint64_t cpu = fsc_cputime_process(pid);
	struct fsc_pid *x;
	int fd;

	for (size_t i = 0; i < p->all.n; i++)
		if (pid_at(p, i)->pid == pid)
			return 0;
	fd = open_pid(pid);
	if (fd < 0)
		return fsc_err_sys(err, -fd, "cannot watch process %d", pid);
	x = fsc_vec_push(&p->all);
	if (!x) {
		close(fd);
		return fsc_err_nomem(err);
	}
	*x = (struct fsc_pid){.pid = pid, .fd = fd, .cpu_start = cpu, .cpu = cpu};
	return fsc_loop_watch_fd(p->loop, fd, p->fn, p->arg, err);
}

size_t fsc_pids_take_exited(struct fsc_pids *p, void (*fn)(pid_t pid, void *arg), void *arg)
{
	size_t left = 0;

	for (size_t i = 0; i < p->all.n; i++) {
		struct fsc_pid *x = pid_at(p, i);

		if (x->fd < 0)
			continue;
		if (!has_exited(x->fd)) {
			left++;
			continue;
		}
		fsc_loop_unwatch_fd(p->loop, x->fd);
		close(x->fd);
		x->fd = -1;
		if (fn)
			fn(x->pid, arg);
	}
	return left;
}

void fsc_pids_start(struct fsc_pids *p, bool follow)
{
	for (size_t i = 0; i < p->all.n; i++) {
		struct fsc_pid *x = pid_at(p, i);

		x->cpu = x->cpu_start = fsc_cputime_process(x->pid);
		/* Without memory for them, children do not count. */
		follow = follow && !fsc_family_add(&p->family, x->pid);
	}
	p->follow = follow;
	p->family_start = follow ? fsc_family_cpu(&p->family) : 0;
}

uint64_t fsc_pids_cpu(struct fsc_pids *p)
{
	uint64_t sum = 0;

	if (p->follow)
		return fsc_family_cpu(&p->family) - p->family_start;
	for (size_t i = 0; i < p->all.n; i++) {
		struct fsc_pid *x = pid_at(p, i);
		uint64_t now = x->fd < 0 ? 0 : fsc_cputime_process(x->pid);

		if (now > x->cpu)
			x->cpu = now;
		sum += x->cpu - x->cpu_start;
	}
	return sum;
}
