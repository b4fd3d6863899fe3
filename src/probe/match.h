/* Matching symbols the way people name functions: as in the symbol table, with a version, or
 * demangled. */
#ifndef FSC_PROBE_MATCH_H
#define FSC_PROBE_MATCH_H

#include <stdbool.h>

#include "base/str.h"
#include "elf/elf.h"

struct fsc_matcher {
	struct fsc_pattern pattern;
	bool versioned;	  /* the pattern speaks of versions */
	char literal[64]; /* letters every matching mangled name must contain; "" for none */
};

/* text must outlive the matcher. Fails on a broken regular expression (usage error). */
int fsc_matcher_init(struct fsc_matcher *m, const char *text, bool regex, struct fsc_err *err);
void fsc_matcher_release(struct fsc_matcher *m);
/* 1 if the symbol matches, 0 if not, -ENOMEM. */
int fsc_matcher_match(const struct fsc_matcher *m, const struct fsc_sym *s);

/* What people call the symbol: demangled, or with its version where it is not the default one. NULL
 * when memory is out. Caller frees. */
char *fsc_match_display(const struct fsc_sym *s);

#endif
