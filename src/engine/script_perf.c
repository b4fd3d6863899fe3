/* Attaching a script's programs to perf events (timers, software and hardware events, watchpoints)
 * and running its iterators. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "base/cleanup.h"
#include "engine/script_priv.h"

/* Calls fn for each CPU that is online, until it fails. */
static int each_cpu(int (*fn)(int cpu, void *arg, struct fsc_err *err), void *arg,
		    struct fsc_err *err)
{
	FSC_AUTO(fsc_fclosep) FILE *f = fopen("/sys/devices/system/cpu/online", "re");
	int from, to, rc = 0, next = ',';

	if (!f)
		return fsc_err_sys(err, errno, "cannot read which CPUs are online");
	while (!rc && next == ',' && fscanf(f, "%d", &from) == 1) {
		to = from;
		next = getc(f);
		if (next == '-') {
			if (fscanf(f, "%d", &to) != 1)
				break;
			next = getc(f);
		}
		for (int cpu = from; !rc && cpu <= to; cpu++)
			rc = fn(cpu, arg, err);
	}
	return rc;
}

/* The sampler of a point: of timers the CPU's clock. */
static struct fsc_sys_sampler sampler_of(const struct fsc_script *s, const struct fsc_point *pt)
{
	struct fsc_sys_sampler e = {.type = pt->perf_type,
				    .config = pt->perf_config,
				    .period = pt->period,
				    .frequency = pt->frequency,
				    .pid = fsc_script_pid(s, pt)};

	if (pt->kind == FSC_POINT_PROFILE || pt->kind == FSC_POINT_INTERVAL) {
		e.type = PERF_TYPE_SOFTWARE;
		e.config = PERF_COUNT_SW_CPU_CLOCK;
	}
	return e;
}

/* One point on all CPUs. */
struct perf_point {
	struct fsc_script *s;
	const struct fsc_plan_prog *p;
	size_t point;
	struct fsc_sys_sampler e;
	struct fsc_sys_breakpoint w;
	int links, last; /* descriptors so far; the errno of the latest that failed */
};

static int keep_quietly(struct perf_point *pp, int fd, struct fsc_err *err)
{
	if (fd < 0) {
		pp->last = fd;
		return 0;
	}
	pp->links++;
	return fsc_attacher_keep(&pp->s->attacher, fd, fsc_script_number(pp->s, pp->p), err);
}

static int sample_cpu(int cpu, void *arg, struct fsc_err *err)
{
	struct perf_point *pp = arg;

	pp->e.cpu = cpu;
	return keep_quietly(pp,
			    fsc_sys_link_perf(pp->s->fds[fsc_script_number(pp->s, pp->p)],
					      fsc_sys_perf_sampler(&pp->e),
					      pp->p->cookies[pp->point]),
			    err);
}

/* Of an interval one CPU is enough. */
static int sample_first_cpu(int cpu, void *arg, struct fsc_err *err)
{
	struct perf_point *pp = arg;

	return pp->links ? 0 : sample_cpu(cpu, arg, err);
}

/* A point counts once, however many CPUs it is on. */
static int point_done(struct perf_point *pp, struct fsc_err *err)
{
	if (!pp->links)
		return fsc_script_keep(pp->s, pp->p, pp->point, pp->last ? pp->last : -ENODEV, err);
	pp->s->attached++;
	return 0;
}

int fsc_script_attach_perf(struct fsc_script *s, const struct fsc_plan_prog *p, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < p->n_points; i++) {
		struct perf_point pp = {
		    .s = s, .p = p, .point = i, .e = sampler_of(s, p->points[i])};

		if (p->kind == FSC_POINT_INTERVAL)
			pp.e.pid = 0; /* it is no process's */
		rc = each_cpu(p->kind == FSC_POINT_INTERVAL ? sample_first_cpu : sample_cpu, &pp,
			      err);
		if (!rc)
			rc = point_done(&pp, err);
	}
	return rc;
}

/* ---- watchpoints ---- */

static int watch_cpu(int cpu, void *arg, struct fsc_err *err)
{
	struct perf_point *pp = arg;
	int fd;

	pp->w.cpu = cpu;
	fd = fsc_sys_link_perf(pp->s->fds[fsc_script_number(pp->s, pp->p)],
			       fsc_sys_perf_breakpoint(&pp->w), pp->p->cookies[pp->point]);
	if (fd < 0) {
		pp->last = fd;
		return 0;
	}
	pp->links++;
	return fsc_attacher_keep(&pp->s->attacher, fd, pp->s->next_tag, err);
}

