/* Slow calls as alerts, the body of a POST to Alertmanager's /api/v2/alerts. */
#ifndef FSC_SINK_ALERTS_H
#define FSC_SINK_ALERTS_H

#include <stddef.h>

#include "base/buf.h"
#include "model/snapshot.h"

/* Appends a JSON array with one alert for each function among the calls; its annotations describe
 * the slowest. A function's labels never change, so that Alertmanager sees one lasting alert. It
 * ends for_s seconds from now (s->time_ns) unless it is sent again. Failures are the buffer's. */
void fsc_alerts_write(const struct fsc_noted_call *calls, size_t n, const struct fsc_snapshot *s,
		      double for_s, struct fsc_buf *b);

#endif
