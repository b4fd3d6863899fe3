/* Predefined sets of functions, by library, for "presets" of a configuration. */
#ifndef FSC_MONITOR_PRESETS_H
#define FSC_MONITOR_PRESETS_H

#include "monitor/config.h"

struct fsc_preset_func {
	const char *name;   /* to be shown; NULL ends the list */
	const char *symbol; /* NULL: the same */
	enum fsc_error_rule errors;
	bool waits; /* for events: its calls are never slow */
};

/* Its group has its name. Has one of the two lists. */
struct fsc_preset {
	const char *name;
	const char *const *names;	     /* NULL-ended: errors by fsc_error_rule_of() */
	const struct fsc_preset_func *funcs; /* with their error rules */
};

/* Ended by a NULL name. */
extern const struct fsc_preset fsc_presets[];

#endif
