/* src/sink/: what each format writes for hand-made profiles and books, to the byte. Names are
 * hostile: they carry escape codes, quotes, commas, newlines and broken UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sink/sink.h"

#define ALL_KEYS (FSC_BY_COMM | FSC_BY_PID | FSC_BY_TID | FSC_BY_CPU | FSC_BY_CGROUP)

/* ---- a sink that writes to memory ---- */

struct written {
	struct fsc_sink sink;
	char *out, *side;
	size_t n_out, n_side;
};

static void begin(struct written *w, const struct fsc_sink_ops *ops)
{
	*w = (struct written){.sink = {.ops = ops}};
	w->sink.out = open_memstream(&w->out, &w->n_out);
	w->sink.side = open_memstream(&w->side, &w->n_side);
	assert_non_null(w->sink.out);
	assert_non_null(w->sink.side);
}

static void end(struct written *w, const char *out, const char *side)
{
	fclose(w->sink.out);
	fclose(w->sink.side);
	assert_string_equal(w->out, out);
	assert_string_equal(w->side, side);
	free(w->out);
	free(w->side);
}

/* ---- JSON, strictly ---- */

static const char *value(const char *s);

static const char *string(const char *s)
{
	if (*s++ != '"')
		return NULL;
	for (; *s != '"'; s++) {
		if ((unsigned char)*s < 0x20)
			return NULL;
		if (*s != '\\')
			continue;
		s++;
		if (*s == 'u') {
			for (int i = 0; i < 4; i++)
				if (!isxdigit((unsigned char)*++s))
					return NULL;
		} else if (!*s || !strchr("\"\\/bfnrt", *s)) {
			return NULL;
		}
	}
	return s + 1;
}

static const char *number(const char *s)
{
	s += *s == '-';
	if (!isdigit((unsigned char)*s) || (*s == '0' && isdigit((unsigned char)s[1])))
		return NULL;
	s += strspn(s, "0123456789");
	if (*s == '.') {
		if (!isdigit((unsigned char)*++s))
			return NULL;
		s += strspn(s, "0123456789");
	}
	return s;
}

/* The members of an object or the elements of an array, and the bracket that ends them. */
static const char *members(const char *s, bool object)
{
	const char close = object ? '}' : ']';

	if (*++s == close)
		return s + 1;
	for (;; s++) {
		if (object && (s = string(s)) && *s++ != ':')
			return NULL;
		s = s ? value(s) : NULL;
		if (!s || (*s != ',' && *s != close))
			return NULL;
		if (*s == close)
			return s + 1;
	}
}

static const char *value(const char *s)
{
	static const char *const words[] = {"null", "true", "false"};

	if (*s == '{' || *s == '[')
		return members(s, *s == '{');
	if (*s == '"')
		return string(s);
	for (size_t i = 0; i < 3; i++)
		if (!strncmp(s, words[i], strlen(words[i])))
			return s + strlen(words[i]);
	return number(s);
}

/* Every line is one object. Returns how many there are. */
static size_t json_lines(const char *text)
{
	size_t n = 0;

	while (*text) {
		const char *end = *text == '{' ? value(text) : NULL;

		if (!end || *end != '\n')
			fail_msg("not JSON: %.200s", text);
		text = end + 1;
		n++;
	}
	return n;
}

