/* Where data goes: one row of the table in sinks.c per format, one file each. A sink gets profiles
 * or calls and at the end the books, whatever their source. */
#ifndef FSC_SINK_SINK_H
#define FSC_SINK_SINK_H

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/latency.h"
#include "model/call.h"
#include "model/compare.h"
#include "model/gpu.h"
#include "model/profile.h"
#include "model/snapshot.h"
#include "model/stacks.h"

/* How stacks are shown in text. */
enum fsc_stack_view { FSC_VIEW_LIST, FSC_VIEW_TOP_DOWN, FSC_VIEW_BOTTOM_UP };

/* The unit of durations in text. */
enum fsc_unit { FSC_UNIT_AUTO, FSC_UNIT_NS, FSC_UNIT_US, FSC_UNIT_MS, FSC_UNIT_S };

struct fsc_sink {
	const struct fsc_sink_ops *ops;
	FILE *out;
	const char *path; /* of out, for messages; NULL: stdout */
	FILE *side;	  /* for the books, if the format has no place for them */
	bool timestamps;  /* -T */
	bool intervals;	  /* several profiles will come, one per interval */
	unsigned width;	  /* columns of the terminal; 0: do not cut anything */
	enum fsc_unit unit;
	bool wide;				    /* columns that do not fit 80 characters, too */
	bool cost;				    /* what the probes of each row cost, too */
	bool histograms;			    /* of every line, not only of a single one */
	double linear_min, linear_max, linear_step; /* ns; step 0: bins by powers of two */
	enum fsc_stack_view view;
	bool begun;	  /* the sink's own: something was written */
	bool calls_begun; /* likewise, of calls */
	unsigned height;  /* the sink's own: of the picture */
	size_t unwritten; /* bytes of events that are not flushed yet */
	void *own;	  /* the sink's own: its state; freed by fsc_sink_release() */
};

/* NULL: the format does not support the data. */
struct fsc_sink_ops {
	const char *name;
	const char *what;   /* for help */
	bool summary_aside; /* the format has no place for the books */
	bool single;	    /* one document: no intervals */
	void (*profile)(struct fsc_sink *s, const struct fsc_profile *p, struct fsc_buf *b);
	void (*latency)(struct fsc_sink *s, const struct fsc_latencies *l, struct fsc_buf *b);
	void (*stacks)(struct fsc_sink *s, const struct fsc_stacks *t, struct fsc_buf *b);
	void (*call)(struct fsc_sink *s, const struct fsc_call *c, struct fsc_buf *b);
	void (*diff)(struct fsc_sink *s, const struct fsc_comparison *c, struct fsc_buf *b);
	void (*report)(struct fsc_sink *s, const struct fsc_report *r, struct fsc_buf *b);
	void (*gpu_event)(struct fsc_sink *s, const struct fsc_gpu_event *e, struct fsc_buf *b);
	void (*gpu_report)(struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_buf *b);
	/* NULL: the books as lines. */
	void (*summary)(struct fsc_sink *s, const struct fsc_summary *sum, struct fsc_buf *b);
	void (*release)(struct fsc_sink *s); /* of own; NULL: no state */
};

/* The list of formats, one file each. Those that support all data come first. */
#define FSC_TABLE_SINKS(row) row(text) row(json) row(csv)
#define FSC_STACK_SINKS(row) FSC_TABLE_SINKS(row) row(folded) row(flamegraph)
#define FSC_SINKS(row)	     FSC_STACK_SINKS(row) row(perfetto)

#define FSC_SINK_DECLARE(name) extern const struct fsc_sink_ops fsc_sink_##name;
FSC_SINKS(FSC_SINK_DECLARE)

/* All formats, NULL-ended, and their names in the same order for option tables. */
extern const struct fsc_sink_ops *const fsc_sinks[];
extern const char *const fsc_sink_names[];
/* The names of those that support all data: the beginning of that list. */
extern const char *const fsc_sink_table_names[];
/* And of those that support stacks. */
extern const char *const fsc_sink_stack_names[];

/* The kinds of data that commands have. */
enum fsc_data {
	FSC_DATA_COUNTS,
	FSC_DATA_LATENCIES,
	FSC_DATA_STACKS,
	FSC_DATA_CALLS,
	FSC_DATA_DIFFS,
	FSC_DATA_REPORTS,
	FSC_DATA_GPU, /* events, or reports of them, or both */
};
/* 0 if the format supports the data, else a usage error that lists the formats that do. A format
 * that is one document does not support intervals. */
int fsc_sink_takes(const struct fsc_sink *s, enum fsc_data data, struct fsc_err *err);

/* Each writes at once and flushes; a failure to write names the reason. The format must support
 * it. */
