/* A string that grows. Memory running out is remembered, not returned: write everything, then ask
 * fsc_buf_failed() once. The text is always terminated. */
#ifndef FSC_BASE_BUF_H
#define FSC_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct fsc_buf {
	char *s;
	size_t n, cap;
	bool failed;
};

void fsc_buf_add(struct fsc_buf *b, const char *s, size_t n);
void fsc_buf_puts(struct fsc_buf *b, const char *s);
void fsc_buf_putc(struct fsc_buf *b, char c);
void fsc_buf_printf(struct fsc_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void fsc_buf_vprintf(struct fsc_buf *b, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
/* Appends n copies of c. */
void fsc_buf_pad(struct fsc_buf *b, char c, size_t n);
/* Empties the text, keeps the memory and clears the failure. */
void fsc_buf_clear(struct fsc_buf *b);
void fsc_buf_release(struct fsc_buf *b);
/* The text, "" while empty. Valid until the next change. */
const char *fsc_buf_str(const struct fsc_buf *b);

static inline bool fsc_buf_failed(const struct fsc_buf *b)
{
	return b->failed;
}

#endif
