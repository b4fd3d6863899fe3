/* A script: its preamble (config, declarations, macros) and its action blocks. */
#include <string.h>

#include "lang/lang_priv.h"

bool fsc_parse_accept(struct fsc_lang *c, int token)
{
	if (c->token.kind != token)
		return false;
	fsc_lex_next(c);
	return true;
}

bool fsc_parse_word(struct fsc_lang *c, const char *word)
{
	if (c->token.kind != FSC_T_NAME || strcmp(c->token.text, word))
		return false;
	fsc_lex_next(c);
	return true;
}

const char *fsc_token_name(struct fsc_lang *c, const struct fsc_token *t)
{
	static const struct {
		int kind;
		const char *name;
	} names[] = {
	    {FSC_T_END, "the end of the script"},
	    {FSC_T_INT, "a number"},
	    {FSC_T_STRING, "a string"},
	    {FSC_T_POSITIONAL, "a parameter"},
	    {FSC_T_COUNT, "'$#'"},
	    {FSC_T_EQ, "'=='"},
	    {FSC_T_NE, "'!='"},
	    {FSC_T_LE, "'<='"},
	    {FSC_T_GE, "'>='"},
	    {FSC_T_SHL, "'<<'"},
	    {FSC_T_SHR, "'>>'"},
	    {FSC_T_AND, "'&&'"},
	    {FSC_T_OR, "'||'"},
	    {FSC_T_INC, "'++'"},
	    {FSC_T_DEC, "'--'"},
	    {FSC_T_ARROW, "'->'"},
	    {FSC_T_RANGE, "'..'"},
	    {FSC_T_ASSIGN_OP, "an assignment"},
	};

	if (t->kind == FSC_T_NAME || t->kind == FSC_T_VAR || t->kind == FSC_T_MAP)
		return fsc_zone_printf(&c->temp, "'%s'", t->text);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].kind == t->kind)
			return names[i].name;
	return fsc_zone_printf(&c->temp, "'%c'", t->kind);
}

void fsc_parse_expect(struct fsc_lang *c, int token, const char *what)
{
	if (!fsc_parse_accept(c, token))
		fsc_lang_fail(c, c->token.at, "%s is expected, not %s", what,
			      fsc_token_name(c, &c->token));
}

static const char *parse_name(struct fsc_lang *c, int kind, const char *what)
{
	const char *name = c->token.text;

	if (c->token.kind != kind)
		fsc_lang_fail(c, c->token.at, "%s is expected, not %s", what,
			      fsc_token_name(c, &c->token));
	fsc_lex_next(c);
	return name;
}

/* config = { stack_mode = perf; max_map_keys = 2 } */
static void parse_config(struct fsc_lang *c)
{
	fsc_parse_expect(c, '=', "'='");
	fsc_parse_expect(c, '{', "'{'");
	while (!fsc_parse_accept(c, '}')) {
		struct fsc_config_item *item;

		if (fsc_parse_accept(c, ';'))
			continue;
		item = fsc_zone_push(&c->temp, &c->configs);
		item->at = c->token.at;
		item->name = parse_name(c, FSC_T_NAME, "the name of a config variable");
		fsc_parse_expect(c, '=', "'=' and a value");
		item->is_number = c->token.kind == FSC_T_INT;
		item->is_text = c->token.kind == FSC_T_STRING;
		if (item->is_number)
			item->value =
			    fsc_zone_printf(c->keep, "%llu", (unsigned long long)c->token.value);
		else if (item->is_text || c->token.kind == FSC_T_NAME)
			item->value = c->token.text;
		else
			fsc_lang_fail(c, c->token.at, "a value is expected, not %s",
				      fsc_token_name(c, &c->token));
		item->at = fsc_loc_span(item->at, c->token.at);
		fsc_lex_next(c);
		if (c->token.kind != '}')
			fsc_parse_expect(c, ';', "';'");
	}
}

/* let @m = hash(100); */
static void parse_map_decl(struct fsc_lang *c)
{
	struct fsc_map_decl *d = fsc_zone_push(&c->temp, &c->map_decls);

	d->at = c->last;
	d->name = parse_name(c, FSC_T_MAP, "a map (@x)");
	fsc_parse_expect(c, '=', "'=' and a kind of map");
	d->kind = parse_name(c, FSC_T_NAME, "a kind of map (hash, lruhash, percpuhash, ...)");
	fsc_parse_expect(c, '(', "'(' and how many keys it may hold");
	if (c->token.kind == FSC_T_INT) {
		d->entries = c->token.value;
		fsc_lex_next(c);
	}
	fsc_parse_expect(c, ')', "')'");
	d->at = fsc_loc_span(d->at, c->last);
	if (c->token.kind)
		fsc_parse_expect(c, ';', "';'");
}

