/* Whether this kernel is new enough for any of our programs. */
#ifndef FSC_ENGINE_KERNEL_H
#define FSC_ENGINE_KERNEL_H

#include <stdbool.h>

#include "base/err.h"

#define FSC_KERNEL_NEEDED "5.15"

/* Whether programs are told by a cookie which of their places was hit: all of ours ask. Tried once,
 * by loading one that asks. true as well where we lack the right to try. */
bool fsc_kernel_has_cookies(void);
/* The error for a kernel that has none. */
int fsc_kernel_too_old(const char *release, struct fsc_err *err);

#endif
