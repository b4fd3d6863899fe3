/* Attaching a script's programs to functions and tracepoints, by the rungs that sessions use. What
 * may be probed, and how a function's returns are caught, was decided when its places were resolved
 * (probe/): here it is only obeyed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "engine/descriptors.h"
#include "engine/features.h"
#include "engine/patched.h"
#include "engine/script_priv.h"
#include "probe/target.h"

typedef int (*attach_fn)(struct fsc_script *s, const struct fsc_plan_prog *p, struct fsc_err *err);

/* How programs of each kind are loaded and attached. Without a function they are run by ourselves;
 * without `shared` each point has a program of its own. Of several programs at one place the kernel
 * runs some kinds in the order in which they were attached, others the newest first. */
static const struct attach_kind {
	enum bpf_prog_type type;
	bool shared;
	attach_fn attach;
	bool newest_first;
} kinds[FSC_POINT_KINDS] = {
    [FSC_POINT_BEGIN] = {BPF_PROG_TYPE_RAW_TRACEPOINT, true, NULL},
    [FSC_POINT_END] = {BPF_PROG_TYPE_RAW_TRACEPOINT, true, NULL},
    [FSC_POINT_SELF] = {BPF_PROG_TYPE_RAW_TRACEPOINT, true, NULL},
    [FSC_POINT_TEST] = {BPF_PROG_TYPE_RAW_TRACEPOINT, true, NULL},
    [FSC_POINT_BENCH] = {BPF_PROG_TYPE_RAW_TRACEPOINT, true, NULL},
    [FSC_POINT_KPROBE] = {BPF_PROG_TYPE_KPROBE, true, fsc_script_attach_kernel, true},
    [FSC_POINT_KRETPROBE] = {BPF_PROG_TYPE_KPROBE, true, fsc_script_attach_kernel},
    [FSC_POINT_UPROBE] = {BPF_PROG_TYPE_KPROBE, true, fsc_script_attach_user, true},
    [FSC_POINT_URETPROBE] = {BPF_PROG_TYPE_KPROBE, true, fsc_script_attach_user, true},
    [FSC_POINT_USDT] = {BPF_PROG_TYPE_KPROBE, true, fsc_script_attach_user, true},
    [FSC_POINT_FENTRY] = {BPF_PROG_TYPE_TRACING, false, fsc_script_attach_tracing, true},
    [FSC_POINT_FEXIT] = {BPF_PROG_TYPE_TRACING, false, fsc_script_attach_tracing, true},
    [FSC_POINT_RAWTRACEPOINT] = {BPF_PROG_TYPE_RAW_TRACEPOINT, false, fsc_script_attach_raw},
    [FSC_POINT_TRACEPOINT] = {BPF_PROG_TYPE_TRACEPOINT, true, fsc_script_attach_tracepoint},
    [FSC_POINT_PROFILE] = {BPF_PROG_TYPE_PERF_EVENT, true, fsc_script_attach_perf},
    [FSC_POINT_INTERVAL] = {BPF_PROG_TYPE_PERF_EVENT, true, fsc_script_attach_perf},
    [FSC_POINT_SOFTWARE] = {BPF_PROG_TYPE_PERF_EVENT, true, fsc_script_attach_perf},
    [FSC_POINT_HARDWARE] = {BPF_PROG_TYPE_PERF_EVENT, true, fsc_script_attach_perf},
    [FSC_POINT_WATCHPOINT] = {BPF_PROG_TYPE_PERF_EVENT, true, fsc_script_attach_watch},
    [FSC_POINT_ASYNCWATCHPOINT] = {BPF_PROG_TYPE_PERF_EVENT, true, fsc_script_attach_watch},
    [FSC_POINT_ITER] = {BPF_PROG_TYPE_TRACING, false, fsc_script_attach_iter},
};

pid_t fsc_script_pid(const struct fsc_script *s, const struct fsc_point *pt)
{
	return pt->pid ? pt->pid : s->opts.cpid;
}

static bool any_pid(const struct fsc_script *s, const struct fsc_plan_prog *p)
{
	for (size_t i = 0; i < p->n_points; i++)
		if (fsc_script_pid(s, p->points[i]))
			return true;
	return false;
}

