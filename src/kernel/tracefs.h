/* tracefs: the list of tracepoints and of functions that ftrace can hook. Where it is not mounted,
 * a private mount is made that no other process sees and that ends with ours. */
#ifndef FSC_KERNEL_TRACEFS_H
#define FSC_KERNEL_TRACEFS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

/* A directory descriptor of tracefs; the caller closes it. Says what is missing on failure. */
int fsc_tracefs_open(struct fsc_err *err);
/* Whether it is mounted for everyone (and not only reachable by a private mount). */
bool fsc_tracefs_mounted(void);

struct fsc_tracepoint {
	char *category, *name;
};
/* Appends struct fsc_tracepoint for every event of every category, sorted; fsc_tracepoints_release
 * frees. Synthetic categories of tracefs (ftrace) that cannot be attached to are left out. */
int fsc_tracepoints_list(int tracefs, struct fsc_vec *ret, struct fsc_err *err);
void fsc_tracepoints_release(struct fsc_vec *tps);
/* The event's id for perf_event_open, -errno if it has none. */
int fsc_tracepoint_id(int tracefs, const char *category, const char *name, struct fsc_err *err);

/* Puts every name of available_filter_functions into the set as a key "name" (value 1); -ENOENT
 * where the kernel has no ftrace, -EPERM where it is locked down. */
int fsc_tracefs_filter_functions(int tracefs, struct fsc_map *ret, struct fsc_err *err);
/* "[none] integrity confidentiality": the one in brackets holds. The caller frees it; -ENOENT where
 * the kernel has no lockdown. */
int fsc_lockdown_read(char **ret);
/* The text of a file of debugfs, by a private mount where it is not mounted; the caller frees it. 0
 * or -errno. */
int fsc_debugfs_read(const char *path, char **ret);
/* Likewise the kprobe blacklist (debugfs kprobes/blacklist, private mount too); -ENOENT if
 * unreadable. */
int fsc_kprobe_blacklist(struct fsc_map *ret, struct fsc_err *err);

#endif
