/* Text that people write as JSON: what is forgiven, where everything stands, and what is said about
 * the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "monitor/jsonc.h"

static int parse_n(const char *text, size_t n, struct fsc_jsonc *d, struct fsc_err *err)
{
	char *own = malloc(n + 1);

	assert_non_null(own);
	memcpy(own, text, n);
	own[n] = '\0';
	return fsc_jsonc_parse(own, n, "f", d, err);
}

/* Parses, and expects what is left to be the JSON given. */
static void reads(const char *text, const char *json, size_t dots)
{
	struct fsc_err err = {0};
	struct fsc_jsonc d;
	char *got;

	if (parse_n(text, strlen(text), &d, &err))
		fail_msg("%s: %s", text, err.msg);
	got = json_dumps(d.root, JSON_COMPACT | JSON_ENCODE_ANY);
	assert_string_equal(got, json);
	assert_int_equal(d.dots.n, dots);
	assert_int_equal(strlen(d.json), strlen(text));
	for (size_t i = 0; i < d.n; i++)
		assert_int_equal(d.json[i] == '\n', text[i] == '\n');
	free(got);
	fsc_jsonc_release(&d);
}

static void forgives(void **state)
{
	(void)state;
	reads("{}", "{}", 0);
	reads("// one\n{ // two\n\"a\": 1 /* three\n four */, /**/ \"b\": 2, // five\n}",
	      "{\"a\":1,\"b\":2}", 0);
	reads("{\"a\": [1, 2, ], }", "{\"a\":[1,2]}", 0);
	reads("{\"a\": [1, 2 /* x */ , // y\n ], }", "{\"a\":[1,2]}", 0);
	reads("\xef\xbb\xbf{\"a\":1}", "{\"a\":1}", 0);
	reads("{\"a\": \"// no /* comment */ , ...... }\", \"b\\\"//\": 1}",
	      "{\"a\":\"// no /* comment */ , ...... }\",\"b\\\"//\":1}", 0);
	reads("{\"a\":1} // the end", "{\"a\":1}", 0);
	reads("{\r\n\"a\":1,\r\n}\r\n", "{\"a\":1}", 0);
}

static void forgives_dots(void **state)
{
	(void)state;
	reads("{\"a\":1,\n......\n}", "{\"a\":1}", 1);
	reads("{\"a\":1\n......\n}", "{\"a\":1}", 1);
	reads("{...}", "{}", 1);
	reads("{\"a\":1, ..., \"b\":2}", "{\"a\":1,\"b\":2}", 1);
	reads("{..., \"b\":2}", "{\"b\":2}", 1);
	reads("{\"a\":1, ..., ....,}", "{\"a\":1}", 2);
	reads("[1, ..., 5]", "[1,5]", 1);
}

static void fails_n(const char *text, size_t n, const char *message)
{
	struct fsc_err err = {0};
	struct fsc_jsonc d;

	assert_int_equal(parse_n(text, n, &d, &err), -EINVAL);
	assert_string_equal(err.msg, message);
	fsc_jsonc_release(&d);
}

static void fails(const char *text, const char *message)
{
	fails_n(text, strlen(text), message);
}

static void refuses(void **state)
{
	(void)state;
	fails("", "f:1:1: the file ends where a value is expected");
	fails("{\n  \"a\": 1\n  \"b\": 2\n}", "f:3:3: expected ',' or '}', not '\"'");
	fails("{\"a\" 1}", "f:1:6: expected ':', not '1'");
	fails("{a: 1}", "f:1:2: expected a name in quotes, not 'a'");
	fails("{,}", "f:1:2: expected a name in quotes, not ','");
	fails("{\"a\":1,,}", "f:1:8: expected a name in quotes, not ','");
	fails("[1, 2", "f:1:6: the file ends where ',' or ']' is expected");
	fails("{\"a\":}", "f:1:6: expected a value, not '}'");
	fails("{\"a\": ...}", "f:1:7: not JSON: invalid token near '.'");
	fails("{\"a\": 1...}", "f:1:7: not JSON: invalid token near '1.'");
	fails("{} x", "f:1:4: expected the end of the file, not 'x'");
	fails("...", "f:1:1: not JSON: invalid token near '.'");
	fails("{\n\"abc", "f:2:1: this string has no closing quote");
	fails("{\"a\": \"x\n\"}", "f:1:7: this string has no closing quote");
	fails("{ /* x", "f:1:3: this comment has no end (\"*/\")");
	fails("{ / x }", "f:1:3: expected a name in quotes, not '/'");
	fails("{\"a\": tru}", "f:1:7: not JSON: invalid token near 'tru'");
	fails("{\"a\": 99999999999999999999}", "f:1:7: a number this large cannot be read");
	fails("{\"a\": 1e999}", "f:1:7: a number this large cannot be read");
	fails("{\"a\": 01}", "f:1:7: not JSON: invalid token near '0'");
	fails("{\"a\": \"\\u0000\"}", "f:1:7: a string must not contain a NUL");
	fails("{\"a\": \"\\x\"}", "f:1:7: not JSON: invalid escape");
	fails("{\"a\": \"tab\there\"}", "f:1:7: not JSON: control character 0x9");
}

