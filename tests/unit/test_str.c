/* src/base/str.h: patterns and durations as people type them, the last component of a path, the
 * distance between names, and the names offered to somebody who mistyped one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

struct match {
	const char *pattern, *name;
	bool match;
};

static void check(const struct match *m, size_t n, bool regex)
{
	for (size_t i = 0; i < n; i++) {
		struct fsc_pattern p;

		assert_int_equal(fsc_pattern_init(&p, m[i].pattern, regex, NULL), 0);
		if (fsc_pattern_match(&p, m[i].name) != m[i].match)
			fail_msg("'%s' on '%s'", m[i].pattern, m[i].name);
		fsc_pattern_release(&p);
	}
}

static void globs_cover_the_whole_name(void **state)
{
	static const struct match all[] = {
	    {"vfs_*", "vfs_read", true},
	    {"vfs_*", "vfs_", true},
	    {"vfs_*", "xvfs_read", false},
	    {"*_read", "vfs_read", true},
	    {"*_read", "vfs_readv", false},
	    {"*", "", true},
	    {"*", ".hidden", true},
	    {"*", "a/b", true},
	    {"?", "a", true},
	    {"?", "", false},
	    {"?", "ab", false},
	    {"vfs_[rw]*", "vfs_write", true},
	    {"vfs_[rw]*", "vfs_open", false},
	    {"vfs_[!rw]*", "vfs_open", true},
	    {"f[0-9]", "f7", true},
	    {"f[0-9]", "fx", false},
	    {"a\\*b", "a*b", true},
	    {"a\\*b", "axb", false},
	    {"Vec::operator[]", "Vec::operator[]", true},
	    {"operator[]*", "operator[](int)", true},
	    {"*Read", "vfs_read", false},
	};

	(void)state;
	check(all, sizeof(all) / sizeof(all[0]), false);
}

static void an_open_bracket_is_a_usage_error(void **state)
{
	struct fsc_err err = {0};
	struct fsc_pattern p;

	(void)state;
	assert_int_equal(fsc_pattern_init(&p, "vfs_[rw", false, &err), -EINVAL);
	assert_true(err.usage);
	assert_non_null(strstr(err.msg, "vfs_[rw"));
	/* in an expression it is regcomp's to judge */
	assert_int_equal(fsc_pattern_init(&p, "vfs_[rw]", true, &err), 0);
	fsc_pattern_release(&p);
}

static void plain_names_are_exact(void **state)
{
	static const struct match all[] = {
	    {"malloc", "malloc", true},
	    {"malloc", "mallocx", false},
	    {"malloc", "Malloc", false},
	    {"a.b", "axb", false},
	    {"", "", true},
	    {"", "x", false},
	    {"a\\b", "a\\b", true},
	    {"f(int)", "f(int)", true},
	    {"^f$", "f", false},
	};

	(void)state;
	check(all, sizeof(all) / sizeof(all[0]), false);
}

static void expressions_match_anywhere(void **state)
{
	static const struct match all[] = {
	    {"read", "vfs_readv", true},
	    {"^read", "vfs_readv", false},
	    {"read$", "vfs_readv", false},
	    {"^vfs_(read|write)$", "vfs_write", true},
	    {"^vfs_(read|write)$", "vfs_writev", false},
	    {"a{2,3}", "baab", true},
	    {"a{2,3}", "bab", false},
	    {"a.b", "axb", true},
	    {"ns::f+", "ns::fff", true},
	    {"", "anything", true},
	    {"[[:digit:]]", "abc4", true},
	    {"read*", "rea", true},
	};

	(void)state;
	check(all, sizeof(all) / sizeof(all[0]), true);
}

