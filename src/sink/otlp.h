/* A snapshot, and single calls, for OpenTelemetry receivers over HTTP: the bodies of POST
 * /v1/metrics, /v1/logs and /v1/traces, as JSON (application/json) or protocol buffers
 * (application/x-protobuf). Failures are the buffer's; nothing blocks. */
#ifndef FSC_SINK_OTLP_H
#define FSC_SINK_OTLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/snapshot.h"

/* Appends an ExportMetricsServiceRequest. */
void fsc_otlp_metrics(const struct fsc_snapshot *s, bool json, struct fsc_buf *b);
/* Appends an ExportLogsServiceRequest, a record for each call. Of s, the labels and times. */
void fsc_otlp_logs(const struct fsc_snapshot *s, const struct fsc_noted_call *calls, size_t n,
		   bool json, struct fsc_buf *b);
/* Appends an ExportTraceServiceRequest, a span for each call, each in a trace of its own. */
void fsc_otlp_spans(const struct fsc_snapshot *s, const struct fsc_noted_call *calls, size_t n,
		    bool json, struct fsc_buf *b);

/* How many records of an accepted message a receiver rejected: the partial success in its answer,
 * JSON or protocol buffers. 0 if the answer has none. */
uint64_t fsc_otlp_rejected(const char *body, size_t n);

#endif
