/* The functions of an ELF file: read from every symbol table it has or points to, with versions,
 * without imports and duplicates, sorted so that the preferred name comes first. Names are not
 * demangled here. */
#include "elf/elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_priv.h"

#define VERSION_HIDDEN 0x8000
#define VERSIONS_MAX   0x8000

/* One symbol table while it is read. The strings are owned by the fsc_elf. */
struct table {
	Elf64_Sym *syms;
	size_t n;
	const char *strings;
	size_t strings_size;
	uint16_t *versym; /* one per symbol, NULL where there are no versions */
	const char **versions;
};

static void table_release(struct table *t)
{
	free(t->syms);
	free(t->versym);
	free(t->versions);
}

static int read_strings(struct fsc_elf *e, const struct fsc_image *im, uint32_t index,
			struct table *t, struct fsc_err *err)
{
	const Elf64_Shdr *sh = index < im->n_sh ? &im->sh[index] : NULL;
	char *strings;
	int rc;

	if (!sh || sh->sh_type != SHT_STRTAB)
		return fsc_err_set(err, ENOEXEC, "'%s' has a symbol table without names", im->path);
	rc = fsc_image_copy(im, sh->sh_offset, sh->sh_size, &strings, err);
	if (!rc)
		rc = fsc_elf_keep(e, strings, err);
	if (rc)
		return rc;
	t->strings = strings;
	t->strings_size = sh->sh_size;
	return 0;
}

/* Version names by their index, out of .gnu.version_d. The chain only moves forward, so it ends. */
static void take_versions(const char *defs, size_t size, struct table *t)
{
	size_t pos = 0;

	while (size >= sizeof(Elf64_Verdef) && pos <= size - sizeof(Elf64_Verdef)) {
		Elf64_Verdef def;
		Elf64_Verdaux aux;
		size_t aux_pos;

		memcpy(&def, defs + pos, sizeof(def));
		aux_pos = pos + def.vd_aux;
		if (aux_pos > size - sizeof(aux))
			return;
		memcpy(&aux, defs + aux_pos, sizeof(aux));
		/* The base entry is the file's own name, not a version. */
		if (!(def.vd_flags & VER_FLG_BASE) && def.vd_ndx < VERSIONS_MAX &&
		    aux.vda_name < t->strings_size)
			t->versions[def.vd_ndx] = t->strings + aux.vda_name;
		if (!def.vd_next)
			return;
		pos += def.vd_next;
	}
}

static int read_versions(const struct fsc_image *im, uint32_t strings, struct table *t,
			 struct fsc_err *err)
{
	const Elf64_Shdr *sym = fsc_image_section_of_type(im, SHT_GNU_versym);
	const Elf64_Shdr *def = fsc_image_section_of_type(im, SHT_GNU_verdef);
	FSC_AUTO(fsc_freep) char *defs = NULL;
	char *syms;
	int rc;

	if (!sym || !def || def->sh_link != strings || sym->sh_size / sizeof(uint16_t) < t->n)
		return 0;
	rc = fsc_image_copy(im, sym->sh_offset, sym->sh_size, &syms, err);
	if (rc)
		return rc;
	t->versym = (uint16_t *)syms;
	rc = fsc_image_copy(im, def->sh_offset, def->sh_size, &defs, err);
	if (rc)
		return rc;
	t->versions = calloc(VERSIONS_MAX, sizeof(*t->versions));
	if (!t->versions)
		return fsc_err_nomem(err);
	take_versions(defs, def->sh_size, t);
	return 0;
}

static bool is_function(const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_shndx != SHN_UNDEF;
}

/* "name@VERSION", or "name@@VERSION" for the default, as .symtab spells it. The table's strings
 * share their ends, so they cannot be cut in place. */
static int split_version(struct fsc_elf *e, struct fsc_sym *sym, struct fsc_err *err)
{
	const char *at = strchr(sym->name + 1, '@');
	char *name, *version;

	if (!at || !at[1] || (at[1] == '@' && !at[2]))
		return 0;
	name = strdup(sym->name);
	if (!name)
		return fsc_err_nomem(err);
	if (fsc_elf_keep(e, name, err))
		return -ENOMEM;
	version = name + (at - sym->name);
	*version++ = '\0';
	sym->version_default = *version == '@';
	sym->version = version + sym->version_default;
	sym->name = name;
	return 0;
}

static int add_symbol(struct fsc_elf *e, const struct table *t, size_t i, struct fsc_err *err)
{
	const Elf64_Sym *s = &t->syms[i];
	unsigned bind = ELF64_ST_BIND(s->st_info);
	struct fsc_sym *sym;
	uint64_t offset;

	if (!is_function(s) || s->st_name >= t->strings_size || !t->strings[s->st_name] ||
	    !fsc_elf_offset(e, s->st_value, true, &offset))
		return 0;
	sym = fsc_vec_push(&e->syms);
	if (!sym)
		return fsc_err_nomem(err);
	*sym = (struct fsc_sym){
	    .name = t->strings + s->st_name,
	    .version_default = true,
	    .ifunc = ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC,
	    .global = bind != STB_LOCAL,
	    .addr = s->st_value,
	    .size = s->st_size,
	    .offset = offset,
	};
	if (!t->versions)
		return split_version(e, sym, err);
	sym->version = t->versions[t->versym[i] & (VERSIONS_MAX - 1)];
	sym->version_default = !sym->version || !(t->versym[i] & VERSION_HIDDEN);
	return 0;
}

