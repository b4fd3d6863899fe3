/* A document from its bytes to its values, and places in it. Blanking and the index have files of
 * their own. */
#include "monitor/jsonc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/* ---- files ---- */

/* Reads up to cap bytes; the file may grow or shrink meanwhile. */
static int read_all(int fd, char *to, size_t cap, size_t *ret)
{
	ssize_t n;

	*ret = 0;
	while (*ret < cap && (n = read(fd, to + *ret, cap - *ret)) != 0) {
		if (n < 0 && errno != EINTR)
			return -errno;
		*ret += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int fsc_jsonc_slurp(const char *path, const char *what, char **ret, size_t *ret_n,
		    struct fsc_err *err)
{
	/* Non-blocking: opening a FIFO would wait for a writer. */
	FSC_AUTO(fsc_closep)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FSC_AUTO(fsc_freep) char *text = NULL;
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st))
		return fsc_err_sys(err, errno, "cannot open %s '%s'", what, path);
	if (!S_ISREG(st.st_mode))
		return fsc_err_set(err, EINVAL, "'%s' is %s, not a file, so it is not %s", path,
				   S_ISDIR(st.st_mode)	  ? "a directory"
				   : S_ISFIFO(st.st_mode) ? "a FIFO"
							  : "a device",
				   what);
	text = malloc(FSC_JSONC_LONGEST + 2);
	if (!text)
		return fsc_err_nomem(err);
	rc = read_all(fd, text, FSC_JSONC_LONGEST + 1, ret_n);
	if (rc)
		return fsc_err_sys(err, -rc, "cannot read %s '%s'", what, path);
	text[*ret_n] = '\0';
	*ret = fsc_take(&text);
	return 0;
}

/* ---- places ---- */

static int find_lines(struct fsc_jsonc *d, struct fsc_err *err)
{
	const char *line = d->text, *const end = d->text + d->n;

	if (d->n >= 3 && !memcmp(line, "\xef\xbb\xbf", 3))
		line += 3;
	for (;;) {
		uint32_t *start = fsc_vec_push(&d->lines);
		const char *newline = memchr(line, '\n', (size_t)(end - line));

		if (!start)
			return fsc_err_nomem(err);
		*start = (uint32_t)(line - d->text);
		if (!newline)
			return 0;
		line = newline + 1;
	}
}

unsigned fsc_jsonc_line(const struct fsc_jsonc *d, size_t at)
{
	size_t low = 0, high = d->lines.n; /* the line is in [low, high) */

	while (high - low > 1) {
		const size_t mid = (low + high) / 2;

		if (*FSC_AT(uint32_t, &d->lines, mid) <= at)
			low = mid;
		else
			high = mid;
	}
	return (unsigned)low + 1;
}

void fsc_jsonc_where(const struct fsc_jsonc *d, size_t at, unsigned *ret_line, unsigned *ret_column)
{
	*ret_line = fsc_jsonc_line(d, at);
	*ret_column = 1;
	for (size_t i = *FSC_AT(uint32_t, &d->lines, *ret_line - 1); i < at && i < d->n; i++)
		*ret_column +=
		    ((unsigned char)d->text[i] & 0xc0) != 0x80; /* not inside a character */
}

int fsc_jsonc_err(const struct fsc_jsonc *d, size_t at, struct fsc_err *err, const char *fmt, ...)
{
	char why[480];
	unsigned line, column;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	fsc_jsonc_where(d, at, &line, &column);
	return fsc_err_set(err, EINVAL, "%s:%u:%u: %s", d->path, line, column, why);
}

/* ---- parsing ---- */

/* jansson stops after the offending token; errors point at its start. */
static size_t start_before(const struct fsc_jsonc *d, size_t at)
{
	size_t best = 0;

	for (size_t i = 0; i < d->nodes.n; i++) {
		const struct fsc_jsonc_node *n = FSC_AT(struct fsc_jsonc_node, &d->nodes, i);

		if (n->key < at && n->key > best)
			best = n->key;
		if (n->value < at && n->value > best)
			best = n->value;
	}
	return best;
}

/* How much of jansson's message is shown: not the content of a string, it may be a secret. */
static int shown_length(const struct fsc_jsonc *d, size_t at, const json_error_t *why)
{
	const char *near = strstr(why->text, " near ");

	return near && d->text[at] == '"' ? (int)(near - why->text) : 120;
}

