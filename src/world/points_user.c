/* Points in user code: uprobe, uretprobe, usdt. Which files are meant is found out here; places in
 * a file are found by probe/, which also says what must not be probed. */
#include <errno.h>
#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf.h"
#include "probe/kind.h"
#include "proc/libs.h"
#include "world/machine_priv.h"

/* What one probe asks for. */
struct user_search {
	const struct fsc_written *w;
	struct fsc_matches *to;
	const struct fsc_kind *kind;
	const char *target; /* as written */
	const char *lang;   /* "cpp", or NULL */
	const char *space;  /* usdt: provider, or NULL */
	const char *func;
	uint64_t offset, address;
	unsigned line;
	size_t searched;      /* files */
	struct fsc_err first; /* of the files that had nothing */
};

static bool is_language(const char *text)
{
	return !strcmp(text, "cpp");
}

static struct fsc_scope scope_of(const struct fsc_machine *m)
{
	return (struct fsc_scope){
	    .pids = m->opts.pids,
	    .n_pids = m->opts.n_pids,
	    .command = m->opts.command,
	    .strangers = !m->opts.n_pids,
	};
}

/* ---- from targets to points ---- */

static const char *shown_symbol(const struct fsc_target_row *row)
{
	return row->symbol ? row->symbol : row->name;
}

/* How the probe is called, with its wildcards replaced. path: of the file. */
static const char *point_name(struct user_search *s, const char *path, const char *func,
			      struct fsc_err *err)
{
	return fsc_machine_text(s->to->m, err, "%s:%s%s%s%c%s", s->w->provider->name, path,
				s->lang ? ":" : "", s->lang ? s->lang : "", s->line ? '@' : ':',
				func);
}

static int add_point(struct user_search *s, const struct fsc_targets *t, size_t i, const char *path,
		     struct fsc_err *err)
{
	const struct fsc_target *at = fsc_targets_at(t, i);
	const struct fsc_target_row *row = fsc_targets_row(t, at->row);
	const struct fsc_machine_opts *o = &s->to->m->opts;
	bool usdt = s->w->provider->kind == FSC_POINT_USDT;
	const char *symbol = shown_symbol(row), *colon = usdt ? strchr(symbol, ':') : NULL;
	struct fsc_point p = {
	    .kind = s->w->provider->kind,
	    .target = path,
	    .space = s->lang,
	    .func = colon ? colon + 1 : symbol,
	    .address = at->offset,
	    .offset = s->offset,
	    .ref_ctr = at->ref_ctr,
	    .pid = o->n_pids == 1 ? o->pids[0] : 0,
	    .usdt_args = at->usdt_args,
	    .btf_fd = -1,
	    .targets = t,
	    .place = (uint32_t)i,
	};

	if (colon) {
		p.space = fsc_machine_text(s->to->m, err, "%.*s", (int)(colon - symbol), symbol);
		if (!p.space)
			return -ENOMEM;
	}
	p.name = point_name(s, path, symbol, err);
	return fsc_matches_add(s->to, &p, err);
}

/* Everything that matched turned out not to be probeable. */
static int nothing_left(const struct fsc_targets *t, struct fsc_err *err)
{
	const struct fsc_skipped *first = FSC_AT(struct fsc_skipped, &t->skipped, 0);

	if (!t->skipped.n)
		return 0;
	if (t->skipped.n == 1)
		return fsc_err_set(err, ENOTSUP, "'%s' cannot be probed: %s", first->name,
				   first->why);
	return fsc_err_set(err, ENOTSUP,
			   "none of %zu functions can be probed, '%s' for example: %s",
			   t->skipped.n, first->name, first->why);
}

/* ---- one file ---- */

