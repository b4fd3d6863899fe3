/* User functions and USDT probes: one multi link per file if the kernel has them, else one perf
 * event each. */
#include <errno.h>
#include <stdlib.h>

#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "engine/descriptors.h"
#include "engine/patched.h"
#include "engine/session_priv.h"
#include "engine/sys.h"
#include "func_snoop.skel.h"

bool fsc_attach_needs_end(const struct fsc_session *s, const struct fsc_target *t, enum fsc_end end)
{
	bool session = (t->site == FSC_SITE_USER ? s->user_session : s->kernel_session) >= 0;
	bool returns = s->pairs || t->ret;

	switch (end) {
	case FSC_END_RETURN:
		return returns && !session && !t->by_insns;
	case FSC_END_INSNS:
		return returns && t->by_insns;
	case FSC_END_ENTRY:
		return s->pairs ? !session || t->by_insns : !t->ret;
	default:
		return returns && session && !t->by_insns;
	}
}

int fsc_attach_user_end(const struct fsc_session *s, enum fsc_end end, struct fsc_sys_uprobes *u)
{
	const struct func_snoop_bpf *k = s->skel;
	bool entry = end == FSC_END_ENTRY;

	u->ret = end == FSC_END_RETURN;
	if (end == FSC_END_BOTH)
		return fsc_sys_link_uprobe_session(s->user_session, u);
	if (s->user_multi)
		return fsc_sys_link_uprobes(bpf_program__fd(entry ? k->progs.uprobe_multi_entry
								  : k->progs.uprobe_multi_exit),
					    u);
	return fsc_sys_link_uprobe(
	    bpf_program__fd(entry ? k->progs.generic_entry : k->progs.generic_exit), u);
}

static int link_user(const struct fsc_batch *b, size_t first, size_t n)
{
	const struct fsc_session_end *e = b->arg;
	struct fsc_sys_uprobes u = fsc_batch_uprobes(b, first, n);

	return fsc_session_note_link(b, fsc_attach_user_end(e->s, e->end, &u), n);
}

/* Probes are placed after leading no-ops: after a 5-byte nop because the kernel would optimise it,
 * after endbr64 because the push that often follows costs one exception instead of two. The nop
 * itself is probed only if that is safe or was asked for, and only at a function's entry: elsewhere
 * the kernel's call would overwrite what a leaf function keeps below the stack pointer. */
bool fsc_attach_fast(const struct fsc_session *s, const struct fsc_target *t)
{
	return t->nop5 && s->fast && t->at_entry;
}

static void add_exits(const struct fsc_session *s, struct fsc_batch *b, size_t target)
{
	const struct fsc_target *t = fsc_targets_at(s->targets, target);

	/* Without the entry a doubtful jump cannot be recognised as a return. */
	for (size_t i = 0; i < t->n_exits; i++)
		if (s->pairs || !t->exits[i].perhaps)
			fsc_session_add_place(b, target, t->exits[i].offset,
					      FSC_COOKIE_AT_RETURN |
						  (t->exits[i].perhaps ? FSC_COOKIE_PERHAPS : 0));
}

static size_t count_probes(const struct fsc_targets *t)
{
	size_t n = 0;

	for (size_t i = 0; i < fsc_targets_count(t); i++)
		n += 1 + fsc_targets_at(t, i)->n_exits;
	return n;
}

/* Whether each probe of an end needs a descriptor. */
static bool is_single(const struct fsc_session *s, enum fsc_end end)
{
	return !(s->user_multi || end == FSC_END_BOTH);
}

/* pid 0: all processes. -ESRCH, and no message: the process has exited. */
static int attach_file(struct fsc_session *s, uint32_t file, enum fsc_end end, pid_t pid,
		       struct fsc_err *err)
{
	struct fsc_session_end e = {
	    .s = s,
	    .end = end,
	    .rung = end == FSC_END_BOTH ? FSC_RUNG_UPROBE_SESSION
		    : s->user_multi	? FSC_RUNG_UPROBE_MULTI
					: FSC_RUNG_UPROBE,
	};
	struct fsc_batch b = {
	    .pid = pid,
	    .path = FSC_AT(struct fsc_target_file, &s->targets->files, file)->path,
	    .singly = is_single(s, end),
	    .link = link_user,
	    .refuse = fsc_session_refuse_place,
	    .arg = &e,
	};
	int rc = fsc_batch_init(&b, count_probes(s->targets), err);

	if (rc)
		return rc;
	for (size_t i = 0; i < fsc_targets_count(s->targets); i++) {
		const struct fsc_target *t = fsc_targets_at(s->targets, i);

		if (t->site != FSC_SITE_USER || t->file != file || !fsc_session_attaches(s, i) ||
		    !fsc_attach_needs_end(s, t, end))
			continue;
		if (end == FSC_END_INSNS)
			add_exits(s, &b, i);
		else
			fsc_session_add_place(&b, i, fsc_attach_fast(s, t) ? t->nop5 : t->body,
					      t->at_entry ? 0 : FSC_COOKIE_INSIDE);
	}
	rc = fsc_attacher_link(&s->attacher, &b, err);
	fsc_batch_release(&b);
	return rc;
}

