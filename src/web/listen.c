/* Parses an address, looks the host up, binds and listens; errors say which part was wrong. */
#include "web/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "web/listen_unix.h"
#include "web/resolve.h"

enum { BACKLOG = 64, GREATEST_PORT = 65535 };

static int bad_port(const char *address, const char *port, struct fsc_err *err)
{
	fsc_err_usage(err, "cannot listen on '%s': '%s' is not a port", address, port);
	return fsc_err_hint(err, "a port is a number from 0 to 65535, as in 127.0.0.1:9464");
}

static int parse_port(const char *address, const char *port, unsigned *ret, struct fsc_err *err)
{
	size_t n = strspn(port, "0123456789");

	if (!n || n > 5 || port[n])
		return bad_port(address, port, err);
	*ret = (unsigned)strtoul(port, NULL, 10);
	return *ret > GREATEST_PORT ? bad_port(address, port, err) : 0;
}

/* *n_host is 0 if there is no host. */
static int split_address(const char *address, const char **host, size_t *n_host, const char **port,
			 struct fsc_err *err)
{
	const char *colon = strrchr(address, ':');

	*host = address;
	*n_host = 0;
	*port = address;
	if (address[0] == '[') {
		const char *end = strchr(address, ']');

		if (!end || end[1] != ':')
			return fsc_err_usage(
			    err, "cannot listen on '%s': it is not of the form [ADDRESS]:PORT",
			    address);
		*host = address + 1;
		*n_host = (size_t)(end - *host);
		*port = end + 2;
		return 0;
	}
	if (!colon)
		return 0;
	*n_host = (size_t)(colon - address);
	*port = colon + 1;
	if (!memchr(address, ':', *n_host))
		return 0;
	fsc_err_usage(err, "cannot listen on '%s': an IPv6 address needs brackets", address);
	return fsc_err_hint(err, "write [::1]:9464");
}

static int parse_address(const char *address, struct fsc_listen *l, struct fsc_err *err)
{
	const char *host, *port;
	size_t n;
	int rc = split_address(address, &host, &n, &port, err);

	if (rc)
		return rc;
	if (n >= sizeof(l->host))
		return fsc_err_usage(err, "cannot listen on '%s': the host's name is too long",
				     address);
	snprintf(l->host, sizeof(l->host), "%.*s", (int)n, host);
	if (!n)
		snprintf(l->host, sizeof(l->host), "127.0.0.1");
	return parse_port(address, port, &l->port, err);
}

static bool is_loopback(const struct sockaddr *a)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)a;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)a;

	if (a->sa_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* The actual port, if 0 was requested. */
static unsigned bound_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} a = {0};
	socklen_t n = sizeof(a);

	if (getsockname(fd, &a.any, &n))
		return 0;
	return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
}

/* A descriptor, or a negative errno. */
static int bind_one(const struct addrinfo *ai)
{
	FSC_AUTO(fsc_closep)
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, off = 0;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (ai->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, BACKLOG))
		return -errno;
	return fsc_take_fd(&fd);
}

static int cannot_bind(const char *address, int code, struct fsc_err *err)
{
	static const struct {
		int code;
		const char *hint;
	} hints[] = {
	    {EADDRINUSE, "another program listens there ('ss -ltnp' shows which); use another port,"
			 " or 0 for any that is free"},
	    {EADDRNOTAVAIL, "this machine has no such address ('ip address' shows those it has)"},
	    {EACCES, "ports below 1024 need root or CAP_NET_BIND_SERVICE; use a higher one"},
	};

	fsc_err_sys(err, code, "cannot listen on '%s'", address);
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (hints[i].code == code)
			fsc_err_hint(err, "%s", hints[i].hint);
	return -code;
}

static int open_unix(const char *path, struct fsc_listen *ret, struct fsc_err *err)
{
	int fd = *path ? fsc_unix_listen(path, 0660, err)
		       : fsc_err_usage(err, "cannot listen on 'unix:': the path is missing");

	if (fd == -EADDRINUSE)
		return fsc_err_hint(err,
				    "another program listens there ('ss -lxp' shows which), or "
				    "it is not a socket; use another path");
	if (fd < 0)
		return fd;
	ret->fd = fd;
	snprintf(ret->path, sizeof(ret->path), "%s", path);
	return 0;
}

/* The group of a name or a number. */
static bool find_group(const char *text, gid_t *ret)
{
	const size_t n = strspn(text, "0123456789");
	const struct group *g = n && !text[n] ? NULL : getgrnam(text);

	*ret = g ? g->gr_gid : (gid_t)strtoul(text, NULL, 10);
	return g || (n && n < 10 && !text[n]);
}

int fsc_listen_group(const struct fsc_listen *l, const char *group, struct fsc_err *err)
{
	gid_t gid;

	if (!find_group(group, &gid))
		return fsc_err_set(err, ENOENT,
				   "cannot give '%s' to the group '%s': there is no such group",
				   l->path, group);
	if (chown(l->path, (uid_t)-1, gid))
		return fsc_err_sys(err, errno, "cannot give '%s' to the group '%s'", l->path,
				   group);
	return 0;
}

void fsc_listen_close(struct fsc_listen *l)
{
	fsc_closep(&l->fd);
	l->fd = -1;
	if (l->path[0])
		unlink(l->path);
	l->path[0] = '\0';
}

int fsc_listen_open(const char *address, struct fsc_listen *ret, struct fsc_err *err)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	FSC_AUTO(fsc_freeaddrinfop) struct addrinfo *list = NULL;
	char port[8];
	int rc, code = 0;

	*ret = (struct fsc_listen){.fd = -1};
	if (!strncmp(address, "unix:", 5))
		return open_unix(address + 5, ret, err);
	rc = parse_address(address, ret, err);
	if (rc)
		return rc;
	snprintf(port, sizeof(port), "%u", ret->port);
	rc = getaddrinfo(ret->host, port, &hints, &list);
	if (rc) {
		fsc_err_set(err, EADDRNOTAVAIL,
			    "cannot listen on '%s': host '%s' cannot be looked up: %s", address,
			    ret->host, rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
		return fsc_err_hint(err, "use an address of this machine, as in 127.0.0.1:%s",
				    port);
	}
	for (const struct addrinfo *ai = list; ai && ret->fd < 0; ai = ai->ai_next) {
		ret->fd = bind_one(ai);
		ret->loopback = is_loopback(ai->ai_addr);
		if (ret->fd < 0 && !code)
			code = -ret->fd;
	}
	if (ret->fd < 0)
		return cannot_bind(address, code, err);
	ret->port = bound_port(ret->fd);
	return 0;
}
