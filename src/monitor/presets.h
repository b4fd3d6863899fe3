/* Functions that are ready to be watched, by the name of their library: what "presets" of a
 * configuration adds. */
#ifndef FSC_MONITOR_PRESETS_H
#define FSC_MONITOR_PRESETS_H

#include "monitor/config.h"

struct fsc_preset_func {
	const char *name;   /* to be shown, NULL behind the last one */
	const char *symbol; /* NULL: the same */
	enum fsc_error_rule errors;
	bool waits; /* for something to happen: no call of it is slow */
};

/* Its group has its name. One of the two lists is there. */
struct fsc_preset {
	const char *name;
	const char *const *names;	     /* NULL-ended: errors by fsc_error_rule_of() */
	const struct fsc_preset_func *funcs; /* errors as they say */
};

/* Ended by a NULL name. */
extern const struct fsc_preset fsc_presets[];

#endif
