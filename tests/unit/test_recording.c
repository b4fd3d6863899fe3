/* src/source/recording.h: what `time` writes is read, what was cut off is read as far as it is
 * whole, and everything else is one sentence with file and line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/recording.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

#define HEAD	"{\"type\":\"latency\",\"kind\":\"uprobe\",\"binary\":\"/bin/p\",\"function\":\"f\""
#define NUMBERS ",\"count\":3,\"total_ns\":300,\"min_ns\":90,\"max_ns\":110"
#define BINS	",\"buckets\":[[88,92,1],[104,108,2]]}\n"
#define ROW	HEAD ",\"time_ns\":1" NUMBERS BINS
#define SUMMARY "{\"type\":\"summary\",\"seen\":3}\n"

static char path[] = "/tmp/test_recording.XXXXXX";

static void put(const char *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	close(fd);
}

static int read_it(struct fsc_recording *r, bool *cut, struct fsc_err *err)
{
	*err = (struct fsc_err){0};
	return fsc_recording_read(path, r, cut, err);
}

static void expect_blocks(const char *text, size_t blocks, bool want_cut)
{
	struct fsc_recording r;
	struct fsc_err err;
	bool cut;

	put(text, strlen(text));
	if (read_it(&r, &cut, &err))
		fail_msg("%s: %s", text, err.msg);
	assert_int_equal(r.functions.n, 1);
	assert_int_equal(FSC_AT(struct fsc_recorded, &r.functions, 0)->blocks.n, blocks);
	assert_int_equal(cut, want_cut);
	fsc_recording_release(&r);
}

static void rows_are_read(void **state)
{
	struct fsc_recording r;
	struct fsc_err err;
	const struct fsc_recorded *f;
	const struct fsc_block *b;
	bool cut;

	(void)state;
	put(ROW SUMMARY, strlen(ROW SUMMARY));
	assert_int_equal(read_it(&r, &cut, &err), 0);
	f = FSC_AT(struct fsc_recorded, &r.functions, 0);
	assert_string_equal(f->kind, "uprobe");
	assert_string_equal(f->binary, "p");
	assert_string_equal(f->function, "f");
	b = FSC_AT(struct fsc_block, &f->blocks, 0);
	assert_true(b->count == 3 && b->total_ns == 300 && b->min_ns == 90 && b->max_ns == 110);
	assert_int_equal(b->bins.n, 2);
	assert_true(FSC_AT(struct fsc_bin, &b->bins, 1)->low == 104);
	assert_int_equal(FSC_AT(struct fsc_bin, &b->bins, 1)->n, 2);
	assert_false(cut);
	fsc_recording_release(&r);
}

static void what_is_allowed(void **state)
{
	(void)state;
	/* fractions, other types, keys of --by, blank lines, rows without calls */
	expect_blocks(HEAD NUMBERS ",\"buckets\":[[0.5,0.75,1],[0.75,1.5,2]],\"pid\":7}\n" SUMMARY,
		      1, false);
	expect_blocks("{\"type\":\"call\",\"x\":[]}\n\n \r\n" ROW SUMMARY, 1, false);
	expect_blocks(ROW HEAD ",\"time_ns\":1,\"pid\":8" NUMBERS BINS SUMMARY, 1, false);
	expect_blocks(ROW HEAD ",\"time_ns\":2" NUMBERS BINS SUMMARY, 2, false);
	expect_blocks(ROW HEAD ",\"count\":0,\"total_ns\":0,\"min_ns\":0,\"max_ns\":0,\"buckets\":"
			       "[]}\n" SUMMARY,
		      1, false);
	/* calls whose bucket was not counted yet when it was read: part of what comes next */
	expect_blocks(HEAD ",\"time_ns\":1" NUMBERS ",\"buckets\":[]}\n" HEAD
			   ",\"time_ns\":2" NUMBERS BINS SUMMARY,
		      1, false);
}

static void what_was_cut_off(void **state)
{
	(void)state;
	expect_blocks(ROW, 1, true);
	expect_blocks(ROW HEAD ",\"time_ns\":2,\"cou", 1, true);
	expect_blocks(ROW "{\"type\":\"summ", 1, true);
	expect_blocks(ROW "{\"type\":\"summary\"}", 1, false); /* but for the newline, whole */
	expect_blocks(ROW SUMMARY "{", 1, true);
}

static void expect_error(const char *bytes, size_t n, const char *line, const char *says)
{
	struct fsc_recording r;
	struct fsc_err err;
	char where[80];
	bool cut;
	int rc;

	put(bytes, n);
	rc = read_it(&r, &cut, &err);
	snprintf(where, sizeof(where), "%s%s", path, line);
	if (rc != -EINVAL || !strstr(err.msg, where) || !strstr(err.msg, says))
		fail_msg("'%.80s': %d '%s', expected '%s' and '%s'", bytes, rc, err.msg, where,
			 says);
}

