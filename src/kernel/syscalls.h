/* System calls by the names tracefs gives them. */
#ifndef FSC_KERNEL_SYSCALLS_H
#define FSC_KERNEL_SYSCALLS_H

/* The number of the call that event "sys_enter_NAME" or "sys_exit_NAME" stands for, -1 if unknown.
 */
int fsc_syscall_of_event(const char *event);

#endif
