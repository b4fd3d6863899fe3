/* A process's memory map: which file lies where. */
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
/* The same from text, which is changed; lines that are no mappings are passed over. */
int fsc_maps_parse(char *text, bool exec_only, struct fsc_vec *ret, struct fsc_err *err);

/* Appends a copy of m. */
int fsc_maps_copy(struct fsc_vec *maps, const struct fsc_mapping *m, struct fsc_err *err);
/* For mappings that are ordered and do not overlap. The one around addr, NULL if there is none. */
const struct fsc_mapping *fsc_maps_find(const struct fsc_vec *maps, uint64_t addr);
/* Puts a copy of m, which must not be empty, to its place; what lay there is cut or taken out. */
int fsc_maps_insert(struct fsc_vec *maps, const struct fsc_mapping *m, struct fsc_err *err);

#endif
