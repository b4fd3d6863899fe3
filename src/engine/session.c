/* The lifecycle of a session: open, configure, size the maps, load, attach, read, detach. */
#include "engine/session_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "engine/descriptors.h"
#include "engine/features.h"
#include "engine/kernel.h"
#include "engine/patched.h"
#include "engine/privilege.h"
#include "engine/sys.h"
#include "func_snoop.skel.h"

/* On the lowest rungs: a descriptor for each probe in each process, and one for its program. */
static size_t most_descriptors(const struct fsc_session *s)
{
	enum { OTHERS = 1024 };
	size_t probes = 0, n = fsc_targets_count(s->targets);

	for (size_t i = 0; i < n; i++)
		probes += 2 + fsc_targets_at(s->targets, i)->n_exits;
	return 2 * probes * (s->opts.n_pids ? s->opts.n_pids : 1) + OTHERS;
}

/* For -v: libbpf's messages; of a verifier's log only the end, which has the reason. */
static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	enum { SHOWN = 2000 };
	FSC_AUTO(fsc_freep) char *text = NULL;
	char *line, *rest;
	int n;

	if (level == LIBBPF_DEBUG)
		return 0;
	n = vasprintf(&text, fmt, ap);
	if (n < 0) {
		text = NULL;
		return 0;
	}
	rest = n > SHOWN ? text + n - SHOWN : text;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			fsc_log(FSC_LOG_DEBUG, "%s", line);
	return 0;
}

void fsc_session_log_libbpf(void)
{
	libbpf_set_print(print_libbpf);
}

static int load_skeleton(struct fsc_session *s, struct fsc_err *err)
{
	int rc;

	func_snoop_bpf__destroy(s->skel);
	s->skel = fsc_objects_open(s->opts.mode);
	if (!s->skel)
		return fsc_err_sys(err, errno, "cannot open funcscope's BPF programs");
	rc = fsc_configure(s, err);
	if (!rc)
		rc = fsc_programs_choose(s, err);
	return rc ? rc : fsc_programs_load(s, err);
}

int fsc_session_possible(struct fsc_err *err)
{
	enum { LEAST = 8 }; /* with fewer, the trials of kernel features would fail */
	const char *why;
	struct utsname u;
	int rc;

	if (fsc_descriptors_left() < LEAST)
		return fsc_descriptors_err(err, "BPF programs");
	rc = fsc_feature_try(FSC_FEATURE_BPF, &why);
	if (rc == -EPERM || rc == -EACCES)
		return fsc_privilege_err(err, -rc, "load a BPF program");
	if (rc)
		return fsc_err_set(err, -rc,
				   "this kernel does not let this user run BPF programs (%s)", why);
	if (!fsc_kernel_has_cookies())
		return fsc_kernel_too_old(uname(&u) ? "?" : u.release, err);
	return 0;
}

static int open_session(struct fsc_session *s, struct fsc_err *err)
{
	int rc = fsc_session_possible(err);

	if (rc)
		return rc;
	fsc_descriptors_raise(most_descriptors(s));
	/* Retried without what the kernel refuses: first without sessions, then without task
	 * storage. */
	for (;;) {
		rc = load_skeleton(s, err);
		if (rc == -EAGAIN)
			continue;
		if (!rc || rc == -EMFILE || !s->pairs || s->cfg.keep == FSC_KEEP_HASH)
			return rc;
		fsc_log(FSC_LOG_DEBUG, "calls in progress are stored by thread ID: %s", err->msg);
		s->opts.keep = FSC_KEEP_HASH;
		s->no_session = false;
		*err = (struct fsc_err){0};
	}
}

/* Rows may be attached again long after the caller has freed its list. */
static int copy_ids(struct fsc_session *s, struct fsc_err *err)
{
	const size_t n_pids = s->opts.n_pids, n_tids = s->opts.n_tids;

	s->ids = calloc(n_pids + n_tids + 1, sizeof(*s->ids));
	if (!s->ids)
		return fsc_err_nomem(err);
	if (n_pids)
		memcpy(s->ids, s->opts.pids, n_pids * sizeof(*s->ids));
	if (n_tids)
		memcpy(s->ids + n_pids, s->opts.tids, n_tids * sizeof(*s->ids));
	s->opts.pids = s->ids;
	s->opts.tids = s->ids + n_pids;
	return 0;
}

