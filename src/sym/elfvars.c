/* The variables of an ELF file, by name. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "sym/elf_priv.h"

static bool is_variable(const Elf64_Sym *s)
{
	return ELF64_ST_TYPE(s->st_info) == STT_OBJECT && s->st_shndx != SHN_UNDEF;
}

/* Looks in the table of one type, if the file has it. The copies end in a zero byte, so that every
 * name ends. */
static int find_in(const struct fsc_image *im, uint32_t type, const char *name, uint64_t *ret,
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
	if (rc)
		return rc;
	for (size_t i = 1; i < sh->sh_size / sizeof(Elf64_Sym); i++) {
		const Elf64_Sym *s = &((const Elf64_Sym *)table)[i];

		if (!is_variable(s) || s->st_name >= strings->sh_size ||
		    strcmp(names + s->st_name, name) != 0)
			continue;
		*ret = s->st_value;
		return 1;
	}
	return 0;
}

int fsc_elf_variable(const struct fsc_elf *e, const char *name, uint64_t *ret, struct fsc_err *err)
{
	int rc = find_in(&e->main, SHT_DYNSYM, name, ret, err);

	return rc ? rc : find_in(&e->main, SHT_SYMTAB, name, ret, err);
}
