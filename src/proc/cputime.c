/* Processes by their CPU clock, the machine by /proc/stat. */
#include "proc/cputime.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

uint64_t fsc_cputime_process(pid_t pid)
{
	clockid_t id;
	struct timespec ts;

	if (clock_getcpuclockid(pid, &id) || clock_gettime(id, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t fsc_cputime_machine(void)
{
	FSC_AUTO(fsc_fclosep) FILE *f = fopen("/proc/stat", "re");
	unsigned long long user, nice, sys, idle, iowait, irq, softirq;

	if (!f || fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &sys, &idle,
			 &iowait, &irq, &softirq) != 7)
		return 0;
	return (user + nice + sys + irq + softirq) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}
