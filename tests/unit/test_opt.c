/* src/base/opt.h: every type of option in every spelling, and one sentence for every mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/opt.h"
#include "base/vec.h"
#include "cmd/cmd.h"

struct values {
	bool regex, reverse, hidden;
	const char *output;
	unsigned top;
	double duration;
	struct fsc_vec pids;
	int format;
};

static const char *const formats[] = {"text", "json", "csv", NULL};

static const struct fsc_opt first[] = {
    {'r', "regex", FSC_OPT_FLAG, offsetof(struct values, regex), NULL, "expressions", NULL},
    {'p', "pid", FSC_OPT_LIST, offsetof(struct values, pids), "PID", "only this process", NULL},
    {0, "reverse", FSC_OPT_FLAG, offsetof(struct values, reverse), NULL, "turn round", NULL},
    {0, "ready-fd", FSC_OPT_FLAG, offsetof(struct values, hidden), NULL, NULL, NULL},
    {0},
};

static const struct fsc_opt second[] = {
    {'o', "output", FSC_OPT_STRING, offsetof(struct values, output), "FILE", "to a file", NULL},
    {'n', "top", FSC_OPT_UINT, offsetof(struct values, top), "N", "only N rows", NULL},
    {'d', "duration", FSC_OPT_SECONDS, offsetof(struct values, duration), "SEC", "stop", NULL},
    {'f', "format", FSC_OPT_CHOICE, offsetof(struct values, format), "FORMAT", "output", formats},
    {0},
};

enum { MAX_WORDS = 16 };

struct parsed {
	struct values v;
	struct fsc_err err;
	char *argv[MAX_WORDS];
	int n, rc;
};

/* Parses the words (NULL-ended), the command's name before them. */
static struct parsed parse(const char *const *words)
{
	struct parsed p = {.v.pids = FSC_VEC_INIT(const char *), .argv = {"count"}};
	const struct fsc_opt_set sets[] = {{first, &p.v}, {second, &p.v}, {NULL, NULL}};
	int argc = 1;

