/* A file is a head (the lengths of path, type and body, and their checksum) and the three of them.
 * Its name has the message's number in the queue. Everything is opened relative to the directory
 * and without following links. */
#include "web/spooldir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"

struct head {
	char magic[8];
	uint32_t crc; /* of what follows the head */
	uint32_t n_path, n_type, unused;
	uint64_t n;
};
_Static_assert(sizeof(struct head) == 32, "files of earlier runs have this size");

enum { NAME_SIZE = 128, MOST_TEXT = 4096, BLOCK = 4096 };

static const char magic[8] = "FSCSPL1\n";

static void make_name(const struct fsc_spooldir *d, uint64_t seq, const char *ending, char *ret)
{
	snprintf(ret, NAME_SIZE, "%s-%016" PRIx64 ".%s", d->name, seq, ending);
}

/* ---- the directory ---- */

static int check_name(const char *name, struct fsc_err *err)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (n && n <= 64 && !name[n])
		return 0;
	return fsc_err_set(err, EINVAL, "'%s' cannot begin the name of a spool file", name);
}

static int check_directory(const struct fsc_spooldir *d, struct fsc_err *err)
{
	struct stat st;

	if (fstat(d->fd, &st))
		return fsc_err_sys(err, errno, "cannot look at spool directory '%s'", d->path);
	if (st.st_uid != geteuid()) {
		fsc_err_set(err, EPERM, "spool directory '%s' belongs to another user (%u)",
			    d->path, st.st_uid);
		return fsc_err_hint(err, "make one of your own: install -d -m 700 DIRECTORY");
	}
	if (st.st_mode & 022) {
		fsc_err_set(err, EPERM, "spool directory '%s' can be written by other users",
			    d->path);
		return fsc_err_hint(err, "chmod 700 %s", d->path);
	}
	return 0;
}

static int lock_directory(struct fsc_spooldir *d, struct fsc_err *err)
{
	char name[NAME_SIZE];

	snprintf(name, sizeof(name), "%s.lock", d->name);
	d->lock_fd = openat(d->fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (d->lock_fd < 0)
		return fsc_err_sys(err, errno, "cannot make a file in spool directory '%s'",
				   d->path);
	if (!flock(d->lock_fd, LOCK_EX | LOCK_NB))
		return 0;
	fsc_err_set(err, EBUSY, "spool directory '%s' is in use by another process", d->path);
	return fsc_err_hint(err, "give each of them a directory of its own");
}

int fsc_spooldir_open(const char *path, const char *name, struct fsc_spooldir *ret,
		      struct fsc_err *err)
{
	int rc = check_name(name, err);

	*ret = FSC_SPOOLDIR_NONE;
	if (rc)
		return rc;
	ret->path = strdup(path);
	ret->name = strdup(name);
	if (!ret->path || !ret->name)
		return fsc_err_nomem(err);
	ret->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ret->fd < 0) {
		rc = errno;
		fsc_err_sys(err, rc, "cannot open spool directory '%s'", path);
		return fsc_err_hint(
		    err, "it must exist and must not be a link: install -d -m 700 %s", path);
	}
	rc = check_directory(ret, err);
	return rc ? rc : lock_directory(ret, err);
}

void fsc_spooldir_close(struct fsc_spooldir *d)
{
	fsc_closep(&d->fd);
	fsc_closep(&d->lock_fd);
	free(d->path);
	free(d->name);
	*d = FSC_SPOOLDIR_NONE;
}

/* ---- writing ---- */

/* Files occupy blocks. This also bounds their number, and so the memory for the list of them. */
static uint64_t round_to_blocks(uint64_t bytes)
{
	return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

uint64_t fsc_spooldir_cost(const char *path, const char *type, size_t n)
{
	return round_to_blocks(sizeof(struct head) + strlen(path) + strlen(type) + n);
}

static uint32_t checksum_parts(const struct iovec *parts, int n)
{
	uLong crc = crc32(0, NULL, 0);

	for (int i = 0; i < n; i++)
		crc = crc32_z(crc, parts[i].iov_base, parts[i].iov_len);
	return (uint32_t)crc;
}

/* 0 or a negative errno. */
static int write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t some = write(fd, bytes, n);

		if (some < 0 && errno != EINTR)
			return -errno;
		if (some > 0) {
			bytes += some;
			n -= (size_t)some;
		}
	}
	return 0;
}

