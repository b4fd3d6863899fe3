/* C declarations in a script: struct, union, enum, typedef. Laid out as the C compiler of this
 * machine does, bit fields included. */
#include <string.h>

#include "lang/types_priv.h"

bool fsc_cdecl_is_typedef(struct fsc_lang *c, const char *name)
{
	for (size_t i = 0; i < c->ctypes->named.n; i++)
		if (!strcmp(FSC_AT(struct fsc_ctype, &c->ctypes->named, i)->name, name))
			return true;
	return false;
}

static void ctype_name(struct fsc_lang *c, const char *name, const struct fsc_vtype *type)
{
	*(struct fsc_ctype *)fsc_zone_push(&c->temp, &c->ctypes->named) =
	    (struct fsc_ctype){name, type};
}

static const struct fsc_vtype *cdecl_type(struct fsc_lang *c);

/* What a declarator adds to its type: pointers before the name, dimensions behind it. */
struct declarator {
	const char *name;
	const struct fsc_vtype *type;
	uint64_t bits;
	bool has_bits;
};

static uint64_t cdecl_number(struct fsc_lang *c)
{
	uint64_t v = c->token.value;
	struct fsc_cenumerator e;

	if (c->token.kind == FSC_T_NAME && fsc_vt_enumerator(c, c->token.text, &e))
		v = (uint64_t)e.value;
	else if (c->token.kind != FSC_T_INT)
		fsc_lang_fail(c, c->token.at, "a number is expected, not %s",
			      fsc_token_name(c, &c->token));
	fsc_lex_next(c);
	return v;
}

static void skip_qualifiers(struct fsc_lang *c)
{
	while (fsc_parse_word(c, "const") || fsc_parse_word(c, "volatile") ||
	       fsc_parse_word(c, "restrict"))
		;
}

static const struct fsc_vtype *declarator_dims(struct fsc_lang *c, const struct fsc_vtype *t)
{
	uint64_t dims[8];
	unsigned n = 0;

	while (fsc_parse_accept(c, '[')) {
		if (n == 8)
			fsc_lang_fail(c, c->token.at, "this array has too many dimensions");
		dims[n++] = c->token.kind == ']' ? 0 : cdecl_number(c);
		fsc_parse_expect(c, ']', "']'");
	}
	while (n-- > 0)
		t = t->kind == FSC_V_INT && t->is_char && dims[n] ? fsc_vt_string(c, dims[n])
								  : fsc_vt_array(c, t, dims[n]);
	return t;
}

/* (*name)(...): a pointer to a function. */
static void declarator_function(struct fsc_lang *c, struct declarator *d)
{
	unsigned depth = 1;

	fsc_lex_next(c);
	fsc_parse_expect(c, '*', "'*'");
	if (c->token.kind == FSC_T_NAME) {
		d->name = c->token.text;
		fsc_lex_next(c);
	}
	d->type = declarator_dims(c, fsc_vt_pointer(c, &fsc_vt_void, FSC_SPACE_NONE));
	fsc_parse_expect(c, ')', "')'");
	fsc_parse_expect(c, '(', "'('");
	for (; depth; fsc_lex_next(c)) {
		if (c->token.kind == FSC_T_END)
			fsc_lang_fail(c, c->token.at, "')' is expected");
		depth += c->token.kind == '(';
		depth -= c->token.kind == ')';
	}
}

static struct declarator cdecl_declarator(struct fsc_lang *c, const struct fsc_vtype *base)
{
	struct declarator d = {.type = base};

	skip_qualifiers(c);
	while (fsc_parse_accept(c, '*')) {
		d.type = fsc_vt_pointer(c, d.type, FSC_SPACE_NONE);
		skip_qualifiers(c);
	}
	if (c->token.kind == '(') {
		declarator_function(c, &d);
		return d;
	}
	if (c->token.kind == FSC_T_NAME) {
		d.name = c->token.text;
		fsc_lex_next(c);
	}
	d.type = declarator_dims(c, d.type);
	if (fsc_parse_accept(c, ':')) {
		d.has_bits = true;
		d.bits = cdecl_number(c);
	}
	return d;
}

