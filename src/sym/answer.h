/* What an address is, once it is known where it lies: the frames behind sym/symbolize.h. */
#ifndef FSC_SYM_ANSWER_H
#define FSC_SYM_ANSWER_H

#include "base/frame.h"
#include "dwarf/inlines.h"
#include "kernel/ksyms.h"
#include "proc/spaces.h"

/* Frames, innermost first, and their strings: owned. */
struct fsc_answer {
	struct fsc_frame *frames;
	size_t n;
};

/* Each fills *ret, which begins empty and is to be released even after a failure; memory running
 * out is the only one. An address that was made smaller by one because it is behind a call says so
 * by is_return; the offsets shown are those of the real address. */
int fsc_answer_kernel(const struct fsc_ksyms *k, uint64_t addr, bool is_return,
		      struct fsc_answer *ret, struct fsc_err *err);
/* chain: what debug information knows, NULL if nothing. */
int fsc_answer_file(const struct fsc_space_file *file, uint64_t offset, bool is_return,
		    const struct fsc_inlined *chain, struct fsc_answer *ret, struct fsc_err *err);
/* Memory without a file, called name; NULL for no memory at all. */
int fsc_answer_memory(const char *name, uint64_t offset, struct fsc_answer *ret,
		      struct fsc_err *err);
void fsc_answer_release(struct fsc_answer *a);

#endif
