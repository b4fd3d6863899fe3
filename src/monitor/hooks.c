/* The sessions of a monitor, one for each batch of functions that was found. */
#include "monitor/hooks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "monitor/hooks_priv.h"

enum {
	STACKS = 4096,	  /* of slow calls, in the kernel at a time */
	LEAST_KEYS = 256, /* functions times processes, of one session */
	KEYS_EACH = 64,	  /* room for processes, per function */
};

int fsc_hooks_new(const struct fsc_snoop_config *config, struct fsc_processes *processes,
		  struct fsc_hooks **ret, struct fsc_err *err)
{
	struct fsc_hooks *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return fsc_err_nomem(err);
	h->config = config;
	h->processes = processes;
	h->batches = FSC_VEC_INIT(struct batch *);
	h->funcs = FSC_VEC_INIT(struct fsc_func);
	h->rules = FSC_VEC_INIT(enum fsc_error_rule);
	h->retired = FSC_VEC_INIT(struct retired);
	h->refusals = FSC_VEC_INIT(struct fsc_refusal);
	fsc_tally_init(&h->closed);
	rc = fsc_finder_new(&h->finder, err);
	if (!rc)
		rc = fsc_finder_use(h->finder, config, err);
	if (rc)
		fsc_hooks_free(h);
	else
		*ret = h;
	return rc;
}

void fsc_hooks_free_batch(struct batch *b)
{
	fsc_call_source_free(b->calls);
	fsc_live_free(b->live);
	fsc_session_free(b->session);
	fsc_targets_release(&b->targets);
	free(b->func_of);
	free(b->id_of);
	free(b->entry_of);
	free(b->off);
	free(b->cost_seen);
	free(b);
}

static void free_batchp(struct batch **b)
{
	if (*b)
		fsc_hooks_free_batch(*b);
}

void fsc_hooks_free(struct fsc_hooks *h)
{
	if (!h)
		return;
	if (h->trying)
		fsc_hooks_abandon(h);
	for (size_t i = 0; i < h->batches.n; i++)
		fsc_hooks_free_batch(batch_at(h, i));
	for (size_t i = 0; i < h->funcs.n; i++) {
		struct fsc_func *f = FSC_AT(struct fsc_func, &h->funcs, i);

		free((char *)f->group);
		free((char *)f->name);
		free((char *)f->symbol);
		free((char *)f->binary);
	}
	fsc_namer_free(h->namer);
	fsc_vec_release(&h->batches);
	fsc_vec_release(&h->funcs);
	fsc_vec_release(&h->rules);
	fsc_vec_release(&h->retired);
	fsc_map_release(&h->retired_at);
	fsc_vec_release(&h->refusals);
	fsc_map_release(&h->func_at);
	fsc_tally_release(&h->closed);
	fsc_finder_free(h->finder);
	free(h);
}

int fsc_hooks_file(struct fsc_hooks *h, pid_t pid, const char *path, struct fsc_err *err)
{
	return fsc_finder_note(h->finder, pid, path, err);
}

int fsc_hooks_libraries(struct fsc_hooks *h, struct fsc_err *err)
{
	return fsc_finder_note_libraries(h->finder, err);
}

int fsc_hooks_program(struct fsc_hooks *h, const char *path, struct fsc_err *err)
{
	return fsc_finder_note_needed(h->finder, path, err);
}

/* ---- functions ---- */

/* The number of a row's function. A binary is identified by its path, in any container. */
static int number_func(struct fsc_hooks *h, const struct fsc_snoop_func *e,
		       const struct fsc_target_row *row, uint32_t *ret, struct fsc_err *err)
{
	const char *symbol = row->symbol ? row->symbol : row->name;
	const char *name = strpbrk(e->symbol, "*?[") ? row->name : e->name;
	struct fsc_buf key = {0};
	struct fsc_func *f;
	uint64_t *at;
	bool is_new = false;

	fsc_buf_printf(&key, "%s%c%s%c%s%c%s", e->group, 0, name, 0, symbol, 0, row->binary);
	at = fsc_buf_failed(&key) ? NULL : fsc_map_put(&h->func_at, key.s, key.n, &is_new);
	fsc_buf_release(&key);
	if (!at)
		return fsc_err_nomem(err);
	if (is_new) {
		f = fsc_vec_push(&h->rules) ? fsc_vec_push(&h->funcs) : NULL;
		if (!f)
			return fsc_err_nomem(err);
		*at = h->funcs.n - 1;
		*f = (struct fsc_func){.kind = row->kind,
				       .binary = strdup(row->binary),
				       .name = strdup(name),
				       .symbol = strdup(symbol),
				       .group = strdup(e->group)};
		if (!f->binary || !f->name || !f->symbol || !f->group)
			return fsc_err_nomem(err);
	}
	*ret = (uint32_t)*at;
	return 0;
}