/* Where the members go: in bits, so that bit fields share units. */
struct layout {
	uint64_t bits, largest;
	uint32_t align;
	bool is_union, packed;
};

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

static void layout_place(struct layout *l, struct fsc_vfield *f, const struct declarator *d)
{
	uint64_t unit = d->type->size * 8, align = l->packed ? 1 : d->type->align, at = l->bits;

	f->type = d->type;
	f->name = d->name;
	if (l->is_union)
		at = 0;
	if (d->has_bits && d->bits && unit) {
		if (at / unit != (at + d->bits - 1) / unit)
			at = round_up(at, unit);
		f->offset = at / unit * (unit / 8);
		f->bit_shift = (uint8_t)(at % unit);
		f->bits = (uint8_t)d->bits;
		at += d->bits;
	} else if (d->has_bits) {
		at = unit ? round_up(at, unit) : at;
	} else {
		at = round_up(at, 8 * align);
		f->offset = at / 8;
		at += unit;
	}
	l->bits = at;
	if (at > l->largest)
		l->largest = at;
	if (align > l->align)
		l->align = (uint32_t)align;
}

/* __attribute__((packed)) and others, any number of them; those that are not known change nothing.
 */
static bool cdecl_packed(struct fsc_lang *c)
{
	bool packed = false;

	while (fsc_parse_word(c, "__attribute__")) {
		unsigned depth = 0;

		do {
			if (c->token.kind == FSC_T_END)
				fsc_lang_fail(c, c->token.at, "')' is expected");
			depth += c->token.kind == '(';
			depth -= c->token.kind == ')';
			packed |= c->token.kind == FSC_T_NAME && strstr(c->token.text, "packed");
			fsc_lex_next(c);
		} while (depth);
	}
	return packed;
}

static void record_members(struct fsc_lang *c, struct fsc_vec *members)
{
	while (!fsc_parse_accept(c, '}')) {
		const struct fsc_vtype *base = cdecl_type(c);

		do {
			struct fsc_loc at = c->token.at;
			struct declarator d = cdecl_declarator(c, base);

			if (d.type->kind == FSC_V_RECORD && !fsc_vt_complete(c, d.type))
				fsc_lang_fail(c, at, "%s is not declared", fsc_vt_name(c, d.type));
			if (d.has_bits && d.bits > d.type->size * 8)
				fsc_lang_fail(c, at, "a bit field is wider than its type");
			if (d.type->kind == FSC_V_VOID || d.type->size > UINT32_MAX)
				fsc_lang_fail(c, at, "a member cannot be of this type");
			*(struct declarator *)fsc_zone_push(&c->temp, members) = d;
		} while (fsc_parse_accept(c, ','));
		if (c->token.kind != '}')
			fsc_parse_expect(c, ';', "';' behind a member");
	}
}

static void record_body(struct fsc_lang *c, struct fsc_vrecord *r)
{
	struct fsc_vec members = FSC_VEC_INIT(struct declarator);
	struct layout l = {.align = 1, .is_union = r->t.is_union};
	struct fsc_vfield *fields;
	size_t n = 0;

	fsc_lex_next(c);
	record_members(c, &members);
	l.packed |= cdecl_packed(c);
	fields = FSC_NEW_N(c->keep, struct fsc_vfield, members.n);
	for (size_t i = 0; i < members.n; i++) {
		const struct declarator *d = FSC_AT(struct declarator, &members, i);

		layout_place(&l, &fields[n], d);
		if (d->name || d->type->kind == FSC_V_RECORD)
			n++;
	}
	r->t.fields = fields;
	r->t.n_fields = n;
	r->t.align = l.align;
	r->t.size = round_up(round_up(l.largest, 8) / 8, l.align);
	r->t.is_complete = r->read = true;
}

