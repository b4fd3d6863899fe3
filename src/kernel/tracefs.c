/* tracefs and debugfs: finding them, or mounting them for ourselves only, and the lists of names in
 * them: tracepoints, functions that ftrace can hook, functions that kprobes must not touch. */
#include "kernel/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/slurp.h"

#define TRACEFS_MAGIC	 0x74726163
#define DEBUGFS_MAGIC	 0x64626720
#define SECURITYFS_MAGIC 0x73636673

static bool is_of_type(int fd, long magic)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && (long)fs.f_type == magic;
}

/* A directory where a file system of that type is mounted; -errno, -ENOENT if it is not. */
static int open_mounted(const char *path, long magic)
{
	FSC_AUTO(fsc_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return is_of_type(fd, magic) ? fsc_take_fd(&fd) : -ENOENT;
}

/* That says nothing about the mount. */
static bool is_out_of_descriptors(int rc)
{
	return rc == -EMFILE || rc == -ENFILE;
}

/* A detached mount, which lasts as long as its descriptor. -errno on failure. */
static int open_private(const char *type)
{
	FSC_AUTO(fsc_closep) int fs = fsopen(type, FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0)
		return -errno;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;
	fd = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	return fd >= 0 ? fd : -errno;
}

static int open_tracefs_mounted(void)
{
	int fd = open_mounted("/sys/kernel/tracing", TRACEFS_MAGIC), old;

	if (fd >= 0 || is_out_of_descriptors(fd))
		return fd;
	old = open_mounted("/sys/kernel/debug/tracing", TRACEFS_MAGIC);
	return old < 0 && fd == -EACCES ? fd : old;
}

/* Only a directory that is mounted, and closed to us, answers so. */
static int closed_to_us(struct fsc_err *err)
{
	fsc_err_set(err, EACCES,
		    "tracefs is mounted, but this user may not open it: /sys/kernel/tracing is for "
		    "its owner alone");
	return fsc_err_hint(err, geteuid() ? "run as root, or with CAP_DAC_READ_SEARCH"
					   : "root lacks CAP_DAC_READ_SEARCH here: the container "
					     "must be given it");
}

bool fsc_tracefs_mounted(void)
{
	FSC_AUTO(fsc_closep) int fd = open_tracefs_mounted();

	return fd >= 0;
}

int fsc_tracefs_open(struct fsc_err *err)
{
	int mounted = open_tracefs_mounted(), fd = mounted;

	if (fd < 0 && !is_out_of_descriptors(fd))
		fd = open_private("tracefs");
	if (fd >= 0)
		return fd;
	if (mounted == -EACCES)
		return closed_to_us(err);
	if (is_out_of_descriptors(fd))
		return fsc_err_sys(err, -fd, "cannot open tracefs");
	if (fd == -ENODEV)
		return fsc_err_set(err, ENODEV, "this kernel has no tracefs (CONFIG_TRACING)");
	fsc_err_sys(err, -fd, "tracefs is not mounted and cannot be mounted");
	return fsc_err_hint(
	    err, fd == -EPERM && geteuid()
		     ? "run as root, or with CAP_SYS_ADMIN and CAP_DAC_READ_SEARCH"
		 : fd == -EPERM ? "root lacks CAP_SYS_ADMIN here: the container must be given it"
				: "mount -t tracefs tracefs /sys/kernel/tracing");
}

static int add_tracepoint(const char *category, const char *name, struct fsc_vec *ret,
			  struct fsc_err *err)
{
	struct fsc_tracepoint *tp = fsc_vec_push(ret);

	if (!tp)
		return fsc_err_nomem(err);
	tp->category = strdup(category);
	tp->name = strdup(name);
	return tp->category && tp->name ? 0 : fsc_err_nomem(err);
}

static int by_name(const void *va, const void *vb)
{
	const struct fsc_tracepoint *a = va, *b = vb;
	int c = strcmp(a->category, b->category);

	return c ? c : strcmp(a->name, b->name);
}

/* available_events has no events that can only be read; synthetic events are made by
 * their users and have no hook of their own. */
int fsc_tracepoints_list(int tracefs, struct fsc_vec *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *text = NULL;
	char *line, *rest;
	size_t n, first = ret->n;
	int rc = fsc_slurp(tracefs, "available_events", &text, &n, err);

	if (rc)
		return rc;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		char *name = strchr(line, ':');

		if (!name || name == line)
			continue;
		*name++ = '\0';
		if (!*name || !strcmp(line, "ftrace") || !strcmp(line, "synthetic"))
			continue;
		rc = add_tracepoint(line, name, ret, err);
		if (rc)
			return rc;
	}
	if (ret->n > first)
		qsort(FSC_AT(struct fsc_tracepoint, ret, first), ret->n - first,
		      sizeof(struct fsc_tracepoint), by_name);
	return 0;
}