const struct fsc_func *fsc_hooks_funcs(const struct fsc_hooks *h, size_t *ret_n)
{
	*ret_n = h->funcs.n;
	return h->funcs.data;
}

const struct fsc_snoop_func *fsc_hooks_entry(const struct fsc_hooks *h, uint32_t func)
{
	for (size_t i = 0; i < h->batches.n; i++) {
		const struct batch *b = batch_at(h, i);

		for (uint32_t row = 0; row < b->targets.rows.n; row++)
			if (b->func_of[row] == func && b->entry_of[row] >= 0)
				return entry_at(h, (size_t)b->entry_of[row]);
	}
	return NULL;
}

size_t fsc_hooks_places(const struct fsc_hooks *h, uint32_t func)
{
	size_t n = 0;

	for (size_t i = 0; i < h->batches.n; i++) {
		const struct batch *b = batch_at(h, i);

		for (size_t k = 0; k < fsc_targets_count(&b->targets); k++) {
			uint32_t row = fsc_targets_at(&b->targets, k)->row;

			n += b->func_of[row] == func && b->entry_of[row] >= 0;
		}
	}
	return n;
}

size_t fsc_hooks_found(const struct fsc_hooks *h, size_t entry)
{
	size_t n = 0;

	for (size_t i = 0; i < h->batches.n; i++)
		for (uint32_t row = 0; row < batch_at(h, i)->targets.rows.n; row++)
			n += batch_at(h, i)->entry_of[row] == (int32_t)entry;
	return n;
}

void fsc_hooks_missing(const struct fsc_hooks *h,
		       void (*fn)(const struct fsc_snoop_func *f, void *arg), void *arg)
{
	for (size_t i = 0; i < h->config->funcs.n; i++)
		if (!fsc_hooks_found(h, i))
			fn(entry_at(h, i), arg);
}

/* ---- attaching ---- */

/* For a pattern, the error rule depends on each function's name. */
static enum fsc_error_rule errors_of(const struct fsc_hooks *h, const struct batch *b, uint32_t row,
				     const struct fsc_snoop_func *e)
{
	return e->errors_given || !strpbrk(e->symbol, "*?[")
		   ? e->errors
		   : fsc_error_rule_of(e->group,
				       FSC_AT(struct fsc_func, &h->funcs, b->func_of[row])->symbol);
}

int fsc_hooks_set_rule(struct fsc_hooks *h, struct batch *b, uint32_t row,
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
				.failed = failed[errors_of(h, b, row, e)]};

	return fsc_session_set_rule(b->session, row, &rule, err);
}

void fsc_hooks_name_errors(struct fsc_hooks *h, const struct batch *b, uint32_t row,
			   const struct fsc_snoop_func *e)
{
	*FSC_AT(enum fsc_error_rule, &h->rules, b->func_of[row]) = errors_of(h, b, row, e);
}

static int number_rows(struct fsc_hooks *h, struct batch *b, struct fsc_err *err)
{
	size_t n = b->targets.rows.n;
	int rc = 0;

	b->func_of = calloc(n + 1, sizeof(*b->func_of));
	b->id_of = calloc(n + 1, sizeof(*b->id_of));
	b->entry_of = calloc(n + 1, sizeof(*b->entry_of));
	b->off = calloc(n + 1, sizeof(*b->off));
	b->cost_seen = calloc(n + 1, sizeof(*b->cost_seen));
	if (!b->func_of || !b->id_of || !b->entry_of || !b->off || !b->cost_seen)
		return fsc_err_nomem(err);
	for (size_t i = 0; !rc && i < n; i++) {
		const struct fsc_target_row *row = fsc_targets_row(&b->targets, i);

		b->entry_of[i] = (int32_t)row->probe;
		b->id_of[i] = fsc_finder_id(h->finder, row->probe);
		rc = number_func(h, entry_at(h, row->probe), row, &b->func_of[i], err);
	}
	return rc;
}

static int judge_one(pid_t pid, bool wanted, void *arg, struct fsc_err *err)
{
	struct batch *b = arg;

	return fsc_session_set_verdict(b->session, pid, wanted, err);
}

