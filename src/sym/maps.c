/* /proc/PID/maps. Paths in it are data: they may hold spaces, and newlines appear as \012. */
#include "sym/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sym/slurp.h"

/* The number at *pos in base, which must be followed by sep; *pos moves behind it. */
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
	if (rc == -EACCES || rc == -EPERM) {
		fsc_err_set(err, EACCES, "may not look at process %d", (int)pid);
		return fsc_err_hint(err, "run as root, or as the user the process belongs to");
	}
	return rc ? rc : fsc_maps_parse(text, exec_only, ret, err);
}

void fsc_maps_release(struct fsc_vec *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		free(FSC_AT(struct fsc_mapping, maps, i)->path);
	fsc_vec_release(maps);
}
