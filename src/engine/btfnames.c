/* An index over BTF's functions: libbpf searches the list from its start for each name. */
#include "engine/btfnames.h"

#include <errno.h>
#include <string.h>

#include <bpf/btf.h>

static void load(struct fsc_btf_names *b)
{
	struct btf *btf = btf__load_vmlinux_btf();
	uint32_t n = btf ? btf__type_cnt(btf) : 0;

	b->loaded = btf ? 1 : -1;
	for (uint32_t i = 1; i < n; i++) {
		const struct btf_type *t = btf__type_by_id(btf, i);
		const char *name = btf_is_func(t) ? btf__name_by_offset(btf, t->name_off) : NULL;
		uint64_t *slot = name ? fsc_map_put(&b->ids, name, strlen(name), NULL) : NULL;

		if (slot)
			*slot = i;
	}
	btf__free(btf);
}

int fsc_btf_names_find(struct fsc_btf_names *b, const char *function)
{
	uint64_t *id;

	if (!b->loaded)
		load(b);
	id = fsc_map_get(&b->ids, function, strlen(function));
	return id ? (int)*id : -ENOENT;
}

void fsc_btf_names_release(struct fsc_btf_names *b)
{
	fsc_map_release(&b->ids);
}
