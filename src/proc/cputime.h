/* CPU time of processes and of the whole machine. */
#ifndef FSC_PROC_CPUTIME_H
#define FSC_PROC_CPUTIME_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Nanoseconds used so far by a process and its threads, 0 if it cannot be read. */
uint64_t fsc_cputime_process(pid_t pid);
/* Of the children that it has waited for, and theirs, exact to a clock tick. */
uint64_t fsc_cputime_waited(pid_t pid);
/* Nanoseconds that all CPUs were not idle since boot, 0 if unknown. */
uint64_t fsc_cputime_machine(void);

#endif
