/* How the returns of a file's functions are caught: by the kernel, which replaces the return
 * address, or at the return instructions where that would break the program. */
#ifndef FSC_PROBE_RETURNS_H
#define FSC_PROBE_RETURNS_H

#include "probe/exits.h"
#include "probe/files.h"
#include "probe/fragile.h"

struct fsc_returns_file {
	const struct fsc_scope *scope;	 /* borrowed */
	bool callers_unwind;		 /* a target throws, or uses the unwinder */
	bool go;			 /* the file is a Go program */
	enum fsc_fragile_file unwinding; /* in the file */
	bool strangers;			 /* its callers are unknown and may pass callbacks */
	struct fsc_exits_file exits;	 /* of the file */
};

/* Whether a target unwinds its stack or switches it: a C++ exception may pass through C libraries
 * that call back, a cancelled thread is unwound through all its frames, and coroutines switch
 * inside them. */
bool fsc_returns_callers_unwind(const struct fsc_scope *scope);
/* What the whole file says about catching returns in it. */
void fsc_returns_check_file(struct fsc_returns_file *r, struct fsc_elf *e);
/* Decides for a function: t->exits (the caller's) and t->by_insns. *ret_why is set if its return
 * cannot be caught. */
int fsc_returns_choose(const struct fsc_returns_file *r, const struct fsc_sym *sym,
		       struct fsc_target *t, const char **ret_why, struct fsc_err *err);

#endif
