/* Kernel functions: kprobe.multi; for those that it refuses fentry, then one kprobe each. */
#include <errno.h>
#include <stdlib.h>

#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "engine/btfnames.h"
#include "engine/features.h"
#include "engine/session_priv.h"
#include "engine/sys.h"
#include "func_snoop.skel.h"

int fsc_attach_kernel_end(const struct fsc_session *s, enum fsc_end end, struct fsc_sys_kprobes *k)
{
	k->ret = end == FSC_END_RETURN;
	if (end == FSC_END_BOTH)
		return fsc_sys_link_kprobe_session(s->kernel_session, k);
	return fsc_sys_link_kprobes(bpf_program__fd(k->ret ? s->skel->progs.kprobe_multi_exit
							   : s->skel->progs.kprobe_multi_entry),
				    k);
}

static int link_kprobes(const struct fsc_batch *b, size_t first, size_t n)
{
	const struct fsc_session_end *e = b->arg;
	struct fsc_sys_kprobes k = {
	    .addrs = e->hidden ? NULL : b->where + first,
	    .names = b->names + first,
	    .cookies = b->cookies + first,
	    .n = (uint32_t)n,
	};

	return fsc_session_note_link(b, fsc_attach_kernel_end(e->s, e->end, &k), n);
}

static int link_kprobe(struct fsc_session *s, const struct fsc_target *t, bool ret)
{
	return fsc_sys_link_perf(
	    bpf_program__fd(ret ? s->skel->progs.generic_exit : s->skel->progs.generic_entry),
	    fsc_sys_perf_kprobe(fsc_session_symbol(s, t), t->addr, t->offset, ret), t->row);
}

int fsc_attach_fentry(struct fsc_session *s, const struct fsc_btf_func *f, uint32_t row, bool ret)
{
	struct fsc_own own = {
	    .from = ret ? s->skel->progs.own_exit : s->skel->progs.own_entry,
	    .type = BPF_PROG_TYPE_TRACING,
	    .attach_type = ret ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY,
	    .btf_id = f->id,
	    .n_args = f->n_args,
	    .row = row,
	};
	int prog;

	if (f->id <= 0)
		return -ENOENT;
	prog = fsc_own_program(s, &own);
	return prog < 0 ? prog : fsc_sys_link_tracing(prog);
}

static int link_kernel_end(struct fsc_session *s, const struct fsc_target *t,
			   const struct fsc_btf_func *f, bool ret)
{
	return f ? fsc_attach_fentry(s, f, t->row, ret) : link_kprobe(s, t, ret);
}

/* Both ends of a function where calls are paired, return first. No descriptor leaks if the second
 * link fails. */
static int link_ends(struct fsc_session *s, size_t i, const struct fsc_btf_func *f)
{
	const struct fsc_target *t = fsc_targets_at(s->targets, i);
	FSC_AUTO(fsc_closep) int leave = s->pairs ? link_kernel_end(s, t, f, true) : -1;
	FSC_AUTO(fsc_closep) int fd = -1;

	if (s->pairs && leave < 0)
		return leave;
	fd = link_kernel_end(s, t, f, !s->pairs && t->ret);
	if (fd >= 0 && s->pairs && fsc_session_keep_link(s, fsc_take_fd(&leave), i, NULL))
		return -ENOMEM;
	return fsc_take_fd(&fd);
}

/* A name that has several addresses is ambiguous in BTF, so those functions are attached by
 * address. */
static int attach_kernel_one(struct fsc_session *s, size_t i, struct fsc_btf_names *names,
			     const uint32_t *per_row, struct fsc_err *err)
{
	const struct fsc_target *t = fsc_targets_at(s->targets, i);
	enum fsc_via via = s->opts.via;
	struct fsc_btf_func f;
	int fd = -ENOTSUP;

	if ((via == FSC_VIA_BEST || via == FSC_VIA_FENTRY) && t->at_entry && per_row[t->row] == 1) {
		f.id = fsc_btf_names_find(names, fsc_targets_row(s->targets, t->row)->name, t->addr,
					  &f.n_args);
		fd = f.id > 0 ? link_ends(s, i, &f) : -ENOENT;
		fsc_session_count_rung(s, FSC_RUNG_FENTRY, fd >= 0);
	}
	if (fd < 0 && (via == FSC_VIA_BEST || via == FSC_VIA_SINGLE)) {
		fd = link_ends(s, i, NULL);
		fsc_session_count_rung(s, FSC_RUNG_KPROBE, fd >= 0);
	}
	if (fd >= 0)
		return fsc_session_keep_link(s, fd, i, err);
	return fsc_session_refuse(s, i, fd, err);
}

