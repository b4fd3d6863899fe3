/* Shared by btf.c, btfload.c and btftypes.c: BTF as it lies in memory. */
#ifndef FSC_ENGINE_BTF_PRIV_H
#define FSC_ENGINE_BTF_PRIV_H

#include <bpf/btf.h>

#include "engine/btf.h"

struct fsc_btf {
	struct fsc_btf *kernel; /* of a module: what its types refer to; borrowed */
	char *module;
	char *data; /* the whole; mapped or allocated */
	size_t size;
	bool mapped;
	const char *types, *strings;
	uint32_t types_size, strings_size;
	uint32_t first, end; /* numbers of its own types */
	uint32_t first_string;
	uint32_t *at; /* where each of its own types begins */
	int fd;	      /* of a module's; -1: not asked for */
};

/* Fills data to at; what is not BTF is refused. */
int fsc_btf_load(struct fsc_btf *b, const char *path, struct fsc_err *err);

/* Of any number, the kernel's too; NULL: there is none. */
static inline const struct btf_type *fsc_btf_at(const struct fsc_btf *b, uint32_t id)
{
	if (b->kernel && id < b->first)
		b = b->kernel;
	if (id < b->first || id >= b->end)
		return NULL;
	return (const struct btf_type *)(b->types + b->at[id - b->first]);
}

/* "" where there is none. */
static inline const char *fsc_btf_name(const struct fsc_btf *b, uint32_t offset)
{
	if (b->kernel && offset < b->first_string)
		b = b->kernel;
	offset -= b->first_string;
	return offset < b->strings_size ? b->strings + offset : "";
}

#endif
