/* Processes by their CPU clock, the machine by /proc/stat. */
#include "proc/cputime.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/task.h"

uint64_t fsc_cputime_process(pid_t pid)
{
	clockid_t id;
	struct timespec ts;

	if (clock_getcpuclockid(pid, &id) || clock_gettime(id, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t tick_ns(void)
{
	return 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* Of the children that the process has waited for, and theirs. */
static uint64_t waited_for(pid_t pid)
{
	unsigned long long user, sys;
	char text[1024];
	const char *at;

	fsc_task_read(pid, "stat", text, sizeof(text));
	at = strrchr(text, ')'); /* the command name may contain anything */
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %llu %llu",
			  &user, &sys) != 2)
		return 0;
	return (user + sys) * tick_ns();
}

/* How deep to look, and at how many processes: it is read again and again while they run. */
enum { DEEPEST = 16, MOST = 1024 };

static uint64_t family_time(pid_t pid, unsigned depth, unsigned *left);

/* Kernels without such lists have no living children here. */
static uint64_t children_time(pid_t pid, const char *thread, unsigned depth, unsigned *left)
{
	FSC_AUTO(fsc_fclosep) FILE *f = NULL;
	uint64_t sum = 0;
	char path[64];
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", (int)pid, thread);
	f = fopen(path, "re");
	while (f && *left && fscanf(f, "%d", &child) == 1)
		sum += family_time(child, depth + 1, left);
	return sum;
}

static uint64_t family_time(pid_t pid, unsigned depth, unsigned *left)
{
	uint64_t sum = fsc_cputime_process(pid) + waited_for(pid);
	struct dirent *thread;
	char path[64];
	DIR *d;

	*left -= 1;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = depth < DEEPEST ? opendir(path) : NULL;
	while (d && (thread = readdir(d)))
		if (thread->d_name[0] != '.')
			sum += children_time(pid, thread->d_name, depth, left);
	if (d)
		closedir(d);
	return sum;
}

uint64_t fsc_cputime_family(pid_t pid)
{
	unsigned left = MOST;

	return family_time(pid, 0, &left);
}

uint64_t fsc_cputime_machine(void)
{
	FSC_AUTO(fsc_fclosep) FILE *f = fopen("/proc/stat", "re");
	unsigned long long user, nice, sys, idle, iowait, irq, softirq;

	if (!f || fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &sys, &idle,
			 &iowait, &irq, &softirq) != 7)
		return 0;
	return (user + nice + sys + irq + softirq) * tick_ns();
}
