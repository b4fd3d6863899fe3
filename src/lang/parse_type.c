/* Types as they are written in casts, sizeof and declarations of variables. */
#include <string.h>

#include "lang/types_priv.h"

static bool is_tag(const char *word)
{
	return !strcmp(word, "struct") || !strcmp(word, "union") || !strcmp(word, "enum");
}

static bool is_c_word(const char *word)
{
	static const char *const words[] = {"unsigned", "signed", "char",  "short",
					    "int",	"long",	  "const", "volatile"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i], word))
			return true;
	return false;
}

bool fsc_parse_is_type(struct fsc_lang *c)
{
	const char *word = c->token.text;

	return c->token.kind == FSC_T_NAME &&
	       (is_tag(word) || is_c_word(word) || fsc_vt_is_builtin_name(word) ||
		fsc_cdecl_is_typedef(c, word) || !strcmp(word, "typeof"));
}

/* "unsigned long int" and the like, in C's many orders. */
static const char *c_words(struct fsc_lang *c)
{
	bool is_unsigned = false, is_signed = false, is_char = false, is_short = false, any = false;
	unsigned longs = 0;

	for (; c->token.kind == FSC_T_NAME && is_c_word(c->token.text); fsc_lex_next(c)) {
		const char *word = c->token.text;

		is_unsigned |= !strcmp(word, "unsigned");
		is_signed |= !strcmp(word, "signed");
		is_char |= !strcmp(word, "char");
		is_short |= !strcmp(word, "short");
		longs += !strcmp(word, "long");
		any |= strcmp(word, "const") && strcmp(word, "volatile");
	}
	if (!any)
		return NULL;
	if (is_char)
		return is_unsigned ? "unsigned char" : is_signed ? "signed char" : "char";
	if (is_short)
		return is_unsigned ? "unsigned short" : "short";
	if (longs)
		return is_unsigned ? "unsigned long" : "long";
	return is_unsigned ? "unsigned int" : "int";
}

const char *fsc_parse_type_name(struct fsc_lang *c)
{
	const char *tag = c_words(c), *name;

	if (tag)
		return tag;
	if (c->token.kind != FSC_T_NAME)
		fsc_lang_fail(c, c->token.at, "a type is expected, not %s",
			      fsc_token_name(c, &c->token));
	name = c->token.text;
	fsc_lex_next(c);
	if (!is_tag(name))
		return name;
	tag = name;
	if (c->token.kind != FSC_T_NAME)
		fsc_lang_fail(c, c->token.at, "a name is expected behind '%s', not %s", tag,
			      fsc_token_name(c, &c->token));
	name = fsc_zone_printf(c->keep, "%s %s", tag, c->token.text);
	fsc_lex_next(c);
	return name;
}

static void type_dims(struct fsc_lang *c, struct fsc_typeref *ref)
{
	while (c->token.kind == '[') {
		fsc_lex_next(c);
		if (ref->n_dims == 4)
			fsc_lang_fail(c, c->token.at, "arrays have at most four dimensions");
		if (c->token.kind == FSC_T_INT) {
			ref->dims[ref->n_dims] = c->token.value;
			fsc_lex_next(c);
		} else {
			ref->open_dim = true;
		}
		ref->n_dims++;
		fsc_parse_expect(c, ']', "']'");
	}
}

struct fsc_typeref *fsc_parse_typeref(struct fsc_lang *c)
{
	struct fsc_typeref *ref = FSC_NEW(&c->temp, struct fsc_typeref);

	ref->at = c->token.at;
	if (c->token.kind == FSC_T_NAME && !strcmp(c->token.text, "typeof")) {
		fsc_lex_next(c);
		fsc_parse_expect(c, '(', "'(' behind typeof");
		if (fsc_parse_is_type(c))
			ref = fsc_parse_typeref(c);
		else
			ref->of = fsc_parse_expr(c);
		fsc_parse_expect(c, ')', "')'");
	} else {
		ref->name = fsc_parse_type_name(c);
	}
	while (c->token.kind == '*' || (c->token.kind == FSC_T_NAME && is_c_word(c->token.text))) {
		ref->pointers += c->token.kind == '*';
		fsc_lex_next(c);
	}
	type_dims(c, ref);
	ref->at = fsc_loc_span(ref->at, c->last);
	return ref;
}