/* The second of the two, by line and column; columns are characters, not bytes. */
static void refuses_twice(void **state)
{
	(void)state;
	fails("{\n \"a\": 1,\n \"b\": {\"a\": 2},\n   \"a\" : 3\n}", "f:4:4: \"a\" is given twice");
	fails("{\"\xe5\x87\xbd\xe6\x95\xb0\": 1, /* \xe5\x87\xbd */ \"b\": 1, \"b\": 1}",
	      "f:1:27: \"b\" is given twice");
	fails("\xef\xbb\xbf{\"a\":1, \"\\u0061\":2}", "f:1:9: \"\\u0061\" is given twice");
}

static void refuses_bytes(void **state)
{
	(void)state;
	fails_n("{\"a\": \"x\0y\"}", 12, "f:1:7: not JSON: control character 0x0");
	fails_n("{\0}", 3, "f:1:2: expected a name in quotes, not the byte 0x00");
	fails("{\"a\": \"\xff\"}", "f:1:8: this is not UTF-8");
	fails("{\xc3\xa9}", "f:1:2: expected a name in quotes, not the byte 0xc3");
	reads("{ // \xff\xfe\n}", "{}", 0);
}

static void refuses_depth(void **state)
{
	char text[64] = "";
	struct fsc_err err = {0};
	struct fsc_jsonc d;
	char *deep = malloc(FSC_JSONC_LONGEST + 3);

	(void)state;
	memset(text, '[', 17);
	memset(text + 17, ']', 17);
	fails(text, "f:1:17: brackets are nested more than 16 deep");
	memset(text, '[', 16);
	memset(text + 16, ']', 16);
	text[32] = '\0';
	reads(text, text, 0);
	memset(deep, '[', FSC_JSONC_LONGEST + 2);
	assert_int_equal(parse_n(deep, FSC_JSONC_LONGEST, &d, &err), -EINVAL);
	fsc_jsonc_release(&d);
	assert_int_equal(parse_n(deep, FSC_JSONC_LONGEST + 1, &d, &err), -EFBIG);
	assert_string_equal(err.msg, "'f' is larger than the limit of 1048576 bytes");
	fsc_jsonc_release(&d);
	free(deep);
}

static void finds(void **state)
{
	static const char *const path[] = {"b", "c", NULL}, *const none[] = {"b", "x", NULL};
	static const char text[] = "{ \"a\": 1, // x\n  \"b\": [\n {\"no\": 1} ],\n}";
	static const char nested[] = "{\"a\":[1,2], \"b\":\n  {\"z\":1, \"c\" : true}}";
	struct fsc_jsonc_value v;
	struct fsc_jsonc_walk w;
	struct fsc_err err = {0};
	struct fsc_jsonc d;
	unsigned line, column;

	(void)state;
	assert_int_equal(parse_n(nested, strlen(nested), &d, &err), 0);
	assert_true(fsc_jsonc_find(&d, path, &v));
	assert_true(json_is_true(v.json));
	fsc_jsonc_where(&d, v.node->key, &line, &column);
	assert_int_equal(line, 2);
	assert_int_equal(column, 11);
	fsc_jsonc_where(&d, v.node->value, &line, &column);
	assert_int_equal(column, 17);
	assert_false(fsc_jsonc_find(&d, none, &v));
	fsc_jsonc_release(&d);

	assert_int_equal(parse_n(text, strlen(text), &d, &err), 0);
	w = fsc_jsonc_members(&d, fsc_jsonc_root(&d));
	assert_true(fsc_jsonc_next(&w));
	assert_string_equal(w.key, "a");
	assert_true(fsc_jsonc_next(&w));
	w = fsc_jsonc_members(&d, w.value);
	assert_true(fsc_jsonc_next(&w));
	assert_null(w.key);
	fsc_jsonc_where(&d, w.value.node->value, &line, &column);
	assert_int_equal(line, 3);
	assert_int_equal(column, 2);
	assert_false(fsc_jsonc_next(&w));
	fsc_jsonc_release(&d);
}

static void files(void **state)
{
	char dir[] = "/tmp/fsc-jsonc-XXXXXX", path[64];
	struct fsc_err err = {0};
	char *text = NULL;
	size_t n;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(fsc_jsonc_slurp(dir, "the configuration", &text, &n, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "is a directory, not a file, so it is not the "
					"configuration"));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(fsc_jsonc_slurp(path, "the configuration", &text, &n, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "is a FIFO"));
	unlink(path);
	assert_int_equal(fsc_jsonc_slurp(path, "the configuration", &text, &n, &err), -ENOENT);
	assert_int_equal(fsc_jsonc_slurp("/dev/zero", "x", &text, &n, &err), -EINVAL);
	rmdir(dir);
	assert_null(text);
	assert_int_equal(fsc_jsonc_slurp("/proc/self/status", "x", &text, &n, &err), 0);
	assert_true(n > 0 && strlen(text) == n);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(forgives),	     cmocka_unit_test(forgives_dots),
	    cmocka_unit_test(refuses),	     cmocka_unit_test(refuses_twice),
	    cmocka_unit_test(refuses_bytes), cmocka_unit_test(refuses_depth),
	    cmocka_unit_test(finds),	     cmocka_unit_test(files),
	};

	return cmocka_run_group_tests_name("jsonc", tests, NULL, NULL);
}
