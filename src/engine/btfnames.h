/* Kernel functions by name, from the kernel's BTF. */
#ifndef FSC_ENGINE_BTFNAMES_H
#define FSC_ENGINE_BTFNAMES_H

#include <stdbool.h>

#include "base/map.h"
#include "kernel/ksyms.h"

struct fsc_btf_names {
	struct fsc_map ids;
	struct fsc_ksyms ksyms; /* read if a name is not in BTF */
	bool ksyms_read;
	int loaded; /* 0: not yet, 1: yes, -1: the kernel has no BTF */
};

/* The type id of a function, or -ENOENT. BTF has only one name of each function: if it lacks this
 * one, the other names of its address (0: unknown) are tried. Reads the kernel's BTF on the first
 * call. *ret_args is the number of its parameters. */
int fsc_btf_names_find(struct fsc_btf_names *b, const char *function, uint64_t addr,
		       uint32_t *ret_args);
void fsc_btf_names_release(struct fsc_btf_names *b);

#endif
