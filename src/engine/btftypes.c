/* Types from BTF: one function per kind, in a table. The kernel wrote it and libbpf has checked it,
 * so it is read in this process, into the tables of types/table.h. */
#include "engine/btftypes.h"

#include <errno.h>
#include <string.h>

#include <bpf/btf.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "types/table.h"

#define POINTER_SIZE 8

struct reader {
	struct btf *kernel, *module; /* module: read instead if not NULL */
	struct fsc_typetab tab;
};

static void reader_release(struct reader *r)
{
	fsc_typetab_release(&r->tab);
	btf__free(r->module); /* first: it refers to the kernel's */
	btf__free(r->kernel);
}

static const struct btf *btf_of(const struct reader *r)
{
	return r->module ? r->module : r->kernel;
}

static uint32_t put_name(struct reader *r, uint32_t offset)
{
	return offset ? fsc_typetab_text(&r->tab, btf__name_by_offset(btf_of(r), offset)) : 0;
}

static uint32_t put_type(struct reader *r, uint32_t id, bool pointed)
{
	if (!id)
		return FSC_FLAT_VOID;
	return fsc_typetab_ref(&r->tab, (struct fsc_origin){.addr = (const void *)(uintptr_t)id},
			       pointed);
}

/* ---- kinds ---- */

static struct fsc_flat_type read_int(struct reader *r, const struct btf_type *t)
{
	const char *name = btf__name_by_offset(btf_of(r), t->name_off);
	unsigned encoding = btf_int_encoding(t);
	bool is_char = (encoding & BTF_INT_CHAR) || (name && !strcmp(name, "char"));

	return (struct fsc_flat_type){
	    .kind = FSC_TYPE_INT,
	    .flags = (encoding & BTF_INT_SIGNED ? FSC_FLAT_SIGNED : 0) |
		     (encoding & BTF_INT_BOOL ? FSC_FLAT_BOOL : 0) | (is_char ? FSC_FLAT_CHAR : 0),
	    .name = put_name(r, t->name_off),
	    .size = t->size,
	};
}

static struct fsc_flat_type read_float(struct reader *r, const struct btf_type *t)
{
	return (struct fsc_flat_type){
	    .kind = FSC_TYPE_FLOAT, .name = put_name(r, t->name_off), .size = t->size};
}

static struct fsc_flat_type read_pointer(struct reader *r, const struct btf_type *t)
{
	return (struct fsc_flat_type){
	    .kind = FSC_TYPE_POINTER, .size = POINTER_SIZE, .of = put_type(r, t->type, true)};
}

static struct fsc_flat_type read_array(struct reader *r, const struct btf_type *t)
{
	const struct btf_array *a = btf_array(t);

	return (struct fsc_flat_type){
	    .kind = FSC_TYPE_ARRAY, .of = put_type(r, a->type, false), .count = a->nelems};
}

static struct fsc_flat_type read_alias(struct reader *r, const struct btf_type *t)
{
	return (struct fsc_flat_type){
	    .kind = FSC_FLAT_ALIAS,
	    .flags = btf_is_const(t) ? FSC_FLAT_CONST : 0,
	    .name = btf_is_typedef(t) ? put_name(r, t->name_off) : 0,
	    .of = put_type(r, t->type, false),
	};
}

static struct fsc_flat_type read_struct(struct reader *r, const struct btf_type *t)
{
	const struct btf_member *m = btf_members(t);
	struct fsc_flat_type flat = {
	    .kind = btf_is_union(t) ? FSC_TYPE_UNION : FSC_TYPE_STRUCT,
	    .flags = FSC_FLAT_TAGGED,
	    .name = put_name(r, t->name_off),
	    .size = t->size,
	    .first = (uint32_t)r->tab.table[FSC_TAB_MEMBERS].n,
	};

	if (!r->tab.members_wanted)
		return flat;
	flat.flags |= FSC_FLAT_COMPLETE;
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		struct fsc_flat_member row = {
		    .name = put_name(r, m[i].name_off),
		    .type = put_type(r, m[i].type, false),
		    .offset_bits = btf_member_bit_offset(t, i),
		    .size_bits = btf_member_bitfield_size(t, i),
		};
		struct fsc_flat_member *place = fsc_typetab_push(&r->tab, FSC_TAB_MEMBERS);

