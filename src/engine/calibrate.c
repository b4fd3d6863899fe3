/* Measuring the cost of a hit. The thread's own CPU time is the measure, so that a busy machine
 * does not inflate it; the hits go to a row of their own that no report shows. */
#include "engine/calibrate.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "engine/features.h"
#include "engine/self.h"
#include "engine/session_priv.h"
#include "engine/sys.h"
#include "func_snoop.skel.h"
#include "sym/tracefs.h"

enum { ROUNDS = 9, HITS = 64 };

/* One function, many names: BTF knows it by one, kallsyms by all. */
static const char *const getppid_names[] = {"__x64_sys_getppid", "__arm64_sys_getppid",
					    "__do_sys_getppid", "__ia32_sys_getppid"};

static void call_getppid(void)
{
	syscall(SYS_getppid);
}

static int link_user(struct fsc_session *s, void (*fn)(void), bool ret)
{
	uint64_t cookie = s->cfg.calibrate_row, offset;
	struct fsc_sys_uprobes u = {.path = FSC_SELF_PATH,
				    .offsets = &offset,
				    .cookies = &cookie,
				    .n = 1,
				    .ret = ret,
				    .pid = getpid()};
	FSC_AUTO(fsc_closep) int perf = -1;
	int rc = fsc_self_offset(fn, &offset, NULL);

	if (rc)
		return rc;
	if (s->user_multi)
		return fsc_sys_link_uprobes(bpf_program__fd(s->skel->progs.uprobe_multi_entry), &u);
	perf = fsc_sys_perf_uprobe(u.path, offset, 0, ret, u.pid);
	if (perf < 0)
		return perf;
	return fsc_sys_link_perf(bpf_program__fd(s->skel->progs.generic_entry), perf, cookie);
}

/* On the rung most kernel functions of the session stand on. */
static int link_kernel_name(struct fsc_session *s, const char *name, bool ret)
{
	uint64_t cookie = s->cfg.calibrate_row;
	FSC_AUTO(fsc_closep) int perf = -1;

	if (s->on_rung[FSC_RUNG_KPROBE_MULTI])
		return fsc_sys_link_kprobes(bpf_program__fd(s->skel->progs.kprobe_multi_entry),
					    NULL, &name, &cookie, 1, ret);
	if (s->on_rung[FSC_RUNG_FENTRY])
		return fsc_attach_fentry(s, libbpf_find_vmlinux_btf_id(name, BPF_TRACE_FENTRY),
					 s->cfg.calibrate_row, ret);
	perf = fsc_sys_perf_kprobe(name, 0, 0, ret);
	if (perf < 0)
		return perf;
	return fsc_sys_link_perf(bpf_program__fd(s->skel->progs.generic_entry), perf, cookie);
}

static int link_kernel(struct fsc_session *s, bool ret)
{
	int fd = -ENOENT;

	for (size_t i = 0; fd < 0 && i < sizeof(getppid_names) / sizeof(getppid_names[0]); i++)
		fd = link_kernel_name(s, getppid_names[i], ret);
	return fd;
}

/* Every system call of every process counts in our own row meanwhile: harmless. */
static int link_raw_tracepoint(struct fsc_session *s)
{
	int prog =
	    fsc_attach_own_program(s, BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0, s->cfg.calibrate_row);
	int fd = prog < 0 ? prog : bpf_raw_tracepoint_open("sys_enter", prog);

	return fd < 0 && prog >= 0 ? -errno : fd;
}

static int link_tracepoint(struct fsc_session *s)
{
	FSC_AUTO(fsc_closep) int tracefs = fsc_tracefs_open(NULL);
	FSC_AUTO(fsc_closep) int perf = -1;
	int id = tracefs < 0 ? tracefs
			     : fsc_tracepoint_id(tracefs, "syscalls", "sys_enter_getppid", NULL);

	if (id < 0)
		return id;
	perf = fsc_sys_perf_tracepoint(id);
	if (perf < 0)
		return perf;
	return fsc_sys_link_perf(bpf_program__fd(s->skel->progs.tracepoint_entry), perf,
				 s->cfg.calibrate_row);
}

static int link_class(struct fsc_session *s, enum fsc_cost what)
{
	switch (what) {
	case FSC_COST_USER:
		return link_user(s, fsc_self_ordinary, false);
	case FSC_COST_USER_STEPPED:
		return link_user(s, fsc_self_stepped, false);
	case FSC_COST_USER_RETURN:
		return link_user(s, fsc_self_ordinary, true);
	case FSC_COST_USER_RETURN_STEPPED:
		return link_user(s, fsc_self_stepped, true);
	case FSC_COST_USER_FAST:
		return link_user(s, fsc_self_nop5, false);
	case FSC_COST_KERNEL:
		return link_kernel(s, false);
	case FSC_COST_KERNEL_RETURN:
		return link_kernel(s, true);
	case FSC_COST_TRACEPOINT:
		return s->on_rung[FSC_RUNG_RAW_TRACEPOINT] ? link_raw_tracepoint(s)
							   : link_tracepoint(s);
	case FSC_COST_MAX:
		break;
	}
	return -EINVAL;
}

static void (*stimulus(enum fsc_cost what))(void)
{
	switch (what) {
	case FSC_COST_USER:
	case FSC_COST_USER_RETURN:
		return fsc_self_ordinary;
	case FSC_COST_USER_STEPPED:
	case FSC_COST_USER_RETURN_STEPPED:
		return fsc_self_stepped;
	case FSC_COST_USER_FAST:
		return fsc_self_nop5;
	default:
		return call_getppid;
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* CPU time of one call, median over rounds. */
static double time_calls(void (*fn)(void))
{
	double ns[ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		uint64_t start = fsc_clock_ns(CLOCK_THREAD_CPUTIME_ID);

		for (int i = 0; i < HITS; i++)
			fn();
		ns[r] = (double)(fsc_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / HITS;
	}
	qsort(ns, ROUNDS, sizeof(ns[0]), by_value);
	return ns[ROUNDS / 2];
}

int fsc_calibrate(struct fsc_session *s, enum fsc_cost what, double *ret_ns, struct fsc_err *err)
{
	void (*fn)(void) = stimulus(what);
	double bare = time_calls(fn), cost;
	int link = link_class(s, what);

	if (link < 0)
		return fsc_err_sys(err, -link, "cannot measure the cost of a hit");
	fn(); /* the first hit pays for optimising the probe */
	cost = time_calls(fn) - bare;
	if (fsc_session_keep(&s->late_links, link, err))
		return -ENOMEM;
	if (cost <= 0)
		return fsc_err_set(err, ERANGE, "a hit costs less than the clock can tell");
	*ret_ns = cost;
	return 0;
}

enum fsc_cost fsc_cost_of(const struct fsc_session *s, const struct fsc_target *t)
{
	if (t->site == FSC_SITE_TRACEPOINT)
		return FSC_COST_TRACEPOINT;
	if (t->site == FSC_SITE_KERNEL)
		return t->ret ? FSC_COST_KERNEL_RETURN : FSC_COST_KERNEL;
	if (t->ret)
		return t->stepped ? FSC_COST_USER_RETURN_STEPPED : FSC_COST_USER_RETURN;
	if (fsc_attach_fast(s, t) && fsc_feature_works(FSC_FEATURE_FAST_UPROBE))
		return FSC_COST_USER_FAST;
	return t->stepped ? FSC_COST_USER_STEPPED : FSC_COST_USER;
}
