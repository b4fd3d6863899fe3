#include "proc/named.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_name(pid_t pid, const char *name)
{
	char path[64], text[PATH_MAX] = "", *base;
	ssize_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f && fgets(text, sizeof(text), f))
		text[strcspn(text, "\n")] = '\0';
	if (f)
		fclose(f);
	if (!strcmp(text, name))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	base = strrchr(text, '/');
	return base && !strcmp(base + 1, name);
}

int fsc_processes_named(const char *name, int (*fn)(pid_t pid, void *arg, struct fsc_err *err),
			void *arg, struct fsc_err *err)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int rc = 0;

	if (!d)
		return fsc_err_sys(err, errno, "cannot read /proc");
	while (!rc && (e = readdir(d))) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (pid > 0 && pid != getpid() && has_name(pid, name))
			rc = fn(pid, arg, err);
	}
	closedir(d);
	return rc;
}
