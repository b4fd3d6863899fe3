/* JSON as people write it by hand: with comments, trailing commas, and dots where a printed sample
 * leaves entries out. It is turned into strict JSON of the same length, so that offsets are the
 * same in both; jansson, which keeps no positions, then parses the values, and an index has the
 * position of each. */
#ifndef FSC_MONITOR_JSONC_H
#define FSC_MONITOR_JSONC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

enum { FSC_JSONC_LONGEST = 1 << 20, FSC_JSONC_DEEPEST = 16 };

/* Where a value is: offsets of its first byte and of its key. */
struct fsc_jsonc_node {
	uint32_t key, value; /* equal if it has no key */
	uint32_t first;	     /* its first member: an index in nodes, 0 for none */
	uint32_t next;	     /* the next member: an index, 0 for none */
};

struct fsc_jsonc {
	const char *path; /* for messages, borrowed */
	char *text;	  /* as it was written, n bytes */
	char *json;	  /* strict, as long */
	size_t n;
	json_t *root;
	struct fsc_vec nodes; /* struct fsc_jsonc_node; the first is the root's */
	struct fsc_vec dots;  /* unsigned: lines where dots stand for entries left out */
	struct fsc_vec lines; /* uint32_t: where each line begins */
};

/* A value and its position; both belong to the document. */
struct fsc_jsonc_value {
	json_t *json;
	const struct fsc_jsonc_node *node;
};

/* Reads a regular file of at most FSC_JSONC_LONGEST bytes to its end; never waits for a FIFO. The
 * caller frees *ret, which ends with a NUL beyond the n bytes. what names the file in errors: "the
 * configuration". */
int fsc_jsonc_slurp(const char *path, const char *what, char **ret, size_t *ret_n,
		    struct fsc_err *err);
/* Takes ownership of the text, also after a failure. Errors name file, line and column. The caller
 * releases ret, also after a failure. */
int fsc_jsonc_parse(char *text, size_t n, const char *path, struct fsc_jsonc *ret,
		    struct fsc_err *err);
void fsc_jsonc_release(struct fsc_jsonc *d);

/* The line a byte is in, from 1; cheap. */
unsigned fsc_jsonc_line(const struct fsc_jsonc *d, size_t at);
/* Line and column of a byte, both from 1; columns count characters. */
void fsc_jsonc_where(const struct fsc_jsonc *d, size_t at, unsigned *ret_line,
		     unsigned *ret_column);
/* fsc_err_set() with "FILE:LINE:COLUMN: " before the message. */
int fsc_jsonc_err(const struct fsc_jsonc *d, size_t at, struct fsc_err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

struct fsc_jsonc_value fsc_jsonc_root(const struct fsc_jsonc *d);
/* A walk over the members of an object or an array, in the order they were written in:
 *
 *	struct fsc_jsonc_walk w = fsc_jsonc_members(d, v);
 *	while (fsc_jsonc_next(&w)) ... w.key, w.value ...
 */
struct fsc_jsonc_walk {
	const struct fsc_jsonc *doc;
	json_t *of;
	void *iter; /* jansson's, of an object */
	size_t i;
	uint32_t next;
	const char *key; /* NULL in an array */
	struct fsc_jsonc_value value;
};

struct fsc_jsonc_walk fsc_jsonc_members(const struct fsc_jsonc *d, struct fsc_jsonc_value of);
bool fsc_jsonc_next(struct fsc_jsonc_walk *w);

/* The value at a path of keys, NULL-ended; false if there is none. */
bool fsc_jsonc_find(const struct fsc_jsonc *d, const char *const *path,
		    struct fsc_jsonc_value *ret);

/* ---- the parts, for fsc_jsonc_parse() ---- */

/* Blanks out what is not strict JSON, and notes the dots. */
int fsc_jsonc_blank(struct fsc_jsonc *d, struct fsc_err *err);
/* Finds every value, and syntax errors: a missing comma, an unterminated string. */
int fsc_jsonc_index(struct fsc_jsonc *d, struct fsc_err *err);

#endif
