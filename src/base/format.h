/* A printf-like format split into conversions, so that it can be checked before the run and filled
 * with numbers later. It knows nothing of calls or expressions: the caller binds a value, a text
 * and a name to each conversion. */
#ifndef FSC_BASE_FORMAT_H
#define FSC_BASE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

struct fsc_type;

enum { FSC_FORMAT_NONE = -1 };

/* Text, and the conversion behind it. */
struct fsc_conv {
	char *before; /* owned */
	char kind;    /* s c d u x X o p, K and U for symbols; 0: only text, the last piece */
	char length;  /* 0, 'h', 'H' for hh, 'l' for everything of 64 bits */
	char flags[6];
	int width, precision; /* FSC_FORMAT_NONE where not given */
	unsigned column;      /* where it was written, from 1 */
	/* bound by the caller */
	char *name;		     /* of what is shown, owned; NULL: an expression */
	int value;		     /* index of its value; FSC_FORMAT_NONE: the task's name */
	int string;		     /* index of its text; FSC_FORMAT_NONE: a number */
	bool quoted;		     /* its text stands in quotes */
	const struct fsc_type *type; /* says more than the number does; borrowed; NULL: nothing */
};

struct fsc_format {
	struct fsc_vec convs; /* struct fsc_conv */
	bool custom;	      /* the user wrote it */
	bool bare;	      /* and asked for nothing to follow it */
};

/* Parses n bytes of raw text with C's escapes; column is where they stand in what the
 * user typed. Refuses, as usage errors, what is no conversion of printf, and those that make no
 * sense here (%n, %f, '*'). The caller owns ret (fsc_format_release), also after a failure. */
int fsc_format_parse(const char *raw, size_t n, unsigned column, struct fsc_format *ret,
		     struct fsc_err *err);
/* Adds "NAME=" and a conversion, a space before it unless it is the first. NULL when out of memory.
 */
struct fsc_conv *fsc_format_push_named(struct fsc_format *f, const char *name, char kind,
				       char length);
void fsc_format_release(struct fsc_format *f);
/* How many conversions there are. */
size_t fsc_format_count(const struct fsc_format *f);

/* The number cut to the conversion's length, extended as its sign says. */
int64_t fsc_conv_number(const struct fsc_conv *c, uint64_t v);
bool fsc_conv_signed(const struct fsc_conv *c);
/* Appends a number (d u x X o p c) with flags, width and precision; put writes the character of a
 * %c, escaped for where it goes. */
void fsc_conv_put_number(const struct fsc_conv *c, uint64_t v,
			 void (*put)(struct fsc_buf *b, const char *s), struct fsc_buf *b);
/* Appends a text with width and precision; put writes it, escaped for where it goes. */
void fsc_conv_put_text(const struct fsc_conv *c, const char *text,
		       void (*put)(struct fsc_buf *b, const char *s), struct fsc_buf *b);
/* One character of a C string or character literal at *s (not past end), escapes undone; moves *s
 * on. A backslash before anything else stands for itself. */
char fsc_format_char(const char **s, const char *end);

#endif
