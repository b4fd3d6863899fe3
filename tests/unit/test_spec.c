/* src/probe/spec.h: the whole probe grammar, in BCC's and in bpftrace's spelling, and what is said
 * about text that is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/kind.h"
#include "probe/spec.h"

/* What a text must mean; NULL for parts it must not have. */
struct meaning {
	const char *text;
	const char *kind, *binary, *group, *function;
	uint64_t offset;
	const char *file;
	unsigned line;
};

static void same(const char *text, const char *what, const char *is, const char *want)
{
	if (!is != !want || (is && strcmp(is, want)))
		fail_msg("'%s': %s is '%s', not '%s'", text, what, is ? is : "(none)",
			 want ? want : "(none)");
}

static void means(const struct meaning *m, size_t n, bool regex, bool own)
{
	for (size_t i = 0; i < n; i++, m++) {
		struct fsc_err err = {0};
		struct fsc_spec s;

		if (fsc_spec_parse(m->text, regex, own, &s, &err))
			fail_msg("'%s': %s", m->text, err.msg);
		same(m->text, "kind", s.kind->name, m->kind);
		same(m->text, "binary", s.binary, m->binary);
		same(m->text, "group", s.group, m->group);
		same(m->text, "function", s.function, m->function);
		same(m->text, "file", s.file, m->file);
		same(m->text, "text", s.text, m->text);
		assert_int_equal(s.offset, m->offset);
		assert_int_equal(s.file ? s.line : 0, m->line);
		fsc_spec_release(&s);
		assert_null(s.text);
	}
}

#define MEANS(table, regex, own) means(table, sizeof(table) / sizeof(table[0]), regex, own)

#define K(f)	      .kind = "kprobe", .function = f
#define KR(f)	      .kind = "kretprobe", .function = f
#define KM(m, f)      .kind = "kprobe", .binary = m, .function = f
#define U(b, f)	      .kind = "uprobe", .binary = b, .function = f
#define UR(b, f)      .kind = "uretprobe", .binary = b, .function = f
#define T(g, f)	      .kind = "tracepoint", .group = g, .function = f
#define S(b, g, f)    .kind = "usdt", .binary = b, .group = g, .function = f
#define LINE(b, f, l) .kind = "uprobe", .binary = b, .file = f, .line = l

static void kernel_functions(void **state)
{
	static const struct meaning all[] = {
	    {"vfs_read", K("vfs_read")},
	    {"vfs_*", K("vfs_*")},
	    {"vfs_[rw]?*", K("vfs_[rw]?*")},
	    {"p::vfs_read", K("vfs_read")},
	    {"p:vfs_read", K("vfs_read")},
	    {"r::vfs_read", KR("vfs_read")},
	    {"r:vfs_read", KR("vfs_read")},
	    {"k:vfs_read", K("vfs_read")},
	    {"k::vfs_read", K("vfs_read")},
	    {"kr:vfs_read", KR("vfs_read")},
	    {"kprobe:vfs_read", K("vfs_read")},
	    {"kretprobe:vfs_*", KR("vfs_*")},
	    {"kfunc:vfs_read", K("vfs_read")},
	    {"fentry:vfs_read", K("vfs_read")},
	    {"fexit:vfs_read", KR("vfs_read")},
	    {"k:ext4:ext4_sync_file", KM("ext4", "ext4_sync_file")},
	    {"kretprobe:vmlinux:vfs_read", .kind = "kretprobe", .binary = "vmlinux",
	     .function = "vfs_read"},
	    {"fentry:ext4:ext4_*", KM("ext4", "ext4_*")},
	    {"p", K("p")},
	    {"t", K("t")},
	};

	(void)state;
	MEANS(all, false, false);
	MEANS(all, false, true);
}

static void user_functions(void **state)
{
	static const struct meaning all[] = {
	    {"c:malloc", U("c", "malloc")},
	    {"libc:malloc", U("libc", "malloc")},
	    {"libc.so.6:malloc", U("libc.so.6", "malloc")},
	    {"/usr/bin/redis-server:process*", U("/usr/bin/redis-server", "process*")},
	    {"./prog:work", U("./prog", "work")},
	    {"../a b/prog:work", U("../a b/prog", "work")},
	    {"p:c:malloc", U("c", "malloc")},
	    {"r:c:malloc", UR("c", "malloc")},
	    {"p:/bin/x:f", U("/bin/x", "f")},
	    {"r:./x:f*", UR("./x", "f*")},
	    {"uprobe:/bin/x:f", U("/bin/x", "f")},
	    {"uprobe:c:malloc", U("c", "malloc")},
	    {"uretprobe:c:malloc", UR("c", "malloc")},
	    {"ur:c:malloc", UR("c", "malloc")},
	    {":fn", U("", "fn")},
	    {"uprobe::fn", U("", "fn")},
	    {"c:malloc@GLIBC_2.2.5", U("c", "malloc@GLIBC_2.2.5")},
	    {"stdc++:_ZNSs4swapERSs", U("stdc++", "_ZNSs4swapERSs")},
	};

	(void)state;
	MEANS(all, false, false);
	MEANS(all, false, true);
}

