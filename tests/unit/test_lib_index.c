/* monitor/lib_index: entries by base name, path, link and glob. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "monitor/lib_index.h"

static char top[64]; /* the current directory, without links */

static int enter_top(void **state)
{
	char *real;

	(void)state;
	snprintf(top, sizeof(top), "/tmp/test_lib_index.XXXXXX");
	if (!mkdtemp(top) || chdir(top))
		return 1;
	real = realpath(top, NULL);
	snprintf(top, sizeof(top), "%s", real ? real : "");
	free(real);
	return 0;
}

static int leave_top(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return chdir("/") || system(command);
}

static void make_file(const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fclose(f);
}

static struct fsc_lib_index *index_of(struct fsc_snoop_config *c, const char *text)
{
	struct fsc_lib_index *x = NULL;
	struct fsc_err err = {0};

	memset(c, 0, sizeof(*c));
	if (fsc_snoop_config_parse(text, strlen(text), "test", c, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(fsc_lib_index_new(c, &x, &err), 0);
	return x;
}

static int add_digit(size_t entry, void *arg)
{
	char *to = arg;
	char digit[2] = {(char)('0' + entry), 0};

	if (!strchr(to, digit[0]))
		strcat(to, digit);
	return 0;
}

/* The entries of a file, as digits. */
static const char *found(struct fsc_lib_index *x, const char *path)
{
	static char digits[16];

	digits[0] = '\0';
	assert_int_equal(fsc_lib_index_each(x, path, add_digit, digits), 0);
	assert_int_equal(fsc_lib_index_has(x, path), digits[0] != '\0');
	return digits;
}

static void names_and_globs(void **state)
{
	struct fsc_snoop_config c;
	struct fsc_lib_index *x =
	    index_of(&c, "{\"custom_sym\": {\"a\": {\"symbol\": \"a\", \"library\": \"libone.so\"},"
			 "\"b\": {\"symbol\": \"b\", \"library\": \"libone.so*\"},"
			 "\"c\": {\"symbol\": \"c\", \"library\": \"/opt/*/libone.so\"},"
			 "\"d\": {\"symbol\": \"d\"}}, \"libc_func_sym\": {\"e\": \"e\"}}");

	(void)state;
	assert_string_equal(found(x, "/lib/libone.so"), "01");
	assert_string_equal(found(x, "/lib/libone.so.1"), "1");
	assert_string_equal(found(x, "/opt/x/libone.so"), "012");
	assert_string_equal(found(x, "/opt/x/y/libone.so"), "012");
	assert_string_equal(found(x, "/lib/libtwo.so"), "");
	assert_string_equal(found(x, "/lib/libc.so.6"), "4");
	assert_string_equal(found(x, "/lib/libone.so*"), "1");
	fsc_lib_index_free(x);
	fsc_snoop_config_release(&c);
}

static const char *in_top(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static void paths_and_links(void **state)
{
	struct fsc_lib_name name;
	struct fsc_snoop_config c;
	struct fsc_lib_index *x;

	(void)state;
	make_file("real");
	assert_int_equal(symlink("real", "link"), 0);
	x = index_of(&c, "{\"custom_sym\": {\"a\": {\"symbol\": \"a\", \"library\": \"./link\"},"
			 "\"b\": {\"symbol\": \"b\", \"library\": \"./real\"},"
			 "\"c\": {\"symbol\": \"c\", \"library\": \"./later\"},"
			 "\"d\": {\"symbol\": \"d\", \"library\": \"./link\"},"
			 "\"e\": {\"symbol\": \"e\", \"library\": \"/usr/lib/libe.so\"}}}");
	assert_int_equal(strlen(found(x, in_top("real"))), 3); /* a, b and d, in any order */
	assert_string_equal(found(x, in_top("link")), "");
	assert_string_equal(found(x, in_top("later")), "");
	assert_string_equal(found(x, "/usr/lib/libe.so"), "4");
	assert_true(fsc_lib_index_names(x, "./link"));
	assert_false(fsc_lib_index_names(x, in_top("link")));
	assert_true(fsc_lib_index_name(x, 0, &name));
	assert_string_equal(name.text, "./link");
	assert_string_equal(name.real, in_top("real"));
	assert_true(fsc_lib_index_name(x, 2, &name));
	assert_string_equal(name.text, "./later");
	assert_null(name.real);
	assert_true(fsc_lib_index_name(x, 3, &name));
	assert_false(fsc_lib_index_name(x, 4, &name)); /* each once */
	make_file("later");
	assert_int_equal(fsc_lib_index_resolve(x, NULL), 0);
	assert_string_equal(found(x, in_top("later")), "2");
	fsc_lib_index_free(x);
	fsc_snoop_config_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_and_globs),
	    cmocka_unit_test(paths_and_links),
	};

	return cmocka_run_group_tests(tests, enter_top, leave_top);
}