static int attach_kernel_singly(struct fsc_session *s, const bool *left, struct fsc_err *err)
{
	size_t n = fsc_targets_count(s->targets);
	FSC_AUTO(fsc_freep) uint32_t *per_row = calloc(s->targets->rows.n, sizeof(*per_row));
	struct fsc_btf_names names = {0};
	int rc = 0;

	if (!per_row)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < n; i++)
		per_row[fsc_targets_at(s->targets, i)->row]++;
	for (size_t i = 0; !rc && i < n; i++)
		if (fsc_targets_at(s->targets, i)->site == FSC_SITE_KERNEL && left[i] &&
		    fsc_session_attaches(s, i))
			rc = attach_kernel_one(s, i, &names, per_row, err);
	fsc_btf_names_release(&names);
	return rc;
}

/* Functions that kprobe.multi refuses are left to the lower rungs. */
static int attach_kernel_multi(struct fsc_session *s, enum fsc_end end, bool *left,
			       struct fsc_err *err)
{
	size_t max = fsc_targets_count(s->targets);
	struct fsc_session_end e = {
	    .s = s,
	    .end = end,
	    .rung = end == FSC_END_BOTH ? FSC_RUNG_KPROBE_SESSION : FSC_RUNG_KPROBE_MULTI,
	    .left = s->opts.via == FSC_VIA_MULTI ? NULL : left,
	};
	struct fsc_batch b = {.singly = s->opts.per_row,
			      .link = link_kprobes,
			      .refuse = fsc_session_refuse_place,
			      .arg = &e};
	int rc = fsc_batch_init(&b, max, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < max; i++) {
		const struct fsc_target *t = fsc_targets_at(s->targets, i);

		if (t->site == FSC_SITE_KERNEL && !left[i] && fsc_session_attaches(s, i) &&
		    fsc_attach_needs_end(s, t, end))
			fsc_session_add_place(&b, i, t->addr, 0);
	}
	rc = fsc_attacher_link(&s->attacher, &b, err);
	fsc_batch_release(&b);
	return rc;
}

/* If no function could be attached, find out whether any can on this kernel. */
static int check_any_attached(const struct fsc_session *s, struct fsc_err *err)
{
	if (s->on_rung[FSC_RUNG_KPROBE_SESSION] || s->on_rung[FSC_RUNG_KPROBE_MULTI] ||
	    s->on_rung[FSC_RUNG_FENTRY] || s->on_rung[FSC_RUNG_KPROBE])
		return 0;
	/* Not the kernel's fault; the caller reports it. */
	if (s->refused.n && FSC_AT(struct fsc_refused, &s->refused, 0)->code == EMFILE)
		return 0;
	if (s->opts.via != FSC_VIA_BEST)
		fsc_err_set(err, ENOTSUP, "these functions cannot be attached the way --via asks");
	else if (fsc_feature_works(FSC_FEATURE_KPROBE_MULTI) ||
		 fsc_feature_works(FSC_FEATURE_FENTRY) || fsc_feature_works(FSC_FEATURE_KPROBE))
		return 0;
	else
		fsc_err_set(err, ENOTSUP,
			    "kernel functions cannot be probed on this kernel: neither "
			    "kprobe.multi nor fentry nor kprobes work");
	return fsc_err_hint(err, "see why with: funcscope doctor");
}

int fsc_attach_kernel(struct fsc_session *s, struct fsc_err *err)
{
	size_t n = fsc_targets_count(s->targets);
	FSC_AUTO(fsc_freep) bool *left = calloc(n ? n : 1, sizeof(*left));
	enum fsc_via via = s->opts.via;
	bool multi = via == FSC_VIA_BEST || via == FSC_VIA_MULTI;
	int rc = 0;

	if (!left)
		return fsc_err_nomem(err);
	if (!fsc_session_sites(s->targets, FSC_SITE_KERNEL))
		return 0;
	for (size_t i = 0; i < n; i++)
		left[i] = !multi || !fsc_targets_at(s->targets, i)->at_entry;
	for (int end = 0; multi && !rc && end < FSC_END_MAX; end++)
		rc = attach_kernel_multi(s, (enum fsc_end)end, left, err);
	if (!rc)
		rc = attach_kernel_singly(s, left, err);
	return rc ? rc : check_any_attached(s, err);
}