static void the_checker_checks(void **state)
{
	static const char *const good[] = {"{}", "{\"a\":[1,-2.5,\"\\u12aF\\n\",null,{}]}", "[]",
					   "0.1"};
	static const char *const bad[] = {"{",	   "{\"a\"}",	"{\"a\":}", "[1,]",
					  "01",	   "1.",	"\"\\x\"",  "\"a\nb\"",
					  "{a:1}", "\"\\u12\"", "nan",	    "[1 2]"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(value(good[i]) && !*value(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (value(bad[i]) && !*value(bad[i]))
			fail_msg("%s", bad[i]);
}

/* ---- profiles ---- */

static const struct fsc_func one_file[] = {
    {.kind = "uprobe", .binary = "/usr/bin/prog", .name = "work"},
    {.kind = "uprobe",
     .binary = "/usr/bin/prog",
     .name = "ns::rest(int, char)",
     .symbol = "_ZN2ns4restEic"},
};

static const struct fsc_func mixed[] = {
    {.kind = "kprobe", .binary = "kernel", .name = "vfs_read"},
    {.kind = "uretprobe", .binary = "/usr/lib/libc.so.6", .name = "malloc"},
    {.kind = "tracepoint", .binary = "sched", .name = "sched_switch"},
};

static const struct fsc_func hostile[] = {
    {.kind = "uprobe",
     .binary = "/tmp/a\nb,\"c\"",
     .name = "f\x1b[2J\xff\xe2\x80\xae",
     .symbol = "s\"\\\t"},
};

static struct fsc_profile profile(const struct fsc_func *funcs, size_t n, uint32_t by)
{
	return (struct fsc_profile){.funcs = funcs,
				    .n_funcs = n,
				    .by = by,
				    .time_ns = 1700000000123456789u,
				    .counts = FSC_VEC_INIT(struct fsc_count)};
}

static struct fsc_count *add(struct fsc_profile *p, uint32_t func, uint64_t count)
{
	struct fsc_count *c = fsc_vec_push(&p->counts);

	assert_non_null(c);
	c->func = func;
	c->count = count;
	return c;
}

static struct fsc_profile plain_profile(void)
{
	struct fsc_profile p = profile(one_file, 2, 0);

	add(&p, 0, 250000);
	add(&p, 1, 3);
	return p;
}

static struct fsc_profile keyed_profile(void)
{
	struct fsc_profile p = profile(mixed, 3, ALL_KEYS);

	*add(&p, 0, 0) = (struct fsc_count){.func = 0,
					    .pid = 1,
					    .tid = 2,
					    .cpu = 3,
					    .cgroup = 4,
					    .comm = "sixteen-letters!",
					    .cgroup_path = "/a/b",
					    .count = 5};
	*add(&p, 1, 0) = (struct fsc_count){.func = 1,
					    .pid = 4194304,
					    .tid = 4194305,
					    .cpu = 127,
					    .cgroup = UINT64_MAX,
					    .comm = "s h",
					    .count = UINT64_MAX};
	*add(&p, 2, 0) = (struct fsc_count){.func = 2, .comm = "x", .cgroup_path = "/"};
	return p;
}

static struct fsc_profile hostile_profile(void)
{
	struct fsc_profile p = profile(hostile, 1, FSC_BY_COMM | FSC_BY_CGROUP);

	*add(&p, 0, 0) =
	    (struct fsc_count){.comm = "a\r\n\"b\",\x9b", .cgroup_path = "/x\ny,z", .count = 1};
	return p;
}

static void write_profile(struct written *w, struct fsc_profile p)
{
	struct fsc_err err = {0};

	if (fsc_sink_profile(&w->sink, &p, &err))
		fail_msg("%s", err.msg);
	fsc_profile_release(&p);
}

static void text_plain(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	write_profile(&w, plain_profile());
	end(&w,
	    "FUNCTION              CALLS\n"
	    "work                 250000\n"
	    "ns::rest(int, char)       3\n",
	    "");
}

static void text_all_keys(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	write_profile(&w, keyed_profile());
	end(&w,
	    "CGROUP                COMM                  PID      TID  CPU  "
	    "FUNCTION                                  CALLS\n"
	    "/a/b                  sixteen-letters!        1        2    3  "
	    "vfs_read                                      5\n"
	    "18446744073709551615  s h               4194304  4194305  127  "
	    "libc.so.6:malloc (return)  18446744073709551615\n"
	    "/                     x                       0        0    0  "
	    "sched:sched_switch                            0\n",
	    "");
}

static void text_of_nothing(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	write_profile(&w, profile(one_file, 2, FSC_BY_COMM));
	end(&w, "COMM  FUNCTION  CALLS\n", "");
}

static void text_intervals_with_the_time(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	w.sink.timestamps = w.sink.intervals = true;
	write_profile(&w, plain_profile());
	write_profile(&w, profile(one_file, 2, 0));
	end(&w,
	    "22:13:20.123\n"
	    "FUNCTION              CALLS\n"
	    "work                 250000\n"
	    "ns::rest(int, char)       3\n"
	    "\n"
	    "22:13:20.123\n"
	    "FUNCTION  CALLS\n",
	    "");
}

static void text_of_hostile_names(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	write_profile(&w, hostile_profile());
	end(&w,
	    "CGROUP     COMM               FUNCTION                  CALLS\n"
	    "/x\\x0ay,z  a\\x0d\\x0a\"b\",\\x9b  f\\x1b[2J\\xff\\xe2\\x80\\xae      1\n",
	    "");
}

/* However narrow the terminal and long the other columns, every line ends and nothing else is lost.
 */
static void text_is_cut_to_the_terminal(void **state)
{
	static const struct fsc_func f[] = {
	    {.kind = "uprobe",
	     .binary = "/b",
	     .name = "torch::nn::LinearImpl::forward(at::Tensor const&)"}};
	char path[300] = "/";
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	w.sink.width = 40;
	for (int i = 0; i < 2; i++) {
		struct fsc_profile p = profile(f, 1, i ? FSC_BY_CGROUP : 0);

		memset(path + 1, 'c', sizeof(path) - 2);
		add(&p, 0, 7)->cgroup_path = path;
		write_profile(&w, p);
	}
	fclose(w.sink.out);
	fclose(w.sink.side);
	assert_memory_equal(w.out,
			    "FUNCTION                           CALLS\n"
			    "torch::nn::LinearImpl::forward(a~      7\n\n",
			    83);
	assert_non_null(strstr(w.out, path)); /* only the function is cut */
	assert_non_null(strstr(w.out, "  torch::nn::LinearIm~      7\n"));
	assert_true(w.n_out < 900);
	free(w.out);
	free(w.side);
}

static void text_is_cut_between_characters(void **state)
{
	static const struct fsc_func f[] = {
	    {.kind = "uprobe",
	     .binary = "/b",
	     .name = "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
		     "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
		     "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"}};
	struct fsc_profile p = profile(f, 1, 0);
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	w.sink.width = 10;
	add(&p, 0, 7);
	write_profile(&w, p);
	end(&w,
	    "FUNCTION              CALLS\n"
	    "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3"
	    "\xa4\xc3\xa4"
	    "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4~      7\n",
	    "");
}

static void json_plain(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_json);
	write_profile(&w, plain_profile());
	assert_int_equal(json_lines(w.out), 2);
	end(&w,
	    "{\"type\":\"count\",\"kind\":\"uprobe\",\"binary\":\"/usr/bin/"
	    "prog\",\"function\":\"work\","
	    "\"count\":250000}\n"
	    "{\"type\":\"count\",\"kind\":\"uprobe\",\"binary\":\"/usr/bin/prog\",\"function\":"
	    "\"ns::rest(int, char)\",\"symbol\":\"_ZN2ns4restEic\",\"count\":3}\n",
	    "");
}

static void json_all_keys_and_the_time(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_json);
	w.sink.timestamps = true;
	write_profile(&w, keyed_profile());
	assert_int_equal(json_lines(w.out), 3);
	end(&w,
	    "{\"type\":\"count\",\"time_ns\":1700000000123456789,\"kind\":\"kprobe\",\"binary\":"
	    "\"kernel\","
	    "\"function\":\"vfs_read\",\"comm\":\"sixteen-letters!\",\"pid\":1,\"tid\":2,\"cpu\":3,"
	    "\"cgroup_id\":4,\"cgroup\":\"/a/b\",\"count\":5}\n"
	    "{\"type\":\"count\",\"time_ns\":1700000000123456789,\"kind\":\"uretprobe\",\"binary\":"
	    "\"/usr/lib/libc.so.6\",\"function\":\"malloc\",\"comm\":\"s "
	    "h\",\"pid\":4194304,\"tid\":4194305,"
	    "\"cpu\":127,\"cgroup_id\":18446744073709551615,\"count\":18446744073709551615}\n"
	    "{\"type\":\"count\",\"time_ns\":1700000000123456789,\"kind\":\"tracepoint\","
	    "\"binary\":\"sched\","
	    "\"function\":\"sched_switch\",\"comm\":\"x\",\"pid\":0,\"tid\":0,\"cpu\":0,\"cgroup_"
	    "id\":0,"
	    "\"cgroup\":\"/\",\"count\":0}\n",
	    "");
}

static void json_of_hostile_names(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_json);
	write_profile(&w, hostile_profile());
	assert_int_equal(json_lines(w.out), 1);
	end(&w,
	    "{\"type\":\"count\",\"kind\":\"uprobe\",\"binary\":\"/tmp/"
	    "a\\u000ab,\\\"c\\\"\",\"function\":"
	    "\"f\\u001b[2J\\ufffd\\u202e\",\"symbol\":\"s\\\"\\\\\\u0009\",\"comm\":"
	    "\"a\\u000d\\u000a\\\"b\\\",\\ufffd\",\"cgroup_id\":0,\"cgroup\":\"/"
	    "x\\u000ay,z\",\"count\":1}\n",
	    "");
}

