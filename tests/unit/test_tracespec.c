/* The grammar of `trace`: BCC's examples, where errors point to, and input made to hurt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/spec.h"
#include "probe/tracespec.h"

static void examples_of_bcc(void **state)
{
	static const struct {
		const char *text, *probe;
		bool predicate;
		size_t params, values;
	} cases[] = {
	    {"do_sys_open \"%s\", arg2", "do_sys_open", false, 0, 1},
	    {"do_sys_open \"%s\", arg2@user", "do_sys_open", false, 0, 1},
	    {"::do_sys_open \"%s\", arg2@user", "p::do_sys_open", false, 0, 1},
	    {"::sys_read (arg3 > 20000) \"read %d bytes\", arg3", "p::sys_read", true, 0, 1},
	    {"p::vfs_read (arg3 > 20000) \"read %d bytes\", arg3", "p::vfs_read", true, 0, 1},
	    {"r::do_sys_open \"ret: %d\", retval", "r::do_sys_open", false, 0, 1},
	    {"r:bash:readline \"%s\", retval", "r:bash:readline", false, 0, 1},
	    {"r:c:read ((int)retval < 0) \"read failed: %d\", retval", "r:c:read", true, 0, 1},
	    {"c:open (arg2 == 42) \"%s %d\", arg1, arg2", "c:open", true, 0, 2},
	    {":c:malloc \"size = %d\", arg1", "p:c:malloc", false, 0, 1},
	    {":malloc \"size = %d\", arg1", ":malloc", false, 0, 1},
	    {"c:malloc \"size = %d\", arg1", "c:malloc", false, 0, 1},
	    {"p:c:write (arg1 == 1) \"writing %d bytes to STDOUT\", arg3", "p:c:write", true, 0, 1},
	    {"r::__kmalloc (retval == 0) \"kmalloc failed!\"", "r::__kmalloc", true, 0, 0},
	    {"r:c:malloc (retval) \"allocated = %x\", retval", "r:c:malloc", true, 0, 1},
	    {"t:block:block_rq_complete \"sectors=%d\", args->nr_sector",
	     "t:block:block_rq_complete", false, 0, 1},
	    {"u:pthread:pthread_create (arg4 != 0)", "u:pthread:pthread_create", true, 0, 0},
	    {"u:pthread:pthread_create \"start addr = %llx\", arg3", "u:pthread:pthread_create",
	     false, 0, 1},
	    {"p::SyS_nanosleep(struct timespec *ts) \"sleep for %lld ns\", ts->tv_nsec",
	     "p::SyS_nanosleep", false, 1, 1},
	    {"p::uprobe_register(struct inode *inode) \"a_ops = %llx\", inode->i_mapping->a_ops",
	     "p::uprobe_register", false, 1, 1},
	    {"udpv6_sendmsg(struct sock *sk) (sk->sk_dport == 13568)", "udpv6_sendmsg", true, 1, 0},
	    {"mntns_install \"users = %d\", $task->fs->users", "mntns_install", false, 0, 1},
	    {"p:c:open (STRCMP(\"test.txt\", arg1)) \"opening %s\", arg1", "p:c:open", true, 0, 1},
	    {"kfree_skb+0x12", "kfree_skb+0x12", false, 0, 0},
	    {"c:write+5 \"%K %U\", arg1, arg2", "c:write+5", false, 0, 2},
	    {"vfs_*", "vfs_*", false, 0, 0},
	    /* and what BCC would not have understood */
	    {"c:open(arg2 == 42)", "c:open", true, 0, 0},
	    {"c:open (arg1) && (arg2) \"x\"", "c:open", true, 0, 0},
	    {"  c:open  (arg1)  \"x\" , 1 ", "c:open", true, 0, 1},
	    {"f(const char *s, unsigned long n, ...) \"%s\", s", "f", false, 2, 1},
	    {"f()", "f", false, 0, 0},
	    {"f(void)", "f", false, 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_tracespec s;
		struct fsc_err err = {0};

		if (fsc_tracespec_parse(cases[i].text, &s, &err))
			fail_msg("%s: %s", cases[i].text, err.msg);
		assert_string_equal(s.probe, cases[i].probe);
		assert_int_equal(s.has_predicate, cases[i].predicate);
		assert_int_equal(s.params.n, cases[i].params);
		assert_int_equal(s.values.n, cases[i].values);
		fsc_tracespec_release(&s);
	}
}

static void probes_are_those_of_other_commands(void **state)
{
	static const char *const texts[] = {"::vfs_read (arg1)", ":c:malloc \"x\"", "t:a:b (1)"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct fsc_tracespec s;
		struct fsc_spec probe;

		assert_int_equal(fsc_tracespec_parse(texts[i], &s, NULL), 0);
		assert_int_equal(fsc_spec_parse(s.probe, false, false, &probe, NULL), 0);
		fsc_spec_release(&probe);
		fsc_tracespec_release(&s);
	}
}

