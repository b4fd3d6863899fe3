/* Replaces what is not strict JSON by spaces: comments, trailing commas, dots. Offsets and lines
 * stay the same. Other errors are left for the index to find. */
#include "monitor/jsonc.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct blanker {
	struct fsc_jsonc *doc;
	size_t at;
	char last;	 /* the last token before spaces and comments: 'v' for a value's end */
	size_t comma;	 /* offset of the last comma, if nothing has followed it */
	bool after_dots; /* since `last` */
};

static void blank_range(struct fsc_jsonc *d, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (d->json[i] != '\n' && d->json[i] != '\r')
			d->json[i] = ' ';
}

static int line_comment(struct blanker *b)
{
	const char *start = b->doc->json + b->at;
	const char *end = memchr(start, '\n', b->doc->n - b->at);
	size_t to = end ? (size_t)(end - b->doc->json) : b->doc->n;

	blank_range(b->doc, b->at, to);
	b->at = to;
	return 0;
}

static int block_comment(struct blanker *b, struct fsc_err *err)
{
	const char *start = b->doc->json + b->at;
	const char *end = memmem(start + 2, b->doc->n - b->at - 2, "*/", 2);
	size_t to;

	if (!end)
		return fsc_jsonc_err(b->doc, b->at, err, "this comment has no end (\"*/\")");
	to = (size_t)(end - b->doc->json) + 2;
	blank_range(b->doc, b->at, to);
	b->at = to;
	return 0;
}

/* Moves past a string, or past the line if it is not closed. */
static void skip_text(struct blanker *b)
{
	const char *s = b->doc->json;

	for (b->at++; b->at < b->doc->n && s[b->at] != '"' && s[b->at] != '\n'; b->at++)
		if (s[b->at] == '\\' && b->at + 1 < b->doc->n && s[b->at + 1] != '\n')
			b->at++;
	if (b->at < b->doc->n)
		b->at++;
	b->last = 'v';
	b->after_dots = false;
}

/* How many dots there are, if a member could be here. */
static size_t dots_here(const struct blanker *b)
{
	const char *s = b->doc->json + b->at;
	size_t n = 0;

	while (b->at + n < b->doc->n && s[n] == '.')
		n++;
	if (n < 3 || !b->last || b->last == ':')
		return 0;
	return b->at && isalnum((unsigned char)s[-1]) ? 0 : n;
}

static int note_dots(struct blanker *b, size_t n, struct fsc_err *err)
{
	unsigned *note = fsc_vec_push(&b->doc->dots);

	if (!note)
		return fsc_err_nomem(err);
	*note = fsc_jsonc_line(b->doc, b->at);
	blank_range(b->doc, b->at, b->at + n);
	b->at += n;
	b->after_dots = true;
	return 0;
}

/* A comma, a colon, a bracket, or a letter of a number or word. */
static void take_sign(struct blanker *b, char c)
{
	const bool opens = b->last == '{' || b->last == '[' || b->last == ',';

	if (c == ',' && b->after_dots && opens) {
		blank_range(b->doc, b->at, b->at + 1); /* "a, ..., b" */
		b->after_dots = false;
		b->at++;
		return;
	}
	if ((c == '}' || c == ']') && b->last == ',' && b->comma)
		blank_range(b->doc, b->comma, b->comma + 1);
	b->comma = c == ',' && b->last == 'v' ? b->at : 0;
	b->last = (char)(strchr("{[,:", c) ? c : 'v');
	b->after_dots = false;
	b->at++;
}

static int take_token(struct blanker *b, struct fsc_err *err)
{
	const char *s = b->doc->json + b->at;
	const char after = b->at + 1 < b->doc->n ? s[1] : '\0';
	size_t n;

	if (*s == '/' && after == '/')
		return line_comment(b);
	if (*s == '/' && after == '*')
		return block_comment(b, err);
	if (*s == '"') {
		skip_text(b);
		return 0;
	}
	n = *s == '.' ? dots_here(b) : 0;
	if (n)
		return note_dots(b, n, err);
	if (*s && strchr(" \t\r\n", *s))
		b->at++;
	else
		take_sign(b, *s ? *s : '?');
	return 0;
}

int fsc_jsonc_blank(struct fsc_jsonc *d, struct fsc_err *err)
{
	struct blanker b = {.doc = d};
	int rc = 0;

	if (d->n >= 3 && !memcmp(d->json, "\xef\xbb\xbf", 3))
		blank_range(d, 0, 3);
	while (!rc && b.at < d->n)
		rc = take_token(&b, err);
	return rc;
}
