/* The files of a running process: its root directory, and for each of its executable mappings a
 * path by which exactly that file can be opened from here, even if it was deleted or replaced
 * since. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_PATH */
#endif
#include "proc/process.h"
#include "proc/libs_priv.h"
#include "proc/task.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/map.h"

#define DELETED " (deleted)"

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_same_path(const char *a, const char *b)
{
	struct stat sa, sb;

	return !stat(a, &sa) && !stat(b, &sb) && is_same(&sa, &sb);
}

void fsc_process_root(pid_t pid, char root[32])
{
	char ns[32];

	snprintf(root, 32, "/proc/%d/root", (int)pid);
	snprintf(ns, sizeof(ns), "/proc/%d/ns/mnt", (int)pid);
	if (faccessat(AT_FDCWD, root, R_OK, AT_EACCESS) ||
	    (is_same_path(root, "/") && is_same_path(ns, "/proc/self/ns/mnt")))
		root[0] = '\0';
}

/* Opens name inside root so that links, even absolute ones, stay inside. -1 with errno. */
static int open_inside(const char *root, const char *name)
{
	struct open_how how = {
	    .flags = O_PATH | O_CLOEXEC,
	    .resolve = RESOLVE_IN_ROOT,
	};
	FSC_AUTO(fsc_closep) int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return -1;
	return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

static char *join_path(const char *root, const char *name)
{
	struct fsc_buf b = {0};

	fsc_buf_printf(&b, "%s%s%s", root, root[0] && name[0] != '/' ? "/" : "", name);
	if (!fsc_buf_failed(&b))
		return b.s;
	fsc_buf_release(&b);
	errno = ENOMEM;
	return NULL;
}

/* join_path() if the path leads to the file st. */
static char *join_path_if(const char *root, const char *name, const struct stat *st)
{
	FSC_AUTO(fsc_freep) char *path = join_path(root, name);
	struct stat found;

	return path && !stat(path, &found) && is_same(&found, st) ? fsc_take(&path) : NULL;
}

char *fsc_root_path(const char *root, const char *name)
{
	FSC_AUTO(fsc_closep) int fd = root[0] ? open_inside(root, name) : -1;
	char link[64], target[4096];
	struct stat st;
	char *path;
	ssize_t n;

	if (!root[0])
		return !stat(name, &st) ? strdup(name) : NULL;
	if (fd < 0 && errno == ENOSYS) /* before Linux 5.6 */
		return join_path(root, name);
	if (fd < 0 || fstat(fd, &st))
		return NULL;
	path = join_path_if(root, name, &st);
	if (path)
		return path;
	/* A link that leads elsewhere when followed from our root: name its target instead. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, target, sizeof(target) - 1);
	errno = ENOENT;
	if (n <= 0)
		return NULL;
	target[n] = '\0';
	path = join_path_if(root, target, &st);
	return path ? path : join_path_if("", target, &st);
}

size_t fsc_mapping_length(const struct fsc_mapping *m)
{
	size_t n = strlen(m->path), suffix = strlen(DELETED);

	return n > suffix && !strcmp(m->path + n - suffix, DELETED) ? n - suffix : n;
}

/* The path by which the process's mapping is known, if it leads to the mapped file. Device numbers
 * of btrfs and overlayfs differ between maps and stat; there the mapping's own link (mapped)
 * decides. */
static char *known_path(const char *root, const struct fsc_mapping *m, const struct stat *mapped)
{
	FSC_AUTO(fsc_freep) char *path = join_path(root, m->path);
	struct stat st;

	if (!path || stat(path, &st) || !S_ISREG(st.st_mode))
		return NULL;
	if (mapped ? is_same(&st, mapped) : st.st_dev == m->dev && st.st_ino == m->ino)
		return fsc_take(&path);
	return NULL;
}

/* The kernel's link to the file behind a mapping. */
static void mapping_link(pid_t pid, const struct fsc_mapping *m, char *buf, size_t size)
{
	if (m->end)
		snprintf(buf, size, "/proc/%d/map_files/%llx-%llx", (int)pid,
			 (unsigned long long)m->start, (unsigned long long)m->end);
	else
		snprintf(buf, size, "/proc/%d/exe", (int)pid);
}

const char *fsc_process_path(const char *root, const char *path)
{
	char own[PATH_MAX];
	ssize_t n = root[0] ? readlink(root, own, sizeof(own)) : 0;

	if (n < 2 || n == (ssize_t)sizeof(own) || strncmp(path, own, (size_t)n) || path[n] != '/')
		return path;
	return path + n;
}

int fsc_process_locate(pid_t pid, const char *root, const struct fsc_mapping *m,
		       struct fsc_vec *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *path = NULL;
	struct stat st, *mapped = NULL;
	char link[96];
	int rc;

	mapping_link(pid, m, link, sizeof(link));
	if (!stat(link, &st)) {
		if (!S_ISREG(st.st_mode))
			return 0;
		mapped = &st;
	}
	/* From our root first: that path outlives the process, and is what maps shows of a chroot.
	 * */
	errno = 0;
	path = known_path("", m, mapped);
	if (!path && root[0] && errno != ENOMEM)
		path = known_path(root, m, mapped);
	if (!path && errno == ENOMEM)
		return fsc_err_nomem(err);
	if (!path && mapped && !faccessat(AT_FDCWD, link, R_OK, AT_EACCESS))
		path = strdup(link);
	else if (!path && !mapped && !m->path[fsc_mapping_length(m)])
		path = fsc_root_path(root, m->path); /* unverified, but better than nothing */
	if (!path)
		return errno == ENOMEM ? fsc_err_nomem(err) : 0;
	rc = fsc_libs_push(ret, path, fsc_process_path(root, m->path), root, err);
	return rc ? rc : 1;
}

/* Whether the file of this mapping is seen for the first time. */
static int is_new(struct fsc_map *seen, const struct fsc_mapping *m, bool *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf key = {0};

	fsc_buf_printf(&key, "%llx:%llx:%s", (unsigned long long)m->dev, (unsigned long long)m->ino,
		       m->path);
	if (fsc_buf_failed(&key) || !fsc_map_put(seen, key.s, key.n, ret))
		return fsc_err_nomem(err);
	return 0;
}

/* Appends the program itself, for one that remapped its code (to huge pages). */
static int add_program(const char *exe, struct fsc_vec *files, struct fsc_err *err)
{
	struct fsc_mapping *m = fsc_vec_push(files);

	if (m)
		m->path = strdup(exe);
	return m && m->path ? 0 : fsc_err_nomem(err);
}

static int move_program_first(pid_t pid, struct fsc_vec *files, struct fsc_err *err)
{
	struct fsc_mapping *m, program;
	char exe[PATH_MAX];
	size_t i = 0;
	int rc;

	if (!fsc_task_exe(pid, exe))
		return 0;
	while (i < files->n && strcmp(FSC_AT(struct fsc_mapping, files, i)->path, exe))
		i++;
	rc = i == files->n ? add_program(exe, files, err) : 0;
	if (rc)
		return rc;
	m = files->data;
	program = m[i];
	memmove(m + 1, m, i * sizeof(*m));
	m[0] = program;
	return 0;
}

/* Keeps the first mapping of each file in files and frees the others. */
static int keep_files(struct fsc_vec *files, struct fsc_err *err)
{
	FSC_AUTO(fsc_map_release) struct fsc_map seen = {0};
	struct fsc_mapping *m = files->data;
	size_t n = 0;

	for (size_t i = 0; i < files->n; i++) {
		struct fsc_mapping one = m[i];
		bool fresh = false;
		int rc = one.path[0] == '/' && one.ino ? is_new(&seen, &one, &fresh, err) : 0;

		if (rc)
			return rc;
		m[i].path = NULL;
		if (fresh)
			m[n++] = one;
		else
			free(one.path);
	}
	files->n = n;
	return 0;
}

int fsc_process_files(pid_t pid, struct fsc_vec *ret, struct fsc_err *err)
{
	int rc = fsc_maps_read(pid, true, ret, err);

	if (!rc)
		rc = keep_files(ret, err);
	if (!rc)
		rc = move_program_first(pid, ret, err);
	if (!rc && !ret->n)
		rc = fsc_err_set(err, ESRCH,
				 "process %d has no program (a kernel thread, or it has exited)",
				 (int)pid);
	return rc;
}

int fsc_libs_mapped(pid_t pid, struct fsc_vec *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_maps_release) struct fsc_vec files = FSC_VEC_INIT(struct fsc_mapping);
	char root[32];
	int rc = fsc_process_files(pid, &files, err);

	fsc_process_root(pid, root);
	for (size_t i = 0; rc >= 0 && i < files.n; i++)
		rc = fsc_process_locate(pid, root, FSC_AT(struct fsc_mapping, &files, i), ret, err);
	return rc < 0 ? rc : 0;
}
