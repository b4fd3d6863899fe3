/* The probes of a monitor: one session for its whole life, of which every file is a part. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "monitor/hooks_priv.h"
#include "proc/task.h"

enum {
	STACKS = 4096,	    /* of slow calls, in the kernel at a time */
	MOST_HOOKED = 8192, /* functions, each in each file, at a time */
};

/* ---- the session ---- */

int fsc_hooks_judge(struct fsc_hooks *h, struct fsc_err *err)
{
	const struct fsc_filter *t = &h->config->targets;

	if (!h->session)
		return 0;
	return fsc_session_judge(h->session,
				 fsc_filter_passes_all(t)  ? FSC_JUDGING_NONE
				 : fsc_filter_only_pids(t) ? FSC_JUDGING_FIRST
							   : FSC_JUDGING_LATER,
				 err);
}

static int tell_verdicts(struct fsc_hooks *h, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < h->verdicts.cap; i++) {
		const struct fsc_map_slot *s = &h->verdicts.slots[i];

		if (s->key)
			rc = fsc_session_set_verdict(h->session, *(const pid_t *)s->key, s->value,
						     err);
	}
	return rc;
}

static int open_calls(struct fsc_hooks *h, struct fsc_err *err)
{
	const struct fsc_call_opts opts = {.kernel_stack = h->config->stacks,
					   .user_stack = h->config->stacks,
					   .slow_stacks = true,
					   .copies = h->config->stacks && h->config->dwarf,
					   .own_frame = true,
					   .drop_stacks = STACKS / 8};
	int rc = fsc_hooks_namer(h, err);

	return rc ? rc : fsc_call_source_new(h->live, h->namer, &opts, &h->calls, err);
}

static int open_session(struct fsc_hooks *h, struct fsc_err *err)
{
	const struct fsc_session_opts so = {
	    .mode = FSC_MODE_TIME,
	    .rules = true,
	    .max_rows = MOST_HOOKED,
	    .max_keys = h->config->max_processes_rows,
	    .by = FSC_BY_PID,
	    .n_rings = 1,
	    .stacks = h->config->stacks ? FSC_STACKS_USER | FSC_STACKS_KERNEL : 0,
	    .max_stacks = STACKS,
	    .copy_stacks = h->config->stacks && h->config->dwarf,
	};
	int rc;

	h->hooked_at = calloc(MOST_HOOKED, sizeof(struct hooked *));
	rc = h->hooked_at ? fsc_session_open(&h->none, &so, &h->session, err) : fsc_err_nomem(err);
	if (!rc)
		rc = fsc_live_new(h->session, &h->none, so.by, &h->live, err);
	if (rc)
		return rc;
	fsc_live_keep_elsewhere(h->live);
	rc = open_calls(h, err);
	if (!rc)
		rc = fsc_hooks_judge(h, err);
	if (!rc)
		rc = tell_verdicts(h, err);
	return rc ? rc : fsc_session_attach(h->session, err);
}

/* Room for the processes that appear until the next call: for one that calls everything in the
 * files it maps, and for many that call a little. */
int fsc_hooks_reserve(struct fsc_hooks *h, struct fsc_err *err)
{
	enum { MAPPED = 16, LITTLE = 512 };
	size_t hooks = 0, largest = 0, most;

	for (size_t i = 0; i < h->files.n; i++) {
		const size_t rows = hooked_at(h, i)->targets.rows.n;

		hooks += rows;
		largest = rows > largest ? rows : largest;
	}
	most = hooks < MAPPED * largest ? hooks : MAPPED * largest;
	return h->session ? fsc_session_reserve(h->session, most + LITTLE, &h->meanwhile, err) : 0;
}

/* Without a session there is nothing to undo. */
int fsc_hooks_prepare(struct fsc_hooks *h, struct fsc_err *err)
{
	int rc = h->session ? 0 : open_session(h, err);

	if (!rc)
		return 0;
	fsc_call_source_free(h->calls);
	fsc_live_free(h->live);
	fsc_session_free(h->session);
	free(h->hooked_at);
	h->calls = NULL;
	h->live = NULL;
	h->session = NULL;
	h->hooked_at = NULL;
	return rc;
}

/* ---- attaching ---- */

/* For a pattern, the error rule depends on each function's name. */
static enum fsc_error_rule errors_of(const struct fsc_hooks *h, const struct hooked *f,
				     uint32_t row, const struct fsc_snoop_func *e)
{
	const struct fsc_func *func = FSC_AT(struct fsc_func, &h->funcs, f->hooks[row].func);

	return e->errors_given || !strpbrk(e->symbol, "*?[")
		   ? e->errors
		   : fsc_error_rule_of(e->group, func->symbol);
}

