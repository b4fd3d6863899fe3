/* bpf/expr.bpf.h in the kernel: the verifier takes it in programs of every type that `trace` uses,
 * at a price that is bounded here, and it computes what C computes. Needs root; skipped otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "eval_cases.h"
#include "eval_kernel.skel.h"
#include "probe/tracefields.h"
#include "probe/tracespec.h"
#include "kernel/tpformat.h"
#include "kernel/tracefs.h"

enum { STRINGS = 3, STRING_SIZE = 34, MOST_INSNS = 200000 };

static struct eval_kernel_bpf *skel;
static struct ring_buffer *ring;
static union {
	struct fsc_rec_call call;
	char bytes[sizeof(struct fsc_rec_call) + STRINGS * STRING_SIZE];
} got;
static int n_got;

static int take(void *ctx, void *data, size_t size)
{
	(void)ctx;
	if (size >= sizeof(got))
		memcpy(&got, data, sizeof(got));
	n_got++;
	return 0;
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static int load(void **state)
{
	(void)state;
	libbpf_set_print(quiet);
	skel = geteuid() ? NULL : eval_kernel_bpf__open();
	if (!skel)
		return 0;
	skel->rodata->n_strings = STRINGS;
	skel->rodata->string_size = STRING_SIZE;
	skel->rodata->rec_size = sizeof(got);
	skel->bss->only_tgid = (uint32_t)getpid();
	if (eval_kernel_bpf__load(skel))
		return -1;
	ring = ring_buffer__new(bpf_map__fd(skel->maps.ring), take, NULL, NULL);
	return ring ? 0 : -1;
}

static int unload(void **state)
{
	(void)state;
	ring_buffer__free(ring);
	eval_kernel_bpf__destroy(skel);
	return 0;
}

/* Compiles text and gives the program to the kernel. */
static void set(const char *text, const struct fsc_names *names)
{
	struct fsc_trace_prog prog;
	struct fsc_tracespec s;
	struct fsc_format f;
	struct fsc_err err = {0};
	uint32_t zero = 0;

	if (fsc_tracespec_parse(text, &s, &err) ||
	    fsc_tracespec_compile(&s, names, FSC_AT_ENTRY, &prog, &f, &err))
		fail_msg("%s: %s", text, err.msg);
	fsc_format_release(&f);
	fsc_tracespec_release(&s);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.progs), &zero, &prog, 0), 0);
	memset(skel->bss->verdicts, 0, sizeof(skel->bss->verdicts));
	ring_buffer__consume(ring);
	n_got = 0;
}

static void the_verifier_is_content(void **state)
{
	struct bpf_program *p;

	(void)state;
	if (!skel)
		skip();
	bpf_object__for_each_program(p, skel->obj)
	{
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size), 0);
		print_message("%s: %u instructions verified\n", bpf_program__name(p),
			      info.verified_insns);
		assert_in_range(info.verified_insns, 1, MOST_INSNS);
	}
}

static void as_c_does(void **state)
{
	static const struct fsc_names plain = {0};
	uint64_t args[12] = EVAL_ARGS;
	struct eval_case cases[400];
	size_t n = eval_cases(cases, 400);
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = args, .ctx_size_in = sizeof(args));

	(void)state;
	if (!skel)
		skip();
	for (size_t i = 0; i < n; i++) {
		char text[1200];

		snprintf(text, sizeof(text), "f \"%%ld\", %s", cases[i].text);
		set(text, &plain);
		assert_int_equal(
		    bpf_prog_test_run_opts(bpf_program__fd(skel->progs.on_raw_tracepoint), &run),
		    0);
		ring_buffer__consume(ring);
		assert_int_equal(n_got, 1);
		if (got.call.values[0] != cases[i].want || got.call.unreadable)
			fail_msg("%s is 0x%llx, and not 0x%llx", cases[i].text,
				 (unsigned long long)cases[i].want,
				 (unsigned long long)got.call.values[0]);
	}
}

/* What is probed below. */
__attribute__((noinline, noclone)) int traced(const char *text, const int *numbers, long n);

