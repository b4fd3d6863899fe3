/* A noted call in words, for receivers that take texts. Names and arguments from outside are safe
 * in them, as fsc_fmt_term() makes them. Included by src/sink/ only. */
#ifndef FSC_SINK_NOTED_H
#define FSC_SINK_NOTED_H

#include "base/buf.h"
#include "model/snapshot.h"

/* "work took 25.0 ms, more than 10.0 ms" or "work returned EINVAL after 25.0 ms". */
void fsc_noted_sentence(const struct fsc_noted_call *c, struct fsc_buf *b);
/* The message of its format, or six registers: "0x1, 0x7f00, ...". Nothing where none were kept. */
void fsc_noted_args(const struct fsc_call *c, struct fsc_buf *b);
/* By its type, where that is known; nothing where it was not kept. */
void fsc_noted_return(const struct fsc_call *c, struct fsc_buf *b);
/* One frame a line, the innermost first. */
void fsc_noted_stack(const struct fsc_call *c, struct fsc_buf *b);

#endif