int fsc_hooks_set_rule(struct fsc_hooks *h, struct hooked *f, uint32_t row,
		       const struct fsc_snoop_func *e, struct fsc_err *err)
{
	static const uint32_t failed[FSC_ERRORS_MAX] = {
	    [FSC_ERRORS_NONE] = FSC_FAILED_NEVER,	 [FSC_ERRORS_NONZERO] = FSC_FAILED_NONZERO,
	    [FSC_ERRORS_NEGATIVE] = FSC_FAILED_NEGATIVE, [FSC_ERRORS_NULL] = FSC_FAILED_NULL,
	    [FSC_ERRORS_NOT_ONE] = FSC_FAILED_NOT_ONE,	 [FSC_ERRORS_CUDA] = FSC_FAILED_NONZERO,
	    [FSC_ERRORS_CU] = FSC_FAILED_NONZERO,	 [FSC_ERRORS_CUBLAS] = FSC_FAILED_NONZERO,
	    [FSC_ERRORS_CUDNN] = FSC_FAILED_NONZERO,	 [FSC_ERRORS_NCCL] = FSC_FAILED_NONZERO,
	};
	struct fsc_rule rule = {.slow_ns = (uint64_t)e->slow_ns,
				.sample = e->sample,
				.failed = failed[errors_of(h, f, row, e)]};

	return fsc_session_set_rule(f->part, row, &rule, err);
}

void fsc_hooks_name_errors(struct fsc_hooks *h, const struct hooked *f, uint32_t row,
			   const struct fsc_snoop_func *e)
{
	state_at(h, f->hooks[row].func)->errors = errors_of(h, f, row, e);
}

static int number_rows(struct fsc_hooks *h, struct hooked *f, struct fsc_err *err)
{
	size_t n = f->targets.rows.n;
	int rc = 0;

	f->hooks = calloc(n + 1, sizeof(*f->hooks));
	if (!f->hooks)
		return fsc_err_nomem(err);
	for (size_t i = 0; !rc && i < n; i++) {
		const struct fsc_target_row *row = fsc_targets_row(&f->targets, i);

		f->hooks[i].entry = (int32_t)row->probe;
		f->hooks[i].id = fsc_finder_id(h->finder, row->probe);
		rc = fsc_hooks_number(h, entry_at(h, row->probe), row, &f->hooks[i].func, err);
	}
	return rc;
}

/* Whether the kernel can limit links to the targets: it knows their memory by their main threads,
 * which may have exited while others go on. Then all processes have the probes, and verdicts
 * decide. */
static bool can_limit(const struct fsc_filter *t)
{
	for (size_t i = 0; i < t->pids.n; i++)
		if (fsc_task_is_zombie(*FSC_AT(pid_t, &t->pids, i)))
			return false;
	return fsc_filter_only_pids(t);
}

static int open_part(struct fsc_hooks *h, struct hooked *f, struct fsc_err *err)
{
	const struct fsc_filter *t = &h->config->targets;
	bool limited = can_limit(t);
	const struct fsc_part_opts opts = {.pids = limited ? t->pids.data : NULL,
					   .n_pids = limited ? t->pids.n : 0,
					   .per_row = h->config->max_overhead > 0,
					   .fast_uprobes = h->config->fast_uprobes};
	uint32_t first;
	int rc = fsc_session_open_part(h->session, &f->targets, &opts, &f->part, err);

	if (!rc)
		rc = fsc_live_new(f->part, &f->targets, FSC_BY_PID, &f->live, err);
	if (rc)
		return rc;
	fsc_live_keep_elsewhere(f->live);
	first = fsc_session_first_row(f->part);
	for (uint32_t row = 0; row < f->targets.rows.n; row++) {
		h->hooked_at[first + row] = f;
		fsc_live_set_func(h->live, first + row,
				  FSC_AT(struct fsc_func, &h->funcs, f->hooks[row].func));
	}
	return 0;
}

static int attach_job(void *arg, struct fsc_err *err)
{
	return fsc_session_attach(arg, err);
}

/* While a configuration is tried, a file that is attached already counts by that; another one may
 * be a program that has just begun, of functions that are in both. */
static bool counts_at_once(const struct fsc_hooks *h, const struct hooked *f)
{
	for (size_t i = 0; h->trying && i < h->was.files; i++)
		if (hooked_at(h, i)->inode == f->inode)
			return false;
	return !h->trying || !h->was.anew;
}

