/* From files to probes on the CUDA calls in them. */
#include "gpu/hooks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/map.h"
#include "base/str.h"
#include "engine/inodes.h"
#include "engine/patched.h"
#include "gpu/calls.h"
#include "gpu/trial.h"
#include "probe/uprobe.h"
#include "elf/elf.h"
#include "proc/libs.h"
#include "proc/process.h"
#include "proc/task.h"
#include "run/writes.h"

/* Drivers are numbered in the kernel, for the offsets of their names. All other files, and
 * drivers beyond the limit, share the last number, which has no offsets. */
enum { NO_NAMES = FSC_GPU_FILES - 1 };

struct file {
	char *path, *note;
	uint32_t layer, number;
	size_t hooked, refused;
	bool driver, unnamed;
};

struct fsc_gpu_hooks {
	struct fsc_gpu_session *session;
	struct fsc_gpu_hooks_opts opts;
	struct fsc_inodes *inodes;
	struct fsc_map examined; /* their numbers */
	struct fsc_vec files;	 /* struct file */
	uint32_t n_drivers;
	struct fsc_vec coverage; /* struct fsc_gpu_coverage_row */
	struct fsc_vec refused;	 /* struct fsc_refusal, strings owned */
	bool driver;		 /* a driver is hooked */
	size_t places;
	struct fsc_writes writes; /* tag: the path of a struct file */
};

int fsc_gpu_hooks_new(struct fsc_gpu_session *session, const struct fsc_gpu_hooks_opts *opts,
		      struct fsc_gpu_hooks **ret, struct fsc_err *err)
{
	struct fsc_gpu_hooks *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return fsc_err_nomem(err);
	h->session = session;
	h->opts = *opts;
	h->files = FSC_VEC_INIT(struct file);
	h->coverage = FSC_VEC_INIT(struct fsc_gpu_coverage_row);
	h->refused = FSC_VEC_INIT(struct fsc_refusal);
	fsc_writes_open(&h->writes);
	rc = fsc_inodes_new(&h->inodes, err);
	if (rc)
		fsc_gpu_hooks_free(h);
	else
		*ret = h;
	return rc;
}

void fsc_gpu_hooks_free(struct fsc_gpu_hooks *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->files.n; i++) {
		free(FSC_AT(struct file, &h->files, i)->path);
		free(FSC_AT(struct file, &h->files, i)->note);
	}
	for (size_t i = 0; i < h->refused.n; i++) {
		free((char *)FSC_AT(struct fsc_refusal, &h->refused, i)->function);
		free((char *)FSC_AT(struct fsc_refusal, &h->refused, i)->why);
	}
	fsc_vec_release(&h->files);
	fsc_vec_release(&h->coverage);
	fsc_vec_release(&h->refused);
	fsc_map_release(&h->examined);
	fsc_inodes_free(h->inodes);
	fsc_writes_close(&h->writes);
	free(h);
}

/* ---- which rows ---- */

static bool is_hooked(const struct fsc_gpu_hooks *h, const struct fsc_gpu_row *row)
{
	switch (row->when) {
	case FSC_GPU_LAUNCHES:
		return h->opts.launch_errors || !h->driver;
	case FSC_GPU_WITHOUT:
		return !h->driver;
	case FSC_GPU_SEVERAL:
		return h->opts.several_devices;
	case FSC_GPU_LIBRARIES:
		return !h->opts.no_libraries;
	case FSC_GPU_TENSORS:
		return h->opts.tensors;
	default:
		return true;
	}
}

/* Symbols to search for, and the row of each. */
struct search {
	struct fsc_vec wanted; /* struct fsc_wanted */
	struct fsc_vec rows;   /* uint32_t */
	struct fsc_vec names;  /* char * */
};

static int want_symbol(struct search *s, uint32_t row, const char *suffix, struct fsc_err *err)
{
	struct fsc_wanted *w = fsc_vec_push(&s->wanted);
	uint32_t *of = fsc_vec_push(&s->rows);
	char **name = fsc_vec_push(&s->names);

	if (!w || !of || !name || asprintf(name, "%s%s", fsc_gpu_rows[row].symbol, suffix) < 0)
		return fsc_err_nomem(err);
	w->function = *name;
	*of = row;
	return 0;
}

static int want_symbols(const struct fsc_gpu_hooks *h, const char *base, struct search *s,
			struct fsc_err *err)
{
	int rc = 0;

