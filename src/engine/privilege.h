/* Which capabilities we have and which are missing. */
#ifndef FSC_ENGINE_PRIVILEGE_H
#define FSC_ENGINE_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct fsc_capability {
	int number;
	const char *name;
	const char *what; /* it is needed for */
	bool required;
};

/* The capabilities that matter, ended by a NULL name. */
extern const struct fsc_capability fsc_capabilities[];

/* CAP_SYS_ADMIN includes the BPF ones. */
bool fsc_privilege_has(int capability);
/* The error for a missing right: names the capability, or says that none is missing and what else
 * may refuse (seccomp, lockdown). */
int fsc_privilege_err(struct fsc_err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
