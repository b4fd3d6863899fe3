/* From addresses to functions: of the kernel, and of processes whose address spaces are known. One
 * address may be several frames, where functions were inlined. */
#ifndef FSC_SYM_SYMBOLIZE_H
#define FSC_SYM_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/frame.h"
#include "proc/spaces.h"

struct fsc_symbolizer;

struct fsc_address {
	uint64_t addr;
	pid_t pid;	  /* not looked at in the kernel */
	uint64_t time_ns; /* when it was that process's; 0: now */
	bool kernel;
	bool is_return; /* behind a call: all of a stack but its leaf */
};

struct fsc_symbolizer_opts {
	bool dwarf;	      /* ask debug information for inlined functions and lines */
	const char *kallsyms; /* NULL: the kernel's own */
};

/* spaces is borrowed, read again where an address is in no known mapping, and must outlive *ret,
 * which the caller owns. */
int fsc_symbolizer_new(struct fsc_spaces *spaces, const struct fsc_symbolizer_opts *opts,
		       struct fsc_symbolizer **ret, struct fsc_err *err);
void fsc_symbolizer_free(struct fsc_symbolizer *y);
void fsc_symbolizer_freep(struct fsc_symbolizer **y);

/* Announces an address. Optional, but debug information is read in a child process, and
 * fsc_symbolizer_resolve() takes one per file for all addresses wanted so far. May block for as
 * long as these children need, a minute at most each. */
int fsc_symbolizer_want(struct fsc_symbolizer *y, const struct fsc_address *a, struct fsc_err *err);
int fsc_symbolizer_resolve(struct fsc_symbolizer *y, struct fsc_err *err);

/* The frames at an address, innermost first, never none: what is not known is one frame that says
 * so. They belong to y and stay as they are until it is freed. Answers are kept by file and
 * offset. Fails only if out of memory; damaged files are unknown frames. */
int fsc_symbolizer_frames(struct fsc_symbolizer *y, const struct fsc_address *a,
			  const struct fsc_frame **ret, size_t *ret_n, struct fsc_err *err);

#endif
