/* JSON, written into a buffer one value at a time. Commas come by themselves: what the buffer ends
 * with says whether one is due, so that any function can add its part of an object. A value has the
 * key it is a member by, or NULL where it is an item of a list. Keys are written as they are. */
#ifndef FSC_BASE_JSON_H
#define FSC_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* An object or a list: '{' and '}', or '[' and ']'. */
void fsc_json_begin(struct fsc_buf *b, const char *key, char open);
/* An object that is a line of its own, with its first member, "type". */
void fsc_json_line(struct fsc_buf *b, const char *type);

/* Escaped as fsc_fmt_json() does; NULL is null. */
void fsc_json_string(struct fsc_buf *b, const char *key, const char *value);
/* With _if, here and below: nothing is written where there is no value, which is NULL, 0, false,
 * an empty list or an empty text. */
void fsc_json_string_if(struct fsc_buf *b, const char *key, const char *value);
void fsc_json_uint_if(struct fsc_buf *b, const char *key, uint64_t value);
void fsc_json_bool_if(struct fsc_buf *b, const char *key, bool value);
void fsc_json_strings_if(struct fsc_buf *b, const char *key, const char *const *values, size_t n);
/* The text of another buffer, which is released; its failure becomes that of b. */
void fsc_json_buf(struct fsc_buf *b, const char *key, struct fsc_buf *text);
void fsc_json_buf_if(struct fsc_buf *b, const char *key, struct fsc_buf *text);
void fsc_json_uint(struct fsc_buf *b, const char *key, uint64_t value);
void fsc_json_int(struct fsc_buf *b, const char *key, int64_t value);
void fsc_json_bool(struct fsc_buf *b, const char *key, bool value);
/* With so many decimals; JSON has no infinity and no NaN, which are null. */
void fsc_json_real(struct fsc_buf *b, const char *key, double value, int decimals);
/* An address or a handle, as a string: not every reader keeps 64 bits of a number. */
void fsc_json_hex(struct fsc_buf *b, const char *key, uint64_t value);
/* Any other value, which the format makes JSON of: nothing is escaped. */
void fsc_json_printf(struct fsc_buf *b, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* What stands before a value, for one that is appended by other means. */
void fsc_json_key(struct fsc_buf *b, const char *key);

static inline void fsc_json_end(struct fsc_buf *b, char close)
{
	fsc_buf_putc(b, close);
}

static inline void fsc_json_line_end(struct fsc_buf *b)
{
	fsc_buf_puts(b, "}\n");
}

static inline void fsc_json_null(struct fsc_buf *b, const char *key)
{
	fsc_json_string(b, key, NULL);
}

#endif
