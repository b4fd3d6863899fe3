/* Listening Unix sockets: a stale one is told from one in use by connecting to it. */
#include "web/listen_unix.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { BACKLOG = 64 };

int fsc_unix_address(const char *path, struct sockaddr_un *ret, struct fsc_err *err)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(ret->sun_path))
		return fsc_err_set(err, ENAMETOOLONG,
				   "'%s' is too long for a socket's path, which has %zu characters "
				   "at most; use a shorter one",
				   path, sizeof(ret->sun_path) - 1);
	memcpy(ret->sun_path, path, strlen(path) + 1);
	return 0;
}

/* Any other answer may be of somebody who is only busy, or whom we may not ask. */
static bool is_stale(const struct sockaddr_un *a)
{
	FSC_AUTO(fsc_closep)
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd >= 0 && connect(fd, (const void *)a, sizeof(*a)) && errno == ECONNREFUSED;
}

static void remove_stale_socket(const struct sockaddr_un *a)
{
	struct stat st;

	if (!lstat(a->sun_path, &st) && S_ISSOCK(st.st_mode) && is_stale(a))
		unlink(a->sun_path);
}

int fsc_unix_listen(const char *path, mode_t mode, struct fsc_err *err)
{
	FSC_AUTO(fsc_closep) int fd = -1;
	struct sockaddr_un a;
	mode_t mask;
	int rc = fsc_unix_address(path, &a, err);

	if (rc)
		return rc;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fsc_err_sys(err, errno, "cannot make a socket");
	remove_stale_socket(&a);
	mask = umask(0777 & ~mode);
	rc = bind(fd, (const void *)&a, sizeof(a)) || listen(fd, BACKLOG) ? errno : 0;
	umask(mask);
	if (rc)
		return fsc_err_sys(err, rc, "cannot listen on '%s'", path);
	return fsc_take_fd(&fd);
}
