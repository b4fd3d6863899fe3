/* src/sink/: what each format makes of stacks, to the byte where that can be read, and that a flame
 * graph is XML and its script a script whatever the names are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sink/sink.h"

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

static void finish(struct written *w)
{
	fclose(w->sink.out);
	fclose(w->sink.side);
}

static void forget(struct written *w)
{
	free(w->out);
	free(w->side);
}

static void end(struct written *w, const char *out)
{
	finish(w);
	assert_string_equal(w->out, out);
	assert_string_equal(w->side, "");
	forget(w);
}

/* ---- stacks ---- */

static const struct fsc_func one[] = {
    {.kind = "uprobe", .binary = "/usr/bin/prog", .name = "work"}};
static const struct fsc_func two[] = {{.kind = "uprobe", .binary = "/usr/bin/prog", .name = "work"},
				      {.kind = "kprobe", .binary = "kernel", .name = "vfs_read"}};

static const struct fsc_frame
    f_work = {.name = "work", .binary = "/usr/bin/prog", .offset = 0},
    f_inl = {.name = "ns::twice(int)",
	     .binary = "/usr/bin/prog",
	     .file = "/src/t.cc",
	     .line = 12,
	     .inlined = true},
    f_main = {.name = "main",
	      .binary = "/usr/bin/prog",
	      .offset = 0x1f,
	      .file = "/src/main.c",
	      .line = 3},
    f_read = {.name = "vfs_read", .binary = "kernel", .kernel = true, .offset = 1},
    f_lost = {.name = "[unknown]", .binary = "/lib/libfoo.so", .offset = 0x1234, .unknown = true},
    f_void = {.name = "[unknown]", .binary = "", .offset = 0x7f00, .unknown = true};

