/* Probes on CUDA calls: putting them on, taking them off, and what a hit of one costs. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "engine/gpu_priv.h"
#include "engine/privilege.h"
#include "engine/self.h"
#include "engine/sys.h"

static int keep(struct fsc_gpu_session *s, int fd, uint32_t tag, struct fsc_err *err)
{
	struct fsc_gpu_link *l = fsc_vec_push(&s->links);

	if (!l) {
		close(fd);
		return fsc_err_nomem(err);
	}
	*l = (struct fsc_gpu_link){.fd = fd, .tag = tag};
	return 0;
}

/* One end of some places; a descriptor, or -errno. */
static int link_places(struct fsc_gpu_session *s, const struct fsc_sys_uprobes *u)
{
	FSC_AUTO(fsc_closep) int perf = -1;

	if (s->multi)
		return fsc_sys_link_uprobes(fsc_gpu_prog(s, u->ret), u);
	if (u->n != 1)
		return -E2BIG;
	perf = fsc_sys_perf_uprobe(u->path, u->offsets[0], 0, u->ret, u->pid);
	return perf < 0 ? perf : fsc_sys_link_perf(fsc_gpu_prog(s, u->ret), perf, u->cookies[0]);
}

/* The places of one tag, as the arrays that the kernel wants. */
struct batch {
	struct fsc_gpu_place *places;
	size_t *of; /* in places */
	uint64_t *offsets, *cookies;
	size_t n;
};

/* Links [first, first + n) at one end; what is refused is found by halving. */
static int link_some(struct fsc_gpu_session *s, const char *path, const struct batch *b,
		     size_t first, size_t n, bool ret, struct fsc_err *err)
{
	struct fsc_sys_uprobes u = {.path = path,
				    .offsets = b->offsets + first,
				    .cookies = b->cookies + first,
				    .n = (uint32_t)n,
				    .ret = ret};
	int fd, rc;

	if (!n)
		return 0;
	fd = link_places(s, &u);
	if (fd >= 0)
		return keep(s, fd, b->places[b->of[first]].tag, err);
	if (fd == -EPERM || fd == -EACCES)
		return fsc_privilege_err(err, -fd, "put probes on %s", path);
	if (n == 1) {
		b->places[b->of[first]].refused = -fd;
		return 0;
	}
	rc = link_some(s, path, b, first, n / 2, ret, err);
	return rc ? rc : link_some(s, path, b, first + n / 2, n - n / 2, ret, err);
}

static int link_tag(struct fsc_gpu_session *s, const char *path, uint32_t file, size_t n,
		    uint32_t tag, bool ret, struct batch *b, struct fsc_err *err)
{
	const struct fsc_gpu_place *places = b->places;

	b->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (places[i].tag != tag || (ret && !places[i].ret) || places[i].refused)
			continue;
		b->of[b->n] = i;
		b->offsets[b->n] = places[i].offset;
		b->cookies[b->n++] = FSC_GPU_COOKIE(places[i].call, file);
	}
	return link_some(s, path, b, 0, b->n, ret, err);
}

/* Returns first: a call whose entry is seen finds its return already watched. */
int fsc_gpu_session_attach(struct fsc_gpu_session *s, const char *path, uint32_t file,
			   struct fsc_gpu_place *places, size_t n, struct fsc_err *err)
{
	struct batch b = {.places = places,
			  .of = calloc(n + 1, sizeof(*b.of)),
			  .offsets = calloc(n + 1, sizeof(*b.offsets)),
			  .cookies = calloc(n + 1, sizeof(*b.cookies))};
	uint32_t last = 0;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		last = places[i].tag > last ? places[i].tag : last;
	if (!b.of || !b.offsets || !b.cookies)
		rc = fsc_err_nomem(err);
	else
		for (uint32_t tag = 0; !rc && tag <= last; tag++) {
			rc = link_tag(s, path, file, n, tag, true, &b, err);
			if (!rc)
				rc = link_tag(s, path, file, n, tag, false, &b, err);
		}
	free(b.of);
	free(b.offsets);
	free(b.cookies);
	return rc;
}

void fsc_gpu_session_drop(struct fsc_gpu_session *s, uint32_t tag)
{
	size_t left = 0;

	for (size_t i = 0; i < s->links.n; i++) {
		struct fsc_gpu_link *l = FSC_AT(struct fsc_gpu_link, &s->links, i);

		if (l->tag == tag)
			close(l->fd);
		else
			*FSC_AT(struct fsc_gpu_link, &s->links, left++) = *l;
	}
	s->links.n = left;
}

void fsc_gpu_session_detach(struct fsc_gpu_session *s)
{
	for (size_t i = 0; i < s->links.n; i++)
		close(FSC_AT(struct fsc_gpu_link, &s->links, i)->fd);
	s->links.n = 0;
}

/* ---- cost ---- */

enum { ROUNDS = 5, HITS = 64 };

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* ns of CPU time per call. */
static double time_calls(void (*fn)(void))
{
	double rounds[ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		uint64_t start = fsc_clock_ns(CLOCK_THREAD_CPUTIME_ID);

		for (int i = 0; i < HITS; i++)
			fn();
		rounds[r] = (double)(fsc_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / HITS;
	}
	qsort(rounds, ROUNDS, sizeof(rounds[0]), compare);
	return rounds[ROUNDS / 2];
}

static int cost_of(struct fsc_gpu_session *s, void (*fn)(void), uint32_t call, bool both,
		   double *ret, struct fsc_err *err)
{
	uint64_t cookie = FSC_GPU_COOKIE(call, 0), offset;
	struct fsc_sys_uprobes u = {
	    .path = FSC_SELF_PATH, .offsets = &offset, .cookies = &cookie, .n = 1, .pid = getpid()};
	FSC_AUTO(fsc_closep) int leave = -1;
	FSC_AUTO(fsc_closep) int entry = -1;
	double bare = time_calls(fn);
	int rc = fsc_self_offset(fn, &offset, err);

	if (rc)
		return rc;
	u.ret = true;
	leave = both ? link_places(s, &u) : -1;
	u.ret = false;
	entry = link_places(s, &u);
	if (entry < 0 || (both && leave < 0))
		return fsc_err_sys(err, entry < 0 ? -entry : -leave,
				   "cannot probe funcscope itself");
	*ret = time_calls(fn) - bare;
	if (*ret < 0)
		*ret = 0;
	return 0;
}

int fsc_gpu_session_cost(struct fsc_gpu_session *s, double *ret_entry, double *ret_both,
			 struct fsc_err *err)
{
	int rc = cost_of(s, fsc_self_ordinary, FSC_GPU_CALIBRATE, false, ret_entry, err);

	return rc ? rc
		  : cost_of(s, fsc_self_ordinary_ret, FSC_GPU_CALIBRATE + 1, true, ret_both, err);
}
