/* Writing to stderr: one write per line, so that lines of a traced program cannot cut ours. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fmt.h"

static const char *const own_prefixes[] = {
    "funcscope: ", "funcscope: warning: ", "funcscope: ", "funcscope: debug: "};
static enum fsc_log_level log_level = FSC_LOG_NOTE;
static const char *const *log_prefixes = own_prefixes;

void fsc_log_set_level(enum fsc_log_level level)
{
	log_level = level;
}

void fsc_log_set_prefixes(const char *const *prefixes)
{
	log_prefixes = prefixes;
}

bool fsc_log_shows(enum fsc_log_level level)
{
	return level <= log_level;
}

static void write_line(const char *prefix, const char *text)
{
	struct fsc_buf b = {0};
	ssize_t n;

	fsc_buf_puts(&b, prefix);
	fsc_fmt_term(&b, text);
	fsc_buf_putc(&b, '\n');
	n = write(STDERR_FILENO, fsc_buf_str(&b), b.n);
	(void)n; /* nowhere left to say that stderr is gone */
	fsc_buf_release(&b);
}

void fsc_log(enum fsc_log_level level, const char *fmt, ...)
{
	char text[1200];
	va_list ap;

	if (level > log_level)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	write_line(log_prefixes[level], text);
}

void fsc_log_err(const struct fsc_err *err)
{
	fsc_log(FSC_LOG_ERROR, "%s%s%s", err->msg, err->hint[0] ? "; " : "", err->hint);
}
