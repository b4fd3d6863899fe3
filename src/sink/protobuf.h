/* Writes protocol buffers, the wire format only: callers know the numbers of the fields. Everything
 * is appended to a buffer, whose failure is sticky. Zero values are written, too. */
#ifndef FSC_SINK_PROTOBUF_H
#define FSC_SINK_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* A number without a tag: inside packed fields, or the length before a message. */
void fsc_pb_varint(struct fsc_buf *b, uint64_t v);
/* The varint of a sint32 or sint64: small for small numbers of either sign. */
uint64_t fsc_pb_zigzag(int64_t v);

/* uint32, uint64, int32, int64 (as uint64_t), bool, enum. */
void fsc_pb_uint(struct fsc_buf *b, uint32_t field, uint64_t v);
/* sint32, sint64. */
void fsc_pb_sint(struct fsc_buf *b, uint32_t field, int64_t v);
/* fixed64, sfixed64. */
void fsc_pb_fixed64(struct fsc_buf *b, uint32_t field, uint64_t v);
void fsc_pb_double(struct fsc_buf *b, uint32_t field, double v);
void fsc_pb_bytes(struct fsc_buf *b, uint32_t field, const void *p, size_t n);
/* Text from the target, made valid UTF-8 by fsc_fmt_term(). */
void fsc_pb_text(struct fsc_buf *b, uint32_t field, const char *s);

/* A nested message (or packed field): what is written between the two. fsc_pb_end() takes what its
 * fsc_pb_begin() returned. */
size_t fsc_pb_begin(struct fsc_buf *b, uint32_t field);
/* Puts the length of all that follows mark (an earlier b->n) before it. */
void fsc_pb_end(struct fsc_buf *b, size_t mark);

#endif
