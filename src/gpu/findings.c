/* Findings, in words: rules over the totals, one function each. */
#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/fmt.h"
#include "gpu/books_priv.h"

__attribute__((format(printf, 3, 4))) static int
add_finding(struct fsc_gpu_books *b, struct fsc_err *err, const char *fmt, ...)
{
	char **slot = fsc_vec_push(&b->findings);
	va_list ap;
	int n;

	if (!slot)
		return fsc_err_nomem(err);
	va_start(ap, fmt);
	n = vasprintf(slot, fmt, ap);
	va_end(ap);
	if (n >= 0)
		return 0;
	b->findings.n--;
	return fsc_err_nomem(err);
}

static double active_s(const struct fsc_gpu_process_row *p)
{
	return p->last_ns > p->first_ns ? (double)(p->last_ns - p->first_ns) / 1e9 : 0;
}

enum { FEW = 1000 }; /* launches needed for a conclusion */

/* Many launches and hardly any waiting for the GPU: the CPU is the bottleneck. */
static int find_launch_bound(struct fsc_gpu_books *b, const struct fsc_gpu_process_row *p,
			     struct fsc_err *err)
{
	double s = active_s(p), waited = s > 0 ? (double)p->sync_ns / 1e9 / s : 0;

	if (p->launches < FEW || s <= 0 || waited > 0.05 || (double)p->launches / s < 2000)
		return 0;
	return add_finding(
	    b, err,
	    "process %u (%s) is launch-bound: %.0f launches per second, and only %.1f %% of the "
	    "time spent waiting for the GPU; fewer, larger kernels or CUDA graphs would help",
	    p->pid, p->comm, (double)p->launches / s, waited * 100);
}

static int find_sync_bound(struct fsc_gpu_books *b, const struct fsc_gpu_process_row *p,
			   struct fsc_err *err)
{
	double s = active_s(p), waited = s > 0 ? (double)p->sync_ns / 1e9 / s : 0;

	if (p->syncs < 10 || waited < 0.3)
		return 0;
	return add_finding(b, err,
			   "process %u (%s) waits for the GPU %.0f %% of the time, in %llu "
			   "synchronisations; the waits above say from where",
			   p->pid, p->comm, waited * 100, (unsigned long long)p->syncs);
}

static int find_churn(struct fsc_gpu_books *b, const struct fsc_gpu_process_row *p,
		      struct fsc_err *err)
{
	double s = active_s(p);

	if (p->allocs < 100 || p->frees < p->allocs / 2 || s <= 0 || (double)p->allocs / s < 100 ||
	    p->allocs * 20 < p->launches)
		return 0;
	return add_finding(
	    b, err,
	    "process %u (%s) allocates and frees in its loop: %llu allocations, %llu frees, "
	    "%.0f allocations per second; each may stall the GPU, a memory pool would not",
	    p->pid, p->comm, (unsigned long long)p->allocs, (unsigned long long)p->frees,
	    (double)p->allocs / s);
}

static int find_pageable(struct fsc_gpu_books *b, struct fsc_err *err)
{
	if (!b->pageable_async)
		return 0;
	return add_finding(
	    b, err,
	    "%llu asynchronous copies from or to pageable host memory, which block like "
	    "synchronous ones; use pinned memory (cudaHostAlloc, pin_memory=True)",
	    (unsigned long long)b->pageable_async);
}

static int find_retries(struct fsc_gpu_books *b, struct fsc_err *err)
{
	if (!b->retries)
		return 0;
	return add_finding(
	    b, err,
	    "%llu allocation%s failed for lack of memory and succeeded after other memory "
	    "was freed: a slow path that hides how full the GPU is",
	    (unsigned long long)b->retries, b->retries == 1 ? "" : "s");
}

static int find_forgotten(struct fsc_gpu_books *b, struct fsc_err *err)
{
	if (!b->lost)
		return 0;
	return add_finding(
	    b, err,
	    "%llu allocations could not be recorded: live memory and leaks are reported "
	    "without them",
	    (unsigned long long)b->lost);
}

int fsc_gpu_findings(struct fsc_gpu_books *b, struct fsc_err *err)
{
	int rc = 0;

	fsc_vec_release_owned(&b->findings);
	for (size_t i = 0; !rc && i < b->processes.n; i++) {
		const struct fsc_gpu_process_row *p =
		    FSC_AT(struct fsc_gpu_process_row, &b->processes, i);

		rc = find_launch_bound(b, p, err);
		if (!rc)
			rc = find_sync_bound(b, p, err);
		if (!rc)
			rc = find_churn(b, p, err);
	}
	if (!rc)
		rc = find_pageable(b, err);
	if (!rc)
		rc = find_retries(b, err);
	return rc ? rc : find_forgotten(b, err);
}
