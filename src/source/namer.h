/* Names for the addresses of a running session: stacks by their ids become frames, once, here.
 * Keeps what is known of processes up to date, so that one that has ended can still be named. */
#ifndef FSC_SOURCE_NAMER_H
#define FSC_SOURCE_NAMER_H

#include "base/frame.h"
#include "engine/mmaps.h"
#include "engine/session.h"
#include "proc/spaces.h"

struct fsc_namer;

struct fsc_namer_opts {
	const pid_t *pids; /* processes that will be met */
	size_t n_pids;
	bool inlined;	      /* ask debug information for inlined functions */
	size_t max_processes; /* that are remembered; 0: many */
	bool told;	      /* somebody else listens: see fsc_namer_told() */
};

/* The caller owns *ret. */
int fsc_namer_new(const struct fsc_namer_opts *opts, struct fsc_namer **ret, struct fsc_err *err);
void fsc_namer_free(struct fsc_namer *n);
/* Takes in what processes have mapped since the last time, and the new ones of the session; to be
 * called every so often, and before names are asked for. session may be NULL. */
int fsc_namer_tick(struct fsc_namer *n, struct fsc_session *session, struct fsc_err *err);

/* For whoever listens to what processes do anyway: the namer is to be told of it, too. Valid as
 * long as the namer. */
struct fsc_mmaps_to fsc_namer_told(struct fsc_namer *n);
/* Takes in what a process has mapped, before its addresses come. */
int fsc_namer_met(struct fsc_namer *n, pid_t pid, struct fsc_err *err);

/* A stack as addresses. */
struct fsc_addrs {
	pid_t pid;
	bool kernel;
	bool returned; /* the first address is one that was returned to, too */
	size_t n;
	uint64_t at[FSC_STACK_DEPTH + 1];
};

/* The addresses behind a stack id of the session; caller: where a function just entered returns to,
 * put in where the kernel has left it out; 0: not known. */
void fsc_namer_stack(const struct fsc_session *session, int32_t id, bool kernel, pid_t pid,
		     uint64_t caller, struct fsc_addrs *ret);
/* Says that they will be asked for; fsc_namer_resolve() then does what can be done for many at
 * once. */
int fsc_namer_want(struct fsc_namer *n, const struct fsc_addrs *a, struct fsc_err *err);
int fsc_namer_resolve(struct fsc_namer *n, struct fsc_err *err);
/* Calls fn for each frame, innermost first, which stays as it is until the namer is freed; without
 * those of the machinery that brought us there. */
int fsc_namer_frames(struct fsc_namer *n, const struct fsc_addrs *a,
		     int (*fn)(const struct fsc_frame *f, void *arg, struct fsc_err *err),
		     void *arg, struct fsc_err *err);
struct fsc_spaces *fsc_namer_spaces(struct fsc_namer *n);

#endif
