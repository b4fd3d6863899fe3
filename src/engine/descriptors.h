/* File descriptors are what runs out first: without multi links every probe needs one. */
#ifndef FSC_ENGINE_DESCRIPTORS_H
#define FSC_ENGINE_DESCRIPTORS_H

#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"

/* Raises our limit to the hard limit, and the hard limit to wanted if it is lower and we may
 * (CAP_SYS_RESOURCE). */
void fsc_descriptors_raise(size_t wanted);
/* Holds some (int) until fsc_descriptors_release(), so that attaching leaves enough for the rest of
 * the run. tasks: how many will be traced. */
void fsc_descriptors_reserve(size_t tasks, struct fsc_vec *ret);
void fsc_descriptors_release(struct fsc_vec *held);
/* How many may still be opened. */
size_t fsc_descriptors_left(void);
/* The error for running out of them; what: what they are needed for. Returns -EMFILE. */
int fsc_descriptors_err(struct fsc_err *err, const char *what);

#endif
