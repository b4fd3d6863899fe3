/* struct fsc_buf: a growing string with a sticky failure. */
#include "base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve_bytes(struct fsc_buf *b, size_t more)
{
	size_t cap = b->cap ? b->cap : 64;
	char *p;

	if (b->failed)
		return false;
	if (b->n + more + 1 <= b->cap)
		return true;
	if (more > SIZE_MAX / 4 || b->n > SIZE_MAX / 4) {
		b->failed = true;
		return false;
	}
	while (cap < b->n + more + 1)
		cap *= 2;
	p = realloc(b->s, cap);
	if (!p) {
		b->failed = true;
		return false;
	}
	b->s = p;
	b->cap = cap;
	return true;
}

void fsc_buf_add(struct fsc_buf *b, const char *s, size_t n)
{
	if (!reserve_bytes(b, n))
		return;
	memcpy(b->s + b->n, s, n);
	b->n += n;
	b->s[b->n] = '\0';
}

void fsc_buf_puts(struct fsc_buf *b, const char *s)
{
	fsc_buf_add(b, s, strlen(s));
}

void fsc_buf_putc(struct fsc_buf *b, char c)
{
	fsc_buf_add(b, &c, 1);
}

void fsc_buf_vprintf(struct fsc_buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0 || !reserve_bytes(b, (size_t)n))
		return;
	vsnprintf(b->s + b->n, (size_t)n + 1, fmt, ap);
	b->n += (size_t)n;
}

void fsc_buf_printf(struct fsc_buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fsc_buf_vprintf(b, fmt, ap);
	va_end(ap);
}

void fsc_buf_pad(struct fsc_buf *b, char c, size_t n)
{
	if (!n || !reserve_bytes(b, n))
		return;
	memset(b->s + b->n, c, n);
	b->n += n;
	b->s[b->n] = '\0';
}

void fsc_buf_clear(struct fsc_buf *b)
{
	b->n = 0;
	b->failed = false;
	if (b->s)
		b->s[0] = '\0';
}

void fsc_buf_release(struct fsc_buf *b)
{
	free(b->s);
	*b = (struct fsc_buf){0};
}

const char *fsc_buf_str(const struct fsc_buf *b)
{
	return b->s ? b->s : "";
}
