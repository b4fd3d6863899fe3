/* What CUDA programs did as a page of metrics for Prometheus. They are listed in docs/METRICS.md.
 */
#ifndef FSC_SINK_GPU_PROMETHEUS_H
#define FSC_SINK_GPU_PROMETHEUS_H

#include "base/map.h"
#include "model/gpu.h"
#include "sink/prometheus.h"

/* Kernels with a series of their own; the others are in one sum. */
enum { FSC_GPU_KERNEL_SERIES = 20 };

/* Appends the page. r is of the whole run, processes that are gone included, and leaves no kernel
 * out: sums of counters never go back then. books may be NULL. shown remembers from page to page
 * which kernels have a series, for the same reason: those that come first in the first reports keep
 * it. It begins as {0}, fsc_map_release() frees it; NULL where there is only one page. Failures are
 * the buffer's; nothing blocks. */
void fsc_gpu_prometheus_write(const struct fsc_gpu_report *r, const struct fsc_summary *books,
			      struct fsc_map *shown, enum fsc_prometheus_format f,
			      struct fsc_buf *b);

#endif
