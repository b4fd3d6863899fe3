/* struct fsc_fatbins: what was learned about the kernels of each file asked for. Names of kernels
 * lead to layouts of parameters; kernels are many and layouts few, so each layout is kept once. */
#include "cuda/fatbin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "cuda/fatbin_priv.h"

#define KERNELS_MAX    200000
#define NAME_BYTES_MAX (256u << 20)
/* In place of a layout: several kernels of this name with different parameters. */
#define CONTRADICTORY UINT64_MAX

struct file {
	char *path;
	struct fsc_map kernels; /* name: 1 + layout, or CONTRADICTORY */
	size_t name_bytes;
	enum fsc_fatbin_pass passes; /* done */
	struct fsc_err err;	     /* code is 0 while reading went well */
};

struct fsc_fatbins {
	struct fsc_map by_path; /* index of files */
	struct fsc_vec files;	/* struct file * */
	struct fsc_map by_layout;
	struct fsc_vec layouts; /* struct fsc_kernel_params *: pointers outlast the growing */
};

/* What goes along while a file is read. */
struct reading {
	struct fsc_fatbins *f;
	struct file *file;
};

static void file_free(struct file *file)
{
	if (!file)
		return;
	fsc_map_release(&file->kernels);
	free(file->path);
	free(file);
}

int fsc_fatbins_new(struct fsc_fatbins **ret, struct fsc_err *err)
{
	struct fsc_fatbins *f = calloc(1, sizeof(*f));

	if (!f)
		return fsc_err_nomem(err);
	f->files = FSC_VEC_INIT(struct file *);
	f->layouts = FSC_VEC_INIT(struct fsc_kernel_params *);
	*ret = f;
	return 0;
}

void fsc_fatbins_free(struct fsc_fatbins *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->files.n; i++)
		file_free(*FSC_AT(struct file *, &f->files, i));
	fsc_vec_release(&f->files);
	fsc_vec_release_owned(&f->layouts);
	fsc_map_release(&f->by_path);
	fsc_map_release(&f->by_layout);
	free(f);
}

void fsc_fatbins_freep(struct fsc_fatbins **f)
{
	fsc_fatbins_free(*f);
}

/* 1 + the index of a layout, kept if it is new; 0 if out of memory. */
static uint64_t layout_of(struct fsc_fatbins *f, const struct fsc_kernel_params *params)
{
	size_t used = offsetof(struct fsc_kernel_params, at) + params->n * sizeof(params->at[0]);
	uint64_t *known = fsc_map_get(&f->by_layout, params, used);
	struct fsc_kernel_params *copy, **place;

	if (known)
		return *known;
	copy = malloc(sizeof(*copy));
	place = copy ? fsc_vec_push(&f->layouts) : NULL;
	if (!place) {
		free(copy);
		return 0;
	}
	*copy = *params;
	*place = copy;
	known = fsc_map_put(&f->by_layout, params, used, NULL);
	if (!known)
		return 0;
	*known = f->layouts.n;
	return *known;
}

static int check_limits(struct file *file, size_t name_bytes, struct fsc_err *err)
{
	file->name_bytes += name_bytes;
	if (file->kernels.n > KERNELS_MAX)
		return fsc_err_set(err, EFBIG, "'%s' has more than %d GPU kernels", file->path,
				   KERNELS_MAX);
	if (file->name_bytes > NAME_BYTES_MAX)
		return fsc_err_set(err, EFBIG,
				   "the names of the GPU kernels of '%s' are longer "
				   "than %u MB",
				   file->path, NAME_BYTES_MAX >> 20);
	return 0;
}

static int take_kernel(void *arg, const char *name, const struct fsc_kernel_params *params,
		       struct fsc_err *err)
{
	struct reading *r = arg;
	uint64_t layout = layout_of(r->f, params);
	size_t n = strlen(name);
	bool is_new;
	uint64_t *value = layout ? fsc_map_put(&r->file->kernels, name, n, &is_new) : NULL;

	if (!value)
		return fsc_err_nomem(err);
	if (!is_new) {
		if (*value != layout)
			*value = CONTRADICTORY;
		return 0;
	}
	*value = layout;
	return check_limits(r->file, n, err);
}

/* One pass over the file; what fails stays in file->err. */
static void read_pass(struct fsc_fatbins *f, struct file *file)
{
	struct reading r = {.f = f, .file = file};
	struct fsc_image im;

	if (fsc_image_open(&im, file->path, &file->err))
		return;
	fsc_fatbin_each(&im, file->passes++, take_kernel, &r, &file->err);
	fsc_image_release(&im);
}

static struct file *file_new(const char *path)
{
	struct file *file = calloc(1, sizeof(*file));

	if (file)
		file->path = strdup(path);
	if (file && file->path)
		return file;
	file_free(file);
	return NULL;
}

/* What is known about the file, nothing at first; NULL if out of memory. */
static struct file *find_file(struct fsc_fatbins *f, const char *path)
{
	uint64_t *index = fsc_map_get(&f->by_path, path, strlen(path));
	struct file *file, **place;

	if (index)
		return *FSC_AT(struct file *, &f->files, *index);
	file = file_new(path);
	place = file ? fsc_vec_push(&f->files) : NULL;
	if (!place) {
		file_free(file);
		return NULL;
	}
	*place = file;
	index = fsc_map_put(&f->by_path, path, strlen(path), NULL);
	if (!index)
		return NULL; /* it is freed with the others */
	*index = f->files.n - 1;
	return file;
}

/* As fsc_fatbins_params(), from what was read so far. */
static int look_up(const struct fsc_fatbins *f, const struct file *file, const char *kernel,
		   const struct fsc_kernel_params **ret, bool *ret_final)
{
	const uint64_t *value = fsc_map_get(&file->kernels, kernel, strlen(kernel));

	*ret_final = value || file->err.code || file->passes == FSC_FATBIN_PASSES;
	if (!value)
		return -file->err.code;
	if (*value == CONTRADICTORY)
		return 0;
	*ret = *FSC_AT(struct fsc_kernel_params *, &f->layouts, *value - 1);
	return 1;
}

int fsc_fatbins_params(struct fsc_fatbins *f, const char *path, const char *kernel,
		       const struct fsc_kernel_params **ret, struct fsc_err *err)
{
	struct file *file = find_file(f, path);
	bool is_final;
	int rc;

	if (!file)
		return fsc_err_nomem(err);
	rc = look_up(f, file, kernel, ret, &is_final);
	while (!is_final) {
		read_pass(f, file);
		rc = look_up(f, file, kernel, ret, &is_final);
	}
	if (rc < 0 && err)
		*err = file->err;
	return rc;
}
