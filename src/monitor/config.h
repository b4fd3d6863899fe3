/* The configuration of `snoop`: the JSON file of FuncSnoop, with comments, trailing commas and more
 * keys, strictly read. */
#ifndef FSC_MONITOR_CONFIG_H
#define FSC_MONITOR_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"
#include "model/errors.h"
#include "model/snapshot.h"
#include "run/filter.h"

/* One entry of a group. Its symbol may be a glob: then each function found is shown under its own
 * name, and name is that of the entry. */
struct fsc_snoop_func {
	char *group;		  /* "cuda" */
	char *name;		  /* to be shown */
	char *symbol;		  /* name or glob, mangled or not */
	struct fsc_vec libraries; /* char *: paths, or globs of base names; none: the group's, else
				     by itself */
	double slow_ns;		  /* 0: never slow */
	uint32_t sample;	  /* one call in so many becomes an event; 0: none, 1: all */
	enum fsc_error_rule errors;
	bool errors_given; /* in the file or by a preset; else fsc_error_rule_of() says it, for a
			      glob once more of each function found */
	unsigned line;	   /* in the file, 0: from a preset, or added later */
};

/* Where the functions of a group are looked for, as the configuration says it. */
struct fsc_snoop_libraries {
	char *group;
	struct fsc_vec patterns; /* char * */
};

struct fsc_snoop_report {
	double every_s; /* 0: only at the end */
	bool json;
	char *to;     /* a file; NULL: standard output */
	unsigned top; /* lines of each ranking; 0: all */
	bool by_process;
};

struct fsc_snoop_prometheus {
	char *listen; /* NULL: not asked for */
	bool pid_label;
	unsigned max_series;
};

struct fsc_snoop_otlp {
	char *endpoint; /* base URL; NULL: not asked for */
	bool json;
	bool gzip;
	bool spans; /* slow calls as spans, else as log records */
	double every_s, timeout_s;
	struct fsc_vec headers; /* struct fsc_label, owned */
	char *ca_file;
};

struct fsc_snoop_config {
	char *path;
	struct fsc_vec funcs;	  /* struct fsc_snoop_func */
	struct fsc_vec libraries; /* struct fsc_snoop_libraries; funcs have theirs already */
	double slow_ns;		  /* of functions that say nothing else */
	uint32_t sample;	  /* likewise */
	struct fsc_filter targets;
	struct fsc_snoop_report report;
	unsigned keep_slowest, keep_latest; /* slow calls of each function */
	double keep_ended_s;		    /* how long a process that ended is shown by itself */
	unsigned max_processes_rows;	    /* (function, process) pairs at a time */
	bool stacks;			    /* of slow calls */
	double warnings_per_s;		    /* lines about slow calls */
	double max_overhead;		    /* percent; 0: none */
	bool fast_uprobes;
	struct fsc_vec labels; /* struct fsc_label, owned */
	char *control;	       /* socket; NULL: the default place */
	char *stream;	       /* "unix:PATH" or "tcp:HOST:PORT"; NULL: the control socket alone */
	struct fsc_snoop_prometheus prometheus;
	struct fsc_snoop_otlp otlp;
	char *alertmanager; /* URL; NULL: not asked for */
	double alert_every_s, alert_for_s;
	uint64_t spool_memory, spool_disk;
	char *spool_directory; /* NULL: none */
};

/* Reads a file whole. An error names file, line and column, and the nearest valid word where there
 * is one. Notes (dots that stand for something left out) are logged. The caller releases ret, also
 * after a failure. */
int fsc_snoop_config_read(const char *path, struct fsc_snoop_config *ret, struct fsc_err *err);
/* The same from memory; path is for messages. */
int fsc_snoop_config_parse(const char *text, size_t n, const char *path,
			   struct fsc_snoop_config *ret, struct fsc_err *err);
void fsc_snoop_config_release(struct fsc_snoop_config *c);
/* One that shares nothing with the other; the caller releases it. */
int fsc_snoop_config_copy(const struct fsc_snoop_config *from, struct fsc_snoop_config *ret,
			  struct fsc_err *err);
/* One function as `ctl add GROUP NAME SYMBOL` gives it, with the configuration's defaults. Appended
 * to funcs; EEXIST when the group has that name already. */
int fsc_snoop_config_add(struct fsc_snoop_config *c, const char *group, const char *name,
			 const char *symbol, struct fsc_err *err);

/* Adds processes to the targets. */
int fsc_snoop_config_pids(struct fsc_snoop_config *c, const pid_t *pids, size_t n,
			  struct fsc_err *err);
/* Makes a command, of so many words, one of the targets. */
int fsc_snoop_config_command(struct fsc_snoop_config *c, char *const *argv, size_t n,
			     struct fsc_err *err);
/* Takes entry number i out. */
void fsc_snoop_config_remove(struct fsc_snoop_config *c, size_t i);
/* Where functions of a group are looked for when the configuration does not say: globs of base
 * names, NULL-ended; NULL for a group without a usual library (custom). For a group that is not
 * known it is "libGROUP.so*", valid until this thread asks again. */
const char *const *fsc_group_libraries(const char *group);

#endif
