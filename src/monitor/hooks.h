/* The probes of a monitor: functions of the configuration, found in files as processes map them.
 * There is one session of the engine; files come and go as parts of it. */
#ifndef FSC_MONITOR_HOOKS_H
#define FSC_MONITOR_HOOKS_H

#include "base/aside.h"
#include "model/tally.h"
#include "monitor/config.h"
#include "run/processes.h"

struct fsc_hooks;

/* config and processes must outlive it. The caller owns *ret. */
int fsc_hooks_new(const struct fsc_snoop_config *config, struct fsc_processes *processes,
		  struct fsc_hooks **ret, struct fsc_err *err);
void fsc_hooks_free(struct fsc_hooks *h);
/* Loads what does not depend on the files, which takes a while: not in the middle of a run. */
int fsc_hooks_prepare(struct fsc_hooks *h, struct fsc_err *err);
/* What goes on while files are searched and probes attached or detached, which may take seconds:
 * anything that only reads. */
void fsc_hooks_meanwhile(struct fsc_hooks *h, const struct fsc_meanwhile *m);
/* Whether a configuration is being tried. */
bool fsc_hooks_trying(const struct fsc_hooks *h);
/* Tries another configuration: files are searched for its functions from now on, and
 * fsc_hooks_attach() attaches probes that do not count yet, while the existing ones go on; verdicts
 * are noted for later. Ends with fsc_hooks_commit() or fsc_hooks_abandon(). */
int fsc_hooks_try(struct fsc_hooks *h, const struct fsc_snoop_config *config, struct fsc_err *err);
/* Restores the state before fsc_hooks_try(). */
void fsc_hooks_abandon(struct fsc_hooks *h);
/* Puts the configuration in force: functions in both keep their probes and numbers, new ones start
 * to count, and those no longer in it are detached; their measurements stay. It cannot fail: errors
 * are logged. */
void fsc_hooks_commit(struct fsc_hooks *h);
/* Whether a file that a process maps may have functions of the configuration. */
bool fsc_hooks_matters(const struct fsc_hooks *h, dev_t dev, ino_t ino, const char *path,
		       bool program);
/* A process has mapped a file: queued for fsc_hooks_attach(). */
int fsc_hooks_file(struct fsc_hooks *h, pid_t pid, const char *path, struct fsc_err *err);
/* Callbacks for all process events, so that stacks of exited processes can be symbolized. */
struct fsc_mmaps_to fsc_hooks_also(struct fsc_hooks *h);
/* Queues the files named by the configuration and the loader's cache. */
int fsc_hooks_libraries(struct fsc_hooks *h, struct fsc_err *err);
/* Queues the libraries that a program needs, before it is run. */
int fsc_hooks_program(struct fsc_hooks *h, const char *path, struct fsc_err *err);
/* Searches the queued files and attaches to what is new in them. Unreadable files and refused
 * places are logged and counted, not a failure. */
int fsc_hooks_attach(struct fsc_hooks *h, struct fsc_err *err);
/* All files that targets map are about to be passed to fsc_hooks_file() again. */
void fsc_hooks_scan_begins(struct fsc_hooks *h);
/* They have been, and fsc_hooks_attach() was called: the probes of other files are detached in the
 * background. */
void fsc_hooks_scan_ended(struct fsc_hooks *h);
/* Readable when a file was written to; -1: that is not noticed. */
int fsc_hooks_writes_fd(const struct fsc_hooks *h);
/* Detaches the probes of files that were written to, in the background. */
void fsc_hooks_check_writes(struct fsc_hooks *h);
/* Whether one of them is closed since the last call: a scan finds its new functions. */
bool fsc_hooks_rewritten(struct fsc_hooks *h);
/* Frees files whose probes are detached; their measurements stay. */
int fsc_hooks_close_unmapped(struct fsc_hooks *h, struct fsc_err *err);
/* Allocates room for measurements if it runs short. */
int fsc_hooks_reserve(struct fsc_hooks *h, struct fsc_err *err);
/* Whether a process is a target. */
int fsc_hooks_set_verdict(struct fsc_hooks *h, pid_t pid, bool wanted, struct fsc_err *err);
/* By the verdicts in force: 1: a target; 0: not; -1: pending. */
int fsc_hooks_verdict(const struct fsc_hooks *h, pid_t pid);
/* A process has called exec: that it is not a target has to be found anew. */
void fsc_hooks_exec(struct fsc_hooks *h, pid_t pid);
/* Whether fsc_hooks_collect() should be called now: what an unwanted process has counted must be
 * dropped before it becomes another program. */
