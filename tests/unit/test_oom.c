/* Memory running out, at every place where it can: the n-th allocation of a job fails, for n = 0,
 * 1, 2, ... up to as many as the job makes. It must then say so in words, with ENOMEM and nothing
 * else (a missing function is not what is missing), or get to the very same result another way; and
 * it must leave neither memory (the leak checker looks at exit) nor descriptors behind. The
 * allocator is wrapped by the linker (UNIT_WRAP in mk/test.mk). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/opt.h"
#include "cmd/run_shell.h"
#include "lang_world.h"
#include "engine/btftypes.h"
#include "model/compare.h"
#include "model/latency.h"
#include "model/profile.h"
#include "model/tally.h"
#include "monitor/config.h"
#include "monitor/labelsets.h"
#include "probe/kind.h"
#include "probe/tracespec.h"
#include "sink/alerts.h"
#include "sink/gpu_prometheus.h"
#include "sink/otlp.h"
#include "sink/prometheus.h"
#include "sink/script.h"
#include "sink/sink.h"
#include "source/recording.h"
#include "dwarf/signatures.h"
#include "proc/libs.h"
#include "sym/symbolize.h"
#include "dwarf/unwind.h"
#include "kernel/tracefs.h"
#include "snapshots.h"
#include "sym_fixtures.h"
#include "web/response.h"
#include "web/server.h"
#include "web/spool.h"
#include "web/url.h"
#include "world/machine.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);

static long asked;	      /* allocations so far */
static long fatal = LONG_MAX; /* the one that fails */

