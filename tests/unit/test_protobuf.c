/* src/sink/protobuf.h: bytes as the specification of the wire format gives them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "sink/protobuf.h"

static void expect(struct fsc_buf *b, const char *bytes, size_t n)
{
	assert_false(fsc_buf_failed(b));
	assert_int_equal(b->n, n);
	assert_memory_equal(b->s, bytes, n);
	fsc_buf_release(b);
}

#define EXPECT(b, bytes) expect(b, bytes, sizeof(bytes) - 1)

static void varints(void **state)
{
	static const struct {
		uint64_t v;
		const char *bytes;
		size_t n;
	} cases[] = {
	    {0, "\0", 1},
	    {1, "\x01", 1},
	    {127, "\x7f", 1},
	    {128, "\x80\x01", 2},
	    {150, "\x96\x01", 2},
	    {16383, "\xff\x7f", 2},
	    {16384, "\x80\x80\x01", 3},
	    {UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_buf b = {0};

		fsc_pb_varint(&b, cases[i].v);
		expect(&b, cases[i].bytes, cases[i].n);
	}
}

static void zigzags(void **state)
{
	(void)state;
	assert_true(fsc_pb_zigzag(0) == 0);
	assert_true(fsc_pb_zigzag(-1) == 1);
	assert_true(fsc_pb_zigzag(1) == 2);
	assert_true(fsc_pb_zigzag(-2) == 3);
	assert_true(fsc_pb_zigzag(INT32_MAX) == 4294967294u);
	assert_true(fsc_pb_zigzag(INT32_MIN) == 4294967295u);
	assert_true(fsc_pb_zigzag(INT64_MAX) == UINT64_MAX - 1);
	assert_true(fsc_pb_zigzag(INT64_MIN) == UINT64_MAX);
}

static void fields(void **state)
{
	struct fsc_buf b = {0};

	(void)state;
	fsc_pb_uint(&b, 1, 150);
	EXPECT(&b, "\x08\x96\x01");
	fsc_pb_sint(&b, 5, -2);
	EXPECT(&b, "\x28\x03");
	fsc_pb_fixed64(&b, 4, 0x0102030405060708u);
	EXPECT(&b, "\x21\x08\x07\x06\x05\x04\x03\x02\x01");
	fsc_pb_double(&b, 2, 1.0);
	EXPECT(&b, "\x11\0\0\0\0\0\0\xf0\x3f");
	fsc_pb_bytes(&b, 2, "a\0b", 3);
	EXPECT(&b, "\x12\x03"
		   "a\0b");
	fsc_pb_uint(&b, 16, 1); /* the first field whose tag takes two bytes */
	EXPECT(&b, "\x80\x01\x01");
}

static void texts_are_utf8(void **state)
{
	struct fsc_buf b = {0};

	(void)state;
	fsc_pb_text(&b, 2, "testing");
	EXPECT(&b, "\x12\x07testing");
	fsc_pb_text(&b, 1, "");
	EXPECT(&b, "\x0a\0");
	fsc_pb_text(&b, 1, "\xc3\xb6\xff\n");
	EXPECT(&b, "\x0a\x0a\xc3\xb6\\xff\\x0a");
}

static void messages_nest(void **state)
{
	struct fsc_buf b = {0};
	size_t outer, inner;

	(void)state;
	outer = fsc_pb_begin(&b, 3);
	inner = fsc_pb_begin(&b, 1);
	fsc_pb_uint(&b, 1, 150);
	fsc_pb_end(&b, inner);
	inner = fsc_pb_begin(&b, 2);
	fsc_pb_end(&b, inner);
	fsc_pb_end(&b, outer);
	EXPECT(&b, "\x1a\x07\x0a\x03\x08\x96\x01\x12\0");
}

/* Where the length takes two and three bytes, what is inside moves, whole. */
static void long_messages(void **state)
{
	static const size_t sizes[] = {127, 128, 16383, 16384, 100000};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct fsc_buf b = {0}, head = {0};
		size_t mark;

		fsc_buf_puts(&b, "before");
		mark = fsc_pb_begin(&b, 1);
		for (size_t k = 0; k < sizes[i]; k++)
			fsc_buf_putc(&b, (char)(k % 251));
		fsc_pb_end(&b, mark);
		fsc_buf_puts(&head, "before\x0a");
		fsc_pb_varint(&head, sizes[i]);
		assert_int_equal(b.n, head.n + sizes[i]);
		assert_memory_equal(b.s, head.s, head.n);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(b.s[head.n + k], (char)(k % 251));
		fsc_buf_release(&b);
		fsc_buf_release(&head);
	}
}

static void a_failed_buffer_stays_as_it_is(void **state)
{
	struct fsc_buf b = {.failed = true};
	size_t mark = fsc_pb_begin(&b, 1);

	(void)state;
	fsc_pb_text(&b, 1, "x");
	fsc_pb_end(&b, mark);
	assert_true(fsc_buf_failed(&b));
	assert_int_equal(b.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(varints),
	    cmocka_unit_test(zigzags),
	    cmocka_unit_test(fields),
	    cmocka_unit_test(texts_are_utf8),
	    cmocka_unit_test(messages_nest),
	    cmocka_unit_test(long_messages),
	    cmocka_unit_test(a_failed_buffer_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
