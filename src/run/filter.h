/* Which processes are targets. */
#ifndef FSC_RUN_FILTER_H
#define FSC_RUN_FILTER_H

#include <stdbool.h>

#include "base/vec.h"

struct fsc_filter {
	struct fsc_vec pids;	/* pid_t */
	struct fsc_vec names;	/* char *: of the process or of its program, globs */
	struct fsc_vec cgroups; /* char *: paths below /sys/fs/cgroup, or container ids */
	struct fsc_vec command; /* char *: argv of the command to start; it and its children */
};

/* It is empty: all processes are targets. */
bool fsc_filter_passes_all(const struct fsc_filter *f);
/* Targets are given by pid alone: none can appear later. */
bool fsc_filter_only_pids(const struct fsc_filter *f);
bool fsc_filter_same(const struct fsc_filter *a, const struct fsc_filter *b);
/* The same texts (char *) in the same order. */
bool fsc_filter_same_texts(const struct fsc_vec *a, const struct fsc_vec *b);

#endif
