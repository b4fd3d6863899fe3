/* The files behind proc/spaces.h: each opened once. */
#ifndef FSC_PROC_FILES_H
#define FSC_PROC_FILES_H

#include "base/map.h"
#include "base/vec.h"
#include "proc/spaces.h"

struct fsc_files {
	struct fsc_vec all;   /* struct fsc_space_file * */
	struct fsc_map index; /* device, inode to number + 1 */
	int vdso;	      /* descriptor of a copy, -1: none yet */
};

void fsc_files_init(struct fsc_files *f);
void fsc_files_release(struct fsc_files *f);
/* As fsc_spaces_file(). */
int fsc_files_get(struct fsc_files *f, pid_t pid, const struct fsc_mapping *m,
		  const struct fsc_space_file **ret, struct fsc_err *err);

#endif
