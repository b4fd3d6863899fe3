/* What the tables and the other sections of gpu's text share. Included by src/sink/ only. */
#ifndef FSC_SINK_GPU_TEXT_H
#define FSC_SINK_GPU_TEXT_H

#include "model/gpu.h"
#include "sink/sink.h"

/* "512 B", "1.50 KB", "12.3 GB": of 1024 each, as the sizes of copies are. */
void fsc_gpu_text_bytes(struct fsc_buf *b, double bytes);
/* The place of a stack in one line: its innermost Python line if there is one, else the first
 * function that is not CUDA's own. NULL if unknown; as text, "-". */
const char *fsc_gpu_place(const struct fsc_gpu_stack *s);
void fsc_gpu_text_where(struct fsc_buf *b, const struct fsc_gpu_stack *s);
/* Text from the target; "-" for NULL. */
void fsc_gpu_text_name(struct fsc_buf *b, const char *name);
/* A library's file name up to its version, "libcublasLt"; "-" for NULL. */
void fsc_gpu_text_owner(struct fsc_buf *b, const char *owner);
/* "python3 [4711]"; comm may be NULL. */
void fsc_gpu_text_process(struct fsc_buf *b, const char *comm, uint32_t pid);

/* The sections that are not tables; each begins with an empty line, and is left out if empty. */
void fsc_gpu_text_leaks(const struct fsc_sink *s, const struct fsc_gpu_report *r,
			struct fsc_buf *b);
void fsc_gpu_text_ooms(const struct fsc_sink *s, const struct fsc_gpu_report *r, struct fsc_buf *b);
void fsc_gpu_text_findings(const struct fsc_sink *s, const struct fsc_gpu_report *r,
			   struct fsc_buf *b);

#endif
