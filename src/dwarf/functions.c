/* The functions of a file and their parameters, from DWARF: units are skipped by their ranges,
 * so that one function costs one unit's tree, and many functions of a file one pass. Runs in a
 * child (contain.h); the parent gets tables (types/table.h). What the types are: types.c. */
#include "dwarf/signatures.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "types/abi.h"
#include "dwarf/debuginfo.h"
#include "dwarf/signatures_priv.h"

#define DEPTH_MAX 64
#define TIME_MAX  (20 * 1000000000ull)
/* DIEs between two checks of the clock. */
#define PATIENCE   4096
#define PARAMS_MAX 255

struct wanted {
	uint64_t addr;
	bool found;
};

struct search {
	const struct fsc_image *image;
	struct wanted *wanted; /* by address, each once */
	size_t n, n_found;
	unsigned depth; /* of types */
	struct fsc_typetab tab;
	uint64_t deadline;
	unsigned seen;
	bool late;
};

static struct wanted *find_wanted(const struct search *s, uint64_t addr)
{
	struct wanted key = {.addr = addr};

	return bsearch(&key, s->wanted, s->n, sizeof(key), fsc_compare_addresses);
}

static bool is_over(struct search *s)
{
	if (s->seen++ % PATIENCE == 0 && fsc_clock_mono() > s->deadline)
		s->late = true;
	return s->late || s->tab.failed || s->n_found == s->n;
}

/* ---- parameters ---- */

/* Where an expression says the parameter is at the function's first instruction. */
static void take_place(const Dwarf_Op *ops, size_t n, bool go, struct fsc_flat_param *p)
{
	if (go) {
		if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
			p->place = (uint8_t)fsc_abi_go_dwarf_reg(ops[0].atom - DW_OP_reg0);
		return;
	}
	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		p->place = (uint8_t)fsc_abi_dwarf_reg(ops[0].atom - DW_OP_reg0);
	/* In memory that an argument register points to. */
	if (n == 1 && ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31 && !ops[0].number) {
		p->place = (uint8_t)fsc_abi_dwarf_reg(ops[0].atom - DW_OP_breg0);
		p->reference = p->place != FSC_PLACE_UNSAID;
	}
	/* Unoptimised: the reference was put into the frame. */
	if (n == 2 && ops[0].atom == DW_OP_fbreg && ops[1].atom == DW_OP_deref)
		p->reference = true;
}

/* One function: its instance in the code, and the copy its parameters are listed in, which is
 * another DIE where the function was also inlined or cloned. */
struct instance {
	Dwarf_Die *die;
	uint64_t entry;
	bool copied; /* the list is not die's own */
	bool go;     /* a function of Go */
	bool closed; /* not called from outside, so the compiler may have changed its parameters */
};

/* die: of the instance. */
static void read_place(const struct instance *in, Dwarf_Die *die, struct fsc_flat_param *p)
{
	bool located = dwarf_hasattr(die, DW_AT_location) > 0;
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_hasattr(die, DW_AT_const_value) > 0 || (in->closed && !located))
		p->place = FSC_PLACE_NOWHERE;
	if (located && dwarf_attr(die, DW_AT_location, &attr) &&
	    dwarf_getlocation_addr(&attr, in->entry, &ops, &n, 1) == 1)
		take_place(ops, n, in->go, p);
}

/* The DIE that stands for a listed parameter in the instance itself. */
static bool find_own(const struct instance *in, const Dwarf_Die *listed, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Die from;

	if (!fsc_die_child(in->die, ret))
		return false;
	do {
		if (dwarf_tag(ret) == DW_TAG_formal_parameter &&
		    dwarf_attr(ret, DW_AT_abstract_origin, &attr) &&
		    dwarf_formref_die(&attr, &from) && from.addr == listed->addr)
			return true;
	} while (fsc_die_next(ret));
	return false;
}

/* Go lists what a function returns among its parameters. */
static bool is_result(Dwarf_Die *listed)
{
	Dwarf_Attribute attr;
	bool flag = false;

	return dwarf_attr(listed, DW_AT_variable_parameter, &attr) &&
	       !dwarf_formflag(&attr, &flag) && flag;
}

