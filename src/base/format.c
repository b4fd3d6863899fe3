/* Parsing formats and filling in values. The numbers are printed by the C library,
 * with a format made again from checked parts, never with the user's own text. */
#include "base/format.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { MAX_WIDTH = 1000 };

static int digit_value(char c, int base)
{
	int v = isdigit((unsigned char)c)    ? c - '0'
		: isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					     : base;

	return v < base ? v : -1;
}

/* Up to most digits of a base; the value's low byte. */
static char number_escape(const char **s, const char *end, int base, int most)
{
	unsigned v = 0;

	for (; most-- && *s < end && digit_value(**s, base) >= 0; (*s)++)
		v = v * (unsigned)base + (unsigned)digit_value(**s, base);
	return (char)v;
}

char fsc_format_char(const char **s, const char *end)
{
	static const char from[] = "ntrabfve\"'\\?", to[] = "\n\t\r\a\b\f\v\033\"'\\?";
	const char *known;
	char c = *(*s)++;

	if (c != '\\' || *s >= end)
		return c;
	known = strchr(from, **s);
	if (known && **s) {
		(*s)++;
		return to[known - from];
	}
	if (digit_value(**s, 8) >= 0)
		return number_escape(s, end, 8, 3);
	if (**s == 'x' && *s + 1 < end && digit_value((*s)[1], 16) >= 0) {
		(*s)++;
		return number_escape(s, end, 16, 2);
	}
	return c;
}

static int take_number(const char **s, const char *end, int *ret)
{
	int v = 0;

	for (; *s < end && isdigit((unsigned char)**s); (*s)++) {
		v = v * 10 + (**s - '0');
		if (v > MAX_WIDTH)
			return -1;
	}
	*ret = v;
	return 0;
}

static void take_flags(const char **s, const char *end, struct fsc_conv *c)
{
	size_t n = 0;

	for (; *s < end && strchr("-+ #0", **s) && **s; (*s)++)
		if (n < sizeof(c->flags) - 1 && !memchr(c->flags, **s, n))
			c->flags[n++] = **s;
}

static void take_length(const char **s, const char *end, struct fsc_conv *c)
{
	for (; *s < end && strchr("hlLqjzt", **s) && **s; (*s)++)
		c->length = **s != 'h' ? 'l' : c->length == 'h' ? 'H' : 'h';
}

static int refuse_conv(const struct fsc_conv *c, const char *from, size_t n, struct fsc_err *err)
{
	static const struct {
		const char *kinds, *why;
	} known[] = {
	    {"n", "writes to memory"},
	    {"fFeEgGaA", "is for floating point, which the kernel cannot compute with"},
	    {"*", "takes its width from an argument; write the width as a number"},
	};
	char kind = n ? from[n - 1] : '\0';

	for (size_t i = 0; kind && i < sizeof(known) / sizeof(known[0]); i++)
		if (strchr(known[i].kinds, kind))
			return fsc_err_usage(err, "column %u: the conversion '%%%.*s' %s",
					     c->column, (int)n, from, known[i].why);
	return fsc_err_usage(err,
			     "column %u: '%%%.*s' is not a conversion; expected one of %%s %%c %%d "
			     "%%u %%x %%o %%p %%K %%U, with l or h before the letter, or %%%%",
			     c->column, (int)(n > 8 ? 8 : n), from);
}

/* What follows a '%'. */
static int take_conv(const char **s, const char *end, struct fsc_conv *c, struct fsc_err *err)
{
	const char *from = *s;

	take_flags(s, end, c);
	if (take_number(s, end, &c->width))
		return fsc_err_usage(err, "column %u: a width is at most %d", c->column, MAX_WIDTH);
	if (!c->width)
		c->width = FSC_FORMAT_NONE;
	if (*s < end && **s == '.') {
		(*s)++;
		if (take_number(s, end, &c->precision))
			return fsc_err_usage(err, "column %u: a precision is at most %d", c->column,
					     MAX_WIDTH);
	}
	take_length(s, end, c);
	if (*s >= end || !**s || !strchr("scdiuxXopKU", **s))
		return refuse_conv(c, from, (size_t)(*s - from) + (*s < end), err);
	c->kind = *(*s)++;
	if (c->kind == 'i')
		c->kind = 'd';
	if (strchr("pKU", c->kind))
		c->length = 'l';
	return 0;
}

static struct fsc_conv *push_conv(struct fsc_format *f)
{
	struct fsc_conv *c;

	if (!f->convs.size)
		f->convs = FSC_VEC_INIT(struct fsc_conv);
	c = fsc_vec_push(&f->convs);
	if (c) {
		c->width = c->precision = FSC_FORMAT_NONE;
		c->value = c->string = FSC_FORMAT_NONE;
	}
	return c;
}

static int set_before(struct fsc_conv *c, struct fsc_buf *text, struct fsc_err *err)
{
	if (!fsc_buf_failed(text))
		c->before = strdup(fsc_buf_str(text));
	fsc_buf_clear(text);
	return c->before ? 0 : fsc_err_nomem(err);
}

