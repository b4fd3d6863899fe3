/* Which processes a monitor is meant to watch, as far as the kernel has told: those that run, those
 * that start, and what they map. A process is judged once and again at each exec; children of a
 * wanted one are wanted where the configuration names a command. */
#ifndef FSC_RUN_PROCESSES_H
#define FSC_RUN_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "engine/mmaps.h"
#include "run/filter.h"
#include "wire/config.h"

struct fsc_processes;

/* Whom to tell; a failure ends the reading and is returned. */
struct fsc_processes_to {
	void *arg;
	/* A process has mapped a file executable that nobody was told of before. */
	int (*file)(void *arg, pid_t pid, const char *path, struct fsc_err *err);
	/* The verdict on a process has come, or has changed. */
	int (*judged)(void *arg, pid_t pid, bool wanted, struct fsc_err *err);
	/* A process that was judged is gone, with all its threads. */
	int (*gone)(void *arg, pid_t pid, struct fsc_err *err);
	/* A process is another program from now on. NULL: of no interest. */
	int (*exec)(void *arg, pid_t pid, struct fsc_err *err);
	/* Told of everything that the kernel tells, first and as it is. All NULL: nobody. */
	struct fsc_mmaps_to also;
};

/* targets must outlive it. The caller owns *ret. */
int fsc_processes_new(const struct fsc_filter *targets, struct fsc_processes **ret,
		      struct fsc_err *err);
void fsc_processes_free(struct fsc_processes *p);
/* Other targets from now on: everything is judged anew. */
void fsc_processes_retarget(struct fsc_processes *p, const struct fsc_filter *targets);
/* The same targets, kept elsewhere from now on. */
void fsc_processes_use(struct fsc_processes *p, const struct fsc_filter *targets);
/* Files are told of again, as if nobody had been. */
void fsc_processes_retell(struct fsc_processes *p);
/* The command that was started: it and its descendants are wanted. */
int fsc_processes_command(struct fsc_processes *p, pid_t pid, struct fsc_err *err);
/* Looks at every process that runs. */
int fsc_processes_scan(struct fsc_processes *p, const struct fsc_processes_to *to,
		       struct fsc_err *err);
/* Takes in what has happened since the last time. last: whoever is in doubt is judged now. */
int fsc_processes_read(struct fsc_processes *p, bool last, const struct fsc_processes_to *to,
		       struct fsc_err *err);
/* Whether the kernel tells what processes do; otherwise only scans find new ones. */
bool fsc_processes_told(const struct fsc_processes *p);
/* A process that made a call: judged now if it was not yet. */
int fsc_processes_met(struct fsc_processes *p, pid_t pid, const struct fsc_processes_to *to,
		      struct fsc_err *err);
/* Whether all processes are wanted: nobody needs to be judged. */
bool fsc_processes_all(const struct fsc_processes *p);
/* Whether the process is wanted, as far as is known. */
bool fsc_processes_wanted(const struct fsc_processes *p, pid_t pid);
/* 1: it is wanted; 0: it is not; -1: nobody knows yet. Also of one that ended lately. */
int fsc_processes_verdict(const struct fsc_processes *p, pid_t pid);
/* Whether it is known not to be; also of one that ended lately. */
bool fsc_processes_unwanted(const struct fsc_processes *p, pid_t pid);
/* Its name; "" if nothing is known. */
const char *fsc_processes_comm(const struct fsc_processes *p, pid_t pid);
/* How many wanted ones run; ever: and have run. */
size_t fsc_processes_count(const struct fsc_processes *p, bool ever);
/* Whether processes were asked for by number, and all that were found have exited. */
bool fsc_processes_all_exited(const struct fsc_processes *p);
/* CPU time, in ns, that wanted processes have used since they were first seen; of one that ended,
 * what was seen last. */
uint64_t fsc_processes_cpu(struct fsc_processes *p);
/* Calls fn for each process that was judged. */
int fsc_processes_each(const struct fsc_processes *p,
		       int (*fn)(pid_t pid, bool wanted, void *arg, struct fsc_err *err), void *arg,
		       struct fsc_err *err);

#endif