static void only_plain_names_are_exact(void **state)
{
	static const struct {
		const char *text;
		bool regex, exact;
	} all[] = {{"malloc", false, true},
		   {"mal*", false, false},
		   {"m?", false, false},
		   {"[m]", false, false},
		   {"malloc", true, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct fsc_pattern p;

		assert_int_equal(fsc_pattern_init(&p, all[i].text, all[i].regex, NULL), 0);
		assert_int_equal(fsc_pattern_exact(&p), all[i].exact);
		fsc_pattern_release(&p);
	}
}

static void a_broken_expression_is_a_usage_error(void **state)
{
	static const char *const broken[] = {"(", "a[", "a{3,1}", "*a(", "[[:nope:]]", "a\\"};

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct fsc_pattern p;
		struct fsc_err err = {0};

		assert_int_equal(fsc_pattern_init(&p, broken[i], true, &err), -EINVAL);
		assert_true(err.usage);
		assert_non_null(strstr(err.msg, broken[i]));
		assert_non_null(strstr(err.msg, "is not a regular expression: "));
		fsc_pattern_release(&p); /* a failed one may be released, too */
	}
}

static void release_twice(void **state)
{
	struct fsc_pattern p;

	(void)state;
	assert_int_equal(fsc_pattern_init(&p, "a|b", true, NULL), 0);
	fsc_pattern_release(&p);
	fsc_pattern_release(&p);
}

static void distances(void **state)
{
	static const struct {
		const char *a, *b;
		int limit, d;
	} all[] = {
	    {"malloc", "malloc", 3, 0},	 {"", "", 0, 0},
	    {"malloc", "maloc", 3, 1},	 {"maloc", "malloc", 3, 1},
	    {"malloc", "nalloc", 3, 1},	 {"malloc", "mallco", 3, 1}, /* neighbours swapped */
	    {"ab", "ba", 3, 1},		 {"abcd", "badc", 3, 2},
	    {"", "abc", 3, 3},		 {"abc", "", 3, 3},
	    {"", "abcd", 3, 4},		 {"kitten", "sitting", 3, 3},
	    {"kitten", "sitting", 2, 3}, {"malloc", "free", 1, 2},
	    {"malloc", "mallocc", 0, 1}, {"malloc", "mallod", 0, 1},
	    {"acb", "abc", 1, 1},	 {"vfs_raed", "vfs_read", 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int d = fsc_str_distance(all[i].a, all[i].b, all[i].limit);

		if (d != all[i].d)
			fail_msg("'%s' to '%s': %d", all[i].a, all[i].b, d);
		assert_int_equal(fsc_str_distance(all[i].b, all[i].a, all[i].limit), d);
	}
}

static void long_names_do_not_overflow(void **state)
{
	char a[300], b[300];

	(void)state;
	for (int n = 90; n < 299; n++) {
		memset(a, 'a', sizeof(a));
		memset(b, 'a', sizeof(b));
		a[n] = b[n] = '\0';
		b[0] = 'b';
		assert_in_range(fsc_str_distance(a, b, 3), 1, 4);
		if (n <= 94)
			assert_int_equal(fsc_str_distance(a, b, 3), 1);
	}
}

static const char *offered(const char *wanted, const char *const *names, char *text, size_t size)
{
	struct fsc_nearest n = {.wanted = wanted};

	for (; *names; names++)
		fsc_nearest_offer(&n, *names);
	fsc_nearest_text(&n, text, size);
	return text;
}

static void nearest_first_and_at_most_three(void **state)
{
	char text[540];

	(void)state;
#define OFFERED(wanted, ...)                                                                       \
	offered(wanted, (const char *const[]){__VA_ARGS__, NULL}, text, sizeof(text))
	assert_string_equal(OFFERED("maloc", "free", "calloc"), "'calloc'");
	assert_string_equal(OFFERED("maloc", "calloc", "malloc"), "'malloc' or 'calloc'");
	assert_string_equal(OFFERED("maloc", "valloc", "malloc", "calloc"),
			    "'malloc', 'valloc' or 'calloc'");
	assert_string_equal(OFFERED("maloc", "valloc", "xalloc", "calloc", "malloc"),
			    "'malloc', 'valloc' or 'xalloc'");
	assert_string_equal(OFFERED("maloc", "malloc", "malloc", "malloc"), "'malloc'");
	assert_string_equal(OFFERED("mallco", "malloc"), "'malloc'");
	/* a part of a name is offered, behind small slips and before large ones */
	assert_string_equal(OFFERED("vfs_read", "my_vfs_read_it", "vfs_raed"),
			    "'vfs_raed' or 'my_vfs_read_it'");
	assert_string_equal(OFFERED("xy", "axyb"), "");
	/* short names forgive less */
	assert_string_equal(OFFERED("abc", "axy"), "");
	assert_string_equal(OFFERED("abc", "abx"), "'abx'");
	assert_string_equal(OFFERED("read", "write"), "");
#undef OFFERED
}

static void nearest_of_nothing_is_empty(void **state)
{
	struct fsc_nearest n = {.wanted = "x"};
	char text[4] = "abc";

	(void)state;
	fsc_nearest_text(&n, text, sizeof(text));
	assert_string_equal(text, "");
}

static void nearest_text_is_cut_not_overrun(void **state)
{
	struct fsc_nearest n = {.wanted = "some_function"};
	char name[400], text[20];

	(void)state;
	memset(name, 'x', sizeof(name));
	memcpy(name, "some_function", 13);
	name[399] = '\0';
	fsc_nearest_offer(&n, name);
	fsc_nearest_offer(&n, "some_functiom");
	fsc_nearest_text(&n, text, sizeof(text));
	assert_true(strlen(text) == sizeof(text) - 1);
	assert_memory_equal(text, "'some_functiom'", 15);
	assert_int_equal(strlen(n.best[1].name), sizeof(n.best[1].name) - 1);
}

static void the_last_component_of_a_path(void **state)
{
	(void)state;
	assert_string_equal(fsc_str_base("/usr/lib/libc.so.6"), "libc.so.6");
	assert_string_equal(fsc_str_base("libc.so.6"), "libc.so.6");
	assert_string_equal(fsc_str_base("/usr/lib/"), "/usr/lib/");
	assert_string_equal(fsc_str_base(""), "");
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		double ns;
	} all[] = {
	    {"0", 0},	   {"0.0", 0},	    {"0ms", 0},	    {"1ns", 1},	   {"007us", 7e3},
	    {"10ms", 1e7}, {"1.5s", 1.5e9}, {"0.5us", 500}, {"2m", 120e9}, {"3.ns", 3},
	};
	double ns;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		ns = -1;
		if (!fsc_str_duration(all[i].text, strlen(all[i].text), &ns) || ns != all[i].ns)
			fail_msg("'%s' is %g", all[i].text, ns);
	}
	/* no more than n letters are looked at */
	assert_true(fsc_str_duration("10ms,500us", 4, &ns));
	assert_true(ns == 1e7);
	assert_true(fsc_str_duration("0,10ms", 1, &ns));
	assert_true(ns == 0);
}

