/* src/engine/script*.c and src/source/script*.c, with a plan that is written out here: what its
 * programs store and send arrives as values, and what the verifier refuses has a place. Skipped
 * where programs cannot be loaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include "base/clock.h"
#include "engine/self.h"
#include "engine/session.h"
#include "engine/script.h"
#include "sink/script.h"
#include "source/script.h"

/* ---- instructions ---- */

#define MOV(d, i)                                                                                  \
	{                                                                                          \
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (d), .imm = (i)                    \
	}
#define MOV_REG(d, s)                                                                              \
	{                                                                                          \
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (d), .src_reg = (s)                \
	}
#define ADD(d, i)                                                                                  \
	{                                                                                          \
		.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = (d), .imm = (i)                    \
	}
#define STORE(d, o, i)                                                                             \
	{                                                                                          \
		.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = (d), .off = (o), .imm = (i)          \
	}
#define LOAD(d, s, o)                                                                              \
	{                                                                                          \
		.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = (d), .src_reg = (s), .off = (o)     \
	}
#define CALL(f)                                                                                    \
	{                                                                                          \
		.code = BPF_JMP | BPF_CALL, .imm = (f)                                             \
	}
#define EXIT                                                                                       \
	{                                                                                          \
		.code = BPF_JMP | BPF_EXIT                                                         \
	}
#define MAP_OF(d)                                                                                  \
	{.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = (d), .src_reg = BPF_PSEUDO_MAP_FD},         \
	{                                                                                          \
		.code = 0                                                                          \
	}

enum { RING, GLOBALS, LOSSES, KEYED, SCALAR, MAPS };

static const struct fsc_vtype u64_type = {.kind = FSC_V_INT, .size = 8},
			      i64_type = {.kind = FSC_V_INT, .size = 8, .is_signed = true},
			      count_type = {.kind = FSC_V_COUNT, .size = 8};

static const struct fsc_plan_map maps[MAPS] = {
    [RING] = {.role = FSC_PMAP_RING, .name = "ring", .type = BPF_MAP_TYPE_RINGBUF},
    [GLOBALS] = {.role = FSC_PMAP_GLOBALS,
		 .name = "globals",
		 .type = BPF_MAP_TYPE_ARRAY,
		 .key_size = 4,
		 .value_size = sizeof(struct fsc_plan_globals),
		 .max_entries = 1},
    [LOSSES] = {.role = FSC_PMAP_LOSSES,
		.name = "losses",
		.type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = 8 * FSC_PLOSS_MAX,
		.max_entries = 1},
    [KEYED] = {.role = FSC_PMAP_SCRIPT,
	       .name = "@a",
	       .type = BPF_MAP_TYPE_HASH,
	       .key_size = 8,
	       .value_size = 8,
	       .max_entries = 16,
	       .key = &i64_type,
	       .value = &u64_type,
	       .printed = true},
    [SCALAR] = {.role = FSC_PMAP_SCRIPT,
		.name = "@n",
		.type = BPF_MAP_TYPE_PERCPU_ARRAY,
		.key_size = 4,
		.value_size = 16,
		.max_entries = 1,
		.per_cpu = true,
		.scalar = true,
		.value = &count_type,
		.set_offset = 8,
		.printed = true},
};

/* @a[-1] = 7; then the event {0, 42}. */
static struct bpf_insn begin_insns[] = {STORE(10, -8, -1),
					STORE(10, -16, 7),
					MAP_OF(1),
					MOV_REG(2, 10),
					ADD(2, -8),
					MOV_REG(3, 10),
					ADD(3, -16),
					MOV(4, 0),
					CALL(BPF_FUNC_map_update_elem),
					STORE(10, -16, 0),
					STORE(10, -8, 42),
					MAP_OF(1),
					MOV_REG(2, 10),
					ADD(2, -16),
					MOV(3, 16),
					MOV(4, 0),
					CALL(BPF_FUNC_ringbuf_output),
					MOV(0, 0),
					EXIT};
static struct fsc_plan_reloc begin_relocs[] = {{.kind = FSC_RELOC_MAP, .insn = 2, .map = KEYED},
					       {.kind = FSC_RELOC_MAP, .insn = 12, .map = RING}};

/* Follows 0. */
static struct bpf_insn bad_insns[] = {MOV(1, 0), LOAD(0, 1, 0), EXIT};
static struct fsc_plan_line bad_lines[] = {{0, 1, 1, 5}, {1, 2, 3, 4}};

static struct bpf_insn nothing_insns[] = {MOV(0, 0), EXIT};

