/* Taking attach points apart: the table of providers, quotes, colons, and numbers. */
#include "world/written.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

const struct fsc_provider fsc_providers[] = {
    {FSC_POINT_BEGIN, "begin", NAMES("BEGIN"), "special", "", 0, 0},
    {FSC_POINT_END, "end", NAMES("END"), "special", "", 0, 0},
    {FSC_POINT_SELF, "self", NULL, "special", "signal:SIGNAL", 2, 2},
    {FSC_POINT_TEST, "test", NULL, "test", "NAME", 1, 1},
    {FSC_POINT_BENCH, "bench", NULL, "bench", "NAME", 1, 1},
    {FSC_POINT_HARDWARE, "hardware", NAMES("h"), "hardware", "EVENT[:COUNT]", 1, 2},
    {FSC_POINT_INTERVAL, "interval", NAMES("i"), "interval", "[us|ms|s|hz:]NUMBER", 1, 2},
    {FSC_POINT_ITER, "iter", NAMES("it"), "iter", "ITERATOR[:PIN]", 1, 2},
    {FSC_POINT_FENTRY, "fentry", NAMES("f", "kfunc"), "fentry", "[MODULE:]FUNCTION", 1, 3},
    {FSC_POINT_FEXIT, "fexit", NAMES("fr", "kretfunc"), "fexit", "[MODULE:]FUNCTION", 1, 3},
    {FSC_POINT_KPROBE, "kprobe", NAMES("k"), "kprobe", "[MODULE:]FUNCTION[+OFFSET]", 1, 2},
    {FSC_POINT_KRETPROBE, "kretprobe", NAMES("kr"), "kretprobe", "[MODULE:]FUNCTION", 1, 2},
    {FSC_POINT_PROFILE, "profile", NAMES("p"), "profile", "[us|ms|s|hz:]NUMBER", 1, 2},
    {FSC_POINT_RAWTRACEPOINT, "rawtracepoint", NAMES("rt"), "rawtracepoint", "[MODULE:]EVENT", 1,
     2},
    {FSC_POINT_SOFTWARE, "software", NAMES("s"), "software", "EVENT[:COUNT]", 1, 2},
    {FSC_POINT_TRACEPOINT, "tracepoint", NAMES("t"), "tracepoint", "CATEGORY:EVENT", 2, 2},
    {FSC_POINT_UPROBE, "uprobe", NAMES("u"), "uprobe", "FILE:[cpp:]FUNCTION[+OFFSET]", 1, 3},
    {FSC_POINT_URETPROBE, "uretprobe", NAMES("ur"), "uretprobe", "FILE:[cpp:]FUNCTION", 1, 3},
    {FSC_POINT_USDT, "usdt", NAMES("U"), "usdt", "FILE:[PROVIDER:]PROBE", 1, 3},
    {FSC_POINT_WATCHPOINT, "watchpoint", NAMES("w"), "watchpoint", "ADDRESS:LENGTH:MODE", 3, 3},
    {FSC_POINT_ASYNCWATCHPOINT, "asyncwatchpoint", NAMES("aw"), "asyncwatchpoint",
     "ADDRESS:LENGTH:MODE", 3, 3},
    {0},
};

const struct fsc_provider *fsc_provider_find(const char *name, size_t n)
{
	for (const struct fsc_provider *p = fsc_providers; p->name; p++) {
		if (strlen(p->name) == n && !strncmp(p->name, name, n))
			return p;
		for (const char *const *o = p->other_names; o && *o; o++)
			if (strlen(*o) == n && !strncmp(*o, name, n))
				return p;
	}
	return NULL;
}

bool fsc_written_is_pattern(const char *text)
{
	const char *open = strchr(text, '[');

	return strpbrk(text, "*?") || (open && strchr(open, ']'));
}

/* ---- parts ---- */

static int too_many_parts(const char *text, struct fsc_err *err)
{
	return fsc_err_usage(err, "'%s' has too many parts; put a name with colons into quotes",
			     text);
}

/* Cuts rest into parts at the colons that are not in quotes; out has room for all its letters. */
static int cut_parts(const char *rest, char *out, struct fsc_written *w, struct fsc_err *err)
{
	bool quoted = false;

	w->parts[w->n] = out;
	for (; *rest; rest++) {
		if (*rest == '"') {
			quoted = !quoted;
		} else if (quoted && *rest == '\\' && rest[1]) {
			*out++ = *++rest;
		} else if (*rest == ':' && !quoted) {
			*out++ = '\0';
			if (++w->n >= FSC_WRITTEN_PARTS)
				return too_many_parts(w->text, err);
			w->parts[w->n] = out;
		} else {
			if (*rest == '+' && !quoted)
				w->plus[w->n] = out;
			*out++ = *rest;
		}
	}
	*out = '\0';
	w->n++;
	if (quoted)
		return fsc_err_usage(err, "'%s' has a quote that does not end", w->text);
	return 0;
}