/* path: as the resolver takes it and the probe is shown. */
static int search_path(struct user_search *s, const char *path, struct fsc_err *err)
{
	struct fsc_scope scope = scope_of(s->to->m);
	struct fsc_targets *t = fsc_machine_targets(s->to->m, err);
	struct fsc_spec spec = {
	    .kind = s->kind,
	    .text = (char *)s->to->written,
	    .binary = (char *)path,
	    .group = (char *)s->space,
	    .function = s->line ? NULL : (char *)s->func,
	    .file = s->line ? (char *)s->func : NULL,
	    .line = s->line,
	    .own = scope.n_pids || scope.command,
	    .offset = s->offset,
	    .address = s->address,
	};
	const char *kept;
	int rc;

	if (!t)
		return -ENOMEM;
	s->searched++;
	rc = s->kind->resolve(&spec, &scope, t, err);
	/* That a file is missing is another thing than that it lacks a function. */
	if (rc == -ENOENT && !t->files.n && s->w->provider->kind != FSC_POINT_USDT) {
		if (err)
			err->code = ENXIO;
		return -ENXIO;
	}
	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < fsc_targets_count(t); i++) {
		uint32_t file = fsc_targets_at(t, i)->file;

		/* A short name has become a file. */
		kept = strchr(path, '/') ? path
					 : FSC_AT(struct fsc_target_file, &t->files, file)->name;
		kept = fsc_machine_text(s->to->m, err, "%s", kept);
		rc = kept ? add_point(s, t, i, kept, err) : -ENOMEM;
	}
	return rc || fsc_targets_count(t) ? rc : nothing_left(t, err);
}

/* The same for one of many files: what it lacks is no error. */
static int search_one_of(struct user_search *s, const char *path, struct fsc_err *err)
{
	struct fsc_err why = {0};
	int rc = search_path(s, path, &why);

	if (rc == -ENOMEM)
		return fsc_err_nomem(err);
	if (rc && !s->first.code)
		s->first = why;
	return 0;
}

/* ---- many files ---- */

static int search_glob(struct user_search *s, struct fsc_err *err)
{
	glob_t g;
	int rc = glob(s->target, 0, NULL, &g);

	if (rc == GLOB_NOSPACE)
		return fsc_err_nomem(err);
	for (size_t i = 0, found = rc ? 0 : g.gl_pathc; i < found; i++) {
		rc = search_one_of(s, g.gl_pathv[i], err);
		if (rc)
			break;
	}
	if (rc != GLOB_NOMATCH && rc != GLOB_ABORTED)
		globfree(&g);
	return rc < 0 ? rc : 0;
}

static int search_mapped(struct user_search *s, pid_t pid, struct fsc_map *seen,
			 struct fsc_err *err)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	/* A process may end meanwhile, or have no program. */
	int rc = fsc_libs_mapped(pid, &files, NULL) == -ENOMEM ? fsc_err_nomem(err) : 0;

	for (size_t i = 0; !rc && i < files.n; i++) {
		const char *name = FSC_AT(struct fsc_libs_file, &files, i)->name;
		bool is_new;

		if (!fsc_map_put(seen, name, strlen(name), &is_new))
			rc = fsc_err_nomem(err);
		else if (is_new)
			rc = search_one_of(s, name, err);
	}
	fsc_libs_release(&files);
	return rc;
}

/* "*": all that the processes have mapped. */
static int search_processes(struct user_search *s, struct fsc_err *err)
{
	const struct fsc_machine_opts *o = &s->to->m->opts;
	FSC_AUTO(fsc_map_release) struct fsc_map seen = {0};
	const struct dirent *d;
	int rc = 0;
	DIR *dir;

	for (size_t i = 0; !rc && i < o->n_pids; i++)
		rc = search_mapped(s, o->pids[i], &seen, err);
	if (o->n_pids)
		return rc;
	dir = opendir("/proc");
	while (!rc && dir && (d = readdir(dir)))
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
			rc = search_mapped(s, (pid_t)atoi(d->d_name), &seen, err);
	if (dir)
		closedir(dir);
	return rc;
}

static int search_many(struct user_search *s, struct fsc_err *err)
{
	int rc = !strcmp(s->target, "*") ? search_processes(s, err) : search_glob(s, err);

	if (rc || s->to->n)
		return rc;
	if (!s->searched)
		return fsc_err_set(err, ENXIO,
				   "%s target file '%s' does not exist or is not executable",
				   s->w->provider->name, s->target);
	if (s->first.code && s->searched == 1) {
		*err = s->first;
		return -s->first.code;
	}
	return fsc_err_set(err, ENOENT, "none of %zu files that match '%s' has '%s'", s->searched,
			   s->target, s->func);
}

