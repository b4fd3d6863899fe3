/* From the libraries of entries to an index of them. */
#include "monitor/lib_index.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"

/* How long a library's links are trusted: a thousand paths take milliseconds to follow. */
#define RESOLVE_EVERY_NS 1000000000ull

/* What entries name: a base name, a path, or a glob of either. */
struct pattern {
	char *text;
	char *real; /* of a path: the file it leads to; NULL: none */
	bool is_path, is_glob;
	size_t literal;		/* bytes before the first special character */
	size_t same_real;	/* number of another one that leads to the same file; 0: none */
	struct fsc_vec entries; /* size_t */
};

struct fsc_lib_index {
	struct fsc_vec all;   /* struct pattern; its number is the index + 1 */
	struct fsc_map texts; /* text -> number */
	struct fsc_map reals; /* file -> number of the last one that leads to it */
	struct fsc_vec globs; /* size_t, numbers */
	struct fsc_vec paths; /* likewise */
	uint64_t resolved_ns;
};

static struct pattern *pattern_at(const struct fsc_lib_index *x, size_t number)
{
	return FSC_AT(struct pattern, &x->all, number - 1);
}

/* ---- filling ---- */

static int add_pattern(struct fsc_lib_index *x, const char *text, struct fsc_err *err)
{
	const size_t literal = strcspn(text, "*?[\\");
	struct pattern p = {.text = strdup(text),
			    .is_path = strchr(text, '/'),
			    .is_glob = text[literal],
			    .literal = literal,
			    .entries = FSC_VEC_INIT(size_t)};
	size_t number = x->all.n + 1;
	int rc = p.text ? fsc_vec_add(&x->all, &p, err) : fsc_err_nomem(err);

	if (rc)
		free(p.text);
	if (!rc && p.is_glob)
		rc = fsc_vec_add(&x->globs, &number, err);
	if (!rc && p.is_path)
		rc = fsc_vec_add(&x->paths, &number, err);
	return rc;
}

static int add_library(struct fsc_lib_index *x, const char *text, size_t entry, struct fsc_err *err)
{
	uint64_t *number = fsc_map_put(&x->texts, text, strlen(text), NULL);
	int rc;

	if (!number)
		return fsc_err_nomem(err);
	if (!*number) {
		rc = add_pattern(x, text, err);
		if (rc)
			return rc;
		*number = x->all.n;
	}
	return fsc_vec_add(&pattern_at(x, *number)->entries, &entry, err);
}

static int add_entry(struct fsc_lib_index *x, const struct fsc_snoop_func *e, size_t entry,
		     struct fsc_err *err)
{
	const char *const *usual = e->libraries.n ? NULL : fsc_group_libraries(e->group);
	int rc = 0;

	for (size_t i = 0; !rc && i < e->libraries.n; i++)
		rc = add_library(x, *FSC_AT(char *, &e->libraries, i), entry, err);
	for (; !rc && usual && *usual; usual++)
		rc = add_library(x, *usual, entry, err);
	return rc;
}

int fsc_lib_index_new(const struct fsc_snoop_config *config, struct fsc_lib_index **ret,
		      struct fsc_err *err)
{
	struct fsc_lib_index *x = calloc(1, sizeof(*x));
	int rc = 0;

	if (!x)
		return fsc_err_nomem(err);
	x->all = FSC_VEC_INIT(struct pattern);
	x->globs = FSC_VEC_INIT(size_t);
	x->paths = FSC_VEC_INIT(size_t);
	for (size_t i = 0; !rc && i < config->funcs.n; i++)
		rc = add_entry(x, FSC_AT(struct fsc_snoop_func, &config->funcs, i), i, err);
	if (!rc)
		rc = fsc_lib_index_resolve(x, err);
	if (rc)
		fsc_lib_index_free(x);
	else
		*ret = x;
	return rc;
}

void fsc_lib_index_free(struct fsc_lib_index *x)
{
	if (!x)
		return;
	for (size_t i = 1; i <= x->all.n; i++) {
		struct pattern *p = pattern_at(x, i);

		free(p->text);
		free(p->real);
		fsc_vec_release(&p->entries);
	}
	fsc_vec_release(&x->all);
	fsc_vec_release(&x->globs);
	fsc_vec_release(&x->paths);
	fsc_map_release(&x->texts);
	fsc_map_release(&x->reals);
	free(x);
}

