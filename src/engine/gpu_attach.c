/* Probes on CUDA calls: how they are batched into links, and what a hit costs. */
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/calibrate.h"
#include "engine/gpu_priv.h"
#include "engine/patched.h"
#include "engine/privilege.h"
#include "engine/self.h"

static int link_gpu_end(const struct fsc_gpu_session *s, bool ret, struct fsc_sys_uprobes *u)
{
	u->ret = ret;
	return s->multi ? fsc_sys_link_uprobes(fsc_gpu_prog(s, ret), u)
			: fsc_sys_link_uprobe(fsc_gpu_prog(s, ret), u);
}

/* The places of a file, at one end. */
struct gpu_end {
	struct fsc_gpu_session *s;
	uint32_t file;
	struct fsc_gpu_place *places;
	size_t n;
	bool ret;
};

static int link_gpu_places(const struct fsc_batch *b, size_t first, size_t n)
{
	const struct gpu_end *e = b->arg;
	struct fsc_sys_uprobes u = fsc_batch_uprobes(b, first, n);

	return link_gpu_end(e->s, e->ret, &u);
}

static int refuse_gpu_place(const struct fsc_batch *b, size_t i, int code, struct fsc_err *err)
{
	const struct gpu_end *e = b->arg;

	if (code == EPERM || code == EACCES)
		return fsc_privilege_err(err, code, "put probes on %s", b->path);
	e->places[b->ids[i]].refused = code;
	return 0;
}

static int attach_tag(const struct gpu_end *e, struct fsc_batch *b, uint32_t tag,
		      struct fsc_err *err)
{
	b->n = 0;
	for (size_t i = 0; i < e->n; i++) {
		const struct fsc_gpu_place *p = &e->places[i];

		if (p->tag != tag || (e->ret && !p->ret) || p->refused)
			continue;
		b->ids[b->n] = i;
		b->tags[b->n] = tag;
		b->where[b->n] = p->offset;
		b->cookies[b->n++] = FSC_GPU_COOKIE(p->call, e->file);
	}
	return fsc_attacher_link(&e->s->attacher, b, err);
}

static int found_patched(size_t id, pid_t pid, void *arg, struct fsc_err *err)
{
	struct fsc_gpu_place *places = arg;

	(void)err;
	places[id].refused = EADDRNOTAVAIL;
	places[id].patched_by = pid;
	return 0;
}

static int refuse_patched(const char *path, struct fsc_gpu_place *places, size_t n,
			  struct fsc_err *err)
{
	FSC_AUTO(fsc_patched_release) struct fsc_patched p;
	int rc;

	fsc_patched_init(&p);
	rc = fsc_patched_file(&p, path, err);
	for (size_t i = 0; !rc && i < n; i++)
		rc = fsc_patched_place(&p, places[i].offset, i, err);
	return rc ? rc : fsc_patched_find(&p, NULL, 0, found_patched, places, err);
}

/* Returns first: once a call's entry is seen, its return is already probed. */
int fsc_gpu_session_attach(struct fsc_gpu_session *s, const char *path, uint32_t file,
			   struct fsc_gpu_place *places, size_t n, struct fsc_err *err)
{
	struct gpu_end e = {.s = s, .file = file, .places = places, .n = n};
	struct fsc_batch b = {.path = path,
			      .singly = !s->multi,
			      .link = link_gpu_places,
			      .refuse = refuse_gpu_place,
			      .arg = &e};
	uint32_t last = 0;
	int rc = refuse_patched(path, places, n, err);

	if (!rc)
		rc = fsc_batch_init(&b, n, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		last = places[i].tag > last ? places[i].tag : last;
	for (uint32_t tag = 0; tag <= last; tag++)
		for (int ret = 1; !rc && ret >= 0; ret--) {
			e.ret = ret;
			rc = attach_tag(&e, &b, tag, err);
		}
	fsc_batch_release(&b);
	return rc;
}

void fsc_gpu_session_drop(struct fsc_gpu_session *s, uint32_t tag)
{
	fsc_attacher_drop(&s->attacher, tag);
}

void fsc_gpu_session_detach(struct fsc_gpu_session *s)
{
	fsc_attacher_drop(&s->attacher, FSC_TAG_ALL);
}

/* ---- cost ---- */

struct gpu_trial {
	struct fsc_gpu_session *s;
	void (*fn)(void);
	uint32_t call;
	bool both;
};

static int link_gpu_trial(void *arg, struct fsc_err *err)
{
	const struct gpu_trial *t = arg;
	uint64_t cookie = FSC_GPU_COOKIE(t->call, 0), offset;
	struct fsc_sys_uprobes u = {
	    .path = FSC_SELF_PATH, .offsets = &offset, .cookies = &cookie, .n = 1, .pid = getpid()};
	int rc = fsc_self_offset(t->fn, &offset, err);

	for (int ret = t->both; !rc && ret >= 0; ret--) {
		int fd = link_gpu_end(t->s, ret, &u);

		if (fd < 0)
			return fsc_err_sys(err, -fd, "cannot probe funcscope itself");
		rc = fsc_attacher_keep(&t->s->attacher, fd, FSC_TAG_CALIBRATION, err);
	}
	return rc;
}

static int measure_gpu_call(struct gpu_trial *t, double *ret, struct fsc_err *err)
{
	struct fsc_hitcost h = {.fn = t->fn, .link = link_gpu_trial, .arg = t};
	struct fsc_cost_ns ns;
	int rc = fsc_hitcost_measure(&h, &ns, err);

	if (!rc)
		*ret = ns.outer > 0 ? ns.outer : 0;
	return rc;
}

int fsc_gpu_session_cost(struct fsc_gpu_session *s, double *ret_entry, double *ret_both,
			 struct fsc_err *err)
{
	struct gpu_trial entry = {s, fsc_self_ordinary, FSC_GPU_CALIBRATE, false};
	struct gpu_trial both = {s, fsc_self_ordinary_ret, FSC_GPU_CALIBRATE + 1, true};
	int rc = measure_gpu_call(&entry, ret_entry, err);

	if (!rc)
		rc = measure_gpu_call(&both, ret_both, err);
	fsc_attacher_drop(&s->attacher, FSC_TAG_CALIBRATION);
	return rc;
}
