/* Kernel names, from the best source available. */
#include "gpu/kernels.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "sym/demangle.h"
#include "cuda/fatbin.h"

enum { MOST_HANDLES = 1 << 20, OBJECT = 512 };

struct fsc_gpu_kernels {
	struct fsc_gpu_events_opts opts;
	struct fsc_map handles;	     /* process and handle -> symbol, as a pointer */
	struct fsc_map shown;	     /* symbol -> demangled, as a pointer */
	int guess, agreed;	     /* suspected offset of names, and how often it was confirmed */
	struct fsc_fatbins *fatbins; /* NULL: sizes are not requested */
	struct fsc_map params;	     /* symbol and file -> struct fsc_kernel_params * */
	uint16_t sizes[FSC_KERNEL_PARAMS_MAX];
};

struct handle {
	uint64_t handle;
	uint32_t pid, pad;
};

int fsc_gpu_kernels_new(const struct fsc_gpu_events_opts *opts, struct fsc_gpu_kernels **ret,
			struct fsc_err *err)
{
	struct fsc_gpu_kernels *k = calloc(1, sizeof(*k));

	if (!k)
		return fsc_err_nomem(err);
	k->opts = *opts;
	k->guess = -1;
	if (opts->sizes && fsc_fatbins_new(&k->fatbins, err)) {
		free(k);
		return -ENOMEM;
	}
	*ret = k;
	return 0;
}

void fsc_gpu_kernels_free(struct fsc_gpu_kernels *k)
{
	if (!k)
		return;
	fsc_map_release(&k->handles);
	fsc_map_release(&k->shown);
	fsc_map_release(&k->params);
	fsc_fatbins_free(k->fatbins);
	free(k);
}

/* The name after the record, NULL if it is not an identifier: an object of an unexpected layout
 * can have anything there. */
static const char *record_name(const struct fsc_gpu_rec *r)
{
	const char *name = (const char *)(r + 1);

	if (!r->n_name)
		return NULL;
	if (r->flags & FSC_GPU_REC_STACK)
		name += sizeof(struct fsc_gpu_rec_stack);
	if (!isalpha((unsigned char)*name) && *name != '_' && *name != '$')
		return NULL;
	for (uint32_t i = 0; i + 1 < r->n_name; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("_$.@", name[i]))
			return NULL;
	return name;
}

static uint64_t *handle_at(struct fsc_gpu_kernels *k, uint32_t pid, uint64_t handle, bool make)
{
	struct handle key = {.handle = handle, .pid = pid};

	if (make && k->handles.n >= MOST_HANDLES)
		fsc_map_release(&k->handles);
	return make ? fsc_map_put(&k->handles, &key, sizeof(key), NULL)
		    : fsc_map_get(&k->handles, &key, sizeof(key));
}

static const char *learnt_name(struct fsc_gpu_kernels *k, uint32_t pid, uint64_t handle)
{
	const uint64_t *at = handle_at(k, pid, handle, false);

	return at ? (const char *)(uintptr_t)*at : NULL;
}

static int first_name(const struct fsc_frame *f, void *arg, struct fsc_err *err)
{
	struct fsc_gpu_event *e = arg;

	(void)err;
	if (!f->unknown && !e->kernel)
		e->kernel = f->name;
	return 0;
}

/* Up to CUDA 12 the runtime identifies a kernel by its host stub. */
static int host_name(struct fsc_gpu_kernels *k, const struct fsc_gpu_rec *r,
		     struct fsc_gpu_event *e, struct fsc_err *err)
{
	struct fsc_addrs a = {.pid = (pid_t)r->pid, .n = 1, .at = {r->addr}};
	static const char stub[] = "__device_stub__";
	int rc = fsc_namer_frames(k->opts.namer, &a, first_name, e, err);

	if (rc || !e->kernel)
		return rc;
	if (!strncmp(e->kernel, stub, sizeof(stub) - 1))
		e->kernel += sizeof(stub) - 1;
	e->kernel = e->symbol = fsc_gpu_text(k->opts.texts, e->kernel);
	return e->kernel ? 0 : fsc_err_nomem(err);
}

static int demangle_kernel(struct fsc_gpu_kernels *k, struct fsc_gpu_event *e, struct fsc_err *err)
{
	bool fresh;
	uint64_t *at = fsc_map_put(&k->shown, &e->symbol, sizeof(e->symbol), &fresh);
	char *plain;

	if (!at)
		return fsc_err_nomem(err);
	if (fresh) {
		plain = fsc_demangle(e->symbol, true);
		if (!plain && errno == ENOMEM)
			return fsc_err_nomem(err);
		e->kernel = plain ? fsc_gpu_text(k->opts.texts, plain) : e->symbol;
		free(plain);
		*at = (uint64_t)(uintptr_t)e->kernel;
	}
	e->kernel = (const char *)(uintptr_t)*at;
	return e->kernel ? 0 : fsc_err_nomem(err);
}

/* ---- arguments ---- */

