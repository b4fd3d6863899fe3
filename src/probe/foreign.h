/* Whether code of others may run inside a function: a callback of its caller, a function of another
 * library. Only that can throw through it, or leave it for another stack. */
#ifndef FSC_PROBE_FOREIGN_H
#define FSC_PROBE_FOREIGN_H

#include "elf/elf.h"

/* True also where that cannot be told from the code: jumps by a table, much of it, code that is not
 * understood, no memory. */
bool fsc_foreign_may_run(struct fsc_elf *e, const struct fsc_sym *sym);

#endif
