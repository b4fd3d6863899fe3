/* How a page of metrics is written in one of Prometheus' formats: families, and in them values and
 * histograms under their labels. What is on the page is decided in prometheus.c. Included by
 * src/sink/ only. */
#ifndef FSC_SINK_EXPOSITION_H
#define FSC_SINK_EXPOSITION_H

#include "model/snapshot.h"
#include "sink/prometheus.h"
#include "sink/spread.h"

enum fsc_family_type { FSC_COUNTER, FSC_GAUGE, FSC_HISTOGRAM };

struct fsc_family {
	const char *name; /* of a counter, with its "_total" */
	const char *unit; /* with which the name ends; NULL: none */
	const char *help;
	enum fsc_family_type type;
};

struct fsc_exposition;

/* A format. Labels are rendered into e->labels first, then one value or histogram is written. */
struct fsc_exposition_ops {
	void (*label)(struct fsc_exposition *e, const char *name, const char *value);
	void (*begin)(struct fsc_exposition *e); /* e->family, which has at least one value */
	void (*value)(struct fsc_exposition *e, double v);
	void (*histogram)(struct fsc_exposition *e, const struct fsc_spread *d);
	void (*end)(struct fsc_exposition *e);	  /* NULL: nothing */
	void (*finish)(struct fsc_exposition *e); /* NULL: nothing */
};

struct fsc_exposition {
	const struct fsc_exposition_ops *ops;
	const struct fsc_snapshot *s;
	struct fsc_buf *b;
	bool begun; /* the family's head is written */
	const struct fsc_family *family;
	struct fsc_buf labels; /* of the value that comes next, rendered */
	struct fsc_buf scratch;
	size_t mark; /* where the family began */
};

extern const struct fsc_exposition_ops fsc_exposition_text, fsc_exposition_openmetrics,
    fsc_exposition_protobuf;
/* By enum fsc_prometheus_format. */
extern const struct fsc_exposition_ops *const fsc_exposition_formats[];

/* A family without values is not written. */
void fsc_exposition_begin(struct fsc_exposition *e, const struct fsc_family *f);
void fsc_exposition_value(struct fsc_exposition *e, const struct fsc_label *l, size_t n, double v);
void fsc_exposition_histogram(struct fsc_exposition *e, const struct fsc_label *l, size_t n,
			      const struct fsc_spread *d);
void fsc_exposition_end(struct fsc_exposition *e);
/* Ends the page and releases the buffers. */
void fsc_exposition_finish(struct fsc_exposition *e);

#endif
