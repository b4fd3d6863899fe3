/* The probe grammar: finds the kind by its prefix, hands the rest to the kind, and decides what a
 * text without prefix means.
 *
 *   NAME                     kernel function             LIB:NAME  /path:NAME    user function
 *   p::NAME  p:LIB:NAME      either, BCC's way           r:...                   at return
 *   PREFIX:...               a kind's own form           :NAME                   in the -p process
 *
 * "\:" is a colon that does not separate. */
#include "probe/spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "probe/kind.h"

/* Undoes "\:" in place; other backslashes belong to the pattern. */
static void unescape_colons(char *s)
{
	char *w = s;

	if (!s)
		return;
	for (; *s; s++) {
		if (*s == '\\' && s[1] == ':')
			s++;
		*w++ = *s;
	}
	*w = '\0';
}

static const struct fsc_kind *by_prefix(const char *text, size_t len)
{
	for (const struct fsc_kind *const *k = fsc_kinds; *k; k++)
		for (const char *const *p = (*k)->prefixes; *p; p++)
			if (strlen(*p) == len && !strncmp(*p, text, len))
				return *k;
	return NULL;
}

/* BCC's p and r: kernel where the library is left out, user otherwise. */
static const struct fsc_kind *by_letter(char letter, char *rest, char **ret_body)
{
	bool ret = letter == 'r';

	if (rest[0] == ':' && rest[1] != ':') {
		*ret_body = rest + 1;
		return ret ? &fsc_kind_kretprobe : &fsc_kind_kprobe;
	}
	*ret_body = rest;
	if (fsc_kind_next_colon(rest))
		return ret ? &fsc_kind_uretprobe : &fsc_kind_uprobe;
	return ret ? &fsc_kind_kretprobe : &fsc_kind_kprobe;
}

/* A text without a known prefix. */
static const struct fsc_kind *without_prefix(char *text)
{
	char *colon = fsc_kind_next_colon(text);

	if (!colon)
		return strchr(text, '/') ? &fsc_kind_uprobe : &fsc_kind_kprobe;
	return &fsc_kind_uprobe;
}

static const struct fsc_kind *find_kind(char *text, char **ret_body)
{
	char *colon = fsc_kind_next_colon(text);
	const struct fsc_kind *k;

	if (colon && colon == text + 1 && (text[0] == 'p' || text[0] == 'r'))
		return by_letter(text[0], colon + 1, ret_body);
	k = colon && colon[1] != ':' ? by_prefix(text, (size_t)(colon - text)) : NULL;
	if (!k && colon && colon[1] == ':' && colon[2] != ':')
		k = by_prefix(text, (size_t)(colon - text));
	if (k) {
		*ret_body = colon + 1;
		return k;
	}
	*ret_body = text;
	return without_prefix(text);
}

/* Probes of bpftrace that are no places in code, and what does their work. */
static const struct foreign {
	const char *name;
	const char *instead;
} foreign[] = {
    {"BEGIN", "a run begins when its probes are on: leave it out"},
    {"END", "a run reports at its end: leave it out"},
    {"interval", "give -i SECONDS to have a report at intervals"},
    {"profile", "it does not sample; use perf record -F"},
    {"software", "for page faults use t:exceptions:page_fault_*, for other events perf record -e"},
    {"hardware", "use perf stat -e or perf record -e for such events"},
    {"watchpoint", "use perf record -e mem:ADDRESS, or a debugger"},
    {"asyncwatchpoint", "use perf record -e mem:ADDRESS, or a debugger"},
    {"iter", "use bpftool iter"},
    {NULL, NULL},
};

static int refuse_foreign(const char *text, struct fsc_err *err)
{
	size_t n = strcspn(text, ":");

	for (const struct foreign *f = foreign; f->name; f++) {
		bool alone = isupper((unsigned char)f->name[0]); /* BEGIN and END take nothing */

		if (strlen(f->name) != n || strncmp(text, f->name, n) ||
		    (alone ? text[n] : text[n] != ':' || text[n + 1] == ':'))
			continue;
		fsc_err_usage(err, "'%s' is a probe of bpftrace that funcscope does not have",
			      text);
		return fsc_err_hint(err, "%s", f->instead);
	}
	return 0;
}

static bool is_prefixed(const char *text)
{
	size_t n = strcspn(text, ":");

	return text[n] == ':' && text[n + 1] != ':' && by_prefix(text, n);
}

/* Whether a comma can belong to a name: in a path, in brackets of any sort, and in C++'s
 * operator. open: how many brackets are. */
static bool is_in_name(const char *text, const char *comma, int open)
{
	static const char op[] = "operator";
	const char *slash = memchr(text, '/', (size_t)(comma - text));

	return open > 0 || (slash && !memchr(slash, ':', (size_t)(comma - slash))) ||
	       (comma - text >= (long)sizeof(op) - 1 &&
		!strncmp(comma - (sizeof(op) - 1), op, sizeof(op) - 1));
}

static int say_list(const char *text, const char *comma, struct fsc_err *err)
{
	const char *next = comma + 1 + strspn(comma + 1, " ");
	int n = (int)(comma - text), lib = 0;

	/* Behind "c:malloc," another function of c. */
	if (!strchr(next, ':'))
		for (int i = 0; i < n; i++)
			lib = text[i] == ':' ? i + 1 : lib;
	fsc_err_usage(err, "'%s' names several probes", text);
	return fsc_err_hint(err, "put a blank between them, not a comma: '%.*s' '%.*s%s'", n, text,
			    lib, text, next);
}

/* "kprobe:a,kprobe:b", as bpftrace takes it, "c:a,c:b", "a,b". A comma may belong to a name; one
 * that is followed by the prefix of a kind does not. */
static int refuse_list(const char *text, bool regex, struct fsc_err *err)
{
	int open = 0;

	for (const char *c = text; *c; c++) {
		open += strchr("([{<", *c) ? 1 : strchr(")]}>", *c) && open ? -1 : 0;
		if (*c == ',' && (is_prefixed(c + 1 + strspn(c + 1, " ")) ||
				  (!regex && !is_in_name(text, c, open))))
			return say_list(text, c, err);
	}
	return 0;
}

int fsc_spec_parse(const char *text, bool regex, bool own, struct fsc_spec *ret,
		   struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *copy = malloc(strlen(text) + 1);
	struct fsc_spec s = {.own = own};
	char *body;
	int rc;

	if (!copy)
		return fsc_err_nomem(err);
	memcpy(copy, text, strlen(text) + 1);
	if (!text[0])
		return fsc_err_usage(err, "the probe is empty; try 'vfs_*' or c:malloc");
	rc = refuse_foreign(text, err);
	if (!rc)
		rc = refuse_list(text, regex, err);
	if (rc)
		return rc;
	s.text = strdup(text);
	s.kind = find_kind(copy, &body);
	rc = s.text ? s.kind->parse(body, regex, &s, err) : fsc_err_nomem(err);
	if (rc) {
		fsc_spec_release(&s);
		return rc;
	}
	unescape_colons(s.binary);
	unescape_colons(s.group);
	unescape_colons(s.file);
	if (!regex)
		unescape_colons(s.function);
	*ret = s;
	return 0;
}

void fsc_spec_release(struct fsc_spec *s)
{
	free(s->text);
	free(s->binary);
	free(s->group);
	free(s->function);
	free(s->file);
	*s = (struct fsc_spec){0};
}
