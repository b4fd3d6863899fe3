/* printf() of scripts. Numbers are converted by the C library's own printf, everything else is
 * written as values are and padded. */
#include <stdio.h>
#include <string.h>

#include "sink/script.h"

struct conversion {
	bool left, plus, blank, alternate, zero;
	int width, precision; /* -1: none */
	char size[3];	      /* "hh", "l" */
	char as;	      /* the letter; 'r' for bytes */
	char bytes;	      /* after 'r': 'h', 'x' or NUL */
	bool gfp;	      /* "gr": flags of the kernel's allocator */
};

/* Digits, or -1 if there are none. More than is useful is cut. */
static int conversion_number(const char **s, const char *end)
{
	enum { MOST = 4096 };
	int n = -1;

	while (*s < end && **s >= '0' && **s <= '9') {
		n = (n < 0 ? 0 : n) * 10 + (*(*s)++ - '0');
		if (n > MOST)
			n = MOST;
	}
	return n;
}

static void conversion_flags(const char **s, const char *end, struct conversion *c)
{
	for (; *s < end; (*s)++) {
		bool *flag = **s == '-'	  ? &c->left
			     : **s == '+' ? &c->plus
			     : **s == ' ' ? &c->blank
			     : **s == '#' ? &c->alternate
			     : **s == '0' ? &c->zero
					  : NULL;

		if (!flag)
			return;
		*flag = true;
	}
}

/* What follows a '%'; false if that is no conversion. */
static bool conversion_parse(const char **at, const char *end, struct conversion *c)
{
	const char *s = *at;
	size_t n = 0;

	*c = (struct conversion){.width = -1, .precision = -1};
	conversion_flags(&s, end, c);
	c->width = conversion_number(&s, end);
	if (s < end && *s == '.') {
		s++;
		c->precision = conversion_number(&s, end);
		if (c->precision < 0)
			c->precision = 0;
	}
	while (s < end && strchr("hlLjztq", *s) && *s) {
		if (n + 1 < sizeof(c->size))
			c->size[n++] = *s;
		s++;
	}
	if (end - s >= 2 && s[0] == 'g' && s[1] == 'r') {
		c->gfp = true;
		s++;
	}
	if (s >= end || !*s || !strchr("diouxXcspr%", *s))
		return false;
	c->as = *s++;
	if (c->as == 'r' && s < end && (*s == 'h' || *s == 'x'))
		c->bytes = *s++;
	*at = s;
	return true;
}

/* Cut to what the length modifier says; as in C, without one a number has 32 bits. */
static uint64_t conversion_cut(const struct conversion *c, uint64_t number)
{
	bool is_signed = c->as == 'd' || c->as == 'i';
	unsigned bits = !strcmp(c->size, "hh")	     ? 8
			: !strcmp(c->size, "h")	     ? 16
			: c->size[0] || c->as == 'p' ? 64
						     : 32;
	unsigned spare = 64 - bits;

	number <<= spare;
	return is_signed ? (uint64_t)((int64_t)number >> spare) : number >> spare;
}

static void format_number(const struct conversion *c, uint64_t number, struct fsc_buf *b)
{
	char spec[16], *s = spec;

	*s++ = '%';
	if (c->left)
		*s++ = '-';
	if (c->plus)
		*s++ = '+';
	if (c->blank)
		*s++ = ' ';
	if (c->alternate || c->as == 'p')
		*s++ = '#';
	if (c->zero)
		*s++ = '0';
	*s++ = '*';
	if (c->precision >= 0) {
		*s++ = '.';
		*s++ = '*';
	}
	*s++ = 'l';
	*s++ = 'l';
	*s++ = c->as == 'p' ? 'x' : c->as;
	*s = '\0';
	number = conversion_cut(c, number);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (c->precision >= 0)
		fsc_buf_printf(b, spec, c->width < 0 ? 0 : c->width, c->precision,
			       (long long)number);
	else
		fsc_buf_printf(b, spec, c->width < 0 ? 0 : c->width, (long long)number);
#pragma GCC diagnostic pop
}

static void format_padded(const struct conversion *c, const char *s, size_t n, struct fsc_buf *b)
{
	size_t pad = c->width > 0 && (size_t)c->width > n ? (size_t)c->width - n : 0;

	if (!c->left)
		fsc_buf_pad(b, ' ', pad);
	fsc_buf_add(b, s, n);
	if (c->left)
		fsc_buf_pad(b, ' ', pad);
}

static void format_bytes(const struct conversion *c, const struct fsc_value *v, struct fsc_buf *b)
{
	for (size_t i = 0; i < v->text.n; i++) {
		unsigned char byte = (unsigned char)v->text.s[i];

		if (c->bytes == 'h')
			fsc_buf_printf(b, "%s%02x", i ? " " : "", byte);
		else
			fsc_buf_printf(b, "\\x%02x", byte);
	}
}

static void format_text(const struct fsc_script_style *s, const struct conversion *c,
			const struct fsc_value *v, struct fsc_buf *b)
{
	struct fsc_buf text = {0};
	uint64_t number;
	size_t n;

	if (c->gfp && fsc_value_number(v, &number))
		fsc_script_gfp(number, &text);
	else if (c->as == 'r' && c->bytes && v->kind == FSC_VALUE_BYTES)
		format_bytes(c, v, &text);
	else
		fsc_script_value(s, v, &text);
	n = text.n;
	if (c->as == 's' && c->precision >= 0 && (size_t)c->precision < n)
		n = (size_t)c->precision;
	format_padded(c, fsc_buf_str(&text), n, b);
	b->failed |= text.failed;
	fsc_buf_release(&text);
}

static void format_value(const struct fsc_script_style *s, const struct conversion *c,
			 const struct fsc_value *v, struct fsc_buf *b)
{
	uint64_t number;

	if (c->as == 's' || c->as == 'r' || !fsc_value_number(v, &number)) {
		format_text(s, c, v, b);
	} else if (c->as == 'c') {
		char letter = (char)number;

		format_padded(c, &letter, 1, b);
	} else {
		format_number(c, number, b);
	}
}

void fsc_script_format(const struct fsc_script_style *s, const char *format, size_t n,
		       const struct fsc_value *values, size_t n_values, struct fsc_buf *b)
{
	const char *at = format, *end = format + n;
	size_t used = 0;

	while (at < end) {
		const char *percent = memchr(at, '%', (size_t)(end - at));
		struct conversion c;

		if (!percent) {
			fsc_buf_add(b, at, (size_t)(end - at));
			return;
		}
		fsc_buf_add(b, at, (size_t)(percent - at));
		at = percent + 1;
		if (!conversion_parse(&at, end, &c))
			fsc_buf_putc(b, '%');
		else if (c.as == '%')
			fsc_buf_putc(b, '%');
		else if (used < n_values)
			format_value(s, &c, &values[used++], b);
	}
}