static void csv_plain(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_csv);
	write_profile(&w, plain_profile());
	end(&w,
	    "kind,binary,function,count\n"
	    "uprobe,/usr/bin/prog,work,250000\n"
	    "uprobe,/usr/bin/prog,\"ns::rest(int, char)\",3\n",
	    "");
}

static void csv_all_keys_and_intervals(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_csv);
	w.sink.intervals = true;
	write_profile(&w, keyed_profile());
	write_profile(&w, profile(mixed, 3, ALL_KEYS)); /* the header comes once */
	end(&w,
	    "time_ns,kind,binary,function,cgroup,comm,pid,tid,cpu,count\n"
	    "1700000000123456789,kprobe,kernel,vfs_read,/a/b,sixteen-letters!,1,2,3,5\n"
	    "1700000000123456789,uretprobe,/usr/lib/libc.so.6,malloc,18446744073709551615,s "
	    "h,4194304,"
	    "4194305,127,18446744073709551615\n"
	    "1700000000123456789,tracepoint,sched,sched_switch,/,x,0,0,0,0\n",
	    "");
}

static void csv_of_hostile_names(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_csv);
	write_profile(&w, hostile_profile());
	end(&w,
	    "kind,binary,function,cgroup,comm,count\n"
	    "uprobe,\"/tmp/a\\x0ab,\"\"c\"\"\",f\\x1b[2J\\xff\\xe2\\x80\\xae,\"/x\\x0ay,z\","
	    "\"a\\x0d\\x0a\"\"b\"\",\\x9b\",1\n",
	    "");
}

