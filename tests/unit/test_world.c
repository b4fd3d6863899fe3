/* src/world: attach points as scripts write them, and what the machine answers about the fixtures
 * and about its own kernel. */
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

#include "probe/target.h"
#include "sym_fixtures.h"
#include "world/machine.h"
#include "world/written.h"

/* ---- written ---- */

static const struct {
	const char *text, *name;
	const char *parts[3];
	const char *plus; /* of the last part */
} written[] = {
    {"BEGIN", "begin", {0}, NULL},
    {"end", "end", {0}, NULL},
    {"k:vfs_read", "kprobe", {"vfs_read"}, NULL},
    {"kprobe:nf_tables:nft_trans+0x4", "kprobe", {"nf_tables", "nft_trans"}, "0x4"},
    {"kfunc:vfs_*", "fentry", {"vfs_*"}, NULL},
    {"fr:tcp_reset", "fexit", {"tcp_reset"}, NULL},
    {"uprobe:/bin/bash:\"echo_builtin\"+0", "uprobe", {"/bin/bash", "echo_builtin"}, "0"},
    {"u:./a:cpp:\"ns::operator+\"", "uprobe", {"./a", "cpp", "ns::operator+"}, NULL},
    {"U:./a:\"tick\\\"tock:x\"", "usdt", {"./a", "tick\"tock:x"}, NULL},
    {"t:syscalls:sys_enter_*", "tracepoint", {"syscalls", "sys_enter_*"}, NULL},
    {"i:1s", "interval", {"1s"}, NULL},
    {"w:0x1000:8:rw", "watchpoint", {"0x1000", "8", "rw"}, NULL},
    {"it:task", "iter", {"task"}, NULL},
};

static void probes_are_taken_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++) {
		struct fsc_err err = {0};
		struct fsc_written w;
		unsigned n = 0;

		if (fsc_written_parse(written[i].text, &w, &err))
			fail_msg("'%s': %s", written[i].text, err.msg);
		assert_string_equal(w.provider->name, written[i].name);
		for (; n < 3 && written[i].parts[n]; n++)
			assert_string_equal(w.parts[n], written[i].parts[n]);
		assert_int_equal(w.n, n);
		if (written[i].plus)
			assert_string_equal(w.plus[n - 1], written[i].plus);
		else if (n)
			assert_null(w.plus[n - 1]);
		fsc_written_release(&w);
	}
}

static const struct {
	const char *text, *says;
} refused[] = {
    {"kprob:vfs_read", "Invalid probe type: kprob"},
    {"BEGIN:x", "begin probe type requires 0 arguments, found 1"},
    {"t:syscalls", "tracepoint probe type requires 2 arguments, found 1"},
    {"profile", "profile probe type requires 1 or 2 arguments, found 0"},
    {"u:a:b:c:d", "uprobe probe type requires 1 to 3 arguments, found 4"},
    {"u:a:\"b", "a quote that does not end"},
    {"u:a:b:c:d:e:f:g", "too many parts"},
};

static void what_is_no_probe_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct fsc_err err = {0};
		struct fsc_written w;

		assert_int_equal(fsc_written_parse(refused[i].text, &w, &err), -EINVAL);
		if (!strstr(err.msg, refused[i].says) || !err.usage)
			fail_msg("'%s': %s", refused[i].text, err.msg);
		fsc_written_release(&w);
	}
}