	for (uint32_t i = 1; !rc && i < fsc_gpu_n_rows; i++) {
		const struct fsc_gpu_row *row = &fsc_gpu_rows[i];

		if (!is_hooked(h, row) || !fsc_gpu_row_in(row, base))
			continue;
		rc = want_symbol(s, i, "", err);
		/* The variants for per-thread default streams. */
		if (!rc && row->call.layer != FSC_GPU_LIBRARY)
			rc = want_symbol(s, i, "_ptsz", err);
		if (!rc && row->call.layer != FSC_GPU_LIBRARY)
			rc = want_symbol(s, i, "_ptds", err);
	}
	return rc;
}

static void search_release(struct search *s)
{
	fsc_vec_release(&s->wanted);
	fsc_vec_release(&s->rows);
	fsc_vec_release_owned(&s->names);
}

/* ---- probes ---- */

static int add_refusal(struct fsc_gpu_hooks *h, const char *function, const char *why,
		       struct fsc_err *err)
{
	struct fsc_refusal *r = fsc_vec_push(&h->refused);

	if (!r)
		return fsc_err_nomem(err);
	r->function = strdup(function);
	r->why = strdup(why);
	return r->function && r->why ? 0 : fsc_err_nomem(err);
}

static int refuse_place(struct fsc_gpu_hooks *h, const struct fsc_gpu_place *p, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *why = p->patched_by ? fsc_patched_why(p->patched_by) : NULL;

	return add_refusal(h, fsc_gpu_call_name(p->call), why ? why : fsc_err_text(p->refused),
			   err);
}

static bool has_return(const struct fsc_gpu_hooks *h, const struct fsc_gpu_call *c)
{
	bool launch = c->op >= FSC_GPU_LAUNCH && c->op <= FSC_GPU_GRAPH;

	return !(c->flags & FSC_GPU_ENTRY) || (launch && h->opts.launch_errors);
}

static int attach_file(struct fsc_gpu_hooks *h, struct file *f, const struct fsc_targets *t,
		       const struct search *s, struct fsc_err *err)
{
	size_t n = fsc_targets_count(t), used = 0;
	FSC_AUTO(fsc_freep) struct fsc_gpu_place *places = calloc(n + 1, sizeof(*places));
	int rc;

	if (!places)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct fsc_target *at = fsc_targets_at(t, i);
		uint32_t probe = fsc_targets_row(t, at->row)->probe;
		uint32_t row = probe < s->rows.n ? *FSC_AT(uint32_t, &s->rows, probe) : 0;

		places[used++] =
		    (struct fsc_gpu_place){.offset = at->body,
					   .call = row,
					   .tag = fsc_gpu_rows[row].when,
					   .ret = has_return(h, &fsc_gpu_rows[row].call)};
	}
	rc = fsc_gpu_session_attach(h->session, FSC_AT(struct fsc_target_file, &t->files, 0)->path,
				    f->number, places, used, err);
	for (size_t i = 0; !rc && i < used; i++) {
		f->hooked += !places[i].refused;
		f->refused += !!places[i].refused;
		if (places[i].refused)
			rc = refuse_place(h, &places[i], err);
	}
	for (size_t i = 0; !rc && i < t->skipped.n; i++) {
		const struct fsc_skipped *x = FSC_AT(struct fsc_skipped, &t->skipped, i);

		f->refused++;
		rc = add_refusal(h, x->name, x->why, err);
	}
	h->places += f->hooked;
	return rc;
}

/* ---- names ---- */

static int set_names(struct fsc_gpu_hooks *h, const struct file *f, int offset, struct fsc_err *err)
{
	const struct fsc_gpu_names_at at = {.function = offset, .kernel = offset};

	return fsc_gpu_session_names(h->session, f->number, &at, err);
}

/* Warns once; every such driver has it in its note. */
static int leave_unnamed(struct fsc_gpu_hooks *h, struct file *f, struct fsc_err *err)
{
	if (h->n_drivers++ == NO_NAMES)
		fsc_log(FSC_LOG_WARN,
			"%s is driver number %d: from this one on, only kernels that programs look "
			"up by name have names",
			f->path, NO_NAMES + 1);
	if (asprintf(&f->note, "one of more than %d drivers: kernel names are not read", NO_NAMES) <
	    0)
		return fsc_err_nomem(err);
	return 0;
}

