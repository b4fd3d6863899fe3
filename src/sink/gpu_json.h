/* What events and sums of GPUs have in common as JSON: members of an object, the comma before.
 * Included by gpu_json*.c only. */
#ifndef FSC_SINK_GPU_JSON_H
#define FSC_SINK_GPU_JSON_H

#include "base/buf.h"
#include "model/gpu.h"

/* NULL: nothing is written. */
void fsc_gpu_json_string(struct fsc_buf *b, const char *key, const char *value);
void fsc_gpu_json_number(struct fsc_buf *b, const char *key, uint64_t value);
void fsc_gpu_json_bool(struct fsc_buf *b, const char *key, bool value);
void fsc_gpu_json_dims(struct fsc_buf *b, const char *key, const uint32_t dims[3]);
/* "stack" and "python", where there are any. */
void fsc_gpu_json_stack(struct fsc_buf *b, const struct fsc_gpu_stack *s);
/* An event's members after "type". */
void fsc_gpu_json_event(struct fsc_buf *b, const struct fsc_gpu_event *e);

#endif
