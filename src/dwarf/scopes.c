/* The scopes of DWARF: one walk over a unit's tree gives every address its innermost function,
 * inlined copy or block. Asking libdw for each address by itself would walk the tree each time. */
#include "dwarf/scopes.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "dwarf/debuginfo.h"

/* Deeper than any compiler nests; the tree of a damaged file must not use up our stack. */
#define DEPTH_MAX 200

struct places {
	struct fsc_place *at; /* by address */
	size_t n;
};

static int by_address(const void *va, const void *vb)
{
	const struct fsc_place *a = va, *b = vb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* The first place at or behind addr. */
static size_t first_from(const struct places *p, uint64_t addr)
{
	size_t lo = 0, hi = p->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->at[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Marks the places inside a scope; whether there are any. */
static bool mark_scope(Dwarf_Die *die, int tag, const struct places *p)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	bool any = false;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		for (size_t i = first_from(p, start); i < p->n && p->at[i].addr < end; i++) {
			p->at[i].scope = dwarf_dieoffset(die);
			if (tag == DW_TAG_subprogram)
				p->at[i].part = start;
			any = true;
		}
	}
	return any;
}

static void walk(Dwarf_Die *parent, const struct places *p, int depth);

static void visit(Dwarf_Die *die, const struct places *p, int depth)
{
	int tag = dwarf_tag(die);

	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
		if (mark_scope(die, tag, p))
			walk(die, p, depth + 1);
		return;
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		walk(die, p, depth + 1); /* Rust and Ada put functions there */
		return;
	default:
		return;
	}
}

static void walk(Dwarf_Die *parent, const struct places *p, int depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || !fsc_die_child(parent, &die))
		return;
	do
		visit(&die, p, depth);
	while (fsc_die_next(&die));
}

void fsc_scopes_mark(Dwarf_Die *unit, struct fsc_place *places, size_t n)
{
	struct places p = {.at = places, .n = n};

	qsort(places, n, sizeof(*places), by_address);
	walk(unit, &p, 0);
}

static int by_scope(const void *va, const void *vb)
{
	const struct fsc_place *a = va, *b = vb;

	if (a->scope != b->scope)
		return a->scope < b->scope ? -1 : 1;
	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	return by_address(va, vb);
}

void fsc_scopes_keep_first(struct fsc_vec *places)
{
	struct fsc_place *p = places->data;
	size_t n = 0;

	if (places->n)
		qsort(p, places->n, sizeof(*p), by_scope);
	for (size_t i = 0; i < places->n; i++) {
		if (!n || !p[i].scope || p[i].scope != p[n - 1].scope || p[i].part != p[n - 1].part)
			p[n++] = p[i];
	}
	places->n = n;
}