/* Usually the kernel is in the file whose code launches it. */
static int find_params(struct fsc_gpu_kernels *k, const struct fsc_gpu_rec *r, const char *symbol,
		       const struct fsc_kernel_params **ret, struct fsc_err *err)
{
	const struct fsc_mapping *m =
	    fsc_spaces_find(fsc_namer_spaces(k->opts.namer), (pid_t)r->pid, r->caller);
	struct fsc_err why = {0};
	char path[4200];
	int rc;

	*ret = NULL;
	if (!m || m->path[0] != '/')
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/root%s", r->pid, m->path);
	if (access(path, R_OK))
		snprintf(path, sizeof(path), "%s", m->path);
	rc = fsc_fatbins_params(k->fatbins, path, symbol, ret, &why);
	if (rc == -ENOMEM)
		return fsc_err_nomem(err);
	if (rc < 0)
		fsc_log(FSC_LOG_DEBUG, "%s", why.msg);
	return 0;
}

static int fill_sizes(struct fsc_gpu_kernels *k, const struct fsc_gpu_rec *r,
		      struct fsc_gpu_event *e, struct fsc_err *err)
{
	const struct fsc_kernel_params *p = NULL;
	struct {
		const char *symbol, *owner;
	} key = {.symbol = e->symbol, .owner = e->owner};
	uint64_t *at;
	bool fresh;
	int rc = 0;

	if (!k->fatbins || !r->n_args)
		return 0;
	at = fsc_map_put(&k->params, &key, sizeof(key), &fresh);
	if (!at)
		return fsc_err_nomem(err);
	if (fresh) {
		rc = find_params(k, r, e->symbol, &p, err);
		*at = (uint64_t)(uintptr_t)p;
	}
	p = (const struct fsc_kernel_params *)(uintptr_t)*at;
	if (rc || !p)
		return rc;
	for (size_t i = 0; i < p->n; i++)
		k->sizes[i] = p->at[i].size;
	e->arg_sizes = k->sizes;
	if (e->n_args > p->n)
		e->n_args = p->n;
	return 0;
}

/* ---- names ---- */

int fsc_gpu_kernels_name(struct fsc_gpu_kernels *k, const struct fsc_gpu_rec *r, uint32_t layer,
			 struct fsc_gpu_event *e, struct fsc_err *err)
{
	const char *name = record_name(r);

	e->symbol = name ? fsc_gpu_text(k->opts.texts, name) : learnt_name(k, r->pid, r->addr);
	if (name && !e->symbol)
		return fsc_err_nomem(err);
	if (e->symbol) {
		int rc = fill_sizes(k, r, e, err);

		return rc ? rc : demangle_kernel(k, e, err);
	}
	return layer == FSC_GPU_RUNTIME ? host_name(k, r, e, err) : 0;
}

/* ---- where names are, from the program's own calls ---- */

static bool read_memory(pid_t pid, uint64_t at, void *to, size_t n)
{
	struct iovec local = {to, n}, remote = {(void *)(uintptr_t)at, n};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)n;
}

static bool is_text_at(pid_t pid, uint64_t at, const char *text)
{
	char there[256];
	size_t n = strlen(text) + 1;

	if (n > sizeof(there))
		n = sizeof(there);
	return at > 4096 && read_memory(pid, at, there, n) && !memcmp(there, text, n);
}

/* Without a trial of the driver: an object with a known name is searched for a pointer to it.
 * Two objects must agree. */
static int search_object(struct fsc_gpu_kernels *k, const struct fsc_gpu_rec *r, const char *name,
			 struct fsc_err *err)
{
	uint64_t words[OBJECT / 8];
	uint32_t file;
	int found = -1;

	if (!fsc_gpu_hooks_unnamed(k->opts.hooks, &file) ||
	    !read_memory((pid_t)r->pid, r->addr, words, sizeof(words)))
		return 0;
	for (int i = 0; found < 0 && i < OBJECT / 8; i++)
		if (is_text_at((pid_t)r->pid, words[i], name))
			found = i * 8;
	if (found < 0)
		return 0;
	k->agreed = found == k->guess ? k->agreed + 1 : 1;
	k->guess = found;
	if (k->agreed < 2)
		return 0;
	fsc_log(FSC_LOG_DEBUG, "names of kernels are at +%d of the driver's functions", found);
	return fsc_gpu_hooks_named(k->opts.hooks, file, found, err);
}

int fsc_gpu_kernels_learn(struct fsc_gpu_kernels *k, const struct fsc_gpu_rec *r, bool alias,
			  struct fsc_err *err)
{
	const char *name = alias ? learnt_name(k, r->pid, r->src) : record_name(r);
	uint64_t *at;

	if (!name || !r->addr)
		return 0;
	name = fsc_gpu_text(k->opts.texts, name);
	at = name ? handle_at(k, r->pid, r->addr, true) : NULL;
	if (!at)
		return fsc_err_nomem(err);
	*at = (uint64_t)(uintptr_t)name;
	return alias ? 0 : search_object(k, r, name, err);
}

void fsc_gpu_kernels_forget(struct fsc_gpu_kernels *k, uint32_t pid)
{
	(void)pid;
	if (k->handles.n > MOST_HANDLES / 2)
		fsc_map_release(&k->handles);
}
