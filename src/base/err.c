/* Filling struct fsc_err. Nothing here prints. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int fill_err(struct fsc_err *err, int code, const char *fmt, va_list ap)
{
	if (code <= 0)
		code = code ? -code : EIO;
	if (!err)
		return -code;
	err->code = code;
	err->usage = false;
	err->hint[0] = '\0';
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	return -code;
}

int fsc_err_set(struct fsc_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	code = fill_err(err, code, fmt, ap);
	va_end(ap);
	return code;
}

int fsc_err_sys(struct fsc_err *err, int code, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	code = fill_err(err, code, fmt, ap);
	va_end(ap);
	if (!err)
		return code;
	n = strlen(err->msg);
	snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", fsc_err_text(-code));
	return code;
}

int fsc_err_usage(struct fsc_err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill_err(err, EINVAL, fmt, ap);
	va_end(ap);
	if (err)
		err->usage = true;
	return -EINVAL;
}

int fsc_err_hint(struct fsc_err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -EIO;
	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return err->code ? -err->code : -EIO;
}

const char *fsc_err_text(int code)
{
	enum { ENOTSUPP = 524 }; /* leaks out of the kernel, unknown to libc */

	return code == ENOTSUPP ? "not supported by the kernel"
	       : code == EMFILE ? "too many open files; raise the limit on them (ulimit -n)"
				: strerror(code);
}

int fsc_err_nomem(struct fsc_err *err)
{
	return fsc_err_set(err, ENOMEM, "out of memory");
}
