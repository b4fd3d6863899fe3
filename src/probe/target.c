/* struct fsc_targets: one entry per place, one row per function, nothing twice. */
#include "probe/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"

void fsc_targets_init(struct fsc_targets *t)
{
	*t = (struct fsc_targets){
	    .at = FSC_VEC_INIT(struct fsc_target),
	    .rows = FSC_VEC_INIT(struct fsc_target_row),
	    .files = FSC_VEC_INIT(struct fsc_target_file),
	    .skipped = FSC_VEC_INIT(struct fsc_skipped),
	};
}

void fsc_targets_release(struct fsc_targets *t)
{
	for (size_t i = 0; i < t->at.n; i++) {
		free(FSC_AT(struct fsc_target, &t->at, i)->aliases);
		free(FSC_AT(struct fsc_target, &t->at, i)->exits);
		free(FSC_AT(struct fsc_target, &t->at, i)->usdt_args);
	}
	for (size_t i = 0; i < t->rows.n; i++) {
		struct fsc_target_row *r = fsc_targets_row(t, i);

		free(r->binary);
		free(r->name);
		free(r->symbol);
	}
	for (size_t i = 0; i < t->files.n; i++) {
		free(FSC_AT(struct fsc_target_file, &t->files, i)->path);
		free(FSC_AT(struct fsc_target_file, &t->files, i)->name);
	}
	for (size_t i = 0; i < t->skipped.n; i++) {
		free(FSC_AT(struct fsc_skipped, &t->skipped, i)->name);
		free(FSC_AT(struct fsc_skipped, &t->skipped, i)->why);
	}
	fsc_vec_release(&t->at);
	fsc_vec_release(&t->rows);
	fsc_vec_release(&t->files);
	fsc_vec_release(&t->skipped);
	fsc_map_release(&t->row_index);
	fsc_map_release(&t->site_index);
	fsc_map_release(&t->known);
}

static bool is_same_file(const struct fsc_target_file *f, const struct stat *st, uint64_t inode)
{
	return inode ? f->inode == inode : f->dev == st->st_dev && f->ino == st->st_ino;
}

int fsc_targets_file(struct fsc_targets *t, const char *path, const char *name, uint32_t *ret,
		     struct fsc_err *err)
{
	struct fsc_target_file *f;
	uint64_t inode = 0;
	struct stat st;
	int rc;

	if (stat(path, &st))
		return fsc_err_sys(err, errno, "cannot look at '%s'", path);
	rc = t->inode_of ? t->inode_of(t->inode_arg, path, &inode, err) : 0;
	if (rc)
		return rc;
	for (size_t i = 0; i < t->files.n; i++) {
		f = FSC_AT(struct fsc_target_file, &t->files, i);
		if (is_same_file(f, &st, inode)) {
			*ret = (uint32_t)i;
			return 0;
		}
	}
	f = fsc_vec_push(&t->files);
	if (!f)
		return fsc_err_nomem(err);
	f->inode = inode;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->path = strdup(path);
	f->name = strdup(name);
	if (!f->path || !f->name)
		return fsc_err_nomem(err);
	*ret = (uint32_t)(t->files.n - 1);
	return 0;
}

/* The number of the row with this key, the next one if it is new. NULL: out of memory. */
static uint64_t *put_row(struct fsc_targets *t, const struct fsc_buf *key, bool *is_new)
{
	uint64_t *index =
	    fsc_buf_failed(key) ? NULL : fsc_map_put(&t->row_index, key->s, key->n, is_new);

	if (index && *is_new)
		*index = t->rows.n;
	return index;
}

