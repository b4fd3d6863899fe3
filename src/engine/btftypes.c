/* Types from BTF: one function per kind, in a table. The kernel wrote it, so it is read in this
 * process, into the tables of types/table.h. */
#include "engine/btftypes.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "engine/btf_priv.h"
#include "types/table.h"

#define POINTER_SIZE 8

struct reader {
	struct fsc_btf *from;
	struct fsc_typetab tab;
};

static void reader_release(struct reader *r)
{
	fsc_typetab_release(&r->tab);
}

static uint32_t put_name(struct reader *r, uint32_t offset)
{
	return offset ? fsc_typetab_text(&r->tab, fsc_btf_name(r->from, offset)) : 0;
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
	const char *name = fsc_btf_name(r->from, t->name_off);
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
	const struct btf_type *t = fsc_btf_at(r->from, (uint32_t)(uintptr_t)origin.addr);
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

static void read_proto(struct reader *r, const struct btf_type *proto, uint32_t name, uint32_t key)
{
	struct fsc_flat_sig sig = {.key = key}, *place;

	sig.name = put_name(r, name);
	sig.ret = put_type(r, proto->type, false);
	sig.first = (uint32_t)r->tab.table[FSC_TAB_PARAMS].n;
	read_params(r, proto, &sig);
	place = fsc_typetab_push(&r->tab, FSC_TAB_SIGS);
	if (place)
		*place = sig;
}

static void read_signature(struct reader *r, const struct btf_type *func, uint32_t key)
{
	const struct btf_type *proto = fsc_btf_at(r->from, func->type);

	if (proto && btf_is_func_proto(proto))
		read_proto(r, proto, func->name_off, key);
}

/* One pass over all types for all names; wanted maps each to its first index. */
static void find_functions(struct reader *r, const struct fsc_map *wanted)
{
	for (uint32_t i = r->from->first; i < r->from->end && !r->tab.failed; i++) {
		const struct btf_type *t = fsc_btf_at(r->from, i);
		const char *name = btf_is_func(t) ? fsc_btf_name(r->from, t->name_off) : NULL;
		const uint64_t *key = name ? fsc_map_get(wanted, name, strlen(name)) : NULL;

		if (key)
			read_signature(r, t, (uint32_t)*key);
	}
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

/* Reads what the signatures in the tables mention. */
static int finish(struct reader *r, struct fsc_types *types, struct fsc_signature *ret, size_t n,
		  struct fsc_err *err)
{
	int rc = fsc_typetab_read(&r->tab, types->depth, read_type, r, err);

	return rc ? rc : fsc_typetab_seal(&r->tab, types, ret, n, err);
}

static int read_signatures(struct fsc_btf *from, const char *const *names, size_t n,
			   struct fsc_types *types, struct fsc_signature *ret, struct fsc_err *err)
{
	FSC_AUTO(reader_release) struct reader r = {.from = from};
	FSC_AUTO(fsc_map_release) struct fsc_map wanted = {0};
	int rc = fsc_typetab_init(&r.tab, err);

	if (!rc)
		rc = collect_wanted(names, n, &wanted, err);
	if (rc)
		return rc;
	find_functions(&r, &wanted);
	rc = finish(&r, types, ret, n, err);
	for (size_t i = 0; !rc && i < n; i++)
		ret[i] = ret[*fsc_map_get(&wanted, names[i], strlen(names[i]))];
	return rc;
}

int fsc_btf_signatures(const char *module, const char *const *names, size_t n,
		       struct fsc_types *types, struct fsc_signature *ret, struct fsc_err *err)
{
	struct fsc_btf *kernel = NULL, *own = NULL;
	int rc = fsc_btf_open(NULL, NULL, &kernel, err);

	for (size_t i = 0; i < n; i++)
		ret[i] = (struct fsc_signature){0};
	if (!rc && module)
		rc = fsc_btf_open(module, kernel, &own, err);
	if (!rc)
		rc = read_signatures(own ? own : kernel, names, n, types, ret, err);
	fsc_btf_free(own); /* first: it refers to the kernel's */
	fsc_btf_free(kernel);
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

/* A type is carried as what a function without parameters returns. */
int fsc_btf_type(struct fsc_btf *b, uint32_t id, struct fsc_types *types,
		 const struct fsc_type **ret, struct fsc_err *err)
{
	FSC_AUTO(reader_release) struct reader r = {.from = b};
	struct fsc_signature sig = {0};
	int rc = fsc_typetab_init(&r.tab, err);
	struct fsc_flat_sig *place;
	uint32_t type;

	if (rc)
		return rc;
	type = put_type(&r, id, false);
	place = fsc_typetab_push(&r.tab, FSC_TAB_SIGS);
	if (!place)
		return fsc_err_nomem(err);
	*place = (struct fsc_flat_sig){.ret = type};
	rc = finish(&r, types, &sig, 1, err);
	*ret = sig.ret;
	return rc;
}

/* What a typedef, or the pointer behind it, stands for. */
static const struct btf_type *strip_to_proto(const struct fsc_btf *b, uint32_t id)
{
	const struct btf_type *t = fsc_btf_at(b, id);

	for (int i = 0; t && i < 8; i++) {
		if (btf_is_func_proto(t))
			return t;
		if (!btf_is_typedef(t) && !btf_is_ptr(t) && !btf_is_mod(t) && !btf_is_func(t))
			return NULL;
		t = fsc_btf_at(b, t->type);
	}
	return NULL;
}

int fsc_btf_proto(struct fsc_btf *b, uint32_t id, struct fsc_types *types,
		  struct fsc_signature *ret, struct fsc_err *err)
{
	FSC_AUTO(reader_release) struct reader r = {.from = b};
	const struct btf_type *named = fsc_btf_at(b, id), *proto = strip_to_proto(b, id);
	int rc = fsc_typetab_init(&r.tab, err);

	*ret = (struct fsc_signature){0};
	if (rc || !proto)
		return rc;
	read_proto(&r, proto, named->name_off, 0);
	return finish(&r, types, ret, 1, err);
}
