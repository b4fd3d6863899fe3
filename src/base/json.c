/* JSON values, with their keys and the commas between them. */
#include "base/json.h"

#include <math.h>
#include <stdarg.h>

#include "base/fmt.h"

/* No text ends a value but a quote, a digit, a letter or a bracket that closes. */
static bool needs_comma(const struct fsc_buf *b)
{
	char last = b->n ? b->s[b->n - 1] : '\n';

	return last != '{' && last != '[' && last != ':' && last != '\n';
}

void fsc_json_key(struct fsc_buf *b, const char *key)
{
	if (needs_comma(b))
		fsc_buf_putc(b, ',');
	if (!key)
		return;
	fsc_buf_putc(b, '"');
	fsc_buf_puts(b, key);
	fsc_buf_puts(b, "\":");
}

void fsc_json_begin(struct fsc_buf *b, const char *key, char open)
{
	fsc_json_key(b, key);
	fsc_buf_putc(b, open);
}

void fsc_json_line(struct fsc_buf *b, const char *type)
{
	fsc_buf_putc(b, '{');
	fsc_json_string(b, "type", type);
}

void fsc_json_string(struct fsc_buf *b, const char *key, const char *value)
{
	fsc_json_key(b, key);
	if (value)
		fsc_fmt_json(b, value);
	else
		fsc_buf_puts(b, "null");
}

void fsc_json_string_if(struct fsc_buf *b, const char *key, const char *value)
{
	if (value)
		fsc_json_string(b, key, value);
}

void fsc_json_uint_if(struct fsc_buf *b, const char *key, uint64_t value)
{
	if (value)
		fsc_json_uint(b, key, value);
}

void fsc_json_bool_if(struct fsc_buf *b, const char *key, bool value)
{
	if (value)
		fsc_json_bool(b, key, true);
}

void fsc_json_strings_if(struct fsc_buf *b, const char *key, const char *const *values, size_t n)
{
	if (!n)
		return;
	fsc_json_begin(b, key, '[');
	for (size_t i = 0; i < n; i++)
		fsc_json_string(b, NULL, values[i]);
	fsc_json_end(b, ']');
}

void fsc_json_buf(struct fsc_buf *b, const char *key, struct fsc_buf *text)
{
	fsc_json_string(b, key, fsc_buf_str(text));
	b->failed |= text->failed;
	fsc_buf_release(text);
}

void fsc_json_buf_if(struct fsc_buf *b, const char *key, struct fsc_buf *text)
{
	fsc_json_string_if(b, key, text->n ? text->s : NULL);
	b->failed |= text->failed;
	fsc_buf_release(text);
}

void fsc_json_uint(struct fsc_buf *b, const char *key, uint64_t value)
{
	fsc_json_printf(b, key, "%llu", (unsigned long long)value);
}

void fsc_json_int(struct fsc_buf *b, const char *key, int64_t value)
{
	fsc_json_printf(b, key, "%lld", (long long)value);
}

void fsc_json_bool(struct fsc_buf *b, const char *key, bool value)
{
	fsc_json_printf(b, key, "%s", value ? "true" : "false");
}

void fsc_json_real(struct fsc_buf *b, const char *key, double value, int decimals)
{
	if (isfinite(value))
		fsc_json_printf(b, key, "%.*f", decimals, value);
	else
		fsc_json_null(b, key);
}

void fsc_json_hex(struct fsc_buf *b, const char *key, uint64_t value)
{
	fsc_json_printf(b, key, "\"0x%llx\"", (unsigned long long)value);
}

void fsc_json_printf(struct fsc_buf *b, const char *key, const char *fmt, ...)
{
	va_list ap;

	fsc_json_key(b, key);
	va_start(ap, fmt);
	fsc_buf_vprintf(b, fmt, ap);
	va_end(ap);
}