static int find_row(struct fsc_targets *t, const char *kind, const char *binary, const char *name,
		    const char *symbol, uint32_t *ret, struct fsc_err *err)
{
	struct fsc_buf key = {0};
	struct fsc_target_row *r;
	uint64_t *index, first;
	bool is_new;

	/* Ended by zero bytes: names may contain anything else. */
	fsc_buf_add(&key, kind, strlen(kind) + 1);
	fsc_buf_add(&key, binary, strlen(binary) + 1);
	fsc_buf_add(&key, name, strlen(name) + 1);
	if (symbol)
		fsc_buf_puts(&key, symbol);
	index = put_row(t, &key, &is_new);
	first = index ? *index : 0;
	if (index && t->apart) {
		fsc_buf_printf(&key, "%c%u.%zu", 0, t->probe, t->at.n);
		index = put_row(t, &key, &is_new);
	}
	fsc_buf_release(&key);
	if (!index)
		return fsc_err_nomem(err);
	if (!is_new) {
		*ret = (uint32_t)*index;
		return 0;
	}
	r = fsc_vec_push(&t->rows);
	if (!r)
		return fsc_err_nomem(err);
	*ret = (uint32_t)*index;
	r->kind = kind;
	r->first = (uint32_t)first;
	r->probe = t->probe;
	r->binary = strdup(binary);
	r->name = strdup(name);
	r->symbol = symbol && strcmp(symbol, name) ? strdup(symbol) : NULL;
	if (!r->binary || !r->name || (symbol && strcmp(symbol, name) && !r->symbol))
		return fsc_err_nomem(err);
	return 0;
}

/* Whether name is one of the aliases, which are joined by ", ". */
static bool has_alias(const struct fsc_target *at, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = at->aliases; p; p = strstr(p, ", ")) {
		p += p != at->aliases ? 2 : 0;
		if (!strncmp(p, name, n) && (!p[n] || !strncmp(p + n, ", ", 2)))
			return true;
	}
	return false;
}

static int add_alias(const struct fsc_targets *t, struct fsc_target *at, const char *name,
		     struct fsc_err *err)
{
	struct fsc_buf b = {0};

	if (!strcmp(fsc_targets_row(t, at->row)->name, name) || has_alias(at, name))
		return 0;
	if (at->aliases)
		fsc_buf_printf(&b, "%s, ", at->aliases);
	fsc_buf_puts(&b, name);
	if (fsc_buf_failed(&b)) {
		fsc_buf_release(&b);
		return fsc_err_nomem(err);
	}
	free(at->aliases);
	at->aliases = b.s;
	return 0;
}

int fsc_targets_add(struct fsc_targets *t, struct fsc_target *place, const char *kind,
		    const char *binary, const char *name, const char *symbol, struct fsc_err *err)
{
	/* Two names of one place are one target, unless they are names of different things: a
	 * function may begin with a USDT probe. A kernel function whose address is hidden is
	 * identified by its name's row. */
	struct {
		uint32_t site, ret, file, event;
		uint64_t offset, addr, row, probe, usdt;
	} key = {place->site,	       place->ret,  place->file, (uint32_t)place->event_id,
		 place->offset,	       place->addr, 0,		 t->apart ? t->probe : 0,
		 !strcmp(kind, "usdt")};
	struct fsc_target *at;
	uint32_t row = 0;
	uint64_t *index;
	bool is_new;
	int rc;

	if (place->site == FSC_SITE_KERNEL && !place->addr) {
		rc = find_row(t, kind, binary, name, symbol, &row, err);
		if (rc)
			return rc;
		key.row = row;
	}
	index = fsc_map_put(&t->site_index, &key, sizeof(key), &is_new);
	if (!index)
		return fsc_err_nomem(err);
	if (!is_new)
		return add_alias(t, fsc_targets_at(t, *index), name, err);
	rc = find_row(t, kind, binary, name, symbol, &row, err);
	if (rc)
		return rc;
	at = fsc_vec_push(&t->at);
	if (!at)
		return fsc_err_nomem(err);
	*index = t->at.n - 1;
	*at = *place;
	place->exits = NULL; /* handed over */
	place->usdt_args = NULL;
	at->row = row;
	at->aliases = NULL;
	return 0;
}

int fsc_targets_skip(struct fsc_targets *t, const char *name, const char *why, struct fsc_err *err)
{
	struct fsc_skipped *s = fsc_vec_push(&t->skipped);

	if (!s)
		return fsc_err_nomem(err);
	s->name = strdup(name);
	s->why = strdup(why);
	return s->name && s->why ? 0 : fsc_err_nomem(err);
}

bool fsc_scope_excluded(const struct fsc_scope *scope, const char *name)
{
	for (size_t i = 0; i < scope->n_excludes; i++)
		if (fsc_pattern_match(&scope->excludes[i], name))
			return true;
	return false;
}
