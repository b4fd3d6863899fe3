/* From a library or program as the user types it ("c", "libssl", "./server", "") to its files.
 * The search order is decided here; the places are in process.c (a running process's files) and
 * libdirs.c (directories and the loader's cache). */
#include "proc/libs.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "elf/elf.h"
#include "proc/libs_priv.h"

static void file_release(struct fsc_libs_file *f)
{
	free(f->path);
	free(f->name);
	free(f->root);
}

int fsc_libs_push(struct fsc_vec *ret, const char *path, const char *name, const char *root,
		  struct fsc_err *err)
{
	struct fsc_libs_file f = {.path = strdup(path), .name = strdup(name), .root = strdup(root)};
	struct fsc_libs_file *place = NULL;

	if (f.path && f.name && f.root)
		place = fsc_vec_push(ret);
	if (!place) {
		file_release(&f);
		return fsc_err_nomem(err);
	}
	*place = f;
	return 0;
}

void fsc_libs_release(struct fsc_vec *files)
{
	for (size_t i = 0; i < files->n; i++)
		file_release(FSC_AT(struct fsc_libs_file, files, i));
	fsc_vec_release(files);
}

/* Length of the base name up to ".so"; of "libc-2.31.so", as older systems have it, up to the
 * number. */
static size_t stem_length(const char *base)
{
	const char *so = strstr(base, ".so"), *p;

	while (so && so[3] && so[3] != '.')
		so = strstr(so + 1, ".so");
	if (!so)
		return strlen(base);
	if (so[3])
		return (size_t)(so - base);
	for (p = so; p > base && strchr("0123456789.", p[-1]); p--)
		;
	return (size_t)((p > base && p < so && p[-1] == '-' ? p - 1 : so) - base);
}

bool fsc_libname_match(const char *base, const char *what)
{
	size_t stem = stem_length(base), n = strlen(what);

	if (!n)
		return false;
	if (!strncmp(base, what, n)) {
		/* exact; the stem; or "libx.so", "libx.so.6" for what is really libx.so.6.0.30 */
		if (!base[n] || n == stem)
			return true;
		if (base[n] == '.' && strstr(what, ".so"))
			return true;
	}
	return !strncmp(base, "lib", 3) && stem == n + 3 && !strncmp(base + 3, what, n);
}

static bool is_among(const char *const *names, const char *name)
{
	for (; *names; names++) {
		if (!strcmp(*names, name))
			return true;
	}
	return false;
}

/* Near misses are suggested in the form that the user typed: with or without "lib". */
static void offer_near_miss(struct fsc_search *s, const char *base)
{
	char stem[128];

	if (strncmp(s->what, "lib", 3) && !strncmp(base, "lib", 3))
		base += 3;
	snprintf(stem, sizeof(stem), "%.*s", (int)stem_length(base), base);
	fsc_nearest_offer(&s->near, stem);
}

bool fsc_search_match(struct fsc_search *s, const char *base)
{
	if (fsc_libname_match(base, s->what))
		return !s->only || is_among(s->only, base);
	if (!s->only)
		offer_near_miss(s, base);
	return false;
}

static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

char *fsc_libs_which(const char *command)
{
	const char *env = getenv("PATH");
	FSC_AUTO(fsc_freep) char *list = strdup(env && *env ? env : "/bin:/usr/bin");
	char *dir, *rest = list;

	if (!list)
		return NULL;
	if (strchr(command, '/') && is_program(command))
		return strdup(command);
	while (!strchr(command, '/') && *command && (dir = strsep(&rest, ":"))) {
		struct fsc_buf path = {0};

		fsc_buf_printf(&path, "%s/%s", *dir ? dir : ".", command);
		if (fsc_buf_failed(&path)) {
			errno = ENOMEM;
			return NULL;
		}
		if (is_program(path.s))
			return path.s;
		fsc_buf_release(&path);
	}
	errno = ENOENT;
	return NULL;
}

/* path: the mapping's, or the end of it. */
static bool is_path_of(const struct fsc_mapping *m, const char *path, const char *what)
{
	size_t n = fsc_mapping_length(m) - (size_t)(path - m->path);

	return strlen(what) == n && !strncmp(path, what, n);
}

