/* Names against patterns. Demangling is the expensive part, so most mangled names are ruled out
 * before. */
#include "probe/match.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sym/demangle.h"

/* Words that a mangled name abbreviates, so their absence proves nothing. */
static bool is_abbreviated(const char *s, size_t n)
{
	static const char *const words[] = {
	    "std",	     "string",	      "basic_string",	"allocator", "operator",  "ostream",
	    "istream",	     "iostream",      "char_traits",	"unsigned",  "signed",	  "const",
	    "volatile",	     "char",	      "short",		"long",	     "double",	  "float",
	    "bool",	     "void",	      "wchar_t",	"anonymous", "namespace", "lambda",
	    "basic_ostream", "basic_istream", "basic_iostream", "usize",     "isize",	  "impl",
	    "nullptr_t",     "decltype",      "typename",	"template",  "thunk",	  "virtual",
	    "guard",	     "variable",      "vtable",		"typeinfo",  "closure",	  "clone",
	    "delete",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == n && !strncmp(words[i], s, n))
			return true;
	return n < 4;
}

/* The longest plain word of a glob: in Itanium and Rust mangling every identifier stands in full at
 * least once, so most names are ruled out without being demangled. */
static void find_literal(struct fsc_matcher *m)
{
	const char *s = m->pattern.text;
	size_t best = 0;

	m->literal[0] = '\0';
	if (m->pattern.is_regex || strpbrk(s, "[\\~$"))
		return;
	while (*s) {
		size_t n = 0;

		while (isalnum((unsigned char)s[n]) || s[n] == '_')
			n++;
		if (n > best && n < sizeof(m->literal) && !is_abbreviated(s, n)) {
			memcpy(m->literal, s, n);
			m->literal[n] = '\0';
			best = n;
		}
		s += n ? n : 1;
	}
}

/* Names have brackets and stars of their own: operator[], os.(*File).Read, Sort[int]. */
static bool match_text(const struct fsc_matcher *m, const char *name)
{
	return fsc_pattern_match(&m->pattern, name) ||
	       (!m->pattern.is_regex && !strcmp(m->pattern.text, name));
}

static int match_demangled(const struct fsc_matcher *m, const char *name)
{
	if (!fsc_demangle_is_mangled(name) || (m->literal[0] && !strstr(name, m->literal)))
		return 0;
	for (int params = 0; params <= 1; params++) {
		FSC_AUTO(fsc_freep) char *d = fsc_demangle(name, params);

		if (d && match_text(m, d))
			return 1;
		if (!d && errno == ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

static bool match_version(const struct fsc_matcher *m, const struct fsc_sym *s)
{
	char full[400];

	if (!m->versioned || !s->version)
		return false;
	snprintf(full, sizeof(full), "%s@%s", s->name, s->version);
	if (fsc_pattern_match(&m->pattern, full))
		return true;
	snprintf(full, sizeof(full), "%s@@%s", s->name, s->version);
	return s->version_default && fsc_pattern_match(&m->pattern, full);
}

/* The name of the function that a compiler's clone was made of: treat_file of treat_file.part.0.
 * False: it is none. */
static bool copy_plain(const char *name, char *to, size_t n)
{
	static const char *const kinds[] = {".part.", ".constprop.", ".isra.", ".lto_priv.",
					    ".llvm."};
	const char *end = NULL;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const char *at = strstr(name, kinds[i]);

		if (at && (!end || at < end))
			end = at;
	}
	return end && end > name && snprintf(to, n, "%.*s", (int)(end - name), name) < (int)n;
}

int fsc_matcher_match(const struct fsc_matcher *m, const struct fsc_sym *s)
{
	char plain[400];

	/* Compilers move unlikely code out of line under a name of its own; it is not a function
	 * and must be named explicitly. Demangled, it has the function's name. */
	if (strstr(s->name, ".cold") && !strstr(m->pattern.text, ".cold"))
		return 0;
	if (match_text(m, s->name) || match_version(m, s))
		return 1;
	if (copy_plain(s->name, plain, sizeof(plain)) && match_text(m, plain))
		return 1;
	return match_demangled(m, s->name);
}

char *fsc_match_display(const struct fsc_sym *s)
{
	char full[400];
	char *d = fsc_demangle(s->name, true);

	if (!d && errno == ENOMEM)
		return NULL;
	if (d || s->version_default || !s->version)
		return d ? d : strdup(s->name);
	snprintf(full, sizeof(full), "%s@%s", s->name, s->version);
	return strdup(full);
}

int fsc_matcher_init(struct fsc_matcher *m, const char *text, bool regex, struct fsc_err *err)
{
	int rc = fsc_pattern_init(&m->pattern, text, regex, err);

	if (rc)
		return rc;
	m->versioned = regex || strchr(text, '@');
	find_literal(m);
	return 0;
}

void fsc_matcher_release(struct fsc_matcher *m)
{
	fsc_pattern_release(&m->pattern);
}
