/* src/cmd/run_shell.c: a command in words, and the output of one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cmd/run_shell.h"

/* Words are separated by '|' here. */
static void expect_words(const char *command, const char *words)
{
	struct fsc_err err = {0};
	char **at = NULL, text[256] = "";

	assert_int_equal(fsc_run_split(command, &at, &err), 0);
	for (size_t i = 0; at[i]; i++) {
		strcat(text, i ? "|" : "");
		strcat(text, at[i]);
	}
	assert_string_equal(text, words);
	free(at);
}

static void expect_refused(const char *command, const char *why)
{
	struct fsc_err err = {0};
	char **at = NULL;

	assert_true(fsc_run_split(command, &at, &err) < 0);
	assert_true(err.usage);
	assert_non_null(strstr(err.msg, why));
}

static void commands_are_words(void **state)
{
	(void)state;
	expect_words("ls", "ls");
	expect_words("  ls  -l\t/tmp ", "ls|-l|/tmp");
	expect_words("sh -c 'exit 3'", "sh|-c|exit 3");
	expect_words("a \"b 'c' \\\" d\" e", "a|b 'c' \" d|e");
	expect_words("a'b c'd", "ab cd");
	expect_words("a '' b", "a||b");
	expect_words("a\\ b \\'c", "a b|'c");
	expect_words("a $HOME *", "a|$HOME|*");
	expect_refused("", "empty");
	expect_refused("   ", "empty");
	expect_refused("a 'b", "not closed");
	expect_refused("a \"b\\\"", "not closed");
}

static void what_a_command_prints_is_kept(void **state)
{
	struct fsc_err err = {0};
	struct fsc_buf b = {0};
	sigset_t none;

	(void)state;
	sigemptyset(&none);
	assert_int_equal(fsc_run_shell("echo a; echo b; exit 3", &none, &b, &err), 0);
	assert_string_equal(fsc_buf_str(&b), "a\nb\n");
	fsc_buf_clear(&b);
	assert_int_equal(fsc_run_shell("kill -TERM $$; echo alive", &none, &b, &err), 0);
	assert_string_equal(fsc_buf_str(&b), "");
	fsc_buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(commands_are_words),
	    cmocka_unit_test(what_a_command_prints_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