/* ---- the books ---- */

static const struct fsc_summary good_books = {
    .seen = 250003,
    .kept = 250003,
    .lost = {{"keys_full", 0}, {"keys_busy", 0}},
    .functions = 1,
    .attached = 1,
    .places = 1,
    .via = {{"uprobe.multi", 1}},
    .duration_s = 1.5,
    .cost_known = true,
    .share_known = true,
    .ns_per_hit = 16200,
    .percent = 12.34,
};

static const struct fsc_refusal refusals[] = {
    {"f1", "busy"}, {"f2", "busy"}, {"f0", "no room"}, {"f3", "busy"},
    {"f4", "busy"}, {"f5", "busy"}, {"f6", "busy"},    {"f\x1b[7", "busy"},
    {"f8", "busy"}, {"f9", "busy"}, {"fa", "busy"},
};

static const struct fsc_summary bad_books = {
    .seen = 1000,
    .kept = 900,
    .lost = {{"keys_full", 60}, {"keys_busy", 40}},
    .missed = 7,
    .unfollowed = 2,
    .functions = 12,
    .attached = 12,
    .places = 14,
    .shifted = 3,
    .refused = refusals,
    .n_refused = 11,
    .via = {{"kprobe.multi", 10}, {"kprobe", 4}},
};

static void write_summary(struct written *w, const struct fsc_summary *sum)
{
	struct fsc_err err = {0};

	if (fsc_sink_summary(&w->sink, sum, &err))
		fail_msg("%s", err.msg);
}

#define GOOD_TEXT                                                                                  \
	"seen 250003 = kept 250003; missed by the kernel 0\n"                                      \
	"1 function: 1 attached by uprobe.multi, 0 refused\n"                                      \
	"cost: 16.2 us per hit, 4.05 s in all: 12% of the target's CPU time\n"

