/* struct fsc_elf: opening a program or shared library, its segments, and what its dynamic section
 * says about other files. Symbols, USDT probes, lines and separate debug files have their own
 * files. */
#include "elf/elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/elf_priv.h"

/* The kernel refuses programs with a longer table (64 KB). */
#define PHDRS_MAX 1170

static int check_type(const struct fsc_image *im, struct fsc_err *err)
{
	switch (im->eh.e_type) {
	case ET_EXEC:
	case ET_DYN:
		return 0;
	case ET_REL:
		return fsc_err_set(err, ENOEXEC,
				   "'%s' is an object file that is not linked into a program yet",
				   im->path);
	case ET_CORE:
		return fsc_err_set(err, ENOEXEC, "'%s' is a core dump, not a program", im->path);
	default:
		return fsc_err_set(err, ENOEXEC, "'%s' is not a program or shared library",
				   im->path);
	}
}

static int read_segments(struct fsc_elf *e, struct fsc_err *err)
{
	const Elf64_Ehdr *eh = &e->main.eh;
	char *table;
	int rc;

	if (!eh->e_phnum || eh->e_phentsize != sizeof(Elf64_Phdr) || eh->e_phnum > PHDRS_MAX)
		return fsc_err_set(err, ENOEXEC, "'%s' has no usable table of segments",
				   e->main.path);
	rc = fsc_image_copy(&e->main, eh->e_phoff, eh->e_phnum * sizeof(Elf64_Phdr), &table, err);
	if (rc)
		return rc;
	e->ph = (Elf64_Phdr *)table;
	e->n_ph = eh->e_phnum;
	for (size_t i = 0; i < e->n_ph; i++) {
		Elf64_Phdr *load;

		if (e->ph[i].p_type != PT_LOAD)
			continue;
		load = fsc_vec_push(&e->loads);
		if (!load)
			return fsc_err_nomem(err);
		*load = e->ph[i];
	}
	return 0;
}

int fsc_elf_open(const char *path, const char *root, struct fsc_elf **ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_elf_freep) struct fsc_elf *e = calloc(1, sizeof(*e));
	int rc;

	if (!e)
		return fsc_err_nomem(err);
	e->main.fd = e->debug.fd = -1;
	e->loads = FSC_VEC_INIT(Elf64_Phdr);
	e->blobs = FSC_VEC_INIT(char *);
	e->syms = FSC_VEC_INIT(struct fsc_sym);
	e->usdts = FSC_VEC_INIT(struct fsc_usdt);
	e->imports = FSC_VEC_INIT(struct fsc_import);
	fsc_elf_textrel_init(e);
	e->root = strdup(root);
	if (!e->root)
		return fsc_err_nomem(err);
	rc = fsc_image_open(&e->main, path, err);
	if (!rc)
		rc = check_type(&e->main, err);
	if (!rc)
		rc = read_segments(e, err);
	if (rc)
		return rc;
	*ret = fsc_take(&e);
	return 0;
}

void fsc_elf_free(struct fsc_elf *e)
{
	if (!e)
		return;
	fsc_image_release(&e->main);
	fsc_image_release(&e->debug);
	fsc_vec_release_owned(&e->blobs);
	fsc_vec_release(&e->loads);
	fsc_vec_release(&e->syms);
	fsc_vec_release(&e->usdts);
	fsc_vec_release(&e->imports);
	fsc_vec_release(&e->patched);
	free(e->needed);
	free(e->ph);
	free(e->root);
	free(e);
}

void fsc_elf_freep(struct fsc_elf **e)
{
	fsc_elf_free(*e);
}

int fsc_elf_keep(struct fsc_elf *e, char *blob, struct fsc_err *err)
{
	char **place = fsc_vec_push(&e->blobs);

	if (!place) {
		free(blob);
		return fsc_err_nomem(err);
	}
	*place = blob;
	return 0;
}

bool fsc_elf_offset(const struct fsc_elf *e, uint64_t addr, bool executable, uint64_t *ret)
{
	for (size_t i = 0; i < e->loads.n; i++) {
		const Elf64_Phdr *ph = FSC_AT(Elf64_Phdr, &e->loads, i);
		uint64_t in = addr - ph->p_vaddr;

		if (addr < ph->p_vaddr || in >= ph->p_filesz ||
		    (executable && !(ph->p_flags & PF_X)))
			continue;
		if (ph->p_offset >= e->main.size || in >= e->main.size - ph->p_offset)
			return false; /* the file ends before */
		*ret = ph->p_offset + in;
		return true;
	}
	return false;
}

bool fsc_elf_code(const struct fsc_elf *e, size_t i, uint64_t *ret_offset, uint64_t *ret_size)
{
	for (size_t k = 0; k < e->loads.n; k++) {
		const Elf64_Phdr *ph = FSC_AT(Elf64_Phdr, &e->loads, k);

		if (!(ph->p_flags & PF_X) || i--)
			continue;
		*ret_offset = ph->p_offset;
		*ret_size = ph->p_filesz;
		return true;
	}
	return false;
}

bool fsc_elf_in_data(const struct fsc_elf *e, uint64_t addr)
{
	for (size_t i = 0; i < e->main.n_sh; i++) {
		const Elf64_Shdr *sh = &e->main.sh[i];

		if (sh->sh_flags & SHF_ALLOC && !(sh->sh_flags & SHF_TLS) && addr >= sh->sh_addr &&
		    addr - sh->sh_addr < sh->sh_size)
			return !(sh->sh_flags & SHF_EXECINSTR);
	}
	return false;
}

