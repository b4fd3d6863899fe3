/* src/base/json.c: commas, nesting, what a string and a number become, and a buffer that fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/json.h"

static void expect(struct fsc_buf *b, const char *text)
{
	assert_false(fsc_buf_failed(b));
	assert_string_equal(fsc_buf_str(b), text);
	fsc_buf_release(b);
}

static void commas_stand_between_values_only(void **state)
{
	struct fsc_buf b = {0};

	(void)state;
	fsc_json_begin(&b, NULL, '{');
	fsc_json_uint(&b, "first", 1);
	fsc_json_begin(&b, "empty", '{');
	fsc_json_end(&b, '}');
	fsc_json_begin(&b, "list", '[');
	fsc_json_begin(&b, NULL, '[');
	fsc_json_end(&b, ']');
	fsc_json_begin(&b, NULL, '[');
	fsc_json_uint(&b, NULL, 2);
	fsc_json_uint(&b, NULL, 3);
	fsc_json_end(&b, ']');
	fsc_json_begin(&b, NULL, '{');
	fsc_json_null(&b, "in");
	fsc_json_end(&b, '}');
	fsc_json_string(&b, NULL, "x");
	fsc_json_bool(&b, NULL, false);
	fsc_json_end(&b, ']');
	fsc_json_bool(&b, "last", true);
	fsc_json_end(&b, '}');
	expect(&b, "{\"first\":1,\"empty\":{},\"list\":[[],[2,3],{\"in\":null},\"x\",false],"
		   "\"last\":true}");
}

static void lines_have_no_commas_between_them(void **state)
{
	struct fsc_buf b = {0};

	(void)state;
	fsc_json_line(&b, "a");
	fsc_json_uint(&b, "n", 1);
	fsc_json_line_end(&b);
	fsc_json_line(&b, "b");
	fsc_json_line_end(&b);
	fsc_json_begin(&b, NULL, '{'); /* behind a newline as at the beginning */
	fsc_json_end(&b, '}');
	expect(&b, "{\"type\":\"a\",\"n\":1}\n{\"type\":\"b\"}\n{}");
}

/* The buffer says where a comma is due: what a string ends with must not be taken for a bracket. */
static void strings_that_end_like_json(void **state)
{
	static const char *const ends[] = {"{", "[", ":", "\n", ",", "\"", "\\", ""};
	struct fsc_buf b = {0};

	(void)state;
	fsc_json_begin(&b, NULL, '[');
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		fsc_json_string(&b, NULL, ends[i]);
	fsc_json_end(&b, ']');
	expect(&b, "[\"{\",\"[\",\":\",\"\\u000a\",\",\",\"\\\"\",\"\\\\\",\"\"]");
}

static void strings(void **state)
{
	struct fsc_buf b = {0};

	(void)state;
	fsc_json_begin(&b, NULL, '{');
	fsc_json_string(&b, "quotes", "say \"hi\" \\o/");
	fsc_json_string(&b, "controls", "\x01\t\x1b[31m\x7f");
	fsc_json_string(&b, "utf8", "gr\xc3\xb6\xc3\x9f");
	fsc_json_string(&b, "broken", "a\xff\xc0\xaf");
	fsc_json_string(&b, "none", NULL);
	fsc_json_end(&b, '}');
	expect(&b, "{\"quotes\":\"say \\\"hi\\\" \\\\o/\","
		   "\"controls\":\"\\u0001\\u0009\\u001b[31m\\u007f\","
		   "\"utf8\":\"gr\xc3\xb6\xc3\x9f\",\"broken\":\"a\\ufffd\\ufffd\\ufffd\","
		   "\"none\":null}");
}

static void numbers(void **state)
{
	struct fsc_buf b = {0};

	(void)state;
	fsc_json_begin(&b, NULL, '[');
	fsc_json_uint(&b, NULL, UINT64_MAX);
	fsc_json_int(&b, NULL, INT64_MIN);
	fsc_json_hex(&b, NULL, UINT64_MAX);
	fsc_json_hex(&b, NULL, 0);
	fsc_json_real(&b, NULL, 2.5, 3);
	fsc_json_real(&b, NULL, 1e6, 0);
	fsc_json_real(&b, NULL, -0.0004, 3);
	fsc_json_printf(&b, NULL, "%.6g", 0.00001234);
	fsc_json_end(&b, ']');
	expect(&b, "[18446744073709551615,-9223372036854775808,\"0xffffffffffffffff\",\"0x0\","
		   "2.500,1000000,-0.000,1.234e-05]");
}

