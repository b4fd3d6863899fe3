/* An index of BTF's functions: libbpf scans all types for each name. */
#include "engine/btfnames.h"

#include <errno.h>
#include <string.h>

#include <bpf/btf.h>

static uint32_t count_params(const struct btf *btf, const struct btf_type *func)
{
	const struct btf_type *proto = btf__type_by_id(btf, func->type);

	return proto && btf_is_func_proto(proto) ? btf_vlen(proto) : 0;
}

static void load_names(struct fsc_btf_names *b)
{
	struct btf *btf = btf__load_vmlinux_btf();
	uint32_t n = btf ? btf__type_cnt(btf) : 0;

	b->loaded = btf ? 1 : -1;
	for (uint32_t i = 1; i < n; i++) {
		const struct btf_type *t = btf__type_by_id(btf, i);
		const char *name = btf_is_func(t) ? btf__name_by_offset(btf, t->name_off) : NULL;
		uint64_t *slot = name ? fsc_map_put(&b->ids, name, strlen(name), NULL) : NULL;

		if (slot)
			*slot = i | (uint64_t)count_params(btf, t) << 32;
	}
	btf__free(btf);
}

static int find_name(const struct fsc_btf_names *b, const char *name, uint32_t *ret_args)
{
	uint64_t *id = fsc_map_get(&b->ids, name, strlen(name));

	if (!id)
		return -ENOENT;
	*ret_args = (uint32_t)(*id >> 32);
	return (int)(uint32_t)*id;
}

int fsc_btf_names_find(struct fsc_btf_names *b, const char *function, uint64_t addr,
		       uint32_t *ret_args)
{
	int id;

	if (!b->loaded)
		load_names(b);
	id = find_name(b, function, ret_args);
	if (id >= 0 || !addr)
		return id;
	if (!b->ksyms_read && fsc_ksyms_load(NULL, NULL, NULL, &b->ksyms, NULL))
		b->ksyms = (struct fsc_ksyms){0};
	b->ksyms_read = true;
	for (size_t i = 0; id < 0 && i < b->ksyms.n; i++)
		if (b->ksyms.syms[i].addr == addr)
			id = find_name(b, b->ksyms.syms[i].name, ret_args);
	return id;
}

void fsc_btf_names_release(struct fsc_btf_names *b)
{
	fsc_map_release(&b->ids);
	fsc_ksyms_release(&b->ksyms);
}
