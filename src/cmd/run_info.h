/* What this machine has for scripts, as `bpftrace --info` lists it. */
#ifndef FSC_CMD_RUN_INFO_H
#define FSC_CMD_RUN_INFO_H

#include "base/err.h"

/* Prints it to standard output; each feature is tried out. */
int fsc_run_info(struct fsc_err *err);

#endif