static void add(struct fsc_stacks *t, struct fsc_stack s, size_t n, ...)
{
	uint32_t ids[8];
	va_list ap;

	va_start(ap, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(
		    fsc_stacks_frame(t, va_arg(ap, const struct fsc_frame *), &ids[i], NULL), 0);
	va_end(ap);
	assert_int_equal(fsc_stacks_add(t, &s, ids, n, NULL), 0);
}

static struct fsc_stacks plain(bool offsets)
{
	struct fsc_stacks t;

	fsc_stacks_init(&t, one, 1);
	t.offsets = offsets;
	t.time_ns = 1700000000123456789u;
	add(&t, (struct fsc_stack){.calls = 5, .time_ns = 5000}, 3, &f_work, &f_inl, &f_main);
	add(&t, (struct fsc_stack){.calls = 3, .time_ns = 9000}, 2, &f_work, &f_main);
	add(&t, (struct fsc_stack){.calls = 1, .truncated = true}, 3, &f_read, &f_lost, &f_void);
	return t;
}

static struct fsc_stacks processes(void)
{
	struct fsc_stacks t;

	fsc_stacks_init(&t, two, 2);
	t.per_process = true;
	t.by_time = true;
	add(&t, (struct fsc_stack){.pid = 7, .comm = "a;b\n", .calls = 1, .time_ns = 16200}, 2,
	    &f_work, &f_main);
	add(&t, (struct fsc_stack){.func = 1, .pid = 8, .comm = "x", .calls = 2, .time_ns = 100},
	    0);
	return t;
}

static struct fsc_stacks hostile(void)
{
	static char name[10001];
	const struct fsc_frame frames[] = {
	    {.name = "</title><script>alert(1)</script>]]>&amp;\"'", .binary = "<>"},
	    {.name = "a;b\nc\x1b[2J\xff\xfe\xc3\x28\x01\x7f", .binary = "/x\n\"y"},
	    {.name = "\xef\xbf\xbe\xef\xbf\xbf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x80\xae",
	     .binary = ""},
	    {.name = name, .binary = name},
	    {.name = "", .binary = ""},
	};
	static const struct fsc_func f[] = {
	    {.kind = "uprobe", .binary = "/a,\"b", .name = "<f>&\x1b"}};
	struct fsc_stacks t;

	memset(name, '<', sizeof(name) - 1);
	fsc_stacks_init(&t, f, 1);
	for (size_t i = 0; i < 5; i++)
		add(&t, (struct fsc_stack){.calls = 1, .comm = "<&\"\xff;,"}, 2, &frames[i],
		    &frames[(i + 1) % 5]);
	return t;
}

static void write_stacks(struct written *w, struct fsc_stacks t)
{
	struct fsc_err err = {0};

	if (fsc_sink_stacks(&w->sink, &t, &err))
		fail_msg("%s", err.msg);
	fsc_stacks_release(&t);
}

static const struct fsc_refusal refused[] = {{"g<", "busy & <late>"}};
static const struct fsc_summary books = {.seen = 9,
					 .kept = 8,
					 .lost = {{"stacks_full", 1}},
					 .functions = 2,
					 .attached = 1,
					 .places = 1,
					 .refused = refused,
					 .n_refused = 1};

/* ---- text ---- */

static void text_list(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	write_stacks(&w, plain(false));
	end(&w, "  work\n  ns::twice(int) (inlined)\n  main\n    5\n\n"
		"  work\n  main\n    3\n\n"
		"  vfs_read\n  [unknown] (libfoo.so+0x1234)\n  [unknown] (0x7f00)\n"
		"  [truncated]\n    1\n");
}

static void text_with_offsets(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	write_stacks(&w, plain(true));
	end(&w, "  work+0x0\n  ns::twice(int) (t.cc:12) (inlined)\n  main+0x1f (main.c:3)\n"
		"    5\n\n"
		"  work+0x0\n  main+0x1f (main.c:3)\n    3\n\n"
		"  vfs_read+0x1\n  [unknown] (libfoo.so+0x1234)\n  [unknown] (0x7f00)\n"
		"  [truncated]\n    1\n");
}

/* Where no file is mapped there is nothing to say. */
static void text_of_nothing_mapped(void **state)
{
	const struct fsc_frame nowhere = {.name = "[unknown]", .binary = "", .unknown = true};
	struct fsc_stack s = {.calls = 2};
	struct fsc_stacks t;
	struct written w;
	uint32_t id;

	(void)state;
	fsc_stacks_init(&t, one, 1);
	assert_int_equal(fsc_stacks_frame(&t, &nowhere, &id, NULL), 0);
	assert_int_equal(fsc_stacks_add(&t, &s, &id, 1, NULL), 0);
	begin(&w, &fsc_sink_text);
	write_stacks(&w, t);
	end(&w, "  [unknown]\n    2\n");
}

static void text_by_process_and_time(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	write_stacks(&w, processes());
	end(&w, "work\n  work\n  main\n    a;b\\x0a [7]\n    16.2 us in 1 call\n\n"
		"vfs_read\n  [no stack]\n    x [8]\n    100 ns in 2 calls\n");
}

static void text_of_the_first(void **state)
{
	struct fsc_stacks t = plain(false);
	struct written w;

	(void)state;
	fsc_stacks_sort(&t, 1);
	begin(&w, &fsc_sink_text);
	w.sink.timestamps = true;
	write_stacks(&w, t);
	finish(&w);
	assert_non_null(strstr(w.out, ".123\n  work\n"));
	assert_non_null(strstr(w.out, "    5\n\nand 2 more stacks: 4 calls\n"));
	forget(&w);
}

static void text_trees(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_text);
	w.sink.view = FSC_VIEW_TOP_DOWN;
	write_stacks(&w, plain(false));
	end(&w, "  TOTAL    SELF       CALLS  FUNCTION\n"
		" 88.89%   0.00%           8  main\n"
		" 55.56%   0.00%           5  |-- ns::twice(int) (inlined)\n"
		" 55.56%  55.56%           5  |   work\n"
		" 33.33%  33.33%           3  +-- work\n"
		" 11.11%   0.00%           1  [truncated]\n"
		" 11.11%   0.00%           1  [unknown] (0x7f00)\n"
		" 11.11%   0.00%           1  [unknown] (libfoo.so+0x1234)\n"
		" 11.11%  11.11%           1  vfs_read\n");
	begin(&w, &fsc_sink_text);
	w.sink.view = FSC_VIEW_BOTTOM_UP;
	write_stacks(&w, processes());
	finish(&w);
	assert_non_null(strstr(w.out, " 99.39%  99.39%     16.2 us  work\n"
				      " 99.39%   0.00%     16.2 us  main\n"
				      " 99.39%   0.00%     16.2 us  a;b\\x0a (7)\n"));
	forget(&w);
}

