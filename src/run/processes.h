/* Which processes are targets of a monitor: those running, those that start, and the files they
 * map. A process is matched once and again at each exec; descendants of a command are targets, too.
 */
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

/* Callbacks; a failure ends the reading and is returned. */
struct fsc_processes_to {
	void *arg;
	/* Whether a file that a process maps matters, as the kernel reports it; program: it is the
	 * program of the process. A process that maps no such file gets a verdict only if its name,
	 * its pid or the command makes it a target, or if it is asked for. NULL: all files matter.
	 */
	bool (*matters)(void *arg, dev_t dev, ino_t ino, const char *path, bool program);
	/* A process has mapped an executable file not reported before. */
	int (*file)(void *arg, pid_t pid, const char *path, struct fsc_err *err);
	/* The verdict on a process is known, or has changed. */
	int (*judged)(void *arg, pid_t pid, bool wanted, struct fsc_err *err);
	/* A process with a verdict has exited, with all its threads. */
	int (*exited)(void *arg, pid_t pid, struct fsc_err *err);
	/* A process has called exec. May be NULL. */
	int (*exec)(void *arg, pid_t pid, struct fsc_err *err);
	/* Gets every record first, unfiltered. Each may be NULL. */
	struct fsc_mmaps_to also;
};

/* targets must outlive it. The caller owns *ret. */
int fsc_processes_new(const struct fsc_filter *targets, struct fsc_processes **ret,
		      struct fsc_err *err);
void fsc_processes_free(struct fsc_processes *p);
/* Sets other targets: all verdicts are made again. */
void fsc_processes_retarget(struct fsc_processes *p, const struct fsc_filter *targets);
/* The same targets at another address. */
void fsc_processes_use(struct fsc_processes *p, const struct fsc_filter *targets);
/* Reports all files again. */
void fsc_processes_replay(struct fsc_processes *p);
/* The command that was started: it and its descendants are wanted. */
int fsc_processes_command(struct fsc_processes *p, pid_t pid, struct fsc_err *err);
/* Checks every running process. */
int fsc_processes_scan(struct fsc_processes *p, const struct fsc_processes_to *to,
		       struct fsc_err *err);
/* Like a scan, but only for about so many ns: the next call continues. *ret_done: all have been
 * checked. */
int fsc_processes_scan_part(struct fsc_processes *p, uint64_t ns, const struct fsc_processes_to *to,
			    bool *ret_done, struct fsc_err *err);
/* The next part is the first one. */
void fsc_processes_scan_anew(struct fsc_processes *p);
/* Reads pending records. last: pending verdicts are made now. */
int fsc_processes_read(struct fsc_processes *p, bool last, const struct fsc_processes_to *to,
		       struct fsc_err *err);
/* Reads them without looking at them: for one who has no time now, so that none are lost. */
int fsc_processes_pull(struct fsc_processes *p, struct fsc_err *err);
/* Whether the kernel reports new processes; otherwise only scans find them. */
bool fsc_processes_has_events(const struct fsc_processes *p);
/* A process that made a call: gets its verdict now if it is pending. */
int fsc_processes_add(struct fsc_processes *p, pid_t pid, const struct fsc_processes_to *to,
		      struct fsc_err *err);
/* Whether all processes are targets: no verdicts are needed. */
bool fsc_processes_all(const struct fsc_processes *p);
/* Whether the process is wanted, as far as is known. */
bool fsc_processes_wanted(const struct fsc_processes *p, pid_t pid);
/* 1: a target; 0: not; -1: pending. Also for one that exited recently. */
int fsc_processes_verdict(const struct fsc_processes *p, pid_t pid);
/* Its name; "" if not known. */
const char *fsc_processes_comm(const struct fsc_processes *p, pid_t pid);
/* How many wanted ones run; ever: and have run. */
size_t fsc_processes_count(const struct fsc_processes *p, bool ever);
/* Whether targets are given by pid, and all that were found have exited. */
bool fsc_processes_all_exited(const struct fsc_processes *p);
/* CPU time, in ns, that wanted processes have used since they were first seen; for an exited
 * process, as last read. */
uint64_t fsc_processes_cpu(struct fsc_processes *p);
/* Calls fn for each process with a verdict. */
int fsc_processes_each(const struct fsc_processes *p,
		       int (*fn)(pid_t pid, bool wanted, void *arg, struct fsc_err *err), void *arg,
		       struct fsc_err *err);

#endif