static int try_names(struct fsc_gpu_hooks *h, struct file *f, const struct fsc_libs_file *lib,
		     struct fsc_err *err)
{
	struct fsc_gpu_names names = {.function_offset = -1, .why = "--no-trial"};
	int rc;

	if (h->n_drivers >= NO_NAMES)
		return leave_unnamed(h, f, err);
	f->number = h->n_drivers++;
	rc = h->opts.no_trial ? 0 : fsc_gpu_trial(lib->path, lib->root, &names, err);
	if (rc)
		return rc;
	if (names.function_offset >= 0) {
		if (asprintf(&f->note, "kernel names at +%d of a function, found by %s",
			     names.function_offset,
			     names.from_cache ? "an earlier trial" : "a trial") < 0)
			return fsc_err_nomem(err);
		return set_names(h, f, names.function_offset, err);
	}
	f->unnamed = true;
	if (asprintf(&f->note, "kernel names only of functions looked up from now on (%s)",
		     names.why) < 0)
		return fsc_err_nomem(err);
	return 0;
}

bool fsc_gpu_hooks_unnamed(const struct fsc_gpu_hooks *h, uint32_t *ret_file)
{
	for (size_t i = 0; i < h->files.n; i++) {
		if (!FSC_AT(struct file, &h->files, i)->unnamed)
			continue;
		*ret_file = (uint32_t)i;
		return true;
	}
	return false;
}

int fsc_gpu_hooks_named(struct fsc_gpu_hooks *h, uint32_t file, int offset, struct fsc_err *err)
{
	struct file *f = FSC_AT(struct file, &h->files, file);

	f->unnamed = false;
	free(f->note);
	if (asprintf(&f->note,
		     "kernel names at +%d of a function, found in the program's own calls",
		     offset) < 0) {
		f->note = NULL;
		return fsc_err_nomem(err);
	}
	return set_names(h, f, offset, err);
}

/* ---- files ---- */

/* A program that contains kernels may be linked with a static runtime. */
static bool is_program(pid_t pid, const char *path, const struct fsc_libs_file *file)
{
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = NULL;
	char exe[PATH_MAX], root[32];

	if (pid)
		fsc_process_root(pid, root);
	if (pid && (!fsc_task_exe(pid, exe) || strcmp(fsc_process_path(root, exe), path)))
		return false;
	return !fsc_elf_open(file->path, file->root, &e, NULL) &&
	       fsc_elf_has_section(e, ".nv_fatbin");
}

static int hook_file(struct fsc_gpu_hooks *h, const struct fsc_libs_file *lib, uint32_t layer,
		     struct fsc_err *err)
{
	struct search s = {.wanted = FSC_VEC_INIT(struct fsc_wanted),
			   .rows = FSC_VEC_INIT(uint32_t),
			   .names = FSC_VEC_INIT(char *)};
	const struct fsc_scope scope = {.pairs = true, .returns = FSC_RETURNS_TRAMPOLINE};
	struct fsc_err why = {0};
	struct fsc_targets t;
	struct file *f;
	int rc;

	fsc_targets_init(&t);
	rc = want_symbols(h, fsc_str_base(lib->name), &s, err);
	if (!rc && fsc_uprobe_search(lib, s.wanted.data, s.wanted.n, &scope, &t, &why)) {
		fsc_log(FSC_LOG_WARN, "%s", why.msg);
		goto out;
	}
	if (rc || !fsc_targets_count(&t))
		goto out;
	f = fsc_vec_push(&h->files);
	if (!f) {
		rc = fsc_err_nomem(err);
		goto out;
	}
	*f = (struct file){.path = strdup(lib->name), .layer = layer, .number = NO_NAMES};
	rc = f->path ? 0 : fsc_err_nomem(err);
	if (!rc && layer == FSC_GPU_DRIVER)
		rc = try_names(h, f, lib, err);
	if (!rc)
		fsc_writes_watch(&h->writes, lib->path, f->path);
	if (!rc)
		rc = attach_file(h, f, &t, &s, err);
	if (!rc && layer == FSC_GPU_DRIVER && !h->driver) {
		h->driver = true;
		fsc_gpu_session_drop(h->session, FSC_GPU_WITHOUT);
		if (!h->opts.launch_errors)
			fsc_gpu_session_drop(h->session, FSC_GPU_LAUNCHES);
	}
out:
	fsc_targets_release(&t);
	search_release(&s);
	return rc;
}