static struct fsc_session *new_session(struct fsc_targets *targets,
				       const struct fsc_session_opts *opts)
{
	struct fsc_session *s = calloc(1, sizeof(*s));

	fsc_session_log_libbpf();
	if (!s)
		return NULL;
	s->targets = targets;
	s->opts = *opts;
	s->n_cpus = (uint32_t)libbpf_num_possible_cpus();
	s->pairs = opts->mode == FSC_MODE_TIME || opts->weigh || opts->pairs;
	s->user_session = s->kernel_session = -1;
	s->unusable = calloc(fsc_targets_count(targets) + 1, sizeof(*s->unusable));
	fsc_attacher_init(&s->attacher);
	s->own_ring_fd = -1;
	s->copies.copies = s->copies.rules = -1;
	s->copies.fds = FSC_VEC_INIT(int);
	s->retired = FSC_VEC_INIT(struct fsc_retired);
	s->programs = FSC_VEC_INIT(int);
	s->refused = FSC_VEC_INIT(struct fsc_refused);
	if (!s->unusable)
		fsc_session_freep(&s);
	return s;
}

int fsc_session_open(struct fsc_targets *targets, const struct fsc_session_opts *opts,
		     struct fsc_session **ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_session_freep) struct fsc_session *s = new_session(targets, opts);
	int rc;

	if (!s)
		return fsc_err_nomem(err);
	rc = copy_ids(s, err);
	if (!rc && opts->max_rows) {
		s->rows_used = calloc(opts->max_rows, sizeof(*s->rows_used));
		rc = s->rows_used ? 0 : fsc_err_nomem(err);
	}
	if (!rc)
		rc = open_session(s, err);
	if (rc)
		return rc;
	*ret = fsc_take(&s);
	return 0;
}

/* ---- parts ---- */

/* The first of n free rows in a row. */
static bool take_rows(struct fsc_session *s, size_t n, uint32_t *ret)
{
	size_t room = 0;

	for (uint32_t row = 0; n && row < s->opts.max_rows; row++) {
		room = s->rows_used[row] ? 0 : room + 1;
		if (room < n)
			continue;
		*ret = row + 1 - (uint32_t)n;
		memset(s->rows_used + *ret, 1, n);
		return true;
	}
	return false;
}

int fsc_session_open_part(struct fsc_session *of, struct fsc_targets *targets,
			  const struct fsc_part_opts *part, struct fsc_session **ret,
			  struct fsc_err *err)
{
	struct fsc_session_opts opts = of->opts;
	FSC_AUTO(fsc_session_freep) struct fsc_session *s = NULL;
	int rc;

	opts.pids = part->pids;
	opts.n_pids = part->n_pids;
	opts.per_row = part->per_row;
	opts.fast_uprobes = part->fast_uprobes;
	s = new_session(targets, &opts);
	rc = s ? copy_ids(s, err) : fsc_err_nomem(err);
	if (rc)
		return rc;
	if (!take_rows(of, targets->rows.n, &s->first_row))
		return fsc_err_set(err, ENOSPC, "there is room for %u functions at a time",
				   of->opts.max_rows);
	s->of = of;
	s->skel = of->skel;
	s->cfg = of->cfg;
	s->counts = of->counts;
	s->user_multi = of->user_multi;
	s->user_session = part->per_row ? -1 : of->user_session;
	s->own_ring_fd = of->own_ring_fd;
	fsc_programs_choose_fast(s);
	fsc_descriptors_raise(most_descriptors(s));
	*ret = fsc_take(&s);
	return 0;
}

/* Its links are closed, so that no program runs for its rows. */
static void give_back_rows(const struct fsc_session *s)
{
	const size_t n = s->targets->rows.n;
	uint64_t *counts = (uint64_t *)s->counts.at;

	for (uint32_t cpu = 0; cpu < s->counts.n_cpus; cpu++) {
		uint64_t *at = counts + (size_t)cpu * s->counts.stride + s->first_row;

		memset(at, 0, n * sizeof(*at));
		memset(at + s->cfg.calibrate_row + FSC_COUNTERS, 0, n * sizeof(*at));
	}
	memset(s->of->rows_used + s->first_row, 0, n);
}

