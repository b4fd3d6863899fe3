/* src/base/fmt.h: no byte from outside moves a cursor, fakes a line, breaks a JSON string or a CSV
 * row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/fmt.h"

typedef void (*format_fn)(struct fsc_buf *b, const char *s);

static void expect(format_fn fn, const char *in, const char *out)
{
	struct fsc_buf b = {0};

	fn(&b, in);
	assert_false(fsc_buf_failed(&b));
	assert_string_equal(fsc_buf_str(&b), out);
	assert_int_equal(b.n, strlen(out));
	fsc_buf_release(&b);
}

static void term_keeps_what_is_harmless(void **state)
{
	static const char *const plain[] = {
	    "",
	    "vfs_read",
	    "a b~!\"\\'",
	    "gr\xc3\xb6\xc3\x9f"
	    "e",
	    "\xe6\x97\xa5\xe6\x9c\xac",
	    "\xf0\x9f\x90\xa7",
	    "\xc2\xa0",			/* U+00A0, the first after C1 */
	    "\xed\x9f\xbf",		/* U+D7FF, the last before the surrogates */
	    "\xee\x80\x80",		/* U+E000 */
	    "\xf4\x8f\xbf\xbf",		/* U+10FFFF */
	    "\xe2\x80\xa7\xe2\x80\xaf", /* U+2027 and U+202F round the bidirectional ones */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		expect(fsc_fmt_term, plain[i], plain[i]);
}

static void term_shows_control_bytes(void **state)
{
	(void)state;
	expect(fsc_fmt_term, "a\x1b[31mred\x1b[0m", "a\\x1b[31mred\\x1b[0m");
	expect(fsc_fmt_term, "\x1b]0;title\x07", "\\x1b]0;title\\x07");
	expect(fsc_fmt_term, "a\nb\r\tc\b", "a\\x0ab\\x0d\\x09c\\x08");
	expect(fsc_fmt_term, "\x7f", "\\x7f");
	for (int c = 1; c < 0x20; c++) {
		char in[] = {(char)c, 'x', '\0'}, out[8];

		snprintf(out, sizeof(out), "\\x%02xx", c);
		expect(fsc_fmt_term, in, out);
	}
}

static void term_shows_c1_and_bidi(void **state)
{
	(void)state;
	expect(fsc_fmt_term,
	       "\xc2\x9b"
	       "31m",
	       "\\xc2\\x9b31m"); /* CSI as one character */
	expect(fsc_fmt_term, "\xc2\x80\xc2\x9f", "\\xc2\\x80\\xc2\\x9f");
	expect(fsc_fmt_term,
	       "\x9b"
	       "31m",
	       "\\x9b31m"); /* CSI as one byte */
	expect(fsc_fmt_term,
	       "a\xe2\x80\xae"
	       "b",
	       "a\\xe2\\x80\\xaeb"); /* U+202E */
	expect(fsc_fmt_term, "\xe2\x80\xaa", "\\xe2\\x80\\xaa");
	expect(fsc_fmt_term, "\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9");
	expect(fsc_fmt_term, "\xe2\x80\x8e\xe2\x80\x8f", "\\xe2\\x80\\x8e\\xe2\\x80\\x8f");
	expect(fsc_fmt_term, "\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9");
	expect(fsc_fmt_term, "\xef\xbb\xbf", "\\xef\\xbb\\xbf");
	expect(fsc_fmt_term, "\xd8\x9c", "\\xd8\\x9c"); /* U+061C, the Arabic letter mark */
}