bool fsc_hooks_urgent(const struct fsc_hooks *h);
/* A process has exited; a target's measurements are kept by fsc_hooks_collect(). */
int fsc_hooks_exited(struct fsc_hooks *h, pid_t pid, struct fsc_err *err);
/* Moves the measurements of exited processes, by pid, to `ended` and frees their slots; then calls
 * on_pid() for each process that has made calls. */
int fsc_hooks_collect(struct fsc_hooks *h, int (*on_pid)(pid_t pid, void *arg, struct fsc_err *err),
		      void *arg, struct fsc_tally *ended, struct fsc_err *err);
/* Adds the measurements of running processes that are known to be targets. Functions are indices of
 * fsc_hooks_funcs(). */
int fsc_hooks_read(struct fsc_hooks *h, struct fsc_tally *to, struct fsc_err *err);
const struct fsc_func *fsc_hooks_funcs(const struct fsc_hooks *h, size_t *ret_n);
/* The configuration's entry of a function; NULL: none any more. */
const struct fsc_snoop_func *fsc_hooks_entry(const struct fsc_hooks *h, uint32_t func);
/* The name of the error that a function returned; NULL: no error, or no name. */
const char *fsc_hooks_error(const struct fsc_hooks *h, uint32_t func, uint64_t ret);
/* The name of an error code of the function's library. */
const char *fsc_hooks_error_name(const struct fsc_hooks *h, uint32_t func, int64_t code);
/* What hits have cost since the last call, and the most expensive function. */
struct fsc_hooks_cost {
	double ns, costliest_ns;
	const char *costliest;
};
void fsc_hooks_cost(struct fsc_hooks *h, struct fsc_hooks_cost *ret);
struct fsc_hooks_shed {
	double ns; /* what it has cost */
	size_t file;
	uint32_t func, row; /* func: its number */
};
/* Detaches the functions that cost most, together, until fsc_hooks_resume() or the configuration is
 * reloaded: as many as it takes for the others to cost at most that much. Appends them to `ret`,
 * struct fsc_hooks_shed, the costliest first. */
int fsc_hooks_shed(struct fsc_hooks *h, double most_ns, struct fsc_vec *ret, struct fsc_err *err);
/* Attaches a function again. */
int fsc_hooks_resume(struct fsc_hooks *h, uint32_t func, struct fsc_err *err);
/* At how many places a function is probed now. */
size_t fsc_hooks_places(const struct fsc_hooks *h, uint32_t func);
/* A function that shall be summed up in another one, which stands for all of its name. */
struct fsc_fold {
	uint32_t func, to;
};
/* If more than `most` functions belong to no file any more, appends the oldest of them to `ret`,
 * struct fsc_fold. */
int fsc_hooks_to_fold(struct fsc_hooks *h, size_t most, struct fsc_vec *ret, struct fsc_err *err);
/* They are, and `which` says what becomes of the rest that is measured here; their names are freed
 * and their numbers used for others. After a failure nothing has changed. */
int fsc_hooks_fold(struct fsc_hooks *h, const struct fsc_vec *folds,
		   void (*which)(const struct fsc_tally_part *p, uint32_t *func, uint32_t *pid,
				 void *arg),
		   void *arg, struct fsc_err *err);
/* How many functions match an entry of the configuration. */
size_t fsc_hooks_found(const struct fsc_hooks *h, size_t entry);
/* Calls fn for each entry of the configuration that was not found (yet). */
void fsc_hooks_missing(const struct fsc_hooks *h,
		       void (*fn)(const struct fsc_snoop_func *f, void *arg), void *arg);

/* A call that the kernel sent: slow, or one of a sample. */
typedef int (*fsc_hooks_call_fn)(const struct fsc_call *c, uint32_t func, void *arg,
				 struct fsc_err *err);
/* fn is called by fsc_hooks_calls(), and when a session is closed. */
void fsc_hooks_on_call(struct fsc_hooks *h, fsc_hooks_call_fn fn, void *arg);
/* Delivers the calls that have arrived; last: all there are. */
int fsc_hooks_calls(struct fsc_hooks *h, bool last, struct fsc_err *err);
/* The books of all sessions, present and past. kept: the calls of the last reading. */
int fsc_hooks_summary(struct fsc_hooks *h, uint64_t kept, uint64_t cpu_ns, bool of_machine,
		      double duration_s, struct fsc_summary *ret, struct fsc_err *err);
/* Detaches all probes. */
void fsc_hooks_detach(struct fsc_hooks *h);

#endif
