/* Libraries by short name on disk: in the directories the dynamic loader looks into, and in its
 * cache. Which of these places count, and in which order, is decided in libs.c. */
#include "proc/libs_priv.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/slurp.h"

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "riscv64-linux-gnu"
#endif

#define SYSTEM_DIRS                                                                                \
	"/lib/" MULTIARCH ":/usr/lib/" MULTIARCH ":/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib"

/* Development packages put linker scripts under library names: look at the first bytes. */
static bool is_elf(const char *path, struct stat *st)
{
	FSC_AUTO(fsc_closep) int fd = -1;
	char magic[SELFMAG];

	if (stat(path, st) || !S_ISREG(st->st_mode))
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd >= 0 && pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       !memcmp(magic, ELFMAG, SELFMAG);
}

static bool was_seen(const struct fsc_search *s, const struct stat *st)
{
	for (size_t i = 0; i < s->seen.n; i++) {
		const struct fsc_file_id *id = FSC_AT(struct fsc_file_id, &s->seen, i);

		if (id->dev == st->st_dev && id->ino == st->st_ino)
			return true;
	}
	return false;
}

int fsc_search_add(struct fsc_search *s, const char *name, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *path = fsc_root_path(s->root, name);
	struct fsc_file_id *id;
	struct stat st;

	if (!path && errno == ENOMEM)
		return fsc_err_nomem(err);
	if (!path || !is_elf(path, &st) || was_seen(s, &st))
		return 0;
	id = fsc_vec_push(&s->seen);
	if (!id)
		return fsc_err_nomem(err);
	*id = (struct fsc_file_id){.dev = st.st_dev, .ino = st.st_ino};
	return fsc_libs_push(s->ret, path, name, s->root, err);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The full names of the directory's matching files, sorted. */
static int list_matches(struct fsc_search *s, const char *path, const char *dir,
			struct fsc_vec *names, struct fsc_err *err)
{
	DIR *d = opendir(path);
	struct dirent *de;

	if (!d)
		return 0;
	while ((de = readdir(d))) {
		struct fsc_buf full = {0};
		char **place;

		if (!strstr(de->d_name, ".so") || !fsc_search_match(s, de->d_name))
			continue;
		fsc_buf_printf(&full, "%s/%s", dir, de->d_name);
		place = fsc_vec_push(names);
		if (!place || fsc_buf_failed(&full)) {
			fsc_buf_release(&full);
			closedir(d);
			return fsc_err_nomem(err);
		}
		*place = full.s;
	}
	closedir(d);
	if (names->n)
		qsort(names->data, names->n, sizeof(char *), by_text);
	return 0;
}

int fsc_search_dir(struct fsc_search *s, const char *dir, struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release_owned) struct fsc_vec names = FSC_VEC_INIT(char *);
	FSC_AUTO(fsc_freep) char *path = fsc_root_path(s->root, dir);
	int rc;

	if (!path)
		return errno == ENOMEM ? fsc_err_nomem(err) : 0;
	rc = list_matches(s, path, dir, &names, err);
	for (size_t i = 0; !rc && i < names.n; i++)
		rc = fsc_search_add(s, *FSC_AT(char *, &names, i), err);
	return rc;
}

/* Writes one element of a path list with $ORIGIN replaced; false if it holds another variable. */
static bool expand(const char *element, const char *origin, struct fsc_buf *ret)
{
	while (*element) {
		size_t skip;

		if (*element != '$') {
			fsc_buf_putc(ret, *element++);
			continue;
		}
		skip = !strncmp(element, "$ORIGIN", 7)	   ? 7
		       : !strncmp(element, "${ORIGIN}", 9) ? 9
							   : 0;
		if (!skip || !origin)
			return false;
		fsc_buf_puts(ret, origin);
		element += skip;
	}
	if (!ret->n)
		fsc_buf_putc(ret, '.');
	return !fsc_buf_failed(ret);
}

int fsc_search_path(struct fsc_search *s, const char *list, const char *origin, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *copy = strdup(list);
	size_t before = s->ret->n;
	char *element, *rest = copy;

	if (!copy)
		return fsc_err_nomem(err);
	while (s->ret->n == before && (element = strsep(&rest, ":;"))) {
		FSC_AUTO(fsc_buf_release) struct fsc_buf dir = {0};
		int rc = expand(element, origin, &dir) ? fsc_search_dir(s, dir.s, err) : 0;

		if (fsc_buf_failed(&dir))
			rc = fsc_err_nomem(err);
		if (rc)
			return rc;
	}
	return 0;
}

struct cache_walk {
	struct fsc_search *s;
	struct fsc_err *err;
};

static int visit_cached(const char *soname, const char *path, void *arg)
{
	struct cache_walk *w = arg;

	return fsc_search_match(w->s, soname) ? fsc_search_add(w->s, path, w->err) : 0;
}

int fsc_search_system(struct fsc_search *s, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *path = fsc_root_path(s->root, "/etc/ld.so.cache");
	FSC_AUTO(fsc_freep) char *cache = NULL;
	struct cache_walk w = {.s = s, .err = err};
	size_t n = 0, before = s->ret->n;
	int rc = !path && errno == ENOMEM ? -ENOMEM : 0;

	if (path)
		rc = fsc_slurp(AT_FDCWD, path, &cache, &n, NULL);
	if (rc == -ENOMEM)
		return fsc_err_nomem(err);
	rc = cache ? fsc_ldcache_each(cache, n, visit_cached, &w) : 0;
	if (rc || s->ret->n > before)
		return rc;
	return fsc_search_path(s, SYSTEM_DIRS, NULL, err);
}
