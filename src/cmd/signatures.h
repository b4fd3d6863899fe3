/* What probed functions take and return, by debug information or the kernel's type information. */
#ifndef FSC_CMD_SIGNATURES_H
#define FSC_CMD_SIGNATURES_H

#include "base/err.h"
#include "probe/target.h"
#include "types/types.h"

/* Fills sigs, one for each place; what is not known stays zero. Only lack of memory is an error. */
int fsc_signatures_find(const struct fsc_targets *targets, struct fsc_types *types,
			struct fsc_signature *sigs, struct fsc_err *err);

#endif
