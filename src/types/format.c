/* Values as text, by their type. Memory that was read short gives ? where the bytes are missing. */
#include "types/types.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"

#define ELEMENTS_MAX 16
#define MEMBERS_MAX  64
#define NESTING_MAX  8
/* Limit of nested unnamed members: damaged information may be circular. */
#define VISITS_MAX 1000

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "values are taken from the low end of their bytes");

/* n bits (at most 64) from a bit offset on, as C lays out bit fields. */
static uint64_t bits_at(const unsigned char *bytes, uint64_t offset, unsigned n)
{
	uint64_t v = 0;

	if (offset % 8 == 0 && n % 8 == 0) {
		memcpy(&v, bytes + offset / 8, n / 8);
		return v;
	}
	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)(bytes[(offset + i) / 8] >> (offset + i) % 8 & 1) << i;
	return v;
}

/* The low n bits as a number of 64. */
static uint64_t widen(uint64_t v, unsigned n, bool is_signed)
{
	uint64_t sign;

	if (!n || n >= 64)
		return v;
	sign = 1ull << (n - 1);
	v &= (sign << 1) - 1;
	return is_signed ? (v ^ sign) - sign : v;
}

static void put_char(struct fsc_buf *b, uint64_t v)
{
	static const char letters[] = "0......abtnvfr";

	if (v == '\'' || v == '\\')
		fsc_buf_printf(b, "'\\%c'", (char)v);
	else if (v < 0x80 && isprint((int)v))
		fsc_buf_printf(b, "'%c'", (char)v);
	else if (v < sizeof(letters) - 1 && letters[v] != '.')
		fsc_buf_printf(b, "'\\%c'", letters[v]);
	else
		fsc_buf_printf(b, v < 0x100 ? "'\\x%02llx'" : "'\\u%04llx'", (unsigned long long)v);
}

static void put_int(struct fsc_buf *b, const struct fsc_type *type, uint64_t v)
{
	if (type->is_bool)
		fsc_buf_puts(b, v ? "true" : "false");
	else if (type->is_char)
		put_char(b, type->size == 1 ? v & 0xff : v);
	else if (type->is_signed)
		fsc_buf_printf(b, "%lld", (long long)v);
	else
		fsc_buf_printf(b, "%llu", (unsigned long long)v);
}

static bool single_bit(uint64_t v)
{
	return v && !(v & (v - 1));
}

/* Whether v is made of enumerators of one bit each, and those are what the enum is about: in a
 * plain sequence most numbers have several bits. */
static bool is_flags(const struct fsc_type *type, uint64_t v)
{
	size_t single = 0, several = 0;
	uint64_t known = 0;

	for (size_t i = 0; i < type->n_enumerators; i++) {
		uint64_t e = (uint64_t)type->enumerators[i].value;

		single += single_bit(e);
		several += e && !single_bit(e);
		known |= single_bit(e) ? e : 0;
	}
	return v && !(v & ~known) && single >= several;
}

static void put_flags(struct fsc_buf *b, const struct fsc_type *type, uint64_t v)
{
	const char *between = "";

	for (size_t i = 0; v && i < type->n_enumerators; i++) {
		uint64_t e = (uint64_t)type->enumerators[i].value;

		if (!single_bit(e) || !(v & e))
			continue;
		fsc_buf_printf(b, "%s%s", between, type->enumerators[i].name);
		between = "|";
		v &= ~e; /* two names of one bit: the first is enough */
	}
}

static void put_enum(struct fsc_buf *b, const struct fsc_type *type, uint64_t v)
{
	for (size_t i = 0; i < type->n_enumerators; i++) {
		if ((uint64_t)type->enumerators[i].value == v) {
			fsc_buf_puts(b, type->enumerators[i].name);
			return;
		}
	}
	if (is_flags(type, v))
		put_flags(b, type, v);
	else
		put_int(b, type, v);
}

static void put_pointer(struct fsc_buf *b, const struct fsc_type *type, uint64_t v)
{
	if (!v && type->kind == FSC_TYPE_POINTER)
		fsc_buf_puts(b, "NULL");
	else
		fsc_buf_printf(b, "0x%llx", (unsigned long long)v);
}

static void put_float(struct fsc_buf *b, const struct fsc_type *type, uint64_t v)
{
	double d;
	float f;

	memcpy(&d, &v, sizeof(d));
	memcpy(&f, &v, sizeof(f));
	if (type->size == sizeof(d))
		fsc_buf_printf(b, "%g", d);
	else if (type->size == sizeof(f))
		fsc_buf_printf(b, "%g", (double)f);
	else
		fsc_buf_putc(b, '?');
}

/* Kinds whose values fit a register; v is widened. */
static void (*const scalars[FSC_TYPE_KINDS])(struct fsc_buf *b, const struct fsc_type *type,
					     uint64_t v) = {
    [FSC_TYPE_VOID] = put_pointer, [FSC_TYPE_UNKNOWN] = put_pointer,
    [FSC_TYPE_INT] = put_int,	   [FSC_TYPE_FLOAT] = put_float,
    [FSC_TYPE_ENUM] = put_enum,	   [FSC_TYPE_POINTER] = put_pointer,
    [FSC_TYPE_FUNC] = put_pointer,
};

static void put_wide(struct fsc_buf *b, const struct fsc_type *type, const unsigned char *bytes)
{
	long double ld;

	/* An x87 number, or IEEE quad: what this machine calls long double. */
	if (type->kind == FSC_TYPE_FLOAT && type->size == sizeof(ld) && type->name &&
	    !strcmp(type->name, "long double")) {
		memcpy(&ld, bytes, sizeof(ld));
		fsc_buf_printf(b, "%Lg", ld);
	} else if (type->kind == FSC_TYPE_INT && type->size == 16) {
		fsc_buf_printf(b, "0x%016llx%016llx", (unsigned long long)bits_at(bytes, 64, 64),
			       (unsigned long long)bits_at(bytes, 0, 64));
	} else {
		fsc_buf_putc(b, '?');
	}
}