		if (!place)
			return flat;
		*place = row;
		flat.n++;
	}
	return flat;
}

/* Declared, not defined. */
static struct fsc_flat_type read_forward(struct reader *r, const struct btf_type *t)
{
	return (struct fsc_flat_type){
	    .kind = btf_kflag(t) ? FSC_TYPE_UNION : FSC_TYPE_STRUCT,
	    .flags = FSC_FLAT_TAGGED,
	    .name = put_name(r, t->name_off),
	};
}

static int64_t enum_value(const struct btf_type *t, uint32_t i)
{
	if (btf_is_enum64(t))
		return (int64_t)btf_enum64_value(btf_enum64(t) + i);
	return btf_kflag(t) ? btf_enum(t)[i].val : (int64_t)(uint32_t)btf_enum(t)[i].val;
}

static struct fsc_flat_type read_enum(struct reader *r, const struct btf_type *t)
{
	struct fsc_flat_type flat = {
	    .kind = FSC_TYPE_ENUM,
	    .flags = FSC_FLAT_TAGGED | (btf_kflag(t) ? FSC_FLAT_SIGNED : 0),
	    .name = put_name(r, t->name_off),
	    .size = t->size,
	    .first = (uint32_t)r->tab.table[FSC_TAB_ENUMERATORS].n,
	};

	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		uint32_t name = put_name(r, btf_is_enum64(t) ? btf_enum64(t)[i].name_off
							     : btf_enum(t)[i].name_off);
		struct fsc_flat_enumerator *e = fsc_typetab_push(&r->tab, FSC_TAB_ENUMERATORS);

		if (!e)
			return flat;
		e->name = name;
		e->value = enum_value(t, i);
		flat.n++;
	}
	return flat;
}

static struct fsc_flat_type read_function(struct reader *r, const struct btf_type *t)
{
	(void)r, (void)t;
	return (struct fsc_flat_type){.kind = FSC_TYPE_FUNC};
}

static struct fsc_flat_type (*const readers[])(struct reader *r, const struct btf_type *t) = {
    [BTF_KIND_INT] = read_int,	      [BTF_KIND_PTR] = read_pointer,
    [BTF_KIND_ARRAY] = read_array,    [BTF_KIND_STRUCT] = read_struct,
    [BTF_KIND_UNION] = read_struct,   [BTF_KIND_ENUM] = read_enum,
    [BTF_KIND_FWD] = read_forward,    [BTF_KIND_TYPEDEF] = read_alias,
    [BTF_KIND_VOLATILE] = read_alias, [BTF_KIND_CONST] = read_alias,
    [BTF_KIND_RESTRICT] = read_alias, [BTF_KIND_FUNC_PROTO] = read_function,
    [BTF_KIND_FLOAT] = read_float,    [BTF_KIND_TYPE_TAG] = read_alias,
    [BTF_KIND_ENUM64] = read_enum,
};

static struct fsc_flat_type read_type(void *arg, struct fsc_origin origin)
{
	struct reader *r = arg;
	const struct btf_type *t = btf__type_by_id(btf_of(r), (uint32_t)(uintptr_t)origin.addr);
	unsigned kind = t ? btf_kind(t) : 0;

	if (kind >= sizeof(readers) / sizeof(readers[0]) || !readers[kind])
		return (struct fsc_flat_type){.kind = FSC_TYPE_UNKNOWN};
	return readers[kind](r, t);
}

/* ---- functions ---- */

static void read_params(struct reader *r, const struct btf_type *proto, struct fsc_flat_sig *sig)
{
	const struct btf_param *p = btf_params(proto);

	for (uint32_t i = 0; i < btf_vlen(proto); i++) {
		struct fsc_flat_param row = {0}, *place;

		if (!p[i].type && !p[i].name_off) {
			sig->variadic = true;
			return;
		}
		row.name = put_name(r, p[i].name_off);
		row.type = put_type(r, p[i].type, false);
		place = fsc_typetab_push(&r->tab, FSC_TAB_PARAMS);
		if (!place)
			return;
		*place = row;
		sig->n++;
	}
}

