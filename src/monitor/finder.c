/* What is searched for, and the files that it may be in. */
#include "monitor/finder_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/slurp.h"
#include "elf/elf.h"
#include "proc/libs.h"

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
	f->noted = FSC_VEC_INIT(struct fsc_noted);
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

void fsc_finder_drop_noted(struct fsc_finder *f)
{
	for (size_t i = 0; i < f->noted.n; i++)
		free(FSC_AT(struct fsc_noted, &f->noted, i)->path);
	f->noted.n = f->next = 0;
}

void fsc_finder_free(struct fsc_finder *f)
{
	if (!f)
		return;
	fsc_finder_drop_noted(f);
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

const struct fsc_snoop_func *fsc_finder_entry(const struct fsc_finder *f, size_t i)
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
	const struct fsc_snoop_func *e = fsc_finder_entry(f, i);
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

bool fsc_finder_may_have_unlisted(const struct fsc_finder *f, const struct fsc_noted *file)
{
	return file->program ||
	       (file->pid && f->anywhere.n && !fsc_filter_passes_all(&f->config->targets));
}

static int queue_file(struct fsc_finder *f, const struct fsc_noted *file, struct fsc_err *err)
{
	struct fsc_noted *n = fsc_vec_push(&f->noted);

	if (!n)
		return fsc_err_nomem(err);
	*n = *file;
	n->path = strdup(file->path);
	return n->path ? 0 : fsc_err_nomem(err);
}

void fsc_finder_remember(struct fsc_map *m, const void *key, size_t n, uint64_t value)
{
	uint64_t *at;

	if (m->n >= MOST_FILES)
		fsc_map_release(m);
	at = fsc_map_put(m, key, n, NULL);
	if (at)
		*at = value;
}

uint64_t fsc_finder_file_tag(dev_t dev, ino_t ino)
{
	return ino ^ dev << 32;
}

/* Device numbers without a major one are used again, see run/processes.c. */
static bool is_barren(const struct fsc_finder *f, dev_t dev, ino_t ino, const char *path)
{
	const uint64_t *tag = fsc_map_get(&f->barren, path, strlen(path));

	return major(dev) && tag && *tag == fsc_finder_file_tag(dev, ino);
}

bool fsc_finder_matters(struct fsc_finder *f, dev_t dev, ino_t ino, const char *path, bool program)
{
	const struct fsc_file_key key = {dev, ino};
	const struct fsc_noted file = {.pid = 1, .program = program && f->unlisted.n};

	if (fsc_map_get(&f->found, &key, sizeof(key)))
		return true;
	if (fsc_finder_may_have_unlisted(f, &file) && !is_barren(f, dev, ino, path))
		return true;
	if (fsc_map_get(&f->ignored, path, strlen(path)))
		return false;
	if (fsc_lib_index_has(f->libs, path))
		return true;
	fsc_finder_remember(&f->ignored, path, strlen(path), 0);
	return false;
}

int fsc_finder_note(struct fsc_finder *f, pid_t pid, const char *path, struct fsc_err *err)
{
	const struct fsc_noted file = {pid, (char *)path, f->unlisted.n && is_program(pid, path)};

	if (!fsc_finder_may_have_unlisted(f, &file) && !fsc_lib_index_has(f->libs, path))
		return 0;
	return queue_file(f, &file, err);
}

void fsc_finder_warn_once(struct fsc_finder *f, const char *what, const char *why)
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
			rc = queue_file(f, &(struct fsc_noted){.path = (char *)path}, err);
		else if (!name.glob)
			fsc_finder_warn_once(f, name.text,
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
