/* Types of values: making them, and reading what the world knows of C types. */
#include <string.h>

#include "lang/types_priv.h"

const struct fsc_vtype fsc_vt_void = {.kind = FSC_V_VOID, .align = 1};
const struct fsc_vtype fsc_vt_bool = {.kind = FSC_V_BOOL, .size = 1, .align = 1};
const struct fsc_vtype fsc_vt_i64 = {.kind = FSC_V_INT, .size = 8, .align = 8, .is_signed = true};
const struct fsc_vtype fsc_vt_u64 = {.kind = FSC_V_INT, .size = 8, .align = 8};
const struct fsc_vtype fsc_vt_u32 = {.kind = FSC_V_INT, .size = 4, .align = 4};
const struct fsc_vtype fsc_vt_char = {
    .kind = FSC_V_INT, .size = 1, .align = 1, .is_signed = true, .is_char = true};

const struct fsc_vtype *fsc_vt_int(unsigned size, bool is_signed)
{
	static const struct fsc_vtype ints[] = {
	    {.kind = FSC_V_INT, .size = 1, .align = 1},
	    {.kind = FSC_V_INT, .size = 1, .align = 1, .is_signed = true},
	    {.kind = FSC_V_INT, .size = 2, .align = 2},
	    {.kind = FSC_V_INT, .size = 2, .align = 2, .is_signed = true},
	    {.kind = FSC_V_INT, .size = 4, .align = 4},
	    {.kind = FSC_V_INT, .size = 4, .align = 4, .is_signed = true},
	};

	if (size >= 8)
		return is_signed ? &fsc_vt_i64 : &fsc_vt_u64;
	return &ints[(size == 4 ? 4 : size == 2 ? 2 : 0) + is_signed];
}

struct fsc_vtype *fsc_vt_new(struct fsc_lang *c, enum fsc_vkind kind, uint64_t size, uint32_t align)
{
	struct fsc_vtype *t = FSC_NEW(c->keep, struct fsc_vtype);

	t->kind = kind;
	t->size = size;
	t->align = align;
	return t;
}

const struct fsc_vtype *fsc_vt_string(struct fsc_lang *c, uint64_t size)
{
	return fsc_vt_new(c, FSC_V_STRING, size, 1);
}

const struct fsc_vtype *fsc_vt_buffer(struct fsc_lang *c, uint64_t length)
{
	return fsc_vt_new(c, FSC_V_BUFFER, ((length + 3) & ~3ull) + sizeof(struct fsc_v_buffer), 4);
}

const struct fsc_vtype *fsc_vt_pointer(struct fsc_lang *c, const struct fsc_vtype *to,
				       enum fsc_v_space space)
{
	struct fsc_vtype *t = fsc_vt_new(c, FSC_V_POINTER, 8, 8);

	t->to = to;
	t->space = (uint8_t)space;
	return t;
}

const struct fsc_vtype *fsc_vt_array(struct fsc_lang *c, const struct fsc_vtype *of, uint64_t n)
{
	struct fsc_vtype *t = fsc_vt_new(c, FSC_V_ARRAY, 0, of->align);

	t->to = of;
	t->n = n;
	if (__builtin_mul_overflow(of->size, n, &t->size))
		t->size = UINT64_MAX / 2;
	return t;
}

void fsc_vt_layout(struct fsc_vtype *t, struct fsc_vfield *fields, size_t n)
{
	uint64_t at = 0;

	t->align = 1;
	for (size_t i = 0; i < n; i++) {
		uint32_t align = fields[i].type->align ? fields[i].type->align : 1;

		at = (at + align - 1) & ~(uint64_t)(align - 1);
		fields[i].offset = at;
		at += fields[i].type->size;
		if (align > t->align)
			t->align = align;
	}
	t->size = (at + t->align - 1) & ~(uint64_t)(t->align - 1);
	t->fields = fields;
	t->n_fields = n;
}

const struct fsc_vtype *fsc_vt_tuple(struct fsc_lang *c, const struct fsc_vtype *const *types,
				     size_t n)
{
	struct fsc_vtype *t = fsc_vt_new(c, FSC_V_TUPLE, 0, 1);
	struct fsc_vfield *fields = FSC_NEW_N(c->keep, struct fsc_vfield, n);

	for (size_t i = 0; i < n; i++)
		fields[i].type = types[i];
	fsc_vt_layout(t, fields, n);
	return t;
}