static int open_session(struct fsc_hooks *h, struct batch *b, struct fsc_err *err)
{
	const struct fsc_filter *t = &h->config->targets;
	size_t keys = b->targets.rows.n * KEYS_EACH;
	bool pids = fsc_filter_only_pids(t);
	struct fsc_session_opts so = {
	    .mode = FSC_MODE_TIME,
	    .rules = true,
	    .judged = !pids && !fsc_processes_all(h->processes),
	    .pids = pids ? t->pids.data : NULL,
	    .n_pids = pids ? t->pids.n : 0,
	    .by = FSC_BY_PID,
	    .n_rings = 1,
	    .stacks = h->config->stacks ? FSC_STACKS_USER | FSC_STACKS_KERNEL : 0,
	    .max_stacks = STACKS,
	    .fast_uprobes = h->config->fast_uprobes,
	    .per_row = h->config->max_overhead > 0,
	};
	int rc;

	if (keys < LEAST_KEYS)
		keys = LEAST_KEYS;
	if (keys > h->config->max_processes_rows)
		keys = h->config->max_processes_rows;
	so.max_keys = (uint32_t)keys;
	rc = fsc_session_open(&b->targets, &so, &b->session, err);
	if (!rc)
		rc = fsc_live_new(b->session, &b->targets, so.by, &b->live, err);
	if (!rc)
		fsc_live_keep_elsewhere(b->live);
	if (!rc && so.judged)
		rc = fsc_processes_each(h->processes, judge_one, b, err);
	return rc;
}

static int open_calls(struct fsc_hooks *h, struct batch *b, struct fsc_err *err)
{
	const struct fsc_call_opts opts = {.kernel_stack = h->config->stacks,
					   .user_stack = h->config->stacks,
					   .slow_stacks = true,
					   .own_frame = true,
					   .drop_stacks = STACKS / 4};
	int rc = fsc_hooks_namer(h, err);

	return rc ? rc : fsc_call_source_new(b->live, h->namer, &opts, &b->calls, err);
}

/* Everything is set up before the first probe is attached, so that every hit counts, unless the
 * configuration is only being tried. */
static int start_batch(struct fsc_hooks *h, struct batch *b, struct fsc_err *err)
{
	int rc = number_rows(h, b, err);

	if (!rc)
		rc = open_session(h, b, err);
	if (!rc)
		rc = open_calls(h, b, err);
	for (uint32_t row = 0; !rc && row < b->targets.rows.n; row++)
		rc = fsc_hooks_set_rule(h, b, row, entry_at(h, (size_t)b->entry_of[row]), err);
	if (rc)
		return rc;
	for (uint32_t row = 0; !h->trying && row < b->targets.rows.n; row++)
		fsc_hooks_name_errors(h, b, row, entry_at(h, (size_t)b->entry_of[row]));
	fsc_live_use_costs(b->live, &h->costs);
	fsc_live_calibrate(b->live);
	h->costs = *fsc_live_costs(b->live);
	rc = h->trying ? 0 : fsc_live_arm(b->live, err);
	return rc ? rc : fsc_session_attach(b->session, err);
}

/* A slot for a session. While a configuration is being tried, the list in force gets room, too, so
 * that appending to it cannot fail later. */
static struct batch **make_room(struct fsc_hooks *h)
{
	const size_t n = h->was.batches.n;

	for (size_t i = 0; h->trying && i <= h->batches.n; i++)
		if (!fsc_vec_push(&h->was.batches)) {
			h->was.batches.n = n;
			return NULL;
		}
	h->was.batches.n = h->trying ? n : h->was.batches.n;
	return fsc_vec_push(&h->batches);
}

int fsc_hooks_attach(struct fsc_hooks *h, struct fsc_err *err)
{
	FSC_AUTO(free_batchp) struct batch *b = NULL;
	struct fsc_err why = {0};
	struct batch **slot;
	int rc;

	if (!fsc_finder_busy(h->finder))
		return 0;
	b = calloc(1, sizeof(*b));
	if (!b)
		return fsc_err_nomem(err);
	fsc_targets_init(&b->targets);
	rc = fsc_finder_search(h->finder, &b->targets, err);
	if (rc || !fsc_targets_count(&b->targets))
		return rc;
	rc = start_batch(h, b, &why);
	if (rc && (h->batches.n || h->was.stay) && rc != -ENOMEM) {
		/* The existing sessions go on. */
		fsc_log(FSC_LOG_WARN, "%s", why.msg);
		return 0;
	}
	if (rc) {
		*err = why;
		return rc;
	}
	slot = make_room(h);
	if (!slot)
		return fsc_err_nomem(err);
	fsc_log(FSC_LOG_DEBUG, "%zu more functions, in %zu files", b->targets.rows.n,
		b->targets.files.n);
	*slot = fsc_take(&b);
	return 0;
}

void fsc_hooks_detach(struct fsc_hooks *h)
{
	for (size_t i = 0; i < h->batches.n; i++)
		fsc_session_detach(batch_at(h, i)->session);
}