int fsc_written_split(const struct fsc_provider *provider, const char *rest,
		      struct fsc_written *ret, struct fsc_err *err)
{
	size_t n = strlen(rest) + 1;
	char *copy = malloc(2 * n);
	int rc;

	*ret = (struct fsc_written){.provider = provider, .text = copy};
	if (!copy)
		return fsc_err_nomem(err);
	memcpy(copy, rest, n);
	rc = *rest ? cut_parts(rest, copy + n, ret, err) : 0;
	for (unsigned i = 0; i < ret->n; i++)
		if (ret->plus[i])
			*ret->plus[i]++ = '\0';
	return rc;
}

int fsc_written_check(const struct fsc_written *w, struct fsc_err *err)
{
	const struct fsc_provider *p = w->provider;
	char takes[32];

	if (w->n >= p->min && w->n <= p->max)
		return 0;
	if (p->min == p->max)
		snprintf(takes, sizeof(takes), "%u", p->min);
	else
		snprintf(takes, sizeof(takes), "%u %s %u", p->min,
			 p->max - p->min > 1 ? "to" : "or", p->max);
	fsc_err_usage(err, "%s probe type requires %s arguments, found %u", p->name, takes, w->n);
	return fsc_err_hint(err, "it is written %s%s%s", p->name, p->form[0] ? ":" : "", p->form);
}

int fsc_written_parse(const char *text, struct fsc_written *ret, struct fsc_err *err)
{
	size_t n = strcspn(text, ":");
	const struct fsc_provider *p = fsc_provider_find(text, n);
	int rc;

	*ret = (struct fsc_written){0};
	if (!p) {
		struct fsc_nearest near = {0};
		char wanted[64], names[540];

		snprintf(wanted, sizeof(wanted), "%.*s", (int)n, text);
		near.wanted = wanted;
		for (p = fsc_providers; p->name; p++)
			fsc_nearest_offer(&near, p->name);
		fsc_nearest_text(&near, names, sizeof(names));
		fsc_err_usage(err, "Invalid probe type: %s", wanted);
		return names[0] ? fsc_err_hint(err, "did you mean %s?", names) : -EINVAL;
	}
	rc = fsc_written_split(p, text[n] ? text + n + 1 : "", ret, err);
	/* A colon with nothing behind it is a part, though an empty one. */
	if (!rc && text[n] && !text[n + 1]) {
		ret->parts[0] = ret->text;
		ret->n = 1;
	}
	return rc ? rc : fsc_written_check(ret, err);
}

void fsc_written_release(struct fsc_written *w)
{
	free(w->text);
	*w = (struct fsc_written){0};
}

/* ---- numbers ---- */

/* The digits of a number, without the underscores between them; what follows is *rest. */
static bool take_digits(const char *text, uint64_t *ret, const char **rest)
{
	unsigned base = 10;
	uint64_t v = 0;

	if (!isdigit((unsigned char)*text))
		return false;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
	    isxdigit((unsigned char)text[2]))
		base = 16, text += 2;
	else if (text[0] == '0' && isdigit((unsigned char)text[1]))
		base = 8;
	for (;; text++) {
		unsigned digit;

		if (*text == '_' && isxdigit((unsigned char)text[1]))
			continue;
		if (isdigit((unsigned char)*text))
			digit = (unsigned)(*text - '0');
		else if (base == 16 && isxdigit((unsigned char)*text))
			digit = (unsigned)(tolower((unsigned char)*text) - 'a') + 10;
		else
			break;
		if (digit >= base || __builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, digit, &v))
			return false;
	}
	*ret = v;
	*rest = text;
	return true;
}

/* "e6" behind a number of one digit or more. */
static bool take_exponent(uint64_t *v, const char **rest)
{
	uint64_t times = 0;
	const char *p = *rest;

	if ((*p != 'e' && *p != 'E') || !isdigit((unsigned char)p[1]))
		return true;
	for (p++; isdigit((unsigned char)*p); p++)
		times = times > 100 ? times : times * 10 + (uint64_t)(*p - '0');
	for (; times && *v; times--)
		if (__builtin_mul_overflow(*v, 10, v))
			return false;
	*rest = p;
	return true;
}

bool fsc_written_number(const char *text, uint64_t *ret)
{
	const char *rest;

	return take_digits(text, ret, &rest) && take_exponent(ret, &rest) && !*rest;
}

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
    {"", 1},
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000000},
    {"s", 1000000000},
    {"m", 60 * 1000000000ull},
    {"h", 3600 * 1000000000ull},
    {"d", 86400 * 1000000000ull},
};

bool fsc_written_duration(const char *text, uint64_t *ret)
{
	const char *rest;

	if (!take_digits(text, ret, &rest) || !take_exponent(ret, &rest))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(rest, units[i].name))
			return !__builtin_mul_overflow(*ret, units[i].ns, ret);
	return false;
}
