/* The variables of an ELF file by name, and all names it mentions. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_priv.h"

/* Walks the table of one type, if the file has it, until fn returns non-zero, which is returned.
 * The copies end in a zero byte, so every name is terminated. */
static int each_in(const struct fsc_image *im, uint32_t type,
		   int (*fn)(const Elf64_Sym *s, const char *name, void *arg), void *arg,
		   struct fsc_err *err)
{
	const Elf64_Shdr *sh = fsc_image_section_of_type(im, type), *strings;
	FSC_AUTO(fsc_freep) char *table = NULL;
	FSC_AUTO(fsc_freep) char *names = NULL;
	int rc;

	if (!sh || sh->sh_size < sizeof(Elf64_Sym))
		return 0;
	strings = sh->sh_link < im->n_sh ? &im->sh[sh->sh_link] : NULL;
	if (!strings || strings->sh_type != SHT_STRTAB || sh->sh_entsize != sizeof(Elf64_Sym))
		return fsc_err_set(err, ENOEXEC, "'%s' has a damaged symbol table", im->path);
	rc = fsc_image_copy(im, sh->sh_offset, sh->sh_size, &table, err);
	if (!rc)
		rc = fsc_image_copy(im, strings->sh_offset, strings->sh_size, &names, err);
	for (size_t i = 1; !rc && i < sh->sh_size / sizeof(Elf64_Sym); i++) {
		const Elf64_Sym *s = &((const Elf64_Sym *)table)[i];

		if (s->st_name < strings->sh_size)
			rc = fn(s, names + s->st_name, arg);
	}
	return rc;
}

struct variable {
	const char *name;
	uint64_t addr;
};

static int is_variable(const Elf64_Sym *s, const char *name, void *arg)
{
	struct variable *v = arg;

	if (ELF64_ST_TYPE(s->st_info) != STT_OBJECT || s->st_shndx == SHN_UNDEF ||
	    strcmp(name, v->name) != 0)
		return 0;
	v->addr = s->st_value;
	return 1;
}

int fsc_elf_variable(const struct fsc_elf *e, const char *name, uint64_t *ret, struct fsc_err *err)
{
	struct variable v = {.name = name};
	int rc = each_in(&e->main, SHT_DYNSYM, is_variable, &v, err);

	if (!rc)
		rc = each_in(&e->main, SHT_SYMTAB, is_variable, &v, err);
	if (rc > 0)
		*ret = v.addr;
	return rc;
}

struct named {
	const char *name;
	struct fsc_elf_symbol *ret;
};

static int is_named(const Elf64_Sym *s, const char *name, void *arg)
{
	struct named *n = arg;
	unsigned type = ELF64_ST_TYPE(s->st_info);

	if ((type != STT_OBJECT && type != STT_FUNC && type != STT_NOTYPE) ||
	    s->st_shndx == SHN_UNDEF || strcmp(name, n->name) != 0)
		return 0;
	*n->ret = (struct fsc_elf_symbol){
	    .addr = s->st_value, .size = s->st_size, .function = type == STT_FUNC};
	return 1;
}

int fsc_elf_symbol_named(struct fsc_elf *e, const char *name, struct fsc_elf_symbol *ret,
			 struct fsc_err *err)
{
	struct named n = {.name = name, .ret = ret};
	int rc = each_in(&e->main, SHT_DYNSYM, is_named, &n, err);

	if (!rc)
		rc = each_in(&e->main, SHT_SYMTAB, is_named, &n, err);
	if (!rc && fsc_elf_debug_file(e))
		rc = each_in(fsc_elf_debug_file(e), SHT_SYMTAB, is_named, &n, err);
	return rc;
}

bool fsc_elf_is_relocated(const struct fsc_elf *e)
{
	return e->main.eh.e_type == ET_DYN;
}

struct mention {
	bool (*wanted)(const char *name, bool defined, void *arg);
	void *arg;
};

static int is_mentioned(const Elf64_Sym *s, const char *name, void *arg)
{
	const struct mention *m = arg;

	return m->wanted(name, s->st_shndx != SHN_UNDEF, m->arg);
}

bool fsc_elf_mentions(const struct fsc_elf *e,
		      bool (*wanted)(const char *name, bool defined, void *arg), void *arg)
{
	struct mention m = {wanted, arg};

	return each_in(&e->main, SHT_DYNSYM, is_mentioned, &m, NULL) > 0 ||
	       each_in(&e->main, SHT_SYMTAB, is_mentioned, &m, NULL) > 0;
}