static const struct fsc_point begin = {.kind = FSC_POINT_BEGIN, .name = "BEGIN"};
static const struct fsc_point timer = {
    .kind = FSC_POINT_INTERVAL, .name = "interval:ms:1", .period = 1000000};
static const struct fsc_point absent = {
    .kind = FSC_POINT_TRACEPOINT, .name = "tracepoint:none:none", .event_id = 999999};

static uint64_t cookie;

#define PROG(k, point, code)                                                                       \
	{                                                                                          \
		.name = "test", .title = #point, .kind = (k),                                      \
		.points = (const struct fsc_point *[]){&point}, .cookies = &cookie, .n_points = 1, \
		.insns = code, .n_insns = sizeof(code) / sizeof(code[0])                           \
	}

static const char *const lines[] = {"BEGIN", "{ *0; }"};

static struct fsc_plan plan_of(const struct fsc_plan_prog *progs, size_t n)
{
	return (struct fsc_plan){.maps = maps,
				 .n_maps = MAPS,
				 .progs = progs,
				 .n_progs = n,
				 .ring = RING,
				 .globals = GLOBALS,
				 .losses = LOSSES,
				 .source_name = "stdin",
				 .source_lines = lines,
				 .n_source_lines = 2,
				 .config = {.license = "GPL", .log_size = 1000000}};
}

static struct fsc_script *load(const struct fsc_plan *p, struct fsc_err *err)
{
	const struct fsc_script_opts opts = {.n_cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF)};
	struct fsc_script *s = NULL;

	fsc_script_load(p, &opts, &s, err);
	return s;
}

static bool may_load(void)
{
	struct fsc_err err = {0};

	if (!fsc_session_possible(&err))
		return true;
	print_message("%s\n", err.msg);
	return false;
}

static int count_record(const void *record, size_t size, void *arg)
{
	uint64_t words[2];

	assert_int_equal(size, sizeof(words));
	memcpy(words, record, sizeof(words));
	assert_int_equal(words[0], 0);
	assert_int_equal(words[1], 42);
	++*(int *)arg;
	return 0;
}

static void what_is_stored_and_sent_arrives(void **state)
{
	static const struct fsc_plan_arg arg = {&u64_type, 8};
	static const struct fsc_plan_event event = {
	    .action = FSC_ACT_PRINT, .size = 16, .args = &arg, .n_args = 1};
	struct fsc_plan_prog progs[] = {PROG(FSC_POINT_BEGIN, begin, begin_insns)};
	struct fsc_plan p = plan_of(progs, 1);
	const uint64_t record[] = {0, 42};
	struct fsc_readings *r = NULL;
	struct fsc_err err = {0};
	struct fsc_value v, *values;
	struct fsc_script *s;
	uint32_t zero = 0;
	uint64_t n[2 * 1024] = {0};
	int records = 0;

	(void)state;
	if (!may_load())
		skip();
	progs[0].relocs = begin_relocs;
	progs[0].n_relocs = 2;
	s = load(&p, &err);
	if (!s)
		fail_msg("%s", err.msg);
	assert_int_equal(fsc_readings_new(s, NULL, 0, &r, &err), 0);
	assert_int_equal(fsc_script_run(s, FSC_POINT_END, 0, &err), 0);
	assert_int_equal(fsc_script_run(s, FSC_POINT_BEGIN, 0, &err), 0);
	assert_int_equal(fsc_script_drain(s, count_record, &records, &err), 0);
	assert_int_equal(records, 1);
	assert_int_equal(fsc_script_records(s), 1);
	assert_int_equal(fsc_readings_map(r, KEYED, 0, 0, &v, &err), 0);
	assert_int_equal(v.kind, FSC_VALUE_MAP);
	assert_int_equal(v.list.n, 1);
	assert_int_equal(v.list.keys[0].i, -1);
	assert_int_equal(v.list.at[0].u, 7);
	assert_int_equal(fsc_readings_event(r, &event, record, sizeof(record), &values, &err), 0);
	assert_int_equal(values[0].u, 42);
	assert_int_equal(fsc_readings_event(r, &event, record, 12, &values, &err), -EPROTO);
	/* Without keys, and never set. */
	assert_int_equal(fsc_readings_map(r, SCALAR, 0, 0, &v, &err), 0);
	assert_int_equal(v.kind, FSC_VALUE_NONE);
	assert_true(fsc_script_lookup(s, SCALAR, &zero, n));
	assert_int_equal(fsc_script_zero(s, KEYED, &err), 0);
	assert_int_equal(fsc_readings_map(r, KEYED, 0, 0, &v, &err), 0);
	assert_int_equal(v.list.at[0].u, 0);
	assert_int_equal(fsc_script_clear(s, KEYED, &err), 0);
	assert_int_equal(fsc_readings_map(r, KEYED, 0, 0, &v, &err), 0);
	assert_int_equal(v.list.n, 0);
	assert_int_equal(fsc_script_loss(s, FSC_PLOSS_RING), 0);
	fsc_readings_free(r);
	fsc_script_free(s);
}

