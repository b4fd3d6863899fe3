/* A type by its name: a walk over the outermost levels of all units, in a child (contain.h). What
 * the types are: types.c. */
#include "dwarf/named.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dwarf/debuginfo.h"
#include "dwarf/signatures_priv.h"

#define DEPTH_MAX 64
#define TIME_MAX  (20 * 1000000000ull)
/* DIEs between two checks of the clock. */
#define PATIENCE 4096

struct search {
	const struct fsc_image *image;
	const char *name; /* without its tag */
	const int *tags;  /* 0-ended */
	bool enumerator;  /* name is one's; tags are enums */
	unsigned depth;	  /* of types */
	struct fsc_typetab tab;
	uint64_t deadline;
	unsigned seen;
	bool found, late;
};

static bool has_tag(const struct search *s, int tag)
{
	for (const int *t = s->tags; *t; t++)
		if (*t == tag)
			return true;
	return false;
}

static bool has_enumerator(Dwarf_Die *die, const char *name)
{
	Dwarf_Die at;

	if (!fsc_die_child(die, &at))
		return false;
	do {
		const char *own = dwarf_diename(&at);

		if (own && !strcmp(own, name))
			return true;
	} while (fsc_die_next(&at));
	return false;
}

static bool is_wanted(const struct search *s, Dwarf_Die *die)
{
	const char *own;

	if (!has_tag(s, dwarf_tag(die)) || dwarf_hasattr(die, DW_AT_declaration) > 0)
		return false;
	if (s->enumerator)
		return has_enumerator(die, s->name);
	own = dwarf_diename(die);
	return own && !strcmp(own, s->name);
}

static void take_type(struct search *s, Dwarf_Die *die)
{
	uint32_t type =
	    fsc_typetab_ref(&s->tab, (struct fsc_origin){.addr = die->addr, .of = die->cu}, false);
	struct fsc_flat_sig *place = fsc_typetab_push(&s->tab, FSC_TAB_SIGS);

	if (!place)
		return;
	place->ret = type;
	s->found = true;
}

static bool is_over(struct search *s)
{
	if (s->seen++ % PATIENCE == 0 && fsc_clock_mono() > s->deadline)
		s->late = true;
	return s->late || s->found || s->tab.failed;
}

static void walk_types(struct search *s, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || !fsc_die_child(parent, &die))
		return;
	do {
		if (is_wanted(s, &die))
			take_type(s, &die);
		else if (fsc_die_nests_functions(&die) || dwarf_tag(&die) == DW_TAG_subprogram)
			walk_types(s, &die, depth + 1);
	} while (!is_over(s) && fsc_die_next(&die));
}

static int search_in_child(void *arg, struct fsc_vec *words, struct fsc_err *err)
{
	FSC_AUTO(fsc_debug_info_close) struct fsc_debug_info d = {0};
	struct search *s = arg;
	Dwarf_Off at = 0, next;
	size_t header;
	int rc = fsc_typetab_init(&s->tab, err);

	s->deadline = fsc_clock_mono() + TIME_MAX;
	if (!rc)
		rc = fsc_debug_info_open(s->image, &d, err);
	while (!rc && !is_over(s) && !dwarf_nextcu(d.dwarf, at, &next, &header, NULL, NULL, NULL) &&
	       next > at) {
		Dwarf_Die unit;

		if (dwarf_offdie(d.dwarf, at + header, &unit))
			walk_types(s, &unit, 0);
		at = next;
	}
	if (!rc)
		rc = fsc_typetab_read(&s->tab, s->depth, fsc_dwarf_type_read, &s->tab, err);
	if (!rc)
		rc = fsc_typetab_pack(&s->tab, words, err);
	fsc_typetab_release(&s->tab);
	return rc;
}

/* ---- outside the child ---- */

static int search_file(struct fsc_elf *e, struct search *s, struct fsc_types *types,
		       const struct fsc_type **ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec words = FSC_VEC_INIT(uint64_t);
	FSC_AUTO(fsc_typetab_release) struct fsc_typetab tab = {0};
	struct fsc_signature sig = {0};
	int rc = fsc_debug_info_find(e, ".debug_info", &s->image, err);

	*ret = NULL;
	s->depth = types->depth;
	if (!rc)
		rc = fsc_debug_info_contain(s->image, search_in_child, s, &words, err);
	if (!rc)
		rc = fsc_typetab_unpack(&words, &tab, err);
	if (!rc)
		rc = fsc_typetab_seal(&tab, types, &sig, 1, err);
	if (!rc && sig.found)
		*ret = sig.ret;
	return rc;
}

static const struct {
	const char *word;
	int tags[5];
} words_of_c[] = {
    {"struct ", {DW_TAG_structure_type, DW_TAG_class_type}},
    {"class ", {DW_TAG_structure_type, DW_TAG_class_type}},
    {"union ", {DW_TAG_union_type}},
    {"enum ", {DW_TAG_enumeration_type}},
    {"", {DW_TAG_typedef, DW_TAG_base_type, DW_TAG_class_type, DW_TAG_structure_type}},
};

int fsc_dwarf_named(struct fsc_elf *e, const char *name, struct fsc_types *types,
		    const struct fsc_type **ret, struct fsc_err *err)
{
	struct search s = {0};

	for (size_t i = 0; !s.tags && i < sizeof(words_of_c) / sizeof(words_of_c[0]); i++) {
		size_t n = strlen(words_of_c[i].word);

		if (strncmp(name, words_of_c[i].word, n))
			continue;
		s.name = name + n;
		s.tags = words_of_c[i].tags;
	}
	return search_file(e, &s, types, ret, err);
}

int fsc_dwarf_enum_of(struct fsc_elf *e, const char *enumerator, struct fsc_types *types,
		      const struct fsc_type **ret, struct fsc_err *err)
{
	static const int enums[] = {DW_TAG_enumeration_type, 0};
	struct search s = {.name = enumerator, .tags = enums, .enumerator = true};

	return search_file(e, &s, types, ret, err);
}