static int write_parts(const struct fsc_spooldir *d, const char *name, const struct iovec *parts,
		       int n)
{
	FSC_AUTO(fsc_closep)
	int fd = openat(d->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -errno : 0;

	for (int i = 0; !rc && i < n; i++)
		rc = write_all(fd, parts[i].iov_base, parts[i].iov_len);
	return rc;
}

int fsc_spooldir_write(const struct fsc_spooldir *d, uint64_t seq, const char *path,
		       const char *type, const void *body, size_t n, struct fsc_err *err)
{
	struct head h = {
	    .n_path = (uint32_t)strlen(path), .n_type = (uint32_t)strlen(type), .n = n};
	const struct iovec parts[] = {
	    {&h, sizeof(h)}, {(char *)path, h.n_path}, {(char *)type, h.n_type}, {(void *)body, n}};
	char before[NAME_SIZE], after[NAME_SIZE];
	int rc;

	memcpy(h.magic, magic, sizeof(magic));
	h.crc = checksum_parts(parts + 1, 3);
	make_name(d, seq, "tmp", before);
	make_name(d, seq, "msg", after);
	rc = write_parts(d, before, parts, 4);
	if (!rc && renameat(d->fd, before, d->fd, after))
		rc = -errno;
	if (!rc)
		return 0;
	unlinkat(d->fd, before, 0);
	return fsc_err_sys(err, -rc, "cannot write a message into spool directory '%s'", d->path);
}

void fsc_spooldir_remove(const struct fsc_spooldir *d, uint64_t seq)
{
	char name[NAME_SIZE];

	make_name(d, seq, "msg", name);
	unlinkat(d->fd, name, 0);
}

/* ---- reading ---- */

/* 0 or a negative errno; -EBADMSG at the end of the file. */
static int read_all(int fd, char *to, size_t n)
{
	while (n) {
		ssize_t some = read(fd, to, n);

		if (some < 0 && errno == EINTR)
			continue;
		if (some <= 0)
			return some ? -errno : -EBADMSG;
		to += some;
		n -= (size_t)some;
	}
	return 0;
}

/* Opens a message, reads its head and checks it against the size of the file. A descriptor, or a
 * negative errno. */
static int open_message(const struct fsc_spooldir *d, const char *name, struct head *h)
{
	FSC_AUTO(fsc_closep)
	int fd = openat(d->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st))
		return errno == ENOENT || errno == ELOOP || errno == ENXIO ? -EBADMSG : -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < sizeof(*h))
		return -EBADMSG;
	rc = read_all(fd, (char *)h, sizeof(*h));
	if (rc)
		return rc;
	if (memcmp(h->magic, magic, sizeof(magic)) || h->n_path > MOST_TEXT ||
	    h->n_type > MOST_TEXT || h->n > (uint64_t)st.st_size ||
	    sizeof(*h) + h->n_path + h->n_type + h->n != (uint64_t)st.st_size)
		return -EBADMSG;
	return fsc_take_fd(&fd);
}

/* Nothing that could end a line of a request. */
static bool is_plain(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] < ' ' || s[i] > '~')
			return false;
	return true;
}

static int read_parts(int fd, const struct head *h, struct fsc_spooled *ret)
{
	FSC_AUTO(fsc_freep) char *mem = malloc((size_t)h->n_path + h->n_type + h->n + 3);
	char *type, *body;
	int rc;

	if (!mem)
		return -ENOMEM;
	type = mem + h->n_path + 1;
	body = type + h->n_type + 1;
	rc = read_all(fd, mem, h->n_path);
	rc = rc ? rc : read_all(fd, type, h->n_type);
	rc = rc ? rc : read_all(fd, body, h->n);
	if (rc)
		return rc;
	type[-1] = body[-1] = body[h->n] = '\0';
	if (checksum_parts((struct iovec[]){{mem, h->n_path}, {type, h->n_type}, {body, h->n}},
			   3) != h->crc ||
	    !is_plain(mem, h->n_path) || !is_plain(type, h->n_type))
		return -EBADMSG;
	*ret = (struct fsc_spooled){.type = type, .body = body, .n = h->n};
	ret->path = fsc_take(&mem);
	return 0;
}

int fsc_spooldir_read(const struct fsc_spooldir *d, uint64_t seq, struct fsc_spooled *ret,
		      struct fsc_err *err)
{
	char name[NAME_SIZE];
	struct head h;
	int rc;

	*ret = (struct fsc_spooled){0};
	make_name(d, seq, "msg", name);
	FSC_AUTO(fsc_closep) int fd = open_message(d, name, &h);
	rc = fd < 0 ? fd : read_parts(fd, &h, ret);
	return rc ? fsc_err_sys(err, -rc, "cannot read a message in spool directory '%s'", d->path)
		  : 0;
}

/* ---- taking over ---- */

/* Whether the file belongs to this spool, and which message it is; *whole: it was renamed. */
static bool parse_name(const struct fsc_spooldir *d, const char *file, uint64_t *seq, bool *whole)
{
	char again[NAME_SIZE];
	size_t n = strlen(d->name);

	if (strncmp(file, d->name, n) || file[n] != '-')
		return false;
	*seq = strtoull(file + n + 1, NULL, 16);
	make_name(d, *seq, "msg", again);
	*whole = !strcmp(file, again);
	make_name(d, *seq, "tmp", again);
	return *whole || !strcmp(file, again);
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

int fsc_spooldir_each(struct fsc_spooldir *d,
		      int (*fn)(uint64_t seq, size_t n, uint64_t cost, void *arg), void *arg,
		      uint64_t *bad, struct fsc_err *err)
{
	int at = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	FSC_AUTO(closedirp) DIR *dir = at < 0 ? NULL : fdopendir(at);
	struct dirent *e;

	if (!dir)
		return fsc_err_sys(err, errno, "cannot read spool directory '%s'", d->path);
	while (!rc && (e = readdir(dir))) {
		bool whole;
		uint64_t seq;
		struct head h = {0};

		if (!parse_name(d, e->d_name, &seq, &whole))
			continue;
		FSC_AUTO(fsc_closep) int fd = whole ? open_message(d, e->d_name, &h) : -EBADMSG;
		if (fd == -EBADMSG) {
			unlinkat(d->fd, e->d_name, 0);
			(*bad)++;
			continue;
		}
		if (fd < 0)
			return fsc_err_sys(err, -fd, "cannot read '%s' in spool directory '%s'",
					   e->d_name, d->path);
		rc = fn(seq, h.n, round_to_blocks(sizeof(h) + h.n_path + h.n_type + h.n), arg);
	}
	return rc;
}