static const struct fsc_vtype *cdecl_record(struct fsc_lang *c, const char *tag)
{
	struct fsc_vrecord *r = FSC_NEW(c->keep, struct fsc_vrecord);
	const struct fsc_vtype *known = NULL;
	const char *name = NULL;

	r->t = (struct fsc_vtype){.kind = FSC_V_RECORD, .align = 1, .is_union = *tag == 'u'};
	cdecl_packed(c);
	if (c->token.kind == FSC_T_NAME) {
		name = fsc_zone_printf(c->keep, "%s %s", tag, c->token.text);
		fsc_lex_next(c);
		for (size_t i = c->ctypes->named.n; i-- > 0 && !known;)
			if (!strcmp(FSC_AT(struct fsc_ctype, &c->ctypes->named, i)->name, name))
				known = FSC_AT(struct fsc_ctype, &c->ctypes->named, i)->type;
	}
	r->t.name = name;
	if (c->token.kind != '{' && known)
		return known;
	if (known && known->is_complete)
		fsc_lang_fail(c, c->last, "'%s' is declared twice", name);
	if (known)
		r = (struct fsc_vrecord *)(uintptr_t)known;
	else if (name && c->token.kind == '{')
		ctype_name(c, name, &r->t);
	if (c->token.kind == '{')
		record_body(c, r);
	else if (name && fsc_vt_named(c, name))
		return fsc_vt_named(c, name);
	return &r->t;
}

static const struct fsc_vtype *cdecl_enum(struct fsc_lang *c)
{
	struct fsc_vtype *t = fsc_vt_new(c, FSC_V_INT, 4, 4);
	struct fsc_vec all = FSC_VEC_INIT(struct fsc_venumerator);
	int64_t next = 0;

	if (c->token.kind == FSC_T_NAME) {
		t->name = fsc_zone_printf(c->keep, "enum %s", c->token.text);
		fsc_lex_next(c);
		if (c->token.kind != '{' && fsc_vt_named(c, t->name))
			return fsc_vt_named(c, t->name);
		ctype_name(c, t->name, t);
	}
	fsc_parse_expect(c, '{', "'{'");
	while (!fsc_parse_accept(c, '}')) {
		struct fsc_venumerator *e = fsc_zone_push(c->keep, &all);
		bool negative;

		if (c->token.kind != FSC_T_NAME)
			fsc_lang_fail(c, c->token.at,
				      "the name of an enumerator is expected, not %s",
				      fsc_token_name(c, &c->token));
		e->name = c->token.text;
		fsc_lex_next(c);
		if (fsc_parse_accept(c, '=')) {
			negative = fsc_parse_accept(c, '-');
			next = (int64_t)cdecl_number(c);
			next = negative ? -next : next;
		}
		e->value = next;
		t->is_signed |= next < 0;
		if (next > INT32_MAX && (next > UINT32_MAX || t->is_signed))
			t->size = t->align = 8;
		*(struct fsc_cenumerator *)fsc_zone_push(&c->temp, &c->ctypes->enumerators) =
		    (struct fsc_cenumerator){e->name, next, t};
		next++;
		if (c->token.kind != '}')
			fsc_parse_expect(c, ',', "','");
	}
	t->enumerators = all.data;
	t->n_enumerators = all.n;
	return t;
}

static const struct fsc_vtype *cdecl_type(struct fsc_lang *c)
{
	struct fsc_typeref *ref;
	const struct fsc_vtype *t;

	skip_qualifiers(c);
	if (fsc_parse_word(c, "struct"))
		return cdecl_record(c, "struct");
	if (fsc_parse_word(c, "union"))
		return cdecl_record(c, "union");
	if (fsc_parse_word(c, "enum"))
		return cdecl_enum(c);
	/* fsc_parse_typeref() would take the declarator's stars. */
	ref = FSC_NEW(&c->temp, struct fsc_typeref);
	ref->at = c->token.at;
	ref->name = fsc_parse_type_name(c);
	t = fsc_vt_resolve(c, ref, FSC_SPACE_NONE);
	skip_qualifiers(c);
	return t;
}

void fsc_parse_cdecl(struct fsc_lang *c)
{
	bool is_typedef = fsc_parse_word(c, "typedef");
	const struct fsc_vtype *base = cdecl_type(c);

	while (is_typedef && c->token.kind != ';' && c->token.kind != FSC_T_END) {
		struct declarator d = cdecl_declarator(c, base);

		if (d.name)
			ctype_name(c, d.name, d.type);
		if (!fsc_parse_accept(c, ','))
			break;
	}
	fsc_parse_accept(c, ';');
}
