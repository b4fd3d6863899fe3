/* A slow call in words, for receivers. Names and arguments are made safe by fsc_fmt_term().
 * Included by src/sink/ only. */
#ifndef FSC_SINK_NOTED_H
#define FSC_SINK_NOTED_H

#include "base/buf.h"
#include "model/snapshot.h"

/* "work took 25.0 ms, more than 10.0 ms" or "work returned EINVAL after 25.0 ms". */
void fsc_noted_sentence(const struct fsc_noted_call *c, struct fsc_buf *b);
/* The message of its format, or six registers: "0x1, 0x7f00, ...". Nothing if none were recorded.
 */
void fsc_noted_args(const struct fsc_call *c, struct fsc_buf *b);
/* By its type if that is known; nothing if it was not recorded. */
void fsc_noted_return(const struct fsc_call *c, struct fsc_buf *b);
/* One frame a line, innermost first. */
void fsc_noted_stack(const struct fsc_call *c, struct fsc_buf *b);

#endif
