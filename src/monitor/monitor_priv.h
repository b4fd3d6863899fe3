/* What the files of the monitor share. */
#ifndef FSC_MONITOR_MONITOR_PRIV_H
#define FSC_MONITOR_MONITOR_PRIV_H

#include <sys/stat.h>

#include "base/fmt.h"
#include "monitor/control.h"
#include "monitor/forward.h"
#include "monitor/hooks.h"
#include "monitor/ledger.h"
#include "monitor/monitor.h"
#include "monitor/slow.h"
#include "run/pids.h"
#include "run/processes.h"
#include "run/run.h"

struct fsc_monitor {
	const struct fsc_monitor_opts *opts;
	struct fsc_snoop_config *config; /* in force; owned */
	struct fsc_run *run;
	struct fsc_processes *processes;
	struct fsc_hooks *hooks;
	struct fsc_slow *slow;
	struct fsc_ledger *ledger;
	struct fsc_control *control; /* NULL: none */
	struct fsc_forward *forward;
	int inotify;
	struct stat file; /* the configuration, as it was read */
	bool config_ok;
	bool changing; /* a session ends whose processes are not asked for any more */
	uint64_t reloads, failed_reloads;
	uint64_t cpu_start;	 /* of the machine */
	uint64_t events_dropped; /* by the control socket, once it is closed */
	double warn_budget;	 /* lines that may be written */
	uint64_t warn_ns, unwarned;
	uint64_t budget_cpu; /* at the last look */
	bool told_cost;
	struct fsc_buf line; /* of an event */
};

/* Looks at everything that runs, and at the libraries that whatever starts later may use. */
int fsc_monitor_look(struct fsc_monitor *m, struct fsc_err *err);
/* Seconds between two reports, by the command line or the configuration. */
double fsc_monitor_interval(const struct fsc_monitor *m);
/* Takes in what processes did and measured until now. */
int fsc_monitor_take_in(struct fsc_monitor *m, struct fsc_err *err);

/* events.c: fsc_hooks_call_fn. */
int fsc_monitor_call(const struct fsc_call *c, uint32_t func, void *arg, struct fsc_err *err);

/* reload.c: notes what the file looks like now; whether it has changed since; reads it again; the
 * same where nobody waits for an answer. */
void fsc_monitor_note_file(struct fsc_monitor *m);
bool fsc_monitor_file_changed(const struct fsc_monitor *m);
int fsc_monitor_reload_or_say(struct fsc_monitor *m);
int fsc_monitor_reload(struct fsc_monitor *m, struct fsc_err *err);
/* Another configuration is in force from now on, and owned; or, after a failure, everything is as
 * it was, and it is the caller's still. */
int fsc_monitor_adopt(struct fsc_monitor *m, struct fsc_snoop_config *fresh, struct fsc_err *err);
/* Whether every number in targets.pids may be that of a process; one that is a thread's is not. */
int fsc_monitor_check_pids(const struct fsc_snoop_config *c, struct fsc_err *err);
/* CPU time, in ns, that the watched processes have used, or the whole machine where all are. */
uint64_t fsc_monitor_cpu(struct fsc_monitor *m, bool *of_machine);
/* The books of the last reading of the ledger. */
int fsc_monitor_books(struct fsc_monitor *m, struct fsc_summary *ret, struct fsc_err *err);

/* requests.c: fsc_control_fn. */
int fsc_monitor_answer(const json_t *request, bool may_change, struct fsc_buf *b, void *arg,
		       struct fsc_err *err);
/* overhead.c: keeps within the budget. */
int fsc_monitor_budget(struct fsc_monitor *m, struct fsc_err *err);
/* What is to be said at the end: losses outside the books, how the command ended. */
void fsc_monitor_tell_end(const struct fsc_monitor *m);

#endif
