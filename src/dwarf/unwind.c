/* Unwinding with libdwfl: it gets the mappings (spaces.c), reads memory out of the sample's copy
 * of the stack, and finds the callers. All samples of a call are worked on in one child process
 * (contain.c), grouped by process, so that the files of each are opened once. The answer comes back
 * as numbers: for each sample whether it is whole (1) or cut (2), how many addresses there are, and
 * these. */
#include "dwarf/unwind.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/contain.h"
#include "dwarf/cfi.h"
#include "elf/image.h"

struct job {
	struct fsc_unwind *u;
	const struct fsc_mapping *maps; /* of the program that the process was then */
	size_t n;
};

struct batch {
	struct fsc_spaces *spaces;
	struct job *jobs; /* by process */
	size_t n;
};

/* One process in the child. */
struct unwinder {
	Dwfl *dwfl;
	struct fsc_vec loaded;	/* struct loaded */
	struct fsc_unwind *job; /* the sample being unwound */
	bool short_of;		/* memory outside of the sample was requested */
	bool cut;		/* and it is a part of the stack */
};

/* A file that libdwfl knows of. It may have several executable mappings. */
struct loaded {
	const struct fsc_space_file *file;
	uint64_t bias;
};

/* ---- what libdwfl asks ---- */

static int no_elf(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		  char **file_name, Elf **elf)
{
	(void)mod, (void)userdata, (void)name, (void)base, (void)file_name, (void)elf;
	return -1; /* each was given with its descriptor */
}

static int no_debug_info(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
			 const char *file_name, const char *link, GElf_Word crc, char **ret)
{
	(void)mod, (void)userdata, (void)name, (void)base, (void)file_name;
	(void)link, (void)crc, (void)ret;
	return -1; /* .eh_frame is in the program itself */
}

static const Dwfl_Callbacks module_callbacks = {.find_elf = no_elf,
						.find_debuginfo = no_debug_info};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return 1;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl, (void)tid;
	*thread_arg = arg;
	return true;
}

/* Whether a word was copied: within the sample, and not on a page that could not be read. */
static bool copied(const struct fsc_unwind_sample *s, Dwarf_Addr addr)
{
	uint64_t first = addr / FSC_UNWIND_PAGE - s->sp / FSC_UNWIND_PAGE;
	uint64_t last = (addr + sizeof(Dwarf_Word) - 1) / FSC_UNWIND_PAGE - s->sp / FSC_UNWIND_PAGE;

	if (addr < s->sp || s->n < sizeof(Dwarf_Word) || addr - s->sp > s->n - sizeof(Dwarf_Word))
		return false;
	return (first > 63 || !(s->missing >> first & 1)) &&
	       (last > 63 || !(s->missing >> last & 1));
}

/* An address far from the stack is a wrong register, not a longer stack. */
static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *ret, void *arg)
{
	enum { FAR = 64 << 20 };
	struct unwinder *u = arg;
	const struct fsc_unwind_sample *s = &u->job->sample;

	(void)dwfl;
	if (!copied(s, addr)) {
		u->short_of = true;
		u->cut |= addr >= s->sp && addr - s->sp < FAR;
		return false;
	}
	memcpy(ret, (const char *)s->stack + (addr - s->sp), sizeof(*ret));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const uint64_t *regs = ((struct unwinder *)arg)->job->sample.regs;

	dwfl_thread_state_register_pc(thread, regs[FSC_UNWIND_PC]);
#ifdef __x86_64__
	return dwfl_thread_state_registers(thread, 0, FSC_UNWIND_PC + 1, regs);
#else
	return dwfl_thread_state_registers(thread, 0, FSC_UNWIND_PC, regs);
#endif
}

static const Dwfl_Thread_Callbacks thread_callbacks = {.next_thread = next_thread,
						       .get_thread = get_thread,
						       .memory_read = read_memory,
						       .set_initial_registers = set_registers};

/* ---- in the child ---- */

static bool is_loaded(const struct unwinder *u, const struct loaded *l)
{
	for (size_t i = 0; i < u->loaded.n; i++) {
		const struct loaded *other = FSC_AT(struct loaded, &u->loaded, i);

		if (other->file == l->file && other->bias == l->bias)
			return true;
	}
	return false;
}

