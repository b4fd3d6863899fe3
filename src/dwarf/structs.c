/* Structs, classes and unions out of DWARF: their members, and whether C++ passes them by
 * reference. All other types: types.c. */
#include "dwarf/signatures_priv.h"

#include <dwarf.h>
#include <string.h>

#include "dwarf/debuginfo.h"

/* Where in the struct it is; false if only the running program knows (virtual bases). */
static bool member_offset(Dwarf_Die *die, uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	*ret = 0;
	if (!dwarf_attr(die, DW_AT_data_member_location, &attr))
		return true; /* in unions all are at 0 */
	if (fsc_die_number(die, DW_AT_data_member_location, ret))
		return true;
	if (dwarf_getlocation(&attr, &ops, &n) || n != 1 || ops[0].atom != DW_OP_plus_uconst)
		return false;
	*ret = ops[0].number;
	return true;
}

/* Bit fields: DWARF 4 counts from the most significant bit of a storage unit, DWARF 5 from the
 * beginning of the struct. */
static bool member_bits(Dwarf_Die *die, uint64_t *ret_offset, uint64_t *ret_size)
{
	uint64_t bytes, at = 0, unit = 0;
	Dwarf_Attribute attr;
	Dwarf_Die type, peeled;

	if (!member_offset(die, &bytes) || bytes > UINT32_MAX)
		return false;
	*ret_offset = bytes * 8;
	*ret_size = 0;
	if (!fsc_die_number(die, DW_AT_bit_size, ret_size))
		return true;
	if (fsc_die_number(die, DW_AT_data_bit_offset, &at)) {
		*ret_offset = at;
		return at < UINT32_MAX;
	}
	if (!fsc_die_number(die, DW_AT_bit_offset, &at))
		return true;
	if (!fsc_die_number(die, DW_AT_byte_size, &unit) && dwarf_attr(die, DW_AT_type, &attr) &&
	    dwarf_formref_die(&attr, &type) && !dwarf_peel_type(&type, &peeled))
		unit = fsc_die_size(&peeled);
	if (unit > 16 || at > unit * 8 || *ret_size > unit * 8 - at)
		return false;
	*ret_offset += unit * 8 - at - *ret_size;
	return true;
}

static bool is_member(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	/* DWARF 4 has static members here too. */
	return tag == DW_TAG_inheritance ||
	       (tag == DW_TAG_member && dwarf_hasattr(die, DW_AT_external) <= 0 &&
		dwarf_hasattr(die, DW_AT_declaration) <= 0);
}

static void read_member(struct fsc_typetab *tab, Dwarf_Die *die, struct fsc_flat_type *t)
{
	struct fsc_flat_member m, *place;

	if (!member_bits(die, &m.offset_bits, &m.size_bits))
		return;
	m.name = dwarf_tag(die) == DW_TAG_member ? fsc_typetab_text(tab, dwarf_diename(die)) : 0;
	m.type = fsc_dwarf_type_of(tab, die, false);
	place = fsc_typetab_push(tab, FSC_TAB_MEMBERS);
	if (!place)
		return;
	*place = m;
	t->n++;
}

/* Whether a constructor takes an object of its own class: this, and a reference to such. */
static bool takes_own_class(Dwarf_Die *function, const Dwarf_Die *class)
{
	Dwarf_Attribute attr;
	Dwarf_Die at, type, to, peeled;

	if (!fsc_die_child(function, &at) || !fsc_die_next(&at) ||
	    dwarf_tag(&at) != DW_TAG_formal_parameter || !dwarf_attr(&at, DW_AT_type, &attr) ||
	    !dwarf_formref_die(&attr, &type))
		return false;
	return (dwarf_tag(&type) == DW_TAG_reference_type ||
		dwarf_tag(&type) == DW_TAG_rvalue_reference_type) &&
	       dwarf_attr(&type, DW_AT_type, &attr) && dwarf_formref_die(&attr, &to) &&
	       !dwarf_peel_type(&to, &peeled) && peeled.addr == class->addr;
}

/* Whether a function of a class makes it one that is passed by reference: a destructor, a copy
 * constructor or anything virtual. gcc does not say it otherwise. */
static bool makes_nontrivial(Dwarf_Die *function, Dwarf_Die *class)
{
	const char *name = dwarf_diename(function), *own = dwarf_diename(class);
	uint64_t value = 0;
	size_t n;

	if (fsc_die_number(function, DW_AT_virtuality, &value) && value)
		return true;
	if (!name || !own || (fsc_die_number(function, DW_AT_defaulted, &value) && value == 1) ||
	    (fsc_die_number(function, DW_AT_deleted, &value) && value))
		return false;
	n = strcspn(own, "<"); /* the names of constructors have no template arguments */
	return name[0] == '~' ||
	       (!strncmp(name, own, n) && !name[n] && takes_own_class(function, class));
}

static void read_members(struct fsc_typetab *tab, Dwarf_Die *die, struct fsc_flat_type *t)
{
	bool said;
	uint64_t convention = 0;
	Dwarf_Die at;

	said = fsc_die_number(die, DW_AT_calling_convention, &convention);
	if (convention == DW_CC_pass_by_reference)
		t->flags |= FSC_FLAT_NONTRIVIAL;
	t->first = (uint32_t)tab->table[FSC_TAB_MEMBERS].n;
	if (!fsc_die_child(die, &at))
		return;
	do {
		if (is_member(&at))
			read_member(tab, &at, t);
		else if (!said && dwarf_tag(&at) == DW_TAG_subprogram && makes_nontrivial(&at, die))
			t->flags |= FSC_FLAT_NONTRIVIAL;
	} while (!tab->failed && fsc_die_next(&at));
}

struct fsc_flat_type fsc_dwarf_struct(struct fsc_typetab *tab, Dwarf_Die *die)
{
	bool is_union = dwarf_tag(die) == DW_TAG_union_type;
	struct fsc_flat_type t = {
	    .kind = is_union ? FSC_TYPE_UNION : FSC_TYPE_STRUCT,
	    .flags = fsc_dwarf_lang(die).tagged ? FSC_FLAT_TAGGED : 0,
	    .name = fsc_typetab_text(tab, dwarf_diename(die)),
	    .size = fsc_die_size(die),
	};

	if (!tab->members_wanted || dwarf_hasattr(die, DW_AT_declaration) > 0)
		return t;
	t.flags |= FSC_FLAT_COMPLETE;
	read_members(tab, die, &t);
	return t;
}
