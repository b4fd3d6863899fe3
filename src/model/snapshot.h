/* A monitor's state at one moment, for the exporters (Prometheus, OTLP, Alertmanager): everything
 * measured since it began, errors, slow calls, the books, and its own health. Pure data, owned by
 * the monitor. */
#ifndef FSC_MODEL_SNAPSHOT_H
#define FSC_MODEL_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/call.h"
#include "model/latency.h"
#include "model/profile.h"

/* Calls of a row of the snapshot that returned an error, by its code. */
struct fsc_call_errors {
	uint32_t row; /* index in calls->rows */
	int64_t code;
	const char *name; /* the library's name, "cudaErrorNoDevice"; NULL: unknown */
	uint64_t n;
	bool folded; /* exported as a part of one sum: there are too many */
};

/* A slow (or otherwise noteworthy) call to be exported. */
struct fsc_noted_call {
	const struct fsc_call *call; /* its func, pid, tid, comm, args, ret, duration, stacks */
	uint64_t wall_ns;	     /* when it returned, since 1970 */
	uint64_t id;		     /* unique in this run of the monitor */
	double threshold_ns;	     /* that it exceeded; 0: it is here for another reason */
	const char *error;	     /* name of the error it returned; NULL: none */
	uint32_t row;		     /* of the snapshot that it belongs to, for exemplars */
};

/* A monitor's report on an interval, or on the whole run. */
struct fsc_report {
	const struct fsc_latencies *calls; /* its time_ns and seconds give the interval */
	const struct fsc_call_errors *errors;
	size_t n_errors;
	const struct fsc_noted_call *const *slow; /* the slowest first */
	size_t n_slow;
	size_t processes;
	unsigned top; /* rows of each ranking; 0: all */
	bool whole;   /* on the whole run */
};

struct fsc_label {
	const char *name, *value;
};

/* The state of one receiver of exported data. */
struct fsc_receiver_state {
	const char *name; /* "otlp", "alertmanager" */
	uint64_t sent, retried;
	uint64_t dropped_full;	  /* messages that the spool had no room for */
	uint64_t dropped_refused; /* that the receiver refused for good */
	uint64_t rejected;	  /* records that it refused within accepted messages */
	uint64_t queued, queued_bytes;
	bool up;      /* the last attempt succeeded */
	bool removed; /* no longer configured: only its counters are left */
};

/* A function that was detached because the probes cost too much. */
struct fsc_detached {
	const struct fsc_func *func;
	bool detached; /* false: it is back */
};

struct fsc_snapshot {
	uint64_t start_ns, time_ns; /* wall clock: since when, and now */
	/* Since the start, by function, by labels, or by process (FSC_BY_PID, with its comm). Rows
	 * with `folded` set are exported as one sum: there are too many. A row never loses that
	 * flag, so that no sum ever decreases. */
	const struct fsc_latencies *calls;
	const struct fsc_call_errors *errors;
	size_t n_errors;
	const struct fsc_noted_call *noted; /* slow calls, for exemplars of histograms */
	size_t n_noted;
	const struct fsc_label *labels; /* on everything that is sent */
	size_t n_labels;
	const struct fsc_summary *books;
	size_t functions, refused, processes;
	const struct fsc_detached *detached;
	size_t n_detached;
	const struct fsc_named *skipped; /* what was left out for lack of memory, by name */
	size_t n_skipped;
	uint64_t reports_dropped; /* that could not be written */
	uint64_t reloads, failed_reloads;
	bool config_ok; /* the configuration on disk is in force */
	double own_cpu_s;
	uint64_t own_memory; /* bytes resident */
	uint64_t series_cap;
	bool labelled; /* processes have labels: */
	uint64_t label_sets, label_sets_folded;
	const struct fsc_receiver_state *receivers;
	size_t n_receivers;
};

#endif
