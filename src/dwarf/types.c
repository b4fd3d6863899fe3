/* Types out of DWARF: one function per kind of DIE, in a table. Everything ends in the tables of
 * types/table.h; nothing here decides where a parameter lies. */
#include "dwarf/signatures_priv.h"

#include <dwarf.h>
#include <string.h>

#include "dwarf/debuginfo.h"

/* Enumerators of one type; the largest known have a few thousand. */
#define ENUMERATORS_MAX 20000u
#define DIMENSIONS_MAX	8
#define POINTER_SIZE	8

static const struct fsc_dwarf_lang langs[] = {
    {DW_LANG_C_plus_plus, false, false},
    {DW_LANG_C_plus_plus_03, false, false},
    {DW_LANG_C_plus_plus_11, false, false},
    {DW_LANG_C_plus_plus_14, false, false},
    {DW_LANG_D, false, true},
    {DW_LANG_Go, false, true},
    {DW_LANG_Haskell, false, true},
    {DW_LANG_OCaml, false, true},
    {DW_LANG_Rust, false, true},
    {DW_LANG_Swift, false, true},
    {0x2b /* C++17 */, false, false},
    {0x2c /* C++20 */, false, false},
};

struct fsc_dwarf_lang fsc_dwarf_lang(Dwarf_Die *die)
{
	Dwarf_Die unit;
	int code = dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;

	for (size_t i = 0; i < sizeof(langs) / sizeof(langs[0]); i++)
		if (langs[i].code == code)
			return langs[i];
	return (struct fsc_dwarf_lang){.code = code, .tagged = true};
}

bool fsc_die_number(Dwarf_Die *die, unsigned name, uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word word;

	if (!dwarf_attr_integrate(die, name, &attr) || dwarf_formudata(&attr, &word))
		return false;
	*ret = word;
	return true;
}

uint64_t fsc_die_size(Dwarf_Die *die)
{
	uint64_t n = 0, bits = 0;

	if (!fsc_die_number(die, DW_AT_byte_size, &n) && fsc_die_number(die, DW_AT_bit_size, &bits))
		n = (bits + 7) / 8;
	return n;
}

uint32_t fsc_dwarf_type_of(struct fsc_typetab *tab, Dwarf_Die *die, bool pointed)
{
	Dwarf_Attribute attr;
	Dwarf_Die to;

	if (!dwarf_attr_integrate(die, DW_AT_type, &attr))
		return FSC_FLAT_VOID;
	if (!dwarf_formref_die(&attr, &to))
		return FSC_FLAT_UNKNOWN;
	return fsc_typetab_ref(tab, (struct fsc_origin){.addr = to.addr, .of = to.cu}, pointed);
}

/* ---- simple types ---- */

static const struct {
	unsigned encoding;
	uint16_t kind, flags;
} encodings[] = {
    {DW_ATE_address, FSC_TYPE_POINTER, 0},
    {DW_ATE_boolean, FSC_TYPE_INT, FSC_FLAT_BOOL},
    {DW_ATE_complex_float, FSC_TYPE_FLOAT, 0},
    {DW_ATE_float, FSC_TYPE_FLOAT, 0},
    {DW_ATE_imaginary_float, FSC_TYPE_FLOAT, 0},
    {DW_ATE_decimal_float, FSC_TYPE_FLOAT, 0},
    {DW_ATE_signed, FSC_TYPE_INT, FSC_FLAT_SIGNED},
    {DW_ATE_signed_char, FSC_TYPE_INT, FSC_FLAT_SIGNED},
    {DW_ATE_unsigned, FSC_TYPE_INT, 0},
    {DW_ATE_unsigned_char, FSC_TYPE_INT, 0},
    {DW_ATE_UTF, FSC_TYPE_INT, FSC_FLAT_CHAR},
};

static struct fsc_flat_type read_base(struct fsc_typetab *tab, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	struct fsc_flat_type t = {.kind = FSC_TYPE_UNKNOWN, .size = fsc_die_size(die)};
	uint64_t encoding = 0;

	fsc_die_number(die, DW_AT_encoding, &encoding);
	for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++) {
		if (encodings[i].encoding != encoding)
			continue;
		t.kind = encodings[i].kind;
		t.flags = encodings[i].flags;
	}
	/* uint8_t is a character to DWARF, but a number to everybody who uses it. */
	if (name && !strcmp(name, "char") && t.kind == FSC_TYPE_INT)
		t.flags |= FSC_FLAT_CHAR;
	t.name = fsc_typetab_text(tab, name);
	return t;
}

