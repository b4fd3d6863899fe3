/* Files and functions: which may be in which, and what has been searched. */
#include "monitor/finder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/map.h"
#include "engine/inodes.h"
#include "monitor/lib_index.h"
#include "probe/uprobe.h"
#include "elf/elf.h"
#include "base/slurp.h"

/* A file and the process that mapped it; 0: none yet. */
struct noted {
	pid_t pid;
	char *path;
	bool program; /* the process's own program */
};

struct fsc_finder {
	const struct fsc_snoop_config *config;
	struct fsc_lib_index *libs;
	struct fsc_vec unlisted; /* size_t: entries that name no libraries */
	struct fsc_vec anywhere; /* size_t: those among them whose group has none either */
	struct fsc_inodes *inodes;
	struct fsc_vec ids;	 /* uint32_t, per entry of the configuration */
	struct fsc_map id_of;	 /* content of an entry -> its id */
	struct fsc_map searched; /* struct search_key -> bool */
	struct fsc_map found;	 /* struct file_key: files with functions, ever */
	struct fsc_map barren;	 /* path -> file_tag() of the file searched in vain lately */
	struct fsc_map ignored;	 /* paths of files that no entry has for a library */
	struct fsc_map warned;	 /* what has been warned of */
	struct fsc_vec noted;	 /* struct noted */
	size_t next;		 /* of those, to be searched */
	uint64_t last_inode;	 /* of the one searched last */
	uint32_t last_id;
};

struct search_key {
	uint64_t inode; /* its number */
	uint32_t id, pad;
};

/* A file as the kernel's records show it. */
struct file_key {
	uint64_t dev, ino;
};

enum { MOST_FILES = 65536 }; /* of each table of them; then it is made anew */

/* inodes: taken over. */
static struct fsc_finder *finder_with(struct fsc_inodes *inodes, struct fsc_err *err)
{
	struct fsc_finder *f = calloc(1, sizeof(*f));

	if (!f) {
		fsc_inodes_free(inodes);
		fsc_err_nomem(err);
		return NULL;
	}
	f->inodes = inodes;
	f->unlisted = FSC_VEC_INIT(size_t);
	f->anywhere = FSC_VEC_INIT(size_t);
	f->ids = FSC_VEC_INIT(uint32_t);
	f->noted = FSC_VEC_INIT(struct noted);
	return f;
}

int fsc_finder_new(struct fsc_finder **ret, struct fsc_err *err)
{
	struct fsc_inodes *inodes = NULL;
	int rc = fsc_inodes_new(&inodes, err);

	if (rc)
		return rc;
	*ret = finder_with(inodes, err);
	return *ret ? 0 : -ENOMEM;
}

static void drop_noted(struct fsc_finder *f)
{
	for (size_t i = 0; i < f->noted.n; i++)
		free(FSC_AT(struct noted, &f->noted, i)->path);
	f->noted.n = f->next = 0;
}

void fsc_finder_free(struct fsc_finder *f)
{
	if (!f)
		return;
	drop_noted(f);
	fsc_lib_index_free(f->libs);
	fsc_inodes_free(f->inodes);
	fsc_vec_release(&f->unlisted);
	fsc_vec_release(&f->anywhere);
	fsc_vec_release(&f->noted);
	fsc_vec_release(&f->ids);
	fsc_map_release(&f->id_of);
	fsc_map_release(&f->searched);
	fsc_map_release(&f->found);
	fsc_map_release(&f->barren);
	fsc_map_release(&f->ignored);
	fsc_map_release(&f->warned);
	free(f);
}

/* ---- entries ---- */

static const struct fsc_snoop_func *entry_at(const struct fsc_finder *f, size_t i)
{
	return FSC_AT(struct fsc_snoop_func, &f->config->funcs, i);
}

static int number_entry(struct fsc_finder *f, const struct fsc_snoop_func *e, struct fsc_err *err)
{
	uint32_t *slot = fsc_vec_push(&f->ids);
	struct fsc_buf b = {0};
	uint64_t *id;

	fsc_buf_printf(&b, "%s%c%s%c%s", e->group, 0, e->name, 0, e->symbol);
	for (size_t i = 0; i < e->libraries.n; i++)
		fsc_buf_printf(&b, "%c%s", 0, *FSC_AT(char *, &e->libraries, i));
	id = fsc_buf_failed(&b) || !slot ? NULL : fsc_map_put(&f->id_of, b.s, b.n, NULL);
	fsc_buf_release(&b);
	if (!id)
		return fsc_err_nomem(err);
	if (!*id)
		*id = ++f->last_id;
	*slot = (uint32_t)*id;
	return 0;
}

static int list_entry(struct fsc_finder *f, size_t i, struct fsc_err *err)
{
	const struct fsc_snoop_func *e = entry_at(f, i);
	int rc = number_entry(f, e, err);

	if (!rc && !e->libraries.n)
		rc = fsc_vec_add(&f->unlisted, &i, err);
	if (!rc && !e->libraries.n && !fsc_group_libraries(e->group))
		rc = fsc_vec_add(&f->anywhere, &i, err);
	return rc;
}

