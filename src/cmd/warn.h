/* Warnings on stderr: before probes are attached, and about hits that were lost. */
#ifndef FSC_CMD_WARN_H
#define FSC_CMD_WARN_H

#include "model/profile.h"
#include "probe/target.h"

/* --fast-uprobes was asked for: forked children may die, or it changes nothing. */
void fsc_warn_fast(const struct fsc_targets *targets, bool asked);
/* Return probes on code that throws exceptions. */
void fsc_warn_throws(const struct fsc_targets *targets, bool pairs);
/* Probes in files that funcscope itself has mapped: what it prints costs more hits. */
void fsc_warn_own(const struct fsc_targets *targets);
/* Hits were lost, and the books are in a file, where they are easily overlooked. */
void fsc_warn_lost(const struct fsc_summary *sum);

#endif
