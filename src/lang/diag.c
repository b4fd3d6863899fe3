/* Mistakes and warnings: collected while a script is compiled, written as "stdin:1:9-15: ERROR:
 * sentence", the line of the text, and a line that points at the place. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "lang/lang_priv.h"

void fsc_diags_init(struct fsc_diags *d)
{
	*d = (struct fsc_diags){.list = FSC_VEC_INIT(struct fsc_diag)};
}

void fsc_diags_release(struct fsc_diags *d)
{
	for (size_t i = 0; i < d->list.n; i++) {
		free(FSC_AT(struct fsc_diag, &d->list, i)->text);
		free(FSC_AT(struct fsc_diag, &d->list, i)->hint);
	}
	fsc_vec_release(&d->list);
}

static void diag_line(struct fsc_buf *b, const char *text, size_t n, uint32_t line)
{
	const char *end = text + n, *stop;

	while (line > 1 && text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));

		text = nl ? nl + 1 : end;
		line--;
	}
	stop = memchr(text, '\n', (size_t)(end - text));
	for (const char *s = text; s < (stop ? stop : end); s++)
		fsc_buf_putc(b, (unsigned char)*s < ' ' || *s == 127 ? ' ' : *s);
	fsc_buf_putc(b, '\n');
}

static void diag_format(const struct fsc_diag *d, const char *source_name, const char *text,
			size_t n, struct fsc_buf *b)
{
	const char *kind = d->warning ? "WARNING" : "ERROR";

	if (!d->line) {
		fsc_buf_printf(b, "%s: %s\n", kind, d->text);
	} else {
		fsc_buf_printf(b, "%s:%u:%u-%u: %s: %s\n", source_name, d->line, d->column,
			       d->column_end, kind, d->text);
		diag_line(b, text, n, d->line);
		fsc_buf_pad(b, ' ', d->column - 1);
		fsc_buf_pad(b, '~', d->column_end > d->column ? d->column_end - d->column : 1);
		fsc_buf_putc(b, '\n');
	}
	if (d->hint)
		fsc_buf_printf(b, "HINT: %s\n", d->hint);
}

void fsc_diags_format(const struct fsc_diags *d, const char *source_name, const char *text,
		      size_t n, struct fsc_buf *b)
{
	for (size_t i = 0; i < d->list.n; i++)
		diag_format(FSC_AT(struct fsc_diag, &d->list, i), source_name, text, n, b);
}

/* What cannot be said for lack of memory is left out: the compilation fails anyway. */
static struct fsc_diag *diag_push(struct fsc_lang *c, struct fsc_loc at, bool warning,
				  const char *fmt, va_list ap)
{
	struct fsc_diag *d;
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		return NULL;
	d = fsc_vec_push(&c->diags->list);
	if (!d) {
		free(text);
		return NULL;
	}
	d->warning = warning;
	d->line = at.line;
	d->column = at.column;
	d->column_end = at.line_end == at.line ? at.column_end : at.column + 1;
	d->text = text;
	return d;
}

static _Noreturn void diag_fail(struct fsc_lang *c, struct fsc_diag *d)
{
	if (d && d->line)
		fsc_err_usage(c->err, "%s:%u:%u: %s",
			      c->opts->source_name ? c->opts->source_name : "stdin", d->line,
			      d->column, d->text);
	else if (d)
		fsc_err_usage(c->err, "%s", d->text);
	else
		fsc_err_nomem(c->err);
	if (d && d->hint)
		fsc_err_hint(c->err, "%s", d->hint);
	c->code = d ? -EINVAL : -ENOMEM;
	longjmp(c->failed, 1);
}

_Noreturn void fsc_lang_fail(struct fsc_lang *c, struct fsc_loc at, const char *fmt, ...)
{
	struct fsc_diag *d;
	va_list ap;

	va_start(ap, fmt);
	d = diag_push(c, at, false, fmt, ap);
	va_end(ap);
	diag_fail(c, d);
}

_Noreturn void fsc_lang_fail_hint(struct fsc_lang *c, struct fsc_loc at, const char *hint,
				  const char *fmt, ...)
{
	struct fsc_diag *d;
	va_list ap;

	va_start(ap, fmt);
	d = diag_push(c, at, false, fmt, ap);
	va_end(ap);
	if (d && hint && *hint)
		d->hint = strdup(hint);
	diag_fail(c, d);
}

_Noreturn void fsc_lang_fail_world(struct fsc_lang *c, struct fsc_loc at, int code,
				   const struct fsc_err *err)
{
	if (code == -ENOMEM) {
		*c->err = *err;
		c->code = code;
		longjmp(c->failed, 1);
	}
	fsc_lang_fail_hint(c, at, err->hint, "%s", err->msg);
}

void fsc_lang_warn(struct fsc_lang *c, struct fsc_loc at, const char *fmt, ...)
{
	va_list ap;

	if (!c->opts->warnings)
		return;
	va_start(ap, fmt);
	diag_push(c, at, true, fmt, ap);
	va_end(ap);
}

const char *fsc_lang_nearest(struct fsc_lang *c, const struct fsc_nearest *nearest)
{
	char names[512];

	fsc_nearest_text(nearest, names, sizeof(names));
	return *names ? fsc_zone_printf(&c->temp, "did you mean %s?", names) : NULL;
}