	while (words[argc - 1]) {
		p.argv[argc] = (char *)words[argc - 1];
		argc++;
	}
	p.rc = fsc_opt_parse(sets, argc, p.argv, &p.n, &p.err);
	return p;
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static const char *pid(const struct parsed *p, size_t i)
{
	return *FSC_AT(const char *, &p->v.pids, i);
}

static void each_type(void **state)
{
	struct parsed p = PARSE("-r", "-p", "12", "--pid=13", "--pid", "14", "-o", "x", "-n", "7",
				"-d", "0.5", "-f", "csv");

	(void)state;
	assert_int_equal(p.rc, 0);
	assert_int_equal(p.n, 0);
	assert_true(p.v.regex && !p.v.reverse);
	assert_int_equal(p.v.pids.n, 3);
	assert_string_equal(pid(&p, 0), "12");
	assert_string_equal(pid(&p, 1), "13");
	assert_string_equal(pid(&p, 2), "14");
	assert_string_equal(p.v.output, "x");
	assert_int_equal(p.v.top, 7);
	assert_true(p.v.duration == 0.5);
	assert_int_equal(p.v.format, 2);
	fsc_vec_release(&p.v.pids);
}

static void short_forms(void **state)
{
	struct parsed p = PARSE("-rp12", "-n7", "-oa=b");

	(void)state;
	assert_int_equal(p.rc, 0);
	assert_true(p.v.regex);
	assert_string_equal(pid(&p, 0), "12");
	assert_int_equal(p.v.top, 7);
	assert_string_equal(p.v.output, "a=b");
	fsc_vec_release(&p.v.pids);
}

static void options_and_operands_in_any_order(void **state)
{
	struct parsed p = PARSE("one", "-n", "3", "two", "--reverse", "three", "-");

	(void)state;
	assert_int_equal(p.rc, 0);
	assert_int_equal(p.n, 4);
	assert_string_equal(p.argv[1], "one");
	assert_string_equal(p.argv[2], "two");
	assert_string_equal(p.argv[3], "three");
	assert_string_equal(p.argv[4], "-");
	assert_int_equal(p.v.top, 3);
	assert_true(p.v.reverse);
}

static void what_is_not_given_stays(void **state)
{
	struct parsed p = PARSE("only");

	(void)state;
	assert_int_equal(p.rc, 0);
	assert_null(p.v.output);
	assert_int_equal(p.v.top, 0);
	assert_int_equal(p.v.pids.n, 0);
}

static void the_last_value_wins(void **state)
{
	struct parsed p = PARSE("-n", "1", "-n", "2", "--output=", "-f", "csv", "--format", "text");

	(void)state;
	assert_int_equal(p.rc, 0);
	assert_int_equal(p.v.top, 2);
	assert_string_equal(p.v.output, "");
	assert_int_equal(p.v.format, 0);
}

static void abbreviations(void **state)
{
	struct parsed p = PARSE("--rev", "--dur", "2", "--f", "json");

	(void)state;
	assert_int_equal(p.rc, 0);
	assert_true(p.v.reverse && !p.v.regex);
	assert_true(p.v.duration == 2);
	assert_int_equal(p.v.format, 1);
}

static void hidden_options_work(void **state)
{
	struct parsed p = PARSE("--ready-fd");

	(void)state;
	assert_int_equal(p.rc, 0);
	assert_true(p.v.hidden);
}

static void wrong(struct parsed p, const char *text, int line)
{
	fsc_vec_release(&p.v.pids);
	if (p.rc != -EINVAL || !p.err.usage || !strstr(p.err.msg, text))
		fail_msg("line %d: %d '%s', not '%s'", line, p.rc, p.err.msg, text);
}

#define WRONG(text, ...) wrong(PARSE(__VA_ARGS__), text, __LINE__)

static void missing_arguments(void **state)
{
	(void)state;
	WRONG("'-p' needs PID", "-p");
	WRONG("'--pid' needs PID", "a", "--pid");
	WRONG("'-rn' needs N", "-rn");
	WRONG("'--format' needs FORMAT", "--format");
}

static void unknown_options(void **state)
{
	struct parsed p = PARSE("--reday-fd");

	(void)state;
	WRONG("unknown option '-Q'", "-Q");
	WRONG("unknown option '-Q'", "a", "-rQ", "b");
	WRONG("unknown option '--fromat'; did you mean '--format'?", "--fromat", "json");
	WRONG("unknown option '--fromat'; did you mean '--format'?", "x", "--fromat=json");
	WRONG("unknown option '--zzz'; see --help", "--zzz");
	/* not advertised, so not proposed */
	assert_int_equal(p.rc, -EINVAL);
	assert_null(strstr(p.err.msg, "ready"));
}

static void a_long_unknown_option_is_cut(void **state)
{
	char word[3000] = "--";
	struct parsed p;

	(void)state;
	memset(word + 2, 'x', sizeof(word) - 3);
	p = PARSE(word);
	assert_int_equal(p.rc, -EINVAL);
	assert_non_null(strstr(p.err.msg, "--help"));
}

/* The message must speak of what is wrong, not call a known option unknown. */
static void known_options_used_wrongly(void **state)
{
	struct parsed p = PARSE("--regex=yes"), q = PARSE("--re");

	(void)state;
	assert_int_equal(p.rc, -EINVAL);
	assert_null(strstr(p.err.msg, "unknown"));
	assert_non_null(strstr(p.err.msg, "--regex"));
	assert_int_equal(q.rc, -EINVAL); /* regex, reverse or ready-fd? */
	assert_non_null(strstr(q.err.msg, "'--re'"));
}

static void numbers(void **state)
{
	static const char *const bad[] = {"",
					  "x",
					  "7x",
					  "-1",
					  "1.5",
					  "4294967296",
					  "1e99",
					  "nan",
					  "inf",
					  "0x",
					  "99999999999999999999"};

	(void)state;
	assert_int_equal(PARSE("-n", "0").v.top, 0);
	assert_int_equal(PARSE("-n", "4294967295").v.top, 4294967295u);
	assert_int_equal(PARSE("-n", "1e3").v.top, 1000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct parsed p = PARSE("--top", bad[i]);
		char quoted[40];

		snprintf(quoted, sizeof(quoted), "not '%s'", bad[i]);
		wrong(p, quoted, __LINE__);
		assert_non_null(strstr(p.err.msg, "--top takes "));
	}
}

static void seconds(void **state)
{
	static const char *const bad[] = {"",	 "x",	 "0",	 "-1", "0.0",  "nan",
					  "inf", "-inf", "1e10", "1s", "1e999"};

	(void)state;
	assert_true(PARSE("-d", "0.001").v.duration == 0.001);
	assert_true(PARSE("-d", "1e9").v.duration == 1e9);
	/* a timer of zero would never fire */
	assert_true(PARSE("-d", "1e-12").v.duration >= 1e-9);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		wrong(PARSE("-d", bad[i]), "--duration takes ", __LINE__);
}

static void choices(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-f", "text").v.format, 0);
	WRONG("--format takes text, json or csv, not 'xml'", "-f", "xml");
	WRONG("not ''", "-f", "");
	WRONG("not 'JSON'", "-f", "JSON");
	WRONG("not 'js'", "-f", "js"); /* values are not abbreviated */
}

static void parsing_again(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-Q").rc, -EINVAL);
	assert_int_equal(PARSE("-r", "x").n, 1);
	assert_int_equal(PARSE("-p").rc, -EINVAL);
	assert_int_equal(PARSE("x", "-r", "y").n, 2);
}

static void no_words_at_all(void **state)
{
	struct parsed p = parse((const char *const[]){NULL});

	(void)state;
	assert_int_equal(p.rc, 0);
	assert_int_equal(p.n, 0);
}

static void help_lists_what_is_advertised(void **state)
{
	struct fsc_buf b = {0};

	(void)state;
	fsc_opt_help(first, &b);
	fsc_opt_help(second, &b);
	assert_string_equal(fsc_buf_str(&b),
			    "  -r, --regex               expressions\n"
			    "  -p, --pid PID             only this process\n"
			    "      --reverse             turn round\n"
			    "  -o, --output FILE         to a file\n"
			    "  -n, --top N               only N rows\n"
			    "  -d, --duration SEC        stop\n"
			    "  -f, --format FORMAT       output: text, json, csv\n");
	fsc_buf_release(&b);
}

static void help_of_a_long_option_breaks_the_line(void **state)
{
	static const struct fsc_opt opts[] = {
	    {0, "a-very-long-option-name", FSC_OPT_STRING, 0, "ARGUMENT", "helps", NULL},
	    {0},
	};
	struct fsc_buf b = {0};

	(void)state;
	fsc_opt_help(opts, &b);
	assert_string_equal(fsc_buf_str(&b), "      --a-very-long-option-name ARGUMENT\n"
					     "                            helps\n");
	fsc_buf_release(&b);
}

/* The real tables: no letter and no name twice in one command, an argument where the type needs
 * one, every row of the help within 80 columns. */
static void check_tables(const struct fsc_cmd *cmd)
{
	bool letters[256] = {false};
	size_t n = 0;
	const char *names[64];

	for (const struct fsc_opt *const *t = cmd->opts; *t; t++)
		for (const struct fsc_opt *o = *t; o->name; o++) {
			assert_true(!o->arg == (o->type == FSC_OPT_FLAG));
			assert_true((o->type == FSC_OPT_CHOICE) == (o->choices != NULL));
			if (o->letter && letters[(unsigned char)o->letter])
				fail_msg("%s: -%c twice", cmd->name, o->letter);
			letters[(unsigned char)o->letter] = o->letter != 0;
			for (size_t i = 0; i < n; i++)
				assert_string_not_equal(names[i], o->name);
			assert_true(n < 64);
			names[n++] = o->name;
		}
}

static void the_commands_own_tables(void **state)
{
	(void)state;
	for (const struct fsc_cmd *const *c = fsc_cmds; *c; c++) {
		struct fsc_buf b = {0};
		size_t column = 0;

		check_tables(*c);
		for (const struct fsc_opt *const *t = (*c)->opts; *t; t++) {
			fsc_opt_help(*t, &b);
			for (const struct fsc_opt *o = *t; o->name; o++)
				if (o->help && !strstr(fsc_buf_str(&b), o->name))
					fail_msg("%s --help has no --%s", (*c)->name, o->name);
		}
		for (size_t i = 0; i < b.n; i++) {
			column = b.s[i] == '\n' ? 0 : column + 1;
			if (column > 80)
				fail_msg("%s --help is wider than 80 columns: %.*s", (*c)->name, 80,
					 b.s + i + 1 - column);
		}
		fsc_buf_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_type),
	    cmocka_unit_test(short_forms),
	    cmocka_unit_test(options_and_operands_in_any_order),
	    cmocka_unit_test(what_is_not_given_stays),
	    cmocka_unit_test(the_last_value_wins),
	    cmocka_unit_test(abbreviations),
	    cmocka_unit_test(hidden_options_work),
	    cmocka_unit_test(missing_arguments),
	    cmocka_unit_test(unknown_options),
	    cmocka_unit_test(a_long_unknown_option_is_cut),
	    cmocka_unit_test(known_options_used_wrongly),
	    cmocka_unit_test(numbers),
	    cmocka_unit_test(seconds),
	    cmocka_unit_test(choices),
	    cmocka_unit_test(parsing_again),
	    cmocka_unit_test(no_words_at_all),
	    cmocka_unit_test(help_lists_what_is_advertised),
	    cmocka_unit_test(help_of_a_long_option_breaks_the_line),
	    cmocka_unit_test(the_commands_own_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
