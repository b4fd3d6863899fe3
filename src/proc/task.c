#include "proc/task.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

void fsc_task_read(pid_t pid, const char *file, char *text, size_t size)
{
	FSC_AUTO(fsc_closep) int fd = -1;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
}

void fsc_task_comm(pid_t pid, char *comm, size_t size)
{
	size_t n;

	fsc_task_read(pid, "comm", comm, size);
	n = strlen(comm);
	if (n && comm[n - 1] == '\n')
		comm[n - 1] = '\0';
}

bool fsc_task_exe(pid_t pid, char exe[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	n = readlink(link, exe, PATH_MAX - 1);
	exe[n > 0 ? n : 0] = '\0';
	return n > 0;
}

pid_t fsc_task_status(pid_t pid, const char *field)
{
	FSC_AUTO(fsc_fclosep) FILE *f = NULL;
	char text[256];

	snprintf(text, sizeof(text), "/proc/%d/status", (int)pid);
	f = fopen(text, "re");
	while (f && fgets(text, sizeof(text), f)) {
		const char *last = strrchr(text, '\t');

		if (!strncmp(text, field, strlen(field)) && last)
			return (pid_t)strtol(last, NULL, 10);
	}
	return 0;
}

/* The descriptor is readable once the last thread has exited. */
bool fsc_task_has_exited(pid_t pid)
{
	FSC_AUTO(fsc_closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (fd < 0)
		return kill(pid, 0) && errno == ESRCH;
	return poll(&p, 1, 0) > 0;
}

bool fsc_task_is_zombie(pid_t pid)
{
	char text[1024];
	const char *at;

	fsc_task_read(pid, "stat", text, sizeof(text));
	at = strrchr(text, ')');
	return at && (!strncmp(at, ") Z", 3) || !strncmp(at, ") X", 3));
}

bool fsc_task_stat(pid_t pid, pid_t *ret_ppid, uint64_t *ret_start)
{
	char text[1024];
	const char *at;

	fsc_task_read(pid, "stat", text, sizeof(text));
	at = strrchr(text, ')'); /* the command name may contain anything */
	return at && sscanf(at + 1,
			    " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			    "%*d %*d %" SCNu64,
			    ret_ppid, ret_start) == 2;
}
