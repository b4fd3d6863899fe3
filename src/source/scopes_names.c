/* Names of checkpoints: their own, or that of their function if the compiler inserted them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "source/scopes_priv.h"
#include "sym/demangle.h"

static const char *kind_name(uint32_t kind)
{
	static const char *const names[] = {
	    [FUNCSCOPE_KIND_NUMBER] = "checkpoint",
	    [FUNCSCOPE_KIND_SCOPE] = "scope",
	    [FUNCSCOPE_KIND_LAP] = "lap",
	    [FUNCSCOPE_KIND_FUNCTION] = "function",
	};

	return kind && kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "checkpoint";
}

static struct fsc_elf *elf_of(struct fsc_scopes *s, const struct process *p, const char *path)
{
	char root[64] = "";
	struct file *f;

	for (size_t i = 0; i < s->files.n; i++)
		if (!strcmp(FSC_AT(struct file, &s->files, i)->path, path))
			return FSC_AT(struct file, &s->files, i)->elf;
	f = fsc_vec_push(&s->files);
	if (!f)
		return NULL;
	*f = (struct file){.path = strdup(path)};
	if (!f->path) {
		s->files.n--;
		return NULL;
	}
	if (!p->ended)
		snprintf(root, sizeof(root), "/proc/%d/root", (int)p->pid);
	if (fsc_elf_open(path, root, &f->elf, NULL))
		f->elf = NULL;
	return f->elf;
}

/* The symbol at the address if the file has one; the caller frees it. */
static char *function_name(struct fsc_scopes *s, const struct process *p,
			   const struct funcscope_site_record *rec)
{
	struct fsc_elf *elf = rec->file[0] == '/' ? elf_of(s, p, rec->file) : NULL;
	const struct fsc_sym *sym = NULL;
	char *name;

	if (!elf || fsc_elf_symbol_at(elf, rec->offset, &sym, NULL) || !sym)
		return strdup(rec->name);
	name = fsc_demangle(sym->name, true);
	return name ? name : strdup(sym->name);
}

static int add_func(struct fsc_scopes *s, const struct process *p,
		    const struct funcscope_site_record *rec, uint32_t *ret, struct fsc_err *err)
{
	bool function = rec->kind == FUNCSCOPE_KIND_FUNCTION, is_new;
	FSC_AUTO(fsc_buf_release) struct fsc_buf key = {0};
	FSC_AUTO(fsc_freep)
	char *name = function ? function_name(s, p, rec) : strdup(rec->name);
	const char *binary = function && rec->file[0] ? rec->file : p->binary;
	struct fsc_func *f;
	uint64_t *slot;

	if (!name)
		return fsc_err_nomem(err);
	fsc_buf_printf(&key, "%u %s\n%s\n%s:%u", rec->kind, binary, name, function ? "" : rec->file,
		       rec->line);
	slot = fsc_buf_failed(&key) ? NULL : fsc_map_put(&s->by_name, key.s, key.n, &is_new);
	if (!slot)
		return fsc_err_nomem(err);
	if (is_new) {
		f = fsc_vec_push(&s->funcs);
		if (!f)
			return fsc_err_nomem(err);
		*f = (struct fsc_func){.kind = kind_name(rec->kind), .binary = strdup(binary)};
		if (!f->binary)
			return fsc_err_nomem(err);
		f->name = fsc_take(&name);
		*slot = s->funcs.n - 1;
	}
	*ret = (uint32_t)*slot;
	return 0;
}

int fsc_scopes_func(struct fsc_scopes *s, struct process *p, uint32_t index, uint32_t *ret,
		    struct fsc_err *err)
{
	struct funcscope_site_record rec;
	int rc;

	if (p->funcs[index]) {
		*ret = p->funcs[index] - 1;
		return 0;
	}
	if (!fsc_region_record(p->region, index, &rec))
		return fsc_err_set(err, EBADMSG, "a checkpoint of process %d has no name",
				   (int)p->pid);
	rc = add_func(s, p, &rec, ret, err);
	if (!rc)
		p->funcs[index] = *ret + 1;
	return rc;
}
