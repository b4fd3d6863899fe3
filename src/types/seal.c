/* From the tables of types/table.h to the types of types.h: numbers become pointers, after each was
 * checked, for the tables may come from a child that read a hostile file; typedefs and qualifiers
 * are resolved into what they name; parameters get their registers. */
#include "types/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "types/abi.h"

/* Typedefs of typedefs, arrays of arrays. */
#define CHAIN_MAX 32

struct seal {
	const struct fsc_typetab *tab;
	const struct fsc_abi *abi;
	const char *text;
	struct fsc_type *types; /* those of the table, then one reference to each parameter */
	size_t n_references;
	struct fsc_member *members;
	struct fsc_enumerator *enumerators;
	struct fsc_param *params;
};

static int damaged(struct fsc_err *err)
{
	return fsc_err_set(err, EBADMSG, "the types that were read make no sense");
}

static size_t rows(const struct seal *s, enum fsc_typetab_table table)
{
	return s->tab->table[table].n;
}

#define ROW(type, s, which, i) FSC_AT(const type, &(s)->tab->table[which], i)

static const struct fsc_flat_type *flat(const struct seal *s, uint32_t i)
{
	return ROW(struct fsc_flat_type, s, FSC_TAB_TYPES, i);
}

static const char *text_at(const struct seal *s, uint32_t at)
{
	return at ? s->text + at : NULL;
}

static bool within(uint32_t first, uint32_t n, size_t rows)
{
	return first <= rows && n <= rows - first;
}

/* ---- checks ---- */

static bool type_is_sane(const struct seal *s, const struct fsc_flat_type *t)
{
	size_t parts =
	    t->kind == FSC_TYPE_ENUM ? rows(s, FSC_TAB_ENUMERATORS) : rows(s, FSC_TAB_MEMBERS);

	return t->kind <= FSC_FLAT_ALIAS && t->name < rows(s, FSC_TAB_TEXT) &&
	       t->of < rows(s, FSC_TAB_TYPES) && within(t->first, t->n, parts);
}

static bool types_are_sane(const struct seal *s)
{
	if (rows(s, FSC_TAB_TYPES) <= FSC_FLAT_UNKNOWN)
		return false;
	for (uint32_t i = 0; i < rows(s, FSC_TAB_TYPES); i++)
		if (!type_is_sane(s, flat(s, i)))
			return false;
	for (size_t i = 0; i < rows(s, FSC_TAB_MEMBERS); i++) {
		const struct fsc_flat_member *m =
		    ROW(struct fsc_flat_member, s, FSC_TAB_MEMBERS, i);

		if (m->name >= rows(s, FSC_TAB_TEXT) || m->type >= rows(s, FSC_TAB_TYPES))
			return false;
	}
	for (size_t i = 0; i < rows(s, FSC_TAB_ENUMERATORS); i++)
		if (ROW(struct fsc_flat_enumerator, s, FSC_TAB_ENUMERATORS, i)->name >=
		    rows(s, FSC_TAB_TEXT))
			return false;
	return true;
}

/* Each parameter belongs to one function at most: there is room for one reference to each. */
static bool signatures_are_sane(const struct seal *s)
{
	uint64_t used = 0;

	for (size_t i = 0; i < rows(s, FSC_TAB_PARAMS); i++) {
		const struct fsc_flat_param *p = ROW(struct fsc_flat_param, s, FSC_TAB_PARAMS, i);

		if (p->name >= rows(s, FSC_TAB_TEXT) || p->type >= rows(s, FSC_TAB_TYPES))
			return false;
	}
	for (size_t i = 0; i < rows(s, FSC_TAB_SIGS); i++) {
		const struct fsc_flat_sig *g = ROW(struct fsc_flat_sig, s, FSC_TAB_SIGS, i);

		if (g->name >= rows(s, FSC_TAB_TEXT) || g->ret >= rows(s, FSC_TAB_TYPES) ||
		    !within(g->first, g->n, rows(s, FSC_TAB_PARAMS)))
			return false;
		used += g->n;
	}
	return used <= rows(s, FSC_TAB_PARAMS);
}

static bool text_is_sane(const struct seal *s)
{
	size_t n = rows(s, FSC_TAB_TEXT);
	const char *all = s->tab->table[FSC_TAB_TEXT].data;

	return n && !all[0] && !all[n - 1];
}

/* ---- types ---- */

