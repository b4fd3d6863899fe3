/* Lines that begin with '#': "#!" and #include are skipped (types come from the kernel's and the
 * program's own type information), #define NAME VALUE is kept, conditions know what is defined. */
#include <ctype.h>
#include <string.h>

#include "lang/lang_priv.h"

const struct fsc_define *fsc_lex_define(struct fsc_lang *c, const char *name)
{
	for (size_t i = c->defines.n; i-- > 0;) {
		const struct fsc_define *d = FSC_AT(struct fsc_define, &c->defines, i);

		if (!strcmp(d->name, name))
			return d->text ? d : NULL;
	}
	return NULL;
}

/* A line as the preprocessor sees it: without its newline, with those that a backslash joins. */
struct line {
	const char *s, *end;
};

static struct line line_take(struct fsc_lexer *l)
{
	struct line ret = {.s = l->s};

	while (l->s < l->end && (*l->s != '\n' || l->s[-1] == '\\')) {
		if (*l->s == '\n') {
			l->line++;
			l->column = 0;
		}
		l->column++;
		l->s++;
	}
	ret.end = l->s;
	return ret;
}

static void line_blanks(struct line *l)
{
	while (l->s < l->end && (isspace((unsigned char)*l->s) || *l->s == '\\'))
		l->s++;
}

static const char *line_word(struct fsc_lang *c, struct line *l)
{
	const char *begin;

	line_blanks(l);
	for (begin = l->s; l->s < l->end && (isalnum((unsigned char)*l->s) || *l->s == '_');)
		l->s++;
	return fsc_zone_copy(&c->temp, begin, (size_t)(l->s - begin));
}

static void directive_define(struct fsc_lang *c, struct line *l, struct fsc_loc at)
{
	const char *name = line_word(c, l);
	struct fsc_define *d;
	char *text;

	if (!*name)
		fsc_lang_fail(c, at, "#define needs a name");
	d = fsc_zone_push(&c->temp, &c->defines);
	*d = (struct fsc_define){.name = name, .at = at, .has_args = l->s < l->end && *l->s == '('};
	line_blanks(l);
	text = fsc_zone_copy(c->keep, l->s, (size_t)(l->end - l->s));
	d->n = (size_t)(l->end - l->s);
	for (char *s = text; s < text + d->n; s++)
		if (*s == '\\' && s[1] == '\n')
			*s = s[1] = ' ';
	d->text = text;
}

static bool is_defined(struct fsc_lang *c, const char *name)
{
	return fsc_lex_define(c, name) || !strcmp(name, "BPFTRACE_HAVE_BTF");
}

/* "defined(X)", "!defined X", a number; what else there may be counts as false. */
static bool condition_holds(struct fsc_lang *c, struct line *l)
{
	bool not = false, holds;
	const char *word;

	line_blanks(l);
	for (; l->s < l->end && *l->s == '!'; l->s++, line_blanks(l))
		not = !not ;
	word = line_word(c, l);
	if (!strcmp(word, "defined")) {
		line_blanks(l);
		if (l->s < l->end && *l->s == '(')
			l->s++;
		holds = is_defined(c, line_word(c, l));
	} else {
		holds = isdigit((unsigned char)*word) && strcmp(word, "0");
	}
	return holds != not ;
}

static void directive_if(struct fsc_lexer *l, bool holds)
{
	l->depth++;
	if (l->skipping || !holds)
		l->skipping++;
}

static void directive_else(struct fsc_lang *c, struct fsc_lexer *l, bool ends, struct fsc_loc at)
{
	if (!l->depth)
		fsc_lang_fail(c, at, "there is no #if for this");
	if (ends) {
		l->depth--;
		if (l->skipping)
			l->skipping--;
	} else if (l->skipping <= 1) {
		l->skipping = !l->skipping;
	}
}

static void directive_one(struct fsc_lang *c, struct fsc_lexer *l)
{
	struct fsc_loc at = {l->line, l->column, l->line, l->column + 1};
	struct line line = line_take(l);
	const char *word;

	line.s++;
	if (line.s < line.end && *line.s == '!')
		return;
	word = line_word(c, &line);
	if (!strcmp(word, "ifdef"))
		directive_if(l, is_defined(c, line_word(c, &line)));
	else if (!strcmp(word, "ifndef"))
		directive_if(l, !is_defined(c, line_word(c, &line)));
	else if (!strcmp(word, "if"))
		directive_if(l, condition_holds(c, &line));
	else if (!strcmp(word, "else") || !strcmp(word, "elif"))
		directive_else(c, l, false, at);
	else if (!strcmp(word, "endif"))
		directive_else(c, l, true, at);
	else if (!strcmp(word, "define") && !l->skipping)
		directive_define(c, &line, at);
	else if (!strcmp(word, "undef") && !l->skipping)
		*(struct fsc_define *)fsc_zone_push(&c->temp, &c->defines) =
		    (struct fsc_define){.name = line_word(c, &line)};
	else if (!l->skipping && *word && strcmp(word, "include") && strcmp(word, "pragma"))
		fsc_lang_fail(c, at, "#%s is not supported", word);
}

void fsc_lex_directive(struct fsc_lang *c, struct fsc_lexer *l)
{
	directive_one(c, l);
	while (l->skipping && l->s < l->end) {
		if (*l->s == '\n') {
			l->s++;
			l->line++;
			l->column = 1;
		}
		for (; l->s < l->end && (*l->s == ' ' || *l->s == '\t'); l->s++)
			l->column++;
		if (l->s < l->end && *l->s == '#')
			directive_one(c, l);
		else
			line_take(l);
	}
}
