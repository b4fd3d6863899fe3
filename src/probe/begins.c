/* One pass over a file's symbols, by their addresses: each instruction of a function with other
 * symbols in it is decoded once. */
#include "probe/begins.h"

#include <stdio.h>

#include "probe/insn.h"

/* No function is larger: what a symbol says of its size may be anything. */
enum { LARGEST = 1 << 20 };

void fsc_begins_visit(struct fsc_begins *b, const struct fsc_sym *syms, size_t i)
{
	for (; b->next < i && syms[b->next].addr < syms[i].addr; b->next++) {
		const struct fsc_sym *f = &syms[b->next];

		if (f->size > LARGEST ||
		    (b->outer && f->addr + f->size <= b->outer->addr + b->outer->size))
			continue;
		b->outer = f;
		b->decoded = 0;
	}
}

bool fsc_begins_code(struct fsc_begins *b, const struct fsc_elf *e, const struct fsc_sym *sym,
		     char *why)
{
	const struct fsc_sym *outer = b->outer;
	uint64_t before, after, from = b->decoded;
	bool fits;

	if (fsc_elf_in_data(e, sym->addr)) {
		snprintf(why, FSC_INSN_WHY, "it is data: its section is not executable");
		return false;
	}
	if (!outer || sym->addr - outer->addr >= outer->size)
		return true;
	fits = fsc_insn_boundary(e, outer->offset + from, sym->addr - outer->addr - from, &before,
				 &after);
	b->decoded = from + (fits ? after : before);
	if (!fits)
		snprintf(why, FSC_INSN_WHY, "it begins inside an instruction of %s", outer->name);
	return fits;
}
