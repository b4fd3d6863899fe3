/* A traced call on its way out: the format taken apart, the record decoded, and what each sink
 * writes, to the byte. Texts are hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "sink/sink.h"

static const struct fsc_func func = {.kind = "uprobe", .binary = "/bin/x", .name = "work"};

/* ---- formats ---- */

static void numbers_as_printf_does(void **state)
{
	static const struct {
		const char *format;
		uint64_t v;
		const char *want;
	} cases[] = {
	    {"%d", 0xffffffff, "-1"},
	    {"%d", 0x1ffffffff, "-1"},
	    {"%i", 5, "5"},
	    {"%u", 0xffffffffffffffff, "4294967295"},
	    {"%ld", (uint64_t)-5, "-5"},
	    {"%lld", 1ull << 40, "1099511627776"},
	    {"%lu", UINT64_MAX, "18446744073709551615"},
	    {"%llu", 7, "7"},
	    {"%x", 0xabcdef, "abcdef"},
	    {"%X", 0xabcdef, "ABCDEF"},
	    {"%lx", UINT64_MAX, "ffffffffffffffff"},
	    {"%llx", 16, "10"},
	    {"%o", 8, "10"},
	    {"%#x", 255, "0xff"},
	    {"%08x", 255, "000000ff"},
	    {"%-5d|", 3, "3    |"},
	    {"%5d", 3, "    3"},
	    {"%+d", 3, "+3"},
	    {"%.3d", 3, "003"},
	    {"%hd", 0xffff, "-1"},
	    {"%hu", 0x1ffff, "65535"},
	    {"%hhd", 0xff, "-1"},
	    {"%hhu", 0x1ff, "255"},
	    {"%p", 0x1234, "0x1234"},
	    {"%zu", 9, "9"},
	    {"%c", 'x', "x"},
	    {"%3c", 'x', "  x"},
	    {"%c", 27, "\\x1b"},
	    {"%c", 0, ""},
	    {"100%% %d", 1, "100% 1"},
	    {"a\\tb\\x41\\101\\q%d", 1, "a\tbAA\\q1"},
	    {"%K", 0xffffffff81000000, "0xffffffff81000000"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_format f;
		struct fsc_buf b = {0};
		struct fsc_call c = {.format = &f};

		assert_int_equal(
		    fsc_format_parse(cases[i].format, strlen(cases[i].format), 1, &f, NULL), 0);
		FSC_AT(struct fsc_conv, &f.convs, 0)->value = 0;
		c.values[0].number = cases[i].v;
		fsc_call_message(&c, fsc_fmt_term, &b);
		if (strcmp(fsc_buf_str(&b), cases[i].want))
			fail_msg("%s: '%s' instead of '%s'", cases[i].format, fsc_buf_str(&b),
				 cases[i].want);
		fsc_buf_release(&b);
		fsc_format_release(&f);
	}
}

static void texts(void **state)
{
	static const struct {
		const char *format, *text, *want;
		bool cut, unreadable;
	} cases[] = {
	    {"<%s>", "abc", "<abc>", false, false},
	    {"<%5s>", "abc", "<  abc>", false, false},
	    {"<%-5s>", "abc", "<abc  >", false, false},
	    {"<%.2s>", "abc", "<ab>", false, false},
	    {"<%s>", "a\nb\033[1m", "<a\\x0ab\\x1b[1m>", false, false},
	    {"<%s>", "abcd", "<abc...>", true, false},
	    {"<%.2s>", "abcd", "<ab>", true, false},
	    {"<%s>", "", "<(unreadable)>", false, true},
	    {"<%d>", NULL, "<(unreadable)>", false, true},
	    {"<%U>", "main+0x12", "<main+0x12>", false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fsc_format f;
		struct fsc_buf b = {0};
		struct fsc_call c = {.format = &f};

		assert_int_equal(
		    fsc_format_parse(cases[i].format, strlen(cases[i].format), 1, &f, NULL), 0);
		FSC_AT(struct fsc_conv, &f.convs, 0)->value = 0;
		c.values[0] = (struct fsc_call_value){
		    .text = cases[i].text, .cut = cases[i].cut, .unreadable = cases[i].unreadable};
		fsc_call_message(&c, fsc_fmt_term, &b);
		assert_string_equal(fsc_buf_str(&b), cases[i].want);
		fsc_buf_release(&b);
		fsc_format_release(&f);
	}
}

/* ---- records ---- */

enum { SLOT = 8, SLOTS = 2 };

struct record {
	struct fsc_rec_call call;
	char strings[SLOT * SLOTS];
};

/* "%s %d %s" with the task's name last. */
static void make_format(struct fsc_format *f)
{
	static const char text[] = "open %s, %d by %s";
	struct fsc_conv *c;

	assert_int_equal(fsc_format_parse(text, strlen(text), 1, f, NULL), 0);
	c = FSC_AT(struct fsc_conv, &f->convs, 0);
	c[0].value = 0;
	c[0].string = 1;
	c[1].value = 1;
}

static struct record make_record(void)
{
	struct record r = {.call = {.time_ns = 5,
				    .entry_ns = 1,
				    .duration_ns = 16200,
				    .ret = (uint64_t)-2,
				    .pid = 10,
				    .tid = 11,
				    .cpu = 1,
				    .uid = 1000,
				    .event = FSC_CALL_BOTH,
				    .n_values = 2,
				    .string_size = SLOT,
				    .comm = "sh\"x,",
				    .values = {0x1000, 0xffffffff}}};

	memcpy(r.strings + SLOT, "a\n\"b\"", 6);
	return r;
}

static void decoding(void **state)
{
	struct record r = make_record();
	struct fsc_format f;
	struct fsc_call c;

	(void)state;
	make_format(&f);
	assert_int_equal(fsc_call_decode(&r, sizeof(r), &func, &f, &c, NULL), 0);
	assert_string_equal(c.values[0].text, "a\n\"b\"");
	assert_false(c.values[0].cut);
	assert_true(c.has_ret && c.has_duration);
	memcpy(r.strings + SLOT, "1234567", 8);
	assert_int_equal(fsc_call_decode(&r, sizeof(r), &func, &f, &c, NULL), 0);
	assert_true(c.values[0].cut);
	/* a text that is not where it should be, that is nowhere, and whose address is not known */
	r.call.unreadable = 1ull << FSC_TRACE_NO_TEXT;
	assert_int_equal(fsc_call_decode(&r, sizeof(r), &func, &f, &c, NULL), 0);
	assert_true(c.values[0].unreadable && !c.values[0].null && !c.values[1].unreadable);
	r.call.values[0] = 0;
	assert_int_equal(fsc_call_decode(&r, sizeof(r), &func, &f, &c, NULL), 0);
	assert_true(c.values[0].unreadable && c.values[0].null);
	r.call.unreadable |= 1;
	assert_int_equal(fsc_call_decode(&r, sizeof(r), &func, &f, &c, NULL), 0);
	assert_true(c.values[0].unreadable && !c.values[0].null);
	/* records that lie */
	memcpy(r.strings + SLOT, "12345678", 8);
	assert_int_equal(fsc_call_decode(&r, sizeof(r), &func, &f, &c, NULL), -EBADMSG);
	assert_int_equal(fsc_call_decode(&r, sizeof(r) - 1, &func, &f, &c, NULL), -EBADMSG);
	assert_int_equal(fsc_call_decode(&r, sizeof(r.call) - 1, &func, &f, &c, NULL), -EBADMSG);
	r.call.n_values = 1;
	assert_int_equal(fsc_call_decode(&r, sizeof(r), &func, &f, &c, NULL), -EBADMSG);
	r.call.n_values = FSC_TRACE_VALUES + 1;
	assert_int_equal(fsc_call_decode(&r, sizeof(r), &func, &f, &c, NULL), -EBADMSG);
	fsc_format_release(&f);
}

/* ---- sinks ---- */

static void check_sink(const struct fsc_sink_ops *ops, const struct fsc_call *c, const char *want)
{
	struct fsc_sink s = {.ops = ops};
	char *out = NULL;
	size_t n;

	s.out = open_memstream(&out, &n);
	assert_non_null(s.out);
	assert_int_equal(fsc_sink_call(&s, c, NULL), 0);
	assert_int_equal(fsc_sink_call(&s, c, NULL), 0);
	fclose(s.out);
	assert_string_equal(out, want);
	free(out);
}

static void each_sink(void **state)
{
	static const char *const frames[] = {"work+0x4", "ma\033in"};
	struct record r = make_record();
	struct fsc_format f;
	struct fsc_call c;

	(void)state;
	make_format(&f);
	assert_int_equal(fsc_call_decode(&r, sizeof(r), &func, &f, &c, NULL), 0);
#define TEXT                                                                                       \
	"10      11      sh\"x,           work             open a\\x0a\"b\", -1 by sh\"x, = -2  "  \
	"[16.2 us]\n"
	check_sink(&fsc_sink_text, &c,
		   "PID     TID     COMM            FUNC             -\n" TEXT TEXT);
#define JSON                                                                                       \
	"{\"type\":\"call\",\"time_ns\":5,\"pid\":10,\"tid\":11,\"comm\":\"sh\\\"x,\",\"cpu\":1,"  \
	"\"uid\":1000,\"kind\":\"uprobe\",\"binary\":\"/bin/x\",\"function\":\"work\","            \
	"\"event\":\"call\",\"args\":[\"a\\u000a\\\"b\\\"\",-1,\"sh\\\"x,\"],"                     \
	"\"message\":\"open a\\u000a\\\"b\\\", -1 by "                                             \
	"sh\\\"x,\",\"ret\":-2,\"duration_ns\":16200}\n"
	check_sink(&fsc_sink_json, &c, JSON JSON);
#define CSV                                                                                        \
	"5,10,11,\"sh\"\"x,\",1,1000,uprobe,/bin/x,work,call,\"open a\\x0a\"\"b\"\", -1 by "       \
	"sh\"\"x,\",-2,16200\n"
	check_sink(
	    &fsc_sink_csv, &c,
	    "time_ns,pid,tid,comm,cpu,uid,kind,binary,function,event,message,ret,duration_ns\n" CSV
		CSV);
	c.format = NULL;
	c.event = FSC_CALL_ENTRY;
	c.has_ret = c.has_duration = false;
	c.depth = 1;
	c.user_stack = frames;
	c.n_user = 2;
#define STACK "10      11      sh\"x,             work\n        work+0x4\n        ma\\x1bin\n\n"
	check_sink(&fsc_sink_text, &c,
		   "PID     TID     COMM            FUNC             -\n" STACK STACK);
	fsc_format_release(&f);
}

static void names_and_what_cannot_be_read(void **state)
{
	struct fsc_format f = {0};
	struct fsc_call c = {.func = &func, .format = &f, .comm = "c"};

	(void)state;
	fsc_format_push_named(&f, "fd", 'd', 'l')->value = 0;
	fsc_format_push_named(&f, "path", 's', 'l')->value = 1;
	c.values[0].number = (uint64_t)-1;
	c.values[1].unreadable = true;
	check_sink(&fsc_sink_text, &c,
		   "PID     TID     COMM            FUNC             -\n"
		   "0       0       c               work             fd=-1 path=(unreadable)\n"
		   "0       0       c               work             fd=-1 path=(unreadable)\n");
#define NAMED                                                                                      \
	"{\"type\":\"call\",\"time_ns\":0,\"pid\":0,\"tid\":0,\"comm\":\"c\",\"cpu\":0,\"uid\":0," \
	"\"kind\":\"uprobe\",\"binary\":\"/bin/x\",\"function\":\"work\",\"event\":\"entry\","     \
	"\"args\":[{\"name\":\"fd\",\"value\":-1},{\"name\":\"path\",\"value\":null}]}\n"
	check_sink(&fsc_sink_json, &c, NAMED NAMED);
	fsc_format_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_as_printf_does),
	    cmocka_unit_test(texts),
	    cmocka_unit_test(decoding),
	    cmocka_unit_test(each_sink),
	    cmocka_unit_test(names_and_what_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