static void what_is_no_number_is_null(void **state)
{
	struct fsc_buf b = {0};

	(void)state;
	fsc_json_begin(&b, NULL, '{');
	fsc_json_real(&b, "a", NAN, 3);
	fsc_json_real(&b, "b", INFINITY, 3);
	fsc_json_real(&b, "c", -INFINITY, 0);
	fsc_json_end(&b, '}');
	expect(&b, "{\"a\":null,\"b\":null,\"c\":null}");
}

static void what_is_not_there_is_left_out(void **state)
{
	static const char *const frames[] = {"leaf", "main"};
	struct fsc_buf b = {0}, empty = {0}, full = {0};

	(void)state;
	fsc_buf_puts(&empty, ""); /* has memory, which must go */
	fsc_buf_puts(&full, "two\nlines");
	fsc_json_begin(&b, NULL, '{');
	fsc_json_string_if(&b, "a", NULL);
	fsc_json_uint_if(&b, "b", 0);
	fsc_json_bool_if(&b, "c", false);
	fsc_json_strings_if(&b, "d", NULL, 0);
	fsc_json_buf_if(&b, "e", &empty);
	fsc_json_string_if(&b, "f", "");
	fsc_json_uint_if(&b, "g", 7);
	fsc_json_bool_if(&b, "h", true);
	fsc_json_strings_if(&b, "i", frames, 2);
	fsc_json_buf_if(&b, "j", &full);
	fsc_json_buf(&b, "k", &empty);
	fsc_json_end(&b, '}');
	assert_null(full.s);
	expect(&b, "{\"f\":\"\",\"g\":7,\"h\":true,\"i\":[\"leaf\",\"main\"],"
		   "\"j\":\"two\\u000alines\",\"k\":\"\"}");
}

static void a_failure_is_handed_on(void **state)
{
	struct fsc_buf b = {0}, text = {.failed = true};

	(void)state;
	fsc_json_buf(&b, NULL, &text);
	assert_true(fsc_buf_failed(&b));
	fsc_buf_release(&b);
	text.failed = true;
	fsc_json_buf_if(&b, NULL, &text);
	assert_true(fsc_buf_failed(&b));
	fsc_json_line(&b, "x"); /* nothing to write to, and nothing to look back at */
	fsc_json_uint(&b, "n", 1);
	fsc_json_line_end(&b);
	assert_int_equal(b.n, 0);
	fsc_buf_release(&b);
}

/* Deep, and long: a parser that others wrote takes it. */
static void a_parser_takes_it(void **state)
{
	struct fsc_buf b = {0};
	json_t *all;

	(void)state;
	fsc_json_begin(&b, NULL, '[');
	for (int i = 0; i < 200; i++) {
		fsc_json_begin(&b, NULL, '{');
		fsc_json_int(&b, "i", -i);
		fsc_json_begin(&b, "in", '[');
	}
	for (int c = 1; c < 256; c++)
		fsc_json_string(&b, NULL, (const char[]){(char)c, '\0'});
	for (int i = 0; i < 200; i++) {
		fsc_json_end(&b, ']');
		fsc_json_bool(&b, "end", true);
		fsc_json_end(&b, '}');
	}
	fsc_json_end(&b, ']');
	all = json_loadb(b.s, b.n, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(all);
	json_decref(all);
	fsc_buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(commas_stand_between_values_only),
	    cmocka_unit_test(lines_have_no_commas_between_them),
	    cmocka_unit_test(strings_that_end_like_json),
	    cmocka_unit_test(strings),
	    cmocka_unit_test(numbers),
	    cmocka_unit_test(what_is_no_number_is_null),
	    cmocka_unit_test(what_is_not_there_is_left_out),
	    cmocka_unit_test(a_failure_is_handed_on),
	    cmocka_unit_test(a_parser_takes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
