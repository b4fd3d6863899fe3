/* Measuring the cost of a hit. It is measured in CPU time of this thread, so that waiting for a CPU
 * does not inflate it, and in several short calibrations, of which the least counts: on a busy
 * machine, caches and the other thread of a core still do. The hits go to a row that no report
 * shows. */
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

enum { CALIBRATIONS = 3, ROUNDS = 5, HITS = 32 };

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

bool fsc_hitcost_again(const struct fsc_hitcost *h, struct fsc_cost_ns *to)
{
	struct fsc_cost_ns c = time_calls(h);
	bool less;

	c.outer -= to->bare;
	less = !to->n || c.outer < to->outer || c.inner < to->inner;
	to->most = !to->n || c.outer > to->most ? c.outer : to->most;
	to->outer = !to->n || c.outer < to->outer ? c.outer : to->outer;
	to->inner = !to->n || c.inner < to->inner ? c.inner : to->inner;
	to->n++;
	return less;
}

int fsc_hitcost_measure(const struct fsc_hitcost *h, struct fsc_cost_ns *ret, struct fsc_err *err)
{
	double bare = time_calls(h).outer;
	int rc = h->link(h->arg, err);

	if (rc)
		return rc;
	h->fn(); /* on the first hit the kernel optimises the probe */
	*ret = (struct fsc_cost_ns){.bare = bare};
	for (int i = 0; i < CALIBRATIONS; i++)
		fsc_hitcost_again(h, ret);
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

static int link_user(struct fsc_session *s, void (*fn)(void), enum fsc_end end, pid_t pid)
{
	uint64_t cookie = s->cfg.calibrate_row, offset;
	struct fsc_sys_uprobes u = {
	    .path = FSC_SELF_PATH, .offsets = &offset, .cookies = &cookie, .n = 1, .pid = pid};
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
	const char *name;
	enum fsc_site site;
	void (*fn)(void), (*end)(void); /* called; its return instruction */
	bool ret, insns;		/* which end is probed, if not both */
} classes[FSC_COST_MAX] = {
    [FSC_COST_USER] = {"a user function", .fn = fsc_self_ordinary},
    [FSC_COST_USER_STEPPED] = {"a user function, single-stepped", .fn = fsc_self_stepped},
    [FSC_COST_USER_RETURN] = {"a user function's return", .fn = fsc_self_ordinary_ret, .ret = true},
    [FSC_COST_USER_RETURN_STEPPED] = {"a user function's return, single-stepped",
				      .fn = fsc_self_stepped_ret, .ret = true},
    [FSC_COST_USER_INSNS] = {"a user function and its return instructions",
			     .fn = fsc_self_ordinary_insns, .end = fsc_self_ordinary_insns_end,
			     .insns = true},
    [FSC_COST_USER_INSNS_STEPPED] = {"a user function, single-stepped, and its return instructions",
				     .fn = fsc_self_stepped_insns,
				     .end = fsc_self_stepped_insns_end, .insns = true},
    [FSC_COST_USER_FAST] = {"a user function, on its 5-byte nop", .fn = fsc_self_nop5},
    [FSC_COST_KERNEL] = {"a kernel function", FSC_SITE_KERNEL, .fn = call_getppid},
    [FSC_COST_KERNEL_RETURN] = {"a kernel function's return", FSC_SITE_KERNEL, .fn = call_getppid,
				.ret = true},
    [FSC_COST_TRACEPOINT] = {"a tracepoint", FSC_SITE_TRACEPOINT, .fn = call_getppid},
};

const char *fsc_cost_name(enum fsc_cost what)
{
	return classes[what].name;
}

static int link_end(struct fsc_session *s, const struct class *c, enum fsc_end end, pid_t pid)
{
	if (c->site == FSC_SITE_TRACEPOINT)
		return link_tracepoint(s);
	if (c->site == FSC_SITE_KERNEL)
		return link_kernel(s, end);
	return link_user(s, end == FSC_END_INSNS ? c->end : c->fn, end, pid);
}

/* Calibration on user functions goes on during the run: nobody else can hit its probes. */
static bool is_kept(const struct fsc_session *s, const struct class *c)
{
	return c->site == FSC_SITE_USER && !s->opts.rules;
}

/* ---- of a session ---- */

struct trial {
	struct fsc_session *s;
	const struct class *c;
	struct fsc_slot seen;
};

static int link_for(const struct trial *t, enum fsc_end end, pid_t pid, struct fsc_err *err)
{
	int fd = link_end(t->s, t->c, end, pid);

	if (fd == -ESRCH && pid != getpid())
		return 0;
	if (fd < 0)
		return fsc_err_sys(err, -fd, "cannot measure the cost of a hit");
	return fsc_attacher_keep(&t->s->attacher, fd,
				 is_kept(t->s, t->c) ? FSC_TAG_OWN : FSC_TAG_CALIBRATION, err);
}

/* Where every process has links of its own, all of them are asked at each hit: as many are here.
 * Those of the others never run. */
static int link_others(const struct trial *t, enum fsc_end end, struct fsc_err *err)
{
	const struct fsc_session_opts *o = &t->s->opts;
	int rc = 0;

	if (t->c->site != FSC_SITE_USER || !fsc_session_limits(o->n_pids, o->follow) ||
	    !(t->s->user_multi || end == FSC_END_BOTH))
		return 0;
	for (size_t i = 1; !rc && i < o->n_pids; i++)
		rc = link_for(t, end, o->pids[i], err);
	return rc;
}

static int link_class(void *arg, struct fsc_err *err)
{
	const struct trial *t = arg;
	const struct fsc_target like = {
	    .site = t->c->site, .ret = t->c->ret || t->c->insns, .by_insns = t->c->insns};
	int rc = 0;

	for (int end = 0; !rc && end < FSC_END_MAX; end++) {
		if (!fsc_attach_needs_end(t->s, &like, (enum fsc_end)end))
			continue;
		rc = link_for(t, (enum fsc_end)end, getpid(), err);
		if (!rc)
			rc = link_others(t, (enum fsc_end)end, err);
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

bool fsc_calibrate_again(struct fsc_session *s, enum fsc_cost what, struct fsc_cost_ns *to)
{
	struct trial t = {.s = s, .c = &classes[what]};
	struct fsc_hitcost h = {.fn = t.c->fn, .inner = read_inner, .arg = &t};

	return is_kept(s, t.c) && fsc_hitcost_again(&h, to);
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