static void text_books(void **state)
{
	struct fsc_summary machine = good_books, none = {0};
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	write_summary(&w, &good_books);
	write_summary(&w, &bad_books);
	machine.share_of_machine = true;
	machine.percent = 0.126;
	write_summary(&w, &machine);
	machine.share_known = false;
	write_summary(&w, &machine);
	write_summary(&w, &none);
	end(&w,
	    "\n" GOOD_TEXT "\n"
	    "seen 1000 = kept 900 + keys_full 60 + keys_busy 40; missed by the kernel 7; children "
	    "not followed 2\n"
	    "12 functions: 12 attached at 14 places by kprobe.multi, kprobe, 11 refused\n"
	    "3 moved past a 5-byte nop: a probe on it can kill forked children (--fast-uprobes "
	    "keeps it there, which is cheaper)\n"
	    "refused, busy: f1, f2, f3, f4, f5, f6, f\\x1b[7, f8 and 2 more (-f json names all)\n"
	    "refused, no room: f0\n"
	    "cost: could not be measured\n"
	    "\n"
	    "seen 250003 = kept 250003; missed by the kernel 0\n"
	    "1 function: 1 attached by uprobe.multi, 0 refused\n"
	    "cost: 16.2 us per hit, 4.05 s in all: 0.13% of the machine's CPU time\n"
	    "\n"
	    "seen 250003 = kept 250003; missed by the kernel 0\n"
	    "1 function: 1 attached by uprobe.multi, 0 refused\n"
	    "cost: 16.2 us per hit, 4.05 s in all\n"
	    "\n"
	    "seen 0 = kept 0; missed by the kernel 0\n"
	    "0 functions: 0 attached, 0 refused\n"
	    "cost: could not be measured\n",
	    "");
}

static void looped_functions(void **state)
{
	static const struct fsc_func funcs[] = {
	    {.name = "f"}, {.name = "g\x1b", .looped = true}, {.name = "h", .looped = true}};
	struct fsc_summary some = {.funcs = funcs, .n_funcs = 3};
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	write_summary(&w, &some);
	end(&w,
	    "\n"
	    "seen 0 = kept 0; missed by the kernel 0\n"
	    "0 functions: 0 attached, 0 refused\n"
	    "jumped to from inside: g\\x1b, h: each round of a loop that begins at the first "
	    "instruction counts as a call\n"
	    "cost: could not be measured\n",
	    "");
}

/* A function that stands on some of its places counts as attached; what it lacks is said. */
static void partly_refused(void **state)
{
	static const struct fsc_refusal refused[] = {{"gone", "busy"}, {"half", "busy"}};
	struct fsc_summary some = {.functions = 2,
				   .attached = 1,
				   .places = 1,
				   .refused = refused,
				   .n_refused = 1,
				   .n_partly = 1};
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	write_summary(&w, &some);
	end(&w,
	    "\n"
	    "seen 0 = kept 0; missed by the kernel 0\n"
	    "2 functions: 1 attached, 1 refused\n"
	    "refused, busy: gone\n"
	    "refused at some of its places, busy: half\n"
	    "cost: could not be measured\n",
	    "");
	begin(&w, &fsc_sink_json);
	write_summary(&w, &some);
	end(&w,
	    "{\"type\":\"summary\",\"seen\":0,\"kept\":0,\"lost\":{},\"missed\":0,\"unfollowed\":0,"
	    "\"functions\":2,\"attached\":1,\"places\":1,\"refused\":1,"
	    "\"refused_functions\":[{\"function\":\"gone\",\"why\":\"busy\"}],"
	    "\"partly_refused_functions\":[{\"function\":\"half\",\"why\":\"busy\"}],"
	    "\"shifted\":0,\"via\":{},\"duration_s\":0.000000,"
	    "\"cost\":{\"ns_per_hit\":null,\"percent\":null,\"of\":\"target\"}}\n",
	    "");
}

/* Hits that a predicate or --sample left out cost as much. */
static void cost_of_all(void **state)
{
	struct fsc_summary some = good_books;
	struct written w;

	(void)state;
	some.filtered = 500000;
	some.sampled_out = 6;
	begin(&w, &fsc_sink_csv);
	write_summary(&w, &some);
	end(&w, "",
	    "seen 250003 = kept 250003; missed by the kernel 0; filtered out 500000; sampled out "
	    "6\n"
	    "1 function: 1 attached by uprobe.multi, 0 refused\n"
	    "cost: 16.2 us per hit, 12.2 s in all: 12% of the target's CPU time\n");
}