static struct fsc_flat_type read_pointer(struct fsc_typetab *tab, Dwarf_Die *die)
{
	return (struct fsc_flat_type){
	    .kind = FSC_TYPE_POINTER,
	    .flags = dwarf_tag(die) == DW_TAG_pointer_type ? 0 : FSC_FLAT_REFERENCE,
	    .size = POINTER_SIZE,
	    .of = fsc_dwarf_type_of(tab, die, true),
	};
}

/* An offset, or for functions a pair of address and offset. */
static struct fsc_flat_type read_member_pointer(struct fsc_typetab *tab, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die to;
	bool function = dwarf_attr(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, &to) &&
			dwarf_tag(&to) == DW_TAG_subroutine_type;

	(void)tab;
	return (struct fsc_flat_type){.kind = FSC_TYPE_INT,
				      .flags = FSC_FLAT_SIGNED,
				      .size = function ? 2 * POINTER_SIZE : POINTER_SIZE};
}

static struct fsc_flat_type read_alias(struct fsc_typetab *tab, Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return (struct fsc_flat_type){
	    .kind = FSC_FLAT_ALIAS,
	    .flags = tag == DW_TAG_const_type ? FSC_FLAT_CONST : 0,
	    .name = tag == DW_TAG_typedef ? fsc_typetab_text(tab, dwarf_diename(die)) : 0,
	    .of = fsc_dwarf_type_of(tab, die, false),
	};
}

static struct fsc_flat_type read_function(struct fsc_typetab *tab, Dwarf_Die *die)
{
	(void)tab, (void)die;
	return (struct fsc_flat_type){.kind = FSC_TYPE_FUNC};
}

/* C++'s decltype(nullptr) is one. */
static struct fsc_flat_type read_unspecified(struct fsc_typetab *tab, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	if (!name || !strstr(name, "nullptr"))
		return (struct fsc_flat_type){.kind = FSC_TYPE_VOID};
	return (struct fsc_flat_type){
	    .kind = FSC_TYPE_POINTER, .size = POINTER_SIZE, .name = fsc_typetab_text(tab, name)};
}

/* ---- arrays ---- */

static uint64_t dimension(Dwarf_Die *range)
{
	uint64_t n = 0;

	if (fsc_die_number(range, DW_AT_count, &n))
		return n;
	if (!fsc_die_number(range, DW_AT_upper_bound, &n) || n >= UINT32_MAX)
		return 0; /* open, or of a size that only the program knows */
	return n + 1;
}

/* The outermost dimension comes first; each but it gets a type of its own. */
static struct fsc_flat_type read_array(struct fsc_typetab *tab, Dwarf_Die *die)
{
	struct fsc_flat_type t = {.kind = FSC_TYPE_ARRAY, .of = fsc_dwarf_type_of(tab, die, false)};
	uint64_t counts[DIMENSIONS_MAX];
	size_t n = 0;
	Dwarf_Die at;

	if (fsc_die_child(die, &at)) {
		do {
			if (dwarf_tag(&at) == DW_TAG_subrange_type && n < DIMENSIONS_MAX)
				counts[n++] = dimension(&at);
		} while (fsc_die_next(&at));
	}
	for (; n > 1; n--) {
		struct fsc_flat_type *inner = fsc_typetab_push(tab, FSC_TAB_TYPES);

		if (!inner)
			return t;
		*inner = t;
		inner->count = counts[n - 1];
		t.of = (uint32_t)tab->table[FSC_TAB_TYPES].n - 1;
	}
	t.count = n ? counts[0] : 0;
	return t;
}

/* ---- enums ---- */

