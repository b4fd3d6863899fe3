/* Bytes from outside made safe for each place they are written to, and numbers made readable. */
#ifndef FSC_BASE_FMT_H
#define FSC_BASE_FMT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Appends s for a terminal: control bytes, C1 and bidirectional controls and broken UTF-8 appear as
 * \xNN, so that a name can neither move the cursor nor fake a line. */
void fsc_fmt_term(struct fsc_buf *b, const char *s);
/* Appends s as a JSON string, quotes included; broken UTF-8 becomes U+FFFD. */
void fsc_fmt_json(struct fsc_buf *b, const char *s);
/* Appends s as one CSV field (RFC 4180), control bytes as \xNN. */
void fsc_fmt_csv(struct fsc_buf *b, const char *s);
/* Appends s as XML text or as the inside of an attribute; what fsc_fmt_term() writes as \xNN and
 * what XML does not allow appear so here, too. */
void fsc_fmt_xml(struct fsc_buf *b, const char *s);
/* Appends a duration with three digits and a unit: "16.2 us", "4.05 s". */
void fsc_fmt_ns(struct fsc_buf *b, double ns);
/* Appends a time since 1970 as RFC 3339 has it, in UTC: "2026-11-15T12:07:46.246Z". */
void fsc_fmt_time(struct fsc_buf *b, uint64_t ns);
/* Appends a number per second with three digits: "1.25M/s", "980/s". */
void fsc_fmt_rate(struct fsc_buf *b, double rate);
/* Appends a finite number with the fewest digits that read back as the same: "0.1", "1e-06",
 * "1024". Also good as JSON. */
void fsc_fmt_double(struct fsc_buf *b, double v);
/* How many columns s takes on a terminal (one per UTF-8 character). */
size_t fsc_fmt_width(const char *s);

#endif