static void json_books(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_json);
	write_summary(&w, &good_books);
	write_summary(&w, &bad_books);
	assert_int_equal(json_lines(w.out), 2);
	end(&w,
	    "{\"type\":\"summary\",\"seen\":250003,\"kept\":250003,\"lost\":{\"keys_full\":0,"
	    "\"keys_busy\":0},"
	    "\"missed\":0,\"unfollowed\":0,\"functions\":1,\"attached\":1,\"places\":1,\"refused\":"
	    "0,"
	    "\"refused_functions\":[],\"shifted\":0,\"via\":{\"uprobe.multi\":1},\"duration_s\":1."
	    "500000,"
	    "\"cost\":{\"ns_per_hit\":16200.0,\"percent\":12.340,\"of\":\"target\"}}\n"
	    "{\"type\":\"summary\",\"seen\":1000,\"kept\":900,\"lost\":{\"keys_full\":60,\"keys_"
	    "busy\":40},"
	    "\"missed\":7,\"unfollowed\":2,\"functions\":12,\"attached\":12,\"places\":14,"
	    "\"refused\":11,"
	    "\"refused_functions\":["
	    "{\"function\":\"f1\",\"why\":\"busy\"},{\"function\":\"f2\",\"why\":\"busy\"},"
	    "{\"function\":\"f0\",\"why\":\"no room\"},{\"function\":\"f3\",\"why\":\"busy\"},"
	    "{\"function\":\"f4\",\"why\":\"busy\"},{\"function\":\"f5\",\"why\":\"busy\"},"
	    "{\"function\":\"f6\",\"why\":\"busy\"},{\"function\":\"f\\u001b[7\",\"why\":\"busy\"},"
	    "{\"function\":\"f8\",\"why\":\"busy\"},{\"function\":\"f9\",\"why\":\"busy\"},"
	    "{\"function\":\"fa\",\"why\":\"busy\"}],"
	    "\"shifted\":3,\"via\":{\"kprobe.multi\":10,\"kprobe\":4},\"duration_s\":0.000000,"
	    "\"cost\":{\"ns_per_hit\":null,\"percent\":null,\"of\":\"target\"}}\n",
	    "");
}

static void csv_books_go_aside(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_csv);
	write_profile(&w, plain_profile());
	write_summary(&w, &good_books);
	end(&w,
	    "kind,binary,function,count\n"
	    "uprobe,/usr/bin/prog,work,250000\n"
	    "uprobe,/usr/bin/prog,\"ns::rest(int, char)\",3\n",
	    GOOD_TEXT);
}

/* ---- what they share ---- */

static void the_table_of_formats(void **state)
{
	size_t i = 0;

	(void)state;
	for (; fsc_sinks[i]; i++) {
		assert_string_equal(fsc_sinks[i]->name, fsc_sink_names[i]);
		assert_non_null(fsc_sinks[i]->what);
		assert_true(fsc_sinks[i]->profile || fsc_sinks[i]->stacks ||
			    fsc_sinks[i]->gpu_event);
		assert_true(fsc_sinks[i]->summary || fsc_sinks[i]->summary_aside);
	}
	assert_null(fsc_sink_names[i]);
	assert_int_equal(i, 6);
}

static void a_full_disk_is_an_error(void **state)
{
	(void)state;
	for (const struct fsc_sink_ops *const *ops = fsc_sinks; *ops; ops++) {
		struct fsc_sink s = {.ops = *ops, .out = fopen("/dev/full", "w")};
		struct fsc_profile p = plain_profile();
		struct fsc_err err = {0};

		assert_non_null(s.out);
		s.side = s.out;
		if ((*ops)->profile) {
			assert_int_equal(fsc_sink_profile(&s, &p, &err), -ENOSPC);
			assert_non_null(strstr(err.msg, "cannot write"));
		}
		assert_int_equal(fsc_sink_summary(&s, &good_books, &err), -ENOSPC);
		fsc_profile_release(&p);
		fclose(s.out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_checker_checks),
	    cmocka_unit_test(text_plain),
	    cmocka_unit_test(text_all_keys),
	    cmocka_unit_test(text_of_nothing),
	    cmocka_unit_test(text_intervals_with_the_time),
	    cmocka_unit_test(text_of_hostile_names),
	    cmocka_unit_test(text_is_cut_to_the_terminal),
	    cmocka_unit_test(text_is_cut_between_characters),
	    cmocka_unit_test(json_plain),
	    cmocka_unit_test(json_all_keys_and_the_time),
	    cmocka_unit_test(json_of_hostile_names),
	    cmocka_unit_test(csv_plain),
	    cmocka_unit_test(csv_all_keys_and_intervals),
	    cmocka_unit_test(csv_of_hostile_names),
	    cmocka_unit_test(text_books),
	    cmocka_unit_test(looped_functions),
	    cmocka_unit_test(partly_refused),
	    cmocka_unit_test(cost_of_all),
	    cmocka_unit_test(json_books),
	    cmocka_unit_test(csv_books_go_aside),
	    cmocka_unit_test(the_table_of_formats),
	    cmocka_unit_test(a_full_disk_is_an_error),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
