/* Where a function ends, by its instructions. The kernel's own way to catch a return changes the
 * return address on the stack, which no exception can be unwound through and which a program that
 * moves its stacks does not survive; a probe on each return instruction disturbs nothing. */
#ifndef FSC_PROBE_EXITS_H
#define FSC_PROBE_EXITS_H

#include "base/err.h"
#include "probe/target.h"
#include "sym/elf.h"

/* Finds the returns of a function and the jumps by which it may end in another one: t->exits (the
 * caller's) and t->by_insns, which stays false where they cannot all be known (no size, code that
 * is not understood). Fails only where memory is out. */
int fsc_exits_find(struct fsc_elf *e, const struct fsc_sym *sym, struct fsc_target *t,
		   struct fsc_err *err);

#endif
