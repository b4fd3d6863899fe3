/* Opening programs once, and the types that their debug information has by name. */
#include "world/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/target.h"

/* A type that a struct points to is read with it: scripts follow pointers. */
#define USER_DEPTH 2

static void file_free(struct fsc_machine_file *f)
{
	if (!f)
		return;
	fsc_elf_free(f->elf);
	fsc_types_release(&f->types);
	fsc_map_release(&f->names);
	fsc_vec_release(&f->found);
	free(f->path);
	free(f);
}

struct fsc_machine_file *fsc_machine_file_at(struct fsc_machine *m, const char *path,
					     struct fsc_err *err)
{
	struct fsc_machine_file *f, **slot;

	for (size_t i = 0; i < m->files.n; i++) {
		f = *FSC_AT(struct fsc_machine_file *, &m->files, i);
		if (!strcmp(f->path, path))
			return f;
	}
	f = calloc(1, sizeof(*f));
	if (f) {
		fsc_types_init(&f->types, USER_DEPTH);
		f->found = FSC_VEC_INIT(const struct fsc_type *);
		f->path = strdup(path);
	}
	if (!f || !f->path) {
		file_free(f);
		fsc_err_nomem(err);
		return NULL;
	}
	if (fsc_elf_open(path, "", &f->elf, err)) {
		file_free(f);
		return NULL;
	}
	slot = fsc_vec_push(&m->files);
	if (!slot) {
		file_free(f);
		fsc_err_nomem(err);
		return NULL;
	}
	return *slot = f;
}

struct fsc_machine_file *fsc_machine_file(struct fsc_machine *m, const struct fsc_point *p,
					  struct fsc_err *err)
{
	const struct fsc_target *at;

	if (p->kind != FSC_POINT_UPROBE && p->kind != FSC_POINT_URETPROBE &&
	    p->kind != FSC_POINT_USDT)
		return NULL;
	at = fsc_targets_at(p->targets, p->place);
	return fsc_machine_file_at(
	    m, FSC_AT(struct fsc_target_file, &p->targets->files, at->file)->path, err);
}

void fsc_machine_files_release(struct fsc_machine *m)
{
	for (size_t i = 0; i < m->files.n; i++)
		file_free(*FSC_AT(struct fsc_machine_file *, &m->files, i));
	fsc_vec_release(&m->files);
}
