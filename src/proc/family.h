/* CPU time of processes with their descendants, read again and again while they run. What is alive
 * is found by the kernel's lists of children, which takes milliseconds where there are many, and is
 * done only now and then; between that the clocks of the known ones are read. */
#ifndef FSC_PROC_FAMILY_H
#define FSC_PROC_FAMILY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct fsc_family_member {
	pid_t pid;
	uint64_t cpu; /* ns */
};

struct fsc_family {
	struct fsc_vec roots;	/* pid_t */
	struct fsc_vec members; /* struct fsc_family_member, found by the last walk, by pid */
	uint64_t waited;	/* of children that members had waited for by then */
	uint64_t owed; /* of members that have gone, and whoever waits for them will show */
	uint64_t walked_ns, took_ns, total;
};

#define FSC_FAMILY_INIT                                                                            \
	((struct fsc_family){.roots = FSC_VEC_INIT(pid_t),                                         \
			     .members = FSC_VEC_INIT(struct fsc_family_member)})

void fsc_family_release(struct fsc_family *f);
/* Adds a process, whose descendants belong to it, too. -1: out of memory. */
int fsc_family_add(struct fsc_family *f, pid_t root);
/* Nanoseconds used by all of them since they began. It never falls: what a child used that nobody
 * waited for stays counted. */
uint64_t fsc_family_cpu(struct fsc_family *f);

#endif