/* ---- links ---- */

int fsc_lib_index_resolve(struct fsc_lib_index *x, struct fsc_err *err)
{
	fsc_map_release(&x->reals);
	x->resolved_ns = fsc_clock_mono();
	for (size_t i = 0; i < x->paths.n; i++) {
		size_t number = *FSC_AT(size_t, &x->paths, i);
		struct pattern *p = pattern_at(x, number);
		uint64_t *last;

		free(p->real);
		p->real = realpath(p->text, NULL);
		p->same_real = 0;
		if (!p->real)
			continue;
		last = fsc_map_put(&x->reals, p->real, strlen(p->real), NULL);
		if (!last)
			return fsc_err_nomem(err);
		p->same_real = *last;
		*last = number;
	}
	return 0;
}

bool fsc_lib_index_name(const struct fsc_lib_index *x, size_t i, struct fsc_lib_name *ret)
{
	const struct pattern *p;

	if (i >= x->paths.n)
		return false;
	p = pattern_at(x, *FSC_AT(size_t, &x->paths, i));
	*ret = (struct fsc_lib_name){p->text, p->real, p->is_glob};
	return true;
}

bool fsc_lib_index_names(const struct fsc_lib_index *x, const char *path)
{
	return fsc_map_get(&x->texts, path, strlen(path));
}

/* ---- looking up ---- */

static bool glob_matches(const struct pattern *p, const char *path, const char *base)
{
	const char *text = p->is_path ? path : base;

	return !strncmp(p->text, text, p->literal) && !fnmatch(p->text, text, 0);
}

typedef int (*pattern_fn)(const struct pattern *p, void *arg);

static int visit_text(const struct fsc_lib_index *x, const char *text, pattern_fn fn, void *arg)
{
	const uint64_t *number = fsc_map_get(&x->texts, text, strlen(text));

	return number && !pattern_at(x, *number)->is_glob ? fn(pattern_at(x, *number), arg) : 0;
}

static int visit_matching(struct fsc_lib_index *x, const char *path, pattern_fn fn, void *arg)
{
	const char *base = fsc_str_base(path);
	const uint64_t *real;
	int rc = visit_text(x, path, fn, arg);

	if (!rc && base != path)
		rc = visit_text(x, base, fn, arg);
	if (!rc && x->paths.n && fsc_clock_mono() - x->resolved_ns > RESOLVE_EVERY_NS)
		rc = fsc_lib_index_resolve(x, NULL);
	real = fsc_map_get(&x->reals, path, strlen(path));
	for (size_t n = real ? *real : 0; !rc && n; n = pattern_at(x, n)->same_real)
		rc = fn(pattern_at(x, n), arg);
	for (size_t i = 0; !rc && i < x->globs.n; i++) {
		const struct pattern *p = pattern_at(x, *FSC_AT(size_t, &x->globs, i));

		if (glob_matches(p, path, base))
			rc = fn(p, arg);
	}
	return rc;
}

struct each {
	int (*fn)(size_t entry, void *arg);
	void *arg;
};

static int visit_entries(const struct pattern *p, void *arg)
{
	const struct each *e = arg;
	int rc = 0;

	for (size_t i = 0; !rc && i < p->entries.n; i++)
		rc = e->fn(*FSC_AT(size_t, &p->entries, i), e->arg);
	return rc;
}

int fsc_lib_index_each(struct fsc_lib_index *x, const char *path,
		       int (*fn)(size_t entry, void *arg), void *arg)
{
	struct each e = {fn, arg};

	return visit_matching(x, path, visit_entries, &e);
}

static int stop_at_first(const struct pattern *p, void *arg)
{
	(void)p;
	(void)arg;
	return 1;
}

bool fsc_lib_index_has(struct fsc_lib_index *x, const char *path)
{
	return visit_matching(x, path, stop_at_first, NULL);
}