static void numbers_have_bases_and_units(void **state)
{
	uint64_t v;

	(void)state;
	assert_true(fsc_written_number("0x1f", &v) && v == 31);
	assert_true(fsc_written_number("017", &v) && v == 15);
	assert_true(fsc_written_number("1_000_000", &v) && v == 1000000);
	assert_true(fsc_written_number("1e6", &v) && v == 1000000);
	assert_true(fsc_written_number("0", &v) && v == 0);
	assert_true(fsc_written_number("18446744073709551615", &v) && v == UINT64_MAX);
	assert_false(fsc_written_number("18446744073709551616", &v));
	assert_false(fsc_written_number("1e20", &v));
	assert_false(fsc_written_number("08", &v));
	assert_false(fsc_written_number("", &v));
	assert_false(fsc_written_number("-1", &v));
	assert_false(fsc_written_number("12x", &v));
	assert_true(fsc_written_duration("1s", &v) && v == 1000000000);
	assert_true(fsc_written_duration("250us", &v) && v == 250000);
	assert_true(fsc_written_duration("2m", &v) && v == 120000000000);
	assert_true(fsc_written_duration("5", &v) && v == 5);
	assert_false(fsc_written_duration("5 s", &v));
	assert_false(fsc_written_duration("300000000000d", &v));
}

/* ---- points ---- */

struct found {
	const struct fsc_point *points[64];
	size_t n;
};

static int add_point(void *to, const struct fsc_point *p)
{
	struct found *f = to;

	assert_true(f->n < 64);
	f->points[f->n++] = p;
	return 0;
}

static struct fsc_machine *machine;

static int new_machine(void **state)
{
	const struct fsc_machine_opts opts = {0};

	(void)state;
	return fsc_machine_new(&opts, &machine, NULL);
}

static int free_machine(void **state)
{
	(void)state;
	fsc_machine_free(machine);
	return 0;
}

static int match(const char *text, struct found *f, struct fsc_err *err)
{
	const struct fsc_world *w = fsc_machine_world(machine);

	*f = (struct found){0};
	return w->match(w->arg, text, add_point, f, err);
}

static const struct fsc_point *match_one(const char *text)
{
	struct fsc_err err = {0};
	struct found f;

	if (match(text, &f, &err))
		fail_msg("'%s': %s", text, err.msg);
	assert_int_equal(f.n, 1);
	return f.points[0];
}

static const struct {
	const char *text;
	struct fsc_point is;
} plain[] = {
    {"BEGIN", {.kind = FSC_POINT_BEGIN, .name = "begin", .type = "special"}},
    {"END", {.kind = FSC_POINT_END, .name = "end", .type = "special"}},
    {"i:1s",
     {.kind = FSC_POINT_INTERVAL,
      .name = "interval:us:1000000",
      .type = "interval",
      .period = 1000000000}},
    {"interval:ms:5",
     {.kind = FSC_POINT_INTERVAL, .name = "interval:ms:5", .type = "interval", .period = 5000000}},
    {"p:hz:99",
     {.kind = FSC_POINT_PROFILE, .name = "profile:hz:99", .type = "profile", .frequency = 99}},
    {"s:cpu:100000",
     {.kind = FSC_POINT_SOFTWARE,
      .name = "software:cpu:100000",
      .type = "software",
      .period = 100000,
      .perf_type = 1}},
    {"software:faults",
     {.kind = FSC_POINT_SOFTWARE,
      .name = "software:faults",
      .type = "software",
      .period = 100,
      .perf_type = 1,
      .perf_config = 2}},
    {"hardware:cache-misses:1e6",
     {.kind = FSC_POINT_HARDWARE,
      .name = "hardware:cache-misses:1e6",
      .type = "hardware",
      .period = 1000000,
      .perf_config = 3}},
    {"watchpoint:0x1000:8:wr",
     {.kind = FSC_POINT_WATCHPOINT,
      .name = "watchpoint:0x1000:8:wr",
      .type = "watchpoint",
      .address = 0x1000,
      .length = 8,
      .access = 3}},
    {"test:adds", {.kind = FSC_POINT_TEST, .name = "test:adds", .type = "test"}},
};

static void plain_points_need_no_file(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		const struct fsc_point *p = match_one(plain[i].text), *is = &plain[i].is;

		assert_int_equal(p->kind, is->kind);
		assert_string_equal(p->name, is->name);
		assert_string_equal(p->type, is->type);
		assert_int_equal(p->period, is->period);
		assert_int_equal(p->frequency, is->frequency);
		assert_int_equal(p->perf_type, is->perf_type);
		assert_int_equal(p->perf_config, is->perf_config);
		assert_int_equal(p->address, is->address);
		assert_int_equal(p->length, is->length);
		assert_int_equal(p->access, is->access);
		assert_null(p->targets);
	}
}

