/* What a monitor can call the place of a process: container, pod, cgroup, unit. */
#ifndef FSC_MONITOR_PROCESS_LABELS_H
#define FSC_MONITOR_PROCESS_LABELS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"

enum { FSC_LABELS = 4 };
/* Their names, which are words of the configuration, too; ended by NULL. */
extern const char *const fsc_label_names[FSC_LABELS + 1];

/* Appends the values of those whose bit is set, in the order of the names, each ended by a NUL; ""
 * if it has none. False: it has exited. */
bool fsc_process_labels(pid_t pid, unsigned which, struct fsc_buf *b);

#endif