static void read_enumerators(struct fsc_typetab *tab, Dwarf_Die *die, struct fsc_flat_type *t,
			     bool *ret_negative)
{
	Dwarf_Die at;

	t->first = (uint32_t)tab->table[FSC_TAB_ENUMERATORS].n;
	if (!fsc_die_child(die, &at))
		return;
	do {
		struct fsc_flat_enumerator *e;
		uint32_t name;
		Dwarf_Attribute attr;
		Dwarf_Word value;

		if (dwarf_tag(&at) != DW_TAG_enumerator ||
		    !dwarf_attr(&at, DW_AT_const_value, &attr) || dwarf_formudata(&attr, &value))
			continue;
		/* Compilers use this form for what is negative. */
		*ret_negative |= attr.form == DW_FORM_sdata && (int64_t)value < 0;
		name = fsc_typetab_text(tab, dwarf_diename(&at));
		e = fsc_typetab_push(tab, FSC_TAB_ENUMERATORS);
		if (!e)
			return;
		e->name = name;
		e->value = (int64_t)value;
		t->n++;
	} while (t->n < ENUMERATORS_MAX && fsc_die_next(&at));
}

/* The values as a register of that size would have them. */
static void fit_enumerators(struct fsc_typetab *tab, const struct fsc_flat_type *t)
{
	unsigned unused = t->size && t->size < 8 ? 64 - (unsigned)t->size * 8 : 0;

	for (uint32_t i = 0; i < t->n; i++) {
		struct fsc_flat_enumerator *e = FSC_AT(
		    struct fsc_flat_enumerator, &tab->table[FSC_TAB_ENUMERATORS], t->first + i);
		uint64_t high = (uint64_t)e->value << unused;

		e->value = t->flags & FSC_FLAT_SIGNED ? (int64_t)high >> unused
						      : (int64_t)(high >> unused);
	}
}

static bool is_signed(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die base, peeled;
	uint64_t encoding = 0;

	if (fsc_die_number(die, DW_AT_encoding, &encoding))
		return encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
	return dwarf_attr(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, &base) &&
	       !dwarf_peel_type(&base, &peeled) &&
	       fsc_die_number(&peeled, DW_AT_encoding, &encoding) &&
	       (encoding == DW_ATE_signed || encoding == DW_ATE_signed_char);
}

static struct fsc_flat_type read_enum(struct fsc_typetab *tab, Dwarf_Die *die)
{
	struct fsc_flat_type t = {.kind = FSC_TYPE_ENUM, .size = fsc_die_size(die)};
	bool negative = false;

	t.name = fsc_typetab_text(tab, dwarf_diename(die));
	read_enumerators(tab, die, &t, &negative);
	t.flags = (negative || is_signed(die) ? FSC_FLAT_SIGNED : 0) |
		  (fsc_dwarf_lang(die).tagged ? FSC_FLAT_TAGGED : 0);
	fit_enumerators(tab, &t);
	return t;
}

static const struct {
	int tag;
	struct fsc_flat_type (*read)(struct fsc_typetab *tab, Dwarf_Die *die);
} readers[] = {
    {DW_TAG_base_type, read_base},
    {DW_TAG_pointer_type, read_pointer},
    {DW_TAG_reference_type, read_pointer},
    {DW_TAG_rvalue_reference_type, read_pointer},
    {DW_TAG_ptr_to_member_type, read_member_pointer},
    {DW_TAG_typedef, read_alias},
    {DW_TAG_const_type, read_alias},
    {DW_TAG_volatile_type, read_alias},
    {DW_TAG_restrict_type, read_alias},
    {DW_TAG_atomic_type, read_alias},
    {DW_TAG_structure_type, fsc_dwarf_struct},
    {DW_TAG_class_type, fsc_dwarf_struct},
    {DW_TAG_union_type, fsc_dwarf_struct},
    {DW_TAG_enumeration_type, read_enum},
    {DW_TAG_array_type, read_array},
    {DW_TAG_subroutine_type, read_function},
    {DW_TAG_unspecified_type, read_unspecified},
};

struct fsc_flat_type fsc_dwarf_type_read(void *arg, struct fsc_origin origin)
{
	Dwarf_Die die = {.addr = (void *)origin.addr, .cu = origin.of}, full;
	Dwarf_Attribute attr;
	int tag;

	/* With -fdebug-types-section the definition stands in a unit of its own. */
	if (dwarf_attr(&die, DW_AT_signature, &attr) && dwarf_formref_die(&attr, &full))
		die = full;
	tag = dwarf_tag(&die);

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (readers[i].tag == tag)
			return readers[i].read(arg, &die);
	return (struct fsc_flat_type){.kind = FSC_TYPE_UNKNOWN};
}
