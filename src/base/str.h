/* Matching and comparing names. */
#ifndef FSC_BASE_STR_H
#define FSC_BASE_STR_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"

/* One name pattern: a plain name, a glob, or a POSIX extended regular expression. */
struct fsc_pattern {
	const char *text; /* borrowed */
	bool is_regex, is_glob;
	regex_t re;
};

/* regex: treat text as a regular expression, searched for anywhere in the name as grep -E does;
 * otherwise `*`, `?` and `[` make it a glob over the whole name. Fails with a usage error on a
 * broken expression. text must outlive the pattern. */
int fsc_pattern_init(struct fsc_pattern *p, const char *text, bool regex, struct fsc_err *err);
void fsc_pattern_release(struct fsc_pattern *p);
bool fsc_pattern_match(const struct fsc_pattern *p, const char *name);
/* Whether the pattern names exactly one thing. */
static inline bool fsc_pattern_exact(const struct fsc_pattern *p)
{
	return !p->is_regex && !p->is_glob;
}

/* The last component of a path, which points into it; all of a path that ends in '/'. */
const char *fsc_str_base(const char *path);

/* Calls fn for each item of each text (const char *), items being separated by commas, until it
 * fails; returns what it returned. */
int fsc_str_each(const struct fsc_vec *texts,
		 int (*fn)(const char *item, size_t n, void *arg, struct fsc_err *err), void *arg,
		 struct fsc_err *err);

/* Reads the first n letters as a duration: a number and ns, us, ms, s or m. Nanoseconds; false for
 * anything else, with *ret_ns 0, and for one longer than FSC_STR_LONGEST_NS, with *ret_ns set. */
#define FSC_STR_LONGEST_NS 9e18 /* about 285 years */
bool fsc_str_duration(const char *s, size_t n, double *ret_ns);

/* How many single-letter edits (insert, delete, replace, swap of neighbours) make a into b; more
 * than limit is reported as limit + 1. */
int fsc_str_distance(const char *a, const char *b, int limit);

/* Collects the names nearest to one that was not found, best first. */
struct fsc_nearest {
	const char *wanted; /* borrowed */
	struct {
		char name[160];
		int score;
	} best[3];
	int n;
};

void fsc_nearest_offer(struct fsc_nearest *n, const char *name);
/* Writes "'a', 'b' or 'c'" into buf; "" if nothing came near. */
void fsc_nearest_text(const struct fsc_nearest *n, char *buf, size_t size);

#endif
