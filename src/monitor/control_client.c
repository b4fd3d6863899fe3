/* Where monitors listen, and how to find them. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "monitor/control.h"
#include "web/listen_unix.h"

/* A directory that only this user can write to, created if missing. */
static int private_directory(char *buf, size_t size, struct fsc_err *err)
{
	struct stat st;

	if (geteuid())
		snprintf(buf, size, "/tmp/funcscope-%u", geteuid());
	else
		snprintf(buf, size, "/run/funcscope");
	if (mkdir(buf, 0700) && errno != EEXIST)
		return fsc_err_sys(err, errno, "cannot make the directory '%s'", buf);
	if (lstat(buf, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
		return fsc_err_set(err, EPERM,
				   "'%s' is not a private directory of this user; remove it, or "
				   "give another socket",
				   buf);
	return 0;
}

static int connect_to(const char *path, struct fsc_err *err)
{
	struct sockaddr_un a;
	int rc = fsc_unix_address(path, &a, err), fd;

	if (rc)
		return rc;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fsc_err_sys(err, errno, "cannot make a socket");
	if (!connect(fd, (const void *)&a, sizeof(a)))
		return fd;
	rc = fsc_err_sys(err, errno, "cannot reach a monitor at '%s'", path);
	close(fd);
	return rc;
}

/* Left by monitors that were killed. */
static void remove_stale_sockets(const char *dir)
{
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		char path[400];
		int pid, fd;

		if (sscanf(e->d_name, "snoop-%d.sock", &pid) != 1)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		fd = connect_to(path, NULL);
		if (fd >= 0)
			close(fd);
		else
			unlink(path);
	}
	if (d)
		closedir(d);
}

int fsc_control_default(char *buf, size_t size, struct fsc_err *err)
{
	char dir[64];
	int rc = private_directory(dir, sizeof(dir), err);

	if (rc)
		return rc;
	remove_stale_sockets(dir);
	snprintf(buf, size, "%s/snoop-%d.sock", dir, getpid());
	return 0;
}

int fsc_control_connect(const char *path, struct fsc_err *err)
{
	struct fsc_buf found = {0};
	char dir[64], one[400];
	struct dirent *e;
	int fd = -1, n = 0;
	DIR *d;

	if (path)
		return connect_to(strncmp(path, "unix:", 5) ? path : path + 5, err);
	snprintf(dir, sizeof(dir), geteuid() ? "/tmp/funcscope-%u" : "/run/funcscope", geteuid());
	d = opendir(dir);
	while (d && (e = readdir(d))) {
		int this;

		if (strncmp(e->d_name, "snoop-", 6))
			continue;
		snprintf(one, sizeof(one), "%s/%s", dir, e->d_name);
		this = connect_to(one, NULL);
		if (this < 0)
			continue;
		fsc_buf_printf(&found, "%s%s", n ? ", " : "", one);
		if (fd >= 0)
			close(fd);
		fd = this;
		n++;
	}
	if (d)
		closedir(d);
	if (n == 0)
		fd = fsc_err_set(
		    err, ENOENT,
		    "found no running monitor; start one with: funcscope snoop -c FILE");
	if (n > 1) {
		close(fd);
		fd = fsc_err_set(err, ENOTUNIQ,
				 "there are %d monitors; choose one with --socket: %s", n,
				 fsc_buf_str(&found));
	}
	fsc_buf_release(&found);
	return fd;
}
