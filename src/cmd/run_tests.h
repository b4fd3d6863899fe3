/* A script's test: and bench: probes, run by `run --test` and `run --bench`. */
#ifndef FSC_CMD_RUN_TESTS_H
#define FSC_CMD_RUN_TESTS_H

#include "cmd/run_events.h"

/* Runs each test: it fails if its program returns something other than 0, or prints an error.
 * *ret_failed of them. */
int fsc_run_tests(struct fsc_run_events *e, size_t *ret_failed, struct fsc_err *err);
/* Measures each bench and prints what it takes. */
int fsc_run_benches(struct fsc_run_events *e, struct fsc_err *err);

#endif
