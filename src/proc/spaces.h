/* The address spaces of processes, running or exited: which file was mapped where. Filled from
 * /proc/PID/maps and perf's mmap, fork, exec and exit records. Files are opened once and stay open,
 * so that code can still be read after the process has exited. */
#ifndef FSC_PROC_SPACES_H
#define FSC_PROC_SPACES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "elf/elf.h"
#include "proc/maps.h"

struct fsc_spaces;

/* The caller owns *ret. At most max processes are kept (0: 65536); beyond that those that exited
 * longest ago are dropped. */
int fsc_spaces_new(size_t max, struct fsc_spaces **ret, struct fsc_err *err);
void fsc_spaces_free(struct fsc_spaces *s);
void fsc_spaces_freep(struct fsc_spaces **s);

/* Adds the executable mappings of a running process. Known mappings that do not overlap stay:
 * they may have been unmapped, but samples from then still refer to them. -ESRCH for a process that
 * does not run; -EACCES without permission. */
int fsc_spaces_read(struct fsc_spaces *s, pid_t pid, struct fsc_err *err);
/* One executable mapping from perf's MMAP2 record. Mappings without a name get "[anon]", those
 * of the kernel keep theirs ("[vdso]", "[uprobes]"). */
int fsc_spaces_mmap(struct fsc_spaces *s, pid_t pid, uint64_t start, uint64_t len, uint64_t offset,
		    dev_t dev, ino_t ino, const char *path, struct fsc_err *err);
/* The child starts with its parent's mappings. A new thread (parent == child) does nothing. */
int fsc_spaces_fork(struct fsc_spaces *s, pid_t parent, pid_t child, struct fsc_err *err);
/* A new program starts without mappings. Those of the previous program are still found, after
 * the new ones. */
int fsc_spaces_exec(struct fsc_spaces *s, pid_t pid, struct fsc_err *err);
/* When what is told from now on happened (CLOCK_MONOTONIC). */
void fsc_spaces_at(struct fsc_spaces *s, uint64_t time_ns);
/* The process has exited; its mappings are kept while there is room. */
void fsc_spaces_exit(struct fsc_spaces *s, pid_t pid);

/* Whether the process is known. */
bool fsc_spaces_known(const struct fsc_spaces *s, pid_t pid);
/* The mapping around addr, of the newest program that has one there; NULL if none. Valid until
 * the next change. */
const struct fsc_mapping *fsc_spaces_find(const struct fsc_spaces *s, pid_t pid, uint64_t addr);
/* The same, first in the program that the process was at that time; 0: now. */
const struct fsc_mapping *fsc_spaces_find_at(const struct fsc_spaces *s, pid_t pid, uint64_t addr,
					     uint64_t time_ns);
/* The mappings of the program that the process was at that time (0: the current or last one):
 * sorted, without overlaps. Valid until the next change. */
const struct fsc_mapping *fsc_spaces_all(const struct fsc_spaces *s, pid_t pid, uint64_t time_ns,
					 size_t *ret_n);

/* A file that is or was mapped. */
struct fsc_space_file {
	char *name;	     /* as the process sees it */
	struct fsc_elf *elf; /* NULL where it cannot be opened, or is not ELF */
	uint32_t number;     /* index from 0, constant while the fsc_spaces exists */
};

/* The file behind a mapping of pid, owned by s; NULL for memory without a file (the vdso has one)
 * and where no memory is left, which is the only error. Opened at the first call, once for each
 * device and inode; a file that was replaced since it was mapped has no elf, unless the process
 * still runs. */
int fsc_spaces_file(struct fsc_spaces *s, pid_t pid, const struct fsc_mapping *m,
		    const struct fsc_space_file **ret, struct fsc_err *err);
/* Opens all files a process has mapped, while it runs; those of the program at that time. */
int fsc_spaces_hold(struct fsc_spaces *s, pid_t pid, uint64_t time_ns, struct fsc_err *err);

#endif