/* A file that the process has mapped under this path, even if the path now has another. */
static int find_mapped_path(const char *what, pid_t pid, const char *root, struct fsc_vec *ret,
			    struct fsc_err *err)
{
	FSC_AUTO(fsc_maps_release) struct fsc_vec files = FSC_VEC_INIT(struct fsc_mapping);
	int rc = fsc_process_files(pid, &files, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < files.n; i++) {
		const struct fsc_mapping *m = FSC_AT(struct fsc_mapping, &files, i);

		if (!is_path_of(m, m->path, what) &&
		    !is_path_of(m, fsc_process_path(root, m->path), what))
			continue;
		rc = fsc_process_locate(pid, root, m, ret, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int find_path(const char *what, const struct fsc_libs_scope *scope, struct fsc_vec *ret,
		     struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *path = NULL;
	FSC_AUTO(fsc_freep) char *full = NULL;
	char root[32] = "";
	int rc;

	if (scope->pid)
		fsc_process_root(scope->pid, root);
	full = root[0] ? NULL : realpath(what, NULL);
	if (scope->pid) {
		rc = find_mapped_path(full ? full : what, scope->pid, root, ret, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	if (full && what[0] != '/')
		what = full;
	path = fsc_root_path(root, what);
	if (path)
		return fsc_libs_push(ret, path, what, root, err);
	rc = fsc_err_sys(err, errno, "cannot open '%s'", what);
	if (root[0])
		fsc_err_hint(err, "it was looked for as process %d sees it, in %s", (int)scope->pid,
			     root);
	return rc;
}

static int find_program(const struct fsc_libs_scope *scope, struct fsc_vec *ret,
			struct fsc_err *err)
{
	FSC_AUTO(fsc_maps_release) struct fsc_vec files = FSC_VEC_INIT(struct fsc_mapping);
	FSC_AUTO(fsc_freep) char *path = NULL;
	char root[32];
	int rc;

	if (!scope->pid && !scope->command)
		return fsc_err_usage(err, "no program is named, and no process or command given");
	if (!scope->pid) {
		path = fsc_libs_which(scope->command);
		if (!path && errno == ENOMEM)
			return fsc_err_nomem(err);
		if (!path)
			return fsc_err_set(err, ENOENT, "no program '%s'", scope->command);
		return find_path(path, &(struct fsc_libs_scope){0}, ret, err);
	}
	rc = fsc_process_files(scope->pid, &files, err);
	if (rc)
		return rc;
	fsc_process_root(scope->pid, root);
	rc = fsc_process_locate(scope->pid, root, files.data, ret, err);
	if (rc)
		return rc < 0 ? rc : 0;
	return fsc_err_set(err, EACCES, "the program of process %d cannot be opened",
			   (int)scope->pid);
}

static bool match_mapping(struct fsc_search *s, const struct fsc_mapping *m)
{
	FSC_AUTO(fsc_freep) char *path = strndup(m->path, fsc_mapping_length(m));

	return path && fsc_search_match(s, fsc_str_base(path));
}

static int search_process(struct fsc_search *s, pid_t pid, struct fsc_err *err)
{
	FSC_AUTO(fsc_maps_release) struct fsc_vec files = FSC_VEC_INIT(struct fsc_mapping);
	const struct fsc_mapping *lost = NULL;
	size_t before = s->ret->n;
	int rc = fsc_process_files(pid, &files, err);

	for (size_t i = 0; rc >= 0 && i < files.n; i++) {
		const struct fsc_mapping *m = FSC_AT(struct fsc_mapping, &files, i);

		if (!match_mapping(s, m))
			continue;
		rc = fsc_process_locate(pid, s->root, m, s->ret, err);
		if (!rc)
			lost = m;
	}
	if (rc < 0 || s->ret->n > before || !lost)
		return rc < 0 ? rc : 0;
	fsc_err_set(err, EACCES, "'%s' of process %d cannot be opened", lost->path, (int)pid);
	return fsc_err_hint(err,
			    "the file was deleted or replaced; run as root to reach it through the "
			    "process");
}

/* Where the loader would look for a library of the program: its own lists, then the system's. */
static int search_loader(struct fsc_search *s, struct fsc_elf *program, const char *origin,
			 struct fsc_err *err)
{
	const char *env = getenv("LD_LIBRARY_PATH");
	const char *runpath = fsc_elf_runpath(program);
	size_t before = s->ret->n;
	int rc = 0;

	if (env && *env)
		rc = fsc_search_path(s, env, origin, err);
	if (!rc && s->ret->n == before && runpath)
		rc = fsc_search_path(s, runpath, origin, err);
	if (!rc && s->ret->n == before)
		rc = fsc_search_system(s, err);
	return rc;
}

/* Libraries that the command needs come before others with a matching name. */
static int search_command(struct fsc_search *s, const char *command, struct fsc_err *err)
{
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *program = NULL;
	FSC_AUTO(fsc_freep) char *found = fsc_libs_which(command);
	FSC_AUTO(fsc_freep) char *path = found ? realpath(found, NULL) : NULL;
	FSC_AUTO(fsc_freep) char *origin = NULL;
	size_t before = s->ret->n;
	int rc;

	if (!path && errno == ENOMEM)
		return fsc_err_nomem(err);
	if (!path)
		return 0; /* running it will fail with a message */
	if (fsc_libname_match(fsc_str_base(path), s->what) || !strcmp(fsc_str_base(found), s->what))
		return fsc_search_add(s, path, err);
	rc = fsc_elf_open(path, "", &program, NULL);
	if (rc == -ENOMEM)
		return fsc_err_nomem(err);
	if (rc)
		return 0; /* a script: its interpreter is found like any other program */
	origin = strdup(path);
	s->only = fsc_elf_needed(program);
	if (!origin || !s->only)
		return fsc_err_nomem(err);
	rc = search_loader(s, program, dirname(origin), err);
	s->only = NULL;
	if (rc || s->ret->n > before)
		return rc;
	return search_loader(s, program, origin, err);
}

static int not_found(const struct fsc_search *s, const struct fsc_libs_scope *scope,
		     struct fsc_err *err)
{
	char near[512];

	fsc_nearest_text(&s->near, near, sizeof(near));
	if (scope->pid)
		fsc_err_set(err, ENOENT,
			    "no library or program '%s' in process %d or on its system", s->what,
			    (int)scope->pid);
	else
		fsc_err_set(err, ENOENT, "no library or program '%s'", s->what);
	if (near[0])
		return fsc_err_hint(err, "did you mean %s?", near);
	return fsc_err_hint(err, "give the file's path");
}

static int find_short(struct fsc_search *s, const struct fsc_libs_scope *scope, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *program = NULL;
	size_t before = s->ret->n;
	int rc = 0;

	if (scope->pid)
		rc = search_process(s, scope->pid, err);
	else if (scope->command)
		rc = search_command(s, scope->command, err);
	if (!rc && s->ret->n == before)
		rc = fsc_search_system(s, err);
	if (rc || s->ret->n > before)
		return rc;
	if (s->root[0])
		return not_found(s, scope, err);
	program = fsc_libs_which(s->what);
	if (program)
		return fsc_libs_push(s->ret, program, program, s->root, err);
	if (errno == ENOMEM)
		return fsc_err_nomem(err);
	return not_found(s, scope, err);
}

int fsc_libs_find(const char *what, const struct fsc_libs_scope *scope, struct fsc_vec *ret,
		  struct fsc_err *err)
{
	struct fsc_search s = {
	    .what = what,
	    .ret = ret,
	    .seen = FSC_VEC_INIT(struct fsc_file_id),
	    .near = {.wanted = what},
	};
	char root[32] = "";
	int rc;

	if (!*what)
		return find_program(scope, ret, err);
	if (strchr(what, '/'))
		return find_path(what, scope, ret, err);
	if (scope->pid)
		fsc_process_root(scope->pid, root);
	s.root = root;
	rc = find_short(&s, scope, err);
	fsc_vec_release(&s.seen);
	return rc;
}

bool fsc_libs_has_base(const struct fsc_vec *files, const char *name)
{
	for (size_t i = 0; i < files->n; i++) {
		const char *path = FSC_AT(struct fsc_libs_file, files, i)->name;

		if (!strcmp(fsc_str_base(path), name))
			return true;
	}
	return false;
}

int fsc_libs_needed(const char *program, struct fsc_vec *ret, struct fsc_err *err)
{
	enum { MOST = 500 };
	const struct fsc_libs_scope scope = {.command = program};

	if (fsc_libs_find(program, &scope, ret, NULL) == -ENOMEM)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < ret->n && ret->n < MOST; i++) {
		FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;
		const struct fsc_libs_file *file = FSC_AT(struct fsc_libs_file, ret, i);
		const char *const *needed;

		if (fsc_elf_open(file->path, file->root, &e, NULL))
			continue;
		for (needed = fsc_elf_needed(e); needed && *needed; needed++)
			if (!fsc_libs_has_base(ret, *needed) &&
			    fsc_libs_find(*needed, &scope, ret, NULL) == -ENOMEM)
				return fsc_err_nomem(err);
	}
	return 0;
}
