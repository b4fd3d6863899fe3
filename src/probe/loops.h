/* Loops that begin at a function's first instruction. A probe there is hit by every round, and
 * cannot tell a round from a call. */
#ifndef FSC_PROBE_LOOPS_H
#define FSC_PROBE_LOOPS_H

#include "base/err.h"
#include "probe/exits.h"
#include "probe/target.h"

/* For t at the entry of sym, after fsc_insn_inspect(): if the function jumps to the instruction
 * behind its endbr64, the probe goes on endbr64 (t->body, t->stepped); where that is not possible,
 * t->looped is set. Fails only if out of memory. */
int fsc_loops_avoid(const struct fsc_exits_file *f, const struct fsc_sym *sym, struct fsc_target *t,
		    struct fsc_err *err);

#endif
