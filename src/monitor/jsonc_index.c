/* The index of a document: a walk over strict JSON that records where each value is, and reports
 * syntax errors. The content of strings and numbers is left to jansson. */
#include "monitor/jsonc.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct walk {
	struct fsc_jsonc *doc;
	size_t at;
	unsigned depth;
};

static int index_value(struct walk *w, size_t key, uint32_t *ret_node, struct fsc_err *err);

/* Skips spaces; the next byte, 0 at the end. */
static char next_char(struct walk *w)
{
	const char *s = w->doc->json;

	while (w->at < w->doc->n && s[w->at] && strchr(" \t\r\n", s[w->at]))
		w->at++;
	return w->at < w->doc->n ? s[w->at] : '\0';
}

/* "...expected here, not 'x'". */
static int expected_error(struct walk *w, const char *what, struct fsc_err *err)
{
	const unsigned char c = (unsigned char)next_char(w);

	if (w->at >= w->doc->n)
		return fsc_jsonc_err(w->doc, w->at, err, "the file ends where %s is expected",
				     what);
	if (c > ' ' && c < 0x7f)
		return fsc_jsonc_err(w->doc, w->at, err, "expected %s, not '%c'", what, c);
	return fsc_jsonc_err(w->doc, w->at, err, "expected %s, not the byte 0x%02x", what, c);
}

static int skip_string(struct walk *w, struct fsc_err *err)
{
	const char *s = w->doc->json;
	const size_t start = w->at;

	for (w->at++; w->at < w->doc->n && s[w->at] != '"' && s[w->at] != '\n'; w->at++)
		if (s[w->at] == '\\' && w->at + 1 < w->doc->n && s[w->at + 1] != '\n')
			w->at++;
	if (w->at >= w->doc->n || s[w->at] != '"')
		return fsc_jsonc_err(w->doc, start, err, "this string has no closing quote");
	w->at++;
	return 0;
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("+-._", c));
}

/* A number, true, false or null. */
static int skip_word(struct walk *w, struct fsc_err *err)
{
	const char *s = w->doc->json;

	if (!in_word(next_char(w)))
		return expected_error(w, "a value", err);
	while (w->at < w->doc->n && in_word(s[w->at]))
		w->at++;
	return 0;
}

static int key_of_member(struct walk *w, size_t *ret_key, struct fsc_err *err)
{
	int rc;

	if (next_char(w) != '"')
		return expected_error(w, "a name in quotes", err);
	*ret_key = w->at;
	rc = skip_string(w, err);
	if (rc)
		return rc;
	if (next_char(w) != ':')
		return expected_error(w, "':'", err);
	w->at++;
	return 0;
}

/* The members of an object or an array, up to its closing bracket. */
static int index_members(struct walk *w, uint32_t node, char close, struct fsc_err *err)
{
	uint32_t last = 0, now = 0;

	w->at++;
	if (next_char(w) == close) {
		w->at++;
		return 0;
	}
	for (;;) {
		size_t key = SIZE_MAX;
		int rc = close == '}' ? key_of_member(w, &key, err) : 0;

		if (!rc)
			rc = index_value(w, key, &now, err);
		if (rc)
			return rc;
		if (last)
			FSC_AT(struct fsc_jsonc_node, &w->doc->nodes, last)->next = now;
		else
			FSC_AT(struct fsc_jsonc_node, &w->doc->nodes, node)->first = now;
		last = now;
		if (next_char(w) == close) {
			w->at++;
			return 0;
		}
		if (next_char(w) != ',')
			return expected_error(w, close == '}' ? "',' or '}'" : "',' or ']'", err);
		w->at++;
	}
}

/* key: offset of its key, SIZE_MAX for none. */
static int index_value(struct walk *w, size_t key, uint32_t *ret_node, struct fsc_err *err)
{
	const char c = next_char(w);
	struct fsc_jsonc_node *n = fsc_vec_push(&w->doc->nodes);
	int rc;

	if (!n)
		return fsc_err_nomem(err);
	*ret_node = (uint32_t)(w->doc->nodes.n - 1);
	n->value = (uint32_t)w->at;
	n->key = key == SIZE_MAX ? n->value : (uint32_t)key;
	if (c == '"')
		return skip_string(w, err);
	if (c != '{' && c != '[')
		return skip_word(w, err);
	if (w->depth == FSC_JSONC_DEEPEST)
		return fsc_jsonc_err(w->doc, w->at, err, "brackets are nested more than %d deep",
				     FSC_JSONC_DEEPEST);
	w->depth++;
	rc = index_members(w, *ret_node, (char)(c == '{' ? '}' : ']'), err);
	w->depth--;
	return rc;
}

int fsc_jsonc_index(struct fsc_jsonc *d, struct fsc_err *err)
{
	struct walk w = {.doc = d};
	uint32_t root;
	int rc = index_value(&w, SIZE_MAX, &root, err);

	if (rc)
		return rc;
	next_char(&w);
	if (w.at < d->n)
		return expected_error(&w, "the end of the file", err);
	return 0;
}
