/* User functions and USDT probes: one multi link per file where the kernel has them, else one event
 * each. */
#include <errno.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "engine/batch.h"
#include "engine/sys.h"
#include "func_snoop.skel.h"

static int link_uprobes(const struct fsc_batch *b, size_t first, size_t n)
{
	struct fsc_sys_uprobes u = {
	    .path = b->path,
	    .offsets = b->where + first,
	    .ref_ctrs = b->any_ref_ctr ? b->ref_ctrs + first : NULL,
	    .cookies = b->cookies + first,
	    .n = (uint32_t)n,
	    .ret = b->ret,
	    .pid = b->pid,
	};

	return fsc_sys_link_uprobes(bpf_program__fd(b->s->skel->progs.uprobe_multi_entry), &u);
}

/* One event, one link: n is 1 on this rung. */
static int link_uprobe(const struct fsc_batch *b, size_t first, size_t n)
{
	FSC_AUTO(fsc_closep) int perf = -1;

	if (n != 1)
		return -E2BIG;
	perf = fsc_sys_perf_uprobe(b->path, b->where[first], b->ref_ctrs[first], b->ret, b->pid);
	if (perf < 0)
		return perf;
	return fsc_sys_link_perf(bpf_program__fd(b->s->skel->progs.generic_entry), perf,
				 b->cookies[first]);
}

/* Probes go behind leading no-operations: behind a 5-byte nop because of what the kernel makes of
 * it, behind endbr64 because the push that often follows costs one exception instead of two. On the
 * nop itself only where that is safe or wanted, and only at a function's entry: elsewhere the
 * kernel's call would overwrite what a leaf function keeps below the stack pointer. */
bool fsc_attach_fast(const struct fsc_session *s, const struct fsc_target *t)
{
	return t->nop5 && s->fast && t->at_entry;
}

static int attach_each(struct fsc_batch *b, struct fsc_err *err)
{
	for (size_t i = 0; i < b->n; i++) {
		int rc = fsc_batch_link(b, i, 1, fsc_batch_refuse, err);

		if (rc)
			return rc;
	}
	return 0;
}

/* All places in one file, entries or returns, for one process or for all. */
static int attach_file(struct fsc_session *s, uint32_t file, bool ret, pid_t pid,
		       struct fsc_err *err)
{
	size_t max = fsc_targets_count(s->targets);
	struct fsc_batch b = {
	    .s = s,
	    .ret = ret,
	    .pid = pid,
	    .path = FSC_AT(struct fsc_target_file, &s->targets->files, file)->path,
	    .rung = s->user_multi ? FSC_RUNG_UPROBE_MULTI : FSC_RUNG_UPROBE,
	    .link = s->user_multi ? link_uprobes : link_uprobe,
	};
	int rc = fsc_batch_init(&b, max, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < max; i++) {
		const struct fsc_target *t = fsc_targets_at(s->targets, i);

		if (t->site == FSC_SITE_USER && t->file == file && t->ret == ret)
			fsc_batch_add(&b, i, fsc_attach_fast(s, t) ? t->nop5 : t->body, t->ref_ctr);
	}
	if (b.n)
		rc = s->user_multi ? fsc_batch_link(&b, 0, b.n, fsc_batch_refuse, err)
				   : attach_each(&b, err);
	fsc_batch_release(&b);
	return rc;
}

int fsc_attach_user(struct fsc_session *s, struct fsc_err *err)
{
	bool by_pid = s->opts.n_pids && !s->opts.follow;
	size_t n_pids = by_pid ? s->opts.n_pids : 1;
	int rc = 0;

	for (uint32_t f = 0; f < s->targets->files.n; f++)
		for (size_t p = 0; p < n_pids; p++)
			for (int ret = 0; !rc && ret <= 1; ret++)
				rc = attach_file(s, f, ret, by_pid ? s->opts.pids[p] : 0, err);
	return rc;
}
