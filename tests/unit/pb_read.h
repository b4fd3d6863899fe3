/* Reads protocol buffers for the tests of what writes them: field by field, every bound checked, so
 * that a wrong length is a failed test. Include after cmocka.h. */
#ifndef FSC_TESTS_PB_READ_H
#define FSC_TESTS_PB_READ_H

#include <stdbool.h>
#include <string.h>

struct pb {
	const unsigned char *at, *end;
};

struct pb_field {
	uint32_t number;
	unsigned type;
	uint64_t v;	  /* of a varint or of 64 bits */
	struct pb inside; /* of what has a length */
};

static inline struct pb pb_of(const void *p, size_t n)
{
	return (struct pb){p, (const unsigned char *)p + n};
}

static inline uint64_t pb_varint(struct pb *m)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		assert_true(m->at < m->end && shift < 64);
		v |= (uint64_t)(*m->at & 0x7f) << shift;
		if (!(*m->at++ & 0x80))
			return v;
	}
}

static inline int64_t pb_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

/* What has a length at m's beginning, taken off it. */
static inline struct pb pb_delimited(struct pb *m)
{
	uint64_t n = pb_varint(m);
	struct pb inside = {m->at, m->at + n};

	assert_true(n <= (uint64_t)(m->end - m->at));
	m->at += n;
	return inside;
}

static inline bool pb_next(struct pb *m, struct pb_field *f)
{
	uint64_t tag;

	if (m->at == m->end)
		return false;
	tag = pb_varint(m);
	*f = (struct pb_field){.number = (uint32_t)(tag >> 3), .type = tag & 7};
	assert_int_not_equal(f->number, 0);
	if (f->type == 0) {
		f->v = pb_varint(m);
	} else if (f->type == 1) {
		assert_true(m->end - m->at >= 8);
		memcpy(&f->v, m->at, 8);
		m->at += 8;
	} else {
		assert_int_equal(f->type, 2);
		f->inside = pb_delimited(m);
	}
	return true;
}

/* The nth field of that number, from 0; false: there are not so many. */
static inline bool pb_find(struct pb m, uint32_t number, size_t nth, struct pb_field *ret)
{
	while (pb_next(&m, ret))
		if (ret->number == number && !nth--)
			return true;
	return false;
}

static inline struct pb_field pb_get(struct pb m, uint32_t number)
{
	struct pb_field f;

	if (!pb_find(m, number, 0, &f))
		fail_msg("there is no field %u", number);
	return f;
}

static inline size_t pb_count(struct pb m, uint32_t number)
{
	struct pb_field f;
	size_t n = 0;

	while (pb_next(&m, &f))
		n += f.number == number;
	return n;
}

static inline double pb_double(struct pb m, uint32_t number)
{
	uint64_t bits = pb_get(m, number).v;
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static inline bool pb_is(struct pb text, const char *s)
{
	return (size_t)(text.end - text.at) == strlen(s) && !memcmp(text.at, s, strlen(s));
}

#endif