static void read_signature(struct reader *r, const struct btf_type *func, uint32_t key)
{
	const struct btf_type *proto = btf__type_by_id(btf_of(r), func->type);
	struct fsc_flat_sig sig = {.key = key}, *place;

	if (!proto || !btf_is_func_proto(proto))
		return;
	sig.name = put_name(r, func->name_off);
	sig.ret = put_type(r, proto->type, false);
	sig.first = (uint32_t)r->tab.table[FSC_TAB_PARAMS].n;
	read_params(r, proto, &sig);
	place = fsc_typetab_push(&r->tab, FSC_TAB_SIGS);
	if (place)
		*place = sig;
}

/* One pass over all types for all names; wanted maps each to its first index. */
static void find_functions(struct reader *r, const struct fsc_map *wanted)
{
	uint32_t first = r->module ? btf__type_cnt(r->kernel) : 1;
	uint32_t end = btf__type_cnt(btf_of(r));

	for (uint32_t i = first; i < end && !r->tab.failed; i++) {
		const struct btf_type *t = btf__type_by_id(btf_of(r), i);
		const char *name =
		    btf_is_func(t) ? btf__name_by_offset(btf_of(r), t->name_off) : NULL;
		const uint64_t *key = name ? fsc_map_get(wanted, name, strlen(name)) : NULL;

		if (key)
			read_signature(r, t, (uint32_t)*key);
	}
}

static int open_btf(struct reader *r, const char *module, struct fsc_err *err)
{
	r->kernel = btf__load_vmlinux_btf();
	if (!r->kernel && errno == ENOMEM)
		return fsc_err_nomem(err);
	if (!r->kernel)
		return fsc_err_set(err, ENODATA, "the kernel has no type information (BTF): %s",
				   fsc_err_text(errno));
	if (!module)
		return 0;
	r->module = btf__load_module_btf(module, r->kernel);
	if (!r->module && errno == ENOMEM)
		return fsc_err_nomem(err);
	if (!r->module)
		return fsc_err_set(err, ENODATA, "module '%s' has no type information (BTF): %s",
				   module, fsc_err_text(errno));
	return 0;
}

static int collect_wanted(const char *const *names, size_t n, struct fsc_map *ret,
			  struct fsc_err *err)
{
	for (size_t i = 0; i < n; i++) {
		bool is_new;
		uint64_t *key = fsc_map_put(ret, names[i], strlen(names[i]), &is_new);

		if (!key)
			return fsc_err_nomem(err);
		if (is_new)
			*key = i;
	}
	return 0;
}

int fsc_btf_signatures(const char *module, const char *const *names, size_t n,
		       struct fsc_types *types, struct fsc_signature *ret, struct fsc_err *err)
{
	FSC_AUTO(reader_release) struct reader r = {0};
	FSC_AUTO(fsc_map_release) struct fsc_map wanted = {0};
	int rc = fsc_typetab_init(&r.tab, err);

	for (size_t i = 0; i < n; i++)
		ret[i] = (struct fsc_signature){0};
	if (!rc)
		rc = collect_wanted(names, n, &wanted, err);
	if (!rc)
		rc = open_btf(&r, module, err);
	if (rc)
		return rc;
	find_functions(&r, &wanted);
	rc = fsc_typetab_read(&r.tab, types->depth, read_type, &r, err);
	if (!rc)
		rc = fsc_typetab_seal(&r.tab, types, ret, n, err);
	for (size_t i = 0; !rc && i < n; i++)
		ret[i] = ret[*fsc_map_get(&wanted, names[i], strlen(names[i]))];
	return rc;
}

int fsc_btf_signature(const char *module, const char *name, struct fsc_types *types,
		      struct fsc_signature *ret, struct fsc_err *err)
{
	int rc = fsc_btf_signatures(module, &name, 1, types, ret, err);

	if (rc || ret->found)
		return rc;
	return fsc_err_set(err, ENOENT, "the kernel's type information has no function '%s'", name);
}