/* Reports one mapping to libdwfl. Unwinding ends in those that it rejects. */
static void report(struct unwinder *u, struct fsc_spaces *spaces, pid_t pid,
		   const struct fsc_mapping *m)
{
	struct loaded l = {0}, *place;
	int fd;

	if (fsc_spaces_file(spaces, pid, m, &l.file, NULL) || !l.file || !l.file->elf ||
	    !fsc_elf_bias(l.file->elf, m->start, m->offset, &l.bias) || is_loaded(u, &l))
		return;
	place = fsc_vec_push(&u->loaded);
	if (place)
		*place = l;
	fd = dup(fsc_elf_image(l.file->elf)->fd);
	if (fd >= 0 && !dwfl_report_elf(u->dwfl, l.file->name, l.file->name, fd, l.bias, true))
		close(fd);
}

static void unwinder_close(struct unwinder *u)
{
	if (u->dwfl)
		dwfl_end(u->dwfl);
	fsc_vec_release(&u->loaded);
	u->dwfl = NULL;
}

static bool unwinder_open(struct unwinder *u, struct fsc_spaces *spaces, const struct job *job)
{
	pid_t pid = job->u->pid;

	u->dwfl = dwfl_begin(&module_callbacks);
	if (!u->dwfl)
		return false;
	dwfl_report_begin(u->dwfl);
	for (size_t i = 0; i < job->n; i++)
		report(u, spaces, pid, &job->maps[i]);
	return !dwfl_report_end(u->dwfl, NULL, NULL) &&
	       dwfl_attach_state(u->dwfl, NULL, pid, &thread_callbacks, u);
}

