/* Escaping for terminal, JSON, CSV and XML, and the printing of durations and numbers. */
#include "base/fmt.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Length of the UTF-8 character at s and its code point; 0 if the bytes are not one. */
static int utf8(const char *s, uint32_t *cp)
{
	const unsigned char *p = (const unsigned char *)s;
	int n = p[0] < 0x80	  ? 1
		: p[0] >> 5 == 6  ? 2
		: p[0] >> 4 == 14 ? 3
		: p[0] >> 3 == 30 ? 4
				  : 0;
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

	if (n < 2) {
		*cp = p[0];
		return n;
	}
	*cp = p[0] & (0xffu >> (n + 1));
	for (int i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*cp = *cp << 6 | (p[i] & 0x3f);
	}
	if (*cp < least[n] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp <= 0xdfff))
		return 0;
	return n;
}

static bool is_control(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || (cp >= 0x2028 && cp <= 0x202e) ||
	       (cp >= 0x2066 && cp <= 0x2069) || cp == 0x200e || cp == 0x200f || cp == 0x061c ||
	       cp == 0xfeff;
}

/* Appends the n bytes of a character, or one byte of what is none, as \xNN. */
static const char *add_hex(struct fsc_buf *b, const char *s, int n)
{
	for (int i = 0; i < (n ? n : 1); i++)
		fsc_buf_printf(b, "\\x%02x", (unsigned char)*s++);
	return s;
}

void fsc_fmt_term(struct fsc_buf *b, const char *s)
{
	uint32_t cp;

	while (*s) {
		int n = utf8(s, &cp);

		if (n && !is_control(cp)) {
			fsc_buf_add(b, s, (size_t)n);
			s += n;
			continue;
		}
		s = add_hex(b, s, n);
	}
}

void fsc_fmt_xml(struct fsc_buf *b, const char *s)
{
	static const struct {
		uint32_t cp;
		const char *entity;
	} special[] = {
	    {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
	uint32_t cp;

	while (*s) {
		int n = utf8(s, &cp);
		size_t i = 0;

		if (!n || is_control(cp) || (cp & 0xfffe) == 0xfffe) {
			s = add_hex(b, s, n);
			continue;
		}
		while (i < 5 && special[i].cp != cp)
			i++;
		if (i < 5)
			fsc_buf_puts(b, special[i].entity);
		else
			fsc_buf_add(b, s, (size_t)n);
		s += n;
	}
}

void fsc_fmt_json(struct fsc_buf *b, const char *s)
{
	uint32_t cp;

	fsc_buf_putc(b, '"');
	while (*s) {
		int n = utf8(s, &cp);

		if (!n) {
			fsc_buf_puts(b, "\\ufffd");
			s++;
			continue;
		}
		if (cp == '"' || cp == '\\')
			fsc_buf_printf(b, "\\%c", (char)cp);
		else if (is_control(cp))
			fsc_buf_printf(b, "\\u%04x", cp);
		else
			fsc_buf_add(b, s, (size_t)n);
		s += n;
	}
	fsc_buf_putc(b, '"');
}

void fsc_fmt_csv(struct fsc_buf *b, const char *s)
{
	struct fsc_buf safe = {0};
	const char *p;

	fsc_fmt_term(&safe, s);
	p = fsc_buf_str(&safe);
	if (!strpbrk(p, ",\"")) {
		fsc_buf_puts(b, p);
	} else {
		fsc_buf_putc(b, '"');
		for (; *p; p++) {
			if (*p == '"')
				fsc_buf_putc(b, '"');
			fsc_buf_putc(b, *p);
		}
		fsc_buf_putc(b, '"');
	}
	b->failed |= safe.failed;
	fsc_buf_release(&safe);
}

/* Three digits of v in the largest of the units (for 1e9, 1e6, 1e3 and 1) that fits. */
static void put_scaled(struct fsc_buf *b, double v, const char *const units[4])
{
	static const double scales[] = {1e9, 1e6, 1e3, 1};
	size_t u = 0;

	while (u < 3 && v < scales[u] * 0.9995)
		u++;
	v /= scales[u];
	fsc_buf_printf(b, "%.*f%s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, units[u]);
}

void fsc_fmt_ns(struct fsc_buf *b, double ns)
{
	put_scaled(b, ns, (const char *const[]){" s", " ms", " us", " ns"});
}

void fsc_fmt_time(struct fsc_buf *b, uint64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	char text[32] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	fsc_buf_printf(b, "%s.%03uZ", text, (unsigned)(ns / 1000000 % 1000));
}

void fsc_fmt_rate(struct fsc_buf *b, double rate)
{
	put_scaled(b, rate, (const char *const[]){"G/s", "M/s", "k/s", "/s"});
}

void fsc_fmt_double(struct fsc_buf *b, double v)
{
	char text[32];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	fsc_buf_puts(b, text);
}

size_t fsc_fmt_width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}
