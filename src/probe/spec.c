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
static void unescape(char *s)
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
		return fsc_err_usage(err, "an empty probe names nothing; try 'vfs_*' or c:malloc");
	s.text = strdup(text);
	s.kind = find_kind(copy, &body);
	rc = s.text ? s.kind->parse(body, regex, &s, err) : fsc_err_nomem(err);
	if (rc) {
		fsc_spec_release(&s);
		return rc;
	}
	unescape(s.binary);
	unescape(s.group);
	unescape(s.file);
	if (!regex)
		unescape(s.function);
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
