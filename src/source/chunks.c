#include "source/chunks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "proc/maps.h"
#include "proc/task.h"

enum { ANSWER_MS = 1000 };

void fsc_chunks_release(struct fsc_chunks *c)
{
	for (size_t i = 0; i < FUNCSCOPE_CHUNKS; i++)
		if (c->fd[i] >= 0)
			close(c->fd[i]);
	*c = FSC_CHUNKS_INIT;
}

/* ---- by name ---- */

/* The N of "...funcscope.PID.N" or "/memfd:funcscope.N (deleted)"; -1: another name, or another
 * PID. */
static int chunk_number(const char *name, uint32_t pid)
{
	static const char memfd[] = "/memfd:funcscope.";
	unsigned long who, n;
	const char *p;
	char *end;

	if (!strncmp(name, memfd, sizeof(memfd) - 1)) {
		n = strtoul(name + sizeof(memfd) - 1, &end, 10);
		return !strcmp(end, " (deleted)") && n < FUNCSCOPE_CHUNKS ? (int)n : -1;
	}
	p = strrchr(name, '/');
	if (!p || strncmp(p, "/funcscope.", 11))
		return -1;
	who = strtoul(p + 11, &end, 10);
	if (*end == '-')
		strtoul(end + 1, &end, 10);
	if (*end != '.' || who != pid)
		return -1;
	n = strtoul(end + 1, &end, 10);
	return !*end && n < FUNCSCOPE_CHUNKS ? (int)n : -1;
}

/* Opens the chunks among the links of a directory below /proc/PID. Returns how many. */
static int open_links(const char *dir, struct fsc_chunks *c)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int found = 0, denied = 0;

	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		char target[PATH_MAX];
		ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);
		int at;

		denied = n < 0 && errno == EACCES ? -EACCES : denied;
		target[n > 0 ? n : 0] = '\0';
		at = n > 0 ? chunk_number(target, c->pid) : -1;
		if (at < 0 || c->fd[at] >= 0)
			continue;
		c->fd[at] = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		found += c->fd[at] >= 0;
	}
	closedir(d);
	return found ? found : denied;
}

/* ---- by socket ---- */

static int connect_below(const char *root, pid_t pid, uid_t uid, uint32_t inner)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct ucred peer;
	socklen_t n = sizeof(peer);
	int fd, len;

	len = snprintf(to.sun_path, sizeof(to.sun_path), "%s/tmp/funcscope-%u/%u.sock", root,
		       (unsigned)uid, inner);
	if (len >= (int)sizeof(to.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* The listener must be the process that we mean. */
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) || peer.pid != pid) {
		close(fd);
		return -EACCES;
	}
	return fd;
}

/* In the process's own root if we may access it, else in ours. */
static int connect_to(pid_t pid, uid_t uid, uint32_t inner)
{
	char root[32];
	int fd;

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	fd = connect_below(root, pid, uid, inner);
	return fd >= 0 ? fd : connect_below("", pid, uid, inner);
}

static void take_descriptors(struct msghdr *msg, struct fsc_chunks *c)
{
	size_t at = 0;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h; h = CMSG_NXTHDR(msg, h)) {
		size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
			if (at < FUNCSCOPE_CHUNKS)
				c->fd[at++] = fd;
			else
				close(fd);
		}
	}
}

static int ask_socket(pid_t pid, uid_t uid, struct fsc_chunks *c)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(FUNCSCOPE_CHUNKS * sizeof(int))];
	} control;
	struct funcscope_hello hello = {0};
	struct iovec iov = {&hello, sizeof(hello)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = sizeof(control.room)};
	int fd = connect_to(pid, uid, c->pid), ok;
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (fd < 0)
		return fd;
	ok = poll(&p, 1, ANSWER_MS) == 1 &&
	     recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) == (ssize_t)sizeof(hello);
	close(fd);
	if (!ok)
		return -ETIMEDOUT;
	take_descriptors(&msg, c);
	return hello.magic == FUNCSCOPE_MAGIC && c->fd[0] >= 0 ? 0 : -EBADMSG;
}

/* ---- either ---- */

/* The pid of a process in its own pid namespace. */
static uint32_t inner_pid(pid_t pid)
{
	return (uint32_t)(fsc_task_status(pid, "NSpid:") ?: pid);
}

int fsc_chunks_of(pid_t pid, struct fsc_chunks *ret, struct fsc_err *err)
{
	char path[64];
	struct stat st;
	int rc;

	*ret = FSC_CHUNKS_INIT;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st))
		return fsc_err_set(err, ESRCH, "there is no process %d", (int)pid);
	ret->pid = inner_pid(pid);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	rc = open_links(path, ret);
	if (rc > 0 && ret->fd[0] >= 0)
		return 0;
	if (rc >= 0) { /* a program that closes unknown descriptors keeps its mappings */
		snprintf(path, sizeof(path), "/proc/%d/map_files", (int)pid);
		open_links(path, ret);
		if (ret->fd[0] >= 0)
			return 0;
	}
	fsc_chunks_release(ret);
	ret->pid = inner_pid(pid);
	if (rc != -EACCES && rc != -EPERM)
		return fsc_err_set(err, ENOENT,
				   "process %d has no instrumentation memory: it does not use "
				   "lib/funcscope, or has not called funcscope_caller_initialize()",
				   (int)pid);
	rc = ask_socket(pid, st.st_uid, ret);
	if (!rc)
		return 0;
	fsc_chunks_release(ret);
	if (rc == -ETIMEDOUT)
		return fsc_err_set(err, EACCES,
				   "process %d does not answer: it must call "
				   "funcscope_server_poll_and_send_fd() regularly; or try as root",
				   (int)pid);
	return fsc_maps_denied(pid, EACCES, err);
}

int fsc_chunks_open(const char *path, struct fsc_chunks *ret, struct fsc_err *err)
{
	size_t stem = strlen(path) < 2 ? 0 : strlen(path) - 1;
	const char *base = fsc_str_base(path);

	*ret = FSC_CHUNKS_INIT;
	if (strncmp(base, "funcscope.", 10) || strcmp(path + stem, "0") || path[stem - 1] != '.')
		return fsc_err_usage(err,
				     "'%s' is not the first file of a process's memory, "
				     "DIR/funcscope.PID.0",
				     path);
	ret->pid = (uint32_t)strtoul(base + 10, NULL, 10);
	for (unsigned i = 0; i < FUNCSCOPE_CHUNKS; i++) {
		FSC_AUTO(fsc_freep) char *name = NULL;

		if (asprintf(&name, "%.*s%u", (int)stem, path, i) < 0)
			return fsc_err_nomem(err);
		ret->fd[i] = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (ret->fd[i] < 0 && !i)
			return fsc_err_sys(err, errno, "cannot open '%s'", name);
		if (ret->fd[i] < 0)
			break;
	}
	return 0;
}