/* ---- for programs ---- */

static void json(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_json);
	write_stacks(&w, plain(false));
	end(&w, "{\"type\":\"stack\",\"kind\":\"uprobe\",\"binary\":\"/usr/bin/prog\",\"function\":"
		"\"work\",\"count\":5,\"frames\":[\"work\",\"ns::twice(int)\",\"main\"]}\n"
		"{\"type\":\"stack\",\"kind\":\"uprobe\",\"binary\":\"/usr/bin/prog\",\"function\":"
		"\"work\",\"count\":3,\"frames\":[\"work\",\"main\"]}\n"
		"{\"type\":\"stack\",\"kind\":\"uprobe\",\"binary\":\"/usr/bin/prog\",\"function\":"
		"\"work\",\"count\":1,\"kernel_frames\":1,\"truncated\":true,\"frames\":["
		"\"vfs_read\",\"[unknown] (libfoo.so+0x1234)\",\"[unknown] (0x7f00)\"]}\n");
	begin(&w, &fsc_sink_json);
	w.sink.intervals = true;
	write_stacks(&w, processes());
	end(&w,
	    "{\"type\":\"stack\",\"wall_ns\":0,\"kind\":\"uprobe\",\"binary\":\"/usr/bin/prog\","
	    "\"function\":\"work\",\"pid\":7,\"comm\":\"a;b\\u000a\",\"count\":1,\"time_ns\":16200,"
	    "\"frames\":[\"work\",\"main\"]}\n"
	    "{\"type\":\"stack\",\"wall_ns\":0,\"kind\":\"kprobe\",\"binary\":\"kernel\","
	    "\"function\":\"vfs_read\",\"pid\":8,\"comm\":\"x\",\"count\":2,\"time_ns\":100,"
	    "\"frames\":[]}\n");
}

static void csv(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_csv);
	write_stacks(&w, plain(false));
	end(&w, "kind,binary,function,comm,count,frames\n"
		"uprobe,/usr/bin/prog,work,,5,work;ns::twice(int)_[i];main\n"
		"uprobe,/usr/bin/prog,work,,3,work;main\n"
		"uprobe,/usr/bin/prog,work,,1,vfs_read_[k];[unknown] (libfoo.so+0x1234);[unknown] "
		"(0x7f00);[truncated]\n");
	begin(&w, &fsc_sink_csv);
	w.sink.timestamps = true;
	write_stacks(&w, processes());
	end(&w, "wall_ns,kind,binary,function,pid,comm,count,time_ns,frames\n"
		"0,uprobe,/usr/bin/prog,work,7,a;b\\x0a,1,16200,work;main\n"
		"0,kprobe,kernel,vfs_read,8,x,2,100,\n");
}

static void folded(void **state)
{
	struct written w;
	struct fsc_err err;

	(void)state;
	begin(&w, &fsc_sink_folded);
	write_stacks(&w, plain(false));
	write_stacks(&w, processes());
	assert_int_equal(fsc_sink_summary(&w.sink, &books, &err), 0);
	finish(&w);
	assert_string_equal(w.out, "main;ns::twice(int)_[i];work 5\n"
				   "main;work 3\n"
				   "[truncated];[unknown] (0x7f00);[unknown] (libfoo.so+0x1234);"
				   "vfs_read_[k] 1\n"
				   "a:b\\x0a;main;work 16200\n"
				   "x;[no stack] 100\n");
	assert_non_null(strstr(w.side, "seen 9 = kept 8 + stacks_full 1"));
	forget(&w);
}

