/* Patterns over names (fnmatch and regcomp do the work) and the search for similar names. */
#include "base/str.h"

#include <stdlib.h>

#include <ctype.h>

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

int fsc_pattern_init(struct fsc_pattern *p, const char *text, bool regex, struct fsc_err *err)
{
	char why[120];
	int rc;

	*p = (struct fsc_pattern){.text = text, .is_regex = regex};
	if (!regex) {
		p->is_glob = strpbrk(text, "*?[") != NULL;
		if (strchr(text, '[') && !strchr(strchr(text, '['), ']'))
			return fsc_err_usage(err, "pattern '%s' has no ']' for its '['", text);
		return 0;
	}
	rc = regcomp(&p->re, text, REG_EXTENDED | REG_NOSUB);
	if (!rc)
		return 0;
	regerror(rc, &p->re, why, sizeof(why));
	*p = (struct fsc_pattern){0};
	return fsc_err_usage(err, "'%s' is not a regular expression: %s", text, why);
}

void fsc_pattern_release(struct fsc_pattern *p)
{
	if (p->is_regex)
		regfree(&p->re);
	*p = (struct fsc_pattern){0};
}

bool fsc_pattern_match(const struct fsc_pattern *p, const char *name)
{
	if (p->is_regex)
		return regexec(&p->re, name, 0, NULL, 0) == 0;
	if (p->is_glob)
		return fnmatch(p->text, name, 0) == 0;
	return strcmp(p->text, name) == 0;
}

const char *fsc_str_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

int fsc_str_each(const struct fsc_vec *texts,
		 int (*fn)(const char *item, size_t n, void *arg, struct fsc_err *err), void *arg,
		 struct fsc_err *err)
{
	for (size_t i = 0; i < texts->n; i++) {
		const char *t = *FSC_AT(const char *, texts, i);
		int rc;

		for (;;) {
			size_t n = strcspn(t, ",");

			rc = fn(t, n, arg, err);
			if (rc)
				return rc;
			if (!t[n])
				break;
			t += n + 1;
		}
	}
	return 0;
}

static int min3(int a, int b, int c)
{
	int m = a < b ? a : b;

	return m < c ? m : c;
}

int fsc_str_distance(const char *a, const char *b, int limit)
{
	int rows[3][96];
	int *prev2 = rows[0], *prev = rows[1], *cur = rows[2], *t;
	int na = (int)strlen(a), nb = (int)strlen(b);

	if (nb > 94 || na > 94 || na - nb > limit || nb - na > limit)
		return limit + 1;
	for (int j = 0; j <= nb; j++)
		prev[j] = j;
	for (int i = 1; i <= na; i++) {
		int best = cur[0] = i;

		for (int j = 1; j <= nb; j++) {
			int same = a[i - 1] == b[j - 1];

			cur[j] = min3(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + !same);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    prev2[j - 2] + 1 < cur[j])
				cur[j] = prev2[j - 2] + 1;
			if (cur[j] < best)
				best = cur[j];
		}
		if (best > limit)
			return limit + 1;
		t = prev2;
		prev2 = prev;
		prev = cur;
		cur = t;
	}
	return prev[nb] <= limit ? prev[nb] : limit + 1;
}

/* Lower is nearer; a name that contains the wanted one is nearer than a distant typing mistake. */
static int score_name(const char *wanted, const char *name)
{
	int len = (int)strlen(wanted);
	int limit = len < 4 ? 1 : len < 8 ? 2 : 3;
	int d = fsc_str_distance(wanted, name, limit);

	if (d <= limit)
		return d * 4;
	if (len >= 3 && strstr(name, wanted))
		return 6 + (int)(strlen(name) - (size_t)len) / 4;
	return 1000;
}

void fsc_nearest_offer(struct fsc_nearest *n, const char *name)
{
	int s = score_name(n->wanted, name);
	const int max = (int)(sizeof(n->best) / sizeof(n->best[0]));
	int i;

	if (s >= 1000)
		return;
	for (i = 0; i < n->n; i++)
		if (!strncmp(n->best[i].name, name, sizeof(n->best[i].name) - 1))
			return;
	for (i = n->n; i > 0 && n->best[i - 1].score > s; i--)
		if (i < max)
			n->best[i] = n->best[i - 1];
	if (i >= max)
		return;
	snprintf(n->best[i].name, sizeof(n->best[i].name), "%s", name);
	n->best[i].score = s;
	if (n->n < max)
		n->n++;
}

void fsc_nearest_text(const struct fsc_nearest *n, char *buf, size_t size)
{
	size_t at = 0;

	buf[0] = '\0';
	for (int i = 0; i < n->n && at < size; i++)
		at += (size_t)snprintf(buf + at, size - at, "%s'%s'",
				       !i	       ? ""
				       : i == n->n - 1 ? " or "
						       : ", ",
				       n->best[i].name);
}

bool fsc_str_duration(const char *s, size_t n, double *ret_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};
	char text[32], *unit;
	double v;

	*ret_ns = 0;
	if (!n || n >= sizeof(text) || !isdigit((unsigned char)s[0]))
		return false;
	memcpy(text, s, n);
	text[n] = '\0';
	text[strspn(text, "0123456789.")] = '\0';
	v = strtod(text, &unit);
	if (*unit)
		return false;
	if (v == 0 && strlen(text) == n)
		return true; /* 0 needs no unit */
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (n - strlen(text) == strlen(units[i].name) &&
		    !strncmp(s + strlen(text), units[i].name, strlen(units[i].name))) {
			*ret_ns = v * units[i].ns;
			return *ret_ns < FSC_STR_LONGEST_NS;
		}
	return false;
}
