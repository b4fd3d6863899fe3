/* The end of a session that does not wait for the kernel: taking thousands of probes off can take
 * minutes, in which nobody should wait for a report. A process that exits waits for that, too, so
 * the links are left to a child of ours, which does nothing but close them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "engine/session_priv.h"
#include "func_snoop.skel.h"

struct holder {
	pid_t pid;
	int go;	  /* closed when we have closed our links: then it begins */
	int done; /* readable when it has ended */
};

/* Everything but the links and what we wait on: somebody may wait for the end of our output. */
static void close_others(const int *fds, size_t n, int wait_on, int done)
{
	unsigned from = 0;

	for (size_t i = 0; i < n; i++) {
		for (unsigned fd = from; fd < (unsigned)fds[i]; fd++)
			if ((int)fd != wait_on && (int)fd != done)
				close((int)fd);
		from = (unsigned)fds[i] + 1;
	}
	for (unsigned fd = from, most = (unsigned)sysconf(_SC_OPEN_MAX); fd < most; fd++) {
		if (fd > (unsigned)wait_on && fd > (unsigned)done) {
			syscall(SYS_close_range, fd, ~0u, 0);
			break;
		}
		if ((int)fd != wait_on && (int)fd != done)
			close((int)fd);
	}
}

static _Noreturn void hold(int *fds, size_t n, int wait_on, int done)
{
	char c;

	setsid();
	close_others(fds, n, wait_on, done);
	while (read(wait_on, &c, 1) < 0 && errno == EINTR)
		;
	fsc_attacher_close(fds, n);
	_exit(0);
}

/* false: there is no other process to be had. */
static bool holder_start(struct holder *h, int *fds, size_t n)
{
	int go[2] = {-1, -1}, done[2] = {-1, -1};

	if (pipe2(go, O_CLOEXEC))
		return false;
	if (pipe2(done, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return false;
	}
	h->pid = fork();
	if (!h->pid) {
		close(go[1]);
		close(done[0]);
		hold(fds, n, go[0], done[1]);
	}
	close(go[0]);
	close(done[1]);
	h->go = go[1];
	h->done = done[0];
	if (h->pid > 0)
		return true;
	close(h->go);
	close(h->done);
	return false;
}

/* Whether it ends within that time. */
static bool holder_ends(struct holder *h, int ms)
{
	struct pollfd p = {.fd = h->done, .events = POLLIN};
	bool ended;

	close(h->go);
	ended = poll(&p, 1, ms) > 0;
	close(h->done);
	if (ended)
		waitpid(h->pid, NULL, 0);
	return ended;
}

/* What returns from now on is not seen: the measurements are read. */
static void end_counting(struct fsc_session *s)
{
	s->skel->bss->over = 1;
}

void fsc_session_leave(struct fsc_session *s, int ms)
{
	FSC_AUTO(fsc_freep) int *fds = NULL;
	struct holder h;
	size_t n = 0;

	s->detached = true;
	fds = fsc_attacher_give_up(&s->attacher, &n);
	if (!fds || !n || !holder_start(&h, fds, n)) {
		fsc_attacher_drop(&s->attacher, FSC_TAG_ALL);
		if (fds)
			fsc_attacher_close(fds, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	if (holder_ends(&h, ms))
		return;
	end_counting(s);
	fsc_log(
	    FSC_LOG_NOTE,
	    "the kernel is still taking the probes off; nothing is counted any more (process %d "
	    "waits for it)",
	    h.pid);
}