static void names_with_two_colons(void **state)
{
	static const struct meaning all[] = {
	    {"libtorch_cpu:torch::nn::LinearImpl::forward*",
	     U("libtorch_cpu", "torch::nn::LinearImpl::forward*")},
	    {"./prog:ns::fn", U("./prog", "ns::fn")},
	    {"/bin/x:ns::Class<int, 3>::f(char const*)",
	     U("/bin/x", "ns::Class<int, 3>::f(char const*)")},
	    {"p:lib:ns::fn", U("lib", "ns::fn")},
	    {"r:lib:a::b::c", UR("lib", "a::b::c")},
	    {"uretprobe:lib:ns::fn", UR("lib", "ns::fn")},
	    {":ns::fn", U("", "ns::fn")},
	    {"lib:std::operator+", U("lib", "std::operator+")},
	    {"lib:V::operator[]", U("lib", "V::operator[]")},
	};

	(void)state;
	MEANS(all, false, false);
	MEANS(all, false, true);
}

/* With a process or command, a bare C++ name is meant for its program. */
static void bare_names_with_two_colons(void **state)
{
	static const struct meaning all[] = {
	    {"ns::fn", U("", "ns::fn")},
	    {"a::b::c*", U("", "a::b::c*")},
	    {"ns::fn+0x12", U("", "ns::fn"), .offset = 0x12},
	    {"p:ns::fn", U("", "ns::fn")},
	    {"r:ns::fn", UR("", "ns::fn")},
	    {"uretprobe:a::b::c", UR("", "a::b::c")},
	};
	struct fsc_err err = {0};
	struct fsc_spec s;

	(void)state;
	MEANS(all, false, true);
	/* Without one it names no library: ":fn" of a library "ns" is never what was meant. */
	if (!fsc_spec_parse("ns::fn", false, false, &s, &err)) {
		char *f = strdup(s.function ? s.function : "(none)");

		fsc_spec_release(&s);
		assert_string_not_equal(f, ":fn");
		free(f);
		return;
	}
	assert_true(err.usage);
	assert_non_null(strstr(err.msg, "ns::fn"));
}

static void offsets(void **state)
{
	static const struct meaning all[] = {
	    {"vfs_read+0x12", K("vfs_read"), .offset = 0x12},
	    {"k:vfs_read+18", K("vfs_read"), .offset = 18},
	    {"p::vfs_read+0xffffffffffffffff", K("vfs_read"), .offset = UINT64_MAX},
	    {"k:ext4:f+4", KM("ext4", "f"), .offset = 4},
	    {"c:malloc+4", U("c", "malloc"), .offset = 4},
	    {"r:c:malloc+0", UR("c", "malloc"), .offset = 0},
	    {"./p:ns::f(int)+0x8", U("./p", "ns::f(int)"), .offset = 8},
	    /* what is no number belongs to the name */
	    {"c:operator+", U("c", "operator+")},
	    {"c:operator++", U("c", "operator++")},
	    {"c:f+x", U("c", "f+x")},
	    {"c:f+0x", U("c", "f+0x")},
	    {"c:f+-1", U("c", "f+-1")},
	    {"c:f+ 1", U("c", "f+ 1")},
	    {"c:+5", U("c", "+5")},
	    {"c:f+99999999999999999999", U("c", "f+99999999999999999999")},
	    /* a '+' in a library's name is none of ours */
	    {"stdc++:f", U("stdc++", "f")},
	};

	(void)state;
	MEANS(all, false, false);
}

static void lines(void **state)
{
	static const struct meaning all[] = {
	    {"main.c:42", LINE("", "main.c", 42)},
	    {"src/main.c:42", LINE("", "src/main.c", 42)},
	    {"main.cc:1", LINE("", "main.cc", 1)},
	    {":main.c:42", LINE("", "main.c", 42)},
	    {"./prog:main.c:42", LINE("./prog", "main.c", 42)},
	    {"/bin/x:src/a.rs:7", LINE("/bin/x", "src/a.rs", 7)},
	    {"lib:a.c:2147483647", LINE("lib", "a.c", 2147483647)},
	    {"p:prog:main.c:42", LINE("prog", "main.c", 42)},
	    {"uprobe:prog:main.c:42", LINE("prog", "main.c", 42)},
	    {"uprobe:main.c:42", LINE("", "main.c", 42)},
	    /* no line: a name */
	    {"libc.so.6:12", U("libc.so.6", "12")},
	    {"prog:f:42", U("prog", "f:42")},
	    {"prog:main.c:0", U("prog", "main.c:0")},
	    {"prog:main.c:4x", U("prog", "main.c:4x")},
	    {"prog:main.c:99999999999", U("prog", "main.c:99999999999")},
	    {"prog:a.c::4", U("prog", "a.c::4")},
	};

	(void)state;
	MEANS(all, false, false);
	MEANS(all, false, true);
}

