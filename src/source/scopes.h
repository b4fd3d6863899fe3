/* What instrumented processes measured, as timings: one row per checkpoint, summed over processes
 * and threads unless `by` says otherwise. */
#ifndef FSC_SOURCE_SCOPES_H
#define FSC_SOURCE_SCOPES_H

#include <sys/types.h>

#include "model/latency.h"
#include "source/ticks.h"

struct fsc_scopes;

/* by: FSC_BY_PID, _TID, _COMM. raw: the cost of an empty checkpoint is not subtracted. Takes about
 * 20 ms to measure the clock. The caller owns *ret. */
int fsc_scopes_new(uint32_t by, bool raw, struct fsc_scopes **ret, struct fsc_err *err);
void fsc_scopes_free(struct fsc_scopes *s);

/* Adds a running process; errors as of fsc_chunks_of(). *ret_added: false if it was added before.
 */
int fsc_scopes_add(struct fsc_scopes *s, pid_t pid, bool *ret_added, struct fsc_err *err);
/* Adds what a process left in a file, DIR/funcscope.PID.0; or all such files of a directory that
 * were not added before. */
int fsc_scopes_add_file(struct fsc_scopes *s, const char *path, struct fsc_err *err);
int fsc_scopes_add_directory(struct fsc_scopes *s, const char *path, struct fsc_err *err);
/* Checks whether processes that released their memory have allocated new memory; both count. */
int fsc_scopes_renew(struct fsc_scopes *s, struct fsc_err *err);
/* The process has exited: the next reading of it is the last. */
void fsc_scopes_ended(struct fsc_scopes *s, pid_t pid);
size_t fsc_scopes_processes(const struct fsc_scopes *s);

/* Everything measured since the processes began. The rows borrow their functions from s until the
 * next snapshot. The caller releases *ret. */
int fsc_scopes_read(struct fsc_scopes *s, struct fsc_latencies *ret, struct fsc_err *err);
/* How long the oldest running process has been running; 0: none runs. */
double fsc_scopes_seconds(const struct fsc_scopes *s);
/* The books of the last snapshot, since the processes began. */
void fsc_scopes_books(const struct fsc_scopes *s, struct fsc_summary *sum);
const struct fsc_tick_clock *fsc_scopes_clock(const struct fsc_scopes *s);

#endif
