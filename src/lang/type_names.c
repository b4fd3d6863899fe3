/* Types by name, and names of types: for casts, declarations and messages. */
#include <string.h>

#include "lang/types_priv.h"

static const struct {
	const char *name;
	unsigned size;
	bool is_signed;
} ints[] = {
    {"uint8", 1, false},
    {"int8", 1, true},
    {"uint16", 2, false},
    {"int16", 2, true},
    {"uint32", 4, false},
    {"int32", 4, true},
    {"uint64", 8, false},
    {"int64", 8, true},
    {"uint8_t", 1, false},
    {"int8_t", 1, true},
    {"uint16_t", 2, false},
    {"int16_t", 2, true},
    {"uint32_t", 4, false},
    {"int32_t", 4, true},
    {"uint64_t", 8, false},
    {"int64_t", 8, true},
    {"u8", 1, false},
    {"s8", 1, true},
    {"u16", 2, false},
    {"s16", 2, true},
    {"u32", 4, false},
    {"s32", 4, true},
    {"u64", 8, false},
    {"s64", 8, true},
    {"__u8", 1, false},
    {"__s8", 1, true},
    {"__u16", 2, false},
    {"__s16", 2, true},
    {"__u32", 4, false},
    {"__s32", 4, true},
    {"__u64", 8, false},
    {"__s64", 8, true},
    {"__be16", 2, false},
    {"__be32", 4, false},
    {"__le32", 4, false},
    {"__be64", 8, false},
    {"short", 2, true},
    {"int", 4, true},
    {"long", 8, true},
    {"unsigned", 4, false},
    {"size_t", 8, false},
    {"ssize_t", 8, true},
    {"uintptr_t", 8, false},
    {"pid_t", 4, true},
    {"unsigned char", 1, false},
    {"signed char", 1, true},
    {"unsigned short", 2, false},
    {"unsigned int", 4, false},
    {"unsigned long", 8, false},
    {"long long", 8, true},
    {"unsigned long long", 8, false},
};

/* Types that only values of the language have: usable in `let $x: ...` and casts. */
static const struct {
	const char *name;
	enum fsc_vkind kind;
	unsigned size;
} others[] = {
    {"void", FSC_V_VOID, 0},
    {"bool", FSC_V_BOOL, 1},
    {"_Bool", FSC_V_BOOL, 1},
    {"ksym_t", FSC_V_KSYM, 8},
    {"username", FSC_V_USERNAME, 8},
    {"macaddr_t", FSC_V_MAC, 6},
    {"usym_t", FSC_V_USYM, sizeof(struct fsc_v_usym)},
    {"inet", FSC_V_INET, sizeof(struct fsc_v_inet)},
    {"timestamp", FSC_V_TIMESTAMP, sizeof(struct fsc_v_timestamp)},
};

bool fsc_vt_is_builtin_name(const char *name)
{
	for (size_t i = 0; i < sizeof(ints) / sizeof(*ints); i++)
		if (!strcmp(ints[i].name, name))
			return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(others[i].name, name))
			return true;
	return !strcmp(name, "char") || !strcmp(name, "string") || !strcmp(name, "buffer") ||
	       !strcmp(name, "float") || !strcmp(name, "double");
}

static const struct fsc_vtype *named_builtin(struct fsc_lang *c, const char *name)
{
	for (size_t i = 0; i < sizeof(ints) / sizeof(*ints); i++)
		if (!strcmp(ints[i].name, name))
			return fsc_vt_int(ints[i].size, ints[i].is_signed);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (strcmp(others[i].name, name))
			continue;
		if (others[i].kind == FSC_V_VOID)
			return &fsc_vt_void;
		if (others[i].kind == FSC_V_BOOL)
			return &fsc_vt_bool;
		return fsc_vt_new(c, others[i].kind, others[i].size,
				  others[i].size % 8 ? (others[i].size % 4 ? 1 : 4) : 8);
	}
	if (!strcmp(name, "char"))
		return &fsc_vt_char;
	/* Nothing computes with them; they only take their room. */
	if (!strcmp(name, "float") || !strcmp(name, "double"))
		return fsc_vt_array(c, fsc_vt_int(1, false), *name == 'f' ? 4 : 8);
	if (!strcmp(name, "string"))
		return fsc_vt_string(c, c->config.max_strlen);
	if (!strcmp(name, "buffer"))
		return fsc_vt_buffer(c, c->config.max_strlen);
	return NULL;
}