bool fsc_elf_addr(const struct fsc_elf *e, uint64_t offset, uint64_t *ret)
{
	for (size_t i = 0; i < e->loads.n; i++) {
		const Elf64_Phdr *ph = FSC_AT(Elf64_Phdr, &e->loads, i);

		if (!(ph->p_flags & PF_X) || offset < ph->p_offset ||
		    offset - ph->p_offset >= ph->p_filesz)
			continue;
		*ret = offset - ph->p_offset + ph->p_vaddr;
		return true;
	}
	return false;
}

bool fsc_elf_bias(const struct fsc_elf *e, uint64_t start, uint64_t offset, uint64_t *ret)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < e->loads.n; i++) {
		const Elf64_Phdr *ph = FSC_AT(Elf64_Phdr, &e->loads, i);
		/* A segment is mapped from the page that it begins in. */
		uint64_t first = ph->p_offset & ~(page - 1);

		if (!(ph->p_flags & PF_X) || offset < first ||
		    offset - first >= ph->p_filesz + (ph->p_offset - first))
			continue;
		*ret = start - (offset - ph->p_offset + ph->p_vaddr);
		return true;
	}
	return false;
}

size_t fsc_elf_read(const struct fsc_elf *e, uint64_t offset, void *buf, size_t n)
{
	return fsc_image_read(&e->main, offset, buf, n);
}

size_t fsc_elf_dynamic(struct fsc_elf *e, Elf64_Dyn **ret)
{
	char *table = NULL;
	int rc;

	for (size_t i = 0; i < e->n_ph; i++) {
		if (e->ph[i].p_type != PT_DYNAMIC)
			continue;
		rc = fsc_image_copy(&e->main, e->ph[i].p_offset, e->ph[i].p_filesz, &table, NULL);
		e->dynamic_failed = rc == -ENOMEM;
		if (rc)
			return 0;
		*ret = (Elf64_Dyn *)table;
		return e->ph[i].p_filesz / sizeof(Elf64_Dyn);
	}
	return 0;
}

uint64_t fsc_dynamic_value(const Elf64_Dyn *dyn, size_t n, Elf64_Sxword tag)
{
	for (size_t i = 0; i < n && dyn[i].d_tag != DT_NULL; i++) {
		if (dyn[i].d_tag == tag)
			return dyn[i].d_un.d_val;
	}
	return 0;
}

/* Fills in what the entries name; strings has size bytes and ends in a zero byte. */
static void take_names(struct fsc_elf *e, const Elf64_Dyn *dyn, size_t n, const char *strings,
		       size_t size)
{
	size_t n_needed = 0;

	e->needed = calloc(n + 1, sizeof(*e->needed));
	e->dynamic_failed = !e->needed;
	for (size_t i = 0; i < n && dyn[i].d_tag != DT_NULL; i++) {
		uint64_t at = dyn[i].d_un.d_val;

		if (at >= size)
			continue;
		if (dyn[i].d_tag == DT_NEEDED && e->needed)
			e->needed[n_needed++] = strings + at;
		/* RPATH counts only where there is no RUNPATH. */
		if (dyn[i].d_tag == DT_RUNPATH || (dyn[i].d_tag == DT_RPATH && !e->runpath))
			e->runpath = strings + at;
		if (dyn[i].d_tag == DT_SONAME)
			e->soname = strings + at;
	}
}

static void read_needed(struct fsc_elf *e)
{
	FSC_AUTO(fsc_freep) Elf64_Dyn *dyn = NULL;
	uint64_t offset, size;
	char *strings = NULL;
	size_t n;
	int rc;

	if (e->dynamic_read)
		return;
	e->dynamic_read = true;
	n = fsc_elf_dynamic(e, &dyn);
	e->pie = fsc_dynamic_value(dyn, n, DT_FLAGS_1) & DF_1_PIE;
	size = fsc_dynamic_value(dyn, n, DT_STRSZ);
	if (!n || !fsc_elf_offset(e, fsc_dynamic_value(dyn, n, DT_STRTAB), false, &offset))
		return;
	rc = fsc_image_copy(&e->main, offset, size, &strings, NULL);
	if (!rc)
		rc = fsc_elf_keep(e, strings, NULL);
	e->dynamic_failed = rc == -ENOMEM;
	if (!rc)
		take_names(e, dyn, n, strings, size);
}

const char *const *fsc_elf_needed(struct fsc_elf *e)
{
	static const char *const none[] = {NULL};

	read_needed(e);
	if (e->dynamic_failed)
		return NULL;
	return e->needed ? e->needed : none;
}

const char *fsc_elf_runpath(struct fsc_elf *e)
{
	read_needed(e);
	return e->runpath;
}

const char *fsc_elf_soname(struct fsc_elf *e)
{
	read_needed(e);
	return e->soname;
}

bool fsc_elf_is_program(struct fsc_elf *e)
{
	read_needed(e);
	if (e->main.eh.e_type == ET_EXEC || e->pie)
		return true;
	for (size_t i = 0; i < e->n_ph; i++)
		if (e->ph[i].p_type == PT_INTERP)
			return true;
	return false;
}

bool fsc_elf_has_section(const struct fsc_elf *e, const char *name)
{
	return fsc_image_section(&e->main, name) != NULL;
}

const struct fsc_image *fsc_elf_image(const struct fsc_elf *e)
{
	return &e->main;
}