/* Every line is "something number", and has as many semicolons as frames. */
static void folded_hostile(void **state)
{
	struct written w;
	size_t lines = 0, semicolons = 0;

	(void)state;
	begin(&w, &fsc_sink_folded);
	write_stacks(&w, hostile());
	finish(&w);
	for (const char *p = w.out; *p; p++) {
		assert_true(*p == '\n' || (unsigned char)*p >= 0x20);
		lines += *p == '\n';
		semicolons += *p == ';';
	}
	assert_int_equal(lines, 5);
	assert_int_equal(semicolons, 10);
	forget(&w);
}

/* ---- flame graphs ---- */

static int run(const char *tool, const char *path)
{
	char command[300];

	snprintf(command, sizeof(command), "%s %s", tool, path);
	return system(command);
}

static bool have(const char *tool)
{
	char command[100];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", tool);
	return !system(command);
}

/* Has a parser read it, where this machine has one. */
static void check_xml(const char *text, size_t n)
{
	char path[] = "/tmp/fsc-flame-XXXXXX";
	int fd = mkstemp(path), rc = 0;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	close(fd);
	if (have("xmllint"))
		rc = run("xmllint --noout", path);
	else if (have("python3"))
		rc = run("python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])'",
			 path);
	unlink(path);
	if (rc)
		fail_msg("not XML: %.2000s", text);
}

static char *graph(struct fsc_stacks t, size_t *ret_n)
{
	struct fsc_err err = {0};
	struct written w;

	begin(&w, &fsc_sink_flamegraph);
	write_stacks(&w, t);
	if (fsc_sink_summary(&w.sink, &books, &err))
		fail_msg("%s", err.msg);
	finish(&w);
	free(w.side);
	*ret_n = w.n_out;
	check_xml(w.out, w.n_out);
	return w.out;
}

static void flame_graphs(void **state)
{
	size_t n;
	char *text = graph(plain(false), &n);

	(void)state;
	assert_non_null(strstr(text, "Stacks of work, by calls"));
	assert_non_null(strstr(text, "<title>main (8 calls, 88.89%)</title>"));
	assert_non_null(strstr(text, ">main</text>"));
	assert_non_null(strstr(text, "seen 9 = kept 8 + stacks_full 1"));
	assert_non_null(strstr(text, "refused, busy &amp; &lt;late&gt;: g&lt;"));
	assert_string_equal(text + n - 7, "</svg>\n");
	free(text);
	text = graph(processes(), &n);
	assert_non_null(strstr(text, "Stacks of 2 functions, by time"));
	assert_non_null(strstr(text, "<title>a;b\\x0a (7) (16.2 us, 99.39%)</title>"));
	free(text);
}

static void flame_graphs_of_hostile_names(void **state)
{
	size_t n;
	char *text = graph(hostile(), &n);

	(void)state;
	assert_null(strstr(text, "<script>alert"));
	assert_non_null(strstr(text, "&lt;/title&gt;&lt;script&gt;alert(1)"));
	assert_non_null(strstr(text, "\\xff\\xfe\\xc3("));
	free(text);
}

static void flame_graphs_of_nothing(void **state)
{
	struct fsc_stacks none;
	struct fsc_err err = {0};
	struct written w;
	size_t n;
	char *text;

	(void)state;
	fsc_stacks_init(&none, one, 1);
	text = graph(none, &n);
	assert_non_null(strstr(text, "no stacks"));
	free(text);
	begin(&w, &fsc_sink_flamegraph);
	assert_int_equal(fsc_sink_summary(&w.sink, &books, &err), 0);
	finish(&w);
	check_xml(w.out, w.n_out);
	forget(&w);
}

