/* What a monitor knows at one moment, for whoever sends it on (Prometheus, OTLP, Alertmanager):
 * everything measured since it began, errors, slow calls, the books, and how the monitor itself is
 * doing. Pure data; whoever fills it owns it. */
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
	const char *name; /* as the library calls it, "cudaErrorNoDevice"; NULL: not known */
	uint64_t n;
};

/* A slow (or otherwise noteworthy) call as it is sent on. */
struct fsc_noted_call {
	const struct fsc_call *call; /* its func, pid, tid, comm, args, ret, duration, stacks */
	uint64_t wall_ns;	     /* when it returned, since 1970 */
	uint64_t id;		     /* unique in this run of the monitor */
	double threshold_ns;	     /* that it passed; 0: it is here for another reason */
	const char *error;	     /* name of the error it returned; NULL: none */
	uint32_t row;		     /* of the snapshot that it belongs to, for exemplars */
};

/* What a monitor reports of a stretch of time, or of the whole run. */
struct fsc_report {
	const struct fsc_latencies *calls; /* of the stretch; its time_ns and seconds tell which */
	const struct fsc_call_errors *errors;
	size_t n_errors;
	const struct fsc_noted_call *const *slow; /* the slowest first */
	size_t n_slow;
	size_t processes;
	unsigned top; /* lines of each ranking; 0: all */
	bool whole;   /* of the run */
};

struct fsc_label {
	const char *name, *value;
};

/* How one receiver of forwarded data is doing. */
struct fsc_receiver_state {
	const char *name; /* "otlp", "alertmanager" */
	uint64_t sent, retried;
	uint64_t dropped_full;	  /* messages that the spool had no room for */
	uint64_t dropped_refused; /* that the receiver does not want, ever */
	uint64_t rejected;	  /* records inside messages that it took but for these */
	uint64_t queued, queued_bytes;
	bool up; /* the last attempt went well */
};

struct fsc_snapshot {
	uint64_t start_ns, time_ns; /* wall clock: since when, and now */
	/* Since the start; keys are none, or the process (FSC_BY_PID, with its comm). A row whose
	 * `folded` is set is shown in one sum with all such rows: there are too many. Rows keep
	 * their flag as long as they live, so that no sum ever goes back. */
	const struct fsc_latencies *calls;
	const struct fsc_call_errors *errors;
	size_t n_errors;
	const struct fsc_noted_call *noted; /* slow calls to point at from histograms */
	size_t n_noted;
	const struct fsc_label *labels; /* that everything sent carries */
	size_t n_labels;
	const struct fsc_summary *books;
	size_t functions, refused, processes;
	uint64_t reloads, failed_reloads;
	bool config_ok; /* the configuration on disk is the one in force */
	double own_cpu_s;
	uint64_t own_memory; /* bytes resident */
	uint64_t series_cap;
	const struct fsc_receiver_state *receivers;
	size_t n_receivers;
};

#endif