static int watch_point(struct perf_point *pp, struct fsc_err *err)
{
	const struct fsc_script_watch watch = {pp->w.address, ++pp->s->next_tag};
	int rc = fsc_vec_add(&pp->s->watches, &watch, err);

	if (!rc)
		rc = pp->w.pid ? watch_cpu(-1, pp, err) : each_cpu(watch_cpu, pp, err);
	return rc;
}

static struct fsc_sys_breakpoint breakpoint_of(const struct fsc_script *s,
					       const struct fsc_point *pt)
{
	return (struct fsc_sys_breakpoint){.address = pt->address,
					   .length = pt->length,
					   .access = pt->access,
					   .pid = fsc_script_pid(s, pt)};
}

/* Those at an address that a function's argument will give are set when it is called. */
int fsc_script_attach_watch(struct fsc_script *s, const struct fsc_plan_prog *p,
			    struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < p->n_points; i++) {
		struct perf_point pp = {
		    .s = s, .p = p, .point = i, .w = breakpoint_of(s, p->points[i])};

		if (p->points[i]->watch_arg >= 0 && p->points[i]->func) {
			s->attached++;
			continue;
		}
		rc = watch_point(&pp, err);
		if (!rc)
			rc = point_done(&pp, err);
	}
	return rc;
}

static bool is_watch(enum fsc_point_kind kind)
{
	return kind == FSC_POINT_WATCHPOINT || kind == FSC_POINT_ASYNCWATCHPOINT;
}

static bool is_watched(const struct fsc_script *s, uint64_t address)
{
	for (size_t i = 0; i < s->watches.n; i++)
		if (FSC_AT(struct fsc_script_watch, &s->watches, i)->address == address)
			return true;
	return false;
}

int fsc_script_watch(struct fsc_script *s, uint32_t probe, uint64_t address, pid_t pid,
		     struct fsc_err *err)
{
	for (size_t i = 0; i < s->plan->n_progs; i++) {
		const struct fsc_plan_prog *p = &s->plan->progs[i];
		struct perf_point pp = {.s = s, .p = p};
		int rc;

		if (p->probe != probe || !is_watch(p->kind) || is_watched(s, address))
			continue;
		pp.w = breakpoint_of(s, p->points[0]);
		pp.w.address = address;
		pp.w.pid = pid;
		rc = watch_point(&pp, err);
		if (rc || pp.links)
			return rc;
		return fsc_err_sys(err, -pp.last, "cannot watch the memory at 0x%llx for %s",
				   (unsigned long long)address, p->title);
	}
	return 0;
}

void fsc_script_unwatch(struct fsc_script *s, uint64_t address)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->watches.n; i++) {
		struct fsc_script_watch *w = FSC_AT(struct fsc_script_watch, &s->watches, i);

		if (w->address == address)
			fsc_attacher_drop(&s->attacher, w->tag);
		else
			*FSC_AT(struct fsc_script_watch, &s->watches, kept++) = *w;
	}
	s->watches.n = kept;
}

/* ---- iterators ---- */

int fsc_script_attach_iter(struct fsc_script *s, const struct fsc_plan_prog *p, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < p->n_points; i++) {
		const struct fsc_script_variant v = {.type = BPF_PROG_TYPE_TRACING,
						     .attach_type = BPF_TRACE_ITER,
						     .btf_id = p->points[i]->btf_id,
						     .btf_fd = p->points[i]->btf_fd};
		FSC_AUTO(fsc_closep) int link = -1;
		int prog = fsc_script_own_prog(s, p, &v, err), iter;

		if (prog < 0)
			return prog;
		link = fsc_sys_link_iter(prog);
		if (link >= 0) {
			iter = fsc_sys_open_iter(link);
			if (iter >= 0)
				rc = fsc_vec_add(&s->iters, &iter, err);
			if (iter < 0)
				rc = fsc_script_keep(s, p, i, iter, err);
		}
		if (!rc)
			rc = fsc_script_keep(s, p, i, link < 0 ? link : fsc_take_fd(&link), err);
	}
	return rc;
}

int fsc_script_iterate(struct fsc_script *s, struct fsc_err *err)
{
	char text[4096];

	for (size_t i = 0; i < s->iters.n; i++) {
		int fd = *FSC_AT(int, &s->iters, i);
		ssize_t n;

		while ((n = read(fd, text, sizeof(text))) > 0)
			; /* what it says, it says through the ring */
		if (n < 0 && errno != EAGAIN)
			return fsc_err_sys(err, errno, "cannot read an iterator");
	}
	return 0;
}