static void tracepoints(void **state)
{
	static const struct meaning all[] = {
	    {"t:syscalls:sys_enter_*", T("syscalls", "sys_enter_*")},
	    {"t:sched:sched_switch", T("sched", "sched_switch")},
	    {"t:*:*", T("*", "*")},
	    {"t:sched_switch", T(NULL, "sched_switch")},
	    {"t::sched_switch", T(NULL, "sched_switch")},
	    {"tracepoint:sched:sched_*", T("sched", "sched_*")},
	};

	(void)state;
	MEANS(all, false, false);
	MEANS(all, false, true);
}

static void usdt_probes(void **state)
{
	static const struct meaning all[] = {
	    {"u:c:memory_heap_new", S("c", NULL, "memory_heap_new")},
	    {"u:c:libc:memory_*", S("c", "libc", "memory_*")},
	    {"u::probe", S("", NULL, "probe")},
	    {"u:c::probe", S("c", NULL, "probe")},
	    {"u::prov:probe", S("", "prov", "probe")},
	    {"usdt:/bin/x:p", S("/bin/x", NULL, "p")},
	    {"usdt:./x:a:b", S("./x", "a", "b")},
	    {"U:c:p", S("c", NULL, "p")},
	    {"usdt::p", S("", NULL, "p")},
	};

	(void)state;
	MEANS(all, false, false);
	MEANS(all, false, true);
}

static void escaped_colons(void **state)
{
	static const struct meaning all[] = {
	    {"/tmp/a\\:b:fn", U("/tmp/a:b", "fn")},
	    {"p:/tmp/a\\:b:fn", U("/tmp/a:b", "fn")},
	    {"u:/tmp/a\\:b:probe", S("/tmp/a:b", NULL, "probe")},
	    {"u:/tmp/a\\:b:prov:probe", S("/tmp/a:b", "prov", "probe")},
	    {"c:f\\:g", U("c", "f:g")},
	    {"c:f\\*", U("c", "f\\*")}, /* the pattern's own escape */
	    {"c:f\\", U("c", "f\\")},
	};

	(void)state;
	MEANS(all, false, false);
}

static void regular_expressions(void **state)
{
	static const struct meaning all[] = {
	    {"^vfs_(read|write)$", K("^vfs_(read|write)$")},
	    {"k:^vfs_.+", K("^vfs_.+")},
	    {"p::[[:lower:]]+", K("[[:lower:]]+")},
	    {"c:^mal+oc", U("c", "^mal+oc")},
	    {"c:f+5", U("c", "f+5")},
	    {"c:a.c:42", U("c", "a.c:42")},
	    {"c:^ns::[a-z]+$", U("c", "^ns::[a-z]+$")},
	    {"r:c:a\\.b", UR("c", "a\\.b")},
	    {"t:sched:^sched_.*", T("sched", "^sched_.*")},
	    {"u:c:^m", S("c", NULL, "^m")},
	};

	(void)state;
	MEANS(all, true, false);
}