int traced(const char *text, const int *numbers, long n)
{
	__asm__ volatile("" ::: "memory");
	return text && numbers && n;
}

static void on_a_function(void **state)
{
	static const struct fsc_names user = {.user = true};
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = "traced");
	static const int numbers[] = {10, -20, 30};
	struct bpf_link *link;

	(void)state;
	if (!skel)
		skip();
	link = bpf_program__attach_uprobe_opts(skel->progs.on_function, getpid(), "/proc/self/exe",
					       0, &opts);
	if (!link)
		skip();
	set("x:traced(char *text, int *numbers, long n) (STRCMP(\"hello\", text) && numbers[1] == "
	    "-20) "
	    "\"%s %d %d %s %d %s\", text, numbers[n], *(int *)arg2, n, $pid, $comm",
	    &user);
	traced("hello", numbers, 2);
	traced("hullo", numbers, 2);
	traced(NULL, numbers, 2);
	ring_buffer__consume(ring);
	assert_int_equal(n_got, 1);
	assert_int_equal(skel->bss->verdicts[0], 1);
	assert_int_equal(skel->bss->verdicts[1], 1);
	assert_int_equal(skel->bss->verdicts[2], 1);
	assert_string_equal(got.call.strings, "hello");
	assert_int_equal(got.call.values[1], 30);
	assert_int_equal(got.call.values[2], 10);
	assert_string_equal(got.call.strings + STRING_SIZE, "");
	assert_int_equal(got.call.unreadable, 8ull << FSC_TRACE_NO_TEXT);
	assert_int_equal(got.call.values[4], getpid());
	/* a process cannot have kernel memory shown by passing its address */
	set("x:traced \"%s %d\", arg1, *(char *)arg2", &user);
	traced((const char *)0xffffffff81000000, (const int *)0xffffffff81000000, 1);
	ring_buffer__consume(ring);
	assert_int_equal(got.call.unreadable, 1ull << FSC_TRACE_NO_TEXT | 2);
	bpf_link__destroy(link);
}

/* libbpf looks for the number in a mounted tracefs; ours need not be. */
static struct bpf_link *attach_tracepoint(struct bpf_program *p, int id)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT,
				       .size = sizeof(attr),
				       .config = (uint64_t)id,
				       .sample_period = 1};
	long fd = syscall(SYS_perf_event_open, &attr, getpid(), -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? NULL : bpf_program__attach_perf_event(p, (int)fd);
}

static void on_tracepoints(void **state)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec fields = FSC_VEC_INIT(struct fsc_tp_field);
	int tracefs = skel ? fsc_tracefs_open(NULL) : -1;
	struct bpf_link *link;
	struct fsc_names names;
	int id;
	char before[16] = "";

	(void)state;
	if (tracefs < 0 || fsc_tracepoint_fields(tracefs, "task", "task_rename", &fields, NULL)) {
		if (tracefs >= 0)
			close(tracefs);
		skip();
	}
	id = fsc_tracepoint_id(tracefs, "task", "task_rename", NULL);
	close(tracefs);
	fsc_tracefields_names(&fields, &names);
	link = attach_tracepoint(skel->progs.on_tracepoint, id);
	assert_non_null(link);
	set("t:task:task_rename (STRCMP(\"renamed\", args->newcomm)) \"%s %s\", "
	    "args->oldcomm, args->newcomm",
	    &names);
	prctl(PR_GET_NAME, before);
	prctl(PR_SET_NAME, "another");
	prctl(PR_SET_NAME, "renamed");
	prctl(PR_SET_NAME, before);
	ring_buffer__consume(ring);
	bpf_link__destroy(link);
	assert_int_equal(n_got, 1);
	assert_string_equal(got.call.strings, "another");
	assert_string_equal(got.call.strings + STRING_SIZE, "renamed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_verifier_is_content),
	    cmocka_unit_test(as_c_does),
	    cmocka_unit_test(on_a_function),
	    cmocka_unit_test(on_tracepoints),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
