/* Which helpers programs may call on this kernel, found out by loading programs that call them. */
#ifndef FSC_ENGINE_HELPERS_H
#define FSC_ENGINE_HELPERS_H

#include "lang/world.h"

/* What scripts can use. Takes half a millisecond; tried once. Without the rights to load programs
 * nothing is there. */
void fsc_helpers_features(struct fsc_world_features *ret);

#endif
