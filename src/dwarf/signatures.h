/* Signatures of user functions, out of DWARF. */
#ifndef FSC_DWARF_SIGNATURES_H
#define FSC_DWARF_SIGNATURES_H

#include "base/err.h"
#include "elf/elf.h"
#include "types/types.h"

/* The signatures of the functions that begin at n virtual addresses (fsc_sym.addr), from the file's
 * own DWARF or its separate debug file; ret[i].found says whether there is one. What they point to
 * is owned by types. -ENODATA: no debug information at all; -EBADMSG: it is damaged; -ETIME: there
 * is so much that reading was stopped, and what was found by then is in ret. For all other errors
 * ret has none. Works in a child process, some seconds at most, and a minute if the file is damaged
 * in a way that keeps libdw busy. Functions of split DWARF (.dwo files) are not found. */
int fsc_dwarf_signatures(struct fsc_elf *e, const uint64_t *addrs, size_t n,
			 struct fsc_types *types, struct fsc_signature *ret, struct fsc_err *err);
/* As above for one; -ENOENT: there is debug information, but not of that function. */
int fsc_dwarf_signature(struct fsc_elf *e, uint64_t addr, struct fsc_types *types,
			struct fsc_signature *ret, struct fsc_err *err);

#endif
