/* The two ways in which nvcc packs the entries of a fatbin: LZ4 (until CUDA 12, and with
 * --compress-mode=speed) and zstd. LZ4 is decoded here: a bare block without frame is a page of
 * code, which saves every build a library. Input is hostile: no length is believed. */
#include <string.h>
#include <zstd.h>

#include "cuda/fatbin_priv.h"

/* A byte of an LZ4 length stands for 255 bytes at most. */
#define LZ4_RATIO_MAX	255
#define LZ4_MATCH_MIN	4
#define LZ4_LENGTH_MORE 15

struct lz4 {
	const unsigned char *in, *in_end;
	unsigned char *out, *out_start, *out_end;
};

/* A length whose first four bits are in the token; further bytes follow while they are 255. */
static bool lz4_length(struct lz4 *z, size_t first, size_t *ret)
{
	unsigned char byte = 255;

	*ret = first;
	if (first < LZ4_LENGTH_MORE)
		return true;
	while (byte == 255) {
		if (z->in == z->in_end)
			return false;
		byte = *z->in++;
		*ret += byte;
	}
	return true;
}

static bool lz4_literals(struct lz4 *z, size_t n)
{
	if (n > (size_t)(z->in_end - z->in) || n > (size_t)(z->out_end - z->out))
		return false;
	memcpy(z->out, z->in, n);
	z->in += n;
	z->out += n;
	return true;
}

/* Repeats what lies offset bytes back; source and copy may overlap, then it repeats itself. */
static bool lz4_match(struct lz4 *z, size_t offset, size_t n)
{
	if (!offset || offset > (size_t)(z->out - z->out_start) ||
	    n > (size_t)(z->out_end - z->out))
		return false;
	if (offset >= n) {
		memcpy(z->out, z->out - offset, n);
		z->out += n;
		return true;
	}
	for (; n; n--, z->out++)
		*z->out = z->out[-(ptrdiff_t)offset];
	return true;
}

/* A block is literals and a match in turns and ends behind literals. */
static bool unpack_lz4(struct lz4 *z)
{
	while (z->in < z->in_end) {
		unsigned char token = *z->in++;
		size_t n, offset;

		if (!lz4_length(z, token >> 4, &n) || !lz4_literals(z, n))
			return false;
		if (z->in == z->in_end)
			break;
		if (z->in_end - z->in < 2)
			return false;
		offset = z->in[0] | (size_t)z->in[1] << 8;
		z->in += 2;
		if (!lz4_length(z, token & LZ4_LENGTH_MORE, &n) ||
		    !lz4_match(z, offset, n + LZ4_MATCH_MIN))
			return false;
	}
	return z->out == z->out_end;
}

bool fsc_fatbin_unpackable(enum fsc_packing packing, const void *packed, size_t n, size_t ret_n)
{
	unsigned long long said;

	if (packing == FSC_PACKING_LZ4)
		return ret_n / LZ4_RATIO_MAX <= n;
	said = ZSTD_getFrameContentSize(packed, n);
	return said == ret_n || said == ZSTD_CONTENTSIZE_UNKNOWN;
}

bool fsc_fatbin_unpack(enum fsc_packing packing, const void *packed, size_t n, void *ret,
		       size_t ret_n)
{
	struct lz4 z = {.in = packed, .out = ret, .out_start = ret};

	if (packing == FSC_PACKING_ZSTD)
		return ZSTD_decompress(ret, ret_n, packed, n) == ret_n;
	z.in_end = z.in + n;
	z.out_end = z.out + ret_n;
	return unpack_lz4(&z);
}
