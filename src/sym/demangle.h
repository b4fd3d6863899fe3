/* C++ and Rust names as people write them. */
#ifndef FSC_SYM_DEMANGLE_H
#define FSC_SYM_DEMANGLE_H

#include <stdbool.h>

/* The demangled name, with or without its parameter list; NULL if name is not mangled (errno 0),
 * or out of memory (errno ENOMEM). Caller frees. Rust hashes (::h0123456789abcdef) are left out. */
char *fsc_demangle(const char *name, bool params);
/* Whether name looks mangled at all: cheap. */
bool fsc_demangle_is_mangled(const char *name);

#endif
