/* A process's memory map. */
#ifndef FSC_PROC_MAPS_H
#define FSC_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

struct fsc_mapping {
	uint64_t start, end, offset;
	dev_t dev;
	ino_t ino;
	bool exec;
	char *path; /* as the kernel names it, "" where there is none; may end in " (deleted)" */
};

/* Appends struct fsc_mapping for each line of /proc/PID/maps, in the order of addresses; exec_only:
 * only the executable ones. -ESRCH for a pid that does not run; -EACCES for one we may not look at.
 * Caller releases with fsc_maps_release. */
int fsc_maps_read(pid_t pid, bool exec_only, struct fsc_vec *ret, struct fsc_err *err);
void fsc_maps_release(struct fsc_vec *maps);
/* Why /proc refuses to show a process, with what to try; returns -code. */
int fsc_maps_denied(pid_t pid, int code, struct fsc_err *err);
/* The same from text, which is modified; skips lines that are not mappings. */
int fsc_maps_parse(char *text, bool exec_only, struct fsc_vec *ret, struct fsc_err *err);

/* Appends a copy of m. */
int fsc_maps_copy(struct fsc_vec *maps, const struct fsc_mapping *m, struct fsc_err *err);
/* The mapping around addr, NULL if none; maps must be sorted and not overlap. */
const struct fsc_mapping *fsc_maps_find(const struct fsc_vec *maps, uint64_t addr);
/* Inserts a copy of m, which must not be empty; trims or removes what it overlaps. */
int fsc_maps_insert(struct fsc_vec *maps, const struct fsc_mapping *m, struct fsc_err *err);

#endif
