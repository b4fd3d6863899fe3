/* What debug information says about addresses: lines, and functions inlined around them. */
#ifndef FSC_DWARF_INLINES_H
#define FSC_DWARF_INLINES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "elf/elf.h"

struct fsc_inline {
	char *name; /* as in the debug information, mangled if it is so there; NULL: unknown */
	char *file; /* NULL: unknown */
	unsigned line;
};

/* One address; at[0] is the innermost function, the last one the function that has the code. */
struct fsc_inlined {
	uint64_t addr;
	size_t n;
	struct fsc_inline *at;
};

/* Appends struct fsc_inlined for those of n virtual addresses that debug information knows; addrs
 * is put into order. -ENODATA: there is no debug information; -EBADMSG: it is damaged. Works in a
 * child process, up to a minute. Caller releases. */
int fsc_inlines_find(struct fsc_elf *e, uint64_t *addrs, size_t n, struct fsc_vec *ret,
		     struct fsc_err *err);
void fsc_inlines_release(struct fsc_vec *v);

#endif
