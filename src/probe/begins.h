/* Whether a symbol names the start of code. A breakpoint elsewhere changes data, or the inside of
 * an instruction. */
#ifndef FSC_PROBE_BEGINS_H
#define FSC_PROBE_BEGINS_H

#include "elf/elf.h"

/* The function that symbols may lie in, while those of a file are visited by their addresses; all
 * zero at the start. */
struct fsc_begins {
	const struct fsc_sym *outer; /* reaches furthest of the functions that begin before */
	uint64_t decoded;	     /* from its start on; an instruction begins there */
	size_t next;		     /* the first symbol that was not compared with it */
};

/* To symbol i of the file; i never falls. */
void fsc_begins_visit(struct fsc_begins *b, const struct fsc_sym *syms, size_t i);
/* Whether code begins at the symbol that is visited, as far as the file says: not in data, and not
 * in the middle of an instruction of the function that it lies in. If not, why (FSC_INSN_WHY bytes)
 * says it. */
bool fsc_begins_code(struct fsc_begins *b, const struct fsc_elf *e, const struct fsc_sym *sym,
		     char *why);

#endif