static void free_part(struct fsc_session *s)
{
	struct fsc_err why = {0};

	for (uint32_t row = 0; row < s->targets->rows.n; row++)
		if (fsc_session_mute(s, row, true, &why))
			fsc_log(FSC_LOG_DEBUG, "%s", why.msg);
	give_back_rows(s);
	s->skel = NULL;
	s->counts.at = NULL;
}

uint32_t fsc_session_first_row(const struct fsc_session *s)
{
	return s->first_row;
}

uint32_t fsc_session_rows(const struct fsc_session *s)
{
	return s->rows_used ? s->opts.max_rows : (uint32_t)s->targets->rows.n;
}

/* ---- attaching and detaching ---- */

int fsc_session_keep_fd(struct fsc_vec *fds, int fd, struct fsc_err *err)
{
	int *slot = fsc_vec_push(fds);

	if (!slot) {
		close(fd);
		return fsc_err_nomem(err);
	}
	*slot = fd;
	return 0;
}

int fsc_session_keep_link(struct fsc_session *s, int fd, size_t target, struct fsc_err *err)
{
	return fsc_attacher_keep(&s->attacher, fd, fsc_targets_at(s->targets, target)->row, err);
}

void fsc_session_add_place(struct fsc_batch *b, size_t target, uint64_t where, uint64_t flags)
{
	struct fsc_session_end *e = b->arg;
	const struct fsc_target *t = fsc_targets_at(e->s->targets, target);

	bool grouped = e->s->group_of && !b->singly;

	b->ids[b->n] = target;
	b->tags[b->n] = grouped ? FSC_TAG_GROUP + e->s->gate : t->row;
	b->where[b->n] = where;
	b->ref_ctrs[b->n] = t->ref_ctr;
	b->cookies[b->n] = (e->s->first_row + t->row) | flags |
			   (uint64_t)(grouped ? e->s->gate : FSC_GATE_RUN) << FSC_COOKIE_GATE;
	b->names[b->n++] = fsc_session_symbol(e->s, t);
	e->hidden |= !where;
}

bool fsc_session_attaches(const struct fsc_session *s, size_t target)
{
	return !s->unusable[target] &&
	       (!s->selected || s->selected[fsc_targets_at(s->targets, target)->row]);
}

void fsc_session_count_rung(struct fsc_session *s, enum fsc_rung rung, size_t n)
{
	if (!s->selected)
		s->on_rung[rung] += n;
}

int fsc_session_note_link(const struct fsc_batch *b, int fd, size_t n)
{
	const struct fsc_session_end *e = b->arg;

	/* A function that is probed at both ends counts once. */
	if (fd >= 0 && (!e->s->pairs || e->end == FSC_END_ENTRY || e->end == FSC_END_BOTH))
		fsc_session_count_rung(e->s, e->rung, n);
	return fd;
}

int fsc_session_refuse_place(const struct fsc_batch *b, size_t i, int code, struct fsc_err *err)
{
	const struct fsc_session_end *e = b->arg;

	if (!e->left)
		return fsc_session_refuse(e->s, b->ids[i], code, err);
	e->left[b->ids[i]] = true;
	return 0;
}

int fsc_session_refuse(struct fsc_session *s, size_t target, int code, struct fsc_err *err)
{
	struct fsc_refused *r;

	if (s->unusable[target])
		return 0;
	s->unusable[target] = true;
	r = fsc_vec_push(&s->refused);
	if (!r)
		return fsc_err_nomem(err);
	*r = (struct fsc_refused){.target = target, .code = abs(code)};
	return 0;
}

int fsc_session_refuse_patched(struct fsc_session *s, size_t target, pid_t pid, struct fsc_err *err)
{
	int rc;

	if (s->unusable[target])
		return 0;
	rc = fsc_session_refuse(s, target, EADDRNOTAVAIL, err);
	if (rc)
		return rc;
	FSC_AT(struct fsc_refused, &s->refused, s->refused.n - 1)->why = fsc_patched_why(pid);
	return FSC_AT(struct fsc_refused, &s->refused, s->refused.n - 1)->why ? 0
									      : fsc_err_nomem(err);
}