static void read_param(struct search *s, const struct instance *in, Dwarf_Die *listed,
		       struct fsc_flat_sig *sig)
{
	bool artificial = dwarf_hasattr_integrate(listed, DW_AT_artificial) > 0;
	const char *name = dwarf_diename(listed);
	struct fsc_flat_param p = {0}, *place;
	Dwarf_Die own = *listed;

	if (in->go && is_result(listed))
		return;
	if (in->copied && !find_own(in, listed, &own)) {
		if (artificial)
			return; /* a constructor's flags, which only some instances take */
		p.place = FSC_PLACE_NOWHERE;
	} else {
		read_place(in, &own, &p);
	}
	p.name = fsc_typetab_text(&s->tab, !name && artificial && !sig->n ? "this" : name);
	p.type = fsc_dwarf_type_of(&s->tab, listed, false);
	place = fsc_typetab_push(&s->tab, FSC_TAB_PARAMS);
	if (!place)
		return;
	*place = p;
	sig->n++;
}

static void read_params(struct search *s, const struct instance *in, Dwarf_Die *list,
			struct fsc_flat_sig *sig)
{
	Dwarf_Die at;

	if (!fsc_die_child(list, &at))
		return;
	do {
		int tag = dwarf_tag(&at);

		if (tag == DW_TAG_formal_parameter)
			read_param(s, in, &at, sig);
		sig->variadic |= tag == DW_TAG_unspecified_parameters;
	} while (sig->n < PARAMS_MAX && fsc_die_next(&at));
}

static void read_signature(struct search *s, Dwarf_Die *function, uint64_t entry, uint32_t key)
{
	struct fsc_flat_sig sig = {.key = key, .own_rules = fsc_dwarf_lang(function).own_rules};
	struct instance in = {
	    .die = function, .entry = entry, .go = fsc_dwarf_lang(function).code == DW_LANG_Go};
	struct fsc_flat_sig *place;
	Dwarf_Attribute attr;
	Dwarf_Die list = *function, origin;

	/* The instance may have its parameters in another order than the source. */
	in.copied =
	    dwarf_attr(function, DW_AT_abstract_origin, &attr) && dwarf_formref_die(&attr, &origin);
	if (in.copied)
		list = origin;
	sig.go = in.go;
	in.closed = in.copied || dwarf_hasattr_integrate(function, DW_AT_external) <= 0;
	sig.name = fsc_typetab_text(&s->tab, dwarf_diename(function));
	sig.ret = fsc_dwarf_type_of(&s->tab, function, false);
	sig.first = (uint32_t)s->tab.table[FSC_TAB_PARAMS].n;
	read_params(s, &in, &list, &sig);
	place = fsc_typetab_push(&s->tab, FSC_TAB_SIGS);
	if (place)
		*place = sig;
}

/* ---- functions ---- */

/* Where it begins; a function in two parts is entered in the first. */
static bool entry_of(Dwarf_Die *function, uint64_t *ret)
{
	Dwarf_Addr addr, base, end;

	if (dwarf_lowpc(function, &addr) && dwarf_ranges(function, 0, &base, &addr, &end) <= 0)
		return false;
	*ret = addr;
	return true;
}

static void visit_function(struct search *s, Dwarf_Die *function)
{
	struct wanted *w;
	uint64_t entry;

	if (!entry_of(function, &entry))
		return;
	w = find_wanted(s, entry);
	if (!w || w->found)
		return;
	w->found = true;
	s->n_found++;
	read_signature(s, function, entry, (uint32_t)(w - s->wanted));
}

static void walk_functions(struct search *s, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || !fsc_die_child(parent, &die))
		return;
	do {
		if (dwarf_tag(&die) == DW_TAG_subprogram)
			visit_function(s, &die);
		else if (fsc_die_nests_functions(&die))
			walk_functions(s, &die, depth + 1);
	} while (!is_over(s) && fsc_die_next(&die));
}

static bool has_wanted(const struct search *s, Dwarf_Die *unit)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(unit, at, &base, &start, &end)) > 0) {
		size_t i = fsc_first_from(s->wanted, s->n, sizeof(*s->wanted), start);

		if (i < s->n && s->wanted[i].addr < end)
			return true;
	}
	return false;
}

