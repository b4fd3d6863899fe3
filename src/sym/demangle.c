/* libiberty's demanglers for C++ and Rust, with a limit on what they may print: a short hostile
 * name can unfold into gigabytes. They print through a callback, which can only leave by longjmp();
 * both keep their state on the stack, so nothing stays behind. */
#include "sym/demangle.h"

#include <errno.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/buf.h"

#define OUTPUT_MAX (256u << 10)
/* libiberty's own limit refuses C++ names of more than 1024 characters, and templates have longer
 * ones. Its recursion is bounded by the name's length: this one needs less than 2 MB of stack. */
#define INPUT_MAX 8192

struct printer {
	struct fsc_buf text;
	jmp_buf too_much;
};

static void print(const char *s, size_t n, void *arg)
{
	struct printer *p = arg;

	if (n > OUTPUT_MAX - p->text.n)
		longjmp(p->too_much, 1);
	if (n) /* the empty text may come as NULL */
		fsc_buf_add(&p->text, s, n);
}

bool fsc_demangle_is_mangled(const char *name)
{
	return (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R')) || !strncmp(name, "__Z", 3);
}

/* Rust first: its older scheme looks like C++ with a hash at the end. */
static bool demangle(const char *name, int options, struct printer *p)
{
	if (setjmp(p->too_much))
		return false;
	if (rust_demangle_callback(name, options, print, p))
		return true;
	fsc_buf_clear(&p->text);
	return cplus_demangle_v3_callback(name, options | DMGL_NO_RECURSE_LIMIT, print, p);
}

char *fsc_demangle(const char *name, bool params)
{
	struct printer p = {0};

	errno = 0;
	if (!fsc_demangle_is_mangled(name) || strnlen(name, INPUT_MAX) == INPUT_MAX)
		return NULL;
	if (demangle(name, params ? DMGL_PARAMS | DMGL_ANSI : DMGL_NO_OPTS, &p) &&
	    !fsc_buf_failed(&p.text) && p.text.n)
		return p.text.s;
	errno = fsc_buf_failed(&p.text) ? ENOMEM : 0;
	fsc_buf_release(&p.text);
	return NULL;
}