static int report_all_refused(const struct fsc_session *s, struct fsc_err *err)
{
	const struct fsc_refused *r = FSC_AT(struct fsc_refused, &s->refused, 0);
	const struct fsc_target *t = fsc_targets_at(s->targets, r->target);

	if (r->code == EPERM || r->code == EACCES)
		return fsc_privilege_err(err, r->code, "attach to %s",
					 fsc_targets_row(s->targets, t->row)->name);
	if (r->code == EMFILE)
		return fsc_descriptors_err(err, "a single probe");
	if (r->why)
		return fsc_err_set(err, r->code, "%s%s cannot be probed: %s",
				   fsc_targets_row(s->targets, t->row)->name,
				   s->refused.n > 1 ? ", as the other requested functions," : "",
				   r->why);
	fsc_err_sys(err, r->code, "the kernel refuses %s%s",
		    s->refused.n > 1 ? "every requested function, the first being " : "",
		    fsc_targets_row(s->targets, t->row)->name);
	return fsc_err_hint(err, "see what this machine supports: funcscope doctor");
}

int fsc_session_attach_places(struct fsc_session *s, struct fsc_err *err)
{
	FSC_AUTO(fsc_descriptors_release) struct fsc_vec reserve = FSC_VEC_INIT(int);
	int rc;

	fsc_descriptors_reserve(s->opts.n_pids + s->opts.n_tids, &reserve);
	rc = fsc_attach_user(s, err);
	if (!rc)
		rc = fsc_attach_kernel(s, err);
	return rc ? rc : fsc_attach_tracepoints(s, err);
}

int fsc_session_attach(struct fsc_session *s, struct fsc_err *err)
{
	int rc = s->of ? 0 : fsc_attach_sched(s, err);

	if (!rc && s->opts.per_row)
		rc = fsc_select_begin(s, err);
	if (!rc)
		rc = fsc_session_attach_places(s, err);
	if (!rc && s->refused.n && s->refused.n == fsc_targets_count(s->targets))
		rc = report_all_refused(s, err);
	if (rc)
		fsc_session_detach(s);
	/* Not earlier: closing a perf event delays opening others (attaching 23 functions took 180
	 * ms instead of 115). */
	fsc_attacher_drop(&s->attacher, FSC_TAG_CALIBRATION);
	s->attached = !rc;
	return rc;
}

/* One store: a program reads the word once, so that it finds either all gates moved or none. */
void fsc_session_move_gates(struct fsc_session *s, uint64_t open, uint64_t shut)
{
	volatile __u64 *gates = &s->skel->bss->gates;

	__atomic_store_n(gates, (*gates | open) & ~shut, __ATOMIC_SEQ_CST);
}

/* Links that rows move between have gates of their own. */
void fsc_session_count(struct fsc_session *s, bool on)
{
	const uint64_t run =
	    s->cfg.moves ? FSC_GATE_BIT(FSC_MOVING_GATES) - 1 : FSC_GATE_BIT(FSC_GATE_RUN);

	fsc_session_move_gates(s, on ? run : 0, on ? 0 : run);
}

void fsc_session_detach(struct fsc_session *s)
{
	s->detached = true;
	fsc_attacher_drop(&s->attacher, FSC_TAG_ALL);
}

void fsc_session_detach_later(struct fsc_session *s)
{
	s->detached = true;
	fsc_attacher_drop_later(&s->attacher, FSC_TAG_ALL);
}

bool fsc_session_still_detaching(const struct fsc_session *s)
{
	return fsc_attacher_dropping(&s->attacher);
}

void fsc_session_free(struct fsc_session *s)
{
	if (!s)
		return;
	fsc_attacher_release(&s->attacher);
	if (s->of)
		free_part(s);
	for (size_t i = 0; i < s->programs.n; i++)
		close(*FSC_AT(int, &s->programs, i));
	fsc_counts_unmap(&s->counts);
	if (s->slots)
		munmap((void *)s->slots, s->slots_size);
	ring_buffer__free(s->rings);
	ring_buffer__free(s->own_ring);
	fsc_copies_close(&s->copies);
	func_snoop_bpf__destroy(s->skel);
	fsc_pool_release(&s->pool);
	free(s->rows_used);
	fsc_select_release(s);
	free(s->unusable);
	free(s->ids);
	fsc_vec_release(&s->retired);
	fsc_map_release(&s->errors_taken);
	fsc_vec_release(&s->programs);
	for (size_t i = 0; i < s->refused.n; i++)
		free(FSC_AT(struct fsc_refused, &s->refused, i)->why);
	fsc_vec_release(&s->refused);
	free(s);
}

void fsc_session_freep(struct fsc_session **s)
{
	fsc_session_free(*s);
	*s = NULL;
}