static int add_frame(Dwfl_Frame *frame, void *arg)
{
	struct fsc_unwind *job = arg;
	Dwarf_Addr pc;

	if (job->n == job->max || !dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	job->addrs[job->n++] = pc;
	return DWARF_CB_OK;
}

/* The first address is known without libdwfl; it is found again as the first frame. */
static void take_first(struct fsc_unwind *job)
{
	job->n = job->max ? 1 : 0;
	job->whole = job->cut = false;
	if (job->max)
		job->addrs[0] = job->sample.regs[FSC_UNWIND_PC];
}

static void unwind(struct unwinder *u, struct fsc_unwind *job)
{
	u->job = job;
	u->short_of = u->cut = false;
	job->n = 0;
	/* libdwfl takes a return address that cannot be read for none at all. */
	job->whole = !dwfl_getthread_frames(u->dwfl, 1, add_frame, job) && !u->short_of;
	if (!job->n)
		take_first(job);
	job->cut = u->cut;
}

static int push_number(struct fsc_vec *out, uint64_t number, struct fsc_err *err)
{
	uint64_t *place = fsc_vec_push(out);

	if (!place)
		return fsc_err_nomem(err);
	*place = number;
	return 0;
}

static bool same_program(const struct job *a, const struct job *b)
{
	return a->u->pid == b->u->pid && a->maps == b->maps;
}

static int push_answer(const struct fsc_unwind *job, Dwfl *dwfl, struct fsc_vec *out,
		       struct fsc_err *err)
{
	int rc = push_number(out, (uint64_t)job->whole | (uint64_t)job->cut << 1, err);

	if (!rc)
		rc = push_number(out, job->n, err);
	for (size_t i = 0; !rc && i < job->n; i++)
		rc = push_number(out, job->addrs[i], err);
	for (size_t i = 0; !rc && job->rules && i < job->n; i++)
		rc = push_number(out, dwfl ? fsc_cfi_rule(dwfl, job->addrs[i], i > 0) : 0, err);
	return rc;
}

/* Inside fsc_contain(). */
static int unwind_in_child(void *arg, struct fsc_vec *out, struct fsc_err *err)
{
	struct batch *b = arg;
	struct unwinder u = {.loaded = FSC_VEC_INIT(struct loaded)};
	bool open = false;
	int rc = 0;

	for (size_t i = 0; !rc && i < b->n; i++) {
		struct fsc_unwind *job = b->jobs[i].u;

		if (!i || !same_program(&b->jobs[i], &b->jobs[i - 1])) {
			unwinder_close(&u);
			open = unwinder_open(&u, b->spaces, &b->jobs[i]);
		}
		if (open)
			unwind(&u, job);
		rc = push_answer(job, open ? u.dwfl : NULL, out, err);
	}
	return rc;
}

/* ---- outside ---- */

static void take_answers(struct batch *b, const struct fsc_vec *out)
{
	const uint64_t *at = out->data, *end = at + out->n;

	for (size_t i = 0; i < b->n && end - at >= 2; i++) {
		struct fsc_unwind *job = b->jobs[i].u;
		uint64_t how = at[0], n = at[1], parts = job->rules ? 2 : 1;

		at += 2;
		if (n > job->max || n * parts > (uint64_t)(end - at))
			return;
		memcpy(job->addrs, at, n * sizeof(*at));
		if (job->rules)
			memcpy(job->rules, at + n, n * sizeof(*at));
		job->n = n;
		job->whole = how & 1;
		job->cut = how & 2;
		at += n * parts;
	}
}

/* The place nearest to the middle where one process's samples end and another's begin; there is
 * one.
 */
static size_t split(const struct batch *b)
{
	size_t half = b->n / 2;

	for (size_t d = 0;; d++) {
		size_t up = half + d, down = half > d ? half - d : 1;

		if (up < b->n && !same_program(&b->jobs[up], &b->jobs[up - 1]))
			return up;
		if (!same_program(&b->jobs[down], &b->jobs[down - 1]))
			return down;
	}
}

/* Unwinds a batch. If its child dies, it is retried in two halves, until the process at fault is
 * isolated. */
static int run_batch(struct batch b, struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec out = FSC_VEC_INIT(uint64_t);
	struct fsc_err why = {0};
	size_t half;
	int rc = fsc_contain(unwind_in_child, &b, "call frame information", &out, &why);

	if (!rc) {
		take_answers(&b, &out);
		return 0;
	}
	if (rc != -EBADMSG) {
		if (err)
			*err = why;
		return rc;
	}
	if (same_program(&b.jobs[0], &b.jobs[b.n - 1])) {
		fsc_log(FSC_LOG_DEBUG, "process %d cannot be unwound: %s", (int)b.jobs[0].u->pid,
			why.msg);
		return 0;
	}
	half = split(&b);
	rc = run_batch((struct batch){b.spaces, b.jobs, half}, err);
	return rc ? rc : run_batch((struct batch){b.spaces, b.jobs + half, b.n - half}, err);
}

static int by_program(const void *va, const void *vb)
{
	const struct job *a = va, *b = vb;

	if (a->u->pid != b->u->pid)
		return a->u->pid > b->u->pid ? 1 : -1;
	return ((uintptr_t)a->maps > (uintptr_t)b->maps) -
	       ((uintptr_t)a->maps < (uintptr_t)b->maps);
}

/* Processes that are not known are read before the mappings of any are pointed to. */
static int read_processes(struct fsc_spaces *spaces, const struct fsc_unwind *all, size_t n,
			  struct fsc_err *err)
{
	for (size_t i = 0; i < n; i++)
		if (!fsc_spaces_known(spaces, all[i].pid) &&
		    fsc_spaces_read(spaces, all[i].pid, NULL) == -ENOMEM)
			return fsc_err_nomem(err);
	return 0;
}

int fsc_unwind(struct fsc_spaces *spaces, struct fsc_unwind *all, size_t n, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) struct job *jobs = calloc(n ? n : 1, sizeof(*jobs));
	int rc;

	if (!jobs)
		return fsc_err_nomem(err);
	rc = read_processes(spaces, all, n, err);
	for (size_t i = 0; !rc && i < n; i++) {
		jobs[i].u = &all[i];
		jobs[i].maps = fsc_spaces_all(spaces, all[i].pid, all[i].time_ns, &jobs[i].n);
		take_first(&all[i]);
	}
	if (rc || !n)
		return rc;
	qsort(jobs, n, sizeof(*jobs), by_program);
	/* Files are opened here: those that the child opens are lost when it exits. */
	for (size_t i = 0; !rc && i < n; i++)
		if (!i || !same_program(&jobs[i], &jobs[i - 1]))
			rc = fsc_spaces_hold(spaces, jobs[i].u->pid, jobs[i].u->time_ns, err);
	return rc ? rc : run_batch((struct batch){spaces, jobs, n}, err);
}
