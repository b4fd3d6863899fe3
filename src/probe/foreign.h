/* Whether foreign code may run inside a function: a callback of its caller, or another library.
 * Only foreign code can throw through it or switch stacks. */
#ifndef FSC_PROBE_FOREIGN_H
#define FSC_PROBE_FOREIGN_H

#include "elf/elf.h"

/* True also if unknown: jump tables, too much code, code that cannot be decoded, no memory. */
bool fsc_foreign_may_run(struct fsc_elf *e, const struct fsc_sym *sym);

#endif
