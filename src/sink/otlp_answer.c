/* A receiver's answer: how much of a message it rejected. The answer is untrusted input. */
#include "sink/otlp.h"

#include <jansson.h>
#include <stdlib.h>

/* ---- JSON ---- */

/* 64-bit numbers come as strings, from some receivers as numbers. */
static uint64_t json_number(const json_t *v)
{
	long long n = json_is_integer(v)  ? json_integer_value(v)
		      : json_is_string(v) ? strtoll(json_string_value(v), NULL, 10)
					  : 0;

	return n > 0 ? (uint64_t)n : 0;
}

static uint64_t json_rejected(const json_t *answer)
{
	static const char *const names[] = {"rejectedDataPoints", "rejectedLogRecords",
					    "rejectedSpans"};
	const json_t *partial = json_object_get(answer, "partialSuccess");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t n = json_number(json_object_get(partial, names[i]));

		if (n)
			return n;
	}
	return 0;
}

/* ---- protocol buffers ---- */

struct bytes {
	const unsigned char *at, *end;
};

static bool read_varint(struct bytes *b, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; b->at < b->end && shift < 64; shift += 7) {
		*ret |= (uint64_t)(*b->at & 0x7f) << shift;
		if (!(*b->at++ & 0x80))
			return true;
	}
	return false;
}

/* The value of a field: a number or delimited bytes; others are skipped. False: malformed. */
static bool read_value(struct bytes *b, unsigned type, uint64_t *number, struct bytes *inside)
{
	uint64_t n = type == 1 ? 8 : 4;

	if (type == 0)
		return read_varint(b, number);
	if (type == 2 && !read_varint(b, &n))
		return false;
	if ((type != 1 && type != 2 && type != 5) || n > (uint64_t)(b->end - b->at))
		return false;
	*inside = (struct bytes){b->at, b->at + n};
	b->at += n;
	return true;
}

/* Field 1 of this type, the last one as the format requires; false if there is none. */
static bool read_first(struct bytes b, unsigned type, uint64_t *number, struct bytes *inside)
{
	bool found = false;
	uint64_t tag, n = 0;
	struct bytes piece = {0};

	while (b.at < b.end) {
		if (!read_varint(&b, &tag) || !read_value(&b, tag & 7, &n, &piece))
			return false;
		if (tag != (1u << 3 | type))
			continue;
		found = true;
		*number = n;
		*inside = piece;
	}
	return found;
}

static uint64_t pb_rejected(struct bytes answer)
{
	struct bytes partial, none;
	uint64_t n;

	if (!read_first(answer, 2, &n, &partial) || !read_first(partial, 0, &n, &none))
		return 0;
	return n <= INT64_MAX ? n : 0;
}

uint64_t fsc_otlp_rejected(const char *body, size_t n)
{
	const unsigned char *bytes = (const unsigned char *)body;
	uint64_t rejected;
	json_t *answer;

	if (!n)
		return 0;
	answer = json_loadb(body, n, JSON_REJECT_DUPLICATES, NULL);
	if (!answer)
		return pb_rejected((struct bytes){bytes, bytes + n});
	rejected = json_rejected(answer);
	json_decref(answer);
	return rejected;
}
