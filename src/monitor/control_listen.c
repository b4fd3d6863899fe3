/* Where a monitor listens. */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "monitor/control_priv.h"
#include "web/listen_unix.h"

static int add_listener(struct fsc_control *c, int fd, const char *path, struct fsc_err *err)
{
	struct listener *l = fsc_vec_push(&c->listeners);

	if (!l) {
		close(fd);
		return fsc_err_nomem(err);
	}
	*l = (struct listener){fd, path, path ? strdup(path) : NULL};
	return 0;
}

static int listen_unix(struct fsc_control *c, const char *path, struct fsc_err *err)
{
	int fd = fsc_unix_listen(path, 0600, err);

	if (fd == -EADDRINUSE)
		return fsc_err_hint(err, "another monitor may use it; give \"control\" or "
					 "\"stream\" another path");
	return fd < 0 ? fd : add_listener(c, fd, path, err);
}

static int listen_tcp(struct fsc_control *c, const char *where, struct fsc_err *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	const char *colon = strrchr(where, ':');
	FSC_AUTO(fsc_freep) char *host = colon ? strndup(where, (size_t)(colon - where)) : NULL;
	struct addrinfo *all = NULL;
	int rc, fd, one = 1;

	if (!host || !colon[1])
		return fsc_err_set(err, EINVAL,
				   "'tcp:%s' is not an address; write tcp:127.0.0.1:9436", where);
	rc = getaddrinfo(host[0] ? host : "127.0.0.1", colon + 1, &hints, &all);
	if (rc)
		return fsc_err_set(err, EINVAL, "'tcp:%s' is not an address to listen on: %s",
				   where, gai_strerror(rc));
	fd = socket(all->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	rc = fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
		     bind(fd, all->ai_addr, all->ai_addrlen) || listen(fd, 16)
		 ? -errno
		 : 0;
	freeaddrinfo(all);
	if (!rc)
		return add_listener(c, fd, NULL, err);
	if (fd >= 0)
		close(fd);
	return fsc_err_sys(err, -rc, "cannot listen on 'tcp:%s'", where);
}

int fsc_control_listen(struct fsc_control *c, const char *where, struct fsc_err *err)
{
	if (!strncmp(where, "tcp:", 4))
		return listen_tcp(c, where + 4, err);
	return listen_unix(c, strncmp(where, "unix:", 5) ? where : where + 5, err);
}
