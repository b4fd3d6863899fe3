/* One failure, in words: a negative errno, one sentence (what failed, on what, why) and, where
 * there is something to try, a hint. It lives on the caller's stack; library code fills it and
 * returns, only main.c prints it. */
#ifndef FSC_BASE_ERR_H
#define FSC_BASE_ERR_H

#include <stdbool.h>

struct fsc_err {
	int code;   /* positive errno, 0 while nothing failed */
	bool usage; /* the command line is at fault: exit code 2 */
	char msg[600];
	char hint[400];
};

/* Each returns -code, never 0, so that setting and returning is one statement. err may be NULL. */
int fsc_err_set(struct fsc_err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* As fsc_err_set, with ": " and the text of the errno behind the message. */
int fsc_err_sys(struct fsc_err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* As fsc_err_set with EINVAL, for a mistake in the command line. */
int fsc_err_usage(struct fsc_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds what to try to an error that is already set; returns its -code. */
int fsc_err_hint(struct fsc_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The text of an errno, the kernel's own ENOTSUPP included; of EMFILE, with what to try. */
const char *fsc_err_text(int code);
/* The one sentence for ENOMEM. */
int fsc_err_nomem(struct fsc_err *err);

#endif
