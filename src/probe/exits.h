/* Where a function ends, by its instructions. A uretprobe changes the return address on the stack:
 * exceptions cannot be unwound through it, and programs that switch stacks crash. A probe on each
 * return instruction disturbs nothing. */
#ifndef FSC_PROBE_EXITS_H
#define FSC_PROBE_EXITS_H

#include "base/err.h"
#include "base/map.h"
#include "probe/target.h"
#include "elf/elf.h"

/* A file whose functions are analysed. Compilers put code that is rarely run (a catch block) into
 * a part of its own, "NAME.cold"; the function may return from there, too. */
struct fsc_exits_file {
	struct fsc_elf *elf; /* borrowed */
	const struct fsc_sym *syms;
	size_t n_syms;
	struct fsc_map parts; /* function name: 1 + index of the symbol of its part */
};

/* Reads the symbols; e must outlive f. Where it fails there is nothing to release. */
int fsc_exits_open(struct fsc_exits_file *f, struct fsc_elf *e, struct fsc_err *err);
void fsc_exits_release(struct fsc_exits_file *f);
/* Whether a symbol is such a part: jumped to with any stack, so that its "return" belongs to no
 * call. */
bool fsc_exits_is_part(const char *name);
/* The part of a function, borrowed; NULL if it has none, or if that is not certain. */
const struct fsc_sym *fsc_exits_part(const struct fsc_exits_file *f, const struct fsc_sym *sym);
/* Finds the returns of a function and the jumps by which it may end in another one: t->exits (the
 * caller's) and t->by_insns, which stays false where they cannot all be known (no size, code that
 * is not understood, code that runs on into the next function). Fails only where memory is out. */
int fsc_exits_find(const struct fsc_exits_file *f, const struct fsc_sym *sym, struct fsc_target *t,
		   struct fsc_err *err);

#endif