int fsc_sink_profile(struct fsc_sink *s, const struct fsc_profile *p, struct fsc_err *err);
int fsc_sink_latency(struct fsc_sink *s, const struct fsc_latencies *l, struct fsc_err *err);
int fsc_sink_stacks(struct fsc_sink *s, const struct fsc_stacks *t, struct fsc_err *err);
int fsc_sink_call(struct fsc_sink *s, const struct fsc_call *c, struct fsc_err *err);
/* The comparison's own summary included. */
int fsc_sink_diff(struct fsc_sink *s, const struct fsc_comparison *c, struct fsc_err *err);
int fsc_sink_report(struct fsc_sink *s, const struct fsc_report *r, struct fsc_err *err);
/* Does nothing if the format has no such data (FSC_DATA_GPU needs only one of the two). Events are
 * frequent: they are buffered until fsc_sink_flush(). */
int fsc_sink_gpu_event(struct fsc_sink *s, const struct fsc_gpu_event *e, struct fsc_err *err);
int fsc_sink_gpu_report(struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_err *err);
int fsc_sink_summary(struct fsc_sink *s, const struct fsc_summary *sum, struct fsc_err *err);
int fsc_sink_flush(struct fsc_sink *s, struct fsc_err *err);
/* Writes the text and flushes; releases the buffer, also if that fails. */
int fsc_sink_print(FILE *to, struct fsc_buf *b, struct fsc_err *err);
/* Frees the sink's state, whether or not a summary was written. May be called twice. */
void fsc_sink_release(struct fsc_sink *s);

/* Calls in each format, calls_NAME.c. */
void fsc_text_call(struct fsc_sink *s, const struct fsc_call *c, struct fsc_buf *b);
void fsc_json_call(struct fsc_sink *s, const struct fsc_call *c, struct fsc_buf *b);
void fsc_csv_call(struct fsc_sink *s, const struct fsc_call *c, struct fsc_buf *b);

/* Reports of a monitor, report_NAME.c. */
void fsc_text_report(struct fsc_sink *s, const struct fsc_report *r, struct fsc_buf *b);
void fsc_json_report(struct fsc_sink *s, const struct fsc_report *r, struct fsc_buf *b);

/* GPU events and reports, gpu_NAME.c. */
void fsc_text_gpu_report(struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_buf *b);
void fsc_json_gpu_event(struct fsc_sink *s, const struct fsc_gpu_event *e, struct fsc_buf *b);
void fsc_json_gpu_report(struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_buf *b);

/* Comparisons in each format, diff_NAME.c; the last are the lines under the table. */
void fsc_text_diff(struct fsc_sink *s, const struct fsc_comparison *c, struct fsc_buf *b);
void fsc_json_diff(struct fsc_sink *s, const struct fsc_comparison *c, struct fsc_buf *b);
void fsc_csv_diff(struct fsc_sink *s, const struct fsc_comparison *c, struct fsc_buf *b);
void fsc_text_diff_summary(const struct fsc_comparison *c, struct fsc_buf *b);

/* Parts of the json format. */
void fsc_json_latency(struct fsc_sink *s, const struct fsc_latencies *l, struct fsc_buf *b);
/* A function as members of an object; the first: its names only. */
/* Labels and fields of a process, each a member. */
void fsc_json_about(const struct fsc_label *about, size_t n, struct fsc_buf *b);
void fsc_json_names(const char *kind, const char *binary, const char *function, struct fsc_buf *b);
void fsc_json_function(const struct fsc_func *f, struct fsc_buf *b);

/* Parts of the csv format: a field and the comma after it; the three that name a function. */
void fsc_csv_field(struct fsc_buf *b, const char *text);
void fsc_csv_names(const char *kind, const char *binary, const char *function, struct fsc_buf *b);

/* Shared by formats made of text: the books as lines. */
void fsc_sink_books(const struct fsc_summary *sum, struct fsc_buf *b);
/* What the probes of a row cost: with sink->cost only. */
void fsc_text_cost(double hits, double hit_ns, struct fsc_buf *b);
void fsc_json_cost(double hits, double hit_ns, struct fsc_buf *b);
void fsc_csv_cost(double hits, double hit_ns, struct fsc_buf *b);
/* Parts of the text format that have a file of their own; the first begins a report. */
void fsc_text_begin(struct fsc_sink *s, uint64_t time_ns, struct fsc_buf *b);
void fsc_text_latency(struct fsc_sink *s, const struct fsc_latencies *l, struct fsc_buf *b);
/* "12:34:56.789" in local time. */
void fsc_sink_clock(uint64_t wall_ns, struct fsc_buf *b);

#endif