int fsc_finder_use(struct fsc_finder *f, const struct fsc_snoop_config *config, struct fsc_err *err)
{
	struct fsc_lib_index *libs = NULL;
	int rc = fsc_lib_index_new(config, &libs, err);

	if (rc)
		return rc;
	fsc_lib_index_free(f->libs);
	f->libs = libs;
	f->config = config;
	f->ids.n = f->unlisted.n = f->anywhere.n = 0;
	for (size_t i = 0; !rc && i < config->funcs.n; i++)
		rc = list_entry(f, i, err);
	return rc;
}

int fsc_finder_copy(const struct fsc_finder *f, const struct fsc_snoop_config *config,
		    struct fsc_finder **ret, struct fsc_err *err)
{
	struct fsc_finder *copy = finder_with(fsc_inodes_ref(f->inodes), err);
	int rc = 0;

	if (!copy)
		return -ENOMEM;
	copy->last_id = f->last_id;
	if (!fsc_map_copy(&f->id_of, &copy->id_of) ||
	    !fsc_map_copy(&f->searched, &copy->searched) ||
	    !fsc_map_copy(&f->found, &copy->found) || !fsc_map_copy(&f->warned, &copy->warned))
		rc = fsc_err_nomem(err);
	if (!rc)
		rc = fsc_finder_use(copy, config, err);
	if (rc)
		fsc_finder_free(copy);
	else
		*ret = copy;
	return rc;
}

uint32_t fsc_finder_id(const struct fsc_finder *f, size_t entry)
{
	return *FSC_AT(uint32_t, &f->ids, entry);
}

/* ---- files ---- */

/* By inode: inside a chroot the path is different. */
static bool is_program(pid_t pid, const char *path)
{
	char exe[64], inside[4200];
	struct stat a, b;

	if (!pid)
		return false;
	snprintf(exe, sizeof(exe), "/proc/%d/exe", pid);
	snprintf(inside, sizeof(inside), "/proc/%d/root%s", pid, path);
	return !stat(exe, &a) && !stat(inside, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* A function without a library may be in any file of a target, or only in programs if all processes
 * are targets: into those a library may be linked. */
static bool may_have_unlisted(const struct fsc_finder *f, const struct noted *file)
{
	return file->program ||
	       (file->pid && f->anywhere.n && !fsc_filter_passes_all(&f->config->targets));
}

static int queue_file(struct fsc_finder *f, const struct noted *file, struct fsc_err *err)
{
	struct noted *n = fsc_vec_push(&f->noted);

	if (!n)
		return fsc_err_nomem(err);
	*n = *file;
	n->path = strdup(file->path);
	return n->path ? 0 : fsc_err_nomem(err);
}

/* Notes a key, if there is memory for it: what is not known is looked at. */
static void remember(struct fsc_map *m, const void *key, size_t n, uint64_t value)
{
	uint64_t *at;

	if (m->n >= MOST_FILES)
		fsc_map_release(m);
	at = fsc_map_put(m, key, n, NULL);
	if (at)
		*at = value;
}

/* Tells files with the same path in different file systems apart. */
static uint64_t file_tag(dev_t dev, ino_t ino)
{
	return ino ^ dev << 32;
}

/* Device numbers without a major one are used again, see run/processes.c. */
static bool is_barren(const struct fsc_finder *f, dev_t dev, ino_t ino, const char *path)
{
	const uint64_t *tag = fsc_map_get(&f->barren, path, strlen(path));

	return major(dev) && tag && *tag == file_tag(dev, ino);
}

bool fsc_finder_matters(struct fsc_finder *f, dev_t dev, ino_t ino, const char *path, bool program)
{
	const struct file_key key = {dev, ino};
	const struct noted file = {.pid = 1, .program = program && f->unlisted.n};

	if (fsc_map_get(&f->found, &key, sizeof(key)))
		return true;
	if (may_have_unlisted(f, &file) && !is_barren(f, dev, ino, path))
		return true;
	if (fsc_map_get(&f->ignored, path, strlen(path)))
		return false;
	if (fsc_lib_index_has(f->libs, path))
		return true;
	remember(&f->ignored, path, strlen(path), 0);
	return false;
}

int fsc_finder_note(struct fsc_finder *f, pid_t pid, const char *path, struct fsc_err *err)
{
	const struct noted file = {pid, (char *)path, f->unlisted.n && is_program(pid, path)};

	if (!may_have_unlisted(f, &file) && !fsc_lib_index_has(f->libs, path))
		return 0;
	return queue_file(f, &file, err);
}

static void warn_once(struct fsc_finder *f, const char *what, const char *why)
{
	bool is_new = true;

	fsc_map_put(&f->warned, what, strlen(what), &is_new);
	if (is_new)
		fsc_log(FSC_LOG_WARN, "%s: %s", what, why);
}

struct noting {
	struct fsc_finder *f;
	struct fsc_err *err;
};

static int note_cached(const char *soname, const char *path, void *arg)
{
	const struct noting *n = arg;

	(void)soname;
	return fsc_finder_note(n->f, 0, path, n->err);
}

/* Queues the files that the configuration names. */
static int note_named(struct fsc_finder *f, struct fsc_err *err)
{
	struct fsc_lib_name name;
	int rc = fsc_lib_index_resolve(f->libs, err);

	for (size_t i = 0; !rc && fsc_lib_index_name(f->libs, i, &name); i++) {
		const char *path = name.text[0] == '/' ? name.text : name.real;

		if (name.real)
			rc = queue_file(f, &(struct noted){.path = (char *)path}, err);
		else if (!name.glob)
			warn_once(f, name.text,
				  "no such library; it will be watched once it exists");
	}
	return rc;
}

int fsc_finder_note_libraries(struct fsc_finder *f, struct fsc_err *err)
{
	struct noting n = {f, err};
	FSC_AUTO(fsc_freep) char *cache = NULL;
	size_t size = 0;
	int rc = note_named(f, err);

	fsc_map_release(&f->barren);
	fsc_map_release(&f->ignored);

	if (!rc && !fsc_slurp(AT_FDCWD, "/etc/ld.so.cache", &cache, &size, NULL))
		rc = fsc_ldcache_each(cache, size, note_cached, &n);
	return rc;
}

int fsc_finder_note_needed(struct fsc_finder *f, const char *program, struct fsc_err *err)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	int rc = fsc_libs_needed(program, &files, err);

	for (size_t i = 0; !rc && i < files.n; i++)
		rc = fsc_finder_note(f, 0, FSC_AT(struct fsc_libs_file, &files, i)->path, err);
	fsc_libs_release(&files);
	return rc;
}

/* ---- searching ---- */

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

static int choose_entries(struct fsc_finder *f, const struct noted *n, uint64_t inode,
			  struct fsc_vec *ret, struct fsc_err *err)
{
	struct choosing c = {f, inode, ret, err};
	int rc = fsc_lib_index_each(f->libs, n->path, choose_entry, &c);

	if (!rc && may_have_unlisted(f, n))
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
	struct fsc_map kept = {0};
	uint64_t *done;

	if (f->searched.n < MOST_FILES)
		return 0;
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
			warn_once(f, entry_at(f, entry)->name,
				  "another entry names the same function; it is counted there");
	}
	return 0;
}