void fsc_tracepoints_release(struct fsc_vec *tps)
{
	for (size_t i = 0; i < tps->n; i++) {
		free(FSC_AT(struct fsc_tracepoint, tps, i)->category);
		free(FSC_AT(struct fsc_tracepoint, tps, i)->name);
	}
	fsc_vec_release(tps);
}

/* Names come from the command line and must not lead out of the directory. */
static bool is_one_component(const char *s)
{
	return *s && *s != '.' && !strchr(s, '/');
}

int fsc_tracepoint_id(int tracefs, const char *category, const char *name, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *text = NULL;
	char path[512];
	size_t n;
	long id;
	int rc;

	if (!is_one_component(category) || !is_one_component(name) ||
	    snprintf(path, sizeof(path), "events/%s/%s/id", category, name) >= (int)sizeof(path))
		return fsc_err_set(err, ENOENT, "no tracepoint '%s:%s'", category, name);
	rc = fsc_slurp(tracefs, path, &text, &n, err);
	if (rc == -ENOENT)
		return fsc_err_set(err, ENOENT, "no tracepoint '%s:%s'", category, name);
	if (rc)
		return rc;
	id = strtol(text, NULL, 10);
	if (id <= 0 || id > 1 << 30)
		return fsc_err_set(err, EINVAL, "tracepoint '%s:%s' has no number", category, name);
	return (int)id;
}

/* Adds one name per line to the set; after: the byte that precedes the name, '\0' if the line
 * starts with it. */
static int collect_names(char *text, char after, struct fsc_map *ret, struct fsc_err *err)
{
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n"))) {
		uint64_t *value;

		if (after)
			line = strchr(line, after);
		if (!line)
			continue;
		line += after ? 1 : 0;
		line[strcspn(line, " \t")] = '\0';
		if (!*line)
			continue;
		value = fsc_map_put(ret, line, strlen(line), NULL);
		if (!value)
			return fsc_err_nomem(err);
		*value = 1;
	}
	return 0;
}

int fsc_tracefs_filter_functions(int tracefs, struct fsc_map *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *text = NULL;
	size_t n;
	int rc = fsc_slurp(tracefs, "available_filter_functions", &text, &n, err);

	if (rc == -ENOENT)
		return fsc_err_set(err, ENOENT,
				   "this kernel has no ftrace (CONFIG_DYNAMIC_FTRACE)");
	if (rc == -EPERM) {
		fsc_err_set(err, EPERM, "the kernel's list of functions cannot be read");
		return fsc_err_hint(err, "lockdown forbids it, see /sys/kernel/security/lockdown");
	}
	return rc ? rc : collect_names(text, '\0', ret, err);
}

/* A file of a file system of the kernel's, by a private mount where it is not mounted. */
static int read_mounted(const char *dir, long magic, const char *type, const char *path, char **ret)
{
	FSC_AUTO(fsc_closep) int fd = open_mounted(dir, magic);
	size_t n;

	if (fd < 0)
		fd = open_private(type);
	return fd < 0 ? fd : fsc_slurp(fd, path, ret, &n, NULL);
}

int fsc_lockdown_read(char **ret)
{
	return read_mounted("/sys/kernel/security", SECURITYFS_MAGIC, "securityfs", "lockdown",
			    ret);
}

int fsc_debugfs_read(const char *path, char **ret)
{
	FSC_AUTO(fsc_freep) char *lockdown = NULL;
	int rc = fsc_lockdown_read(&lockdown);

	/* A kernel that is locked down refuses, and writes a line into its log each time. */
	if (rc ? rc != -ENOENT && rc != -ENODEV : !strstr(lockdown, "[none]"))
		return -EPERM;
	return read_mounted("/sys/kernel/debug", DEBUGFS_MAGIC, "debugfs", path, ret);
}

int fsc_kprobe_blacklist(struct fsc_map *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *text = NULL;

	if (fsc_debugfs_read("kprobes/blacklist", &text))
		return fsc_err_set(err, ENOENT,
				   "cannot read the list of functions that kprobes must not use");
	return collect_names(text, '\t', ret, err);
}
