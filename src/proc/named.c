#include "proc/named.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "proc/task.h"

static bool has_name(pid_t pid, const char *name)
{
	char text[PATH_MAX];

	fsc_task_comm(pid, text, sizeof(text));
	if (!strcmp(text, name))
		return true;
	return fsc_task_exe(pid, text) && !strcmp(fsc_str_base(text), name);
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