/* One link for many kernel functions: at their entries only, and not where a function's execution
 * may be prevented. */
static bool wants_kprobe_multi(const struct fsc_plan_prog *p)
{
	for (size_t i = 0; i < p->n_points; i++)
		if (p->points[i]->offset)
			return false;
	return !p->unsafe && fsc_feature_works(FSC_FEATURE_KPROBE_MULTI);
}

bool fsc_script_variant_of(const struct fsc_script *s, const struct fsc_plan_prog *p,
			   struct fsc_script_variant *ret)
{
	const struct attach_kind *k = &kinds[p->kind];

	*ret = (struct fsc_script_variant){.type = k->type, .btf_fd = -1};
	if (k->attach == fsc_script_attach_user && fsc_feature_uprobe_multi_quick(any_pid(s, p)))
		ret->attach_type = FSC_ATTACH_UPROBE_MULTI;
	if (k->attach == fsc_script_attach_kernel && wants_kprobe_multi(p))
		ret->attach_type = FSC_ATTACH_KPROBE_MULTI;
	return k->shared;
}

/* ---- what the kernel refuses ---- */

static const char *refusal_text(int code)
{
	return code == EADDRNOTAVAIL ? "a process has changed its code in memory"
	       : code == ENOENT || code == EINVAL
		   ? "the kernel does not allow a probe there, or has no such function"
	       : code == EILSEQ	    ? "it is in the middle of an instruction; try another offset"
	       : code == EOPNOTSUPP ? "the machine does not have this event"
				    : fsc_err_text(code);
}

static int note_refused(struct fsc_script *s, const struct fsc_point *point, int code,
			struct fsc_err *err)
{
	const struct fsc_script_refused refused = {point, code};
	int missing = s->plan->config.missing_probes;

	if (code == EMFILE)
		return fsc_descriptors_err(err, "the probes");
	if (missing == FSC_MISSING_ERROR) {
		fsc_err_set(err, code, "cannot attach %s: %s", point->name, refusal_text(code));
		return fsc_err_hint(err, "missing_probes=warn in the script's config goes on "
					 "without it");
	}
	if (missing == FSC_MISSING_WARN)
		fsc_log(FSC_LOG_WARN, "cannot attach %s: %s", point->name, refusal_text(code));
	return fsc_vec_add(&s->refused, &refused, err);
}

int fsc_script_keep(struct fsc_script *s, const struct fsc_plan_prog *p, size_t point, int fd,
		    struct fsc_err *err)
{
	int rc;

	if (fd < 0)
		return note_refused(s, p->points[point], -fd, err);
	rc = fsc_attacher_keep(&s->attacher, fd, fsc_script_number(s, p), err);
	if (!rc)
		s->attached++;
	return rc;
}

/* ---- batches ---- */

/* The arg of a script's batch. */
struct script_batch {
	struct fsc_script *s;
	const struct fsc_plan_prog *p;
	bool ret;   /* returns, caught by the kernel */
	bool *left; /* per point: refused by this rung, to be tried by the next; NULL: the last */
};

static int refuse_point(const struct fsc_batch *b, size_t i, int code, struct fsc_err *err)
{
	struct script_batch *sb = b->arg;

	if (sb->left) {
		sb->left[b->ids[i]] = true;
		return 0;
	}
	return note_refused(sb->s, sb->p->points[b->ids[i]], code, err);
}

static void add_place(struct fsc_batch *b, size_t point, const struct script_batch *sb,
		      uint64_t where)
{
	size_t n = b->n++;

	b->ids[n] = point;
	b->tags[n] = fsc_script_number(sb->s, sb->p);
	b->where[n] = where;
	b->cookies[n] = sb->p->cookies[point];
	b->ref_ctrs[n] = sb->p->points[point]->ref_ctr;
}

/* ---- user functions ---- */

static const struct fsc_target *target_of(const struct fsc_point *pt)
{
	return pt->targets ? fsc_targets_at(pt->targets, pt->place) : NULL;
}

const char *fsc_script_path(const struct fsc_point *pt)
{
	const struct fsc_target *t = target_of(pt);

	return t ? FSC_AT(struct fsc_target_file, &pt->targets->files, t->file)->path : pt->target;
}

