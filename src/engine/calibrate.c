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
#include "kernel/tracefs.h"

enum { ROUNDS = 9, HITS = 64 };

/* One function, many names: BTF knows it by one, kallsyms by all. */
static const char *const getppid_names[] = {"__x64_sys_getppid", "__arm64_sys_getppid",
					    "__do_sys_getppid", "__ia32_sys_getppid"};

static void call_getppid(void)
{
	syscall(SYS_getppid);
}

/* ---- links on our own code, as the session's own ones are ---- */

static int link_user(struct fsc_session *s, void (*fn)(void), enum fsc_end end)
{
	uint64_t cookie = s->cfg.calibrate_row, offset;
	struct fsc_sys_uprobes u = {.path = FSC_SELF_PATH,
				    .offsets = &offset,
				    .cookies = &cookie,
				    .n = 1,
				    .ret = end == FSC_END_RETURN,
				    .pid = getpid()};
	bool entry = end == FSC_END_ENTRY;
	FSC_AUTO(fsc_closep) int perf = -1;
	int rc = fsc_self_offset(fn, &offset, NULL);

	if (rc)
		return rc;
	cookie |= end == FSC_END_INSNS ? FSC_COOKIE_AT_RETURN : 0;
	if (end == FSC_END_BOTH)
		return fsc_sys_link_uprobe_session(s->user_session, &u);
	if (s->user_multi)
		return fsc_sys_link_uprobes(bpf_program__fd(entry
								? s->skel->progs.uprobe_multi_entry
								: s->skel->progs.uprobe_multi_exit),
					    &u);
	perf = fsc_sys_perf_uprobe(u.path, offset, 0, u.ret, u.pid);
	if (perf < 0)
		return perf;
	return fsc_sys_link_perf(
	    bpf_program__fd(entry ? s->skel->progs.generic_entry : s->skel->progs.generic_exit),
	    perf, cookie);
}

/* On the rung most kernel functions of the session stand on. */
static int link_kernel_name(struct fsc_session *s, const char *name, enum fsc_end end)
{
	uint64_t cookie = s->cfg.calibrate_row;
	bool ret = end == FSC_END_RETURN;
	struct fsc_sys_kprobes k = {.names = &name, .cookies = &cookie, .n = 1, .ret = ret};
	FSC_AUTO(fsc_closep) int perf = -1;

	if (end == FSC_END_BOTH)
		return fsc_sys_link_kprobe_session(s->kernel_session, &k);
	if (s->on_rung[FSC_RUNG_KPROBE_MULTI])
		return fsc_sys_link_kprobes(
		    bpf_program__fd(ret ? s->skel->progs.kprobe_multi_exit
					: s->skel->progs.kprobe_multi_entry),
		    &k);
	if (s->on_rung[FSC_RUNG_FENTRY])
		return fsc_attach_fentry(s,
					 &(struct fsc_btf_func){.id = libbpf_find_vmlinux_btf_id(
								    name, BPF_TRACE_FENTRY)},
					 s->cfg.calibrate_row, ret);
	perf = fsc_sys_perf_kprobe(name, 0, 0, ret);
	if (perf < 0)
		return perf;
	return fsc_sys_link_perf(
	    bpf_program__fd(ret ? s->skel->progs.generic_exit : s->skel->progs.generic_entry), perf,
	    cookie);
}

static int link_kernel(struct fsc_session *s, enum fsc_end end)
{
	int fd = -ENOENT;

	for (size_t i = 0; fd < 0 && i < sizeof(getppid_names) / sizeof(getppid_names[0]); i++)
		fd = link_kernel_name(s, getppid_names[i], end);
	return fd;
}

/* Every system call of every process pays for it and counts in our own row meanwhile: not for
 * longer than the measurement lasts. */
static int link_raw_tracepoint(struct fsc_session *s)
{
	int prog = fsc_own_program(s, &(struct fsc_own){.from = s->skel->progs.own_entry,
							.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
							.row = s->cfg.calibrate_row});
	int fd = prog < 0 ? prog : bpf_raw_tracepoint_open("sys_enter", prog);

	return fd < 0 && prog >= 0 ? -errno : fd;
}

static int link_tracepoint(struct fsc_session *s)
{
	FSC_AUTO(fsc_closep) int tracefs = -1;
	FSC_AUTO(fsc_closep) int perf = -1;
	int id;

	if (s->on_rung[FSC_RUNG_RAW_TRACEPOINT])
		return link_raw_tracepoint(s);
	tracefs = fsc_tracefs_open(NULL);
	id = tracefs < 0 ? tracefs
			 : fsc_tracepoint_id(tracefs, "syscalls", "sys_enter_getppid", NULL);
	if (id < 0)
		return id;
	perf = fsc_sys_perf_tracepoint(id);
	if (perf < 0)
		return perf;
	return fsc_sys_link_perf(bpf_program__fd(s->skel->progs.tracepoint_entry), perf,
				 s->cfg.calibrate_row);
}

/* ---- the classes ---- */

