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

/* Marks the places inside a scope; whether there are any. */
static bool mark_scope(Dwarf_Die *die, const struct places *p)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	bool any = false;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		size_t i = fsc_first_from(p->at, p->n, sizeof(*p->at), start);

		for (; i < p->n && p->at[i].addr < end; i++) {
			p->at[i].scope = dwarf_dieoffset(die);
			if (dwarf_tag(die) == DW_TAG_subprogram)
				p->at[i].part = start;
			any = true;
		}
	}
	return any;
}

static void walk_scopes(Dwarf_Die *parent, const struct places *p, int depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || !fsc_die_child(parent, &die))
		return;
	do {
		if (fsc_die_is_scope(&die) ? mark_scope(&die, p) : fsc_die_nests_functions(&die))
			walk_scopes(&die, p, depth + 1);
	} while (fsc_die_next(&die));
}

void fsc_scopes_mark(Dwarf_Die *unit, struct fsc_place *places, size_t n)
{
	struct places p = {.at = places, .n = n};

	qsort(places, n, sizeof(*places), fsc_compare_addresses);
	walk_scopes(unit, &p, 0);
}

static int by_scope(const void *va, const void *vb)
{
	const struct fsc_place *a = va, *b = vb;

	if (a->scope != b->scope)
		return a->scope < b->scope ? -1 : 1;
	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	return fsc_compare_addresses(va, vb);
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