static void flame_graphs_of_many(void **state)
{
	enum { N = 100000, DEPTH = 20 };
	struct fsc_stacks t;
	uint32_t ids[DEPTH], base = 0;
	size_t n;
	char *text;

	(void)state;
	fsc_stacks_init(&t, one, 1);
	for (uint32_t i = 0; i < 1000; i++) {
		char name[32];
		struct fsc_frame f = {.name = name, .binary = ""};

		snprintf(name, sizeof(name), "function_%u", i);
		assert_int_equal(fsc_stacks_frame(&t, &f, &base, NULL), 0);
	}
	for (uint32_t i = 0, seed = 1; i < N; i++) {
		struct fsc_stack s = {.calls = 1};

		for (uint32_t k = 0; k < DEPTH; k++) {
			seed = seed * 1664525u + 1013904223u;
			ids[DEPTH - 1 - k] = (seed >> 16) % (k < 3 ? 8 : 1000);
		}
		assert_int_equal(fsc_stacks_add(&t, &s, ids, DEPTH, NULL), 0);
	}
	text = graph(t, &n);
	assert_non_null(strstr(text, "frames are too narrow to be drawn"));
	assert_true(n < 3u << 20);
	free(text);
}

static void the_script_is_a_script(void **state)
{
	char path[] = "/tmp/fsc-flame-XXXXXX.js";
	char *text, *from, *to;
	size_t n;
	int fd, rc;

	(void)state;
	if (!have("node"))
		skip();
	text = graph(plain(false), &n);
	from = strstr(text, "<![CDATA[");
	to = strstr(text, "]]>");
	assert_true(from && to);
	fd = mkstemps(path, 3);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, from + 9, (size_t)(to - from - 9)), to - from - 9);
	close(fd);
	rc = run("node --check", path);
	unlink(path);
	free(text);
	assert_int_equal(rc, 0);
}

/* ---- what goes where ---- */

static void formats_without_a_place(void **state)
{
	struct fsc_err err = {0};
	struct written w;

	(void)state;
	begin(&w, &fsc_sink_folded);
	assert_int_equal(fsc_sink_takes(&w.sink, FSC_DATA_COUNTS, &err), -EINVAL);
	assert_true(err.usage);
	assert_string_equal(err.msg, "-f folded cannot show counts");
	assert_string_equal(err.hint, "use one of: text, json, csv");
	end(&w, "");
	begin(&w, &fsc_sink_flamegraph);
	w.sink.intervals = true;
	assert_int_equal(fsc_sink_takes(&w.sink, FSC_DATA_STACKS, &err), -EINVAL);
	assert_string_equal(err.msg,
			    "-f flamegraph cannot show intervals, because it is a single document");
	assert_string_equal(err.hint, "use one of: text, json, csv, folded");
	w.sink.intervals = false;
	assert_int_equal(fsc_sink_takes(&w.sink, FSC_DATA_STACKS, &err), 0);
	end(&w, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(text_list),
	    cmocka_unit_test(text_with_offsets),
	    cmocka_unit_test(text_of_nothing_mapped),
	    cmocka_unit_test(text_by_process_and_time),
	    cmocka_unit_test(text_of_the_first),
	    cmocka_unit_test(text_trees),
	    cmocka_unit_test(json),
	    cmocka_unit_test(csv),
	    cmocka_unit_test(folded),
	    cmocka_unit_test(folded_hostile),
	    cmocka_unit_test(flame_graphs),
	    cmocka_unit_test(flame_graphs_of_hostile_names),
	    cmocka_unit_test(flame_graphs_of_nothing),
	    cmocka_unit_test(flame_graphs_of_many),
	    cmocka_unit_test(the_script_is_a_script),
	    cmocka_unit_test(formats_without_a_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