static bool denied(void)
{
	if (asked++ != fatal)
		return false;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t n)
{
	return denied() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return denied() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return denied() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
	return denied() ? NULL : __real_strdup(s);
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static uint64_t result; /* a digest of what the job found */

static void found(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	while (n--)
		result = (result ^ *p++) * 0x100000001b3u;
}

static void found_text(const char *s)
{
	found(s ? s : "(none)", strlen(s ? s : "(none)") + 1);
}

/* Something that takes memory and gives it all back, whether it worked or not. */
typedef int (*job_fn)(const void *arg, struct fsc_err *err);

/* What it finds when it gets all it wants, and how often it asks for memory. */
static long complete(job_fn job, const void *arg, uint64_t *ret)
{
	struct fsc_err err = {0};

	asked = 0;
	result = 0;
	if (job(arg, &err))
		fail_msg("with all the memory there is: %s", err.msg);
	*ret = result;
	return asked;
}

static void run_short_of(long n, job_fn job, const void *arg, uint64_t expected)
{
	struct fsc_err err = {0};
	int fds = open_fds(), rc;

	asked = 0;
	result = 0;
	fatal = n;
	rc = job(arg, &err);
	fatal = LONG_MAX;
	assert_int_equal(open_fds(), fds);
	if (!rc && result != expected)
		fail_msg("allocation %ld of the job failed, and it calls another result success",
			 n);
	if (rc && (rc != -ENOMEM || err.code != ENOMEM || !err.msg[0]))
		fail_msg("allocation %ld of the job failed, and it says %d '%s'", n, rc, err.msg);
}

/* Every request of a small job; the first, the last and some in between of a large one. */
static void sweep(job_fn job, const void *arg, long samples)
{
	uint64_t expected, again;
	long total = complete(job, arg, &expected), step = 1;

	if (total > 2 * samples)
		step = total / samples;
	for (long n = 0; n < total; n += n < samples / 2 || n >= total - samples / 4 ? 1 : step)
		run_short_of(n, job, arg, expected);
	assert_int_equal(complete(job, arg, &again), total); /* and nothing was broken by it */
	assert_true(again == expected);
}

/* ---- the jobs ---- */

static int parse_spec(const void *text, struct fsc_err *err)
{
	struct fsc_spec s;
	int rc = fsc_spec_parse(text, false, true, &s, err);

	if (!rc)
		fsc_spec_release(&s);
	return rc;
}

static void specs(void **state)
{
	static const char *const texts[] = {
	    "vfs_read",	     "k:ext4:f+0x12", "c:malloc",  "r:./x:ns::f*", "ns::f",   "main.c:42",
	    "./x:main.c:42", "t:sched:*",     "t:sched_*", "u:c:p",	   "u:c:a:b", ":f",
	    "/a\\:b:f",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		sweep(parse_spec, texts[i], 100);
}

/* From text to a shown call. */
static int trace(const void *text, struct fsc_err *err)
{
	static const struct fsc_names names = {0};
	static const struct fsc_func func = {.kind = "k", .binary = "b", .name = "f"};
	static const struct fsc_rec_call rec = {.n_values = FSC_TRACE_VALUES};
	struct fsc_trace_prog prog;
	struct fsc_tracespec s;
	struct fsc_format f;
	struct fsc_call c;
	struct fsc_buf b = {0};
	int rc = fsc_tracespec_parse(text, &s, err);

	if (rc)
		return rc;
	rc = fsc_tracespec_compile(&s, &names, FSC_AT_BOTH, &prog, &f, err);
	fsc_tracespec_release(&s);
	if (rc)
		return rc;
	rc = fsc_call_decode(&rec, sizeof(rec), &func, &f, &c, err);
	if (!rc)
		fsc_json_call(&(struct fsc_sink){0}, &c, &b);
	if (!rc && fsc_buf_failed(&b))
		rc = fsc_err_nomem(err);
	found(&prog, sizeof(prog));
	found_text(fsc_buf_str(&b));
	fsc_buf_release(&b);
	fsc_format_release(&f);
	return rc;
}

static void traces(void **state)
{
	(void)state;
	sweep(trace, "f", 100);
	sweep(trace, "f(int a, long b)", 100);
	sweep(trace, "::f(int a) ((u8)a == 1 && arg2) \"a%d b%-5x c\", a + 1, retval", 100);
}

static int found_point(void *to, const struct fsc_point *p)
{
	found_text(p->name);
	*(const struct fsc_point **)to = p;
	return 0;
}

/* What a probe of a script matches, and the arguments there. */
static int ask_world(const void *text, struct fsc_err *err)
{
	const struct fsc_machine_opts opts = {0};
	const struct fsc_point *p = NULL;
	struct fsc_machine *m;
	struct fsc_args args;
	int rc = fsc_machine_new(&opts, &m, err);
	const struct fsc_world *w = rc ? NULL : fsc_machine_world(m);

	if (rc)
		return rc;
	rc = w->match(w->arg, text, found_point, &p, err);
	if (!rc && p->kind == FSC_POINT_UPROBE)
		rc = w->args(w->arg, p, &args, err);
	for (size_t i = 0; !rc && p->kind == FSC_POINT_UPROBE && i < args.n; i++)
		found_text(args.args[i].name);
	fsc_machine_free(m);
	return rc;
}

static void worlds(void **state)
{
	char text[700];

	(void)state;
	snprintf(text, sizeof(text), "uprobe:%s:p*", fixture("asked"));
	sweep(ask_world, text, 60);
	snprintf(text, sizeof(text), "usdt:%s:f*", fixture("usdt"));
	sweep(ask_world, text, 60);
	sweep(ask_world, "interval:ms:5", 60);
	sweep(ask_world, "w:0x1000:8:w", 60);
}

static int parse_options(const void *arg, struct fsc_err *err)
{
	static const struct fsc_opt table[] = {{'p', "pid", FSC_OPT_LIST, 0, "PID", "", NULL}, {0}};
	struct fsc_vec pids = FSC_VEC_INIT(const char *);
	const struct fsc_opt_set sets[] = {{table, &pids}, {NULL, NULL}};
	char *argv[] = {"x", "-p1", "-p2", "-p3", "-p4", "-p5", "-p6", "-p7", "-p8", "-p9", NULL};
	int n, rc = fsc_opt_parse(sets, 10, argv, &n, err);

	(void)arg;
	fsc_vec_release(&pids);
	return rc;
}

static void options(void **state)
{
	(void)state;
	sweep(parse_options, NULL, 100);
}

static int no_event(struct fsc_loop *l, int n, void *arg, struct fsc_err *err)
{
	(void)l, (void)n, (void)arg, (void)err;
	return 0;
}

static int watch(const void *arg, struct fsc_err *err)
{
	struct fsc_loop l;
	int rc = fsc_loop_init(&l, err);

	(void)arg;
	for (int i = 0; !rc && i < 3; i++)
		rc = fsc_loop_timer(&l, 100, true, no_event, NULL, err);
	fsc_loop_release(&l);
	return rc;
}

static void loops(void **state)
{
	(void)state;
	sweep(watch, NULL, 100);
}

struct library {
	const char *what;
	struct fsc_libs_scope scope;
};

static int find_library(const void *arg, struct fsc_err *err)
{
	const struct library *l = arg;
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	int rc = fsc_libs_find(l->what, &l->scope, &files, err);

	for (size_t i = 0; i < files.n; i++)
		found_text(FSC_AT(struct fsc_libs_file, &files, i)->path);
	fsc_libs_release(&files);
	return rc;
}

static void libraries(void **state)
{
	const struct library all[] = {
	    {"c", {0}},
	    {"sh", {0}},
	    {"c", {.pid = getpid()}},
	    {"", {.pid = getpid()}},
	    {"/bin/sh", {.pid = getpid()}},
	    {"ver", {.command = fixture("prog-runpath")}},
	    {"", {.command = fixture("prog-runpath")}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		sweep(find_library, &all[i], 100);
}

/* With separate debug files below the fixtures' own root. */
static int compile(const void *text, struct fsc_err *err)
{
	static const struct fsc_lang_opts opts = {.warnings = true};
	struct fsc_world world = lang_world();
	struct fsc_diags diags;
	struct fsc_plan *plan;
	int rc;

	fsc_diags_init(&diags);
	rc = fsc_lang_compile(text, strlen(text), &opts, &world, &plan, &diags, err);
	if (!rc)
		found(plan->progs[0].insns, plan->progs[0].n_insns * sizeof(*plan->progs[0].insns));
	if (!rc)
		fsc_plan_free(plan);
	fsc_diags_release(&diags);
	return rc;
}

static void compiled_scripts(void **state)
{
	(void)state;
	sweep(compile,
	      "struct S { int a; }; macro m(x) { x + 1 } uprobe:./x:f* { $p = (struct pair *)arg0; "
	      "@[probe, $p->name] = count(); for ($kv : @) { print(($kv, m(1))); } exit(); }",
	      100);
}

static int read_symbols(const void *path, struct fsc_err *err)
{
	char root[512];
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;
	const struct fsc_sym *syms;
	size_t n = 0;
	int rc;

	snprintf(root, sizeof(root), "%s/root", getenv("UNIT_FIXTURES"));
	rc = fsc_elf_open(path, root, &e, err);
	if (!rc)
		rc = fsc_elf_symbols(e, &syms, &n, err);
	for (size_t i = 0; i < n; i++)
		found_text(syms[i].name);
	return rc;
}

static void symbols(void **state)
{
	(void)state;
	sweep(read_symbols, fixture("libver.so"), 100);
	sweep(read_symbols, fixture("libalias.so"), 100);
	sweep(read_symbols, fixture("with-debugdata"), 100);
	sweep(read_symbols, fixture("stripped"), 100);
	sweep(read_symbols, fixture("prog-static"), 60);
}

struct probe {
	const char *text;
	pid_t pid;
	const char *command, *exclude;
	bool regex, pairs;
};

static void found_targets(const struct fsc_targets *t)
{
	for (size_t i = 0; i < fsc_targets_count(t); i++) {
		const struct fsc_target *at = fsc_targets_at(t, i);

		found(&at->offset, sizeof(at->offset));
		found(&at->row, sizeof(at->row));
		found(&at->by_insns, sizeof(at->by_insns));
		for (size_t k = 0; k < at->n_exits; k++)
			found(&at->exits[k].offset, sizeof(at->exits[k].offset));
		found_text(at->aliases);
		found_text(fsc_targets_row(t, at->row)->name);
	}
	found(&t->skipped.n, sizeof(t->skipped.n));
}

static int resolve_spec(const struct fsc_spec *s, const struct probe *p, struct fsc_err *err)
{
	struct fsc_pattern exclude;
	struct fsc_scope scope = {.pids = &p->pid,
				  .n_pids = p->pid != 0,
				  .command = p->command,
				  .regex = p->regex,
				  .pairs = p->pairs,
				  .returns = FSC_RETURNS_INSNS,
				  .excludes = &exclude,
				  .n_excludes = p->exclude != NULL};
	struct fsc_targets t;
	int rc = 0;

	fsc_targets_init(&t);
	if (p->exclude)
		rc = fsc_pattern_init(&exclude, p->exclude, p->regex, err);
	if (!rc)
		rc = s->kind->resolve(s, &scope, &t, err);
	if (!rc && !fsc_targets_count(&t))
		rc = fsc_err_set(err, EIO, "success, and yet no place");
	if (!rc)
		found_targets(&t);
	if (p->exclude)
		fsc_pattern_release(&exclude);
	fsc_targets_release(&t);
	return rc;
}

static int resolve(const void *arg, struct fsc_err *err)
{
	const struct probe *p = arg;
	struct fsc_spec s;
	int rc = fsc_spec_parse(p->text, p->regex, p->pid || p->command, &s, err);

	if (rc)
		return rc;
	rc = resolve_spec(&s, p, err);
	fsc_spec_release(&s);
	return rc;
}

/* One probe of a fixture: the library's path is put before the name. */
static void resolve_in(const char *file, const char *prefix, const char *name, long samples)
{
	char text[600];
	struct probe p = {.text = text};

	snprintf(text, sizeof(text), "%s%s:%s", prefix, fixture(file), name);
	sweep(resolve, &p, samples);
}

/* A C++ name of this program: oom_ns::work(int). */
int mangled_work(int x) __asm__("_ZN6oom_ns4workEi");

int mangled_work(int x)
{
	return x + 1;
}

static void user_functions(void **state)
{
	struct probe glob = {.text = "c:*mutex_lock", .exclude = "__GI_*"};
	struct probe library = {.text = "stdc++:std::ios_base::Init::Init*"};
	struct probe mangled = {.text = ":oom_ns::work", .pid = getpid()};
	struct probe without = {.text = ":*_ns::work", .pid = getpid(), .exclude = "nothing"};
	struct probe own = {.text = ":main", .pid = getpid()};
	struct probe version = {.text = "c:memcpy@*"};

	(void)state;
	resolve_in("libver.so", "", "work*", 100);
	resolve_in("libver.so", "r:", "plain", 100);
	resolve_in("libalias.so", "", "fix_*", 100);
	sweep(resolve, &glob, 24);
	sweep(resolve, &library, 24);
	sweep(resolve, &mangled, 200);
	sweep(resolve, &without, 200);
	sweep(resolve, &own, 24);
	sweep(resolve, &version, 24);
}

/* t_node and what it takes, from DWARF. */
static int read_signatures(const void *path, struct fsc_err *err)
{
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;
	FSC_AUTO(fsc_types_release) struct fsc_types types = {0};
	struct fsc_signature sig = {0};
	const struct fsc_sym *syms;
	size_t n = 0;
	int rc = fsc_elf_open(path, "", &e, err);

	fsc_types_init(&types, 1);
	if (!rc)
		rc = fsc_elf_symbols(e, &syms, &n, err);
	for (size_t i = 0; !rc && i < n; i++)
		if (!strcmp(syms[i].name, "t_node"))
			rc = fsc_dwarf_signature(e, syms[i].addr, &types, &sig, err);
	for (size_t i = 0; i < sig.n_params; i++)
		found_text(sig.params[i].name);
	if (sig.found)
		found(&sig.params[0].type->to->n_members, sizeof(size_t));
	return rc;
}

static int read_kernel_signature(const void *name, struct fsc_err *err)
{
	FSC_AUTO(fsc_types_release) struct fsc_types types = {0};
	struct fsc_signature sig = {0};
	int rc;

	fsc_types_init(&types, 1);
	rc = fsc_btf_signature(NULL, name, &types, &sig, err);
	for (size_t i = 0; i < sig.n_params; i++)
		found_text(sig.params[i].name);
	return rc;
}

static void signatures(void **state)
{
	(void)state;
	sweep(read_signatures, fixture("types-5-2"), 100);
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return;
	sweep(read_kernel_signature, "vfs_read", 24);
}

/* Where entry and return belong together, the code is read, too. */
static void timed_functions(void **state)
{
	struct probe glob = {.text = "c:*mutex_*lock", .pairs = true};
	struct probe own = {.text = ":*_functions", .pid = getpid(), .pairs = true};

	(void)state;
	sweep(resolve, &glob, 60);
	sweep(resolve, &own, 60);
}

static void lines(void **state)
{
	(void)state;
	resolve_in("lines", "", "lines.c:8", 40);
}

static void usdt_probes(void **state)
{
	struct probe mapped = {.text = "u::*", .pid = getpid()};

	(void)state;
	resolve_in("usdt", "u:", "first", 100);
	resolve_in("usdt", "u:", "fix:*", 100);
	sweep(resolve, &mapped, 40);
}

static void tracepoints(void **state)
{
	struct probe one = {.text = "t:sched:sched_switch"},
		     some = {.text = "t:syscalls:sys_enter_re*"};
	FSC_AUTO(fsc_closep) int tracefs = fsc_tracefs_open(NULL);

	(void)state;
	if (tracefs < 0)
		skip();
	sweep(resolve, &one, 24);
	sweep(resolve, &some, 24);
}

static void kernel_functions(void **state)
{
	struct probe one = {.text = "vfs_read"}, some = {.text = "vfs_re*", .exclude = "*v"};
	struct fsc_err err = {0};

	(void)state;
	if (resolve(&one, &err))
		skip(); /* no kallsyms */
	sweep(resolve, &one, 24);
	sweep(resolve, &some, 8);
}

/* What is said about a probe that finds nothing must not be said when memory is out. */
static int resolve_nothing(const void *arg, struct fsc_err *err)
{
	int rc = resolve(arg, err);

	found_text(err->msg);
	found_text(err->hint);
	return rc == -ENOENT ? 0 : rc;
}

static void nothing_found(void **state)
{
	struct probe user = {.text = "c:no_such_function_at_all"}, lib = {.text = "libnosuch:f"};

	(void)state;
	sweep(resolve_nothing, &user, 24);
	sweep(resolve_nothing, &lib, 24);
}

static const struct fsc_func funcs[] = {
    {.kind = "uprobe", .binary = "/b", .name = "f, \x1b", .symbol = "s"},
    {.kind = "kprobe", .binary = "kernel", .name = "g"}};

static struct fsc_profile make_profile(void)
{
	struct fsc_profile p = {.funcs = funcs,
				.n_funcs = 2,
				.by = FSC_BY_COMM | FSC_BY_CGROUP,
				.counts = FSC_VEC_INIT(struct fsc_count)};

	for (uint32_t i = 0; i < 100; i++) {
		struct fsc_count *c = fsc_vec_push(&p.counts);

		assert_non_null(c);
		c->func = i & 1;
		c->count = c->pid = i;
		memcpy(c->comm, "a,\"b\"", 5);
	}
	return p;
}

static int subtract(const void *arg, struct fsc_err *err)
{
	struct fsc_profile d, none = {.counts = FSC_VEC_INIT(struct fsc_count)};
	int rc = fsc_profile_subtract(arg, arg, true, &d, err);

	if (rc)
		return rc;
	found(&d.counts.n, sizeof(d.counts.n));
	fsc_profile_release(&d);
	rc = fsc_profile_subtract(arg, &none, false, &d, err);
	if (rc)
		return rc;
	found(&d.counts.n, sizeof(d.counts.n));
	fsc_profile_release(&d);
	return 0;
}

static void differences(void **state)
{
	struct fsc_profile p = make_profile();

	(void)state;
	sweep(subtract, &p, 100);
	fsc_profile_release(&p);
}

static struct fsc_latencies make_latencies(void)
{
	struct fsc_latencies l = {.funcs = funcs,
				  .n_funcs = 2,
				  .by = FSC_BY_COMM | FSC_BY_PID,
				  .parts = {true, true, true, true},
				  .rows = FSC_VEC_INIT(struct fsc_latency)};

	for (uint32_t i = 0; i < 20; i++) {
		struct fsc_latency *row = fsc_latencies_add(&l);

		assert_non_null(row);
		row->key.func = i & 1;
		row->key.pid = i;
		row->slot->count = row->slot->total = row->slot->hist[7 * i] = i;
		row->floor_ns = 100;
		memcpy(row->key.comm, "a,\"b\"", 5);
	}
	return l;
}

static int subtract_latencies(const void *arg, struct fsc_err *err)
{
	struct fsc_latencies d, none = {.rows = FSC_VEC_INIT(struct fsc_latency)};
	int rc = fsc_latencies_subtract(arg, arg, true, &d, err);

	if (rc)
		return rc;
	found(&d.rows.n, sizeof(d.rows.n));
	fsc_latencies_release(&d);
	rc = fsc_latencies_subtract(arg, &none, false, &d, err);
	if (rc)
		return rc;
	found(&d.rows.n, sizeof(d.rows.n));
	fsc_latencies_release(&d);
	return 0;
}

static int make_bins(const void *arg, struct fsc_err *err)
{
	const struct fsc_latencies *l = arg;
	const struct fsc_latency *row = FSC_AT(struct fsc_latency, &l->rows, 19);
	struct fsc_vec doubling = FSC_VEC_INIT(struct fsc_bin),
		       equal = FSC_VEC_INIT(struct fsc_bin);
	int rc = fsc_latency_bins_log2(row, &doubling, err);

	if (!rc)
		rc = fsc_latency_bins_linear(row, 10, 1000, 10, &equal, err);
	found(&doubling.n, sizeof(doubling.n));
	found(&equal.n, sizeof(equal.n));
	fsc_vec_release(&doubling);
	fsc_vec_release(&equal);
	return rc;
}

static void timings(void **state)
{
	struct fsc_latencies l = make_latencies();

	(void)state;
	sweep(subtract_latencies, &l, 100);
	sweep(make_bins, &l, 100);
	fsc_latencies_release(&l);
}

struct output {
	const struct fsc_sink_ops *ops;
	const struct fsc_profile *profile;
	const struct fsc_latencies *latencies;
	FILE *to;
	char **text;
};

static int write_all(const void *arg, struct fsc_err *err)
{
	static const struct fsc_refusal refused = {"f", "busy"};
	static const struct fsc_summary sum = {
	    .lost = {{"keys_full", 1}}, .refused = &refused, .n_refused = 1};
	const struct output *o = arg;
	struct fsc_sink s = {
	    .ops = o->ops, .out = o->to, .side = o->to, .width = 40, .histograms = true};
	int rc;

	rewind(o->to);
	rc = fsc_sink_profile(&s, o->profile, err);
	if (!rc)
		rc = fsc_sink_latency(&s, o->latencies, err);
	if (!rc)
		rc = fsc_sink_summary(&s, &sum, err);
	if (!rc)
		found(*o->text, (size_t)ftell(o->to));
	return rc;
}

static void sinks(void **state)
{
	struct fsc_profile p = make_profile();
	struct fsc_latencies l = make_latencies();
	size_t size = 0;
	char *text = NULL;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_non_null(to);
	for (const struct fsc_sink_ops *const *ops = fsc_sinks; *ops; ops++) {
		struct output o = {*ops, &p, &l, to, &text};

		if ((*ops)->profile)
			sweep(write_all, &o, 100);
	}
	fclose(to);
	free(text);
	fsc_profile_release(&p);
	fsc_latencies_release(&l);
}

/* Stacks with every sort of frame, some of them equal. */
static int make_stacks(struct fsc_stacks *t, struct fsc_err *err)
{
	int rc = 0;

	fsc_stacks_init(t, funcs, 2);
	t->per_process = true;
	for (uint32_t i = 0; !rc && i < 40; i++) {
		struct fsc_stack s = {.pid = i % 3, .comm = "a,b", .calls = i, .truncated = i & 1};
		uint32_t ids[3];

		for (uint32_t k = 0; !rc && k < 3; k++) {
			struct fsc_frame f = {.name = k ? "ns::f<x>" : "[unknown]",
					      .binary = "/b",
					      .file = "c.c",
					      .offset = i,
					      .unknown = !k};

			rc = fsc_stacks_frame(t, &f, &ids[k], err);
		}
		if (!rc)
			rc = fsc_stacks_add(t, &s, ids, 3, err);
	}
	if (rc)
		fsc_stacks_release(t);
	return rc;
}

static int write_stacks(const struct output *o, const struct fsc_stacks *t, struct fsc_err *err)
{
	static const struct fsc_summary sum = {.lost = {{"stacks_full", 1}}};
	int rc = 0;

	rewind(o->to);
	for (int view = FSC_VIEW_LIST; !rc && view <= FSC_VIEW_BOTTOM_UP; view++) {
		struct fsc_sink s = {.ops = o->ops, .out = o->to, .side = o->to, .view = view};

		rc = fsc_sink_stacks(&s, t, err);
		if (!rc)
			rc = fsc_sink_summary(&s, &sum, err);
	}
	if (!rc)
		found(*o->text, (size_t)ftell(o->to));
	return rc;
}

static int show_stacks(const void *arg, struct fsc_err *err)
{
	struct fsc_stacks t, none, d;
	int rc = make_stacks(&t, err);

	if (rc)
		return rc;
	fsc_stacks_init(&none, funcs, 2);
	rc = fsc_stacks_subtract(&t, &none, &d, err);
	if (!rc) {
		fsc_stacks_sort(&d, 30);
		rc = write_stacks(arg, &d, err);
		fsc_stacks_release(&d);
	}
	fsc_stacks_release(&t);
	return rc;
}

static void stacks(void **state)
{
	size_t size = 0;
	char *text = NULL;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_non_null(to);
	for (const struct fsc_sink_ops *const *ops = fsc_sinks; *ops; ops++) {
		struct output o = {.ops = *ops, .to = to, .text = &text};

		if ((*ops)->stacks)
			sweep(show_stacks, &o, 60);
	}
	fclose(to);
	free(text);
}

/* Something of everything that is told of CUDA programs. */
static int write_gpu(const struct output *o, const struct fsc_gpu_event *e,
		     const struct fsc_gpu_report *r, struct fsc_err *err)
{
	static const struct fsc_summary sum = {.lost = {{"ring_full", 1}}};
	struct fsc_sink s = {.ops = o->ops, .out = o->to, .side = o->to, .width = 60};
	int rc;

	rewind(o->to);
	rc = fsc_sink_gpu_event(&s, e, err);
	if (!rc)
		rc = fsc_sink_gpu_report(&s, r, err);
	if (!rc)
		rc = fsc_sink_summary(&s, &sum, err);
	fsc_sink_release(&s);
	if (!rc)
		found(*o->text, (size_t)ftell(o->to));
	return rc;
}

static int write_gpu_page(const struct fsc_gpu_report *r, struct fsc_err *err)
{
	struct fsc_map shown = {0};
	struct fsc_buf b = {0};
	int rc = 0;

	fsc_gpu_prometheus_write(r, NULL, &shown, FSC_PROMETHEUS_TEXT, &b);
	if (fsc_buf_failed(&b))
		rc = fsc_err_nomem(err);
	else
		found(b.s, b.n);
	fsc_buf_release(&b);
	fsc_map_release(&shown);
	return rc;
}

static int show_gpu(const void *arg, struct fsc_err *err)
{
	static const char *const frames[] = {"cuMemAlloc_v2", "work"};
	static const char *const findings[] = {"a finding that is longer than sixty columns, which "
					       "are all there are"};
	const struct output *o = arg;
	const struct fsc_gpu_event e = {.type = FSC_GPU_EV_ALLOC,
					.comm = "prog",
					.api = "cuMemAlloc_v2",
					.bytes = 1,
					.stack = {frames, 2}};
	const struct fsc_gpu_process_row process = {.pid = 1, .comm = "prog"};
	const struct fsc_gpu_kernel_row kernel = {.kernel = "k", .owner = "liba.so.1"};
	const struct fsc_gpu_copy_row copy = {.copies = 1, .bytes = 1};
	const struct fsc_gpu_mem_row memory = {.comm = "prog"};
	const struct fsc_gpu_leak_row leak = {.comm = "prog", .stack = {frames, 2}};
	const struct fsc_gpu_error_row error = {.api = "a", .error = "e", .stack = {frames, 2}};
	const struct fsc_gpu_oom oom = {.event = e, .holders = &leak, .n_holders = 1};
	const struct fsc_gpu_report r = {.processes = &process,
					 .n_processes = 1,
					 .kernels = &kernel,
					 .n_kernels = 1,
					 .copies = &copy,
					 .n_copies = 1,
					 .memory = &memory,
					 .n_memory = 1,
					 .errors = &error,
					 .n_errors = 1,
					 .leaks = &leak,
					 .n_leaks = 1,
					 .ooms = &oom,
					 .n_ooms = 1,
					 .findings = findings,
					 .n_findings = 1};

	return o->ops ? write_gpu(o, &e, &r, err) : write_gpu_page(&r, err);
}

static void gpu(void **state)
{
	size_t size = 0;
	char *text = NULL;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_non_null(to);
	for (const struct fsc_sink_ops *const *ops = fsc_sinks; *ops; ops++) {
		struct output o = {.ops = *ops, .to = to, .text = &text};

		if ((*ops)->gpu_event || (*ops)->gpu_report)
			sweep(show_gpu, &o, 100);
	}
	sweep(show_gpu, &(struct output){0}, 100);
	fclose(to);
	free(text);
}

static int unwind(struct fsc_spaces *s, struct fsc_err *err)
{
	uint64_t addrs[4];
	struct fsc_unwind u = {.pid = getpid(), .addrs = addrs, .max = 4};
	int rc;

	u.sample.regs[FSC_UNWIND_PC] = (uintptr_t)mangled_work;
	rc = fsc_unwind(s, &u, 1, err);
	if (!rc)
		found(&addrs[0], sizeof(addrs[0]));
	return rc;
}

static int symbolize(const void *arg, struct fsc_err *err)
{
	struct fsc_symbolizer_opts opts = {.dwarf = arg, .kallsyms = "/nonexistent"};
	struct fsc_address a[] = {{.addr = (uintptr_t)mangled_work, .pid = getpid()},
				  {.addr = 1, .pid = getpid()},
				  {.addr = 1, .kernel = true}};
	FSC_AUTO(fsc_spaces_freep) struct fsc_spaces *s = NULL;
	FSC_AUTO(fsc_symbolizer_freep) struct fsc_symbolizer *y = NULL;
	const struct fsc_frame *f;
	size_t n;
	int rc = fsc_spaces_new(0, &s, err);

	if (!rc)
		rc = fsc_symbolizer_new(s, &opts, &y, err);
	for (size_t i = 0; !rc && i < 3; i++) {
		rc = fsc_symbolizer_frames(y, &a[i], &f, &n, err);
		if (!rc)
			found_text(f->name);
	}
	if (!rc)
		rc = fsc_spaces_fork(s, getpid(), 0x3ffffff0, err);
	if (!rc)
		rc = fsc_spaces_mmap(s, 0x3ffffff0, a[0].addr, 1, 0, 0, 0, "", err);
	return rc ? rc : unwind(s, err);
}

static void addresses(void **state)
{
	(void)state;
	sweep(symbolize, NULL, 60);
	sweep(symbolize, "dwarf", 24);
}

/* ---- comparisons ---- */

static void write_recording(const char *path, unsigned ns)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (unsigned i = 0; i < 16; i++)
		fprintf(f,
			"{\"type\":\"latency\",\"time_ns\":%u,\"kind\":\"uprobe\",\"binary\":\"p\","
			"\"function\":\"f\",\"count\":2000,\"total_ns\":%u,\"min_ns\":%u,"
			"\"max_ns\":%u,\"buckets\":[[%u,%u,2000]]}\n",
			i + 1, 2000 * (ns + i), ns + i, ns + i + 1, ns + i, ns + i + 1);
	fputs("{\"type\":\"summary\"}\n", f);
	fclose(f);
}

static int compare_recordings(const void *arg, struct fsc_err *err)
{
	const struct fsc_compare_opts o = {.confidence = 95, .margin = 1};
	const char *const *paths = arg;
	struct fsc_recording rec[2] = {FSC_RECORDING_INIT, FSC_RECORDING_INIT};
	struct fsc_vec a = {&rec[0], 1, 1, sizeof(rec[0])}, b = {&rec[1], 1, 1, sizeof(rec[0])};
	struct fsc_comparison c;
	bool cut;
	int rc = fsc_recording_read(paths[0], &rec[0], &cut, err);

	if (!rc)
		rc = fsc_recording_read(paths[1], &rec[1], &cut, err);
	if (!rc)
		rc = fsc_compare(&a, &b, &o, &c, err);
	if (!rc) {
		found(&FSC_AT(struct fsc_diff_row, &c.rows, 0)->stat[0].low, sizeof(double));
		fsc_comparison_release(&c);
	}
	fsc_recording_release(&rec[0]);
	fsc_recording_release(&rec[1]);
	return rc;
}

static void comparisons(void **state)
{
	char one[] = "/tmp/test_oom.XXXXXX", other[] = "/tmp/test_oom.XXXXXX";
	const char *const paths[] = {one, other};
	int fds[] = {mkstemp(one), mkstemp(other)};

	(void)state;
	assert_true(fds[0] >= 0 && fds[1] >= 0);
	close(fds[0]);
	close(fds[1]);
	write_recording(one, 1000);
	write_recording(other, 1100);
	sweep(compare_recordings, paths, 200);
	unlink(one);
	unlink(other);
}

/* jansson's own requests are not wrapped. */
static int configure(const void *text, struct fsc_err *err)
{
	struct fsc_snoop_config c;
	int rc = fsc_snoop_config_parse(text, strlen(text), "f", &c, err);

	if (!rc)
		rc = fsc_snoop_config_add(&c, "cuda", "x", "cudaX", err);
	for (size_t i = 0; !rc && i < c.funcs.n; i++)
		found_text(FSC_AT(struct fsc_snoop_func, &c.funcs, i)->symbol);
	fsc_snoop_config_release(&c);
	return rc;
}

static void configurations(void **state)
{
	(void)state;
	fsc_log_set_level(FSC_LOG_ERROR); /* it has dots */
	sweep(
	    configure,
	    "{\"presets\": [\"nccl\", \"openssl\"], \"libraries\": {\"cuda\": [\"x\", \"y\"]},"
	    "\"a_func_sym\": {\"a\": {\"symbol\": \"s\", \"library\": [\"l\"]}, \"b\": \"c\"},"
	    "\"targets\": {\"pids\": [1], \"names\": [\"n\"], \"command\": [\"a\", \"\"]},"
	    "\"labels\": {\"x\": \"y\"}, \"control\": \"/c\", \"prometheus\": {\"listen\": \"1\"},"
	    "\"otlp\": {\"endpoint\": \"http://x\", \"headers\": {\"a\": \"b\"}}, // ...\n ...}",
	    400);
	fsc_log_set_level(FSC_LOG_NOTE);
}

/* What is sent to others: pages, messages, alerts. */
struct export
{
	const struct fsc_snapshot *s;
	int kind;
};

static int send_on(const void *arg, struct fsc_err *err)
{
	const struct export *e = arg;
	struct fsc_buf b = {0};
	int rc = 0;

	if (e->kind <= FSC_PROMETHEUS_PROTOBUF)
		fsc_prometheus_write(e->s, (enum fsc_prometheus_format)e->kind, &b);
	else if (e->kind < 5)
		fsc_otlp_metrics(e->s, e->kind == 3, &b);
	else if (e->kind < 7)
		fsc_otlp_logs(e->s, snap_noted, 3, e->kind == 5, &b);
	else if (e->kind == 7)
		fsc_otlp_spans(e->s, snap_noted, 3, true, &b);
	else
		fsc_alerts_write(snap_noted, 3, e->s, 60, &b);
	if (fsc_buf_failed(&b))
		rc = fsc_err_nomem(err);
	else if (e->kind != 7) /* whose ids are random */
		found(b.s, b.n);
	else
		found(&b.n, sizeof(b.n));
	fsc_buf_release(&b);
	return rc;
}

static void exports(void **state)
{
	struct fsc_latencies l = snap_latencies(FSC_BY_PID);
	struct fsc_snapshot s = snapshot(&l);

	(void)state;
	snap_row(&l, 0, 9, "folded")->folded = true;
	for (int kind = 0; kind <= 8; kind++)
		sweep(send_on, &(struct export){&s, kind}, 100);
	fsc_latencies_release(&l);
}

static int parse_url(const void *text, struct fsc_err *err)
{
	struct fsc_url u;
	int rc = fsc_url_parse(text, &u, err);

	if (!rc)
		found_text(u.port);
	fsc_url_release(&u);
	return rc;
}

static int read_response(const void *text, struct fsc_err *err)
{
	struct fsc_response r;
	int rc;

	fsc_response_init(&r);
	rc = fsc_response_feed(&r, text, strlen(text), err);
	if (rc > 0)
		found_text(fsc_buf_str(&r.body));
	fsc_response_release(&r);
	return rc < 0 ? rc : 0;
}

static void no_reply(const struct fsc_request *req, struct fsc_reply *reply, void *arg)
{
	(void)req, (void)reply, (void)arg;
}

static int serve(const void *address, struct fsc_err *err)
{
	struct fsc_server *s = NULL;
	int rc =
	    fsc_server_new(&(struct fsc_server_opts){.listen = address}, no_reply, NULL, &s, err);

	fsc_server_free(s);
	return rc;
}

/* Two messages, of which one finds room in memory, through the queue and out again. */
static int pass_through(struct fsc_spool *s, struct fsc_err *err)
{
	char large[4096] = "large";
	struct fsc_spool_msg m;
	int rc = fsc_spool_put(s, "/", "t", "small", 6, err);

	rc = rc ? rc : fsc_spool_put(s, "/", "t", large, sizeof(large), err);
	while (!rc && (rc = fsc_spool_take(s, &m, err)) == 1) {
		found_text(m.body);
		fsc_spool_done(s, &m, true);
		rc = 0;
		if (!fsc_spool_ready(s))
			break;
	}
	return rc;
}

static void empty_directory(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
}

static int spool(const void *dir, struct fsc_err *err)
{
	const struct fsc_spool_opts opts = {
	    .name = "t", .memory = 1000, .directory = dir, .disk = 1 << 20};
	struct fsc_spool *s = NULL;
	int rc = fsc_spool_new(&opts, &s, err);

	rc = rc ? rc : pass_through(s, err);
	fsc_spool_free(s);
	empty_directory(dir);
	return rc;
}

static void web(void **state)
{
	char dir[] = "/tmp/test_oom.XXXXXX";

	(void)state;
	sweep(parse_url, "https://[::1]:4318/base/", 100);
	sweep(read_response, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 100);
	sweep(serve, "127.0.0.1:0", 100);
	assert_non_null(mkdtemp(dir));
	sweep(spool, dir, 100);
	rmdir(dir);
}

/* ---- labels ---- */

static int label(const void *arg, struct fsc_err *err)
{
	const struct fsc_labelsets_opts all = {.labels = 15, .fields = 7, .most = 9};
	const struct fsc_labelsets_opts others = {.labels = 12, .most = 9};
	struct fsc_labelsets *s;
	size_t n;
	int rc = fsc_labelsets_new(&s, err);

	(void)arg;
	if (rc)
		return rc;
	rc = fsc_labelsets_use(s, &all, err);
	if (!rc)
		rc = fsc_labelsets_note(s, getpid(), false, err);
	if (!rc)
		rc = fsc_labelsets_note(s, getpid(), true, err);
	if (!rc)
		rc = fsc_labelsets_use(s, &others, err);
	fsc_labelsets_forget(s, rc ? 0 : getpid());
	if (!rc)
		rc = fsc_labelsets_mark(s, 0, 0, &n, err);
	fsc_labelsets_drop_marked(s);
	fsc_labelsets_free(s);
	return rc;
}

static void labels(void **state)
{
	(void)state;
	sweep(label, NULL, 100);
}

/* ---- what is tried again ---- */

static void add_some(struct fsc_tally *t, uint32_t func, uint32_t pid, uint64_t calls)
{
	struct fsc_slot slot = {.count = calls};

	assert_int_equal(fsc_tally_add(t, func, pid, &slot, NULL), 0);
	assert_int_equal(fsc_tally_error(t, func, pid, 5, 1, NULL), 0);
	assert_int_equal(fsc_tally_error(t, func, pid, -(int64_t)pid, 2, NULL), 0);
}

static uint64_t calls_in(const struct fsc_tally *t, uint64_t *errors)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->calls.rows.n; i++)
		n += FSC_AT(struct fsc_latency, &t->calls.rows, i)->slot->count;
	*errors = 0;
	for (size_t i = 0; i < t->errors.n; i++)
		*errors += FSC_AT(struct fsc_call_errors, &t->errors, i)->n;
	return n;
}

static bool odd_to_nobody(const struct fsc_tally_part *p, uint32_t *to, void *arg)
{
	(void)arg;
	*to = FSC_TALLY_NOBODY;
	return p->pid % 2;
}

/* Whichever allocation fails, nothing is lost or counted twice when it is tried again. */
static void drained_tallies(void **state)
{
	bool failed = true;

	(void)state;
	for (long n = 0; failed; n++) {
		struct fsc_tally to, from;
		uint64_t here, there, errors, more;
		int rc;

		fsc_tally_init(&to);
		fsc_tally_init(&from);
		add_some(&to, 0, 2, 100);
		for (uint32_t pid = 1; pid < 9; pid++)
			add_some(&from, pid % 3, pid, pid);
		asked = 0;
		fatal = n;
		rc = fsc_tally_drain(&to, &from, odd_to_nobody, NULL, NULL);
		fatal = LONG_MAX;
		failed = rc;
		assert_true(!rc || rc == -ENOMEM);
		here = calls_in(&to, &errors);
		there = calls_in(&from, &more);
		assert_int_equal(here + there, 100 + 36);
		assert_int_equal(errors + more, 9 * 3);
		assert_int_equal(fsc_tally_drain(&to, &from, odd_to_nobody, NULL, NULL), 0);
		assert_int_equal(calls_in(&to, &errors), 100 + 36);
		assert_int_equal(errors, 9 * 3);
		assert_int_equal(from.calls.rows.n, 0);
		assert_int_equal(fsc_tally_errors_of(&to, 2, 2, -2), 2);
		assert_int_equal(fsc_tally_errors_of(&to, 0, 2, -2), 2);
		assert_int_equal(fsc_tally_errors_of(&to, 1, FSC_TALLY_NOBODY, 5), 2);
		fsc_tally_release(&to);
		fsc_tally_release(&from);
	}
}

/* ---- scripts ---- */

/* A map with a key of two parts, and values of every kind, in both formats. */
static struct fsc_value make_values(struct fsc_values *a)
{
	static const uint64_t counts[] = {0, 3, 1, 2};
	struct fsc_value v = fsc_value_list(a, FSC_VALUE_MAP, 4);

	if (!v.kind)
		return v;
	v.list.keys[0] = fsc_value_list(a, FSC_VALUE_TUPLE, 2);
	if (v.list.keys[0].kind) {
		v.list.keys[0].list.at[0] = fsc_value_text(a, "a\x1b\n", 3);
		v.list.keys[0].list.at[1] = fsc_value_int(-1);
	}
	v.list.at[0] = fsc_value_hist(a, counts, 4, 0);
	v.list.at[1] = fsc_value_lhist(a, counts, 4, 0, 2048, 1024);
	v.list.at[2] = fsc_value_bytes(a, "\1\2", 2);
	v.list.at[3] = fsc_value_symbol(a, "ONE", 1);
	return v;
}

static int print_values(const void *arg, struct fsc_err *err)
{
	static const struct fsc_script_style style = {.terminal = true, .percentiles = true};
	const struct fsc_script_sink *sink = arg;
	struct fsc_values a = {0};
	struct fsc_value v = make_values(&a);
	struct fsc_buf b = {0};
	int rc = 0;

	if (!a.failed) {
		sink->map(&style, "@x", &v, &b);
		sink->text(FSC_SCRIPT_PRINTF, "one\ntwo", 7, &b);
		fsc_script_format(&style, "%s %10d %rx\n", 12, &v.list.at[1], 3, &b);
	}
	if (a.failed || b.failed)
		rc = fsc_err_nomem(err);
	else
		found_text(fsc_buf_str(&b));
	fsc_buf_release(&b);
	fsc_values_release(&a);
	return rc;
}

static int split_command(const void *text, struct fsc_err *err)
{
	char **words = NULL;
	int rc = fsc_run_split(text, &words, err);

	for (size_t i = 0; !rc && words[i]; i++)
		found_text(words[i]);
	free(words);
	return rc;
}

static void scripts(void **state)
{
	(void)state;
	sweep(print_values, &fsc_script_sink_text, 100);
	sweep(print_values, &fsc_script_sink_json, 100);
	sweep(split_command, "sh -c 'exit 3'", 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(scripts),
	    cmocka_unit_test(compiled_scripts),
	    cmocka_unit_test(specs),
	    cmocka_unit_test(worlds),
	    cmocka_unit_test(options),
	    cmocka_unit_test(loops),
	    cmocka_unit_test(libraries),
	    cmocka_unit_test(symbols),
	    cmocka_unit_test(user_functions),
	    cmocka_unit_test(signatures),
	    cmocka_unit_test(lines),
	    cmocka_unit_test(usdt_probes),
	    cmocka_unit_test(tracepoints),
	    cmocka_unit_test(kernel_functions),
	    cmocka_unit_test(nothing_found),
	    cmocka_unit_test(differences),
	    cmocka_unit_test(sinks),
	    cmocka_unit_test(stacks),
	    cmocka_unit_test(gpu),
	    cmocka_unit_test(addresses),
	    cmocka_unit_test(traces),
	    cmocka_unit_test(timed_functions),
	    cmocka_unit_test(timings),
	    cmocka_unit_test(comparisons),
	    cmocka_unit_test(configurations),
	    cmocka_unit_test(exports),
	    cmocka_unit_test(web),
	    cmocka_unit_test(labels),
	    cmocka_unit_test(drained_tallies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