/* Everything is set up before the first probe is attached, so that every hit counts. */
static int hook_file(struct fsc_hooks *h, struct hooked *f, struct fsc_err *err)
{
	int rc = fsc_hooks_prepare(h, err);

	if (!rc)
		rc = number_rows(h, f, err);
	if (!rc)
		rc = open_part(h, f, err);
	for (uint32_t row = 0; !rc && row < f->targets.rows.n; row++)
		rc = fsc_hooks_set_rule(h, f, row, entry_at(h, (size_t)f->hooks[row].entry), err);
	if (rc)
		return rc;
	for (uint32_t row = 0; !h->trying && row < f->targets.rows.n; row++)
		fsc_hooks_name_errors(h, f, row, entry_at(h, (size_t)f->hooks[row].entry));
	fsc_live_use_costs(f->live, &h->costs);
	fsc_live_calibrate(f->live);
	h->costs = *fsc_live_costs(f->live);
	fsc_writes_watch(&h->writes, FSC_AT(struct fsc_target_file, &f->targets.files, 0)->path, f);
	rc = fsc_hooks_reserve(h, err);
	f->tried_armed = h->trying && counts_at_once(h, f);
	if (!rc && counts_at_once(h, f))
		rc = fsc_live_arm(f->live, err);
	return rc ? rc : fsc_aside(attach_job, f->part, &h->meanwhile, err);
}

static void mark_mapped(const struct fsc_hooks *h, uint64_t inode)
{
	for (size_t i = 0; inode && i < h->files.n; i++)
		if (hooked_at(h, i)->inode == inode)
			hooked_at(h, i)->scan = h->scans;
}

struct finding {
	struct fsc_finder *finder;
	struct fsc_targets *to;
	struct fsc_vec inodes; /* uint64_t, of the files searched */
};

static int find_job(void *arg, struct fsc_err *err)
{
	struct finding *x = arg;
	int rc = 0;

	while (!rc && fsc_finder_busy(x->finder) && !fsc_targets_count(x->to)) {
		uint64_t inode;

		rc = fsc_finder_search_next(x->finder, x->to, err);
		inode = fsc_finder_last_inode(x->finder);
		if (!rc)
			rc = fsc_vec_add(&x->inodes, &inode, err);
	}
	return rc;
}

/* The next file with functions to hook; *ret is NULL if there is none. */
static int find_file(struct fsc_hooks *h, struct hooked **ret, struct fsc_err *err)
{
	struct finding x = {.finder = h->finder, .inodes = FSC_VEC_INIT(uint64_t)};
	struct hooked *f;
	int rc;

	*ret = NULL;
	if (!fsc_finder_busy(h->finder))
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return fsc_err_nomem(err);
	fsc_targets_init(&f->targets);
	x.to = &f->targets;
	rc = fsc_aside(find_job, &x, &h->meanwhile, err);
	for (size_t i = 0; i < x.inodes.n; i++)
		mark_mapped(h, *FSC_AT(uint64_t, &x.inodes, i));
	fsc_vec_release(&x.inodes);
	f->inode = fsc_finder_last_inode(h->finder);
	if (!rc && fsc_targets_count(&f->targets))
		*ret = f;
	else
		fsc_hooks_free_file(h, f);
	return rc;
}

/* Whether a monitor goes on without a file that cannot be hooked: it was deleted meanwhile, or
 * there are others, or it has begun. */
static bool goes_on_without(const struct fsc_hooks *h, int rc)
{
	if (rc == -ENOENT || (h->begun && !h->trying))
		return true;
	return h->files.n > (h->trying && h->was.anew ? h->was.files : 0);
}

static int add_file(struct fsc_hooks *h, struct hooked *f, struct fsc_err *err)
{
	struct hooked **slot = fsc_vec_push(&h->files);
	struct fsc_err why = {0};
	int rc;

	if (slot)
		*slot = f;
	f->attaching = true;
	rc = slot ? hook_file(h, f, &why) : fsc_err_nomem(&why);
	f->attaching = false;
	if (!rc) {
		f->scan = h->scans;
		fsc_log(FSC_LOG_DEBUG, "%s: %zu functions",
			FSC_AT(struct fsc_target_file, &f->targets.files, 0)->name,
			f->targets.rows.n);
		return 0;
	}
	h->files.n -= slot != NULL;
	fsc_hooks_free_file(h, f);
	if (rc != -ENOMEM && goes_on_without(h, rc)) {
		fsc_log(FSC_LOG_WARN, "%s", why.msg);
		return 0;
	}
	*err = why;
	return rc;
}

