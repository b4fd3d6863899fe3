/* How this kernel could harm those that are probed, each tried, and what funcscope does about it.
 */
#ifndef FSC_ENGINE_HAZARDS_H
#define FSC_ENGINE_HAZARDS_H

#include <stddef.h>

struct fsc_hazard_row {
	const char *name;
	/* 0: harmless here, or kept off; -EFAULT: not; another -errno: could not be tried. What was
	 * found goes to detail either way. */
	int (*trial)(char *detail, size_t n);
	const char *advice; /* where it is not */
};

/* Ended by a NULL name. */
extern const struct fsc_hazard_row fsc_hazards[];

#endif
