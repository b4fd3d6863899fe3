/* The tracepoints that LTTng-UST gets where ours has a checkpoint: one at the entry, one at the
 * exit. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "peers.h"

#if !defined(BENCH_PEERS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_PEERS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench, enter, LTTNG_UST_TP_ARGS(int, number),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, number, number)))
LTTNG_UST_TRACEPOINT_EVENT(bench, leave, LTTNG_UST_TP_ARGS(int, number),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, number, number)))

#endif

#include <lttng/tracepoint-event.h>