static int not_json(const struct fsc_jsonc *d, const json_error_t *why, struct fsc_err *err)
{
	const size_t stop = why->position > 0 ? (size_t)why->position : 0;
	const size_t at = start_before(d, stop);

	if (!why->text[0])
		return fsc_err_nomem(err); /* jansson sets no message in some places */
	switch (json_error_code(why)) {
	case json_error_out_of_memory:
		return fsc_err_nomem(err);
	case json_error_duplicate_key:
		return fsc_jsonc_err(d, at, err, "%.*s is given twice",
				     (int)(stop - at < 80 ? stop - at : 80), d->text + at);
	case json_error_numeric_overflow:
		return fsc_jsonc_err(d, at, err, "a number this large cannot be read");
	case json_error_invalid_utf8:
		return fsc_jsonc_err(d, stop, err, "this is not UTF-8");
	case json_error_null_character:
	case json_error_null_byte_in_key:
		return fsc_jsonc_err(d, at, err, "a string must not contain a NUL");
	default:
		return fsc_jsonc_err(d, at, err, "not JSON: %.*s", shown_length(d, at, why),
				     why->text);
	}
}

static int copy_text(struct fsc_jsonc *d, struct fsc_err *err)
{
	if (d->n > FSC_JSONC_LONGEST)
		return fsc_err_set(err, EFBIG, "'%s' is larger than the limit of %d bytes", d->path,
				   FSC_JSONC_LONGEST);
	d->json = malloc(d->n + 1);
	if (!d->json)
		return fsc_err_nomem(err);
	memcpy(d->json, d->text, d->n);
	d->json[d->n] = '\0';
	return 0;
}

int fsc_jsonc_parse(char *text, size_t n, const char *path, struct fsc_jsonc *ret,
		    struct fsc_err *err)
{
	json_error_t why;
	int rc;

	*ret = (struct fsc_jsonc){.path = path,
				  .text = text,
				  .n = n,
				  .nodes = FSC_VEC_INIT(struct fsc_jsonc_node),
				  .dots = FSC_VEC_INIT(unsigned),
				  .lines = FSC_VEC_INIT(uint32_t)};
	rc = copy_text(ret, err);
	if (!rc)
		rc = find_lines(ret, err);
	if (!rc)
		rc = fsc_jsonc_blank(ret, err);
	if (!rc)
		rc = fsc_jsonc_index(ret, err);
	if (rc)
		return rc;
	ret->root = json_loadb(ret->json, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
	return ret->root ? 0 : not_json(ret, &why, err);
}

void fsc_jsonc_release(struct fsc_jsonc *d)
{
	json_decref(d->root);
	fsc_vec_release(&d->nodes);
	fsc_vec_release(&d->dots);
	fsc_vec_release(&d->lines);
	free(d->json);
	free(d->text);
	*d = (struct fsc_jsonc){0};
}

/* ---- values ---- */

struct fsc_jsonc_value fsc_jsonc_root(const struct fsc_jsonc *d)
{
	return (struct fsc_jsonc_value){d->root, FSC_AT(struct fsc_jsonc_node, &d->nodes, 0)};
}

struct fsc_jsonc_walk fsc_jsonc_members(const struct fsc_jsonc *d, struct fsc_jsonc_value of)
{
	return (struct fsc_jsonc_walk){
	    .doc = d,
	    .of = of.json,
	    .iter = json_is_object(of.json) ? json_object_iter(of.json) : NULL,
	    .next = of.node->first,
	};
}

bool fsc_jsonc_next(struct fsc_jsonc_walk *w)
{
	if (!w->next)
		return false;
	w->value.node = FSC_AT(struct fsc_jsonc_node, &w->doc->nodes, w->next);
	w->next = w->value.node->next;
	if (!w->iter) {
		w->value.json = json_array_get(w->of, w->i++);
		return true;
	}
	w->key = json_object_iter_key(w->iter);
	w->value.json = json_object_iter_value(w->iter);
	w->iter = json_object_iter_next(w->of, w->iter);
	return true;
}

bool fsc_jsonc_find(const struct fsc_jsonc *d, const char *const *path, struct fsc_jsonc_value *ret)
{
	*ret = fsc_jsonc_root(d);
	for (; *path; path++) {
		struct fsc_jsonc_walk w = fsc_jsonc_members(d, *ret);

		do {
			if (!fsc_jsonc_next(&w))
				return false;
		} while (!w.key || strcmp(w.key, *path) != 0);
		*ret = w.value;
	}
	return true;
}