static void what_is_no_duration(void **state)
{
	static const char *const all[] = {
	    "",
	    "5",
	    "1.5",
	    "ms",
	    ".5ms",
	    "-1ms",
	    "+1ms",
	    "1 ms",
	    "1msx",
	    "1M",
	    "1h",
	    "1MS",
	    "1min",
	    "1.2.3ms",
	    "0.0.0",
	    "0..",
	    "1e3ms",
	    "0x10ns",
	    "infs",
	    "nans",
	    "1n",
	    "1,5ms",
	    " 1ms",
	    "1ms ",
	    "99999999999999999999s",
	    "1000000000000000000000000000000000000000ns",
	};
	double ns;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (fsc_str_duration(all[i], strlen(all[i]), &ns))
			fail_msg("'%s' is taken for %g ns", all[i], ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_open_bracket_is_a_usage_error),
	    cmocka_unit_test(globs_cover_the_whole_name),
	    cmocka_unit_test(plain_names_are_exact),
	    cmocka_unit_test(expressions_match_anywhere),
	    cmocka_unit_test(only_plain_names_are_exact),
	    cmocka_unit_test(a_broken_expression_is_a_usage_error),
	    cmocka_unit_test(release_twice),
	    cmocka_unit_test(distances),
	    cmocka_unit_test(long_names_do_not_overflow),
	    cmocka_unit_test(nearest_first_and_at_most_three),
	    cmocka_unit_test(nearest_of_nothing_is_empty),
	    cmocka_unit_test(nearest_text_is_cut_not_overrun),
	    cmocka_unit_test(the_last_component_of_a_path),
	    cmocka_unit_test(durations),
	    cmocka_unit_test(what_is_no_duration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
