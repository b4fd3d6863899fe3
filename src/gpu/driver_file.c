/* Opens a driver library once, so that the file that was checked is the one that is run: who
 * could have written it, and its build id. */
#include "gpu/trial_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/elf.h"

static bool is_trusted(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & 022);
}

/* Container runtimes mount the host's driver into containers: the same file's path on the host,
 * which is then trusted like the host's; NULL: it is another file. */
static const char *path_here(const char *path, const char *root)
{
	size_t n = strlen(root);
	struct stat there, here;

	if (!n || strncmp(path, root, n) || path[n] != '/')
		return NULL;
	if (stat(path, &there) || stat(path + n, &here) || there.st_dev != here.st_dev ||
	    there.st_ino != here.st_ino)
		return NULL;
	return path + n;
}

static int open_directory(const char *path)
{
	const char *end = strrchr(path, '/');
	FSC_AUTO(fsc_freep) char *dir = end ? strndup(path, (size_t)(end - path) + 1) : strdup(".");
	int fd;

	if (!dir)
		return -ENOMEM;
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -1 : fd;
}

/* Another library will be loaded from the same directory. */
static bool directory_is_trusted(int fd)
{
	struct stat st;

	return fd < 0 || (!fstat(fd, &st) && is_trusted(&st));
}

static int read_id(struct fsc_driver_file *f, const struct stat *st)
{
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *elf = NULL;
	unsigned char id[FSC_BUILD_ID_MAX];
	char path[40];
	size_t n;
	int rc;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	rc = fsc_elf_open(path, "", &elf, NULL);
	if (rc == -ENOMEM)
		return rc;
	n = rc ? 0 : fsc_elf_build_id(elf, id);
	if (!rc && !n && errno == ENOMEM)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		snprintf(f->id + 2 * i, 3, "%02x", id[i]);
	if (!n)
		snprintf(f->id, sizeof(f->id), "file-%jx-%jx-%jx-%jx.%09lx", (uintmax_t)st->st_dev,
			 (uintmax_t)st->st_ino, (uintmax_t)st->st_size,
			 (uintmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	return 0;
}

int fsc_driver_file_open(const char *path, const char *root, struct fsc_driver_file *ret)
{
	const char *here = path_here(path, root);
	struct stat st;

	*ret = FSC_DRIVER_FILE_NONE;
	if (here)
		path = here;
	ret->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (ret->fd < 0 || fstat(ret->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	ret->dir_fd = open_directory(path);
	if (ret->dir_fd == -ENOMEM)
		return -ENOMEM;
	ret->trusted = (!root[0] || here) && is_trusted(&st) && directory_is_trusted(ret->dir_fd);
	return read_id(ret, &st);
}

void fsc_driver_file_close(struct fsc_driver_file *f)
{
	fsc_closep(&f->fd);
	fsc_closep(&f->dir_fd);
	*f = FSC_DRIVER_FILE_NONE;
}
