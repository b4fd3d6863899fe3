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
#include "monitor/throttle.h"
#include "run/pids.h"
#include "run/processes.h"
#include "run/run.h"

/* What may be left out when memory is out. */
enum fsc_step {
	FSC_STEP_EVENTS,
	FSC_STEP_COLLECT,
	FSC_STEP_SCAN,
	FSC_STEP_REPORT,
	FSC_STEP_SEND,
	FSC_STEP_SLOW,
	FSC_STEP_CLIENT,
	FSC_STEPS,
};

struct fsc_shortage {
	uint64_t n;
	bool now;
};

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
	bool scanning; /* a part of the processes at each tick */
	bool scanned;  /* all of them, in this tick */
	bool busy;     /* with probes, which takes long: only questions are answered */
	uint64_t reloads, failed_reloads;
	uint64_t cpu_start;	  /* of the machine */
	uint64_t events_dropped;  /* by the control socket, once it is closed */
	uint64_t clients_refused; /* likewise */
	double warn_budget;	  /* lines */
	uint64_t warn_ns, unwarned;
	uint64_t budget_cpu, budget_machine; /* CPU time at the last check */
	bool warned_cost;
	struct fsc_throttle throttle;
	struct fsc_vec detached; /* struct fsc_detached: of a snapshot */
	struct fsc_buf line;	 /* of an event */
	struct fsc_output_opts out;
	char *to;		  /* report.to in force; owned */
	uint64_t reports_dropped; /* that could not be written */
	bool output_down;
	struct fsc_shortage shortages[FSC_STEPS];
	struct fsc_named skipped[FSC_STEPS]; /* of a snapshot */
	bool rescan;			     /* something may have been overlooked */
};

/* monitor_processes.c: what the table of processes calls. */
struct fsc_processes_to fsc_monitor_callbacks(struct fsc_monitor *m);
/* A process has made a call. arg: the monitor. */
int fsc_monitor_new_pid(pid_t pid, void *arg, struct fsc_err *err);
/* What goes on while something takes long: the page and the control socket are served, and nothing
 * that the kernel sends is lost. arg: the monitor. */
void fsc_monitor_meanwhile(void *arg);
/* The next part of a scan, if one has begun. */
int fsc_monitor_scan_part(struct fsc_monitor *m, struct fsc_err *err);
/* monitor_view.c: a snapshot of everything. arg: the monitor. */
int fsc_monitor_view(bool apart, size_t cap, struct fsc_ledger_view *ret, void *arg,
		     struct fsc_err *err);
/* Scans all processes, and the libraries that later ones may use, and attaches to what is new. */
int fsc_monitor_scan(struct fsc_monitor *m, struct fsc_err *err);
/* Labels and fields of processes, by the configuration in force. */
int fsc_monitor_labels(struct fsc_monitor *m, struct fsc_err *err);
/* Seconds between two reports, by the command line or the configuration. */
double fsc_monitor_interval(const struct fsc_monitor *m);
/* Reads what processes did and measured until now. */
int fsc_monitor_collect(struct fsc_monitor *m, struct fsc_err *err);

/* events.c: fsc_hooks_call_fn. */
int fsc_monitor_call(const struct fsc_call *c, uint32_t func, void *arg, struct fsc_err *err);
/* How many lines about slow calls may be logged at once. */
double fsc_monitor_most_warnings(const struct fsc_monitor *m);

/* reload.c: records the file's stat; whether that has changed; reads it again, returning the error
 * or logging it. */
void fsc_monitor_note_file(struct fsc_monitor *m);
bool fsc_monitor_file_changed(const struct fsc_monitor *m);
void fsc_monitor_reload_and_log(struct fsc_monitor *m);
int fsc_monitor_reload(struct fsc_monitor *m, struct fsc_err *err);
/* Puts another configuration in force and takes ownership; after a failure, everything is as it was
 * and the caller still owns it. */
int fsc_monitor_adopt(struct fsc_monitor *m, struct fsc_snoop_config *fresh, struct fsc_err *err);
/* Fails if one of targets.pids is a thread. */
int fsc_monitor_check_pids(const struct fsc_snoop_config *c, struct fsc_err *err);
/* The books of the last reading of the ledger. */
int fsc_monitor_books(struct fsc_monitor *m, struct fsc_summary *ret, struct fsc_err *err);

/* shortage.c: what became of a step. Lack of memory is counted, and logged once; any other failure
 * is returned. */
int fsc_monitor_spare(struct fsc_monitor *m, enum fsc_step step, int rc, struct fsc_err *err);
/* For snapshots. */
void fsc_monitor_shortages(struct fsc_monitor *m, struct fsc_snapshot *s);
/* What became of a report that was begun at a mark of the output; failures as above. */
int fsc_monitor_wrote(struct fsc_monitor *m, int64_t mark, int rc, struct fsc_err *err);
/* Opens the output's path if the file was moved away. */
void fsc_monitor_reopen(struct fsc_monitor *m);
/* The output of another configuration: opened, and then used or not. */
struct fsc_new_output {
	FILE *out; /* NULL: the same */
	char *to;
};
int fsc_monitor_try_output(struct fsc_monitor *m, const struct fsc_snoop_config *fresh,
			   struct fsc_new_output *ret, struct fsc_err *err);
void fsc_monitor_take_output(struct fsc_monitor *m, const struct fsc_new_output *o);
void fsc_monitor_drop_output(const struct fsc_new_output *o);

/* requests.c: fsc_control_fn. */
int fsc_monitor_answer(const json_t *request, bool may_change, struct fsc_buf *b, void *arg,
		       struct fsc_err *err);
/* overhead.c: stays within the budget. */
void fsc_monitor_budget(struct fsc_monitor *m);
int fsc_monitor_throttled(struct fsc_monitor *m, struct fsc_snapshot *s, struct fsc_err *err);
/* Logs losses outside the books, and the state of receivers. */
void fsc_monitor_log_end(const struct fsc_monitor *m);

#endif
