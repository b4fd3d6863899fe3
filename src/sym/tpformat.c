/* Reading events/CATEGORY/NAME/format, a line per field:
 *   field:pid_t child_pid;	offset:44;	size:4;	signed:1; */
#include "sym/tpformat.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* Whether a format line declares the field: its name ends the declaration before the first ';'. */
static bool declares(const char *line, const char *field)
{
	const char *end = strchr(line, ';');
	size_t n = strlen(field);

	if (!end || !strstr(line, "field:"))
		return false;
	while (end > line && end[-1] == ']') /* comm[16] */
		while (end > line && *--end != '[')
			;
	return (size_t)(end - line) > n && !strncmp(end - n, field, n) &&
	       !(isalnum((unsigned char)end[-(long)n - 1]) || end[-(long)n - 1] == '_');
}

int fsc_tracepoint_field(int tracefs, const char *category, const char *name, const char *field,
			 unsigned *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_fclosep) FILE *f = NULL;
	char path[300], line[512];
	int fd;

	snprintf(path, sizeof(path), "events/%s/%s/format", category, name);
	fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fsc_err_sys(err, errno, "cannot read the format of tracepoint %s:%s",
				   category, name);
	f = fdopen(fd, "r");
	if (!f) {
		close(fd);
		return fsc_err_nomem(err);
	}
	while (fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, "offset:");

		if (declares(line, field) && at && sscanf(at, "offset:%u", ret) == 1)
			return 0;
	}
	return fsc_err_set(err, ENOENT, "tracepoint %s:%s has no field '%s'", category, name,
			   field);
}