static uint64_t size_of(const struct seal *s, uint32_t id)
{
	uint64_t n = 1;

	for (int i = 0; i < CHAIN_MAX; i++) {
		const struct fsc_flat_type *t = flat(s, id);

		if (t->kind == FSC_TYPE_ARRAY && !t->size) {
			if (__builtin_mul_overflow(n, t->count, &n))
				return 0;
		} else if (t->kind != FSC_FLAT_ALIAS) {
			return __builtin_mul_overflow(n, t->size, &n) ? 0 : n;
		}
		id = t->of;
	}
	return 0;
}

/* A type without its typedefs and qualifiers. */
static struct fsc_flat_type resolve_type(const struct seal *s, uint32_t id, bool *ret_named)
{
	uint16_t is_const = 0;
	uint32_t name = 0;

	for (int i = 0; i < CHAIN_MAX; i++) {
		struct fsc_flat_type t = *flat(s, id);

		if (t.kind != FSC_FLAT_ALIAS) {
			*ret_named = name != 0;
			t.name = name ? name : t.name;
			t.flags |= is_const;
			return t;
		}
		name = name ? name : t.name; /* the outermost is what the source says */
		is_const |= t.flags & FSC_FLAT_CONST;
		id = t.of;
	}
	*ret_named = false;
	return *flat(s, FSC_FLAT_UNKNOWN);
}

static void make_type(struct seal *s, uint32_t id)
{
	bool named, is_enum;
	struct fsc_flat_type t = resolve_type(s, id, &named);

	is_enum = t.kind == FSC_TYPE_ENUM;
	s->types[id] = (struct fsc_type){
	    .kind = t.kind,
	    .is_signed = t.flags & FSC_FLAT_SIGNED,
	    .is_bool = t.flags & FSC_FLAT_BOOL,
	    .is_char = t.flags & FSC_FLAT_CHAR,
	    .is_const = t.flags & FSC_FLAT_CONST,
	    .is_tagged = t.flags & FSC_FLAT_TAGGED,
	    .is_reference = t.flags & FSC_FLAT_REFERENCE,
	    .is_nontrivial = t.flags & FSC_FLAT_NONTRIVIAL,
	    .is_complete = t.flags & FSC_FLAT_COMPLETE,
	    .is_named = named,
	    .name = text_at(s, t.name),
	    .size = t.kind == FSC_TYPE_ARRAY ? size_of(s, id) : t.size,
	    .to = t.kind == FSC_TYPE_POINTER || t.kind == FSC_TYPE_ARRAY ? &s->types[t.of] : NULL,
	    .n = t.count,
	    .members = s->members + t.first,
	    .n_members = t.kind == FSC_TYPE_STRUCT || t.kind == FSC_TYPE_UNION ? t.n : 0,
	    .enumerators = s->enumerators + t.first,
	    .n_enumerators = is_enum ? t.n : 0,
	};
	if (!s->types[id].n_members)
		s->types[id].members = NULL;
	if (!s->types[id].n_enumerators)
		s->types[id].enumerators = NULL;
}

static void make_member(struct seal *s, size_t i)
{
	const struct fsc_flat_member *m = ROW(struct fsc_flat_member, s, FSC_TAB_MEMBERS, i);

	s->members[i] = (struct fsc_member){
	    .name = text_at(s, m->name),
	    .type = &s->types[m->type],
	    .offset_bits = m->offset_bits,
	    .size_bits = m->size_bits ? m->size_bits : s->types[m->type].size * 8,
	    .bitfield = m->size_bits != 0,
	};
}

static void make_types(struct seal *s)
{
	for (uint32_t i = 0; i < rows(s, FSC_TAB_TYPES); i++)
		make_type(s, i);
	for (size_t i = 0; i < rows(s, FSC_TAB_MEMBERS); i++)
		make_member(s, i);
	for (size_t i = 0; i < rows(s, FSC_TAB_ENUMERATORS); i++) {
		const struct fsc_flat_enumerator *e =
		    ROW(struct fsc_flat_enumerator, s, FSC_TAB_ENUMERATORS, i);
		const char *name = text_at(s, e->name);

		s->enumerators[i] =
		    (struct fsc_enumerator){.name = name ? name : "?", .value = e->value};
	}
}

/* ---- signatures ---- */

/* A pointer to type, as the source does not write it. */
static const struct fsc_type *reference_to(struct seal *s, const struct fsc_type *type)
{
	struct fsc_type *t = &s->types[rows(s, FSC_TAB_TYPES) + s->n_references++];

	*t = (struct fsc_type){
	    .kind = FSC_TYPE_POINTER, .is_reference = true, .size = sizeof(uint64_t), .to = type};
	return t;
}

