/* From a library or program as the user types it to its files. */
#ifndef FSC_PROC_LIBS_H
#define FSC_PROC_LIBS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

/* Whose view of the file system is used. */
struct fsc_libs_scope {
	pid_t pid;	     /* a running process, 0 for none */
	const char *command; /* path of a program about to be run, NULL for none */
};

struct fsc_libs_file {
	char *path; /* openable from here (under /proc/PID/root for another process's view) */
	char *name; /* as the process sees it; used in output */
	char *root; /* "" or "/proc/PID/root" */
};

/* Appends struct fsc_libs_file to ret for `what`:
 *  - contains a '/': that file (relative to here without pid, in the process's root with pid);
 *  - "" : the program itself (pid's executable, or the command);
 *  - else a short name: "c", "libc", "libc.so.6", "crypto", "libcrypto" (the file's base name up
 *    to ".so", with or without "lib"; or the base name, also with less of its version): looked for
 *    in the process's executable mappings (each different file once; the program's own name counts
 *    too), then for a command in LD_LIBRARY_PATH and its DT_RUNPATH/DT_RPATH ($ORIGIN), what it
 *    needs before what else fits, then in /etc/ld.so.cache (this machine's architecture) or, where
 *    that has none, the usual directories, then as a program in PATH.
 * A process's deleted or replaced files are opened through /proc/PID/map_files where possible;
 * their names then end in " (deleted)". Fails with -ENOENT and a hint naming near misses; -ESRCH
 * for a pid that does not run; -EACCES for a file only root could reach. Caller releases with
 * fsc_libs_release. */
int fsc_libs_find(const char *what, const struct fsc_libs_scope *scope, struct fsc_vec *ret,
		  struct fsc_err *err);
/* All files mapped executable by a process, the program first. */
int fsc_libs_mapped(pid_t pid, struct fsc_vec *ret, struct fsc_err *err);
/* The program and the libraries that it loads at start, as far as they are found. */
int fsc_libs_needed(const char *program, struct fsc_vec *ret, struct fsc_err *err);
/* Whether all libraries that the files need are among them, and all can be read. */
bool fsc_libs_complete(const struct fsc_vec *files);
/* Whether the program may fork or exec, judging by the functions that it and its libraries name;
 * true if unknown: a script, a static program, a missing library, or code that is loaded later.
 * Direct system calls are not detected. */
bool fsc_libs_may_fork(const char *program);
void fsc_libs_release(struct fsc_vec *files);
/* The full path of a command as execvp would find it. Caller frees. NULL if there is none (errno
 * ENOENT) or out of memory (ENOMEM). */
char *fsc_libs_which(const char *command);

/* Calls fn for each entry of an ld.so.cache image that fits this machine until it returns non-zero,
 * whose value is returned. Every offset is checked: the file may be hostile. */
int fsc_ldcache_each(const void *data, size_t size,
		     int (*fn)(const char *soname, const char *path, void *arg), void *arg);

#endif