static void term_shows_broken_utf8(void **state)
{
	static const struct {
		const char *in, *out;
	} all[] = {
	    {"\xff\xfe", "\\xff\\xfe"},
	    {"\x80", "\\x80"},
	    {"\xc3", "\\xc3"},
	    {"\xc3(", "\\xc3("},
	    {"\xe6\x97", "\\xe6\\x97"},
	    {"\xe6\x97x", "\\xe6\\x97x"},
	    {"\xf0\x9f\x90", "\\xf0\\x9f\\x90"},
	    {"\xc0\xaf", "\\xc0\\xaf"},		 /* overlong '/' */
	    {"\xc1\x9b", "\\xc1\\x9b"},		 /* overlong '[' */
	    {"\xe0\x80\x9b", "\\xe0\\x80\\x9b"}, /* overlong ESC */
	    {"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"}, /* overlong U+07FF */
	    {"\xf0\x80\x80\x9b", "\\xf0\\x80\\x80\\x9b"},
	    {"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"},
	    {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* surrogates */
	    {"\xed\xbf\xbf", "\\xed\\xbf\\xbf"},
	    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},	   /* past U+10FFFF */
	    {"\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80"}, /* five bytes */
	    {"ok\xe6\xe6\x97\xa5", "ok\\xe6\xe6\x97\xa5"}, /* goes on behind the broken one */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		expect(fsc_fmt_term, all[i].in, all[i].out);
}

static void json_strings(void **state)
{
	static const struct {
		const char *in, *out;
	} all[] = {
	    {"", "\"\""},
	    {"work", "\"work\""},
	    {"a\"b\\c/d", "\"a\\\"b\\\\c/d\""},
	    {"\n\t\x1b\x01", "\"\\u000a\\u0009\\u001b\\u0001\""},
	    {"\x7f", "\"\\u007f\""},
	    {"gr\xc3\xb6", "\"gr\xc3\xb6\""},
	    {"\xf0\x9f\x90\xa7", "\"\xf0\x9f\x90\xa7\""},
	    {"\xe2\x80\xae", "\"\\u202e\""},
	    {"\xe2\x80\xa8", "\"\\u2028\""},
	    {"\xff", "\"\\ufffd\""},
	    {"a\xc0\xaf", "\"a\\ufffd\\ufffd\""},
	    {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
	    {"\xe6\x97", "\"\\ufffd\\ufffd\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		expect(fsc_fmt_json, all[i].in, all[i].out);
}

/* Every byte, and every byte behind the start of a longer character: what comes out is printable
 * ASCII or whole UTF-8, and quotes stand only at the ends. */
static void json_of_any_two_bytes_is_closed(void **state)
{
	(void)state;
	for (int c = 1; c < 0x10000; c++) {
		char in[] = {(char)(c & 0xff), (char)(c >> 8), '\0'};
		struct fsc_buf b = {0};

		if (!in[0])
			continue;
		fsc_fmt_json(&b, in);
		assert_true(b.n >= 3 && b.s[0] == '"' && b.s[b.n - 1] == '"');
		for (size_t i = 1; i + 1 < b.n; i++) {
			assert_true((unsigned char)b.s[i] >= 0x20 && b.s[i] != 0x7f);
			if (b.s[i] == '\\')
				i++;
			else
				assert_int_not_equal(b.s[i], '"');
			assert_true(i + 1 < b.n);
		}
		fsc_buf_release(&b);
	}
}

static void csv_fields(void **state)
{
	static const struct {
		const char *in, *out;
	} all[] = {
	    {"", ""},
	    {"work", "work"},
	    {"f(int, char)", "\"f(int, char)\""},
	    {"say \"hi\"", "\"say \"\"hi\"\"\""},
	    {"\"", "\"\"\"\""},
	    {",", "\",\""},
	    {"two\nlines", "two\\x0alines"},
	    {"a\r\n,b", "\"a\\x0d\\x0a,b\""},
	    {"\x1b[2J", "\\x1b[2J"},
	    {"\xff", "\\xff"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		expect(fsc_fmt_csv, all[i].in, all[i].out);
}

static void durations(void **state)
{
	static const struct {
		double ns;
		const char *text;
	} all[] = {
	    {0, "0.00 ns"},	{0.5, "0.50 ns"},    {1, "1.00 ns"},	 {9.99, "9.99 ns"},
	    {9.996, "10.0 ns"}, {12.34, "12.3 ns"},  {99.96, "100 ns"},	 {318, "318 ns"},
	    {999, "999 ns"},	{999.6, "1.00 us"},  {1000, "1.00 us"},	 {16200, "16.2 us"},
	    {999400, "999 us"}, {999900, "1.00 ms"}, {1.5e6, "1.50 ms"}, {123.4e6, "123 ms"},
	    {4.05e9, "4.05 s"}, {3600e9, "3600 s"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct fsc_buf b = {0};

		fsc_fmt_ns(&b, all[i].ns);
		assert_string_equal(fsc_buf_str(&b), all[i].text);
		fsc_buf_release(&b);
	}
}

static void doubles(void **state)
{
	static const struct {
		double v;
		const char *text;
	} cases[] = {{0, "0"},		{-1, "-1"},
		     {0.1, "0.1"},	{1e-6, "1e-06"},
		     {1024, "1024"},	{1.0 / 3, "0.3333333333333333"},
		     {1e300, "1e+300"}, {5e-324, "4.94065645841247e-324"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_buf b = {0};

		fsc_fmt_double(&b, cases[i].v);
		assert_string_equal(fsc_buf_str(&b), cases[i].text);
		fsc_buf_release(&b);
	}
}

static void widths(void **state)
{
	(void)state;
	assert_int_equal(fsc_fmt_width(""), 0);
	assert_int_equal(fsc_fmt_width("work"), 4);
	assert_int_equal(fsc_fmt_width("gr\xc3\xb6\xc3\x9f"
				       "e"),
			 5);
	assert_int_equal(fsc_fmt_width("\xf0\x9f\x90\xa7"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(term_keeps_what_is_harmless),
	    cmocka_unit_test(term_shows_control_bytes),
	    cmocka_unit_test(term_shows_c1_and_bidi),
	    cmocka_unit_test(term_shows_broken_utf8),
	    cmocka_unit_test(json_strings),
	    cmocka_unit_test(json_of_any_two_bytes_is_closed),
	    cmocka_unit_test(csv_fields),
	    cmocka_unit_test(durations),
	    cmocka_unit_test(doubles),
	    cmocka_unit_test(widths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