static void a_refusal_has_its_place(void **state)
{
	struct fsc_plan_prog progs[] = {PROG(FSC_POINT_BEGIN, begin, bad_insns)};
	struct fsc_plan p = plan_of(progs, 1);
	struct fsc_err err = {0};

	(void)state;
	if (!may_load())
		skip();
	progs[0].lines = bad_lines;
	progs[0].n_lines = 2;
	assert_null(load(&p, &err));
	if (strncmp(err.msg, "stdin:2:3: the kernel refuses '*0; ' in begin: R1 invalid mem access",
		    60))
		fail_msg("%s", err.msg);
	assert_non_null(strstr(err.hint, "check the pointer"));
}

/* With missing_probes=error nothing stays attached, with warn what is left goes on. */
static void what_cannot_be_attached_is_named(void **state)
{
	struct fsc_plan_prog progs[] = {PROG(FSC_POINT_INTERVAL, timer, nothing_insns),
					PROG(FSC_POINT_TRACEPOINT, absent, nothing_insns)};
	struct fsc_plan p = plan_of(progs, 2);
	struct fsc_err err = {0};
	struct fsc_script *s;

	(void)state;
	if (!may_load())
		skip();
	s = load(&p, &err);
	if (!s)
		fail_msg("%s", err.msg);
	assert_true(fsc_script_attach(s, &err) < 0);
	assert_non_null(strstr(err.msg, "cannot attach tracepoint:none:none"));
	fsc_script_free(s);
	p.config.missing_probes = FSC_MISSING_IGNORE;
	s = load(&p, &err);
	assert_non_null(s);
	assert_int_equal(fsc_script_attach(s, &err), 0);
	assert_int_equal(fsc_script_attached(s), 1);
	assert_int_equal(fsc_script_refused(s)->n, 1);
	fsc_script_detach(s);
	fsc_script_detach(s);
	assert_int_equal(fsc_script_missed(s), 0);
	fsc_script_free(s);
}

/* ---- what fires ---- */

/* The event {0, 42}. */
static struct bpf_insn event_insns[] = {STORE(10, -16, 0), STORE(10, -8, 42),
					MAP_OF(1),	   MOV_REG(2, 10),
					ADD(2, -16),	   MOV(3, 16),
					MOV(4, 0),	   CALL(BPF_FUNC_ringbuf_output),
					MOV(0, 0),	   EXIT};
static struct bpf_insn other_insns[] = {STORE(10, -16, 0), STORE(10, -8, 43),
					MAP_OF(1),	   MOV_REG(2, 10),
					ADD(2, -16),	   MOV(3, 16),
					MOV(4, 0),	   CALL(BPF_FUNC_ringbuf_output),
					MOV(0, 0),	   EXIT};
static struct fsc_plan_reloc event_relocs[] = {{.kind = FSC_RELOC_MAP, .insn = 2, .map = RING}};

static volatile uint64_t watched;

static void call_thrice(void)
{
	for (int i = 0; i < 3; i++)
		fsc_self_ordinary();
}

static void write_thrice(void)
{
	for (int i = 0; i < 3; i++)
		watched++;
}

static void touch_pages(void)
{
	enum { SIZE = 1 << 20 };
	volatile char *p =
	    mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < SIZE; i += 4096)
		p[i] = 1;
	munmap((void *)p, SIZE);
}

