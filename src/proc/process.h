/* The files of a running process, by paths that open exactly these files here. */
#ifndef FSC_PROC_PROCESS_H
#define FSC_PROC_PROCESS_H

#include "base/vec.h"
#include "proc/maps.h"

/* The path of file name inside root, with links resolved inside root. NULL with errno if it is
 * not there. Caller frees. */
char *fsc_root_path(const char *root, const char *name);

/* "" if the process sees the same files under the same names as we do, "/proc/PID/root" otherwise.
 * */
void fsc_process_root(pid_t pid, char root[32]);
/* The distinct files a process has mapped executable, the program first: struct fsc_mapping.
 * Caller releases with fsc_maps_release. */
int fsc_process_files(pid_t pid, struct fsc_vec *ret, struct fsc_err *err);
/* The part of a mapped file's path that the process itself sees: maps shows a chroot's whole path.
 * root: as of fsc_process_root(). */
const char *fsc_process_path(const char *root, const char *path);
/* Appends the file behind a mapping, named as the process sees it. 1: done; 0: it cannot be
 * reached; negative: failed. */
int fsc_process_locate(pid_t pid, const char *root, const struct fsc_mapping *m,
		       struct fsc_vec *ret, struct fsc_err *err);
/* Length of a mapping's path without " (deleted)". */
size_t fsc_mapping_length(const struct fsc_mapping *m);

#endif
