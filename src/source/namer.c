/* Address spaces, updated from perf's records and /proc, and a symbolizer on top. */
#include "source/namer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "engine/mmaps.h"

struct fsc_namer {
	struct fsc_mmaps *mmaps; /* NULL: only /proc */
	struct fsc_spaces *spaces;
	struct fsc_symbolizer *symbolizer;
};

void fsc_namer_free(struct fsc_namer *n)
{
	if (!n)
		return;
	if (n->mmaps && fsc_mmaps_lost(n->mmaps))
		fsc_log(FSC_LOG_WARN, "%llu mapping events were lost: frames may have no names",
			(unsigned long long)fsc_mmaps_lost(n->mmaps));
	fsc_symbolizer_free(n->symbolizer);
	fsc_spaces_free(n->spaces);
	fsc_mmaps_free(n->mmaps);
	free(n);
}

static void fsc_namer_freep(struct fsc_namer **n)
{
	fsc_namer_free(*n);
}

/* A process that has exited, or that we may not read, has no names; that is no failure. */
int fsc_namer_add_process(struct fsc_namer *n, pid_t pid, struct fsc_err *err)
{
	int rc = fsc_spaces_read(n->spaces, pid, err);

	if (!rc)
		rc = fsc_spaces_hold(n->spaces, pid, 0, err);
	return rc == -ENOMEM ? rc : 0;
}

int fsc_namer_new(const struct fsc_namer_opts *o, struct fsc_namer **ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_namer_freep) struct fsc_namer *n = calloc(1, sizeof(*n));
	struct fsc_symbolizer_opts opts = {.dwarf = o->inlined};
	struct fsc_err why = {0};
	int rc;

	if (!n)
		return fsc_err_nomem(err);
	rc = fsc_spaces_new(o->max_processes, &n->spaces, err);
	if (!rc)
		rc = fsc_symbolizer_new(n->spaces, &opts, &n->symbolizer, err);
	if (rc)
		return rc;
	if (!o->external_events && fsc_mmaps_open(&n->mmaps, &why))
		fsc_log(FSC_LOG_DEBUG, "%s; frames of short-lived processes have no names",
			why.msg);
	for (size_t i = 0; !rc && i < o->n_pids; i++)
		rc = fsc_namer_add_process(n, o->pids[i], err);
	if (!rc)
		*ret = fsc_take(&n);
	return rc;
}

static int on_mmap(void *arg, pid_t pid, uint64_t start, uint64_t len, uint64_t offset, dev_t dev,
		   ino_t ino, const char *path, struct fsc_err *err)
{
	return fsc_spaces_mmap(arg, pid, start, len, offset, dev, ino, path, err);
}

static int on_fork(void *arg, pid_t parent, pid_t child, struct fsc_err *err)
{
	return fsc_spaces_fork(arg, parent, child, err);
}

static int on_exec(void *arg, pid_t pid, const char *comm, struct fsc_err *err)
{
	(void)comm;
	return fsc_spaces_exec(arg, pid, err);
}

static void on_time(void *arg, uint64_t time_ns)
{
	fsc_spaces_at(arg, time_ns);
}

static void on_exit_of(void *arg, pid_t pid)
{
	fsc_spaces_exit(arg, pid);
}

static int on_new_pid(pid_t pid, void *arg)
{
	return fsc_namer_add_process(arg, pid, NULL);
}

struct fsc_mmaps_to fsc_namer_callbacks(struct fsc_namer *n)
{
	return (struct fsc_mmaps_to){.arg = n->spaces,
				     .mmap = on_mmap,
				     .fork = on_fork,
				     .exec = on_exec,
				     .exit = on_exit_of,
				     .at = on_time};
}

int fsc_namer_tick(struct fsc_namer *n, struct fsc_session *session, struct fsc_err *err)
{
	const struct fsc_mmaps_to to = fsc_namer_callbacks(n);
	/* In this order: what /proc shows of a process that has run exec is not of the program
	 * before. */
	int rc = n->mmaps ? fsc_mmaps_read(n->mmaps, &to, err) : 0;

	return rc || !session ? rc : fsc_session_new_pids(session, on_new_pid, n, err);
}

/* The kernel includes the caller only if the function begins with a push that it recognises. */
static void insert_caller(struct fsc_addrs *a, uint64_t caller)
{
	if (!caller || !a->n || (a->n > 1 && a->at[1] == caller))
		return;
	memmove(&a->at[2], &a->at[1], (a->n - 1) * sizeof(a->at[0]));
	a->at[1] = caller;
	a->n++;
}

void fsc_namer_stack(const struct fsc_session *session, int32_t id, bool kernel, pid_t pid,
		     uint64_t caller, struct fsc_addrs *ret)
{
	ret->pid = pid;
	ret->kernel = kernel;
	ret->returned = false;
	ret->time_ns = 0;
	ret->n = fsc_session_stack(session, id, ret->at, FSC_STACK_DEPTH);
	insert_caller(ret, caller);
}

static struct fsc_address address_at(const struct fsc_addrs *a, size_t i)
{
	return (struct fsc_address){.addr = a->at[i],
				    .pid = a->pid,
				    .time_ns = a->time_ns,
				    .kernel = a->kernel,
				    .is_return = i || a->returned};
}

int fsc_namer_want(struct fsc_namer *n, const struct fsc_addrs *a, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < a->n; i++) {
		struct fsc_address at = address_at(a, i);

		rc = fsc_symbolizer_want(n->symbolizer, &at, err);
	}
	return rc;
}

int fsc_namer_resolve(struct fsc_namer *n, struct fsc_err *err)
{
	return fsc_symbolizer_resolve(n->symbolizer, err);
}

/* Frames between a probed place in the kernel and our program: the program itself and its callers.
 */
static bool is_machinery(const struct fsc_frame *f)
{
	static const char *const begin[] = {
	    "bpf_prog_",       "bpf_trampoline_", "bpf_trace_run", "__bpf_trace_", "__traceiter_",
	    "bpf_get_stackid", "trace_call_bpf",  "perf_trace_",   "kprobe_",	   "fprobe_",
	    "arch_rethook_",   "rethook_",	  "ftrace_",	   "__bpf_prog_",  "perf_syscall_"};

	if (!f->kernel)
		return false;
	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (!strncmp(f->name, begin[i], strlen(begin[i])))
			return true;
	return f->unknown;
}

int fsc_namer_frames(struct fsc_namer *n, const struct fsc_addrs *a,
		     int (*fn)(const struct fsc_frame *f, void *arg, struct fsc_err *err),
		     void *arg, struct fsc_err *err)
{
	bool inside = a->kernel; /* still in the machinery */
	int rc = 0;

	for (size_t i = 0; !rc && i < a->n; i++) {
		struct fsc_address at = address_at(a, i);
		const struct fsc_frame *frames;
		size_t count;

		rc = fsc_symbolizer_frames(n->symbolizer, &at, &frames, &count, err);
		inside = inside && !rc && is_machinery(&frames[0]);
		for (size_t k = 0; !rc && !inside && k < count; k++)
			rc = fn(&frames[k], arg, err);
	}
	return rc;
}

int fsc_namer_at(struct fsc_namer *n, const struct fsc_address *a, const struct fsc_frame **ret,
		 size_t *ret_n, struct fsc_err *err)
{
	return fsc_symbolizer_frames(n->symbolizer, a, ret, ret_n, err);
}

struct fsc_spaces *fsc_namer_spaces(struct fsc_namer *n)
{
	return n->spaces;
}