static int search_file(struct fsc_finder *f, const struct fsc_libs_file *file,
		       const struct fsc_vec *chosen, struct fsc_targets *ret, struct fsc_err *err)
{
	const struct fsc_scope scope = {.pairs = true, .strangers = true};
	FSC_AUTO(fsc_freep) struct fsc_wanted *wanted = calloc(chosen->n + 1, sizeof(*wanted));
	size_t before = ret->rows.n;
	struct fsc_err why = {0};
	int rc;

	if (!wanted)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < chosen->n; i++)
		wanted[i].function = entry_at(f, *FSC_AT(size_t, chosen, i))->symbol;
	rc = fsc_uprobe_search(file, wanted, chosen->n, &scope, ret, &why);
	renumber_rows(ret, before, chosen);
	if (rc == -ENOMEM)
		return fsc_err_nomem(err);
	if (rc && fsc_lib_index_names(f->libs, file->name))
		warn_once(f, file->name, why.msg);
	else if (rc)
		fsc_log(FSC_LOG_DEBUG, "%s", why.msg);
	return rc ? 0 : warn_of_doubles(f, chosen, wanted, ret, before, err);
}

/* The path as the process sees it; if it has exited, as we do. */
static int open_noted(const struct noted *n, struct fsc_vec *files)
{
	struct fsc_libs_scope scope = {.pid = n->pid};

	if (n->pid && !fsc_libs_find(n->path, &scope, files, NULL))
		return 0;
	return fsc_libs_find(n->path, &(struct fsc_libs_scope){0}, files, NULL);
}

/* Barren is what was searched for all that may be in it: a program, where only programs have
 * functions without a library. */
static void remember_search(struct fsc_finder *f, const struct noted *n, const struct stat *st,
			    bool has_rows)
{
	const struct file_key key = {st->st_dev, st->st_ino};

	if (has_rows)
		remember(&f->found, &key, sizeof(key), 0);
	else if (n->program && !fsc_map_get(&f->found, &key, sizeof(key)))
		remember(&f->barren, n->path, strlen(n->path), file_tag(st->st_dev, st->st_ino));
}

static int search_open(struct fsc_finder *f, const struct noted *n,
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
		warn_once(f, n->path, "it is not a regular file, so it is not a library");
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

static int search_noted(struct fsc_finder *f, const struct noted *n, struct fsc_targets *ret,
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
	struct noted *n = FSC_AT(struct noted, &f->noted, f->next);
	int rc;

	f->last_inode = 0;
	ret->inode_of = fsc_inodes_number;
	ret->inode_arg = f->inodes;
	rc = search_noted(f, n, ret, err);
	ret->inode_of = NULL;
	free(n->path);
	n->path = NULL;
	if (++f->next == f->noted.n)
		drop_noted(f);
	return rc;
}

uint64_t fsc_finder_last_inode(const struct fsc_finder *f)
{
	return f->last_inode;
}
