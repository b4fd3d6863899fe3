/* A directory of our own for a while, in memory where there is room for it; gone with all that is
 * in it when it is removed. */
#ifndef FSC_CMD_SCRATCH_H
#define FSC_CMD_SCRATCH_H

#include "base/err.h"

struct fsc_scratch {
	char path[64]; /* "": none */
};

int fsc_scratch_make(struct fsc_scratch *s, struct fsc_err *err);
/* Removes the files in it, and it; none is fine. */
void fsc_scratch_remove(struct fsc_scratch *s);

#endif