const struct fsc_vtype *fsc_vt_named(struct fsc_lang *c, const char *name)
{
	struct fsc_world_type found = {0};
	const struct fsc_vtype *t;

	for (size_t i = c->ctypes->named.n; i-- > 0;)
		if (!strcmp(FSC_AT(struct fsc_ctype, &c->ctypes->named, i)->name, name))
			return FSC_AT(struct fsc_ctype, &c->ctypes->named, i)->type;
	t = named_builtin(c, name);
	if (t)
		return t;
	if (!c->world->type || !c->world->type(c->world->arg, name, c->ctypes->near, &found))
		return NULL;
	return fsc_vt_import(c, found.type);
}

bool fsc_vt_enumerator(struct fsc_lang *c, const char *name, struct fsc_cenumerator *ret)
{
	struct fsc_world_enumerator found = {0};

	for (size_t i = 0; i < c->ctypes->enumerators.n; i++) {
		*ret = *FSC_AT(struct fsc_cenumerator, &c->ctypes->enumerators, i);
		if (!strcmp(ret->name, name))
			return true;
	}
	if (!c->world->enumerator ||
	    !c->world->enumerator(c->world->arg, name, c->ctypes->near, &found))
		return fsc_constant(name, ret);
	*ret = (struct fsc_cenumerator){.name = name,
					.value = found.value,
					.type = found.type ? fsc_vt_import(c, found.type)
							   : &fsc_vt_i64};
	return true;
}

static _Noreturn void resolve_fail(struct fsc_lang *c, const struct fsc_typeref *ref)
{
	struct fsc_nearest nearest = {.wanted = ref->name};

	for (size_t i = 0; i < c->ctypes->named.n; i++)
		fsc_nearest_offer(&nearest, FSC_AT(struct fsc_ctype, &c->ctypes->named, i)->name);
	for (size_t i = 0; i < sizeof(ints) / sizeof(*ints); i++)
		fsc_nearest_offer(&nearest, ints[i].name);
	if (c->world->nearest_type)
		c->world->nearest_type(c->world->arg, &nearest);
	fsc_lang_fail_hint(c, ref->at, fsc_lang_nearest(c, &nearest),
			   "Cannot resolve unknown type \"%s\"", ref->name);
}

const struct fsc_vtype *fsc_vt_resolve(struct fsc_lang *c, const struct fsc_typeref *ref,
				       enum fsc_v_space space)
{
	const struct fsc_vtype *t = fsc_vt_named(c, ref->name);
	unsigned n = ref->n_dims;

	if (!t && ref->pointers &&
	    (!strncmp(ref->name, "struct ", 7) || !strncmp(ref->name, "union ", 6))) {
		struct fsc_vrecord *r = FSC_NEW(c->keep, struct fsc_vrecord);

		r->t = (struct fsc_vtype){.kind = FSC_V_RECORD, .name = ref->name, .align = 1};
		t = &r->t;
	}
	if (!t)
		resolve_fail(c, ref);
	if ((t->kind == FSC_V_STRING || t->kind == FSC_V_BUFFER) && !ref->pointers) {
		if (n == 1 && ref->dims[0] && ref->dims[0] <= 65536)
			return t->kind == FSC_V_STRING ? fsc_vt_string(c, ref->dims[0])
						       : fsc_vt_buffer(c, ref->dims[0]);
		return t;
	}
	for (unsigned i = 0; i < ref->pointers; i++)
		t = fsc_vt_pointer(c, t, space);
	while (n-- > 0) {
		if (t->kind == FSC_V_RECORD)
			fsc_vt_complete(c, t);
		t = fsc_vt_array(c, t, ref->dims[n]);
	}
	if (t->kind == FSC_V_RECORD && !fsc_vt_complete(c, t))
		resolve_fail(c, ref);
	return t;
}