static void hostile_lines(void **state)
{
	static const struct {
		const char *text, *line, *says;
	} rows[] = {
	    {"", "", "holds no durations"},
	    {SUMMARY, "", "holds no durations"},
	    {"hello\n", ":1:", "not JSON"},
	    {ROW "hello\n" SUMMARY, ":2:", "not JSON"},
	    {"[1,2]\n", ":1:", "\"type\""},
	    {"{}\n", ":1:", "\"type\""},
	    {"{\"type\":3}\n", ":1:", "\"type\""},
	    {"{\"type\":\"latency\"}\n", ":1:", "\"kind\""},
	    {"{\"type\":\"latency\",\"type\":\"x\"}\n", ":1:", "not JSON: duplicate"},
	    {HEAD NUMBERS "}\n", ":1:", "\"buckets\""},
	    {HEAD BINS, ":1:", "\"count\""},
	    {HEAD ",\"count\":-3" BINS, ":1:", "\"count\""},
	    {HEAD ",\"count\":1e3" BINS, ":1:", "\"count\""},
	    {HEAD ",\"count\":99999999999999999999" BINS, ":1:", "not JSON"},
	    {HEAD ",\"count\":9999999999999999" BINS, ":1:", "\"count\""},
	    {HEAD ",\"count\":3,\"total_ns\":-1" BINS, ":1:", "\"total_ns\""},
	    {HEAD ",\"count\":3,\"total_ns\":1e308" BINS, ":1:", "\"total_ns\""},
	    {HEAD ",\"count\":3,\"total_ns\":1e999" BINS, ":1:", "not JSON"},
	    {HEAD ",\"count\":3,\"total_ns\":NaN" BINS, ":1:", "not JSON"},
	    {HEAD ",\"count\":3,\"total_ns\":\"9\"" BINS, ":1:", "\"total_ns\""},
	    {HEAD ",\"count\":3,\"total_ns\":9,\"min_ns\":9,\"max_ns\":8" BINS,
	     ":1:", "\"min_ns\""},
	    {HEAD ",\"time_ns\":-1" NUMBERS BINS, ":1:", "\"time_ns\""},
	    {HEAD NUMBERS ",\"buckets\":{}}\n", ":1:", "\"buckets\""},
	    {HEAD NUMBERS ",\"buckets\":[7]}\n", ":1:", "\"buckets\""},
	    {HEAD NUMBERS ",\"buckets\":[[1,2]]}\n", ":1:", "\"buckets\""},
	    {HEAD NUMBERS ",\"buckets\":[[2,1,1]]}\n", ":1:", "\"buckets\""},
	    {HEAD NUMBERS ",\"buckets\":[[1,2,-1]]}\n", ":1:", "\"buckets\""},
	    {HEAD NUMBERS ",\"buckets\":[[1,1e300,1]]}\n", ":1:", "\"buckets\""},
	    {HEAD NUMBERS ",\"buckets\":[[4,8,1],[1,2,1]]}\n", ":1:", "\"buckets\""},
	    {ROW SUMMARY ROW, ":3:", "after its summary"},
	    {"\xff\xfe\n", ":1:", "not JSON"},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++)
		expect_error(rows[i].text, strlen(rows[i].text), rows[i].line, rows[i].says);
	expect_error("\0\0\0\n", 4, ":1:", "not JSON");
	expect_error("{\"type\":\"a\0b\"}\n", 15, ":1:", "not JSON");
}

static void nesting_and_length(void **state)
{
	size_t n = 3 << 20;
	char *text = malloc(n);

	(void)state;
	assert_non_null(text);
	memset(text, '[', n);
	text[500000] = '\n';
	expect_error(text, n, ":1:", "not JSON");
	memset(text, '[', n);
	expect_error(text, n, ":1:", "a line of more than 1048576 bytes");
	free(text);
}

static void not_a_file(void **state)
{
	struct fsc_recording r;
	struct fsc_err err = {0};
	char fifo[80];
	bool cut;

	(void)state;
	assert_int_equal(fsc_recording_read("/nonexistent/x", &r, &cut, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nonexistent/x"));
	assert_int_equal(fsc_recording_read("/", &r, &cut, &err), -EINVAL);
	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(fsc_recording_read(fifo, &r, &cut, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "not a file"));
	unlink(fifo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_are_read),	  cmocka_unit_test(what_is_allowed),
	    cmocka_unit_test(what_was_cut_off),	  cmocka_unit_test(hostile_lines),
	    cmocka_unit_test(nesting_and_length), cmocka_unit_test(not_a_file),
	};
	int fd = mkstemp(path), failed;

	if (fd < 0)
		return 1;
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
