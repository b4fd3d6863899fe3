/* Libraries that are only loaded when they are needed: the program does not depend on them. */
#ifndef FSC_WEB_LIBRARY_H
#define FSC_WEB_LIBRARY_H

#include <stddef.h>

struct fsc_library_symbol {
	const char *name;
	void *to; /* a pointer to a function, to be set */
};

/* Loads a library for good, and looks its functions up. Returns -1 where that fails, with the
 * reason as the end of "NAME, which ...". A static program loads none: that would bring in a second
 * C library. */
int fsc_library_load(const char *name, const struct fsc_library_symbol *symbols, size_t n,
		     char *why, size_t size);

#endif