static int link_user(const struct fsc_batch *b, size_t first, size_t n)
{
	const struct script_batch *sb = b->arg;
	uint32_t number = fsc_script_number(sb->s, sb->p);
	struct fsc_sys_uprobes u = fsc_batch_uprobes(b, first, n);

	u.ret = sb->ret;
	return sb->s->many[number] ? fsc_sys_link_uprobes(sb->s->fds[number], &u)
				   : fsc_sys_link_uprobe(sb->s->fds[number], &u);
}

/* A 5-byte nop itself is probed only where that does not harm forked children, and at a function's
 * entry: see attach_user.c. */
static uint64_t entry_offset(const struct fsc_point *pt)
{
	const struct fsc_target *t = target_of(pt);

	if (!t)
		return pt->address;
	return t->nop5 && t->at_entry && fsc_feature_works(FSC_FEATURE_FAST_UPROBE_FORK) ? t->nop5
											 : t->body;
}

static bool by_insns(const struct fsc_plan_prog *p, const struct fsc_point *pt)
{
	const struct fsc_target *t = target_of(pt);

	return p->kind == FSC_POINT_URETPROBE && t && t->by_insns;
}

static void add_user_places(struct fsc_batch *b, const struct script_batch *sb, size_t point)
{
	const struct fsc_point *pt = sb->p->points[point];
	const struct fsc_target *t = target_of(pt);

	if (!by_insns(sb->p, pt)) {
		add_place(b, point, sb, entry_offset(pt));
		return;
	}
	for (size_t i = 0; i < t->n_exits; i++)
		if (!t->exits[i].perhaps)
			add_place(b, point, sb, t->exits[i].offset);
}

static size_t most_places(const struct fsc_plan_prog *p)
{
	size_t n = p->n_points;

	for (size_t i = 0; i < p->n_points; i++)
		if (by_insns(p, p->points[i]))
			n += target_of(p->points[i])->n_exits;
	return n;
}

/* The points that go into a link with this one: the same file, process and way. */
static bool goes_with(const struct fsc_plan_prog *p, const struct fsc_point *a,
		      const struct fsc_point *b)
{
	return a->pid == b->pid && by_insns(p, a) == by_insns(p, b) &&
	       !strcmp(fsc_script_path(a), fsc_script_path(b));
}

/* 0 stands for a place that is taken out of the batch. */
static int found_patched(size_t id, pid_t pid, void *arg, struct fsc_err *err)
{
	struct fsc_batch *b = arg;

	(void)pid;
	if (!b->where[id])
		return 0;
	b->where[id] = 0;
	return refuse_point(b, id, EADDRNOTAVAIL, err);
}

/* Code that one of the processes has changed in its memory gets no probe: see engine/patched.h. */
static int refuse_patched(struct fsc_batch *b, struct fsc_err *err)
{
	FSC_AUTO(fsc_patched_release) struct fsc_patched p;
	size_t kept = 0;
	int rc;

	fsc_patched_init(&p);
	rc = fsc_patched_file(&p, b->path, err);
	for (size_t i = 0; !rc && i < b->n; i++)
		rc = fsc_patched_place(&p, b->where[i], i, err);
	if (!rc)
		rc = fsc_patched_find(&p, b->pid ? &b->pid : NULL, b->pid ? 1 : 0, found_patched, b,
				      err);
	for (size_t i = 0; i < b->n; i++) {
		if (!b->where[i])
			continue;
		b->ids[kept] = b->ids[i];
		b->tags[kept] = b->tags[i];
		b->where[kept] = b->where[i];
		b->cookies[kept] = b->cookies[i];
		b->ref_ctrs[kept++] = b->ref_ctrs[i];
	}
	b->n = kept;
	return rc;
}

