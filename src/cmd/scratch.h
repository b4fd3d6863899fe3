/* A temporary directory, in memory if possible. */
#ifndef FSC_CMD_SCRATCH_H
#define FSC_CMD_SCRATCH_H

#include "base/err.h"

struct fsc_scratch {
	char path[64]; /* "": none */
};

int fsc_scratch_make(struct fsc_scratch *s, struct fsc_err *err);
/* Removes it with its files; does nothing if there is none. */
void fsc_scratch_remove(struct fsc_scratch *s);

#endif
