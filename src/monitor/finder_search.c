/* Searches queued files for functions, each file once for each. */
#include "monitor/finder_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "probe/uprobe.h"

struct search_key {
	uint64_t inode; /* its number */
	uint32_t id, pad;
};

struct choosing {
	struct fsc_finder *f;
	uint64_t inode;
	struct fsc_vec *chosen; /* size_t */
	struct fsc_err *err;
};

/* An entry to search for in a file, unless that was done before. */
static int choose_entry(size_t entry, void *arg)
{
	const struct choosing *c = arg;
	struct search_key key = {c->inode, fsc_finder_id(c->f, entry), 0};
	uint64_t *done = fsc_map_put(&c->f->searched, &key, sizeof(key), NULL);

	if (!done)
		return fsc_err_nomem(c->err);
	if (*done)
		return 0;
	*done = 1;
	return fsc_vec_add(c->chosen, &entry, c->err);
}

static int choose_listed(const struct fsc_vec *entries, struct choosing *c)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < entries->n; i++)
		rc = choose_entry(*FSC_AT(size_t, entries, i), c);
	return rc;
}

static int choose_entries(struct fsc_finder *f, const struct fsc_noted *n, uint64_t inode,
			  struct fsc_vec *ret, struct fsc_err *err)
{
	struct choosing c = {f, inode, ret, err};
	int rc = fsc_lib_index_each(f->libs, n->path, choose_entry, &c);

	if (!rc && fsc_finder_may_have_unlisted(f, n))
		rc = choose_listed(n->program ? &f->unlisted : &f->anywhere, &c);
	return rc ? fsc_err_nomem(err) : 0;
}

void fsc_finder_forget(struct fsc_finder *f, const struct fsc_target_file *file, uint32_t id)
{
	struct search_key key = {file->inode, id, 0};

	fsc_map_remove(&f->searched, &key, sizeof(key));
}

int fsc_finder_trim(struct fsc_finder *f, bool (*is_open)(uint64_t inode, void *arg), void *arg,
		    struct fsc_err *err)
{
	int rc = fsc_inodes_trim(f->inodes, MOST_INODES, is_open, arg, err);
	struct fsc_map kept = {0};
	uint64_t *done;

	if (rc || f->searched.n < MOST_FILES)
		return rc;
	for (size_t i = 0; i < f->searched.cap; i++) {
		const struct search_key *key = f->searched.slots[i].key;

		if (!key || !is_open(key->inode, arg))
			continue;
		done = fsc_map_put(&kept, key, sizeof(*key), NULL);
		if (!done) {
			fsc_map_release(&kept);
			return fsc_err_nomem(err);
		}
		*done = f->searched.slots[i].value;
	}
	fsc_map_release(&f->searched);
	f->searched = kept;
	return 0;
}

/* Rows that a search adds refer to the list it searched for. */
static void renumber_rows(struct fsc_targets *t, size_t from, const struct fsc_vec *chosen)
{
	for (size_t i = from; i < t->rows.n; i++) {
		struct fsc_target_row *row = fsc_targets_row(t, i);

		row->probe = (uint32_t)*FSC_AT(size_t, chosen, row->probe);
	}
}

/* Warns of functions whose places belong to rows of other entries. */
static int warn_of_doubles(struct fsc_finder *f, const struct fsc_vec *chosen,
			   const struct fsc_wanted *wanted, const struct fsc_targets *t,
			   size_t from, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) bool *has_row = calloc(f->config->funcs.n + 1, sizeof(*has_row));

	if (!has_row)
		return fsc_err_nomem(err);
	for (size_t i = from; i < t->rows.n; i++)
		has_row[fsc_targets_row(t, i)->probe] = true;
	for (size_t i = 0; i < chosen->n; i++) {
		size_t entry = *FSC_AT(size_t, chosen, i);

		if (wanted[i].found && !has_row[entry])
			fsc_finder_warn_once(
			    f, fsc_finder_entry(f, entry)->name,
			    "another entry names the same function; it is counted there");
	}
	return 0;
}

/* Perhaps it is being written: the next scan tries again. */
static void forget_failed(struct fsc_finder *f, const struct fsc_vec *chosen)
{
	for (size_t i = 0; i < chosen->n; i++) {
		const size_t entry = *FSC_AT(size_t, chosen, i);
		const struct search_key key = {f->last_inode, fsc_finder_id(f, entry), 0};

		fsc_map_remove(&f->searched, &key, sizeof(key));
	}
}

