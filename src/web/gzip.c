/* zlib's deflate in the format that HTTP calls gzip; the fastest level, since the input is very
 * repetitive text. */
#include "web/gzip.h"

#include <limits.h>
#include <zlib.h>

static bool deflate_all(z_stream *z, const void *bytes, size_t n, struct fsc_buf *out)
{
	unsigned char piece[16384];
	int rc = Z_OK;

	z->next_in = (unsigned char *)bytes;
	while (rc == Z_OK) {
		if (!z->avail_in && n) {
			z->avail_in = n < INT_MAX ? (unsigned)n : INT_MAX;
			n -= z->avail_in;
		}
		z->next_out = piece;
		z->avail_out = sizeof(piece);
		rc = deflate(z, n ? Z_NO_FLUSH : Z_FINISH);
		fsc_buf_add(out, (const char *)piece, sizeof(piece) - z->avail_out);
	}
	return rc == Z_STREAM_END && !fsc_buf_failed(out);
}

bool fsc_gzip(const void *bytes, size_t n, struct fsc_buf *out)
{
	enum { LARGEST_WINDOW_AS_GZIP = 15 + 16, DEFAULT_MEMORY = 8 };
	z_stream z = {0};
	bool good;

	if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, LARGEST_WINDOW_AS_GZIP, DEFAULT_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	good = deflate_all(&z, bytes, n, out);
	deflateEnd(&z);
	return good;
}