static void burn_time(void)
{
	uint64_t until = fsc_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 50000000;

	while (fsc_clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
		;
}

/* Attaches the event's program to the point, lets it fire, and returns how many events arrived; -1
 * and a message: it cannot be attached here. */
static int fire(const struct fsc_point *point, void (*provoke)(void))
{
	struct fsc_plan_prog progs[] = {PROG(point->kind, *point, event_insns)};
	struct fsc_plan p = plan_of(progs, 1);
	struct fsc_err err = {0};
	struct fsc_script *s;
	int records = 0;

	progs[0].title = point->name;
	progs[0].relocs = event_relocs;
	progs[0].n_relocs = 1;
	s = load(&p, &err);
	if (!s || fsc_script_attach(s, &err)) {
		print_message("%s: %s\n", point->name, err.msg);
		fsc_script_free(s);
		return -1;
	}
	assert_int_equal(fsc_script_attached(s), 1);
	provoke();
	assert_int_equal(fsc_script_iterate(s, &err), 0);
	fsc_script_detach(s);
	provoke(); /* nothing fires any more */
	assert_int_equal(fsc_script_drain(s, count_record, &records, &err), 0);
	fsc_script_free(s);
	return records;
}

static void probes_of_each_kind_fire(void **state)
{
	struct fsc_point function = {
	    .kind = FSC_POINT_UPROBE, .name = "uprobe", .target = FSC_SELF_PATH, .pid = getpid()};
	const struct fsc_point samples = {
	    .kind = FSC_POINT_PROFILE, .name = "profile", .frequency = 999, .pid = getpid()};
	const struct fsc_point faults = {.kind = FSC_POINT_SOFTWARE,
					 .name = "software",
					 .perf_type = PERF_TYPE_SOFTWARE,
					 .perf_config = PERF_COUNT_SW_PAGE_FAULTS,
					 .period = 1,
					 .pid = getpid()};
	const struct fsc_point raw = {
	    .kind = FSC_POINT_RAWTRACEPOINT, .name = "rawtracepoint", .func = "sys_enter"};
	const struct fsc_point memory = {.kind = FSC_POINT_WATCHPOINT,
					 .name = "watchpoint",
					 .address = (uint64_t)(uintptr_t)&watched,
					 .length = 8,
					 .access = 2,
					 .watch_arg = -1,
					 .pid = getpid()};
	const struct fsc_point tasks = {
	    .kind = FSC_POINT_ITER,
	    .name = "iter:task",
	    .btf_fd = -1,
	    .btf_id = (uint32_t)libbpf_find_vmlinux_btf_id("task", BPF_TRACE_ITER)};
	int n;

	(void)state;
	if (!may_load())
		skip();
	assert_int_equal(fsc_self_offset(fsc_self_ordinary, &function.address, NULL), 0);
	assert_int_equal(fire(&function, call_thrice), 3);
	function.kind = FSC_POINT_URETPROBE;
	assert_int_equal(fire(&function, call_thrice), 3);
	assert_true(fire(&samples, burn_time) > 0);
	assert_true(fire(&faults, touch_pages) >= 256);
	assert_true(fire(&raw, touch_pages) > 0);
	n = fire(&memory, write_thrice);
	assert_true(n == 3 || n < 0); /* not every machine has such registers */
	n = fire(&tasks, write_thrice);
	assert_true(n > 1 || n < 0);
}

/* 42, 43, 42, ... */
static int expect_order(const void *record, size_t size, void *arg)
{
	int *n = arg;
	uint64_t words[2];

	assert_int_equal(size, sizeof(words));
	memcpy(words, record, sizeof(words));
	assert_int_equal(words[1], 42 + (*n)++ % 2);
	return 0;
}

static void programs_at_one_place_run_in_order(void **state)
{
	struct fsc_point point = {
	    .name = "user function", .target = FSC_SELF_PATH, .pid = getpid()};
	static const enum fsc_point_kind user_kinds[] = {FSC_POINT_UPROBE, FSC_POINT_URETPROBE};

	(void)state;
	if (!may_load())
		skip();
	assert_int_equal(fsc_self_offset(fsc_self_ordinary, &point.address, NULL), 0);
	for (size_t i = 0; i < 2; i++) {
		struct fsc_plan_prog progs[] = {PROG(user_kinds[i], point, event_insns),
						PROG(user_kinds[i], point, other_insns)};
		struct fsc_plan p = plan_of(progs, 2);
		struct fsc_err err = {0};
		struct fsc_script *s;
		int records = 0;

		point.kind = user_kinds[i];
		progs[0].relocs = progs[1].relocs = event_relocs;
		progs[0].n_relocs = progs[1].n_relocs = 1;
		s = load(&p, &err);
		if (!s || fsc_script_attach(s, &err))
			fail_msg("%s", err.msg);
		call_thrice();
		fsc_script_detach(s);
		assert_int_equal(fsc_script_drain(s, expect_order, &records, &err), 0);
		assert_int_equal(records, 6);
		fsc_script_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(programs_at_one_place_run_in_order),
	    cmocka_unit_test(probes_of_each_kind_fire),
	    cmocka_unit_test(what_is_stored_and_sent_arrives),
	    cmocka_unit_test(a_refusal_has_its_place),
	    cmocka_unit_test(what_cannot_be_attached_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
