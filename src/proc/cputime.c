/* Processes by their CPU clock, the machine by /proc/stat. */
#include "proc/cputime.h"

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

uint64_t fsc_cputime_waited(pid_t pid)
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

uint64_t fsc_cputime_machine(void)
{
	FSC_AUTO(fsc_fclosep) FILE *f = fopen("/proc/stat", "re");
	unsigned long long user, nice, sys, idle, iowait, irq, softirq;

	if (!f || fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &sys, &idle,
			 &iowait, &irq, &softirq) != 7)
		return 0;
	return (user + nice + sys + irq + softirq) * tick_ns();
}