/* Memory from which a value is taken: n bytes, and how deep inside the outermost one it lies. */
struct view {
	const unsigned char *bytes;
	size_t n;
	int level;
};

static void put_at(struct fsc_buf *b, const struct fsc_type *type, const struct view *v);

static struct view inside(const struct view *v, uint64_t offset, int deeper)
{
	bool there = offset <= v->n;

	return (struct view){.bytes = there ? v->bytes + offset : v->bytes,
			     .n = there ? v->n - offset : 0,
			     .level = v->level + deeper};
}

/* n of an array's characters were read. */
static void put_string(struct fsc_buf *b, const struct fsc_type *type, const unsigned char *bytes,
		       uint64_t n)
{
	size_t length = strnlen((const char *)bytes, n);

	fsc_buf_putc(b, '"');
	fsc_buf_add(b, (const char *)bytes, length);
	fsc_buf_puts(b, length == n && n < type->n ? "\"..." : "\"");
}

static void put_array(struct fsc_buf *b, const struct fsc_type *type, const struct view *v)
{
	uint64_t size = type->to->size, n = size ? v->n / size : 0;

	n = n < type->n ? n : type->n;
	if (type->n && size && !n) {
		fsc_buf_putc(b, '?');
		return;
	}
	if (type->to->kind == FSC_TYPE_INT && type->to->is_char && size == 1 && n) {
		put_string(b, type, v->bytes, n);
		return;
	}
	if (v->level > 1 || !size) {
		fsc_buf_puts(b, "{...}");
		return;
	}
	fsc_buf_putc(b, '{');
	for (uint64_t i = 0; i < n && i < ELEMENTS_MAX; i++) {
		struct view at = inside(v, i * size, 1);

		fsc_buf_puts(b, i ? ", " : "");
		put_at(b, type->to, &at);
	}
	fsc_buf_puts(b, n < type->n || n > ELEMENTS_MAX ? ", ...}" : "}");
}

static void put_bitfield(struct fsc_buf *b, const struct fsc_member *m, const struct view *v)
{
	const struct fsc_type *type = m->type;
	unsigned n = (unsigned)m->size_bits;

	if (m->size_bits > 64 || m->offset_bits > v->n * 8 ||
	    m->size_bits > v->n * 8 - m->offset_bits || !scalars[type->kind])
		fsc_buf_putc(b, '?');
	else
		scalars[type->kind](
		    b, type, widen(bits_at(v->bytes, m->offset_bits, n), n, type->is_signed));
}

/* How far the members of one struct are written. */
struct progress {
	size_t done, visits;
	int nesting;
};

/* The members of type, those of anonymous members among them. */
static void put_members(struct fsc_buf *b, const struct fsc_type *type, const struct view *v,
			struct progress *p)
{
	for (size_t i = 0; i < type->n_members && p->done < MEMBERS_MAX; i++) {
		const struct fsc_member *m = &type->members[i];
		struct view at = inside(v, m->offset_bits / 8, 1);

		if (m->name) {
			fsc_buf_printf(b, "%s.%s = ", p->done++ ? ", " : "", m->name);
			if (m->bitfield)
				put_bitfield(b, m, v);
			else
				put_at(b, m->type, &at);
		} else if (p->nesting < NESTING_MAX && p->visits++ < VISITS_MAX) {
			p->nesting++;
			at.level = v->level;
			put_members(b, m->type, &at, p);
			p->nesting--;
		}
	}
}

static void put_struct(struct fsc_buf *b, const struct fsc_type *type, const struct view *v)
{
	struct progress p = {0};

	if (v->level || !type->is_complete) {
		fsc_buf_puts(b, "{...}");
		return;
	}
	fsc_buf_putc(b, '{');
	put_members(b, type, v, &p);
	fsc_buf_puts(b, p.done == MEMBERS_MAX ? ", ...}" : "}");
}

static void put_at(struct fsc_buf *b, const struct fsc_type *type, const struct view *v)
{
	unsigned bits = type->size < 8 ? (unsigned)type->size * 8 : 64;

	if (type->kind == FSC_TYPE_STRUCT || type->kind == FSC_TYPE_UNION)
		put_struct(b, type, v);
	else if (type->kind == FSC_TYPE_ARRAY)
		put_array(b, type, v);
	else if (type->size > v->n || !type->size)
		fsc_buf_putc(b, '?');
	else if (type->size > 8)
		put_wide(b, type, v->bytes);
	else
		scalars[type->kind](b, type,
				    widen(bits_at(v->bytes, 0, bits), bits, type->is_signed));
}

void fsc_type_format(struct fsc_buf *b, const struct fsc_type *type, const void *bytes, size_t n)
{
	put_at(b, type, &(struct view){.bytes = bytes, .n = n});
}

void fsc_type_format_value(struct fsc_buf *b, const struct fsc_type *type, uint64_t value)
{
	if (type->size && type->size <= sizeof(value))
		fsc_type_format(b, type, &value, sizeof(value));
	else
		fsc_buf_printf(b, "0x%llx", (unsigned long long)value);
}

uint64_t fsc_type_number(const struct fsc_type *type, uint64_t value)
{
	return type->size < sizeof(value) ? widen(value, (unsigned)type->size * 8, type->is_signed)
					  : value;
}
