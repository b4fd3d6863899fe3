/* Measuring the cost of a hit. It is measured in CPU time of this thread, so that a busy machine
 * does not inflate it; the hits go to a row that no report shows. */
#include "engine/calibrate.h"

#include <errno.h>
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
#include "model/stats.h"

/* ---- timing calls ---- */

enum { ROUNDS = 9, HITS = 64 };

static double median_of(double *rounds)
{
	fsc_stats_sort(rounds, ROUNDS);
	return fsc_stats_median(rounds, ROUNDS);
}

static struct fsc_cost_ns time_calls(const struct fsc_hitcost *h)
{
	double outer[ROUNDS], inner[ROUNDS] = {0};

	for (int r = 0; r < ROUNDS; r++) {
		uint64_t start;

		if (h->inner)
			h->inner(h->arg);
		start = fsc_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		for (int i = 0; i < HITS; i++)
			h->fn();
		outer[r] = (double)(fsc_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / HITS;
		if (h->inner)
			inner[r] = h->inner(h->arg);
	}
	return (struct fsc_cost_ns){.outer = median_of(outer), .inner = median_of(inner)};
}

int fsc_hitcost_measure(const struct fsc_hitcost *h, struct fsc_cost_ns *ret, struct fsc_err *err)
{
	double bare = time_calls(h).outer;
	int rc = h->link(h->arg, err);

	if (rc)
		return rc;
	h->fn(); /* on the first hit the kernel optimises the probe */
	*ret = time_calls(h);
	ret->outer -= bare;
	return 0;
}

/* ---- links on our own code, of the same kind as the session's ---- */

/* One function with several names: BTF has one of them, kallsyms all. */
static const char *const getppid_names[] = {"__x64_sys_getppid", "__arm64_sys_getppid",
					    "__do_sys_getppid", "__ia32_sys_getppid"};

static void call_getppid(void)
{
	syscall(SYS_getppid);
}

static int link_user(struct fsc_session *s, void (*fn)(void), enum fsc_end end)
{
	uint64_t cookie = s->cfg.calibrate_row, offset;
	struct fsc_sys_uprobes u = {
	    .path = FSC_SELF_PATH, .offsets = &offset, .cookies = &cookie, .n = 1, .pid = getpid()};
	int rc = fsc_self_offset(fn, &offset, NULL);

	cookie |= end == FSC_END_INSNS ? FSC_COOKIE_AT_RETURN : 0;
	return rc ? rc : fsc_attach_user_end(s, end, &u);
}

/* On the rung that most kernel functions of the session use. */
static int link_kernel_name(struct fsc_session *s, const char *name, enum fsc_end end)
{
	uint64_t cookie = s->cfg.calibrate_row;
	bool ret = end == FSC_END_RETURN;
	struct fsc_sys_kprobes k = {.names = &name, .cookies = &cookie, .n = 1};

	if (end == FSC_END_BOTH || s->on_rung[FSC_RUNG_KPROBE_MULTI])
		return fsc_attach_kernel_end(s, end, &k);
	if (s->on_rung[FSC_RUNG_FENTRY])
		return fsc_attach_fentry(s,
					 &(struct fsc_btf_func){.id = libbpf_find_vmlinux_btf_id(
								    name, BPF_TRACE_FENTRY)},
					 s->cfg.calibrate_row, ret);
	return fsc_sys_link_perf(
	    bpf_program__fd(ret ? s->skel->progs.generic_exit : s->skel->progs.generic_entry),
	    fsc_sys_perf_kprobe(name, 0, 0, ret), cookie);
}

static int link_kernel(struct fsc_session *s, enum fsc_end end)
{
	int fd = -ENOENT;

	for (size_t i = 0; fd < 0 && i < sizeof(getppid_names) / sizeof(getppid_names[0]); i++)
		fd = link_kernel_name(s, getppid_names[i], end);
	return fd;
}

static int link_tracepoint(struct fsc_session *s)
{
	FSC_AUTO(fsc_closep) int tracefs = -1;
	int id;

	/* Until it is detached, every system call of every process pays and is counted in our own
	 * row. */
	if (s->on_rung[FSC_RUNG_RAW_TRACEPOINT])
		return fsc_attach_raw_tracepoint(s, "sys_enter", s->cfg.calibrate_row);
	tracefs = fsc_tracefs_open(NULL);
	id = tracefs < 0 ? tracefs
			 : fsc_tracepoint_id(tracefs, "syscalls", "sys_enter_getppid", NULL);
	if (id < 0)
		return id;
	return fsc_sys_link_perf(bpf_program__fd(s->skel->progs.tracepoint_entry),
				 fsc_sys_perf_tracepoint(id), s->cfg.calibrate_row);
}

/* ---- the classes ---- */

static const struct class
{
	enum fsc_site site;
	void (*fn)(void), (*end)(void); /* called; its return instruction */
	bool ret, insns;		/* which end is probed, if not both */
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

static int link_end(struct fsc_session *s, const struct class *c, enum fsc_end end)
{
	if (c->site == FSC_SITE_TRACEPOINT)
		return link_tracepoint(s);
	if (c->site == FSC_SITE_KERNEL)
		return link_kernel(s, end);
	return link_user(s, end == FSC_END_INSNS ? c->end : c->fn, end);
}

/* ---- of a session ---- */

struct trial {
	struct fsc_session *s;
	const struct class *c;
	struct fsc_slot seen;
};

static int link_class(void *arg, struct fsc_err *err)
{
	const struct trial *t = arg;
	const struct fsc_target like = {
	    .site = t->c->site, .ret = t->c->ret || t->c->insns, .by_insns = t->c->insns};
	int fd, rc = 0;

	for (int end = 0; !rc && end < FSC_END_MAX; end++) {
		if (!fsc_attach_needs_end(t->s, &like, (enum fsc_end)end))
			continue;
		fd = link_end(t->s, t->c, (enum fsc_end)end);
		if (fd < 0)
			return fsc_err_sys(err, -fd, "cannot measure the cost of a hit");
		rc = fsc_attacher_keep(&t->s->attacher, fd, FSC_TAG_CALIBRATION, err);
	}
	return rc;
}

static double read_inner(void *arg)
{
	struct trial *t = arg;
	struct fsc_slot before = t->seen;

	fsc_rings_empty_own(t->s);
	if (t->s->opts.mode == FSC_MODE_TIME)
		fsc_session_slot(t->s, 0, &t->seen);
	if (t->seen.count == before.count)
		return 0;
	return (double)(t->seen.raw_total - before.raw_total) /
	       (double)(t->seen.count - before.count);
}

int fsc_calibrate(struct fsc_session *s, enum fsc_cost what, struct fsc_cost_ns *ret,
		  struct fsc_err *err)
{
	struct trial t = {.s = s->of ? s->of : s, .c = &classes[what]};
	struct fsc_hitcost h = {.fn = t.c->fn, .link = link_class, .inner = read_inner, .arg = &t};
	int rc = 0;

	s = t.s;
	if (s->opts.mode == FSC_MODE_TIME)
		rc = fsc_session_set_cost(s, s->cfg.calibrate_row, 0, 0, err);
	if (!rc)
		rc = fsc_hitcost_measure(&h, ret, err);
	/* Otherwise fsc_session_attach() does it. */
	if (s->attached)
		fsc_attacher_drop(&s->attacher, FSC_TAG_CALIBRATION);
	if (!rc && ret->outer <= 0)
		return fsc_err_set(err, ERANGE, "a hit costs less than the clock can measure");
	return rc;
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