static int attach_file(struct fsc_script *s, const struct fsc_plan_prog *p, size_t first,
		       bool *done, struct fsc_err *err)
{
	const struct fsc_point *pt = p->points[first];
	struct script_batch sb = {
	    .s = s, .p = p, .ret = p->kind == FSC_POINT_URETPROBE && !by_insns(p, pt)};
	struct fsc_batch b = {.path = fsc_script_path(pt),
			      .pid = fsc_script_pid(s, pt),
			      .singly = !s->many[fsc_script_number(s, p)],
			      .link = link_user,
			      .refuse = refuse_point,
			      .arg = &sb};
	size_t refused = s->refused.n, n = 0;
	int rc = fsc_batch_init(&b, most_places(p), err);

	for (size_t i = first; !rc && i < p->n_points; i++)
		if (!done[i] && goes_with(p, pt, p->points[i])) {
			add_user_places(&b, &sb, i);
			done[i] = true;
			n++;
		}
	if (!rc)
		rc = refuse_patched(&b, err);
	if (!rc && b.n)
		rc = fsc_attacher_link(&s->attacher, &b, err);
	fsc_batch_release(&b);
	if (rc == -ESRCH && err && !err->code)
		return fsc_err_set(err, ESRCH, "process %d exited before it could be probed",
				   fsc_script_pid(s, pt));
	s->attached += n - (s->refused.n - refused);
	return rc;
}

int fsc_script_attach_user(struct fsc_script *s, const struct fsc_plan_prog *p, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) bool *done = calloc(p->n_points + 1, sizeof(*done));
	int rc = done ? 0 : fsc_err_nomem(err);

	for (size_t i = 0; !rc && i < p->n_points; i++)
		if (!done[i])
			rc = attach_file(s, p, i, done, err);
	return rc;
}

/* ---- kernel functions ---- */

static int link_kernel(const struct fsc_batch *b, size_t first, size_t n)
{
	const struct script_batch *sb = b->arg;
	struct fsc_sys_kprobes k = {
	    .addrs = b->where[first] ? b->where + first : NULL,
	    .names = b->names + first,
	    .cookies = b->cookies + first,
	    .n = (uint32_t)n,
	    .ret = sb->p->kind == FSC_POINT_KRETPROBE,
	};

	return fsc_sys_link_kprobes(sb->s->fds[fsc_script_number(sb->s, sb->p)], &k);
}

/* What one link does not take is left to single probes. */
static int attach_kernel_multi(struct fsc_script *s, const struct fsc_plan_prog *p, bool *left,
			       struct fsc_err *err)
{
	struct script_batch sb = {.s = s, .p = p, .left = left};
	struct fsc_batch b = {.link = link_kernel, .refuse = refuse_point, .arg = &sb};
	int rc = fsc_batch_init(&b, p->n_points, err);

	for (size_t i = 0; !rc && i < p->n_points; i++) {
		b.names[b.n] = p->points[i]->func;
		add_place(&b, i, &sb, p->points[i]->address);
	}
	if (!rc)
		rc = fsc_attacher_link(&s->attacher, &b, err);
	fsc_batch_release(&b);
	for (size_t i = 0; !rc && i < p->n_points; i++)
		s->attached += !left[i];
	return rc;
}

int fsc_script_attach_kernel(struct fsc_script *s, const struct fsc_plan_prog *p,
			     struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) bool *left = calloc(p->n_points + 1, sizeof(*left));
	const struct fsc_script_variant single = {.type = BPF_PROG_TYPE_KPROBE, .btf_fd = -1};
	uint32_t number = fsc_script_number(s, p);
	int prog = s->fds[number], rc = left ? 0 : fsc_err_nomem(err);

	if (!rc && s->many[number]) {
		rc = attach_kernel_multi(s, p, left, err);
		prog = -1;
	}
	for (size_t i = 0; !rc && i < p->n_points; i++) {
		const struct fsc_point *pt = p->points[i];
		int fd;

		if (s->many[number] && !left[i])
			continue;
		if (prog < 0)
			prog = fsc_script_own_prog(s, p, &single, err);
		if (prog < 0)
			return prog;
		fd = fsc_sys_link_perf(prog,
				       fsc_sys_perf_kprobe(pt->func, pt->address, pt->offset,
							   p->kind == FSC_POINT_KRETPROBE),
				       p->cookies[i]);
		rc = fsc_script_keep(s, p, i, fd, err);
	}
	return rc;
}

/* ---- programs for one place each ---- */

