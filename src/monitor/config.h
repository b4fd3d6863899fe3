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

/* One entry of a group. If its symbol is a glob, each function found is shown under its own name,
 * not the entry's. */
struct fsc_snoop_func {
	char *group;		  /* "cuda" */
	char *name;		  /* to be shown */
	char *symbol;		  /* name or glob, mangled or not */
	struct fsc_vec libraries; /* char *: paths, or globs of base names; none: the defaults */
	double slow_ns;		  /* 0: never slow */
	uint32_t sample;	  /* one call in so many becomes an event; 0: none, 1: all */
	enum fsc_error_rule errors;
	bool errors_given; /* in the file or by a preset; else by fsc_error_rule_of(), for a glob
			      per function found */
	unsigned line;	   /* in the file, 0: from a preset, or added later */
};

/* Where the functions of a group are searched, as configured. */
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
	char *listen;	    /* NULL: none */
	char *socket_group; /* of listen, where it is a Unix socket; NULL: this process's */
	char *cert_file, *key_file, *client_ca_file, *token_file; /* NULL: none */
	bool pid_label;
	unsigned max_series;
};

struct fsc_snoop_otlp {
	char *endpoint; /* base URL; NULL: none */
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
	double slow_ns;		  /* default of functions */
	uint32_t sample;	  /* likewise */
	struct fsc_filter targets;
	struct fsc_snoop_report report;
	unsigned keep_slowest, keep_latest; /* slow calls of each function */
	double keep_ended_s;		    /* how long an exited process has rows of its own */
	unsigned max_processes_rows;	    /* (function, process) pairs at a time */
	bool stacks;			    /* of slow calls */
	bool dwarf;			    /* unwound by debug information */
	double warnings_per_s;		    /* lines about slow calls */
	double max_overhead;		    /* percent; 0: none */
	bool fast_uprobes;
	unsigned process_labels,
	    process_fields;	 /* bits: fsc_label_names, fsc_process_field_names */
	unsigned max_label_sets; /* at a time */
	struct fsc_vec labels;	 /* struct fsc_label, owned */
	char *control;		 /* socket; NULL: the default path */
	char *stream;		 /* "unix:PATH" or "tcp:HOST:PORT"; NULL: only the control socket */
	struct fsc_snoop_prometheus prometheus;
	struct fsc_snoop_otlp otlp;
	char *alertmanager; /* URL; NULL: none */
	double alert_every_s, alert_for_s;
	uint64_t spool_memory, spool_disk;
	char *spool_directory; /* NULL: none */
};

/* Reads a file. Errors name file, line and column, and the nearest valid word if there is one. Dots
 * for omitted entries are logged. The caller releases ret, also after a failure. */
int fsc_snoop_config_read(const char *path, struct fsc_snoop_config *ret, struct fsc_err *err);
/* The same from memory; path is for messages. */
int fsc_snoop_config_parse(const char *text, size_t n, const char *path,
			   struct fsc_snoop_config *ret, struct fsc_err *err);
void fsc_snoop_config_release(struct fsc_snoop_config *c);
/* A deep copy; the caller releases it. */
int fsc_snoop_config_copy(const struct fsc_snoop_config *from, struct fsc_snoop_config *ret,
			  struct fsc_err *err);
/* Appends one function, as of `ctl add GROUP NAME SYMBOL`, with the configuration's defaults;
 * EEXIST if the group has that name already. */
int fsc_snoop_config_add(struct fsc_snoop_config *c, const char *group, const char *name,
			 const char *symbol, struct fsc_err *err);

/* Appends a copy of a text to a struct fsc_vec of char *. */
int fsc_config_push(struct fsc_vec *texts, const char *text, struct fsc_err *err);
/* Appends a copy to a struct fsc_vec of struct fsc_label. */
int fsc_config_push_label(struct fsc_vec *labels, const char *name, const char *value,
			  struct fsc_err *err);
/* Adds processes to the targets. */
int fsc_snoop_config_pids(struct fsc_snoop_config *c, const pid_t *pids, size_t n,
			  struct fsc_err *err);
/* Adds a command of n words to the targets. */
int fsc_snoop_config_command(struct fsc_snoop_config *c, char *const *argv, size_t n,
			     struct fsc_err *err);
/* Removes entry i. */
void fsc_snoop_config_remove(struct fsc_snoop_config *c, size_t i);
/* Where functions of a group are searched by default: globs of base names, NULL-ended; NULL for a
 * group without a default library (custom). "libGROUP.so*" for an unknown group, valid until the
 * next call in this thread. */
const char *const *fsc_group_libraries(const char *group);

#endif
