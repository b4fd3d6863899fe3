/* The address spaces of processes, running or gone: which file lay where. Filled from
 * /proc/PID/maps and from the records that perf sends of mmap, fork, exec and exit; asked for the
 * file behind an address, which is opened once and stays open, so that a process's code can still
 * be read when the process has ended. */
#ifndef FSC_PROC_SPACES_H
#define FSC_PROC_SPACES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "elf/elf.h"
#include "proc/maps.h"

struct fsc_spaces;

/* The caller owns *ret. At most max processes are remembered (0: 65536); beyond that those that
 * ended longest ago are forgotten. */
int fsc_spaces_new(size_t max, struct fsc_spaces **ret, struct fsc_err *err);
void fsc_spaces_free(struct fsc_spaces *s);
void fsc_spaces_freep(struct fsc_spaces **s);

/* Takes in what a running process has mapped executable now. What was known before and does not
 * overlap stays: it may have been unmapped since, and addresses from then are still asked for.
 * -ESRCH for a process that does not run; -EACCES for one we may not look at. */
int fsc_spaces_read(struct fsc_spaces *s, pid_t pid, struct fsc_err *err);
/* One executable mapping, as perf's MMAP2 record tells it. Mappings without a name get "[anon]",
 * those of the kernel keep theirs ("[vdso]", "[uprobes]"). */
int fsc_spaces_mmap(struct fsc_spaces *s, pid_t pid, uint64_t start, uint64_t len, uint64_t offset,
		    dev_t dev, ino_t ino, const char *path, struct fsc_err *err);
/* The child begins with its parent's mappings. A fork of threads (parent == child) does nothing. */
int fsc_spaces_fork(struct fsc_spaces *s, pid_t parent, pid_t child, struct fsc_err *err);
/* A new program: nothing is mapped. The mappings of the one before are still found, after the new
 * ones. */
int fsc_spaces_exec(struct fsc_spaces *s, pid_t pid, struct fsc_err *err);
/* The process is gone; what it had mapped is kept while there is room. */
void fsc_spaces_exit(struct fsc_spaces *s, pid_t pid);

/* Whether anything is known of the process. */
bool fsc_spaces_known(const struct fsc_spaces *s, pid_t pid);
/* The mapping around addr, of the newest program that has one there; NULL if there is none. Valid
 * until the next change. */
const struct fsc_mapping *fsc_spaces_find(const struct fsc_spaces *s, pid_t pid, uint64_t addr);
/* The mappings of the program that runs now, or ran last: ordered, without overlaps. Valid until
 * the next change. */
const struct fsc_mapping *fsc_spaces_all(const struct fsc_spaces *s, pid_t pid, size_t *ret_n);

/* A file that is or was mapped. */
struct fsc_space_file {
	char *name;	     /* as the process sees it */
	struct fsc_elf *elf; /* NULL where it cannot be opened, or is not ELF */
	uint32_t number;     /* counts from 0, the same as long as the fsc_spaces lives */
};

/* The file behind a mapping of pid, owned by s; NULL for memory without a file (the vdso has one)
 * and where no memory is left, which is the only error. Opened at the first call, once for each
 * device and inode; a file that was replaced since it was mapped has no elf, unless the process
 * still runs. */
int fsc_spaces_file(struct fsc_spaces *s, pid_t pid, const struct fsc_mapping *m,
		    const struct fsc_space_file **ret, struct fsc_err *err);
/* Opens all files a process has mapped, while it runs. */
int fsc_spaces_hold(struct fsc_spaces *s, pid_t pid, struct fsc_err *err);

#endif
