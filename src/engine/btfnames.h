/* The kernel's functions by name in its type information. */
#ifndef FSC_ENGINE_BTFNAMES_H
#define FSC_ENGINE_BTFNAMES_H

#include "base/map.h"

struct fsc_btf_names {
	struct fsc_map ids;
	int loaded; /* 0: not yet, 1: there, -1: the kernel has none */
};

/* The type id of a function, or -ENOENT. Reads the kernel's BTF at the first call. */
int fsc_btf_names_find(struct fsc_btf_names *b, const char *function);
void fsc_btf_names_release(struct fsc_btf_names *b);

#endif