int fsc_hooks_attach(struct fsc_hooks *h, struct fsc_err *err)
{
	struct hooked *f;
	int rc;

	do {
		rc = find_file(h, &f, err);
		if (!rc && f)
			rc = add_file(h, f, err);
	} while (!rc && f);
	h->begun |= !rc;
	return rc;
}

void fsc_hooks_detach(struct fsc_hooks *h)
{
	/* All at once: each waits for the kernel. */
	for (size_t i = 0; i < h->files.n; i++)
		fsc_session_detach_later(hooked_at(h, i)->part);
	for (size_t i = 0; i < h->files.n; i++)
		fsc_session_detach(hooked_at(h, i)->part);
	if (h->session)
		fsc_session_detach(h->session);
}

static bool is_detaching(const struct fsc_hooks *h, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		if (fsc_session_still_detaching(hooked_at(h, i)->part))
			return true;
	return false;
}

void fsc_hooks_detach_files(struct fsc_hooks *h, size_t first, size_t n,
			    bool (*ends)(const struct fsc_hooks *h, const struct hooked *f))
{
	const struct timespec step = {.tv_nsec = 2000000};

	if (!h->meanwhile.fn)
		return; /* closing them waits */
	for (size_t i = first; i < first + n; i++)
		if (ends(h, hooked_at(h, i)))
			fsc_session_detach_later(hooked_at(h, i)->part);
	while (is_detaching(h, first, n)) {
		h->meanwhile.fn(h->meanwhile.arg);
		nanosleep(&step, NULL);
	}
}

/* ---- files that nobody maps any more ---- */

void fsc_hooks_scan_begins(struct fsc_hooks *h)
{
	h->scans++;
}

static void begin_closing(struct fsc_hooks *h, struct hooked *f)
{
	fsc_log(FSC_LOG_DEBUG, "%s: no target maps it any more",
		FSC_AT(struct fsc_target_file, &f->targets.files, 0)->name);
	f->closing = true;
	fsc_hooks_forget_searches(h->finder, f);
	fsc_session_detach_later(f->part);
}

/* ---- files that are written to ---- */

int fsc_hooks_writes_fd(const struct fsc_hooks *h)
{
	return h->writes.fd;
}

/* It is not searched anew before it is closed: as long as one probe is left, the kernel keeps the
 * instructions that the file had. */
static void close_rewritten(const void *tag, void *arg)
{
	struct fsc_hooks *h = arg;

	for (size_t i = 0; i < h->files.n; i++) {
		struct hooked *f = hooked_at(h, i);

		if (f != tag)
			continue;
		fsc_log(FSC_LOG_WARN,
			"%s was written to: its probes are taken off, and it is searched again",
			FSC_AT(struct fsc_target_file, &f->targets.files, 0)->name);
		f->rewritten = true;
		if (!f->closing)
			fsc_session_detach_later(f->part);
		f->closing = true;
	}
}

void fsc_hooks_check_writes(struct fsc_hooks *h)
{
	fsc_writes_read(&h->writes, close_rewritten, h);
}

bool fsc_hooks_rewritten(struct fsc_hooks *h)
{
	bool was = h->look_again;

	h->look_again = false;
	return was;
}

static void forget_contents(struct fsc_hooks *h, const struct hooked *f)
{
	for (size_t i = 0; i < h->config->funcs.n; i++)
		fsc_finder_forget(h->finder, FSC_AT(struct fsc_target_file, &f->targets.files, 0),
				  fsc_finder_id(h->finder, i));
	h->look_again = true;
}

/* ---- scans ---- */

/* Those in use had the whole scan to be found. */
void fsc_hooks_scan_ended(struct fsc_hooks *h)
{
	for (size_t i = 0; i < h->files.n; i++)
		if (!hooked_at(h, i)->closing && hooked_at(h, i)->scan < h->scans)
			begin_closing(h, hooked_at(h, i));
}

static bool is_hooked(uint64_t inode, void *arg)
{
	const struct fsc_hooks *h = arg;

	for (size_t i = 0; i < h->files.n; i++)
		if (hooked_at(h, i)->inode == inode)
			return true;
	return false;
}

int fsc_hooks_close_unmapped(struct fsc_hooks *h, struct fsc_err *err)
{
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; i < h->files.n; i++) {
		struct hooked *f = hooked_at(h, i);

		if (rc || !f->closing || fsc_session_still_detaching(f->part)) {
			*FSC_AT(struct hooked *, &h->files, kept++) = f;
			continue;
		}
		if (f->rewritten)
			forget_contents(h, f);
		rc = fsc_hooks_close_file(h, f, err);
	}
	h->files.n = kept;
	return rc ? rc : fsc_finder_trim(h->finder, is_hooked, h, err);
}
