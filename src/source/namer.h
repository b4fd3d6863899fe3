/* Names for the addresses of a running session: turns stack IDs into frames. Tracks the mappings of
 * processes, so that addresses can be named after their process has exited. */
#ifndef FSC_SOURCE_NAMER_H
#define FSC_SOURCE_NAMER_H

#include "base/frame.h"
#include "engine/mmaps.h"
#include "engine/session.h"
#include "proc/spaces.h"
#include "sym/symbolize.h"

struct fsc_namer;

struct fsc_namer_opts {
	const pid_t *pids; /* processes that will be traced */
	size_t n_pids;
	bool inlined;	      /* use debug information for inlined functions */
	size_t max_processes; /* that are remembered; 0: default */
	bool external_events; /* the caller passes events on: see fsc_namer_callbacks() */
};

/* The caller owns *ret. */
int fsc_namer_new(const struct fsc_namer_opts *opts, struct fsc_namer **ret, struct fsc_err *err);
void fsc_namer_free(struct fsc_namer *n);
/* Reads what processes have mapped since the last time, and new processes of the session; to be
 * called regularly, and before asking for names. session may be NULL. */
int fsc_namer_tick(struct fsc_namer *n, struct fsc_session *session, struct fsc_err *err);

/* For callers that already receive the events of processes: callbacks that pass them to the namer.
 * Valid as long as the namer. */
struct fsc_mmaps_to fsc_namer_callbacks(struct fsc_namer *n);
/* Reads what a process has mapped, before its addresses arrive. */
int fsc_namer_add_process(struct fsc_namer *n, pid_t pid, struct fsc_err *err);

/* A stack as addresses. */
struct fsc_addrs {
	pid_t pid;
	bool kernel;
	bool returned;	  /* the first address is a return address, too */
	uint64_t time_ns; /* when; 0: not known, the program that the process is now goes first */
	size_t n;
	uint64_t at[FSC_STACK_DEPTH + 1];
};

/* The addresses of a stack ID of the session; caller: the return address of a function just
 * entered, inserted if the kernel left it out; 0: unknown. */
void fsc_namer_stack(const struct fsc_session *session, int32_t id, bool kernel, pid_t pid,
		     uint64_t caller, struct fsc_addrs *ret);
/* Announces addresses; fsc_namer_resolve() then resolves all of them at once. */
int fsc_namer_want(struct fsc_namer *n, const struct fsc_addrs *a, struct fsc_err *err);
int fsc_namer_resolve(struct fsc_namer *n, struct fsc_err *err);
/* Calls fn for each frame, innermost first, without those of the probing machinery. Frames are
 * valid until the namer is freed. */
int fsc_namer_frames(struct fsc_namer *n, const struct fsc_addrs *a,
		     int (*fn)(const struct fsc_frame *f, void *arg, struct fsc_err *err),
		     void *arg, struct fsc_err *err);
/* The frames at one address, innermost first, as fsc_symbolizer_frames() gives them. */
int fsc_namer_at(struct fsc_namer *n, const struct fsc_address *a, const struct fsc_frame **ret,
		 size_t *ret_n, struct fsc_err *err);
struct fsc_spaces *fsc_namer_spaces(struct fsc_namer *n);

#endif
