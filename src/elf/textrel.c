/* Text relocations: bytes of code that the loader changes (DT_TEXTREL, and segments that are
 * writable and executable). What the file has there is not what runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_priv.h"

enum { LONGEST = 16 }; /* bytes that one relocation changes */

struct patched {
	uint64_t addr, size;
};

#ifdef __x86_64__
static uint64_t relocation_size(uint64_t type)
{
	switch (type) {
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
	case R_X86_64_32:
	case R_X86_64_32S:
	case R_X86_64_SIZE32:
	case R_X86_64_TPOFF32:
		return 4;
	case R_X86_64_TLSDESC:
		return 16;
	default:
		return 8;
	}
}
#else
static uint64_t relocation_size(uint64_t type)
{
	return type == R_AARCH64_TLSDESC ? 16 : 8;
}
#endif

static bool in_code(const struct fsc_elf *e, uint64_t addr)
{
	for (size_t i = 0; i < e->loads.n; i++) {
		const Elf64_Phdr *ph = FSC_AT(Elf64_Phdr, &e->loads, i);

		if (ph->p_flags & PF_X && addr + LONGEST > ph->p_vaddr &&
		    addr < ph->p_vaddr + ph->p_memsz)
			return true;
	}
	return false;
}

static int add_patched(struct fsc_elf *e, uint64_t addr, uint64_t size, struct fsc_err *err)
{
	const struct patched p = {addr, size};

	return in_code(e, addr) ? fsc_vec_add(&e->patched, &p, err) : 0;
}

/* A table of relocations, by the dynamic section: its address, size, and the size of an entry. */
static int copy_table(const struct fsc_elf *e, uint64_t addr, uint64_t size, char **ret,
		      struct fsc_err *err)
{
	uint64_t offset;

	if (!fsc_elf_offset(e, addr, false, &offset))
		return fsc_err_set(err, ENOEXEC, "'%s' has a damaged table of relocations",
				   e->main.path);
	return fsc_image_copy(&e->main, offset, size, ret, err);
}

static int add_table(struct fsc_elf *e, uint64_t addr, uint64_t size, size_t entry,
		     struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *table = NULL;
	int rc = size ? copy_table(e, addr, size, &table, err) : 0;

	/* Both kinds of entries begin alike. */
	for (uint64_t at = 0; !rc && at + entry <= size; at += entry) {
		Elf64_Rel r;

		memcpy(&r, table + at, sizeof(r));
		rc = add_patched(e, r.r_offset, relocation_size(ELF64_R_TYPE(r.r_info)), err);
	}
	return rc;
}

/* An even word is an address; an odd one says which of the next 63 words are changed, too. */
static int add_relative(struct fsc_elf *e, uint64_t addr, uint64_t size, struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *table = NULL;
	int rc = size ? copy_table(e, addr, size, &table, err) : 0;
	uint64_t next = 0;

	for (uint64_t at = 0; !rc && at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, table + at, sizeof(word));
		if (!(word & 1)) {
			rc = add_patched(e, word, 8, err);
			next = word + 8;
			continue;
		}
		for (unsigned bit = 1; !rc && bit < 64; bit++)
			if (word >> bit & 1)
				rc = add_patched(e, next + (bit - 1) * 8, 8, err);
		next += 63 * sizeof(uint64_t);
	}
	return rc;
}

static bool is_writable(const struct fsc_elf *e)
{
	for (size_t i = 0; i < e->loads.n; i++) {
		const Elf64_Phdr *ph = FSC_AT(Elf64_Phdr, &e->loads, i);

		if (ph->p_flags & PF_X && ph->p_flags & PF_W)
			return true;
	}
	return false;
}

static bool has_tag(const Elf64_Dyn *dyn, size_t n, Elf64_Sxword tag)
{
	for (size_t i = 0; i < n && dyn[i].d_tag != DT_NULL; i++)
		if (dyn[i].d_tag == tag)
			return true;
	return false;
}

static int compare_patched(const void *a, const void *b)
{
	const struct patched *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int read_patched(struct fsc_elf *e, const Elf64_Dyn *dyn, size_t n, struct fsc_err *err)
{
	const bool calls_rela = fsc_dynamic_value(dyn, n, DT_PLTREL) == DT_RELA;
	int rc = add_table(e, fsc_dynamic_value(dyn, n, DT_RELA),
			   fsc_dynamic_value(dyn, n, DT_RELASZ), sizeof(Elf64_Rela), err);

	if (!rc)
		rc = add_table(e, fsc_dynamic_value(dyn, n, DT_REL),
			       fsc_dynamic_value(dyn, n, DT_RELSZ), sizeof(Elf64_Rel), err);
	if (!rc)
		rc = add_table(e, fsc_dynamic_value(dyn, n, DT_JMPREL),
			       fsc_dynamic_value(dyn, n, DT_PLTRELSZ),
			       calls_rela ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel), err);
	if (!rc)
		rc = add_relative(e, fsc_dynamic_value(dyn, n, DT_RELR),
				  fsc_dynamic_value(dyn, n, DT_RELRSZ), err);
	if (!rc && e->patched.n)
		qsort(e->patched.data, e->patched.n, sizeof(struct patched), compare_patched);
	return rc;
}

bool fsc_elf_has_textrel(struct fsc_elf *e)
{
	FSC_AUTO(fsc_freep) Elf64_Dyn *dyn = NULL;
	size_t n;

	if (e->textrel_read)
		return e->textrel;
	e->textrel_read = true;
	n = fsc_elf_dynamic(e, &dyn);
	e->textrel = n && (has_tag(dyn, n, DT_TEXTREL) || is_writable(e) ||
			   fsc_dynamic_value(dyn, n, DT_FLAGS) & DF_TEXTREL);
	if (e->textrel)
		e->patched_unknown = read_patched(e, dyn, n, NULL) != 0;
	return e->textrel;
}

bool fsc_elf_relocates(struct fsc_elf *e, uint64_t offset, size_t n)
{
	uint64_t addr;
	size_t lo = 0, hi;

	if (!fsc_elf_has_textrel(e))
		return false;
	if (e->patched_unknown || !fsc_elf_addr(e, offset, &addr))
		return true;
	hi = e->patched.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (FSC_AT(struct patched, &e->patched, mid)->addr + LONGEST <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < e->patched.n; lo++) {
		const struct patched *p = FSC_AT(struct patched, &e->patched, lo);

		if (p->addr >= addr + n)
			break;
		if (p->addr + p->size > addr)
			return true;
	}
	return false;
}

void fsc_elf_textrel_init(struct fsc_elf *e)
{
	e->patched = FSC_VEC_INIT(struct patched);
}
