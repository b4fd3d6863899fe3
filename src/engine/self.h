/* Functions of funcscope itself that trials and calibration probe. */
#ifndef FSC_ENGINE_SELF_H
#define FSC_ENGINE_SELF_H

#include <stdint.h>

#include "base/err.h"

#define FSC_SELF_PATH "/proc/self/exe"

/* An ordinary function: begins with a push, as most compiled functions do. */
void fsc_self_ordinary(void);
/* One whose first instruction the kernel single-steps under a probe. */
void fsc_self_stepped(void);
/* Copies for other kinds of probe, so that the kinds do not affect each other's cost. */
void fsc_self_ordinary_ret(void);
void fsc_self_stepped_ret(void);
void fsc_self_ordinary_insns(void);
void fsc_self_stepped_insns(void);
/* Return instructions; not to be called. */
void fsc_self_ordinary_insns_end(void);
void fsc_self_stepped_insns_end(void);
/* A function that begins with a 5-byte nop (x86-64; elsewhere an ordinary one). */
void fsc_self_nop5(void);

/* The offset of fn in our own executable. */
int fsc_self_offset(void (*fn)(void), uint64_t *ret, struct fsc_err *err);

#endif
