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
	h->states = FSC_VEC_INIT(struct func_state);
	h->unused = FSC_VEC_INIT(uint32_t);
	h->retired = FSC_VEC_INIT(struct retired);
	h->undecided = FSC_VEC_INIT(struct verdict);
	h->refusals = FSC_VEC_INIT(struct fsc_refusal);
	fsc_writes_open(&h->writes);
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

static const struct fsc_func no_func = {
    .kind = "", .binary = "", .name = "", .symbol = "", .group = ""};

void fsc_hooks_free_file(struct fsc_hooks *h, struct hooked *f)
{
	for (uint32_t row = 0; f->part && h->hooked_at && row < f->targets.rows.n; row++) {
		h->hooked_at[fsc_session_first_row(f->part) + row] = NULL;
		fsc_live_set_func(h->live, fsc_session_first_row(f->part) + row, &no_func);
	}
	fsc_writes_unwatch(&h->writes, f);
	fsc_live_free(f->live);
	fsc_session_free(f->part);
	fsc_targets_release(&f->targets);
	free(f->hooks);
	free(f);
}

static void release_names(struct fsc_hooks *h, uint32_t func)
{
	const struct fsc_func *f = FSC_AT(struct fsc_func, &h->funcs, func);

	if (state_at(h, func)->unused)
		return;
	free((char *)f->group);
	free((char *)f->name);
	free((char *)f->symbol);
	free((char *)f->binary);
}

void fsc_hooks_free(struct fsc_hooks *h)
{
	if (!h)
		return;
	if (h->trying)
		fsc_hooks_abandon(h);
	for (size_t i = 0; i < h->files.n; i++)
		fsc_hooks_free_file(h, hooked_at(h, i));
	for (uint32_t i = 0; i < h->funcs.n; i++)
		release_names(h, i);
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
	fsc_vec_release(&h->states);
	fsc_vec_release(&h->unused);
	fsc_vec_release(&h->retired);
	fsc_map_release(&h->retired_at);
	fsc_vec_release(&h->refusals);
	fsc_map_release(&h->func_at);
	fsc_tally_release(&h->closed);
	fsc_finder_free(h->finder);
	fsc_writes_close(&h->writes);
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

void fsc_hooks_free_number(struct fsc_hooks *h, uint32_t func)
{
	release_names(h, func);
	*FSC_AT(struct fsc_func, &h->funcs, func) = no_func;
	state_at(h, func)->unused = true;
	fsc_vec_add(&h->unused, &func, NULL); /* otherwise it stays unused */
}

/* A number that is not used; its entry is empty. */
static int take_number(struct fsc_hooks *h, uint32_t *ret, struct fsc_err *err)
{
	if (h->unused.n) {
		*ret = *FSC_AT(uint32_t, &h->unused, --h->unused.n);
	} else {
		if (!fsc_vec_push(&h->states))
			return fsc_err_nomem(err);
		if (!fsc_vec_push(&h->funcs)) {
			h->states.n--;
			return fsc_err_nomem(err);
		}
		*ret = (uint32_t)h->funcs.n - 1;
	}
	*state_at(h, *ret) = (struct func_state){0};
	return 0;
}

static int copy_names(struct fsc_func *f, const struct fsc_func *names, struct fsc_err *err)
{
	*f = (struct fsc_func){.kind = names->kind,
			       .binary = strdup(names->binary),
			       .name = strdup(names->name),
			       .symbol = strdup(names->symbol),
			       .group = strdup(names->group)};
	return f->binary && f->name && f->symbol && f->group ? 0 : fsc_err_nomem(err);
}

void fsc_hooks_func_key(const struct fsc_func *f, struct fsc_buf *ret)
{
	fsc_buf_printf(ret, "%s%c%s%c%s%c%s", f->group, 0, f->name, 0, f->symbol, 0, f->binary);
}

int fsc_hooks_number_of(struct fsc_hooks *h, const struct fsc_func *names, uint32_t *ret,
			struct fsc_err *err)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf key = {0};
	bool is_new = false;
	uint64_t *at;
	int rc;

	fsc_hooks_func_key(names, &key);
	at = fsc_buf_failed(&key) ? NULL : fsc_map_put(&h->func_at, key.s, key.n, &is_new);
	if (!at)
		return fsc_err_nomem(err);
	if (is_new) {
		rc = take_number(h, ret, err);
		if (!rc && copy_names(FSC_AT(struct fsc_func, &h->funcs, *ret), names, err)) {
			fsc_hooks_free_number(h, *ret);
			rc = -ENOMEM;
		}
		if (rc) {
			fsc_map_remove(&h->func_at, key.s, key.n);
			return rc;
		}
		*at = *ret;
	}
	*ret = (uint32_t)*at;
	return 0;
}

int fsc_hooks_number(struct fsc_hooks *h, const struct fsc_snoop_func *e,
		     const struct fsc_target_row *row, uint32_t *ret, struct fsc_err *err)
{
	const struct fsc_func names = {.kind = row->kind,
				       .binary = row->binary,
				       .name = strpbrk(e->symbol, "*?[") ? row->name : e->name,
				       .symbol = row->symbol ? row->symbol : row->name,
				       .group = e->group};

	return fsc_hooks_number_of(h, &names, ret, err);
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

		for (size_t k = 0; !f->attaching && k < fsc_targets_count(&f->targets); k++) {
			const struct hook *x = &f->hooks[fsc_targets_at(&f->targets, k)->row];

			n += x->func == func && x->entry >= 0;
		}
	}
	return n;
}

size_t fsc_hooks_found(const struct fsc_hooks *h, size_t entry)
{
	size_t n = 0;

	for (size_t i = 0; i < h->files.n; i++) {
		const struct hooked *f = hooked_at(h, i);

		for (uint32_t row = 0; !f->attaching && row < f->targets.rows.n; row++)
			n += f->hooks[row].entry == (int32_t)entry;
	}
	return n;
}

void fsc_hooks_missing(const struct fsc_hooks *h,
		       void (*fn)(const struct fsc_snoop_func *f, void *arg), void *arg)
{
	for (size_t i = 0; i < h->config->funcs.n; i++)
		if (!fsc_hooks_found(h, i))
			fn(entry_at(h, i), arg);
}