static int search(struct user_search *s, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *program = NULL;

	if (fsc_written_is_pattern(s->target))
		return search_many(s, err);
	/* A program in PATH goes before a library of that name, unless it is written as one. */
	if (s->target[0] && !strchr(s->target, '/') && strncmp(s->target, "lib", 3)) {
		program = fsc_libs_which(s->target);
		if (!program && errno == ENOMEM)
			return fsc_err_nomem(err);
	}
	return search_path(s, program ? program : s->target, err);
}

/* ---- what is written ---- */

/* "FILE@SOURCE.c:LINE". */
static bool take_source_line(struct user_search *s)
{
	char *at = strchr(s->w->parts[0], '@');
	uint64_t line;

	if (!at || s->w->n != 2 || !fsc_written_number(s->w->parts[1], &line) || !line ||
	    line > INT32_MAX)
		return false;
	*at = '\0';
	s->func = at + 1;
	s->line = (unsigned)line;
	return true;
}

static int parse_function(struct user_search *s, unsigned part, struct fsc_err *err)
{
	const char *plus = s->w->plus[part];
	bool ret = s->w->provider->kind == FSC_POINT_URETPROBE;

	s->func = s->w->parts[part];
	if (!s->func[0])
		return fsc_err_usage(err, "%s should be attached to a function and/or address",
				     s->w->provider->name);
	if (ret && plus)
		return fsc_err_usage(err, "uretprobes can not be attached to a function offset");
	if (plus && !fsc_written_number(plus, &s->offset))
		return fsc_err_usage(err, "Invalid offset: '%s'", plus);
	if (!plus && !ret && fsc_written_number(s->func, &s->address) &&
	    fsc_written_is_pattern(s->target))
		return fsc_err_usage(err, "Cannot use wildcards with absolute address");
	return 0;
}

int fsc_match_uprobe(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err)
{
	bool ret = w->provider->kind == FSC_POINT_URETPROBE, own = to->m->opts.n_pids;
	struct user_search s = {
	    .w = w, .to = to, .kind = ret ? &fsc_kind_uretprobe : &fsc_kind_uprobe};
	unsigned part = w->n - 1;
	int rc;

	/* For a process the file may be left out: its own program. */
	if (own && (w->n == 1 || (w->n == 2 && is_language(w->parts[0]))))
		s.target = "";
	else if (w->n < 2)
		return fsc_err_usage(err, "%s probe type requires 2 or 3 arguments, found 1",
				     w->provider->name);
	else
		s.target = w->parts[0];
	if (take_source_line(&s))
		return search(&s, err);
	if (!s.target[0] && !own)
		return fsc_err_usage(err, "%s should have a target", w->provider->name);
	if (part && (w->n == 3 || !s.target[0])) {
		s.lang = w->parts[part - 1];
		if (!is_language(s.lang))
			return fsc_err_usage(err, "unsupported language type: %s", s.lang);
	}
	rc = parse_function(&s, part, err);
	return rc ? rc : search(&s, err);
}

int fsc_match_usdt(const struct fsc_written *w, struct fsc_matches *to, struct fsc_err *err)
{
	bool own = to->m->opts.n_pids;
	struct user_search s = {.w = w, .to = to, .kind = &fsc_kind_usdt, .target = ""};

	if (w->n == 1 && !own)
		return fsc_err_usage(err, "usdt probe type requires 2 or 3 arguments, found 1");
	if (w->n > 1)
		s.target = w->parts[0];
	if (w->n > 2 && w->parts[1][0])
		s.space = w->parts[1];
	s.func = w->parts[w->n - 1];
	if (!s.func[0])
		return fsc_err_usage(err, "usdt probe must have a target function or wildcard");
	if (!s.target[0] && !own) {
		fsc_err_usage(err, "usdt probe must specify at least path or pid to probe");
		return fsc_err_hint(err, "to target all processes set the path to '*'");
	}
	return search(&s, err);
}
