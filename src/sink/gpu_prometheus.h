/* A GPU report as a page of metrics for Prometheus. They are listed in docs/METRICS.md. */
#ifndef FSC_SINK_GPU_PROMETHEUS_H
#define FSC_SINK_GPU_PROMETHEUS_H

#include "base/map.h"
#include "model/gpu.h"
#include "sink/prometheus.h"

/* Kernels with a series of their own; the others are summed. */
enum { FSC_GPU_KERNEL_SERIES = 20 };

/* Appends the page. r covers the whole run, exited processes included, and leaves no kernel out, so
 * that counters never decrease. books may be NULL. shown keeps from page to page which kernels have
 * a series, for the same reason. It starts as {0}, fsc_map_release() frees it; NULL if there is
 * only one page. Failures are the buffer's; nothing blocks. */
void fsc_gpu_prometheus_write(const struct fsc_gpu_report *r, const struct fsc_summary *books,
			      struct fsc_map *shown, enum fsc_prometheus_format f,
			      struct fsc_buf *b);

#endif