/* Usage errors that name the text and say what to write. */
static void malformed(void **state)
{
	static const struct {
		const char *text, *says;
	} all[] = {
	    {"", "empty"},
	    {":", "names no function"},
	    {"c:", "write LIBRARY:FUNCTION"},
	    {"p:c:", "names no function"},
	    {"uprobe:", "names no function"},
	    {"uprobe:c", "write LIBRARY:FUNCTION"},
	    {"/usr/bin/x", "write LIBRARY:FUNCTION"},
	    {"./x:", "write LIBRARY:FUNCTION"},
	    {"k:", "k:FUNCTION"},
	    {"kprobe:", "k:FUNCTION"},
	    {"k:ext4:", "names no kernel function"},
	    {"p:", "names no kernel function"},
	    {"p::", "names no kernel function"},
	    {"r:", "names no kernel function"},
	    {"t:", "t:CATEGORY:EVENT"},
	    {"t:sched:", "t:CATEGORY:EVENT"},
	    {"u:", "u:LIBRARY:PROBE"},
	    {"u:c", "u:LIBRARY:PROBE"},
	    {"u:c:", "u:LIBRARY:PROBE"},
	    {"u:c:prov:", "u:LIBRARY:PROBE"},
	    {"u::", "u:LIBRARY:PROBE"},
	    {"BEGIN", "probe of bpftrace"},
	    {"END", "probe of bpftrace"},
	    {"interval:s:1", "probe of bpftrace"},
	    {"profile:hz:99", "probe of bpftrace"},
	    {"software:cpu-clock:100", "probe of bpftrace"},
	    {"hardware:cache-misses:1000", "probe of bpftrace"},
	    {"watchpoint:0x10000000:8:w", "probe of bpftrace"},
	    {"asyncwatchpoint:0x10000000:8:w", "probe of bpftrace"},
	    {"iter:task", "probe of bpftrace"},
	    {"kprobe:a*,kprobe:b*", "names several probes"},
	    {"c:a, t:sched:sched_switch", "names several probes"},
	    {"c:malloc,c:free", "names several probes"},
	    {"c:malloc,free", "names several probes"},
	    {"vfs_read,vfs_write", "names several probes"},
	    {"vfs_read, c:malloc", "names several probes"},
	    {"/usr/bin/x:a,/usr/bin/y:b", "names several probes"},
	    {"/usr/bin/x:a,b", "names several probes"},
	    {"x:f(int, char),g", "names several probes"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct fsc_err err = {0};
		struct fsc_spec s;

		if (fsc_spec_parse(all[i].text, false, false, &s, &err) != -EINVAL)
			fail_msg("'%s' was taken", all[i].text);
		assert_true(err.usage);
		if (!strstr(err.msg, all[i].says) || !strstr(err.msg, all[i].text))
			fail_msg("'%s': %s", all[i].text, err.msg);
		if (strstr(err.msg, "::FUNCTION"))
			fail_msg("'%s' proposes what is no probe: %s", all[i].text, err.msg);
	}
}

/* What only looks like one of those. */
static void near_mistakes(void **state)
{
	static const char *const all[] = {"BEGINNER",
					  "profile_tick",
					  "profiler:ProfilerStart",
					  "./profile:main",
					  "c:f(int, char)",
					  "x:f<a,k::b>",
					  "/opt/a,b/x:f",
					  "p:./a,b:f",
					  "x:A::operator,(B)",
					  "x:f<a, b>::{lambda(int, char)#1}",
					  "rawtracepoint:sched_switch",
					  "kfunc:vfs_read",
					  "fentry:vmlinux:vfs_read",
					  "fexit:vfs_read"};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct fsc_err err = {0};
		struct fsc_spec s;

		if (fsc_spec_parse(all[i], false, true, &s, &err))
			fail_msg("'%s': %s", all[i], err.msg);
		if (!strncmp(all[i], "raw", 3))
			assert_string_equal(s.kind->name, "tracepoint");
		fsc_spec_release(&s);
	}
}

/* Colons and backslashes in any order: parsed or refused, never a crash (the sanitizers watch). */
static void any_punctuation(void **state)
{
	static const char letters[] = ":\\+.*pkt1/";

	(void)state;
	for (unsigned n = 0; n < 100000; n++) {
		char text[8] = "";
		struct fsc_err err = {0};
		struct fsc_spec s;
		unsigned v = n;

		for (int i = 0; v; i++, v /= 10)
			text[i] = letters[v % 10];
		if (fsc_spec_parse(text, n & 1, n & 2, &s, &err)) {
			assert_true(err.usage && err.msg[0]);
			continue;
		}
		assert_true(s.function ? s.function[0] : s.file && s.file[0]);
		fsc_spec_release(&s);
	}
}

static void very_long_text(void **state)
{
	static char text[1 << 20];
	struct fsc_err err = {0};
	struct fsc_spec s;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(fsc_spec_parse(text, false, false, &s, &err), 0);
	assert_int_equal(strlen(s.function), sizeof(text) - 1);
	fsc_spec_release(&s);
	text[100] = ':';
	assert_int_equal(fsc_spec_parse(text, false, false, &s, &err), 0);
	assert_int_equal(strlen(s.binary), 100);
	fsc_spec_release(&s);
	text[100] = 'x';
	text[sizeof(text) - 2] = ':';
	assert_int_equal(fsc_spec_parse(text, false, false, &s, &err), -EINVAL);
	assert_true(strlen(err.msg) < sizeof(err.msg));
	memset(text, ':', sizeof(text) - 1);
	if (!fsc_spec_parse(text, false, true, &s, &err))
		fsc_spec_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(kernel_functions),
	    cmocka_unit_test(user_functions),
	    cmocka_unit_test(names_with_two_colons),
	    cmocka_unit_test(bare_names_with_two_colons),
	    cmocka_unit_test(offsets),
	    cmocka_unit_test(lines),
	    cmocka_unit_test(tracepoints),
	    cmocka_unit_test(usdt_probes),
	    cmocka_unit_test(escaped_colons),
	    cmocka_unit_test(regular_expressions),
	    cmocka_unit_test(malformed),
	    cmocka_unit_test(near_mistakes),
	    cmocka_unit_test(any_punctuation),
	    cmocka_unit_test(very_long_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
