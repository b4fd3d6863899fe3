/* What the tests of the monitor's parts share: configurations from text. Include after cmocka.h. */
#ifndef MONITORS_H
#define MONITORS_H

#include <string.h>

#include "monitor/config.h"

/* Functions of libraries that no machine has, so that nothing is ever attached. */
#define MONITOR_FUNCS(list) "\"custom_sym\": {" list "}"
#define MONITOR_FUNC(name)                                                                         \
	"\"" name "\": {\"symbol\": \"" name "\", \"library\": \"/no/such/lib.so\"},"

static inline void monitor_ok(int rc, const struct fsc_err *err)
{
	if (rc)
		fail_msg("%s", err->msg);
}

/* The caller releases it. */
static inline void monitor_config(const char *text, struct fsc_snoop_config *ret)
{
	struct fsc_err err = {0};

	monitor_ok(fsc_snoop_config_parse(text, strlen(text), "test", ret, &err), &err);
}

#endif