static void mistakes_have_a_column(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
	    {"", "expected a probe"},
	    {"(arg1)", "expected a probe"},
	    {"f (", "column 4 of 'f (': expected a number, a name or '(' instead of the end"},
	    {"f (arg1", "expected an operator or ')' instead of the end"},
	    {"f (arg1 arg2)", "column 9 of 'f (arg1 arg2)': expected an operator or ')'"},
	    {"f (arg1 +)", "instead of ')'"},
	    {"f (1 ? 2)", "expected ':'"},
	    {"f ()", "expected a number"},
	    {"f arg1", "expected a predicate in parentheses or a format"},
	    {"f \"%d", "column 3 of 'f \"%d': the string has no closing quote"},
	    {"f \"x\\", "no closing quote"},
	    {"f \"x\" 5", "expected ',' and a value"},
	    {"f \"x\",", "expected a number"},
	    {"f (arg1) arg2", "expected an operator, a format"},
	    {"f (99999999999999999999)", "does not fit into 64 bits"},
	    {"f (0x)", "not a whole number"},
	    {"f (12abc)", "not a whole number"},
	    {"f (1.5)", "not a whole number"},
	    {"f ('ab')", "one character"},
	    {"f ('')", "one character"},
	    {"f (')", "one character"},
	    {"f (\"x\" == arg1)", "a string can only be compared"},
	    {"f (STRCMP)", "expected '(' after STRCMP"},
	    {"f (STRCMP(arg1, \"x\"))", "expected a string in double quotes"},
	    {"f (STRCMP(\"x\"))", "expected ','"},
	    {"f (arg1->)", "expected the name of a member"},
	    {"f (arg1[1)", "expected ']'"},
	    {"f (arg1@kernel)", "only '@user'"},
	    {"f (args)", "a field of the tracepoint"},
	    {"f ((int arg1)", "expected ')' after the type"},
	    {"f ((struct)arg1)", "expected a type"},
	    {"f(int a b)", "',' or ')' after the parameter"},
	    {"f(int a", "',' or ')' after the parameter"},
	    {"f ($)", "expected a number, a name"},
	    {"f (arg1 = 5)", "instead of '='"},
	    {"f ((int *****)arg1)", "too many pointers"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_tracespec s;
		struct fsc_err err = {0};
		int rc = fsc_tracespec_parse(cases[i].text, &s, &err);

		if (rc != -EINVAL || !err.usage || !strstr(err.msg, cases[i].says))
			fail_msg("%s: %d '%s'", cases[i].text, rc, err.msg);
	}
}

/* before, n times middle, after */
static char *repeated(const char *before, const char *middle, size_t n, const char *after)
{
	size_t len = strlen(middle);
	char *s = malloc(strlen(before) + n * len + strlen(after) + 1), *at;

	assert_non_null(s);
	at = stpcpy(s, before);
	for (size_t i = 0; i < n; i++, at += len)
		memcpy(at, middle, len);
	strcpy(at, after);
	return s;
}

static void input_made_to_hurt(void **state)
{
	static const struct {
		const char *before, *middle, *after;
	} cases[] = {
	    {"f (", "(", "1"},
	    {"f (", "-", "1)"},
	    {"f (", "*", "arg1)"},
	    {"f (", "(int)", "1)"},
	    {"f (1", "+1", ")"},
	    {"f (arg1", "[0]", ")"},
	    {"f (arg1", "->a", ")"},
	    {"f (", "1?", "1)"},
	    {"f (", "1&&", "1)"},
	    {"f(", "int a,", "int b)"},
	    {"f (", "a", ")"},
	    {"f (", "9", ")"},
	    {"f \"", "%d", "\""},
	    {"f \"\"", ",1", ""},
	    {"f (STRCMP(\"", "x", "\", 1))"},
	    {"f ((struct ", "x", " *)1)"},
	    {"f ((int", "*", ")1)"},
	    {"f (1 ? 1 : ", "1 ? 1 : ", "1)"},
	    {"f (arg1->", "x", ")"},
	    {"f ((", "unsigned ", "int)1)"},
	};
	static const struct fsc_names names = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = repeated(cases[i].before, cases[i].middle, 10000, cases[i].after);
		struct fsc_trace_prog prog;
		struct fsc_tracespec s;
		struct fsc_format f;
		struct fsc_err err = {0};
		int rc = fsc_tracespec_parse(text, &s, &err);

		if (!rc) {
			rc = fsc_tracespec_compile(&s, &names, FSC_AT_BOTH, &prog, &f, &err);
			fsc_tracespec_release(&s);
		}
		if (rc != -EINVAL || !err.usage || !err.msg[0])
			fail_msg("%s%s...: %d '%s'", cases[i].before, cases[i].middle, rc, err.msg);
		free(text);
	}
}

/* Every prefix of a long text, and every byte of it replaced: an answer, whatever it is. */
static void damaged_input(void **state)
{
	static const char good[] =
	    "p:c:f(struct x *p, int n) (p->a[3].b == 'x' && STRCMP(\"\\x41\", "
	    "(char *)arg2) || $pid ? ~1 : -0x7) \"%5.3s|%-08lx%%\", arg1@user, "
	    "*(u32 *)(arg2 + 4) << 3";
	static const char bytes[] = "\"'(\\%\x01\xff$@[ ";
	static const struct fsc_names names = {0};
	char text[sizeof(good)];

	(void)state;
	for (size_t i = 0; i < sizeof(good); i++) {
		for (size_t k = 0; k < sizeof(bytes); k++) {
			struct fsc_trace_prog prog;
			struct fsc_tracespec s;
			struct fsc_format f;

			memcpy(text, good, sizeof(good));
			text[i] = bytes[k];
			text[sizeof(text) - 1] = '\0';
			if (fsc_tracespec_parse(text, &s, NULL))
				continue;
			if (!fsc_tracespec_compile(&s, &names, FSC_AT_BOTH, &prog, &f, NULL))
				fsc_format_release(&f);
			fsc_tracespec_release(&s);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(examples_of_bcc),
	    cmocka_unit_test(probes_are_those_of_other_commands),
	    cmocka_unit_test(mistakes_have_a_column),
	    cmocka_unit_test(input_made_to_hurt),
	    cmocka_unit_test(damaged_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
