/* Shared by btf.c and btftypes.c. */
#ifndef FSC_ENGINE_BTF_PRIV_H
#define FSC_ENGINE_BTF_PRIV_H

#include <bpf/btf.h>

#include "engine/btf.h"

struct fsc_btf {
	struct btf *btf;
	struct fsc_btf *kernel; /* of a module: what its types refer to; borrowed */
	char *module;
	uint32_t first; /* of its own types */
	int fd;		/* -1: not asked for */
};

#endif