int fsc_script_attach_tracing(struct fsc_script *s, const struct fsc_plan_prog *p,
			      struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < p->n_points; i++) {
		const struct fsc_point *pt = p->points[i];
		const struct fsc_script_variant v = {
		    .type = BPF_PROG_TYPE_TRACING,
		    .attach_type = p->kind == FSC_POINT_FEXIT ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY,
		    .btf_id = pt->btf_id,
		    .btf_fd = pt->btf_fd};
		int prog = fsc_script_own_prog(s, p, &v, err);

		if (prog < 0)
			return prog;
		rc = fsc_script_keep(s, p, i,
				     p->needs_cookie ? fsc_sys_link_tracing_cookie(
							   prog, v.attach_type, p->cookies[i])
						     : fsc_sys_link_tracing(prog),
				     err);
	}
	return rc;
}

/* With its types where the kernel has them: then the program may follow pointers itself. */
int fsc_script_attach_raw(struct fsc_script *s, const struct fsc_plan_prog *p, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < p->n_points; i++) {
		const struct fsc_point *pt = p->points[i];
		const struct fsc_script_variant v = {
		    .type = pt->btf_id ? BPF_PROG_TYPE_TRACING : BPF_PROG_TYPE_RAW_TRACEPOINT,
		    .attach_type = pt->btf_id ? BPF_TRACE_RAW_TP : 0,
		    .btf_id = pt->btf_id,
		    .btf_fd = pt->btf_fd};
		int prog = fsc_script_own_prog(s, p, &v, err);

		if (prog < 0)
			return prog;
		rc = fsc_script_keep(s, p, i,
				     fsc_sys_link_raw(prog, pt->btf_id ? NULL : pt->func,
						      p->needs_cookie ? p->cookies[i] : 0),
				     err);
	}
	return rc;
}

int fsc_script_attach_tracepoint(struct fsc_script *s, const struct fsc_plan_prog *p,
				 struct fsc_err *err)
{
	int prog = s->fds[fsc_script_number(s, p)], rc = 0;

	for (size_t i = 0; !rc && i < p->n_points; i++)
		rc = fsc_script_keep(
		    s, p, i,
		    fsc_sys_link_perf(prog, fsc_sys_perf_tracepoint((int)p->points[i]->event_id),
				      p->cookies[i]),
		    err);
	return rc;
}

/* ---- all ---- */

/* Whether one of its points has a name that is asked for. */
static bool is_wanted(const struct fsc_script *s, const struct fsc_plan_prog *p)
{
	if (!s->opts.filter || p->kind == FSC_POINT_BEGIN || p->kind == FSC_POINT_END)
		return true;
	for (size_t i = 0; i < p->n_points; i++)
		if (!regexec(s->opts.filter, p->points[i]->name, 0, NULL, 0))
			return true;
	return false;
}

/* Names of points; a marker with several places is one probe. */
static size_t count_names(const struct fsc_plan_prog *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_points; i++)
		n += !i || strcmp(p->points[i]->name, p->points[i - 1]->name);
	return n;
}

/* In such an order that programs at one place run in the script's. */
int fsc_script_attach(struct fsc_script *s, struct fsc_err *err)
{
	size_t n = s->plan->n_progs, twins = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < 2 * n; i++) {
		const struct fsc_plan_prog *p = &s->plan->progs[i < n ? i : 2 * n - 1 - i];
		const struct attach_kind *k = &kinds[p->kind];

		if (k->newest_first != (i >= n) || !is_wanted(s, p))
			continue;
		twins += p->n_points - count_names(p);
		if (k->attach)
			rc = k->attach(s, p, err);
		else
			s->attached += p->n_points;
	}
	if (!rc && !s->attached)
		return fsc_err_set(err, ENOENT, "No probes to attach");
	s->attached -= s->attached > twins ? twins : 0;
	return rc;
}

void fsc_script_detach(struct fsc_script *s)
{
	if (s->detached)
		return;
	s->detached = true;
	fsc_attacher_drop(&s->attacher, FSC_TAG_ALL);
}

size_t fsc_script_attached(const struct fsc_script *s)
{
	return s->attached;
}

const struct fsc_vec *fsc_script_refused(const struct fsc_script *s)
{
	return &s->refused;
}