/* Per process, or once for all. */
static size_t count_descriptors(const struct fsc_session *s, const struct fsc_target *t)
{
	size_t n = 0;

	for (int end = 0; end < FSC_END_MAX; end++)
		if (is_single(s, (enum fsc_end)end) &&
		    fsc_attach_needs_end(s, t, (enum fsc_end)end))
			n += end == FSC_END_INSNS ? t->n_exits : 1;
	return n;
}

static bool needs_user_probe(const struct fsc_session *s, size_t i)
{
	return fsc_targets_at(s->targets, i)->site == FSC_SITE_USER && fsc_session_attaches(s, i);
}

/* Refuses places in advance if descriptors will not suffice: the returns of all places are attached
 * first and would leave none for the entries. A function is probed at all its places or at none,
 * since half of its calls would look like all of them. */
static int refuse_excess(struct fsc_session *s, size_t n_processes, struct fsc_err *err)
{
	enum { TEMPORARY = 4 }; /* perf events, closed once they are linked */
	FSC_AUTO(fsc_freep) size_t *row_needs = calloc(s->targets->rows.n + 1, sizeof(*row_needs));
	size_t left = fsc_descriptors_left(), n = fsc_targets_count(s->targets);
	int rc = 0;

	if (!row_needs)
		return fsc_err_nomem(err);
	left -= left < TEMPORARY ? left : TEMPORARY;
	for (size_t i = 0; i < n; i++)
		if (needs_user_probe(s, i))
			row_needs[fsc_targets_at(s->targets, i)->row] +=
			    n_processes * count_descriptors(s, fsc_targets_at(s->targets, i));
	for (size_t i = 0; !rc && i < n; i++) {
		size_t *needed = &row_needs[fsc_targets_at(s->targets, i)->row];

		if (!needs_user_probe(s, i))
			continue;
		if (*needed > left) {
			rc = fsc_session_refuse(s, i, EMFILE, err);
			continue;
		}
		left -= *needed;
		*needed = 0; /* its other places are included */
	}
	return rc;
}

static int found_patched(size_t id, pid_t pid, void *arg, struct fsc_err *err)
{
	return fsc_session_refuse_patched(arg, id, pid, err);
}

static int add_code(const struct fsc_session *s, struct fsc_patched *p, size_t target,
		    struct fsc_err *err)
{
	const struct fsc_target *t = fsc_targets_at(s->targets, target);
	int rc = fsc_patched_place(p, fsc_attach_fast(s, t) ? t->nop5 : t->body, target, err);

	for (size_t i = 0; !rc && t->by_insns && i < t->n_exits; i++)
		rc = fsc_patched_place(p, t->exits[i].offset, target, err);
	return rc;
}

/* Refuses places whose code one of the processes that will get the probe has changed; of all
 * processes, if it goes to all. */
static int refuse_patched(struct fsc_session *s, bool all, struct fsc_err *err)
{
	FSC_AUTO(fsc_patched_release) struct fsc_patched p;
	int rc = 0;

	fsc_patched_init(&p);
	for (uint32_t f = 0; !rc && f < s->targets->files.n; f++) {
		rc = fsc_patched_file(
		    &p, FSC_AT(struct fsc_target_file, &s->targets->files, f)->path, err);
		for (size_t i = 0; !rc && i < fsc_targets_count(s->targets); i++)
			if (needs_user_probe(s, i) && fsc_targets_at(s->targets, i)->file == f)
				rc = add_code(s, &p, i, err);
	}
	return rc ? rc
		  : fsc_patched_find(&p, all ? NULL : s->opts.pids, all ? 0 : s->opts.n_pids,
				     found_patched, s, err);
}

static int attach_process(struct fsc_session *s, pid_t pid, struct fsc_err *err)
{
	int rc = 0;

	for (uint32_t f = 0; f < s->targets->files.n; f++)
		for (int end = 0; !rc && end < FSC_END_MAX; end++)
			rc = attach_file(s, f, (enum fsc_end)end, pid, err);
	return rc;
}

int fsc_attach_user(struct fsc_session *s, struct fsc_err *err)
{
	bool all = !fsc_session_limits(s->opts.n_pids, s->opts.follow);
	size_t ended = 0;
	int rc = 0;

	/* What is attached again was looked at, and may be changed by the kernel for our own probe.
	 */
	if (!s->selected)
		rc = refuse_patched(s, all, err);
	if (!rc && !s->selected)
		rc = refuse_excess(s, all ? 1 : s->opts.n_pids, err);
	if (rc || all)
		return rc ? rc : attach_process(s, 0, err);
	for (size_t p = 0; !rc && p < s->opts.n_pids; p++) {
		rc = attach_process(s, s->opts.pids[p], err);
		if (rc != -ESRCH)
			continue;
		ended++;
		rc = 0;
	}
	/* On resuming, exits are noticed elsewhere. */
	if (rc || ended < s->opts.n_pids || s->selected)
		return rc;
	return fsc_err_set(err, ESRCH, "%s exited before it could be probed",
			   ended == 1 ? "the process has" : "every process has");
}
