/* System calls by the names tracefs gives them. */
#ifndef FSC_KERNEL_SYSCALLS_H
#define FSC_KERNEL_SYSCALLS_H

#include <stdint.h>

/* The number of the call that event "sys_enter_NAME" or "sys_exit_NAME" stands for, -1 if unknown.
 */
int fsc_syscall_of_event(const char *event);
/* The name of a system call, NULL if unknown. */
const char *fsc_syscall_name(int64_t number);

#endif
