/* The machine as the compiler of scripts sees it (lang/world.h): what probes match, what functions
 * take, what types look like, where symbols are. Files are read when the first question about
 * them is asked, so that a script that needs nothing costs nothing. */
#ifndef FSC_WORLD_MACHINE_H
#define FSC_WORLD_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "lang/world.h"

struct fsc_machine;

struct fsc_machine_opts {
	const pid_t *pids; /* -p; borrowed */
	size_t n_pids;
	const char *command; /* program of -c that is about to be run, or NULL; borrowed */
	bool unsafe;	     /* --unsafe */
};

/* The caller owns *ret, which must outlive every plan made with its world. */
int fsc_machine_new(const struct fsc_machine_opts *opts, struct fsc_machine **ret,
		    struct fsc_err *err);
void fsc_machine_free(struct fsc_machine *m);
void fsc_machine_freep(struct fsc_machine **m);
/* Owned by m. */
const struct fsc_world *fsc_machine_world(struct fsc_machine *m);

/* Places that matched but cannot be probed, and why: struct fsc_skipped, of every fsc_targets that
 * the points refer to. Calls fn for each. */
void fsc_machine_skipped(const struct fsc_machine *m,
			 void (*fn)(void *arg, const char *name, const char *why), void *arg);

/* Appends a line for each probe that the pattern matches, sorted by kind: "kprobe:vfs_read"; NULL:
 * all that the kernel has, or with -p what the process has. verbose: with the names and types of
 * their arguments. A pattern of a type ("struct task_*") lists types; verbose with their members. 0
 * lines is no error. */
int fsc_machine_list(struct fsc_machine *m, const char *pattern, bool verbose, struct fsc_buf *b,
		     struct fsc_err *err);

#endif
