/* Programs that are loaded, and their functions by name. */
#ifndef FSC_ENGINE_BPFPROGS_H
#define FSC_ENGINE_BPFPROGS_H

#include <stdint.h>

#include "base/err.h"

/* Calls fn for every function of every loaded program that has BTF: the program's ID, the
 * function's number in the program's BTF and its name (borrowed), until fn returns other than 0,
 * which is returned. Programs without BTF, which cannot be traced, are left out. */
int fsc_bpfprogs_each(int (*fn)(void *arg, uint32_t prog, uint32_t btf_id, const char *name),
		      void *arg, struct fsc_err *err);

#endif