static const struct {
	const char *text, *says;
} wrong[] = {
    {"i:5", "Minimum is 1000 or 1us"},
    {"i:x:5", "x is not an accepted unit of time"},
    {"profile:hz:0", "profile frequency should be a positive integer"},
    {"s:cpu-clok", "cpu-clok is not a software probe"},
    {"h:*", "wildcards are not allowed for hardware probe type"},
    {"w:0x1000:3:w", "watchpoint length must be one of (1,2,4,8)"},
    {"w:0x1000:8:q", "watchpoint mode must be combination of (r,w,x)"},
    {"w:0x1000:8:ww", "watchpoint modes may not be duplicated"},
    {"w:0:8:w", "watchpoint must be attached to a non-zero address"},
    {"w:f+arg1:8:w", "-p PID or -c CMD required"},
    {"self:signal:SIGKILL", "SIGKILL is not a supported signal"},
    {"u:f", "uprobe probe type requires 2 or 3 arguments, found 1"},
    {"u:/bin/sh:go:f", "unsupported language type: go"},
    {"ur:/bin/sh:f+4", "uretprobes can not be attached to a function offset"},
    {"u:/bin/*sh:0x1000", "Cannot use wildcards with absolute address"},
    {"u:/nowhere/at/*all:f", "does not exist or is not executable"},
    {"iter:*", "does not support wildcards"},
};

static void what_cannot_be_attached_to_is_said(void **state)
{
	struct found f;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct fsc_err err = {0};

		assert_true(match(wrong[i].text, &f, &err) < 0);
		if (!strstr(err.msg, wrong[i].says))
			fail_msg("'%s': %s", wrong[i].text, err.msg);
	}
}

static void functions_are_found_in_programs(void **state)
{
	const char *path = fixture("asked");
	const struct fsc_point *p;
	struct fsc_err err = {0};
	struct found f;
	char text[700];

	(void)state;
	snprintf(text, sizeof(text), "uprobe:%s:plot", path);
	p = match_one(text);
	assert_string_equal(p->name, text);
	assert_string_equal(p->func, "plot");
	assert_string_equal(p->target, path);
	assert_non_null(p->targets);
	assert_int_equal(p->address, fsc_targets_at(p->targets, p->place)->offset);

	snprintf(text, sizeof(text), "uretprobe:%s:s[hc]*", path);
	assert_int_equal(match(text, &f, &err), 0);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.points[0]->kind, FSC_POINT_URETPROBE);
	assert_string_equal(f.points[0]->func, "shift");
	assert_string_equal(f.points[1]->func, "scale");

	/* A pattern of files: those that lack the function do not matter. */
	snprintf(text, sizeof(text), "uprobe:%.*s[d]:plot", (int)strlen(path) - 1, path);
	p = match_one(text);
	assert_string_equal(p->target, path);

	snprintf(text, sizeof(text), "uprobe:%s:plott", path);
	assert_int_equal(match(text, &f, &err), -ENOENT);
	assert_non_null(strstr(err.hint, "plot"));
}

static void usdt_probes_are_found(void **state)
{
	const struct fsc_point *p;
	struct fsc_err err = {0};
	struct found f;
	char text[700];

	(void)state;
	snprintf(text, sizeof(text), "usdt:%s:fix:second", fixture("usdt"));
	p = match_one(text);
	assert_string_equal(p->name, text);
	assert_string_equal(p->space, "fix");
	assert_string_equal(p->func, "second");
	assert_true(p->ref_ctr);
	snprintf(text, sizeof(text), "U:%s:f*", fixture("usdt"));
	p = match_one(text);
	assert_string_equal(p->func, "first");
	assert_string_equal(p->usdt_args, "-4@%edi 8@%rsi");
	snprintf(text, sizeof(text), "U:%s:nofix:first", fixture("usdt"));
	assert_int_equal(match(text, &f, &err), -ENOENT);
}

