/* How this kernel could harm probed processes, each tested, and what funcscope does about it. */
#ifndef FSC_ENGINE_HAZARDS_H
#define FSC_ENGINE_HAZARDS_H

#include <stddef.h>

struct fsc_hazard_row {
	const char *name;
	/* 0: harmless here, or prevented; -EFAULT: not; another -errno: could not be tested. detail
	 * gets the findings either way. */
	int (*trial)(char *detail, size_t n);
	const char *advice; /* if it is not */
};

/* Ended by a NULL name. */
extern const struct fsc_hazard_row fsc_hazards[];

#endif