bool fsc_vt_same(const struct fsc_vtype *a, const struct fsc_vtype *b)
{
	if (a == b)
		return true;
	if (a->kind != b->kind || a->size != b->size)
		return false;
	switch (a->kind) {
	case FSC_V_INT:
		return a->is_signed == b->is_signed;
	case FSC_V_ARRAY:
		return a->n == b->n && fsc_vt_same(a->to, b->to);
	case FSC_V_RECORD:
		if (a->name || b->name)
			return a->name && b->name && !strcmp(a->name, b->name);
		/* fall through */
	case FSC_V_TUPLE:
		if (a->n_fields != b->n_fields)
			return false;
		for (size_t i = 0; i < a->n_fields; i++)
			if ((a->fields[i].name && b->fields[i].name &&
			     strcmp(a->fields[i].name, b->fields[i].name)) ||
			    !fsc_vt_same(a->fields[i].type, b->fields[i].type))
				return false;
		return true;
	default:
		return true;
	}
}

static const char *const kind_names[FSC_V_KINDS] = {
    [FSC_V_VOID] = "void",
    [FSC_V_BOOL] = "bool",
    [FSC_V_KSTACK] = "kstack_t",
    [FSC_V_USTACK] = "ustack_t",
    [FSC_V_KSYM] = "ksym_t",
    [FSC_V_USYM] = "usym_t",
    [FSC_V_USERNAME] = "username_t",
    [FSC_V_INET] = "inet_t",
    [FSC_V_MAC] = "mac_address_t",
    [FSC_V_TIMESTAMP] = "timestamp_t",
    [FSC_V_CGROUP_PATH] = "cgroup_path_t",
    [FSC_V_STRERROR] = "strerror_t",
    [FSC_V_SYSCALL] = "syscall_name_t",
    [FSC_V_COUNT] = "count_t",
    [FSC_V_SUM] = "sum_t",
    [FSC_V_AVG] = "avg_t",
    [FSC_V_STATS] = "stats_t",
    [FSC_V_MIN] = "min_t",
    [FSC_V_MAX] = "max_t",
    [FSC_V_HIST] = "hist_t",
    [FSC_V_LHIST] = "lhist_t",
    [FSC_V_TSERIES] = "tseries_t",
};

static const char *tuple_name(struct fsc_lang *c, const struct fsc_vtype *t)
{
	const char *s = "(";

	for (size_t i = 0; i < t->n_fields; i++)
		s = fsc_zone_printf(&c->temp, "%s%s%s", s, i ? "," : "",
				    fsc_vt_name(c, t->fields[i].type));
	return fsc_zone_printf(&c->temp, "%s)", s);
}

const char *fsc_vt_name(struct fsc_lang *c, const struct fsc_vtype *t)
{
	switch (t->kind) {
	case FSC_V_INT:
		if (t->name)
			return t->name;
		return fsc_zone_printf(&c->temp, "%sint%u", t->is_signed ? "" : "u",
				       (unsigned)t->size * 8);
	case FSC_V_STRING:
	case FSC_V_BUFFER:
		return fsc_zone_printf(&c->temp, "%s[%llu]",
				       t->kind == FSC_V_STRING ? "string" : "buffer",
				       (unsigned long long)t->size);
	case FSC_V_POINTER:
		return fsc_zone_printf(&c->temp, "%s *", fsc_vt_name(c, t->to));
	case FSC_V_ARRAY:
		return fsc_zone_printf(&c->temp, "%s[%llu]", fsc_vt_name(c, t->to),
				       (unsigned long long)t->n);
	case FSC_V_RECORD:
		return t->name ? t->name : t->is_union ? "union" : "struct";
	case FSC_V_TUPLE:
		return tuple_name(c, t);
	default:
		return kind_names[t->kind];
	}
}

void fsc_ctypes_init(struct fsc_lang *c)
{
	c->ctypes = FSC_NEW(&c->temp, struct fsc_ctypes);
	c->ctypes->named = FSC_VEC_INIT(struct fsc_ctype);
	c->ctypes->enumerators = FSC_VEC_INIT(struct fsc_cenumerator);
}

void fsc_ctypes_release(struct fsc_lang *c)
{
	if (c->ctypes)
		fsc_map_release(&c->ctypes->imported);
}