/* ---- arguments, types, symbols ---- */

static void arguments_come_from_debug_information(void **state)
{
	const struct fsc_world *w = fsc_machine_world(machine);
	struct fsc_err err = {0};
	struct fsc_args args;
	char text[700];

	(void)state;
	snprintf(text, sizeof(text), "uprobe:%s:plot", fixture("asked"));
	assert_int_equal(w->args(w->arg, match_one(text), &args, &err), 0);
	assert_int_equal(args.n, 2);
	assert_string_equal(args.args[0].name, "p");
	assert_int_equal(args.args[0].at, FSC_ARG_AT_REGISTER);
	assert_int_equal(args.args[0].index, 0);
	assert_true(args.args[0].user);
	assert_int_equal(args.args[0].type->kind, FSC_TYPE_POINTER);
	assert_true(args.args[0].type->to->is_complete);
	assert_string_equal(args.args[1].name, "c");
	assert_int_equal(args.args[1].type->kind, FSC_TYPE_ENUM);
	assert_int_equal(args.ret->kind, FSC_TYPE_POINTER);
}

static void debug_information_lies_beside_the_program(void **state)
{
	const struct fsc_world *w = fsc_machine_world(machine);
	struct fsc_err err = {0};
	struct fsc_args args;
	char text[700];

	(void)state;
	snprintf(text, sizeof(text), "uprobe:%s:plot", fixture("asked-linked"));
	assert_int_equal(w->args(w->arg, match_one(text), &args, &err), 0);
	assert_int_equal(args.n, 2);
	assert_string_equal(args.args[0].name, "p");
}

static void types_come_from_the_program_first(void **state)
{
	const struct fsc_world *w = fsc_machine_world(machine);
	struct fsc_world_enumerator e;
	const struct fsc_point *p;
	struct fsc_world_type t;
	struct fsc_member m;
	char text[700];

	(void)state;
	snprintf(text, sizeof(text), "uprobe:%s:plot", fixture("asked"));
	p = match_one(text);
	assert_true(w->type(w->arg, "struct point", p, &t));
	assert_true(t.type->is_complete);
	assert_true(fsc_type_member(t.type, "layer", &m));
	assert_true(m.bitfield);
	assert_true(w->type(w->arg, "struct point", p, &t)); /* asked once */
	assert_true(w->type(w->arg, "unsigned char", p, &t));
	assert_int_equal(t.type->size, 1);
	assert_false(w->type(w->arg, "struct no_such_struct", p, &t));
	assert_true(w->enumerator(w->arg, "BLUE", p, &e));
	assert_int_equal(e.value, 2);
	assert_false(w->enumerator(w->arg, "NO_SUCH_COLOUR", p, &e));
}

static void symbols_have_addresses(void **state)
{
	const struct fsc_world *w = fsc_machine_world(machine);
	struct fsc_world_symbol s = {0};
	struct fsc_err err = {0};
	const struct fsc_point *p;
	char text[700];

	(void)state;
	snprintf(text, sizeof(text), "uprobe:%s:plot", fixture("asked"));
	p = match_one(text);
	assert_int_equal(w->uaddr(w->arg, p, "plot", &s, &err), 0);
	assert_true(s.address && s.size);
	/* The place is the symbol, but for what it begins with. */
	assert_true(s.probed >= s.address && s.probed - s.address <= 16);
	assert_int_equal(w->uaddr(w->arg, p, "no_such_symbol", &s, &err), -ENOENT);
	assert_int_equal(w->uaddr(w->arg, match_one("BEGIN"), "libc:environ", &s, &err), 0);
	assert_int_equal(s.size, 8);
	assert_true(s.relocated);
	assert_int_equal(w->signal(w->arg, "SIGKILL"), 9);
	assert_int_equal(w->signal(w->arg, "TERM"), 15);
	assert_int_equal(w->signal(w->arg, "NOPE"), -1);
}

