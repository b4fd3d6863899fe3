/* The slowest calls of each function, with their stacks: for `time --slow`. */
#ifndef FSC_CMD_SLOWEST_H
#define FSC_CMD_SLOWEST_H

#include "cmd/measure.h"

struct fsc_slowest;

/* keep: calls of each function; stacks: FSC_STACKS_*, the parts to show; copies: the program's is
 * unwound by debug information. The caller owns *ret. */
int fsc_slowest_new(unsigned keep, unsigned stacks, bool copies, struct fsc_slowest **ret,
		    struct fsc_err *err);
void fsc_slowest_free(struct fsc_slowest *s);
int fsc_slowest_start(struct fsc_slowest *s, const struct fsc_measure_facts *facts,
		      struct fsc_err *err);
/* Reads pending calls. */
int fsc_slowest_read(struct fsc_slowest *s, bool last, struct fsc_err *err);
/* Writes what was kept, slowest first. */
int fsc_slowest_show(struct fsc_slowest *s, struct fsc_sink *sink, struct fsc_err *err);

#endif
