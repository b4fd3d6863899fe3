/* A snapshot as a page of metrics for Prometheus, in the format that it asks for. The metrics are
 * listed in docs/METRICS.md. */
#ifndef FSC_SINK_PROMETHEUS_H
#define FSC_SINK_PROMETHEUS_H

#include "base/buf.h"
#include "model/snapshot.h"

enum fsc_prometheus_format {
	FSC_PROMETHEUS_TEXT,	    /* 0.0.4 */
	FSC_PROMETHEUS_OPENMETRICS, /* 1.0.0 */
	FSC_PROMETHEUS_PROTOBUF,
};

/* The format that an Accept header prefers; "" and NULL accept all. Text if it accepts none. */
enum fsc_prometheus_format fsc_prometheus_choose(const char *accept);
/* The Content-Type. */
const char *fsc_prometheus_type(enum fsc_prometheus_format f);
/* Appends the page. Failures are the buffer's; nothing blocks. */
void fsc_prometheus_write(const struct fsc_snapshot *s, enum fsc_prometheus_format f,
			  struct fsc_buf *b);

#endif