/* Adds the functions of im's table of one type (SHT_SYMTAB, SHT_DYNSYM), if it has that table. */
static int add_table(struct fsc_elf *e, const struct fsc_image *im, uint32_t type,
		     struct fsc_err *err)
{
	const Elf64_Shdr *sh = fsc_image_section_of_type(im, type);
	FSC_AUTO(table_release) struct table t = {0};
	char *syms;
	int rc;

	if (!sh || sh->sh_size < sizeof(Elf64_Sym))
		return 0;
	if (sh->sh_entsize != sizeof(Elf64_Sym))
		return fsc_err_set(err, ENOEXEC, "'%s' has a damaged symbol table", im->path);
	rc = fsc_image_copy(im, sh->sh_offset, sh->sh_size, &syms, err);
	if (rc)
		return rc;
	t.syms = (Elf64_Sym *)syms;
	t.n = sh->sh_size / sizeof(Elf64_Sym);
	rc = read_strings(e, im, sh->sh_link, &t, err);
	if (!rc && type == SHT_DYNSYM)
		rc = read_versions(im, sh->sh_link, &t, err);
	for (size_t i = 1; !rc && i < t.n; i++)
		rc = add_symbol(e, &t, i, err);
	return rc;
}

/* .gnu_debugdata and debug files hold what a stripped .symtab would have held. */
static int add_all(struct fsc_elf *e, struct fsc_err *err)
{
	const struct fsc_image *debug;
	struct fsc_image mini;
	int rc;

	rc = add_table(e, &e->main, SHT_DYNSYM, err);
	if (!rc)
		rc = add_table(e, &e->main, SHT_SYMTAB, err);
	if (rc || fsc_image_section_of_type(&e->main, SHT_SYMTAB))
		return rc;
	debug = fsc_elf_debug_file(e);
	if (debug)
		return add_table(e, debug, SHT_SYMTAB, err);
	if (errno == ENOMEM)
		return fsc_err_nomem(err);
	rc = fsc_elf_debugdata(e, &mini);
	e->stripped = !rc;
	if (rc <= 0)
		return rc ? fsc_err_nomem(err) : 0;
	rc = add_table(e, &mini, SHT_SYMTAB, err);
	fsc_image_release(&mini);
	return rc;
}

bool fsc_elf_stripped(const struct fsc_elf *e)
{
	return e->stripped;
}

static int compare_text(const char *a, const char *b)
{
	if (a == b)
		return 0;
	if (!a || !b)
		return a ? -1 : 1;
	return strcmp(a, b);
}

/* Brings duplicates together: the same name at the same address, versions before none. */
static int by_identity(const void *va, const void *vb)
{
	const struct fsc_sym *a = va, *b = vb;
	int c;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	c = compare_text(a->name, b->name);
	if (!c)
		c = compare_text(a->version, b->version);
	if (c)
		return c;
	return (int)b->version_default - (int)a->version_default;
}

static size_t underscores(const char *s)
{
	return strspn(s, "_");
}

/* Of names at one address, the preferred one first. */
static int by_taste(const void *va, const void *vb)
{
	const struct fsc_sym *a = va, *b = vb;
	size_t na, nb;
	int c;

	if (a->global != b->global)
		return a->global ? -1 : 1;
	na = underscores(a->name);
	nb = underscores(b->name);
	if (na == nb) {
		na = strlen(a->name);
		nb = strlen(b->name);
	}
	if (na != nb)
		return na < nb ? -1 : 1;
	c = strcmp(a->name, b->name);
	if (!c)
		c = (int)b->version_default - (int)a->version_default;
	return c ? c : compare_text(a->version, b->version);
}

/* A name without version is redundant next to the same name with one: .symtab and .dynsym list
 * the same function both ways. */
static bool is_duplicate(const struct fsc_sym *first, const struct fsc_sym *next)
{
	return first->addr == next->addr && !strcmp(first->name, next->name) &&
	       (!next->version || !compare_text(first->version, next->version));
}

static void drop_duplicates(struct fsc_vec *syms)
{
	struct fsc_sym *s = syms->data;
	size_t n = 0;

	for (size_t i = 0; i < syms->n; i++) {
		if (!n || !is_duplicate(&s[n - 1], &s[i])) {
			s[n++] = s[i];
			continue;
		}
		s[n - 1].global |= s[i].global;
		s[n - 1].ifunc |= s[i].ifunc;
		if (!s[n - 1].size)
			s[n - 1].size = s[i].size;
	}
	syms->n = n;
}

static void sort_symbols(struct fsc_vec *syms)
{
	struct fsc_sym *s = syms->data;
	size_t start = 0;

	if (!syms->n)
		return;
	qsort(s, syms->n, sizeof(*s), by_identity);
	drop_duplicates(syms);
	for (size_t i = 1; i <= syms->n; i++) {
		if (i < syms->n && s[i].addr == s[start].addr)
			continue;
		if (i - start > 1)
			qsort(s + start, i - start, sizeof(*s), by_taste);
		start = i;
	}
}

int fsc_elf_symbols(struct fsc_elf *e, const struct fsc_sym **ret, size_t *ret_n,
		    struct fsc_err *err)
{
	int rc;

	if (!e->syms_read) {
		e->syms.n = 0;
		rc = add_all(e, err);
		if (rc)
			return rc;
		sort_symbols(&e->syms);
		e->syms_read = true;
	}
	*ret = e->syms.data;
	*ret_n = e->syms.n;
	return 0;
}
