/* Signatures of kernel functions, from the kernel's type information (BTF). */
#ifndef FSC_ENGINE_BTFTYPES_H
#define FSC_ENGINE_BTFTYPES_H

#include "base/err.h"
#include "types/types.h"

/* The signatures of n functions of the kernel, or of a module (NULL: the kernel proper; names that
 * the module lacks are not looked for in the kernel); ret[i].found says whether there is one. What
 * they point to is owned by types. BTF has only one name of each function: for an alias, ask with
 * the other names of its address. -ENODATA: the kernel, or the module, has no type information.
 * Each call reads several megabytes: ask for all functions at once. */
int fsc_btf_signatures(const char *module, const char *const *names, size_t n,
		       struct fsc_types *types, struct fsc_signature *ret, struct fsc_err *err);
/* As above for one function; -ENOENT: the type information lacks it. */
int fsc_btf_signature(const char *module, const char *name, struct fsc_types *types,
		      struct fsc_signature *ret, struct fsc_err *err);

#endif
