/* Whose calls count: processes, threads, a command that is run; whose files are meant by short
 * names; and the CPU time they use. */
#ifndef FSC_CMD_WATCHED_H
#define FSC_CMD_WATCHED_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "engine/child.h"

struct fsc_watched {
	struct fsc_vec pids, tids; /* pid_t: what to count; none: all */
	struct fsc_vec owners;	   /* pid_t: whose files to look into */
	struct fsc_vec owners_cpu; /* uint64_t: the CPU time of each, when it was last seen */
	char *const *command;	   /* NULL: none */
	struct fsc_child child;
	bool child_ended;
	int child_status;
	uint64_t child_cpu_ns;
	uint64_t cpu_start, cpu_last;
};

void fsc_watched_init(struct fsc_watched *w, char *const *command);
/* Finds the tasks of -p and -t (lists of texts), and starts the command, held, with the given
 * signal mask. */
int fsc_watched_find(struct fsc_watched *w, const struct fsc_vec *pids, const struct fsc_vec *tids,
		     const sigset_t *mask, struct fsc_err *err);
void fsc_watched_release(struct fsc_watched *w);

/* A descriptor that becomes readable when the process ends, or -errno; the caller closes it. */
int fsc_watched_open(pid_t pid);
/* Whether the process of such a descriptor has ended, though its parent may not have asked for its
 * status yet. Needs no rights over the process, as kill(pid, 0) does. */
bool fsc_watched_ended(int pidfd);
/* A zombie has a number and nothing else: no call of it will ever come. -ESRCH of one, 0 else. */
int fsc_watched_refuse_zombie(pid_t pid, struct fsc_err *err);

/* From now on CPU time counts. */
void fsc_watched_start(struct fsc_watched *w);
/* CPU time used since then, 0 if unknown. A process that is gone leaves its last known value. */
uint64_t fsc_watched_cpu(struct fsc_watched *w);
/* Whether the CPU time is that of the whole machine. */
bool fsc_watched_all(const struct fsc_watched *w);
/* The command has ended: how is noted. */
int fsc_watched_child_ended(struct fsc_watched *w, struct fsc_err *err);
/* Waits so many milliseconds for a command that has not ended yet, and notes it if it does. */
int fsc_watched_await(struct fsc_watched *w, int ms, struct fsc_err *err);
/* Says on stderr how the command ended, or that it goes on. */
void fsc_watched_tell_child(const struct fsc_watched *w);

#endif