/* Compilers change functions that are not called from outside: parameters are removed, others
 * move up. Then only what DWARF says about each parameter is known. */
static bool is_changed(const struct fsc_flat_param *said, const struct fsc_param *params, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool in_reach = said[i].place <= FSC_ARG_MAX || said[i].place == FSC_PLACE_NOWHERE;

		if (said[i].place != FSC_PLACE_UNSAID && in_reach && said[i].place != params[i].arg)
			return true;
	}
	return false;
}

static void take_said(const struct fsc_flat_param *said, struct fsc_param *params, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool there = said[i].place != FSC_PLACE_UNSAID && said[i].place <= FSC_ARG_MAX &&
			     params[i].type->size <= sizeof(uint64_t);

		params[i].arg = there ? said[i].place : 0;
		params[i].n_arg = there;
	}
}

static void make_params(struct seal *s, const struct fsc_flat_sig *g)
{
	const struct fsc_flat_param *said = ROW(struct fsc_flat_param, s, FSC_TAB_PARAMS, g->first);
	struct fsc_param *params = s->params + g->first;

	for (uint32_t i = 0; i < g->n; i++) {
		const struct fsc_type *type = &s->types[said[i].type];
		bool aggregate = type->kind == FSC_TYPE_STRUCT || type->kind == FSC_TYPE_UNION;

		if (aggregate && (said[i].reference || fsc_abi_by_reference(s->abi, type)))
			type = reference_to(s, type);
		params[i] = (struct fsc_param){.name = text_at(s, said[i].name), .type = type};
	}
	fsc_abi_place(s->abi, &s->types[g->ret], params, g->n);
	if (g->own_rules || is_changed(said, params, g->n))
		take_said(said, params, g->n);
}

static void make_signatures(struct seal *s, struct fsc_signature *ret, size_t n)
{
	for (size_t i = 0; i < rows(s, FSC_TAB_SIGS); i++) {
		const struct fsc_flat_sig *g = ROW(struct fsc_flat_sig, s, FSC_TAB_SIGS, i);

		if (g->key >= n || ret[g->key].found)
			continue;
		if (g->n)
			make_params(s, g);
		ret[g->key] = (struct fsc_signature){
		    .found = true,
		    .name = text_at(s, g->name),
		    .params = s->params + g->first,
		    .n_params = g->n,
		    .ret = &s->types[g->ret],
		    .ret_readable = fsc_abi_returns(s->abi, &s->types[g->ret]),
		    .variadic = g->variadic,
		    .go = g->go,
		};
	}
}

/* n elements owned by types; NULL only if out of memory. */
static void *alloc_kept(struct fsc_types *types, size_t n, size_t size)
{
	void **place = fsc_vec_push(&types->blobs);

	return place ? *place = calloc(n + 1, size) : NULL;
}

int fsc_typetab_seal(const struct fsc_typetab *t, struct fsc_types *types,
		     struct fsc_signature *ret, size_t n, struct fsc_err *err)
{
	struct seal s = {.tab = t, .abi = fsc_abi_own};
	char *names;

	for (size_t i = 0; i < n; i++)
		ret[i] = (struct fsc_signature){0};
	if (!text_is_sane(&s) || !types_are_sane(&s) || !signatures_are_sane(&s))
		return damaged(err);
	s.text = names = alloc_kept(types, rows(&s, FSC_TAB_TEXT), 1);
	s.types =
	    alloc_kept(types, rows(&s, FSC_TAB_TYPES) + rows(&s, FSC_TAB_PARAMS), sizeof(*s.types));
	s.members = alloc_kept(types, rows(&s, FSC_TAB_MEMBERS), sizeof(*s.members));
	s.enumerators = alloc_kept(types, rows(&s, FSC_TAB_ENUMERATORS), sizeof(*s.enumerators));
	s.params = alloc_kept(types, rows(&s, FSC_TAB_PARAMS), sizeof(*s.params));
	if (!names || !s.types || !s.members || !s.enumerators || !s.params)
		return fsc_err_nomem(err);
	memcpy(names, t->table[FSC_TAB_TEXT].data, rows(&s, FSC_TAB_TEXT));
	make_types(&s);
	make_signatures(&s, ret, n);
	return 0;
}