static void search_units(struct search *s, Dwarf *dwarf)
{
	Dwarf_Off at = 0, next;
	size_t header;

	while (!is_over(s) && !dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL) &&
	       next > at) {
		Dwarf_Die unit;

		/* Units of the assembler have functions without parameters. */
		if (dwarf_offdie(dwarf, at + header, &unit) &&
		    dwarf_tag(&unit) == DW_TAG_compile_unit &&
		    dwarf_srclang(&unit) != DW_LANG_Mips_Assembler && has_wanted(s, &unit))
			walk_functions(s, &unit, 0);
		at = next;
	}
}

/* The whole search, inside fsc_contain(). */
static int search_in_child(void *arg, struct fsc_vec *words, struct fsc_err *err)
{
	FSC_AUTO(fsc_debug_info_close) struct fsc_debug_info d = {0};
	struct search *s = arg;
	int rc = fsc_typetab_init(&s->tab, err);

	s->deadline = fsc_clock_mono() + TIME_MAX;
	if (!rc)
		rc = fsc_debug_info_open(s->image, &d, err);
	if (!rc)
		search_units(s, d.dwarf);
	if (!rc)
		rc = fsc_typetab_read(&s->tab, s->depth, fsc_dwarf_type_read, &s->tab, err);
	if (!rc)
		rc = fsc_typetab_pack(&s->tab, words, err);
	fsc_typetab_release(&s->tab);
	if (!rc && s->late)
		rc = fsc_err_set(err, ETIME,
				 "the debug information of '%s' is too large to search completely",
				 s->image->path);
	return rc;
}

/* ---- outside the child ---- */

static void search_release(struct search *s)
{
	free(s->wanted);
}

static int collect_wanted(struct search *s, const uint64_t *addrs, size_t n, struct fsc_err *err)
{
	s->wanted = calloc(n + 1, sizeof(*s->wanted));
	if (!s->wanted)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < n; i++)
		s->wanted[i].addr = addrs[i];
	qsort(s->wanted, n, sizeof(*s->wanted), fsc_compare_addresses);
	for (size_t i = 0; i < n; i++) {
		if (!s->n || s->wanted[s->n - 1].addr != s->wanted[i].addr)
			s->wanted[s->n++] = s->wanted[i];
	}
	return 0;
}

/* Copies the child's results; several requests may share one address. */
static int deliver(const struct search *s, const struct fsc_vec *words, const uint64_t *addrs,
		   size_t n, struct fsc_types *types, struct fsc_signature *ret,
		   struct fsc_err *err)
{
	FSC_AUTO(fsc_typetab_release) struct fsc_typetab tab = {0};
	FSC_AUTO(fsc_freep) struct fsc_signature *found = calloc(s->n + 1, sizeof(*found));
	int rc;

	if (!found)
		return fsc_err_nomem(err);
	rc = fsc_typetab_unpack(words, &tab, err);
	if (!rc)
		rc = fsc_typetab_seal(&tab, types, found, s->n, err);
	for (size_t i = 0; !rc && i < n; i++)
		ret[i] = found[find_wanted(s, addrs[i]) - s->wanted];
	return rc;
}

int fsc_dwarf_signatures(struct fsc_elf *e, const uint64_t *addrs, size_t n,
			 struct fsc_types *types, struct fsc_signature *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec words = FSC_VEC_INIT(uint64_t);
	FSC_AUTO(search_release) struct search s = {.depth = types->depth};
	int rc, failed;

	for (size_t i = 0; i < n; i++)
		ret[i] = (struct fsc_signature){0};
	rc = fsc_debug_info_find(e, ".debug_info", &s.image, err);
	if (!rc)
		rc = collect_wanted(&s, addrs, n, err);
	if (rc)
		return rc;
	rc = fsc_debug_info_contain(s.image, search_in_child, &s, &words, err);
	if (rc && rc != -ETIME)
		return rc;
	failed = deliver(&s, &words, addrs, n, types, ret, err);
	return failed ? failed : rc;
}

int fsc_dwarf_signature(struct fsc_elf *e, uint64_t addr, struct fsc_types *types,
			struct fsc_signature *ret, struct fsc_err *err)
{
	int rc = fsc_dwarf_signatures(e, &addr, 1, types, ret, err);

	if (rc || ret->found)
		return rc;
	return fsc_err_set(err, ENOENT, "the debug information of '%s' has no function at 0x%llx",
			   fsc_elf_image(e)->path, (unsigned long long)addr);
}