/* ---- the kernel's ---- */

static bool kernel_has_types(void)
{
	return !access("/sys/kernel/btf/vmlinux", R_OK);
}

static void kernel_types_are_found(void **state)
{
	const struct fsc_world *w = fsc_machine_world(machine);
	struct fsc_world_enumerator e;
	struct fsc_nearest near = {.wanted = "struct task_strct"};
	struct fsc_world_type t;
	struct fsc_member m;

	(void)state;
	if (!kernel_has_types())
		skip();
	assert_true(w->type(w->arg, "struct task_struct", NULL, &t));
	assert_true(t.type->is_complete);
	assert_true(fsc_type_member(t.type, "pid", &m));
	assert_int_equal(m.size_bits, 32);
	assert_true(w->type(w->arg, "pid_t", NULL, &t));
	assert_int_equal(t.type->size, 4);
	assert_true(w->enumerator(w->arg, "BPF_MAP_TYPE_HASH", NULL, &e));
	assert_int_equal(e.value, 1);
	w->nearest_type(w->arg, &near);
	assert_true(near.n);
	assert_string_equal(near.best[0].name, "struct task_struct");
	assert_true(w->kfunc(w->arg, "vfs_read"));
	assert_false(w->kfunc(w->arg, "no_such_function"));
}

static void kernel_functions_have_arguments(void **state)
{
	const struct fsc_world *w = fsc_machine_world(machine);
	const struct fsc_point *p;
	struct fsc_err err = {0};
	struct fsc_args args;

	(void)state;
	if (!kernel_has_types())
		skip();
	p = match_one("fexit:vfs_read");
	assert_string_equal(p->name, "fexit:vmlinux:vfs_read");
	assert_true(p->btf_id);
	assert_int_equal(w->args(w->arg, p, &args, &err), 0);
	assert_int_equal(args.n, 4);
	assert_string_equal(args.args[2].name, "count");
	assert_int_equal(args.args[2].at, FSC_ARG_AT_SLOT);
	assert_int_equal(args.args[2].index, 2);
	assert_int_equal(args.ret_slot, 4);

	p = match_one("rawtracepoint:sys_enter");
	assert_string_equal(p->name, "rawtracepoint:vmlinux:sys_enter");
	assert_int_equal(w->args(w->arg, p, &args, &err), 0);
	assert_int_equal(args.n, 2);
	assert_string_equal(args.args[1].name, "id");
	assert_int_equal(args.args[1].index, 1);

	p = match_one("iter:task");
	assert_int_equal(w->args(w->arg, p, &args, &err), 0);
	assert_string_equal(args.args[1].name, "task");
	assert_int_equal(args.args[1].offset, 8);
}

static void tracepoints_have_fields(void **state)
{
	const struct fsc_world *w = fsc_machine_world(machine);
	const struct fsc_point *p;
	struct fsc_err err = {0};
	struct fsc_args args;
	bool seen = false;

	(void)state;
	if (geteuid())
		skip();
	p = match_one("t:syscalls:sys_enter_openat");
	assert_string_equal(p->name, "tracepoint:syscalls:sys_enter_openat");
	assert_true(p->event_id > 0);
	assert_int_equal(w->args(w->arg, p, &args, &err), 0);
	for (size_t i = 0; i < args.n; i++) {
		const struct fsc_arg *a = &args.args[i];

		if (strcmp(a->name, "filename"))
			continue;
		seen = true;
		assert_true(a->user);
		assert_int_equal(a->at, FSC_ARG_AT_RECORD);
		assert_int_equal(a->type->kind, FSC_TYPE_POINTER);
		assert_true(a->type->to->is_char);
	}
	assert_true(seen);
	p = match_one("t:irq:irq_handler_entry");
	assert_int_equal(w->args(w->arg, p, &args, &err), 0);
	assert_string_equal(args.args[args.n - 1].name, "name");
	assert_int_equal(args.args[args.n - 1].at, FSC_ARG_AT_DATA_LOC);
	assert_true(args.args[args.n - 1].is_text);
}

