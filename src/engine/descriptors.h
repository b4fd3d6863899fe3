/* File descriptors as what runs out first: on the rungs without multi links every probe is one. */
#ifndef FSC_ENGINE_DESCRIPTORS_H
#define FSC_ENGINE_DESCRIPTORS_H

#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"

/* Raises our limit: to the hard one in any case, and that one too where it is below wanted and we
 * may (CAP_SYS_RESOURCE). */
void fsc_descriptors_raise(size_t wanted);
/* Holds some, so that attaching cannot take them all; closed when the vector (int) is released by
 * fsc_descriptors_release(): the rest of the run needs them. tasks: what will be watched. */
void fsc_descriptors_reserve(size_t tasks, struct fsc_vec *ret);
void fsc_descriptors_release(struct fsc_vec *held);
/* How many may still be opened. */
size_t fsc_descriptors_left(void);
/* The one sentence for having none: what they are wanted for. Returns -EMFILE. */
int fsc_descriptors_err(struct fsc_err *err, const char *what);

#endif
