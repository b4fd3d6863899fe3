/* From an address in an ELF file to the function around it. Nothing is guessed: after a
 * function's end there is no function, even if the next symbol is far away. */
#include "elf/elf_priv.h"

/* How many preceding symbols are searched for one that extends to the address: assembler code
 * has sized labels inside functions. */
#define LOOK_BACK 32

static bool same_section(const struct fsc_elf *e, uint64_t a, uint64_t b)
{
	for (size_t i = 0; i < e->main.n_sh; i++) {
		const Elf64_Shdr *sh = &e->main.sh[i];

		if (!(sh->sh_flags & SHF_ALLOC) || a < sh->sh_addr ||
		    a - sh->sh_addr >= sh->sh_size)
			continue;
		return b >= sh->sh_addr && b - sh->sh_addr < sh->sh_size;
	}
	return !e->main.n_sh;
}

/* How many symbols begin at or before addr. */
static size_t count_until(const struct fsc_sym *syms, size_t n, uint64_t addr)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (syms[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int fsc_elf_symbol_at(struct fsc_elf *e, uint64_t addr, const struct fsc_sym **ret,
		      struct fsc_err *err)
{
	const struct fsc_sym *syms, *sized = NULL, *open = NULL;
	size_t n, end;
	int rc = fsc_elf_symbols(e, &syms, &n, err);

	*ret = NULL;
	if (rc)
		return rc;
	end = count_until(syms, n, addr);
	/* Backwards, so that of several names at one address the first, which is the best, wins. */
	for (size_t i = end; i-- > 0 && end - i <= LOOK_BACK;) {
		if (sized && syms[i].addr != sized->addr)
			break;
		if (addr - syms[i].addr < syms[i].size)
			sized = &syms[i];
		else if (!syms[i].size && syms[i].addr == syms[end - 1].addr &&
			 same_section(e, syms[i].addr, addr))
			open = &syms[i];
	}
	*ret = sized ? sized : open;
	return 0;
}
