/* Whether this kernel is new enough for any of our programs. */
#ifndef FSC_ENGINE_KERNEL_H
#define FSC_ENGINE_KERNEL_H

#include <stdbool.h>

#include "base/err.h"

#define FSC_KERNEL_NEEDED "5.15"

/* Whether programs can tell by a cookie which of their places was hit, as all of ours do. Tested
 * once, by loading one. Also true if we lack the right to try. */
bool fsc_kernel_has_cookies(void);
/* The error for a kernel without them. */
int fsc_kernel_too_old(const char *release, struct fsc_err *err);

#endif