static int examine_file(struct fsc_gpu_hooks *h, pid_t pid, const char *path,
			const struct fsc_libs_file *lib, struct fsc_err *err)
{
	int layer = fsc_gpu_layer_of(fsc_str_base(path)), rc;
	uint64_t inode;
	struct stat st;
	bool fresh;

	if (stat(lib->path, &st) || !S_ISREG(st.st_mode))
		return 0;
	if (layer < 0 && is_program(pid, path, lib))
		layer = FSC_GPU_RUNTIME;
	if (layer < 0)
		return 0;
	rc = fsc_inodes_number(h->inodes, lib->path, &inode, err);
	if (rc)
		return rc;
	if (!fsc_map_put(&h->examined, &inode, sizeof(inode), &fresh))
		return fsc_err_nomem(err);
	return fresh ? hook_file(h, lib, (uint32_t)layer, err) : 0;
}

bool fsc_gpu_hooks_is_driver(const char *path)
{
	return fsc_gpu_layer_of(fsc_str_base(path)) == FSC_GPU_DRIVER;
}

/* In the process's mount namespace; in ours if the process has exited. */
int fsc_gpu_hooks_file(struct fsc_gpu_hooks *h, pid_t pid, const char *path, struct fsc_err *err)
{
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	struct fsc_libs_scope scope = {.pid = pid};
	int rc = 0;

	if (!strchr(path, '/'))
		return 0;
	if (pid && fsc_libs_find(path, &scope, &files, NULL))
		fsc_libs_release(&files);
	if (!files.n && fsc_libs_find(path, &(struct fsc_libs_scope){0}, &files, NULL))
		files.n = 0;
	if (files.n)
		rc = examine_file(h, pid, path, FSC_AT(struct fsc_libs_file, &files, 0), err);
	fsc_libs_release(&files);
	return rc;
}

int fsc_gpu_hooks_known(struct fsc_gpu_hooks *h, const char *program, struct fsc_err *err)
{
	const struct fsc_libs_scope scope = {.command = program};
	struct fsc_vec files = FSC_VEC_INIT(struct fsc_libs_file);
	int rc = 0;

	/* For a script: as its interpreter would find it, which resolves like a shell. */
	if (fsc_libs_find("libcuda.so.1", &scope, &files, NULL) && program)
		fsc_libs_find("libcuda.so.1", &(struct fsc_libs_scope){.command = "/bin/sh"},
			      &files, NULL);
	if (program)
		rc = fsc_libs_needed(program, &files, err);
	for (size_t i = 0; !rc && i < files.n; i++) {
		const struct fsc_libs_file *f = FSC_AT(struct fsc_libs_file, &files, i);

		rc = examine_file(h, 0, f->name, f, err);
	}
	fsc_libs_release(&files);
	return rc;
}

int fsc_gpu_hooks_writes_fd(const struct fsc_gpu_hooks *h)
{
	return h->writes.fd;
}

void fsc_gpu_hooks_check_writes(struct fsc_gpu_hooks *h, void (*fn)(const void *name, void *arg),
				void *arg)
{
	fsc_writes_read(&h->writes, fn, arg);
}

const struct fsc_gpu_coverage_row *fsc_gpu_hooks_coverage(const struct fsc_gpu_hooks *h,
							  size_t *ret_n)
{
	struct fsc_vec *v = (struct fsc_vec *)&h->coverage;

	v->n = 0;
	for (size_t i = 0; i < h->files.n; i++) {
		const struct file *f = FSC_AT(struct file, &h->files, i);
		struct fsc_gpu_coverage_row *row = fsc_vec_push(v);

		if (!row)
			break;
		*row = (struct fsc_gpu_coverage_row){.file = f->path,
						     .layer = f->layer,
						     .hooked = f->hooked,
						     .refused = f->refused,
						     .note = f->note};
	}
	*ret_n = v->n;
	return v->data;
}

size_t fsc_gpu_hooks_places(const struct fsc_gpu_hooks *h)
{
	return h->places;
}

const struct fsc_vec *fsc_gpu_hooks_refused(const struct fsc_gpu_hooks *h)
{
	return &h->refused;
}