const struct fsc_vtype *fsc_vt_named_tuple(struct fsc_lang *c, const struct fsc_vtype *const *types,
					   const char *const *names, size_t n)
{
	struct fsc_vrecord *r = FSC_NEW(c->keep, struct fsc_vrecord);
	struct fsc_vfield *fields = FSC_NEW_N(c->keep, struct fsc_vfield, n);

	for (size_t i = 0; i < n; i++)
		fields[i] = (struct fsc_vfield){.name = names[i], .type = types[i]};
	r->t = (struct fsc_vtype){.kind = FSC_V_RECORD, .is_complete = true};
	r->read = true;
	fsc_vt_layout(&r->t, fields, n);
	return &r->t;
}

const struct fsc_vtype *fsc_vt_in(struct fsc_lang *c, const struct fsc_vtype *t,
				  enum fsc_v_space space)
{
	struct fsc_vtype *copy;

	if (t->space == space || (t->kind != FSC_V_INT && t->kind != FSC_V_POINTER))
		return t;
	copy = fsc_vt_new(c, t->kind, t->size, t->align);
	*copy = *t;
	copy->space = (uint8_t)space;
	return copy;
}

static uint32_t align_of_size(uint64_t size)
{
	return size >= 8 ? 8 : size >= 4 ? 4 : size >= 2 ? 2 : 1;
}

static const struct fsc_vtype *import_int(struct fsc_lang *c, const struct fsc_type *type)
{
	struct fsc_vtype *t;

	if (type->is_bool)
		return &fsc_vt_bool;
	if (type->size > 8)
		return fsc_vt_array(c, fsc_vt_int(1, false), type->size);
	t = fsc_vt_new(c, FSC_V_INT, align_of_size(type->size), align_of_size(type->size));
	t->is_signed = type->is_signed;
	t->is_char = type->is_char;
	return t;
}

static const struct fsc_vtype *import_enum(struct fsc_lang *c, const struct fsc_type *type)
{
	struct fsc_vtype *t =
	    fsc_vt_new(c, FSC_V_INT, align_of_size(type->size), align_of_size(type->size));
	struct fsc_venumerator *e = FSC_NEW_N(c->keep, struct fsc_venumerator, type->n_enumerators);

	t->is_signed = type->is_signed;
	for (size_t i = 0; i < type->n_enumerators; i++)
		e[i] = (struct fsc_venumerator){fsc_zone_copy(c->keep, type->enumerators[i].name,
							      strlen(type->enumerators[i].name)),
						type->enumerators[i].value};
	t->enumerators = e;
	t->n_enumerators = type->n_enumerators;
	t->name = type->name ? fsc_zone_printf(c->keep, "enum %s", type->name) : NULL;
	return t;
}

static uint32_t import_align(const struct fsc_type *type)
{
	uint32_t align = 1;

	if (type->kind == FSC_TYPE_ARRAY)
		return import_align(type->to);
	if (type->kind != FSC_TYPE_STRUCT && type->kind != FSC_TYPE_UNION)
		return align_of_size(type->size);
	for (size_t i = 0; i < type->n_members; i++) {
		uint32_t a = import_align(type->members[i].type);

		if (a > align)
			align = a;
	}
	return type->size % align ? 1 : align;
}

static const struct fsc_vtype *import_record(struct fsc_lang *c, const struct fsc_type *type)
{
	struct fsc_vrecord *r = FSC_NEW(c->keep, struct fsc_vrecord);

	r->t = (struct fsc_vtype){.kind = FSC_V_RECORD,
				  .size = type->size,
				  .align = import_align(type),
				  .is_union = type->kind == FSC_TYPE_UNION};
	r->from = type;
	if (type->name)
		r->t.name = fsc_zone_printf(c->keep, "%s %s", r->t.is_union ? "union" : "struct",
					    type->name);
	return &r->t;
}

static const struct fsc_vtype *import_new(struct fsc_lang *c, const struct fsc_type *type)
{
	switch (type->kind) {
	case FSC_TYPE_INT:
		return import_int(c, type);
	case FSC_TYPE_ENUM:
		return import_enum(c, type);
	case FSC_TYPE_STRUCT:
	case FSC_TYPE_UNION:
		return import_record(c, type);
	case FSC_TYPE_ARRAY:
		if (type->to->kind == FSC_TYPE_INT && type->to->is_char && type->n)
			return fsc_vt_string(c, type->n);
		return fsc_vt_array(c, fsc_vt_import(c, type->to), type->n);
	case FSC_TYPE_FLOAT:
		return fsc_vt_array(c, fsc_vt_int(1, false), type->size);
	default:
		return &fsc_vt_void;
	}
}

