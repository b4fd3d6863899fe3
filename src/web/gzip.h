/* Bytes packed as gzip, for bodies of HTTP. */
#ifndef FSC_WEB_GZIP_H
#define FSC_WEB_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Appends the n bytes, packed. False when memory is out; out then holds nothing of use. */
bool fsc_gzip(const void *bytes, size_t n, struct fsc_buf *out);

#endif
