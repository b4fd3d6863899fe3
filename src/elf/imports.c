/* The words of a file that the loader fills with addresses of functions: .got entries for calls
 * out of the file, or to its own symbols that others may interpose. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_priv.h"

#ifdef __x86_64__
enum { SLOT_OF_CALL = R_X86_64_JUMP_SLOT, SLOT_OF_ADDRESS = R_X86_64_GLOB_DAT };
#else
enum { SLOT_OF_CALL = R_AARCH64_JUMP_SLOT, SLOT_OF_ADDRESS = R_AARCH64_GLOB_DAT };
#endif

#define VERSION_NUMBER 0x7fff /* the bit above hides a symbol */

/* The dynamic symbols. The strings are zero-terminated and owned by the fsc_elf. */
struct dynamic {
	char *syms, *strings, *versym, *verneed;
	size_t n_syms, strings_size, n_versym, verneed_size;
};

static void dynamic_release(struct dynamic *d)
{
	free(d->syms);
	free(d->versym);
	free(d->verneed);
}

static int copy_section(const struct fsc_image *im, const Elf64_Shdr *sh, char **ret, size_t *size,
			struct fsc_err *err)
{
	int rc = sh ? fsc_image_copy(im, sh->sh_offset, sh->sh_size, ret, err) : 0;

	*size = sh && !rc ? sh->sh_size : 0;
	return rc;
}

static int read_dynamic(struct fsc_elf *e, const Elf64_Shdr *table, struct dynamic *d,
			struct fsc_err *err)
{
	const struct fsc_image *im = &e->main;
	const Elf64_Shdr *strings = table->sh_link < im->n_sh ? &im->sh[table->sh_link] : NULL;
	int rc;

	if (!strings || strings->sh_type != SHT_STRTAB || table->sh_entsize != sizeof(Elf64_Sym))
		return fsc_err_set(err, ENOEXEC, "'%s' has a damaged symbol table", im->path);
	rc = copy_section(im, table, &d->syms, &d->n_syms, err);
	if (!rc)
		rc = copy_section(im, strings, &d->strings, &d->strings_size, err);
	if (!rc)
		rc = fsc_elf_keep(e, d->strings, err);
	if (!rc)
		rc = copy_section(im, fsc_image_section_of_type(im, SHT_GNU_versym), &d->versym,
				  &d->n_versym, err);
	if (!rc)
		rc = copy_section(im, fsc_image_section_of_type(im, SHT_GNU_verneed), &d->verneed,
				  &d->verneed_size, err);
	d->n_syms /= sizeof(Elf64_Sym);
	d->n_versym /= sizeof(uint16_t);
	return rc;
}

static const char *string_at(const struct dynamic *d, uint64_t at)
{
	return at < d->strings_size ? d->strings + at : "";
}

/* The required version with that index. Both chains only move forward, so they end. */
static const char *version_needed(const struct dynamic *d, uint16_t number)
{
	Elf64_Verneed need;
	Elf64_Vernaux aux;

	for (size_t at = 0; at + sizeof(need) <= d->verneed_size; at += need.vn_next) {
		memcpy(&need, d->verneed + at, sizeof(need));
		for (size_t a = at + need.vn_aux; a + sizeof(aux) <= d->verneed_size;
		     a += aux.vna_next) {
			memcpy(&aux, d->verneed + a, sizeof(aux));
			if (aux.vna_other == number)
				return string_at(d, aux.vna_name);
			if (!aux.vna_next)
				break;
		}
		if (!need.vn_next)
			break;
	}
	return "";
}

static int add_import(struct fsc_elf *e, const struct dynamic *d, const Elf64_Rela *r,
		      struct fsc_err *err)
{
	const uint64_t i = ELF64_R_SYM(r->r_info), type = ELF64_R_TYPE(r->r_info);
	const Elf64_Sym *s;
	struct fsc_import *x;

	if ((type != SLOT_OF_CALL && type != SLOT_OF_ADDRESS) || !i || i >= d->n_syms)
		return 0;
	s = &((const Elf64_Sym *)d->syms)[i];
	x = fsc_vec_push(&e->imports);
	if (!x)
		return fsc_err_nomem(err);
	*x = (struct fsc_import){
	    .slot = r->r_offset, .name = string_at(d, s->st_name), .version = ""};
	if (s->st_shndx == SHN_UNDEF && i < d->n_versym)
		x->version = version_needed(d, ((const uint16_t *)d->versym)[i] & VERSION_NUMBER);
	return 0;
}

static int add_relocations(struct fsc_elf *e, const struct dynamic *d, const Elf64_Shdr *sh,
			   struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *relocations = NULL;
	int rc = fsc_image_copy(&e->main, sh->sh_offset, sh->sh_size, &relocations, err);

	for (size_t i = 0; !rc && i < sh->sh_size / sizeof(Elf64_Rela); i++)
		rc = add_import(e, d, &((const Elf64_Rela *)relocations)[i], err);
	return rc;
}

static int compare_slots(const void *a, const void *b)
{
	const struct fsc_import *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static int read_imports(struct fsc_elf *e, struct fsc_err *err)
{
	const struct fsc_image *im = &e->main;
	const Elf64_Shdr *table = fsc_image_section_of_type(im, SHT_DYNSYM);
	FSC_AUTO(dynamic_release) struct dynamic d = {0};
	int rc = table ? read_dynamic(e, table, &d, err) : 0;

	for (size_t i = 0; !rc && table && i < im->n_sh; i++)
		if (im->sh[i].sh_type == SHT_RELA && im->sh[i].sh_flags & SHF_ALLOC)
			rc = add_relocations(e, &d, &im->sh[i], err);
	if (e->imports.n)
		qsort(e->imports.data, e->imports.n, sizeof(struct fsc_import), compare_slots);
	return rc;
}

const struct fsc_import *fsc_elf_import_at(struct fsc_elf *e, uint64_t slot)
{
	const struct fsc_import wanted = {.slot = slot};

	if (!e->imports_read) {
		e->imports_read = true;
		if (read_imports(e, NULL))
			e->imports.n = 0;
	}
	if (!e->imports.n)
		return NULL;
	return bsearch(&wanted, e->imports.data, e->imports.n, sizeof(wanted), compare_slots);
}
