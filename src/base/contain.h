/* Running code that may crash or hang on damaged input, in a child process. */
#ifndef FSC_BASE_CONTAIN_H
#define FSC_BASE_CONTAIN_H

#include "base/err.h"
#include "base/vec.h"

/* Calls fn(arg, out, err) in a child without privileges (confine.h; open its input first) and
 * returns its result, the elements it pushed to out and the error it set; other changes are lost.
 * If the child dies or takes longer than a minute: -EBADMSG and a message that begins with what.
 * Blocks until the child is done. out must be empty. */
int fsc_contain(int (*fn)(void *arg, struct fsc_vec *out, struct fsc_err *err), void *arg,
		const char *what, struct fsc_vec *out, struct fsc_err *err);

#endif