int fsc_format_parse(const char *raw, size_t n, unsigned column, struct fsc_format *ret,
		     struct fsc_err *err)
{
	FSC_AUTO(fsc_buf_release) struct fsc_buf text = {0};
	const char *s = raw, *end = raw + n;
	int rc = 0;

	*ret = (struct fsc_format){.convs = FSC_VEC_INIT(struct fsc_conv), .custom = true};
	while (s < end && !rc) {
		struct fsc_conv *c;

		if (*s != '%' || (s + 1 < end && s[1] == '%')) {
			s += *s == '%';
			fsc_buf_putc(&text, fsc_format_char(&s, end));
			continue;
		}
		c = push_conv(ret);
		if (!c)
			return fsc_err_nomem(err);
		c->column = column + (unsigned)(s - raw);
		s++;
		rc = take_conv(&s, end, c, err);
		if (!rc)
			rc = set_before(c, &text, err);
	}
	if (rc || (!text.n && !text.failed))
		return rc;
	return push_conv(ret)
		   ? set_before(FSC_AT(struct fsc_conv, &ret->convs, ret->convs.n - 1), &text, err)
		   : fsc_err_nomem(err);
}

struct fsc_conv *fsc_format_push_named(struct fsc_format *f, const char *name, char kind,
				       char length)
{
	size_t first = f->convs.n;
	struct fsc_conv *c = push_conv(f);

	if (!c)
		return NULL;
	c->kind = kind;
	c->length = length;
	c->name = strdup(name);
	if (asprintf(&c->before, "%s%s=", first ? " " : "", name) < 0)
		c->before = NULL;
	return c->name && c->before ? c : NULL;
}

void fsc_format_release(struct fsc_format *f)
{
	for (size_t i = 0; i < f->convs.n; i++) {
		free(FSC_AT(struct fsc_conv, &f->convs, i)->before);
		free(FSC_AT(struct fsc_conv, &f->convs, i)->name);
	}
	if (f->convs.size)
		fsc_vec_release(&f->convs);
	*f = (struct fsc_format){0};
}

size_t fsc_format_count(const struct fsc_format *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->convs.n; i++)
		n += !!FSC_AT(struct fsc_conv, &f->convs, i)->kind;
	return n;
}

bool fsc_conv_signed(const struct fsc_conv *c)
{
	return c->kind == 'd' || c->kind == 'c';
}

int64_t fsc_conv_number(const struct fsc_conv *c, uint64_t v)
{
	unsigned bits = c->kind == 'c'	   ? 8
			: c->length == 'l' ? 64
			: c->length == 'h' ? 16
			: c->length == 'H' ? 8
					   : 32;

	v <<= 64 - bits;
	return fsc_conv_signed(c) ? (int64_t)v >> (64 - bits) : (int64_t)(v >> (64 - bits));
}

/* "%-08.3" and what follows, from the parts. */
static void rebuild_conv(const struct fsc_conv *c, const char *tail, char *out, size_t size)
{
	char width[8] = "", precision[8] = "";

	if (c->width != FSC_FORMAT_NONE)
		snprintf(width, sizeof(width), "%d", c->width);
	if (c->precision != FSC_FORMAT_NONE)
		snprintf(precision, sizeof(precision), ".%d", c->precision);
	snprintf(out, size, "%%%s%s%s%s", c->flags, width, precision, tail);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
void fsc_conv_put_number(const struct fsc_conv *c, uint64_t v,
			 void (*put)(struct fsc_buf *b, const char *s), struct fsc_buf *b)
{
	char format[32], tail[4] = "llx", out[MAX_WIDTH + 80];
	char one[2] = {(char)v, '\0'};
	int64_t n = fsc_conv_number(c, v);

	if (c->kind == 'c') {
		fsc_conv_put_text(c, one, put, b);
		return;
	}
	if (c->kind == 'p' || c->kind == 'K' || c->kind == 'U') {
		snprintf(out, sizeof(out), "0x%llx", (unsigned long long)n);
		fsc_conv_put_text(c, out, fsc_buf_puts, b);
		return;
	}
	tail[2] = c->kind;
	rebuild_conv(c, tail, format, sizeof(format));
	snprintf(out, sizeof(out), format, (long long)n);
	fsc_buf_puts(b, out);
}
#pragma GCC diagnostic pop

void fsc_conv_put_text(const struct fsc_conv *c, const char *text,
		       void (*put)(struct fsc_buf *b, const char *s), struct fsc_buf *b)
{
	bool symbol = c->kind != 's';
	size_t n = c->precision == FSC_FORMAT_NONE || symbol ? strlen(text)
							     : strnlen(text, (size_t)c->precision);
	size_t pad = c->width > 0 && (size_t)c->width > n ? (size_t)c->width - n : 0;
	FSC_AUTO(fsc_freep) char *cut = strndup(text, n);
	bool left = strchr(c->flags, '-');

	if (!cut) {
		b->failed = true;
		return;
	}
	if (!left)
		fsc_buf_pad(b, ' ', pad);
	put(b, cut);
	if (left)
		fsc_buf_pad(b, ' ', pad);
}
