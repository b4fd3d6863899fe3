/* What GPU events and reports share as JSON. Included by gpu_json*.c only. */
#ifndef FSC_SINK_GPU_JSON_H
#define FSC_SINK_GPU_JSON_H

#include "base/buf.h"
#include "model/gpu.h"

void fsc_gpu_json_dims(struct fsc_buf *b, const char *key, const uint32_t dims[3]);
/* "stack" and "python", if there are any. */
void fsc_gpu_json_stack(struct fsc_buf *b, const struct fsc_gpu_stack *s);
/* An event's members after "type". */
void fsc_gpu_json_event(struct fsc_buf *b, const struct fsc_gpu_event *e);

#endif
