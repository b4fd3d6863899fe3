/* /proc/PID/maps. Paths in it are data: they may hold spaces, and newlines appear as \012. */
#include "proc/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/slurp.h"

/* The number at *pos in base, which must be followed by sep; moves *pos past both. */
static bool take_number(char **pos, int base, char sep, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(*pos, &end, base);
	if (errno || end == *pos || *end != sep)
		return false;
	*pos = end + 1;
	return true;
}

/* The kernel escapes newlines and nothing else. */
static char *unescape(const char *s)
{
	char *copy = malloc(strlen(s) + 1), *to = copy;

	if (!copy)
		return NULL;
	while (*s) {
		if (!strncmp(s, "\\012", 4)) {
			*to++ = '\n';
			s += 4;
			continue;
		}
		*to++ = *s++;
	}
	*to = '\0';
	return copy;
}

/* "start-end rwxp offset major:minor inode   path"; everything but the path. The path's place, NULL
 * if the line is no mapping. */
static char *parse_line(char *line, struct fsc_mapping *m)
{
	uint64_t major_no, minor_no, ino;
	char *pos = line;

	if (!take_number(&pos, 16, '-', &m->start) || !take_number(&pos, 16, ' ', &m->end) ||
	    strlen(pos) < 5 || pos[4] != ' ')
		return NULL;
	m->exec = pos[2] == 'x';
	pos += 5;
	if (!take_number(&pos, 16, ' ', &m->offset) || !take_number(&pos, 16, ':', &major_no) ||
	    !take_number(&pos, 16, ' ', &minor_no))
		return NULL;
	errno = 0;
	ino = strtoull(pos, &pos, 10);
	if (errno || (*pos && *pos != ' '))
		return NULL;
	m->dev = makedev((unsigned)major_no, (unsigned)minor_no);
	m->ino = ino;
	return pos + strspn(pos, " ");
}

static int add_line(char *line, bool exec_only, struct fsc_vec *ret, struct fsc_err *err)
{
	struct fsc_mapping m = {0}, *place;
	char *path = parse_line(line, &m);

	if (!path || (exec_only && !m.exec))
		return 0;
	m.path = unescape(path);
	place = m.path ? fsc_vec_push(ret) : NULL;
	if (!place) {
		free(m.path);
		return fsc_err_nomem(err);
	}
	*place = m;
	return 0;
}

int fsc_maps_parse(char *text, bool exec_only, struct fsc_vec *ret, struct fsc_err *err)
{
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n"))) {
		int rc = add_line(line, exec_only, ret, err);

		if (rc)
			return rc;
	}
	return 0;
}

static bool has_ptrace(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return !syscall(SYS_capget, &head, caps) &&
	       caps[CAP_SYS_PTRACE / 32].effective >> CAP_SYS_PTRACE % 32 & 1;
}

/* Who may read it: its user with all its capabilities, and CAP_SYS_PTRACE; unless a security
 * module or a parent user namespace objects. */
int fsc_maps_denied(pid_t pid, int code, struct fsc_err *err)
{
	bool ptrace = has_ptrace();

	fsc_err_sys(err, code, "may not look at process %d%s", (int)pid,
		    ptrace ? " although CAP_SYS_PTRACE is there" : " (CAP_SYS_PTRACE is missing)");
	if (ptrace)
		return fsc_err_hint(
		    err,
		    "a security module (SELinux, AppArmor) or a parent user namespace prevents it");
	if (!geteuid())
		return fsc_err_hint(err, "root does not have it here: the container or service "
					 "must be given it (--cap-add SYS_PTRACE)");
	return fsc_err_hint(err, "run as root, or as the user the process belongs to");
}

int fsc_maps_read(pid_t pid, bool exec_only, struct fsc_vec *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *text = NULL;
	char path[64];
	size_t n;
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	rc = fsc_slurp(AT_FDCWD, path, &text, &n, err);
	if (rc == -ENOENT || rc == -ESRCH)
		return fsc_err_set(err, ESRCH, "no process %d is running", (int)pid);
	if (rc == -EACCES || rc == -EPERM)
		return fsc_maps_denied(pid, -rc, err);
	return rc ? rc : fsc_maps_parse(text, exec_only, ret, err);
}

void fsc_maps_release(struct fsc_vec *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		free(FSC_AT(struct fsc_mapping, maps, i)->path);
	fsc_vec_release(maps);
}

int fsc_maps_copy(struct fsc_vec *maps, const struct fsc_mapping *m, struct fsc_err *err)
{
	char *path = strdup(m->path);
	struct fsc_mapping *place = path ? fsc_vec_push(maps) : NULL;

	if (!place) {
		free(path);
		return fsc_err_nomem(err);
	}
	*place = *m;
	place->path = path;
	return 0;
}

/* The first mapping that ends above addr. */
static size_t first_behind(const struct fsc_vec *maps, uint64_t addr)
{
	size_t lo = 0, hi = maps->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (FSC_AT(struct fsc_mapping, maps, mid)->end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct fsc_mapping *fsc_maps_find(const struct fsc_vec *maps, uint64_t addr)
{
	size_t i = first_behind(maps, addr);
	const struct fsc_mapping *m = i < maps->n ? FSC_AT(struct fsc_mapping, maps, i) : NULL;

	return m && m->start <= addr ? m : NULL;
}

/* A mapping that extends beyond both ends of [start, end) is split. */
static bool split(struct fsc_vec *maps, size_t i, uint64_t end)
{
	struct fsc_mapping rest = *FSC_AT(struct fsc_mapping, maps, i), *m;

	rest.offset += end - rest.start;
	rest.start = end;
	if (fsc_maps_copy(maps, &rest, NULL))
		return false;
	m = maps->data;
	rest = m[maps->n - 1];
	memmove(m + i + 2, m + i + 1, (maps->n - i - 2) * sizeof(*m));
	m[i + 1] = rest;
	return true;
}

/* Makes room for [start, end); *ret is where a mapping there belongs. */
static bool cut_hole(struct fsc_vec *maps, uint64_t start, uint64_t end, size_t *ret)
{
	size_t i = first_behind(maps, start), last;
	struct fsc_mapping *m = maps->data;

	if (i < maps->n && m[i].start < start) {
		if (m[i].end > end && !split(maps, i, end))
			return false;
		m = maps->data;
		m[i++].end = start;
	}
	for (last = i; last < maps->n && m[last].end <= end; last++)
		free(m[last].path);
	if (last > i)
		memmove(m + i, m + last, (maps->n - last) * sizeof(*m));
	maps->n -= last - i;
	if (i < maps->n && m[i].start < end) {
		m[i].offset += end - m[i].start;
		m[i].start = end;
	}
	*ret = i;
	return true;
}

int fsc_maps_insert(struct fsc_vec *maps, const struct fsc_mapping *m, struct fsc_err *err)
{
	struct fsc_mapping *all, mine;
	size_t at;

	if (!cut_hole(maps, m->start, m->end, &at))
		return fsc_err_nomem(err);
	if (fsc_maps_copy(maps, m, err))
		return -ENOMEM;
	all = maps->data;
	mine = all[maps->n - 1];
	memmove(all + at + 1, all + at, (maps->n - 1 - at) * sizeof(*all));
	all[at] = mine;
	return 0;
}
