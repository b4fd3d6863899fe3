/* An attach point as a script writes it ("kprobe:vfs_*", "uprobe:./x:cpp:\"a::b\"+4", "i:1s"),
 * taken apart. Text only: no file is opened, nothing is looked up. */
#ifndef FSC_WORLD_WRITTEN_H
#define FSC_WORLD_WRITTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "lang/point.h"

/* A type of probe, by its names. */
struct fsc_provider {
	enum fsc_point_kind kind;
	const char *name;		/* in full, as the probe is shown */
	const char *const *other_names; /* short and older ones, NULL-ended; may be NULL */
	const char *type;		/* what `probetype` says */
	const char *form;		/* what follows the first colon, for messages */
	uint8_t min, max;		/* how many parts that may be */
};

/* All of them, in the order in which they are listed; the last has no name. */
extern const struct fsc_provider fsc_providers[];
/* By any of its names, n letters; NULL: there is none. */
const struct fsc_provider *fsc_provider_find(const char *name, size_t n);

#define FSC_WRITTEN_PARTS 6

struct fsc_written {
	const struct fsc_provider *provider;
	char *text;			/* as written, behind the provider */
	char *parts[FSC_WRITTEN_PARTS]; /* between the colons behind the provider; without quotes */
	char *plus[FSC_WRITTEN_PARTS];	/* behind the last '+' of a part that is not in quotes, NULL
					   where there is none; the part ends before it */
	unsigned n;
};

/* Takes a probe apart, its provider being written in full or short. A quoted part may hold colons
 * and plus signs. Errors are usage errors of one sentence. On failure too, fsc_written_release() is
 * right. */
int fsc_written_parse(const char *text, struct fsc_written *ret, struct fsc_err *err);
/* The same for a text whose provider is already known (or NULL to look for it), behind which rest
 * follows: used where a pattern names several providers. */
int fsc_written_split(const struct fsc_provider *provider, const char *rest,
		      struct fsc_written *ret, struct fsc_err *err);
/* As fsc_err_usage() says it: how many parts the provider takes. 0: n fits. */
int fsc_written_check(const struct fsc_written *w, struct fsc_err *err);
void fsc_written_release(struct fsc_written *w);

/* Whether the text has a wildcard. */
bool fsc_written_is_pattern(const char *text);

/* A number as the language writes it: 10, 0x1f, 017, 1_000, 1e6; false for anything else. */
bool fsc_written_number(const char *text, uint64_t *ret);
/* The same, or with a unit behind it (ns, us, ms, s, m, h, d): nanoseconds. */
bool fsc_written_duration(const char *text, uint64_t *ret);

#endif
