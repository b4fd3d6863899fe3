/* The functions that a monitor watches, and the files they were found in. */
#include "monitor/hooks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "monitor/hooks_priv.h"

int fsc_hooks_new(const struct fsc_snoop_config *config, struct fsc_processes *processes,
		  struct fsc_hooks **ret, struct fsc_err *err)
{
	struct fsc_hooks *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return fsc_err_nomem(err);
	h->config = config;
	h->processes = processes;
	h->files = FSC_VEC_INIT(struct hooked *);
	h->funcs = FSC_VEC_INIT(struct fsc_func);
	h->rules = FSC_VEC_INIT(enum fsc_error_rule);
	h->retired = FSC_VEC_INIT(struct retired);
	h->undecided = FSC_VEC_INIT(struct verdict);
	h->refusals = FSC_VEC_INIT(struct fsc_refusal);
	fsc_targets_init(&h->none);
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

void fsc_hooks_free_file(struct fsc_hooks *h, struct hooked *f)
{
	for (uint32_t row = 0; f->part && h->hooked_at && row < f->targets.rows.n; row++)
		h->hooked_at[fsc_session_first_row(f->part) + row] = NULL;
	fsc_live_free(f->live);
	fsc_session_free(f->part);
	fsc_targets_release(&f->targets);
	free(f->hooks);
	free(f);
}

void fsc_hooks_free(struct fsc_hooks *h)
{
	if (!h)
		return;
	if (h->trying)
		fsc_hooks_abandon(h);
	for (size_t i = 0; i < h->files.n; i++)
		fsc_hooks_free_file(h, hooked_at(h, i));
	for (size_t i = 0; i < h->funcs.n; i++) {
		struct fsc_func *f = FSC_AT(struct fsc_func, &h->funcs, i);

		free((char *)f->group);
		free((char *)f->name);
		free((char *)f->symbol);
		free((char *)f->binary);
	}
	fsc_call_source_free(h->calls);
	fsc_live_free(h->live);
	fsc_session_free(h->session);
	fsc_targets_release(&h->none);
	free(h->hooked_at);
	fsc_namer_free(h->namer);
	fsc_vec_release(&h->files);
	fsc_vec_release(&h->undecided);
	fsc_map_release(&h->verdicts);
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

void fsc_hooks_meanwhile(struct fsc_hooks *h, const struct fsc_meanwhile *m)
{
	h->meanwhile = *m;
}

bool fsc_hooks_trying(const struct fsc_hooks *h)
{
	return h->trying;
}

int fsc_hooks_file(struct fsc_hooks *h, pid_t pid, const char *path, struct fsc_err *err)
{
	return fsc_finder_note(h->finder, pid, path, err);
}

bool fsc_hooks_matters(const struct fsc_hooks *h, dev_t dev, ino_t ino, const char *path,
		       bool program)
{
	return fsc_finder_matters(h->finder, dev, ino, path, program);
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

int fsc_hooks_number(struct fsc_hooks *h, const struct fsc_snoop_func *e,
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
	for (size_t i = 0; i < h->files.n; i++) {
		const struct hooked *f = hooked_at(h, i);

		for (uint32_t row = 0; row < f->targets.rows.n; row++)
			if (f->hooks[row].func == func && f->hooks[row].entry >= 0)
				return entry_at(h, (size_t)f->hooks[row].entry);
	}
	return NULL;
}

size_t fsc_hooks_places(const struct fsc_hooks *h, uint32_t func)
{
	size_t n = 0;

	for (size_t i = 0; i < h->files.n; i++) {
		const struct hooked *f = hooked_at(h, i);

		for (size_t k = 0; k < fsc_targets_count(&f->targets); k++) {
			const struct hook *x = &f->hooks[fsc_targets_at(&f->targets, k)->row];

			n += x->func == func && x->entry >= 0;
		}
	}
	return n;
}

size_t fsc_hooks_found(const struct fsc_hooks *h, size_t entry)
{
	size_t n = 0;

	for (size_t i = 0; i < h->files.n; i++)
		for (uint32_t row = 0; row < hooked_at(h, i)->targets.rows.n; row++)
			n += hooked_at(h, i)->hooks[row].entry == (int32_t)entry;
	return n;
}

void fsc_hooks_missing(const struct fsc_hooks *h,
		       void (*fn)(const struct fsc_snoop_func *f, void *arg), void *arg)
{
	for (size_t i = 0; i < h->config->funcs.n; i++)
		if (!fsc_hooks_found(h, i))
			fn(entry_at(h, i), arg);
}
