/* Which package a file belongs to, to say what to install for its symbols: dpkg's lists of files,
 * read only when there is something to say. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/slurp.h"
#include "elf/elf.h"

#define LISTS "/var/lib/dpkg/info"

/* Whether a line of the list is the path, which may stand there with /usr or without. */
static bool lists_path(const char *text, const char *path)
{
	const char *merged = strncmp(path, "/usr/", 5) ? path : path + 4;
	size_t n = strlen(merged);

	for (const char *at = text; (at = strstr(at, merged)); at++) {
		const char *line = at - text >= 4 && !strncmp(at - 4, "/usr", 4) ? at - 4 : at;

		if ((at[n] == '\n' || !at[n]) && (line == text || line[-1] == '\n'))
			return true;
	}
	return false;
}

/* "libc6:amd64.list" is of the package libc6. */
static bool take_name(const char *file, char *buf, size_t size)
{
	size_t n = strlen(file);

	if (n < 6 || strcmp(file + n - 5, ".list"))
		return false;
	n = strcspn(file, ":");
	n = n < strlen(file) ? n : strlen(file) - 5;
	return snprintf(buf, size, "%.*s", (int)n, file) < (int)size;
}

bool fsc_elf_package(const char *path, char *buf, size_t size)
{
	DIR *d = path[0] == '/' ? opendir(LISTS) : NULL;
	struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d))) {
		FSC_AUTO(fsc_freep) char *text = NULL;
		size_t n;

		if (take_name(e->d_name, buf, size) &&
		    !fsc_slurp(dirfd(d), e->d_name, &text, &n, NULL))
			found = lists_path(text, path);
	}
	if (d)
		closedir(d);
	return found;
}
