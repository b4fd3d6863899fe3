/* gzip for HTTP bodies. */
#ifndef FSC_WEB_GZIP_H
#define FSC_WEB_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Appends the n bytes, compressed. False when memory is out; out is then incomplete. */
bool fsc_gzip(const void *bytes, size_t n, struct fsc_buf *out);

#endif