static int search_file(struct fsc_finder *f, const struct fsc_libs_file *file,
		       const struct fsc_vec *chosen, struct fsc_targets *ret, struct fsc_err *err)
{
	const struct fsc_scope scope = {
	    .pairs = true, .strangers = true, .unwinds = f->config->dwarf};
	FSC_AUTO(fsc_freep) struct fsc_wanted *wanted = calloc(chosen->n + 1, sizeof(*wanted));
	size_t before = ret->rows.n;
	struct fsc_err why = {0};
	int rc;

	if (!wanted)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < chosen->n; i++)
		wanted[i].function = fsc_finder_entry(f, *FSC_AT(size_t, chosen, i))->symbol;
	rc = fsc_uprobe_search(file, wanted, chosen->n, &scope, ret, &why);
	renumber_rows(ret, before, chosen);
	if (rc == -ENOMEM)
		return fsc_err_nomem(err);
	if (rc && fsc_lib_index_names(f->libs, file->name))
		fsc_finder_warn_once(f, file->name, why.msg);
	else if (rc)
		fsc_log(FSC_LOG_DEBUG, "%s", why.msg);
	if (rc)
		forget_failed(f, chosen);
	return rc ? 0 : warn_of_doubles(f, chosen, wanted, ret, before, err);
}

/* The path as the process sees it; if it has exited, as we do. */
static int open_noted(const struct fsc_noted *n, struct fsc_vec *files)
{
	struct fsc_libs_scope scope = {.pid = n->pid};

	if (n->pid && !fsc_libs_find(n->path, &scope, files, NULL))
		return 0;
	return fsc_libs_find(n->path, &(struct fsc_libs_scope){0}, files, NULL);
}

/* Barren is what was searched for all that may be in it: a program, where only programs have
 * functions without a library. */
static void remember_search(struct fsc_finder *f, const struct fsc_noted *n, const struct stat *st,
			    bool has_rows)
{
	const struct fsc_file_key key = {st->st_dev, st->st_ino};

	if (has_rows)
		fsc_finder_remember(&f->found, &key, sizeof(key), 0);
	else if (n->program && !fsc_map_get(&f->found, &key, sizeof(key)))
		fsc_finder_remember(&f->barren, n->path, strlen(n->path),
				    fsc_finder_file_tag(st->st_dev, st->st_ino));
}

static int search_open(struct fsc_finder *f, const struct fsc_noted *n,
		       const struct fsc_libs_file *file, struct fsc_targets *ret,
		       struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec chosen = FSC_VEC_INIT(size_t);
	const size_t before = ret->rows.n;
	uint64_t inode;
	struct stat st;
	int rc;

	if (stat(file->path, &st))
		return 0;
	if (!S_ISREG(st.st_mode) && fsc_lib_index_names(f->libs, n->path))
		fsc_finder_warn_once(f, n->path,
				     "it is not a regular file, so it is not a library");
	if (!S_ISREG(st.st_mode) || fsc_inodes_number(f->inodes, file->path, &inode, NULL))
		return 0;
	f->last_inode = inode;
	rc = choose_entries(f, n, inode, &chosen, err);
	if (!rc && chosen.n)
		rc = search_file(f, file, &chosen, ret, err);
	if (!rc)
		remember_search(f, n, &st, ret->rows.n > before);
	return rc;
}

static int search_noted(struct fsc_finder *f, const struct fsc_noted *n, struct fsc_targets *ret,
			struct fsc_err *err)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	int rc = 0;

	if (!open_noted(n, &files) && files.n)
		rc = search_open(f, n, FSC_AT(struct fsc_libs_file, &files, 0), ret, err);
	fsc_libs_release(&files);
	return rc;
}

bool fsc_finder_busy(const struct fsc_finder *f)
{
	return f->noted.n;
}

int fsc_finder_search_next(struct fsc_finder *f, struct fsc_targets *ret, struct fsc_err *err)
{
	struct fsc_noted *n = FSC_AT(struct fsc_noted, &f->noted, f->next);
	int rc;

	f->last_inode = 0;
	ret->inode_of = fsc_inodes_number;
	ret->inode_arg = f->inodes;
	rc = search_noted(f, n, ret, err);
	ret->inode_of = NULL;
	free(n->path);
	n->path = NULL;
	if (++f->next == f->noted.n)
		fsc_finder_drop_noted(f);
	return rc;
}

uint64_t fsc_finder_last_inode(const struct fsc_finder *f)
{
	return f->last_inode;
}
