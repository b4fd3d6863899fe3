/* The wire format of protocol buffers: tags, varints, fixed numbers, lengths. */
#include "sink/protobuf.h"

#include <string.h>

#include "base/fmt.h"

enum { VARINT = 0, FIXED64 = 1, DELIMITED = 2 };

enum { VARINT_MAX = 10 }; /* bytes of 64 bits, seven in each */

static size_t encode_varint(uint64_t v, char *ret)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		ret[n++] = (char)(v | 0x80);
	ret[n++] = (char)v;
	return n;
}

void fsc_pb_varint(struct fsc_buf *b, uint64_t v)
{
	char bytes[VARINT_MAX];

	fsc_buf_add(b, bytes, encode_varint(v, bytes));
}

uint64_t fsc_pb_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static void add_tag(struct fsc_buf *b, uint32_t field, unsigned type)
{
	fsc_pb_varint(b, (uint64_t)field << 3 | type);
}

void fsc_pb_uint(struct fsc_buf *b, uint32_t field, uint64_t v)
{
	add_tag(b, field, VARINT);
	fsc_pb_varint(b, v);
}

void fsc_pb_sint(struct fsc_buf *b, uint32_t field, int64_t v)
{
	fsc_pb_uint(b, field, fsc_pb_zigzag(v));
}

void fsc_pb_fixed64(struct fsc_buf *b, uint32_t field, uint64_t v)
{
	char bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(v >> (8 * i));
	add_tag(b, field, FIXED64);
	fsc_buf_add(b, bytes, sizeof(bytes));
}

void fsc_pb_double(struct fsc_buf *b, uint32_t field, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	fsc_pb_fixed64(b, field, bits);
}

void fsc_pb_bytes(struct fsc_buf *b, uint32_t field, const void *p, size_t n)
{
	add_tag(b, field, DELIMITED);
	fsc_pb_varint(b, n);
	fsc_buf_add(b, p, n);
}

void fsc_pb_text(struct fsc_buf *b, uint32_t field, const char *s)
{
	size_t mark = fsc_pb_begin(b, field);

	fsc_fmt_term(b, s);
	fsc_pb_end(b, mark);
}

size_t fsc_pb_begin(struct fsc_buf *b, uint32_t field)
{
	add_tag(b, field, DELIMITED);
	return b->n;
}

void fsc_pb_end(struct fsc_buf *b, size_t mark)
{
	char length[VARINT_MAX];
	size_t inside = b->n - mark, n = encode_varint(inside, length);

	fsc_buf_add(b, length, n);
	if (fsc_buf_failed(b))
		return;
	memmove(b->s + mark + n, b->s + mark, inside);
	memcpy(b->s + mark, length, n);
}
