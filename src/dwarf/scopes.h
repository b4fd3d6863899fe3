/* Which function, inlined copy or block an address belongs to, by DWARF. */
#ifndef FSC_DWARF_SCOPES_H
#define FSC_DWARF_SCOPES_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct fsc_place {
	uint64_t addr;
	uint64_t scope; /* number of the innermost scope, 0 if there is none */
	uint64_t part;	/* start of the function's hot or cold part */
};

/* Fills scope and part of n places in a unit; reorders them. */
void fsc_scopes_mark(Dwarf_Die *unit, struct fsc_place *places, size_t n);
/* Keeps of each scope's part the place with the lowest address, and all that have no scope. */
void fsc_scopes_keep_first(struct fsc_vec *places);

#endif