static void parse_macro(struct fsc_lang *c, bool is_function)
{
	struct fsc_macro *m = fsc_zone_push(&c->temp, &c->macros);
	struct fsc_macro made = {.is_function = is_function,
				 .at = c->token.at,
				 .params = FSC_VEC_INIT(struct fsc_macro_param)};
	size_t which = c->macros.n - 1;

	made.name = parse_name(c, FSC_T_NAME, "a name");
	fsc_parse_expect(c, '(', "'(' and the parameters");
	while (c->token.kind != ')') {
		struct fsc_macro_param *p = fsc_zone_push(&c->temp, &made.params);

		p->name = c->token.text;
		if (c->token.kind != FSC_T_VAR && c->token.kind != FSC_T_MAP &&
		    c->token.kind != FSC_T_NAME)
			fsc_lang_fail(c, c->token.at, "a parameter is expected, not %s",
				      fsc_token_name(c, &c->token));
		fsc_lex_next(c);
		if (fsc_parse_accept(c, ':'))
			p->ref = fsc_parse_typeref(c);
		if (!fsc_parse_accept(c, ','))
			break;
	}
	fsc_parse_expect(c, ')', "')'");
	if (is_function && fsc_parse_accept(c, ':'))
		made.ret = fsc_parse_typeref(c);
	made.body = fsc_parse_block(c, is_function ? NULL : &made.value);
	(void)m;
	*FSC_AT(struct fsc_macro, &c->macros, which) = made;
}

static bool at_begin(const char *text, const char *word)
{
	return !strcmp(text, word);
}

/* An attach point may be written "name=probe", which names it for nobody. */
static void parse_attach(struct fsc_lang *c, struct fsc_probe *p)
{
	struct fsc_attach_text *t = fsc_zone_push(&c->temp, &p->texts);
	const char *equals;

	*t = fsc_lex_attach(c);
	if (!*t->text)
		fsc_lang_fail(c, t->at, "a probe is expected, not %s",
			      fsc_token_name(c, &c->token));
	equals = strchr(t->text, '=');
	if (equals && !strpbrk(fsc_zone_copy(&c->temp, t->text, (size_t)(equals - t->text)), ":/"))
		t->text = equals + 1;
}

static void parse_probe(struct fsc_lang *c)
{
	struct fsc_probe *p = FSC_NEW(&c->temp, struct fsc_probe);

	p->at = c->token.at;
	p->texts = FSC_VEC_INIT(struct fsc_attach_text);
	p->number = c->n_probes++;
	parse_attach(c, p);
	while (c->token.kind == ',') {
		fsc_lex_next(c);
		if (c->token.kind == '{' || c->token.kind == '/')
			break;
		parse_attach(c, p);
	}
	p->at = fsc_loc_span(p->at, c->last);
	if (c->token.kind == '/') {
		fsc_lex_next(c);
		c->in_predicate = true;
		p->predicate = fsc_parse_expr(c);
		c->in_predicate = false;
		fsc_parse_expect(c, '/', "'/' behind the predicate");
	}
	if (c->token.kind != '{')
		fsc_lang_fail(c, c->token.at, "'{' and what to do are expected, not %s",
			      fsc_token_name(c, &c->token));
	p->body = fsc_parse_block(c, NULL);
	*c->probes_end = p;
	c->probes_end = &p->next;
}

/* Whether "struct x {" begins here, and not an attach point that happens to be called so. */
static bool is_cdecl(struct fsc_lang *c)
{
	static const char *const words[] = {"struct", "union", "enum", "typedef"};
	int next;

	for (size_t i = 0; i < 4; i++)
		if (at_begin(c->token.text, words[i])) {
			next = fsc_lex_peek(c);
			return next != ':';
		}
	return false;
}

static bool parse_preamble(struct fsc_lang *c)
{
	int next;

	if (c->token.kind != FSC_T_NAME)
		return false;
	next = fsc_lex_peek(c);
	if (is_cdecl(c))
		fsc_parse_cdecl(c);
	else if (next == '=' && fsc_parse_word(c, "config"))
		parse_config(c);
	else if (next == '@' && fsc_parse_word(c, "let"))
		parse_map_decl(c);
	else if (next != ':' && fsc_parse_word(c, "macro"))
		parse_macro(c, false);
	else if (next != ':' && (fsc_parse_word(c, "fn") || fsc_parse_word(c, "fun")))
		parse_macro(c, true);
	else if (next == '"' && !strcmp(c->token.text, "import"))
		fsc_lang_fail_hint(c, c->token.at, "write what it has into the script",
				   "'import' is not supported");
	else
		return false;
	return true;
}

void fsc_parse(struct fsc_lang *c)
{
	c->macros = FSC_VEC_INIT(struct fsc_macro);
	c->map_decls = FSC_VEC_INIT(struct fsc_map_decl);
	c->configs = FSC_VEC_INIT(struct fsc_config_item);
	c->probes_end = &c->probes;
	fsc_lex_start(c);
	while (c->token.kind != FSC_T_END) {
		if (c->token.kind == ';')
			fsc_lex_next(c);
		else if (!parse_preamble(c))
			parse_probe(c);
	}
	if (!c->probes)
		fsc_lang_fail(c, (struct fsc_loc){0}, "the script has no probe");
}
