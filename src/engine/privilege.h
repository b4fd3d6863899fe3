/* Which rights we have and which are missing. */
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

/* Whether we hold it (CAP_SYS_ADMIN holds the BPF ones too). */
bool fsc_privilege_has(int capability);
/* A failure to do something for lack of rights: names the missing capability, or says that none is
 * missing and what else refuses (seccomp, lockdown). */
int fsc_privilege_err(struct fsc_err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
