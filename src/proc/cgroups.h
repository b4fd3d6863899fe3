/* Control groups by number and by path. */
#ifndef FSC_PROC_CGROUPS_H
#define FSC_PROC_CGROUPS_H

#include <stdint.h>

#include "base/err.h"

struct fsc_cgroups;

struct fsc_cgroups *fsc_cgroups_new(void);
void fsc_cgroups_free(struct fsc_cgroups *c);
/* The path below the cgroup mount of a cgroup's number, NULL if there is none (any more). Owned by
 * c; reads the tree when it meets a number it does not know. */
const char *fsc_cgroups_path(struct fsc_cgroups *c, uint64_t id);
/* Number and depth of the cgroup at path: absolute in the file system, or below the cgroup mount.
 */
int fsc_cgroup_find(const char *path, uint64_t *ret_id, uint32_t *ret_level, struct fsc_err *err);

#endif
