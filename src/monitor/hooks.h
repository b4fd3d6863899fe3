/* The probes of a monitor: functions of the configuration, found in files as processes map them.
 * What is found at one time is one session of the engine; what changes later adds another one, so
 * that probes that stay never come off. */
#ifndef FSC_MONITOR_HOOKS_H
#define FSC_MONITOR_HOOKS_H

#include "model/tally.h"
#include "monitor/config.h"
#include "run/processes.h"

struct fsc_hooks;

/* config and processes must outlive it. The caller owns *ret. */
int fsc_hooks_new(const struct fsc_snoop_config *config, struct fsc_processes *processes,
		  struct fsc_hooks **ret, struct fsc_err *err);
void fsc_hooks_free(struct fsc_hooks *h);
/* Another configuration is tried: files that are told of from now on are searched for its
 * functions, and fsc_hooks_attach() puts probes on that do not count yet, while those that are
 * there go on. Ends with fsc_hooks_commit() or fsc_hooks_abandon(). anew: other processes are
 * meant, so that no probe can stay. */
int fsc_hooks_try(struct fsc_hooks *h, const struct fsc_snoop_config *config, bool anew,
		  struct fsc_err *err);
/* Everything is as it was before. */
void fsc_hooks_abandon(struct fsc_hooks *h);
/* The configuration is in force: functions that are in both keep their probes and numbers, the new
 * ones count, those that are in it no more come off; their numbers stay. Nothing can stop it now:
 * what does not succeed is said. */
void fsc_hooks_commit(struct fsc_hooks *h);
/* A process has mapped a file: noted, to be searched by fsc_hooks_attach(). */
int fsc_hooks_file(struct fsc_hooks *h, pid_t pid, const char *path, struct fsc_err *err);
/* Who is to be told of all that processes do, so that stacks of those that have ended have names.
 */
struct fsc_mmaps_to fsc_hooks_also(struct fsc_hooks *h);
/* Notes the files that the configuration and the loader's cache name. */
int fsc_hooks_libraries(struct fsc_hooks *h, struct fsc_err *err);
/* Notes the libraries that a program needs, before it is run. */
int fsc_hooks_program(struct fsc_hooks *h, const char *path, struct fsc_err *err);
/* Searches the files noted and attaches to what is new in them. A file that cannot be read, and a
 * place the kernel refuses, is said and counted, no failure. */
int fsc_hooks_attach(struct fsc_hooks *h, struct fsc_err *err);
/* A process is (not) wanted. */
int fsc_hooks_judge(struct fsc_hooks *h, pid_t pid, bool wanted, struct fsc_err *err);
/* A process is gone; if it was wanted, its numbers are kept by fsc_hooks_collect(). */
int fsc_hooks_gone(struct fsc_hooks *h, pid_t pid, bool wanted, struct fsc_err *err);
/* Keeps what processes that are gone have measured, under their number, in `ended`, and gives their
 * room back; then calls met() for each that has made calls. */
int fsc_hooks_collect(struct fsc_hooks *h, int (*met)(pid_t pid, void *arg, struct fsc_err *err),
		      void *arg, struct fsc_tally *ended, struct fsc_err *err);
/* Adds what is measured of running processes. Functions are numbers in fsc_hooks_funcs(). */
int fsc_hooks_read(struct fsc_hooks *h, struct fsc_tally *to, struct fsc_err *err);
const struct fsc_func *fsc_hooks_funcs(const struct fsc_hooks *h, size_t *ret_n);
/* The configuration's entry of a function; NULL: it has none any more. */
const struct fsc_snoop_func *fsc_hooks_entry(const struct fsc_hooks *h, uint32_t func);
/* The name of the error that a function returned; NULL: it is none, or has no name. */
const char *fsc_hooks_error(const struct fsc_hooks *h, uint32_t func, uint64_t ret);
/* The name of an error's code, as the function's library has it. */
const char *fsc_hooks_error_name(const struct fsc_hooks *h, uint32_t func, int64_t code);
/* What hits have cost since the last time, and the dearest function of those. */
struct fsc_hooks_cost {
	double ns, dearest_ns;
	const char *dearest;
	size_t batch;
	uint32_t row;
};
void fsc_hooks_cost(struct fsc_hooks *h, struct fsc_hooks_cost *ret);
/* The dearest function's probes come off, until the configuration is read again. */
int fsc_hooks_let_go(struct fsc_hooks *h, const struct fsc_hooks_cost *cost, struct fsc_err *err);
/* How many places a function stands on now. */
size_t fsc_hooks_places(const struct fsc_hooks *h, uint32_t func);
/* In how many functions an entry of the configuration was found. */
size_t fsc_hooks_found(const struct fsc_hooks *h, size_t entry);
/* Entries of the configuration that were found nowhere (yet); calls fn for each. */
void fsc_hooks_missing(const struct fsc_hooks *h,
		       void (*fn)(const struct fsc_snoop_func *f, void *arg), void *arg);

/* A call that was sent: slow, or one of a sample. */
typedef int (*fsc_hooks_call_fn)(const struct fsc_call *c, uint32_t func, void *arg,
				 struct fsc_err *err);
/* Who is told of calls: by fsc_hooks_calls(), and when a session ends. */
void fsc_hooks_on_call(struct fsc_hooks *h, fsc_hooks_call_fn fn, void *arg);
/* Tells of those that have come; last: of all there are. */
int fsc_hooks_calls(struct fsc_hooks *h, bool last, struct fsc_err *err);
/* The books of all sessions, present and past. kept: the calls of the last reading. */
int fsc_hooks_summary(struct fsc_hooks *h, uint64_t kept, uint64_t cpu_ns, bool of_machine,
		      double duration_s, struct fsc_summary *ret, struct fsc_err *err);
/* Takes all probes off. */
void fsc_hooks_detach(struct fsc_hooks *h);

#endif