const struct fsc_vtype *fsc_vt_import(struct fsc_lang *c, const struct fsc_type *type)
{
	struct fsc_vtype *pointer = NULL;
	const struct fsc_vtype *made;
	uint64_t *known = fsc_map_get(&c->ctypes->imported, &type, sizeof(type));

	if (known)
		return (const struct fsc_vtype *)(uintptr_t)*known;
	if (type->kind == FSC_TYPE_POINTER)
		made = pointer = fsc_vt_new(c, FSC_V_POINTER, 8, 8);
	else
		made = import_new(c, type);
	known = fsc_map_put(&c->ctypes->imported, &type, sizeof(type), NULL);
	if (!known)
		longjmp(*c->keep->out_of_memory, 1);
	*known = (uintptr_t)made;
	/* It may lead back to itself. */
	if (pointer)
		pointer->to = fsc_vt_import(c, type->to);
	return made;
}

/* A bit field is read as the unit of its type's size that it lies in, else as a larger one. */
static void import_bits(struct fsc_lang *c, struct fsc_vfield *f, const struct fsc_member *m)
{
	uint64_t unit = m->type->size ? m->type->size : 4;

	for (; unit < 8; unit *= 2)
		if (m->offset_bits % (unit * 8) + m->size_bits <= unit * 8)
			break;
	f->offset = m->offset_bits / (unit * 8) * unit;
	f->bit_shift = (uint8_t)(m->offset_bits - f->offset * 8);
	f->bits = (uint8_t)m->size_bits;
	if (c->world->big_endian)
		f->bit_shift = (uint8_t)(unit * 8 - f->bit_shift - f->bits);
	if (unit != f->type->size) {
		struct fsc_vtype *t = fsc_vt_new(c, FSC_V_INT, unit, (uint32_t)unit);

		t->is_signed = f->type->is_signed;
		f->type = t;
	}
}

static void record_fields(struct fsc_lang *c, struct fsc_vrecord *r, const struct fsc_type *type)
{
	struct fsc_vfield *fields = FSC_NEW_N(c->keep, struct fsc_vfield, type->n_members);

	for (size_t i = 0; i < type->n_members; i++) {
		const struct fsc_member *m = &type->members[i];

		fields[i].name = m->name ? fsc_zone_copy(c->keep, m->name, strlen(m->name)) : NULL;
		fields[i].type = fsc_vt_import(c, m->type);
		fields[i].offset = m->offset_bits / 8;
		if (m->bitfield)
			import_bits(c, &fields[i], m);
	}
	r->t.fields = fields;
	r->t.n_fields = type->n_members;
	r->t.size = type->size;
	r->t.align = import_align(type);
	r->t.is_complete = true;
}

bool fsc_vt_complete(struct fsc_lang *c, const struct fsc_vtype *t)
{
	struct fsc_vrecord *r = (struct fsc_vrecord *)(uintptr_t)t;
	struct fsc_world_type found = {0};

	if (t->kind != FSC_V_RECORD || t->is_complete || r->read)
		return t->is_complete;
	r->read = true;
	if (r->from && r->from->is_complete) {
		record_fields(c, r, r->from);
	} else if (t->name && c->world->type &&
		   c->world->type(c->world->arg, t->name, c->ctypes->near, &found) &&
		   found.type->is_complete) {
		record_fields(c, r, found.type);
	}
	return t->is_complete;
}

void fsc_vt_complete_all(struct fsc_lang *c, const struct fsc_vtype *t)
{
	if (t->kind == FSC_V_ARRAY)
		fsc_vt_complete_all(c, t->to);
	if (t->kind == FSC_V_RECORD)
		fsc_vt_complete(c, t);
	for (size_t i = 0; i < t->n_fields; i++)
		if (t->fields[i].type->kind != FSC_V_POINTER)
			fsc_vt_complete_all(c, t->fields[i].type);
}

bool fsc_vt_field(struct fsc_lang *c, const struct fsc_vtype *t, const char *name,
		  struct fsc_vfield *ret)
{
	if (!fsc_vt_complete(c, t))
		return false;
	for (size_t i = 0; i < t->n_fields; i++) {
		const struct fsc_vfield *f = &t->fields[i];

		if (f->name && !strcmp(f->name, name)) {
			*ret = *f;
			return true;
		}
		if (!f->name && f->type->kind == FSC_V_RECORD &&
		    fsc_vt_field(c, f->type, name, ret)) {
			ret->offset += f->offset;
			return true;
		}
	}
	return false;
}