/* ---- lists ---- */

static void probes_are_listed(void **state)
{
	struct fsc_err err = {0};
	struct fsc_buf b = {0};
	char text[700], want[1500];

	(void)state;
	snprintf(text, sizeof(text), "uprobe:%s:s*", fixture("asked"));
	assert_int_equal(fsc_machine_list(machine, text, true, &b, &err), 0);
	snprintf(want, sizeof(want),
		 "uprobe:%s:scale\n    const struct point* p\n    double by\n    int n\n"
		 "uprobe:%s:shift\n    struct pair pair\n    int dx\n",
		 fixture("asked"), fixture("asked"));
	assert_string_equal(fsc_buf_str(&b), want);
	fsc_buf_clear(&b);
	assert_int_equal(fsc_machine_list(machine, "software:*faults", false, &b, &err), 0);
	assert_string_equal(fsc_buf_str(&b),
			    "software:alignment-faults:\nsoftware:emulation-faults:\n"
			    "software:faults:\nsoftware:major-faults:\nsoftware:minor-faults:\n"
			    "software:page-faults:\n");
	fsc_buf_release(&b);
}

static void all_that_the_kernel_has_is_listed(void **state)
{
	struct fsc_err err = {0};
	struct fsc_buf b = {0};

	(void)state;
	if (!kernel_has_types() || geteuid())
		skip();
	assert_int_equal(fsc_machine_list(machine, "*sched_wakeup_new*", false, &b, &err), 0);
	assert_non_null(strstr(fsc_buf_str(&b), "rawtracepoint:vmlinux:sched_wakeup_new\n"));
	assert_non_null(strstr(fsc_buf_str(&b), "tracepoint:sched:sched_wakeup_new\n"));
	fsc_buf_clear(&b);
	assert_int_equal(fsc_machine_list(machine, "fentry:vfs_rea*", false, &b, &err), 0);
	assert_non_null(strstr(fsc_buf_str(&b), "fentry:vmlinux:vfs_read\n"));
	fsc_buf_clear(&b);
	assert_int_equal(fsc_machine_list(machine, "kprobe:no_such_function_*", false, &b, &err),
			 0);
	assert_string_equal(fsc_buf_str(&b), "");
	assert_int_equal(fsc_machine_list(machine, "nothing:*", false, &b, &err), -EINVAL);
	fsc_buf_release(&b);
}

static void types_are_listed(void **state)
{
	struct fsc_err err = {0};
	struct fsc_buf b = {0};

	(void)state;
	if (!kernel_has_types())
		skip();
	assert_int_equal(fsc_machine_list(machine, "struct path", true, &b, &err), 0);
	assert_string_equal(fsc_buf_str(&b), "vmlinux: struct path {\n\tstruct vfsmount *mnt;\n"
					     "\tstruct dentry *dentry;\n};\n\n");
	fsc_buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(probes_are_taken_apart),
	    cmocka_unit_test(what_is_no_probe_is_refused),
	    cmocka_unit_test(numbers_have_bases_and_units),
	    cmocka_unit_test(plain_points_need_no_file),
	    cmocka_unit_test(what_cannot_be_attached_to_is_said),
	    cmocka_unit_test(functions_are_found_in_programs),
	    cmocka_unit_test(usdt_probes_are_found),
	    cmocka_unit_test(arguments_come_from_debug_information),
	    cmocka_unit_test(debug_information_lies_beside_the_program),
	    cmocka_unit_test(types_come_from_the_program_first),
	    cmocka_unit_test(symbols_have_addresses),
	    cmocka_unit_test(kernel_types_are_found),
	    cmocka_unit_test(kernel_functions_have_arguments),
	    cmocka_unit_test(tracepoints_have_fields),
	    cmocka_unit_test(probes_are_listed),
	    cmocka_unit_test(all_that_the_kernel_has_is_listed),
	    cmocka_unit_test(types_are_listed),
	};

	return cmocka_run_group_tests(tests, new_machine, free_machine);
}
