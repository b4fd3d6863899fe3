/* What /proc says about one process or thread. */
#ifndef FSC_PROC_TASK_H
#define FSC_PROC_TASK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A file of its folder in /proc, cut to size - 1 bytes and ended by a NUL; "" if it cannot be read.
 */
void fsc_task_read(pid_t pid, const char *file, char *text, size_t size);
/* Its command name, cut to size; "" if it has exited. */
void fsc_task_comm(pid_t pid, char *comm, size_t size);
/* The path of its program. False, and "", for kernel threads and where it cannot be read. */
bool fsc_task_exe(pid_t pid, char exe[PATH_MAX]);
/* The last number of a line of its status file, such as "NSpid:", which lists the outermost pid
 * namespace first. 0: unknown. */
pid_t fsc_task_status(pid_t pid, const char *field);
/* Whether the whole process has exited, also if its parent has not waited for it yet. Needs no
 * permission. */
bool fsc_task_has_exited(pid_t pid);
/* Whether the task itself has exited and is only listed still: a zombie, or the main thread of a
 * process whose other threads go on. */
bool fsc_task_is_zombie(pid_t pid);
/* Its parent, and its start in clock ticks since boot. */
bool fsc_task_stat(pid_t pid, pid_t *ret_ppid, uint64_t *ret_start);

#endif