static const struct class
{
	enum fsc_site site;
	void (*fn)(void), (*end)(void); /* called; its return instruction */
	bool ret, insns;		/* which end is probed, where not both are */
} classes[FSC_COST_MAX] = {
    [FSC_COST_USER] = {.fn = fsc_self_ordinary},
    [FSC_COST_USER_STEPPED] = {.fn = fsc_self_stepped},
    [FSC_COST_USER_RETURN] = {.fn = fsc_self_ordinary_ret, .ret = true},
    [FSC_COST_USER_RETURN_STEPPED] = {.fn = fsc_self_stepped_ret, .ret = true},
    [FSC_COST_USER_INSNS] = {.fn = fsc_self_ordinary_insns,
			     .end = fsc_self_ordinary_insns_end,
			     .insns = true},
    [FSC_COST_USER_INSNS_STEPPED] = {.fn = fsc_self_stepped_insns,
				     .end = fsc_self_stepped_insns_end,
				     .insns = true},
    [FSC_COST_USER_FAST] = {.fn = fsc_self_nop5},
    [FSC_COST_KERNEL] = {.site = FSC_SITE_KERNEL, .fn = call_getppid},
    [FSC_COST_KERNEL_RETURN] = {.site = FSC_SITE_KERNEL, .fn = call_getppid, .ret = true},
    [FSC_COST_TRACEPOINT] = {.site = FSC_SITE_TRACEPOINT, .fn = call_getppid},
};

/* Whether a class is probed at an end: fsc_attach_takes() for a place of that class. */
static bool takes(const struct fsc_session *s, const struct class *c, enum fsc_end end)
{
	struct fsc_target like = {.site = c->site, .ret = c->ret || c->insns, .by_insns = c->insns};

	return fsc_attach_takes(s, &like, end);
}

static int link_end(struct fsc_session *s, const struct class *c, enum fsc_end end)
{
	if (c->site == FSC_SITE_TRACEPOINT)
		return link_tracepoint(s);
	if (c->site == FSC_SITE_KERNEL)
		return link_kernel(s, end);
	return link_user(s, end == FSC_END_INSNS ? c->end : c->fn, end);
}

/* links: int, what was linked even where it fails. */
static int link_class(struct fsc_session *s, const struct class *c, struct fsc_vec *links,
		      struct fsc_err *err)
{
	for (int end = 0; end < FSC_END_MAX; end++) {
		int fd, rc;

		if (!takes(s, c, (enum fsc_end)end))
			continue;
		fd = link_end(s, c, (enum fsc_end)end);
		if (fd < 0)
			return fsc_err_sys(err, -fd, "cannot measure the cost of a hit");
		rc = fsc_session_keep(links, fd, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Tracepoints are hit by everybody, so theirs go at once. The others sit on our own code or on a
 * system call that hardly anybody makes: they cost nothing, but closing them would hold up the run
 * for as long as the kernel waits for all CPUs. */
static int drop_class(struct fsc_session *s, const struct class *c, const struct fsc_vec *links,
		      struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < links->n; i++) {
		int fd = *FSC_AT(int, links, i);

		if (rc || c->site == FSC_SITE_TRACEPOINT)
			close(fd);
		else
			rc = fsc_session_keep(&s->late_links, fd, err);
	}
	return rc;
}

/* ---- measuring ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v)
{
	qsort(v, ROUNDS, sizeof(v[0]), by_value);
	return v[ROUNDS / 2];
}

/* How long the function has seemed to last, in all, and how often it was timed. */
static void read_inner(const struct fsc_session *s, uint64_t *total, uint64_t *count)
{
	struct fsc_slot slot = {0};

	if (s->slots)
		fsc_session_slot(s, 0, &slot);
	*total = slot.raw_total;
	*count = slot.count;
}

/* CPU time of one call, and its seeming duration, medians over rounds. */
static struct fsc_cost_ns time_calls(struct fsc_session *s, void (*fn)(void))
{
	double outer[ROUNDS], inner[ROUNDS];
	uint64_t total, count, before, n;

	for (int r = 0; r < ROUNDS; r++) {
		uint64_t start;

		fsc_rings_empty_own(s);
		read_inner(s, &before, &n);
		start = fsc_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		for (int i = 0; i < HITS; i++)
			fn();
		outer[r] = (double)(fsc_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / HITS;
		read_inner(s, &total, &count);
		inner[r] = count > n ? (double)(total - before) / (double)(count - n) : 0;
	}
	return (struct fsc_cost_ns){.outer = median(outer), .inner = median(inner)};
}

int fsc_calibrate(struct fsc_session *s, enum fsc_cost what, struct fsc_cost_ns *ret,
		  struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec links = FSC_VEC_INIT(int);
	const struct class *c = &classes[what];
	double bare = time_calls(s, c->fn).outer;
	int rc = 0, dropped;

	if (s->slots)
		rc = fsc_session_set_cost(s, s->cfg.calibrate_row, 0, 0, err);
	if (!rc)
		rc = link_class(s, c, &links, err);
	if (!rc) {
		c->fn(); /* the first hit pays for optimising the probe */
		*ret = time_calls(s, c->fn);
	}
	dropped = drop_class(s, c, &links, rc ? NULL : err);
	if (rc || dropped)
		return rc ? rc : dropped;
	ret->outer -= bare;
	if (ret->outer <= 0)
		return fsc_err_set(err, ERANGE, "a hit costs less than the clock can measure");
	return 0;
}

enum fsc_cost fsc_cost_of(const struct fsc_session *s, const struct fsc_target *t)
{
	if (t->site == FSC_SITE_TRACEPOINT)
		return FSC_COST_TRACEPOINT;
	if (t->site == FSC_SITE_KERNEL)
		return t->ret ? FSC_COST_KERNEL_RETURN : FSC_COST_KERNEL;
	if (t->by_insns && (s->pairs || t->ret))
		return t->stepped ? FSC_COST_USER_INSNS_STEPPED : FSC_COST_USER_INSNS;
	if (t->ret)
		return t->stepped ? FSC_COST_USER_RETURN_STEPPED : FSC_COST_USER_RETURN;
	if (fsc_attach_fast(s, t) && fsc_feature_works(FSC_FEATURE_FAST_UPROBE))
		return FSC_COST_USER_FAST;
	return t->stepped ? FSC_COST_USER_STEPPED : FSC_COST_USER;
}
