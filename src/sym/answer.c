/* Frames out of symbols and debug information. The function that has the code goes by its symbol,
 * as it does everywhere else; inlined ones have none and go by debug information. */
#include "sym/answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sym/demangle.h"

#define UNKNOWN "[unknown]"
/* Where the kernel makes functions return to that have a return probe; newer ones also have
 * "[uprobes-trampoline]". */
#define TRAMPOLINE "[uprobes"

void fsc_answer_release(struct fsc_answer *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free((char *)a->frames[i].name);
		free((char *)a->frames[i].binary);
		free((char *)a->frames[i].file);
	}
	free(a->frames);
	*a = (struct fsc_answer){0};
}

static struct fsc_frame *make_frames(struct fsc_answer *a, size_t n)
{
	a->frames = calloc(n, sizeof(*a->frames));
	a->n = a->frames ? n : 0;
	return a->frames;
}

static int fill_unknown(struct fsc_answer *a, const char *binary, uint64_t offset,
			struct fsc_err *err)
{
	struct fsc_frame *f = make_frames(a, 1);

	if (!f)
		return fsc_err_nomem(err);
	f->name = strdup(UNKNOWN);
	f->binary = strdup(binary);
	f->offset = offset;
	f->unknown = true;
	return f->name && f->binary ? 0 : fsc_err_nomem(err);
}

/* "name" or "name [module]". */
static char *kernel_name(const struct fsc_ksym *k)
{
	size_t size = strlen(k->name) + (k->module ? strlen(k->module) + 3 : 0) + 1;
	char *name = malloc(size);

	if (name && k->module)
		snprintf(name, size, "%s [%s]", k->name, k->module);
	else if (name)
		memcpy(name, k->name, size);
	return name;
}

int fsc_answer_kernel(const struct fsc_ksyms *k, uint64_t addr, bool is_return,
		      struct fsc_answer *ret, struct fsc_err *err)
{
	const struct fsc_ksym *sym = fsc_ksyms_find(k, addr);
	struct fsc_frame *f;
	int rc;

	if (!sym) {
		rc = fill_unknown(ret, "kernel", addr + is_return, err);
		if (!rc)
			ret->frames->kernel = true;
		return rc;
	}
	f = make_frames(ret, 1);
	if (!f)
		return fsc_err_nomem(err);
	f->kernel = true;
	f->name = kernel_name(sym);
	f->binary = strdup(sym->module ? sym->module : "kernel");
	f->offset = addr + is_return - sym->addr;
	return f->name && f->binary ? 0 : fsc_err_nomem(err);
}

int fsc_answer_memory(const char *name, uint64_t offset, struct fsc_answer *ret,
		      struct fsc_err *err)
{
	int rc = fill_unknown(ret, name ? name : "", offset, err);

	if (rc || !name || strncmp(name, TRAMPOLINE, strlen(TRAMPOLINE)) != 0)
		return rc;
	/* Not unknown: the caller is hidden because it, too, has a return probe. */
	free((char *)ret->frames->name);
	ret->frames->name = strdup(name);
	ret->frames->unknown = false;
	return ret->frames->name ? 0 : fsc_err_nomem(err);
}

/* The name as people write it; NULL if out of memory. */
static char *plain_name(const char *name)
{
	char *d = fsc_demangle(name, true);

	return d || errno == ENOMEM ? d : strdup(name);
}

/* One frame of a file by its symbol, or else by what debug information knows; either may be NULL.
 */
static int fill_frame(struct fsc_frame *f, const char *binary, const struct fsc_sym *sym,
		      const struct fsc_inline *i, struct fsc_err *err)
{
	const char *name = sym ? sym->name : i ? i->name : NULL;

	f->unknown = !name;
	f->name = name ? plain_name(name) : strdup(UNKNOWN);
	f->binary = strdup(binary);
	if (i) {
		f->line = i->line;
		f->file = i->file ? strdup(i->file) : NULL;
	}
	return f->name && f->binary && (f->file || !i || !i->file) ? 0 : fsc_err_nomem(err);
}

int fsc_answer_file(const struct fsc_space_file *file, uint64_t offset, bool is_return,
		    const struct fsc_inlined *chain, struct fsc_answer *ret, struct fsc_err *err)
{
	const struct fsc_sym *sym = NULL;
	size_t n = chain ? chain->n : 1;
	uint64_t addr = 0;
	int rc = 0;

	if (file->elf && fsc_elf_addr(file->elf, offset, &addr))
		rc = fsc_elf_symbol_at(file->elf, addr, &sym, NULL);
	if (rc == -ENOMEM) /* any other: its symbols are damaged */
		return fsc_err_nomem(err);
	if (!make_frames(ret, n))
		return fsc_err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		struct fsc_frame *f = &ret->frames[i];
		const struct fsc_sym *own = i == n - 1 ? sym : NULL;

		rc = fill_frame(f, file->name, own, chain ? &chain->at[i] : NULL, err);
		if (rc)
			return rc;
		f->inlined = i < n - 1;
		if (own)
			f->offset = addr + is_return - own->addr;
		else if (f->unknown)
			f->offset = offset + is_return;
	}
	return 0;
}
